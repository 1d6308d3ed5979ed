// The engine as the loader sees it.
#include "jit/jit.hpp"

#include "jit/code_memory.hpp"
#include "tests/loader/beam_builder.hpp"
#include "vm/bif/bif.hpp"
#include "vm/code/engine.hpp"

#include <catch2/catch.hpp>

#include <string>
#include <vector>

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

TEST_CASE("code that is released leaves nothing behind, whatever its size") {
    if (!available()) {
        return;
    }
    bif_registry::init();
    Engine& native = engine();
    const CodeUsage before = native.code_usage();
    for (uint32_t functions = 1; functions <= 9; ++functions) {
        test::BeamBuilder b("m_released");
        for (uint32_t f = 0; f < functions; ++f) {
            b.function("id" + std::to_string(f), 1, 2 * f + 1).op(19);
        }
        const test::Loaded loaded = test::load(b);
        REQUIRE(loaded.ok);
        std::vector<std::unique_ptr<EngineCode>> loads;
        for (int i = 0; i < 5; ++i) {
            loads.push_back(native.compile(loaded.module));
            REQUIRE(loads.back() != nullptr);
        }
        CHECK(native.code_usage().blocks == before.blocks + loads.size());
        loads.clear();
        CHECK(native.code_usage().blocks == before.blocks);
        CHECK(native.code_usage().bytes == before.bytes);
        CHECK(native.code_usage().pages == before.pages);
    }
}

}  // namespace
}  // namespace minivm::jit
