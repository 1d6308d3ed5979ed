// What the JIT tells perf and debuggers, read back and compared with the ranges it was made from.
#include "jit/code_info.hpp"

#include "jit/elf.hpp"
#include "jit/gdb.hpp"
#include "jit/perf.hpp"
#include "tests/jit/support/native_decoder.hpp"

#include <catch2/catch.hpp>

#include <elf.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <cstdint>
#include <cstdio>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <random>
#include <string>
#include <thread>

extern "C" {
// gdb's interface, as gdb sees it.
struct JitEntry {
    JitEntry* next;
    JitEntry* previous;
    const char* file;
    uint64_t bytes;
};
struct JitDescriptor {
    uint32_t version;
    uint32_t action;
    JitEntry* relevant;
    JitEntry* first;
};
// NOLINTNEXTLINE(bugprone-reserved-identifier)
extern JitDescriptor __jit_debug_descriptor;
}

namespace minivm {
namespace {

using test::DecodedFrame;

std::string read_file(const std::string& path) {
    std::ifstream in(path, std::ios::binary);
    REQUIRE(in);
    return {std::istreambuf_iterator<char>(in), {}};
}

struct Folder {
    Folder() {
        std::string name = (std::filesystem::temp_directory_path() / "minivm-XXXXXX").string();
        REQUIRE(mkdtemp(name.data()) != nullptr);
        path = name;
    }
    ~Folder() { std::filesystem::remove_all(path); }
    std::string path;
};

// A module with everything that can differ, at addresses inside of `code`.
NativeModule random_module(std::mt19937& random, Machine machine, const std::string& code) {
    const auto below = [&](size_t n) { return static_cast<uint32_t>(random() % n); };
    NativeModule module;
    module.machine = machine;
    module.name = "m" + std::to_string(below(100));
    module.directory = below(2) == 0 ? "" : "/src";
    for (uint32_t i = 0, count = 1 + below(3); i < count; i++) {
        module.files.push_back("file" + std::to_string(i) + ".erl");
    }
    module.stack_register = machine == Machine::x86_64 ? dwarf_register::kX86Rsp : 20;
    module.saved_base_register = machine == Machine::x86_64 ? dwarf_register::kX86Rbx : 21;
    module.saved_offset_bytes = static_cast<int32_t>(below(5000)) - 2500;
    const auto base = reinterpret_cast<uintptr_t>(code.data());
    uintptr_t at = (base + 7) / 8 * 8;
    for (uint32_t i = 0, count = 1 + below(12); i < count; i++) {
        NativeRange range;
        at += 4 * below(20);
        range.begin = at;
        const uint32_t bytes = 4 + 4 * below(below(4) == 0 ? 10000 : 40);
        at += bytes;
        range.end = at;
        if (at > base + code.size()) {
            break;
        }
        range.name = below(4) == 0 ? native_fragment_name("f" + std::to_string(i))
                                   : native_function_name(module.name, "f o", i);
        for (uint32_t offset = 4 * below(3); offset < bytes; offset += 4 + 4 * below(300)) {
            range.lines.push_back(
                {offset, below(6) == 0 ? 0 : 1 + below(100'000), below(module.files.size())});
        }
        for (uint32_t offset = 4 * below(3); offset < bytes; offset += 4 + 4 * below(100)) {
            NativeFrame frame{offset, 8 * below(below(3) == 0 ? 1000 : 8), below(3) == 0, false};
            frame.return_in_register = machine == Machine::aarch64 && below(3) == 0;
            range.frames.push_back(frame);
        }
        range.ends_stack = below(8) == 0;
        module.ranges.push_back(std::move(range));
    }
    if (module.ranges.empty()) {
        module.ranges.push_back({base, base + 4, "$m:f/0", {}, {}, false});
    }
    return module;
}

std::vector<test::DecodedSymbol> symbols_of(const NativeModule& module) {
    std::vector<test::DecodedSymbol> answer;
    for (const NativeRange& range : module.ranges) {
        answer.push_back({range.name, range.begin, range.end - range.begin});
    }
    return answer;
}

void check_elf(const NativeModule& module, const std::string& file) {
    const test::DecodedElf elf = test::decode_elf(file);
    CHECK(elf.machine == (module.machine == Machine::x86_64 ? EM_X86_64 : EM_AARCH64));
    CHECK(elf.type == ET_EXEC);
    const uint64_t begin = module.ranges.front().begin;
    const uint64_t bytes = module.ranges.back().end - begin;
    CHECK(elf.text_begin == begin);
    CHECK(elf.text_bytes == bytes);
    CHECK(elf.unit_begin == begin);
    CHECK(elf.unit_bytes == bytes);
    CHECK(elf.unit_name == (module.files.empty() ? module.name : module.files[0]));
    CHECK(elf.unit_directory == module.directory);
    // Symbols and subprograms name the ranges; see add_symbols() for the other symbols.
    std::vector<test::DecodedSymbol> symbols;
    std::vector<test::DecodedSubprogram> subprograms;
    for (const NativeRange& range : module.ranges) {
        symbols.push_back({range.name, range.begin, range.end - range.begin});
        subprograms.push_back({range.name, range.begin, range.end - range.begin});
        for (size_t i = 0; i < range.frames.size(); i++) {
            if (range.frames[i].saved) {
                const uint64_t from = range.begin + range.frames[i].offset;
                const bool last = i + 1 == range.frames.size();
                symbols.push_back(
                    {"__morestack", from,
                     (last ? range.end : range.begin + range.frames[i + 1].offset) - from});
            }
        }
    }
    CHECK(elf.symbols == symbols);
    CHECK(elf.subprograms == subprograms);

    std::vector<test::DecodedRow> rows;
    std::vector<DecodedFrame> frames;
    for (const NativeRange& range : module.ranges) {
        for (const NativeLine& line : range.lines) {
            rows.push_back({range.begin + line.offset, line.line, module.files[line.file], false});
        }
        if (!range.lines.empty()) {
            rows.push_back({range.end, 0, "", true});
        }
    }
    CHECK(elf.rows == rows);

    size_t next = 0;
    for (const NativeRange& range : module.ranges) {
        for (size_t i = 0; i < range.frames.size(); i++, next++) {
            const NativeFrame& wanted = range.frames[i];
            REQUIRE(next < elf.frames.size());
            const DecodedFrame& frame = elf.frames[next];
            REQUIRE(frame.address == range.begin + wanted.offset);
            REQUIRE(frame.end == range.end);
            REQUIRE(frame.cfa_offset == wanted.cfa_offset_bytes);
            REQUIRE(frame.saved == wanted.saved);
            if (wanted.saved) {
                REQUIRE(frame.cfa_register == module.saved_base_register);
                REQUIRE(frame.saved_offset == module.saved_offset_bytes);
            } else {
                REQUIRE(frame.cfa_register == module.stack_register);
            }
            REQUIRE(frame.where == (range.ends_stack            ? DecodedFrame::Return::undefined
                                    : wanted.return_in_register ? DecodedFrame::Return::in_register
                                                                : DecodedFrame::Return::below_cfa));
            REQUIRE(frame.restores_stack_register == (module.machine == Machine::aarch64));
        }
    }
    CHECK(next == elf.frames.size());
    CHECK(elf.return_column == (module.machine == Machine::x86_64 ? 16 : 30));
}

TEST_CASE("names of functions and fragments as tools show them") {
    CHECK(native_function_name("lists", "map", 2) == "$lists:map/2");
    CHECK(native_function_name("Elixir.Enum", "-map/2-fun-0-", 3) ==
          "$Elixir.Enum:-map/2-fun-0-/3");
    CHECK(native_fragment_name("call_error") == "$global::call_error");
    // An atom may hold anything, and a line of perf's map may not.
    CHECK(native_function_name("a\nb", "c d\0", 0) == "$a?b:c d/0");
}

TEST_CASE("the ELF file of a module says what its ranges say") {
    std::mt19937 random(Catch::rngSeed());
    const std::string code(100'000, 'x');
    for (int round = 0; round < 60; round++) {
        const Machine machine = round % 2 == 0 ? Machine::x86_64 : Machine::aarch64;
        const NativeModule module = random_module(random, machine, code);
        check_elf(module, make_elf(module));
    }
}

TEST_CASE("gdb's list holds the modules that are there, last first") {
    std::mt19937 random(Catch::rngSeed());
    const std::string code(50'000, 'x');
    REQUIRE(__jit_debug_descriptor.version == 1);
    const JitEntry* const before = __jit_debug_descriptor.first;
    const NativeModule one = random_module(random, kHostMachine, code);
    const NativeModule two = random_module(random, kHostMachine, code);
    const NativeModule three = random_module(random, kHostMachine, code);
    const auto check = [](const JitEntry* entry, const NativeModule& module) {
        REQUIRE(entry != nullptr);
        check_elf(module, std::string(entry->file, entry->bytes));
    };
    auto first = std::make_unique<GdbEntry>(one);
    CHECK(__jit_debug_descriptor.action == 1);
    CHECK(__jit_debug_descriptor.relevant == __jit_debug_descriptor.first);
    check(__jit_debug_descriptor.first, one);
    auto second = std::make_unique<GdbEntry>(two);
    const GdbEntry third(three);
    check(__jit_debug_descriptor.first, three);
    check(__jit_debug_descriptor.first->next, two);
    check(__jit_debug_descriptor.first->next->next, one);
    CHECK(__jit_debug_descriptor.first->next->previous == __jit_debug_descriptor.first);
    second.reset();
    check(__jit_debug_descriptor.first, three);
    check(__jit_debug_descriptor.first->next, one);
    CHECK(__jit_debug_descriptor.first->next->previous == __jit_debug_descriptor.first);
    first.reset();
    check(__jit_debug_descriptor.first, three);
    CHECK(__jit_debug_descriptor.first->next == before);
}

TEST_CASE("perf's map and dump say what the ranges say") {
    std::mt19937 random(Catch::rngSeed());
    std::string code(100'000, 'x');
    for (char& c : code) {
        c = static_cast<char>(random());
    }
    const Folder folder;
    std::vector<NativeModule> modules;
    std::string map_path;
    std::string dump_path;
    {
        auto perf = Perf::open({true, true, folder.path});
        REQUIRE(perf.ok());
        map_path = (*perf)->map_path();
        dump_path = (*perf)->dump_path();
        CHECK(map_path == folder.path + "/perf-" + std::to_string(getpid()) + ".map");
        CHECK(dump_path == folder.path + "/jit-" + std::to_string(getpid()) + ".dump");
        // perf finds the dump by an executable mapping of its first page.
        CHECK(read_file("/proc/self/maps").find("r-xp") != std::string::npos);
        std::ifstream maps("/proc/self/maps");
        bool found = false;
        for (std::string line; std::getline(maps, line);) {
            found |= line.find(" r-xp ") != std::string::npos &&
                     line.find("00000000 ") != std::string::npos &&
                     line.find(dump_path) != std::string::npos;
        }
        CHECK(found);
        for (int i = 0; i < 10; i++) {
            modules.push_back(random_module(random, kHostMachine, code));
            (*perf)->add(modules.back());
        }
        // A reader while we run sees whole records only.
        CHECK_FALSE(test::decode_jitdump(read_file(dump_path)).closed);
    }
    std::vector<test::DecodedSymbol> symbols;
    for (const NativeModule& module : modules) {
        for (const auto& symbol : symbols_of(module)) {
            symbols.push_back(symbol);
        }
    }
    CHECK(test::decode_perf_map(read_file(map_path)) == symbols);

    const test::DecodedDump dump = test::decode_jitdump(read_file(dump_path));
    CHECK(dump.closed);
    CHECK(dump.machine == (kHostMachine == Machine::x86_64 ? EM_X86_64 : EM_AARCH64));
    CHECK(dump.pid == static_cast<uint32_t>(getpid()));
    REQUIRE(dump.loads.size() == symbols.size());
    size_t next = 0;
    for (const NativeModule& module : modules) {
        for (const NativeRange& range : module.ranges) {
            const test::DecodedLoad& load = dump.loads[next];
            REQUIRE(load.name == range.name);
            REQUIRE(load.address == range.begin);
            REQUIRE(load.code_index == ++next);
            REQUIRE(load.pid == dump.pid);
            REQUIRE(load.tid == static_cast<uint32_t>(syscall(SYS_gettid)));
            const char* const bytes = reinterpret_cast<const char*>(range.begin);
            REQUIRE(load.code == std::string(bytes, range.end - range.begin));
            std::vector<test::DecodedRow> rows;
            for (const NativeLine& line : range.lines) {
                if (line.line != 0) {
                    const std::string& file = module.files[line.file];
                    rows.push_back({range.begin + line.offset, line.line,
                                    module.directory.empty() ? file : module.directory + "/" + file,
                                    false});
                }
            }
            REQUIRE(load.rows == rows);
        }
    }
}

TEST_CASE("modules that are added by several threads leave whole records") {
    const Folder folder;
    const std::string code(20'000, 'x');
    size_t ranges = 0;
    std::string map_path;
    std::string dump_path;
    {
        auto perf = Perf::open({true, true, folder.path});
        REQUIRE(perf.ok());
        map_path = (*perf)->map_path();
        dump_path = (*perf)->dump_path();
        std::mt19937 random(Catch::rngSeed());
        std::vector<NativeModule> modules;
        for (int i = 0; i < 40; i++) {
            modules.push_back(random_module(random, kHostMachine, code));
            ranges += modules.back().ranges.size();
        }
        std::vector<std::thread> threads;
        for (size_t t = 0; t < 4; t++) {
            threads.emplace_back([&, t] {
                for (size_t i = t; i < modules.size(); i += 4) {
                    (*perf)->add(modules[i]);
                }
            });
        }
        for (std::thread& thread : threads) {
            thread.join();
        }
    }
    CHECK(test::decode_perf_map(read_file(map_path)).size() == ranges);
    CHECK(test::decode_jitdump(read_file(dump_path)).loads.size() == ranges);
}

TEST_CASE("files of perf that cannot be made are named") {
    const auto missing = Perf::open({true, false, "/nowhere/at/all"});
    REQUIRE_FALSE(missing.ok());
    CHECK(missing.error().find("/nowhere/at/all/perf-") == 0);
    CHECK(missing.error().find("No such file or directory") != std::string::npos);
    CHECK_FALSE(Perf::open({false, true, "/nowhere/at/all"}).ok());
    // Somebody else's link is not followed.
    const Folder folder;
    const std::string link = folder.path + "/perf-" + std::to_string(getpid()) + ".map";
    std::filesystem::create_symlink(folder.path + "/elsewhere", link);
    CHECK_FALSE(Perf::open({true, false, folder.path}).ok());
    CHECK_FALSE(std::filesystem::exists(folder.path + "/elsewhere"));
}

}  // namespace
}  // namespace minivm
