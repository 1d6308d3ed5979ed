// Names, lines and listings of real modules.
#include "jit/describe.hpp"

#include "vm/bif/bif.hpp"
#include "jit/code_memory.hpp"
#include "jit/elf.hpp"
#include "jit/jit.hpp"
#include "jit/native_code.hpp"
#include "loader/code_path.hpp"
#include "loader/loader.hpp"
#include "tests/jit/support/native_decoder.hpp"
#include "tests/support/left_out.hpp"

#include <catch2/catch.hpp>

#include <array>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <map>
#include <memory>
#include <string>
#include <vector>

namespace minivm::jit {
namespace {

std::string output_of(const std::string& command) {
    std::string text;
    std::FILE* const pipe = popen(command.c_str(), "r");
    REQUIRE(pipe != nullptr);
    std::array<char, 4096> part;
    while (const size_t n = std::fread(part.data(), 1, part.size(), pipe)) {
        text.append(part.data(), n);
    }
    pclose(pipe);
    return text;
}

const std::string kProgram = std::string(MINIVM_BINARY_DIR) + "/tools/minivm";
// Built for another machine, it runs in an emulator, where this machine's gdb and perf see nothing.
const std::string kEmulator = MINIVM_EMULATOR;

struct Folder {
    Folder() {
        std::string name = (std::filesystem::temp_directory_path() / "minivm-XXXXXX").string();
        REQUIRE(mkdtemp(name.data()) != nullptr);
        path = name;
    }
    ~Folder() { std::filesystem::remove_all(path); }
    std::string path;
};

// Loops long enough to be sampled, in functions that are easy to find.
const char* const kSource = R"(-module(hot).
-export([main/1]).
main(_) ->
    io:format("pid ~s ~p~n", [os:getpid(), outer(30000000)]).
outer(N) ->
    R = inner(N, 0),
    R + 1.
inner(0, Sum) ->
    Sum;
inner(N, Sum) ->
    inner(N - 1,
          (Sum + N) band 16#ffff).
'odd name'(X) -> X.
)";

void compile_source(const std::string& folder) {
    std::ofstream(folder + "/hot.erl") << kSource;
    const std::string said =
        output_of("cd " + folder + " && erlc +export_all +nowarn_export_all hot.erl 2>&1");
    INFO(said);
    REQUIRE(std::filesystem::exists(folder + "/hot.beam"));
}

void load(const std::string& path, LoweredModule& m) {
    bif_registry::init();
    std::vector<uint8_t> bytes;
    std::string why;
    REQUIRE(loader::read_file(path, &bytes, &why));
    loader::LoadError error;
    REQUIRE(loader::load(bytes.data(), bytes.size(), &m, &error));
}

TEST_CASE("a module's code is described range by range, with names and lines") {
    if (!available()) {
        return;  // no code is made for this machine
    }
    const Folder folder;
    compile_source(folder.path);
    LoweredModule m;
    load(folder.path + "/hot.beam", m);
    const std::unique_ptr<EngineCode> compiled = engine().compile(m);
    const auto& code = static_cast<const NativeCode&>(*compiled);
    const NativeModule module = describe(m, code);
    CHECK(module.name == "hot");
    REQUIRE(module.files.size() >= 1);

    // Ranges follow each other without a hole, to the end of the code.
    REQUIRE_FALSE(module.ranges.empty());
    uintptr_t at = reinterpret_cast<uintptr_t>(code.begin());
    std::map<std::string, int> names;
    for (const NativeRange& range : module.ranges) {
        CHECK(range.begin == at);
        CHECK(range.end > range.begin);
        at = range.end;
        names[range.name]++;
    }
    CHECK(at == reinterpret_cast<uintptr_t>(code.end()));
    for (const char* name : {"$hot:main/1", "$hot:outer/1", "$hot:inner/2", "$hot:odd name/1",
                             "$hot:module_info/0", "$hot:module_info/1"}) {
        INFO(name);
        CHECK(names[name] >= 1);
    }
    // Each function's entry lies in a range of its name.
    for (size_t f = 0; f < m.functions.size(); f++) {
        const auto entry = reinterpret_cast<uintptr_t>(code.native_at(m.functions[f].entry));
        bool found = false;
        for (const NativeRange& range : module.ranges) {
            found |= range.begin <= entry && entry < range.end &&
                     code.locate(reinterpret_cast<const void*>(entry), false).function == f;
        }
        CHECK(found);
    }
    // What a debugger reads: the line of each address is the one that stack traces show.
    const test::DecodedElf elf = test::decode_elf(make_elf(module));
    size_t lines = 0;
    for (const test::DecodedRow& row : elf.rows) {
        if (row.ends_sequence) {
            continue;
        }
        const CodeLocation location =
            code.locate(reinterpret_cast<const void*>(row.address), false);
        const uint32_t line = location.line == 0 ? 0 : m.lines[location.line - 1].line;
        REQUIRE(row.line == line);
        lines += line != 0;
    }
    CHECK(lines >= 3);
}

TEST_CASE("shared fragments are described, each with a name") {
    if (!available()) {
        return;
    }
    engine();
    const NativeModule module = describe_fragments();
    uintptr_t at = 0;
    for (const NativeRange& range : module.ranges) {
        INFO(range.name);
        CHECK(range.begin >= at);
        CHECK(range.end > range.begin);
        CHECK(code_memory().contains(reinterpret_cast<const void*>(range.begin)));
        CHECK(range.name.rfind("$global::", 0) == 0);
        at = range.end;
    }
}

TEST_CASE("a listing of a module shows each lowered instruction, for both machines on any host") {
    const Folder folder;
    compile_source(folder.path);
    LoweredModule m;
    load(folder.path + "/hot.beam", m);
    for (const auto& [machine, fast] :
         {std::pair{Machine::x86_64, false}, std::pair{Machine::x86_64, true},
          std::pair{Machine::aarch64, false}, std::pair{Machine::aarch64, true}}) {
        const std::vector<std::string> texts = disassemble(m, machine, fast);
        REQUIRE(texts.size() == m.functions.size());
        for (uint32_t f = 0; f < texts.size(); f++) {
            INFO(texts[f]);
            for (uint32_t i = m.functions[f].info; i < m.functions[f].end; i++) {
                const std::string remark =
                    "\n" + std::to_string(i) + "  " + format_instr(m, m.code[i]) + "\n";
                CHECK(texts[f].find(remark) != std::string::npos);
            }
            CHECK(texts[f].find(machine == Machine::x86_64
                                    ? " call $global::yield\n"
                                    : " bl $global::yield\n") != std::string::npos);
        }
    }
    if (!std::filesystem::exists(kProgram)) {
        test::left_out("the program is not built, its command was not tested");
        return;
    }
    const std::string command = "timeout -s KILL 60 " + kEmulator + " " + kProgram + " disasm ";
    const std::string file = folder.path + "/hot.beam";
    for (const auto& [name, call] : {std::pair{"x86-64", " call "}, std::pair{"aarch64", " bl "}}) {
        const std::string shown =
            output_of(command + "--native " + name + " " + file + " inner/2 2>&1");
        INFO(shown);
        CHECK(shown.find("\n$hot:inner/2\n") == 0);
        CHECK(shown.find(std::string(call) + "$global::yield\n") != std::string::npos);
        CHECK(shown.find("$hot:outer/1") == std::string::npos);
    }
    CHECK(output_of(command + "--native riscv64 " + file + " 2>&1; echo $?").find("\n2\n") !=
          std::string::npos);
}

TEST_CASE("gdb shows Erlang functions in a backtrace", "[gdb]") {
    if (!available() || !std::filesystem::exists(kProgram) || !kEmulator.empty() ||
        output_of("gdb --version 2>&1").find("GNU gdb") == std::string::npos) {
        test::left_out("no code for this machine, no program, or no gdb");
        return;
    }
    const Folder folder;
    std::ofstream(folder.path + "/deep.erl") << "-module(deep).\n"
                                                "-export([main/1]).\n"
                                                "main(_) -> outer(7).\n"
                                                "outer(N) ->\n"
                                                "    R = inner(N),\n"
                                                "    {outer, R}.\n"
                                                "inner(N) ->\n"
                                                "    A = init(),\n"
                                                "    {inner, A, N}.\n"
                                                "init() ->\n"
                                                "    A = erlang:md5_init(),\n"
                                                "    {init, A}.\n";
    std::ofstream(folder.path + "/commands") << "set confirm off\n"
                                                "set pagination off\n"
                                                "set breakpoint pending on\n"
                                                "handle all nostop noprint pass\n"
                                                "break erlang_md5_init_0\n"
                                                "run\n"
                                                "backtrace 12\n"
                                                "kill\n";
    const std::string trace = output_of(
        "cd " + folder.path + " && exec 2>&1; erlc deep.erl && ASAN_OPTIONS=detect_leaks=0 " +
        "timeout -s KILL 60 gdb -nx -batch -x commands --args " + kProgram +
        " run --engine jit --gdb -S 1 deep.beam");
    INFO(trace);
    if (trace.find("ptrace") != std::string::npos) {
        test::left_out("gdb may not trace here");
        return;
    }
    // The function that called the BIF is not there: its return address has been taken.
    const size_t inner = trace.find("in $deep:inner/1 () at deep.erl:8");
    const size_t outer = trace.find("in $deep:outer/1 () at deep.erl:5");
    CHECK(inner != std::string::npos);
    CHECK(outer != std::string::npos);
    CHECK(inner < outer);
    CHECK(trace.find("$global::") < inner);
}

TEST_CASE("perf report shows Erlang functions by name", "[perf]") {
    const Folder folder;
    const std::string go = "cd " + folder.path + " && exec 2>&1; timeout -s KILL 60 ";
    if (!available() || !std::filesystem::exists(kProgram) || !kEmulator.empty() ||
        output_of(go + "perf record -q -k mono -o try.data true; echo $?") != "0\n") {
        test::left_out("no code for this machine, no program, or perf cannot record");
        return;
    }
    compile_source(folder.path);
    const std::string ran = output_of(go + "perf record -q -k mono -F 2000 -o perf.data " +
                                      kProgram + " run --engine jit --perf hot.beam");
    INFO(ran);
    const std::string report = output_of(go + "perf report --stdio");
    INFO(report);
    CHECK(report.find("$hot:inner/2") != std::string::npos);
    // By way of the dump, with lines.
    const std::string home = go + "env HOME=" + folder.path + " ";
    const std::string injected =
        output_of(home + "perf inject --jit -i perf.data -o perf.jitted.data");
    INFO(injected);
    const std::string jitted = output_of(home + "perf report --stdio -i perf.jitted.data");
    INFO(jitted);
    CHECK(jitted.find("$hot:inner/2") != std::string::npos);
    const std::string annotated =
        output_of(home + "perf annotate --stdio -l -i perf.jitted.data '$hot:inner/2'");
    INFO(annotated);
    CHECK(annotated.find("inner(N - 1,") != std::string::npos);
    // Leave nothing behind where perf looks.
    const size_t pid_at = ran.find("pid ");
    REQUIRE(pid_at != std::string::npos);
    const std::string pid = std::to_string(std::atoi(ran.c_str() + pid_at + 4));
    for (const auto& entry : std::filesystem::directory_iterator("/tmp")) {
        const std::string name = entry.path().filename().string();
        if (name == "perf-" + pid + ".map" || name == "jit-" + pid + ".dump" ||
            name.rfind("jitted-" + pid + "-", 0) == 0) {
            std::filesystem::remove(entry.path());
        }
    }
}

}  // namespace
}  // namespace minivm::jit
