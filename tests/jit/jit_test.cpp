// The engine as the loader sees it.
#include "jit/jit.hpp"

#include "vm/bif/bif.hpp"
#include "vm/engine.hpp"
#include "jit/code_memory.hpp"
#include "tests/loader/beam_builder.hpp"

#include <catch2/catch.hpp>

namespace minivm::jit {
namespace {

TEST_CASE("a full code memory gives a module no native code, and loses nothing") {
    if (!available()) {
        return;
    }
    bif_registry::init();
    test::BeamBuilder b("m_no_room");
    b.function("id", 1, 1).op(19);
    const test::Loaded loaded = test::load(b);
    REQUIRE(loaded.ok);
    Engine& native = engine();
    const CodeMemory::Usage before = code_memory().usage();
    code_memory().refuse_after(0);
    const std::unique_ptr<EngineCode> refused = native.compile(loaded.module);
    code_memory().refuse_after(SIZE_MAX);
    CHECK(refused == nullptr);
    CHECK(code_memory().usage().allocated_bytes == before.allocated_bytes);
    CHECK(code_memory().usage().blocks == before.blocks);
    const std::unique_ptr<EngineCode> compiled = native.compile(loaded.module);
    REQUIRE(compiled != nullptr);
    CHECK(compiled->is_native());
    CHECK(code_memory().usage().blocks == before.blocks + 1);
}

}  // namespace
}  // namespace minivm::jit
