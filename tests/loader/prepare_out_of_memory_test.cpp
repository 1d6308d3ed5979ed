// A prepare that finds no memory: at each of its allocations once.
#include <cstdlib>
#include <new>

#include <catch2/catch.hpp>

#include "interp/interp.hpp"
#include "jit/jit.hpp"
#include "loader/prepare.hpp"
#include "tests/loader/beam_builder.hpp"
#include "tests/support/installed_beams.hpp"
#include "vm/bif/bif.hpp"
#include "vm/code/engine.hpp"
#include "vm/code/engine.hpp"
#include "vm/code/module_table.hpp"

namespace {

// Of this thread: allocations that succeed before one fails; below zero: none does. Only one, for giving back
// may need memory as well.
thread_local long t_left = -1;
thread_local long t_live = 0;  // allocations less deallocations

void* allocate(size_t bytes) {
    if (t_left >= 0 && t_left-- == 0) {
        return nullptr;
    }
    void* const memory = std::malloc(bytes != 0 ? bytes : 1);
    t_live += memory != nullptr;
    return memory;
}
void release(void* memory) {
    t_live -= memory != nullptr;
    std::free(memory);
}

}  // namespace

void* operator new(size_t bytes) {
    void* const memory = allocate(bytes);
    if (memory == nullptr) {
        throw std::bad_alloc();
    }
    return memory;
}
void* operator new(size_t bytes, const std::nothrow_t&) noexcept { return allocate(bytes); }
void operator delete(void* memory) noexcept { release(memory); }
void operator delete(void* memory, size_t) noexcept { release(memory); }

namespace minivm {

namespace {

void fail_everywhere(Engine& engine) {
    test::register_bifs();
    std::vector<uint8_t> bytes;
    for (const std::string& path : test::installed_beams()) {
        if (path.find("/queue.beam") != std::string::npos) {
            bytes = test::read_installed(path);
        }
    }
    REQUIRE_FALSE(bytes.empty());
    loader::LoadError error;
    // Atoms, export entries and what engines make once are there afterwards.
    REQUIRE(loader::prepare(bytes.data(), bytes.size(), &engine, &error) != nullptr);
    long allocations = 0;
    // The literals' allocator may have a piece more or less in its list, once; what leaks does so each time.
    int tries = 0;
    for (long left = 0;;) {
        error = {};
        const long before = t_live;
        t_left = left;
        auto instance = loader::prepare(bytes.data(), bytes.size(), &engine, &error);
        t_left = -1;
        const long kept = t_live - before;
        if (instance != nullptr) {
            allocations = left;
            break;
        }
        if (kept > 0 && ++tries < 4) {
            continue;
        }
        INFO("allocation " << left);
        CHECK(error.code == loader::LoadError::Code::no_memory);
        CHECK(error.what == "out of memory");
        CHECK(kept <= 0);
        error = {};
        tries = 0;
        ++left;
    }
    CHECK(allocations > 200);
}

}  // namespace

TEST_CASE("a prepare that finds no memory gives back what it has, interpreter", "[loader]") {
    fail_everywhere(interp::engine());
}

TEST_CASE("a prepare that finds no memory gives back what it has, native code", "[loader]") {
    if (jit::available()) {
        fail_everywhere(jit::engine(true));
    }
}

TEST_CASE("a prepared module does not hold the instructions that engines have read", "[loader]") {
    test::register_bifs();
    loader::LoadError error;
    for (const std::string& path : test::installed_beams()) {
        if (path.find("/queue.beam") == std::string::npos) {
            continue;
        }
        const std::vector<uint8_t> bytes = test::read_installed(path);
        const auto instance = loader::prepare(bytes.data(), bytes.size(), &interp::engine(), &error);
        REQUIRE(instance != nullptr);
        CHECK(instance->lowered.code.capacity() == 0);
        CHECK(instance->lowered.operands.capacity() == 0);
        CHECK(instance->lowered.functions.capacity() == instance->lowered.functions.size());
    }
}

}  // namespace minivm
