// Code memory: placement, allocation, W^X, and code that changes while it runs. The code itself is
// made with asmjit, so that the same tests hold on both machines.
#include "jit/code_memory.hpp"

#include <asmjit/asmjit.h>
#if defined(__aarch64__)
#include <asmjit/arm/a64assembler.h>
#else
#include <asmjit/x86.h>
#endif
#include <catch2/catch.hpp>

#include <linux/membarrier.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <cstdio>
#include <cstring>
#include <map>
#include <memory>
#include <random>
#include <string>
#include <thread>
#include <vector>

namespace minivm {
namespace {

using Bytes = std::vector<std::byte>;

std::unique_ptr<CodeMemory> make_memory(size_t range_bytes = size_t{1} << 20,
                                        bool below_2_gib = true, bool nameless = false,
                                        bool keeps_view = true) {
    CodeMemory::Options options;
    options.keeps_view = keeps_view;
    options.nameless = nameless;
    options.range_bytes = range_bytes;
    options.below_2_gib = below_2_gib;
    auto memory = CodeMemory::create(options);
    if (!memory.ok()) {
        FAIL(memory.error());
    }
    return std::move(memory).value();
}

// uint64_t f() { return number; } with the number as the 8 aligned bytes at kNumberAt, so that one
// patch changes what it answers.
constexpr size_t kNumberAt = 16;

Bytes constant_function(uint64_t number) {
    asmjit::CodeHolder code;
    code.init(asmjit::Environment::host());
#if defined(__aarch64__)
    asmjit::a64::Assembler a(&code);
    const asmjit::Label literal = a.newLabel();
    a.ldr(asmjit::a64::x0, asmjit::a64::ptr(literal));
    a.ret(asmjit::a64::x30);
#else
    asmjit::x86::Assembler a(&code);
    const asmjit::Label literal = a.newLabel();
    a.mov(asmjit::x86::rax, asmjit::x86::ptr(literal, 0, 8));
    a.ret();
#endif
    a.align(asmjit::AlignMode::kData, kNumberAt);
    REQUIRE(code.textSection()->bufferSize() == kNumberAt);
    a.bind(literal);
    a.embedUInt64(number);
    const asmjit::CodeBuffer& buffer = code.textSection()->buffer();
    const auto* const first = reinterpret_cast<const std::byte*>(buffer.data());
    return {first, first + buffer.size()};
}

// uint32_t f() { return number; } with the number in the instruction itself: what is patched is
// what is fetched. The first 8 bytes are the function.
uint64_t immediate_function(uint16_t number) {
#if defined(__aarch64__)
    return uint64_t{0xd65f03c0u} << 32 | 0x52800000u | uint32_t{number} << 5;
#else
    return uint64_t{0x9090c3} << 40 | uint64_t{number} << 8 | 0xb8;
#endif
}

// Emitted code has no type information in front of it for a sanitizer to look at.
__attribute__((no_sanitize("undefined"))) uint64_t call(const std::byte* address) {
    return reinterpret_cast<uint64_t (*)()>(reinterpret_cast<uintptr_t>(address))();
}

CodeBlock install(CodeMemory& memory, const Bytes& bytes, size_t alignment = kCodeAlignment) {
    const CodeBlock block = memory.allocate(bytes.size(), alignment);
    if (!block) {
        FAIL(memory.refusal());
    }
    const CodeMemory::Writer writer = memory.open(block);
    std::memcpy(writer.data(), bytes.data(), bytes.size());
    return block;
}

struct Mapping {
    uintptr_t begin;
    uintptr_t end;
    std::string flags;
    std::string name;
    // A file in memory, or shared memory without one, as the kernel calls it.
    bool is_code_memory() const {
        return name.find("minivm-code") != std::string::npos || name.rfind("/dev/zero", 0) == 0;
    }
    bool has(char flag) const { return flags.find(flag) != std::string::npos; }
};

std::vector<Mapping> mappings() {
    std::vector<Mapping> answer;
    std::FILE* const file = std::fopen("/proc/self/maps", "r");
    REQUIRE(file != nullptr);
    char line[8192];
    while (std::fgets(line, sizeof(line), file) != nullptr) {
        unsigned long begin = 0;
        unsigned long end = 0;
        char flags[8] = "";
        int name = 0;
        if (std::sscanf(line, "%lx-%lx %7s %*s %*s %*s %n", &begin, &end, flags, &name) == 3) {
            answer.push_back({begin, end, flags, line + name});
        }
    }
    std::fclose(file);
    return answer;
}

std::vector<Mapping> writable_views() {
    std::vector<Mapping> answer;
    for (const Mapping& mapping : mappings()) {
        if (mapping.is_code_memory() && mapping.has('w')) {
            answer.push_back(mapping);
        }
    }
    return answer;
}

// What the JIT does after it has changed code that may be running.
void code_barrier() {
    static const bool registered =
        syscall(SYS_membarrier, MEMBARRIER_CMD_REGISTER_PRIVATE_EXPEDITED_SYNC_CORE, 0, 0) == 0;
    if (registered) {
        syscall(SYS_membarrier, MEMBARRIER_CMD_PRIVATE_EXPEDITED_SYNC_CORE, 0, 0);
    }
}

TEST_CASE("code that a writer has filled runs once it is closed") {
    const auto memory = make_memory(size_t{1} << 20, true, GENERATE(false, true));
    const CodeBlock block = install(*memory, constant_function(0x123456789abcdef0));
    CHECK(call(block.address) == 0x123456789abcdef0);
    memory->release(block);
}

TEST_CASE("all code memory and the program are within reach of 32-bit addresses") {
    CodeMemory& memory = code_memory();
    CHECK(memory.reaches_program());
    CHECK(reinterpret_cast<uintptr_t>(memory.end()) <= uintptr_t{1} << 31);
    CHECK(reinterpret_cast<uintptr_t>(&code_memory) < uintptr_t{1} << 31);
    CHECK(static_cast<size_t>(memory.end() - memory.begin()) >= (size_t{128} << 20));
#if defined(__aarch64__)
    // B and BL reach from the middle to either end.
    CHECK(static_cast<size_t>(memory.end() - memory.begin()) <= (size_t{256} << 20));
#endif
}

TEST_CASE("where low addresses are refused code memory lies anywhere and says so") {
    const auto memory = make_memory(size_t{1} << 20, false);
    CHECK_FALSE(memory->reaches_program());
    const CodeBlock block = install(*memory, constant_function(7));
    CHECK(call(block.address) == 7);
}

TEST_CASE("two code memories do not share addresses") {
    const auto one = make_memory();
    const auto other = make_memory();
    CHECK((one->end() <= other->begin() || other->end() <= one->begin()));
}

TEST_CASE("the first block lies in the middle of the range") {
    const auto memory = make_memory();
    const CodeBlock first = memory->allocate(64);
    CHECK(first.address == memory->begin() + (memory->end() - memory->begin()) / 2);
    // The upper half is used before the lower one.
    CHECK(memory->allocate(64).address > first.address);
}

TEST_CASE("blocks are aligned as asked, and at cache lines at least") {
    const auto memory = make_memory();
    for (const size_t alignment : {1, 8, 64, 128, 1024, 4096}) {
        const CodeBlock block = memory->allocate(65, alignment);
        REQUIRE(block);
        CHECK(reinterpret_cast<uintptr_t>(block.address) % std::max<size_t>(alignment, 64) == 0);
        CHECK(block.bytes == 128);
    }
}

TEST_CASE("a full range answers with no block, with the reason, and recovers") {
    const auto memory = make_memory(size_t{1} << 18);
    std::vector<CodeBlock> blocks;
    while (const CodeBlock block = memory->allocate(5000)) {
        blocks.push_back(block);
    }
    CHECK(blocks.size() > 45);
    CHECK(memory->refusal().find("no 5056 bytes in a row are free") != std::string::npos);
    CHECK_FALSE(memory->allocate(size_t{1} << 40));
    CHECK(memory->refusal().find("more than there are addresses") != std::string::npos);
    for (const CodeBlock& block : blocks) {
        memory->release(block);
    }
    CHECK(memory->usage().allocated_bytes == 0);
    CHECK(memory->usage().blocks == 0);
    // Merged again: both halves as one.
    CHECK(memory->allocate(size_t{1} << 18));
}

TEST_CASE("refuse_after refuses allocations from the n-th on") {
    const auto memory = make_memory();
    memory->refuse_after(2);
    CHECK(memory->allocate(64));
    CHECK(memory->allocate(64));
    CHECK_FALSE(memory->allocate(64));
    memory->refuse_after(SIZE_MAX);
    CHECK(memory->allocate(64));
}

TEST_CASE("random allocation and release: blocks are apart, keep their bytes, merge") {
    const auto memory = make_memory(size_t{1} << 20, true, GENERATE(false, true));
    std::mt19937 random(Catch::rngSeed());
    struct Held {
        CodeBlock block;
        uint8_t pattern;
    };
    std::map<const std::byte*, Held> held;
    size_t held_bytes = 0;
    for (int round = 0; round < 3000; round++) {
        if (random() % 100 < 55) {
            const size_t bytes = 1 + random() % (random() % 8 == 0 ? 40000 : 700);
            const CodeBlock block = memory->allocate(bytes, size_t{1} << random() % 9);
            if (!block) {
                continue;
            }
            const auto after = held.upper_bound(block.address);
            REQUIRE((after == held.end() || block.end() <= after->first));
            REQUIRE(
                (after == held.begin() || std::prev(after)->second.block.end() <= block.address));
            REQUIRE(block.address >= memory->begin());
            REQUIRE(block.end() <= memory->end());
            const auto pattern = static_cast<uint8_t>(random());
            const CodeMemory::Writer writer = memory->open(block);
            std::memset(writer.data(), pattern, block.bytes);
            held.emplace(block.address, Held{block, pattern});
            held_bytes += block.bytes;
        } else if (!held.empty()) {
            auto chosen = held.begin();
            std::advance(chosen, random() % held.size());
            const Held& one = chosen->second;
            REQUIRE(std::all_of(one.block.address, one.block.end(), [&](std::byte b) {
                return b == static_cast<std::byte>(one.pattern);
            }));
            memory->release(one.block);
            held_bytes -= one.block.bytes;
            held.erase(chosen);
        }
        REQUIRE(memory->usage().allocated_bytes == held_bytes);
        REQUIRE(memory->usage().blocks == held.size());
        REQUIRE(memory->usage().committed_bytes >= held_bytes);
    }
    for (const auto& [address, one] : held) {
        memory->release(one.block);
    }
    CHECK(memory->usage().committed_bytes == 0);
    CHECK(memory->allocate(size_t{1} << 20));
}

TEST_CASE("pages of released code go back to the kernel and cannot be run") {
    const auto memory = make_memory(size_t{8} << 20, true, GENERATE(false, true));
    const auto resident_kib = [&] {
        // Of all mappings of code memory together, as the kernel counts them.
        size_t sum = 0;
        std::FILE* const file = std::fopen("/proc/self/smaps", "r");
        char line[8192];
        bool ours = false;
        while (file != nullptr && std::fgets(line, sizeof(line), file) != nullptr) {
            unsigned long begin = 0;
            unsigned long end = 0;
            unsigned long kib = 0;
            if (std::sscanf(line, "%lx-%lx ", &begin, &end) == 2) {
                ours = memory->contains(reinterpret_cast<void*>(begin));
            } else if (ours && std::sscanf(line, "Rss: %lu", &kib) == 1) {
                sum += kib;
            }
        }
        if (file != nullptr) {
            std::fclose(file);
        }
        return sum;
    };
    const CodeBlock kept = install(*memory, constant_function(1));
    const CodeBlock big = install(*memory, Bytes(size_t{1} << 20, std::byte{0}));
    // Read as instructions would be.
    CHECK(std::all_of(big.address, big.end(), [](std::byte b) { return b == std::byte{0}; }));
    const size_t before = memory->usage().committed_bytes;
    const size_t resident_before = resident_kib();
    CHECK(before >= size_t{1} << 20);
    memory->release(big);
    CHECK(memory->usage().committed_bytes <= 4096 * 16);
    if (resident_before >= 1024) {  // an emulator may not say
        CHECK(resident_kib() <= 64);
    }
    bool executable = false;
    for (const Mapping& mapping : mappings()) {
        const auto middle = reinterpret_cast<uintptr_t>(big.address) + big.bytes / 2;
        executable |= mapping.begin <= middle && middle < mapping.end && mapping.has('x');
    }
    CHECK_FALSE(executable);
    CHECK(call(kept.address) == 1);
}

TEST_CASE("freed code beside living code traps") {
    const auto memory = make_memory(size_t{1} << 20, true, GENERATE(false, true));
    const CodeBlock kept = install(*memory, constant_function(1));
    const CodeBlock freed = install(*memory, constant_function(2));
    REQUIRE(freed.address == kept.end());
    const std::byte trap = *(freed.end() + 1);
    memory->release(freed);
    CHECK(std::all_of(freed.address, freed.end(), [&](std::byte b) { return b == trap; }));
#if defined(__x86_64__)
    CHECK(trap == std::byte{0xcc});
#else
    CHECK(trap == std::byte{0});
#endif
}

TEST_CASE("there is one writable view, apart from where code runs, and it goes with the memory") {
    const size_t of_others = writable_views().size();
    {
        const auto memory = make_memory(size_t{1} << 20, true, GENERATE(false, true));
        const CodeBlock block = memory->allocate(300);
        CodeMemory::Writer writer = memory->open(block);
        const auto views = writable_views();
        REQUIRE(views.size() == of_others + 1);
        CHECK(std::none_of(views.begin(), views.end(), [](const Mapping& m) { return m.has('x'); }));
        CHECK(writer.size() == 320);
        const auto data = reinterpret_cast<uintptr_t>(writer.data());
        CHECK(std::any_of(views.begin(), views.end(), [&](const Mapping& m) {
            return m.begin <= data && data + writer.size() <= m.end;
        }));
        CHECK_FALSE(memory->contains(writer.data()));
        CHECK(writer.at(block.address + 10) == writer.data() + 10);
        const CodeMemory::Writer moved = std::move(writer);
        writer.close();  // nothing is left to close
        memory->release(memory->allocate(300));
        CHECK(writable_views().size() == of_others + 1);
    }
    CHECK(writable_views().size() == of_others);
}

TEST_CASE("where addresses are limited a writer maps what it writes, as long as it is open") {
    const auto memory = make_memory(size_t{16} << 20, true, GENERATE(false, true), false);
    const size_t of_others = writable_views().size();
    const CodeBlock block = install(*memory, constant_function(1));
    CHECK(writable_views().size() == of_others);
    {
        CodeMemory::Writer writer = memory->open(block);
        CHECK(writable_views().size() == of_others + 1);
        writer.patch_word(block.address + kNumberAt, 2);
    }
    CHECK(writable_views().size() == of_others);
    CHECK(call(block.address) == 2);
}

TEST_CASE("a patch changes a function that has already run") {
    const auto memory = make_memory(size_t{1} << 20, true, GENERATE(false, true));
    // One byte is enough on x86-64; 4 bytes are the width of an instruction on aarch64.
    const CodeBlock block = install(*memory, Bytes(64, std::byte{0}));
    memory->open(block).patch_word(block.address, immediate_function(1));
    CHECK((call(block.address) & 0xffff) == 1);
    for (uint16_t number = 2; number < 50; number++) {
        if (number % 2 == 0) {
            memory->open(block).patch_word(block.address, immediate_function(number));
        } else {
            memory->open(block).patch_half(block.address,
                                           static_cast<uint32_t>(immediate_function(number)));
        }
        REQUIRE((call(block.address) & 0xffff) == number);
    }
#if defined(__x86_64__)
    memory->open(block).patch_byte(block.address + 1, 200);
    CHECK((call(block.address) & 0xff) == 200);
#endif
}

TEST_CASE("new code at the address of released code that has run is the code that runs") {
    const auto memory = make_memory(size_t{1} << 20, true, GENERATE(false, true));
    // A neighbour in the page, so that it stays mapped.
    const CodeBlock neighbour = install(*memory, constant_function(1));
    CHECK(call(neighbour.address) == 1);
    const std::byte* address = nullptr;
    for (uint64_t number = 10; number < 40; number++) {
        const CodeBlock block = install(*memory, constant_function(number));
        CHECK((address == nullptr || address == block.address));
        address = block.address;
        REQUIRE(call(block.address) == number);
        memory->release(block);
    }
    CHECK(call(neighbour.address) == 1);
}

TEST_CASE("threads that run a function while it is patched see one number or the next") {
    const auto memory = make_memory(size_t{1} << 20, true, GENERATE(false, true));
    const CodeBlock block = install(*memory, constant_function(0));
    // Also code that only shares the page and does not change.
    const CodeBlock neighbour = install(*memory, constant_function(77));
    std::atomic<bool> stop{false};
    std::atomic<uint64_t> wrong{0};
    std::atomic<uint64_t> last_seen{0};
    std::thread runner([&] {
        uint64_t last = 0;
        while (!stop.load()) {
            const uint64_t now = call(block.address);
            // Both halves of the number are the same, and numbers only grow.
            if (now >> 32 != (now & 0xffffffff) || now < last) {
                wrong++;
            }
            last = now;
            last_seen.store(now);
            if (call(neighbour.address) != 77) {
                wrong++;
            }
        }
    });
    const uint64_t rounds = memory->remaps_after_write() ? 500 : 5000;
    for (uint64_t i = 1; i <= rounds; i++) {
        memory->open(block).patch_word(block.address + kNumberAt, i << 32 | i);
        code_barrier();
    }
    while (last_seen.load() != (rounds << 32 | rounds)) {
        std::this_thread::yield();  // seen at last: the test hangs if not
    }
    stop = true;
    runner.join();
    CHECK(wrong.load() == 0);
}

TEST_CASE("no mapping is writable and executable while code is loaded and patched") {
    const auto memory = make_memory(size_t{4} << 20, true, GENERATE(false, true));
    std::atomic<bool> stop{false};
    std::atomic<uint64_t> loads{0};
    std::atomic<uint64_t> wrong{0};
    // Checks of Catch2 belong to the main thread, so the code is made here.
    const Bytes code = constant_function(0);
    const auto load = [&](unsigned seed) {
        std::mt19937 random(seed);
        std::vector<std::pair<CodeBlock, uint64_t>> blocks;
        while (!stop.load()) {
            if (blocks.size() < 20) {
                const CodeBlock block = memory->allocate(code.size() + random() % 9000);
                {
                    CodeMemory::Writer writer = memory->open(block);
                    std::memcpy(writer.data(), code.data(), code.size());
                }
                blocks.emplace_back(block, 0);
                loads++;
            } else if (random() % 2 == 0) {
                auto& [block, number] = blocks[random() % blocks.size()];
                number = random();
                memory->open(block).patch_word(block.address + kNumberAt, number);
            } else {
                const size_t index = random() % blocks.size();
                memory->release(blocks[index].first);
                blocks.erase(blocks.begin() + static_cast<std::ptrdiff_t>(index));
            }
            for (const auto& [block, number] : blocks) {
                if (call(block.address) != number) {
                    wrong++;
                }
            }
        }
        for (const auto& [block, number] : blocks) {
            memory->release(block);
        }
    };
    std::thread one(load, Catch::rngSeed());
    std::thread other(load, Catch::rngSeed() + 1);
    size_t seen_writable = 0;
    size_t seen_executable = 0;
    size_t offences = 0;
    // On a busy machine the loaders may start late: every look may fall before their first block.
    constexpr uint64_t kLoads = 20;
    constexpr int kMostReads = 100'000;
    const auto seen_enough = [&] {
        return seen_writable > 0 && seen_executable > 0 && loads.load() > kLoads;
    };
    for (int reads = 0; reads < 100 || (!seen_enough() && reads < kMostReads); reads++) {
        for (const Mapping& mapping : mappings()) {
            offences += mapping.has('w') && mapping.has('x');
            if (mapping.is_code_memory()) {
                seen_writable += mapping.has('w');
                seen_executable += mapping.has('x');
            }
        }
    }
    stop = true;
    one.join();
    other.join();
    CHECK(offences == 0);
    CHECK(seen_executable > 0);
    CHECK(seen_writable > 0);
    CHECK(wrong.load() == 0);
    CHECK(memory->usage().committed_bytes == 0);
}

}  // namespace
}  // namespace minivm
