// perf and gdb themselves, on a few functions made by hand: their names and lines in a report and
// in a backtrace. Where the tools are missing, or not allowed to look, a warning says that nothing
// was tested. The hidden test at the end is the program that they look at.
#include "jit/code_info.hpp"
#include "jit/code_memory.hpp"
#include "jit/elf.hpp"
#include "jit/gdb.hpp"
#include "jit/perf.hpp"
#include "tests/support/left_out.hpp"

#include <asmjit/x86.h>
#include <catch2/catch.hpp>

#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <string>
#include <vector>

// Where gdb stops. Called from native code, on the scheduler's stack.
extern "C" __attribute__((noinline, used)) void minivm_test_stop() {
    asm volatile("" ::: "memory");
}

namespace minivm {
namespace {

#if defined(__x86_64__)

// What native code has in the register that holds its scheduler.
struct Stacks {
    uint64_t scheduler;
    uint64_t erlang;
};

// The functions as the JIT lays them out: rsp is the Erlang stack, frames have fixed sizes, C++ is
// called by a shared fragment that changes to the scheduler's stack.
//
//     enter -> $sample:outer/1 -> $sample:middle/2 -> $sample:inner/0 -> call_runtime -> C++
struct Sample {
    CodeBlock block;
    NativeModule module;

    explicit Sample(CodeMemory& memory, const std::string& directory) {
        using namespace asmjit;
        CodeHolder code;
        code.init(Environment::host());
        x86::Assembler a(&code);
        const Label outer = a.newLabel();
        const Label middle = a.newLabel();
        const Label inner = a.newLabel();
        const Label call_runtime = a.newLabel();
        const auto begin = [&](std::string name) {
            a.align(AlignMode::kCode, 16);
            module.ranges.push_back({a.offset(), 0, std::move(name), {}, {}, false});
            frame(a, 8);
        };
        const auto end = [&] { module.ranges.back().end = a.offset(); };
        const x86::Gp block_register = x86::rbx;

        // void enter(Stacks*, uint64_t* erlang_stack, uint64_t loops)
        begin(native_fragment_name("enter"));
        module.ranges.back().ends_stack = true;
        a.push(x86::rbx);
        a.mov(block_register, x86::rdi);
        a.mov(x86::qword_ptr(block_register, offsetof(Stacks, scheduler)), x86::rsp);
        a.mov(x86::rsp, x86::rsi);
        a.call(outer);
        a.mov(x86::rsp, x86::qword_ptr(block_register, offsetof(Stacks, scheduler)));
        a.pop(x86::rbx);
        a.ret();
        end();

        begin(native_function_name("sample", "outer", 1));
        a.bind(outer);
        line(a, 10);
        a.sub(x86::rsp, 16);
        frame(a, 24);
        line(a, 11);
        a.call(middle);
        line(a, 12);
        a.add(x86::rsp, 16);
        frame(a, 8);
        a.ret();
        end();

        begin(native_function_name("sample", "middle", 2));
        a.bind(middle);
        line(a, 20);
        a.sub(x86::rsp, 40);
        frame(a, 48);
        a.call(inner);
        a.add(x86::rsp, 40);
        frame(a, 8);
        a.ret();
        end();

        begin(native_function_name("sample", "inner", 0));
        a.bind(inner);
        line(a, 30);
        const Label loop = a.newLabel();
        a.bind(loop);
        line(a, 31);
        a.imul(x86::rax, x86::rax, 17);
        line(a, 32);
        a.dec(x86::rdx);
        a.jnz(loop);
        line(a, 33);
        a.call(call_runtime);
        line(a, 34);
        a.ret();
        end();

        begin(native_fragment_name("call_runtime"));
        a.bind(call_runtime);
        a.mov(x86::qword_ptr(block_register, offsetof(Stacks, erlang)), x86::rsp);
        a.mov(x86::rsp, x86::qword_ptr(block_register, offsetof(Stacks, scheduler)));
        frame(a, 8, true);
        a.and_(x86::rsp, -16);
        a.call(imm(reinterpret_cast<uintptr_t>(&minivm_test_stop)));
        a.mov(x86::rsp, x86::qword_ptr(block_register, offsetof(Stacks, erlang)));
        frame(a, 8);
        a.ret();
        end();

        REQUIRE(code.flatten() == kErrorOk);
        block = memory.allocate(code.codeSize());
        REQUIRE(block);
        const auto base = reinterpret_cast<uintptr_t>(block.address);
        REQUIRE(code.relocateToBase(base) == kErrorOk);
        REQUIRE(code.resolveUnresolvedLinks() == kErrorOk);
        {
            const CodeMemory::Writer writer = memory.open(block);
            REQUIRE(code.copyFlattenedData(writer.data(), writer.size()) == kErrorOk);
        }
        module.name = "sample";
        module.directory = directory;
        module.files = {"sample.erl"};
        module.stack_register = dwarf_register::kX86Rsp;
        module.saved_base_register = dwarf_register::kX86Rbx;
        module.saved_offset_bytes = offsetof(Stacks, erlang);
        for (NativeRange& range : module.ranges) {
            range.begin += base;
            range.end += base;
        }
    }

    void run(uint64_t loops) const {
        std::vector<uint64_t> erlang_stack(1000);
        Stacks stacks{};
        using Enter = void (*)(Stacks*, uint64_t*, uint64_t);
        reinterpret_cast<Enter>(reinterpret_cast<uintptr_t>(block.address))(
            &stacks, erlang_stack.data() + erlang_stack.size(), loops);
    }

private:
    uint32_t offset(const asmjit::x86::Assembler& a) const {
        return static_cast<uint32_t>(a.offset() - module.ranges.back().begin);
    }
    void line(const asmjit::x86::Assembler& a, uint32_t number) {
        module.ranges.back().lines.push_back({offset(a), number, 0});
    }
    void frame(const asmjit::x86::Assembler& a, uint32_t bytes, bool saved = false) {
        module.ranges.back().frames.push_back({offset(a), bytes, saved, false});
    }
};

struct Folder {
    Folder() {
        std::string name = (std::filesystem::temp_directory_path() / "minivm-XXXXXX").string();
        REQUIRE(mkdtemp(name.data()) != nullptr);
        path = name;
    }
    ~Folder() { std::filesystem::remove_all(path); }
    std::string path;
};

struct Answer {
    int status;
    std::string output;
};

// By a shell, standard error included, with a limit in time.
Answer shell(const std::string& command) {
    const std::string limited = "exec timeout -s KILL 60 sh -c '" + command + "' 2>&1";
    std::FILE* const pipe = popen(limited.c_str(), "r");
    REQUIRE(pipe != nullptr);
    Answer answer{0, {}};
    char part[4096];
    while (const size_t bytes = std::fread(part, 1, sizeof(part), pipe)) {
        answer.output.append(part, bytes);
    }
    answer.status = pclose(pipe);
    return answer;
}

// This program, running the sample, started by `tool`.
std::string under(const std::string& tool, const std::string& folder, const std::string& kind) {
    return "MINIVM_SAMPLE_FOLDER=" + folder + " MINIVM_SAMPLE=" + kind + " " + tool + " " +
           std::filesystem::read_symlink("/proc/self/exe").string() +
           " \"native code for perf and gdb to look at\"";
}

bool contains(const std::string& text, const std::string& part) {
    return text.find(part) != std::string::npos;
}

bool perf_works(const std::string& folder) {
    const Answer answer = shell("cd " + folder + " && perf record -q -k mono -o try.data true");
    if (answer.status != 0) {
        test::left_out("perf cannot record here");
    }
    return answer.status == 0;
}

TEST_CASE("perf report shows native functions by the names in the map", "[perf]") {
    const Folder folder;
    if (!perf_works(folder.path)) {
        return;
    }
    const Answer recorded =
        shell(under("perf record -q -F 2000 -o " + folder.path + "/map.data", folder.path, "map"));
    INFO(recorded.output);
    REQUIRE(recorded.status == 0);
    const Answer report = shell("perf report --stdio -i " + folder.path + "/map.data");
    INFO(report.output);
    CHECK(contains(report.output, "$sample:inner/0"));
    for (const auto& entry : std::filesystem::directory_iterator("/tmp")) {
        // The map lies where perf looks for it, and is this test's to remove.
        const std::string name = entry.path().filename().string();
        if (contains(recorded.output, name) && name.rfind("perf-", 0) == 0) {
            std::filesystem::remove(entry.path());
        }
    }
}

TEST_CASE("perf inject and annotate show native functions with their lines", "[perf]") {
    const Folder folder;
    if (!perf_works(folder.path)) {
        return;
    }
    std::ofstream source(folder.path + "/sample.erl");
    for (int line = 1; line <= 40; line++) {
        source << "% text of line " << line << "\n";
    }
    source.close();
    const std::string go = "cd " + folder.path + " && HOME=" + folder.path + " ";
    const Answer recorded =
        shell(go + under("perf record -q -k mono -F 2000 -o dump.data", folder.path, "dump"));
    INFO(recorded.output);
    REQUIRE(recorded.status == 0);
    const Answer injected = shell(go + "perf inject --jit -i dump.data -o jitted.data");
    INFO(injected.output);
    REQUIRE(injected.status == 0);
    const Answer report = shell(go + "perf report --stdio -i jitted.data");
    INFO(report.output);
    CHECK(contains(report.output, "$sample:inner/0"));
    const Answer annotated =
        shell(go + "perf annotate --stdio -l -i jitted.data \"\\$sample:inner/0\"");
    INFO(annotated.output);
    CHECK(contains(annotated.output, "imul"));
    CHECK(contains(annotated.output, "text of line 31"));
    // The loop's second line has nearly all samples: a processor counts the instruction behind.
    CHECK(contains(annotated.output, "sample.erl:3"));
}

TEST_CASE("gdb shows native functions and their callers in a backtrace", "[gdb]") {
    if (shell("gdb --version").status != 0) {
        test::left_out("gdb is not installed");
        return;
    }
    const Folder folder;
    std::ofstream(folder.path + "/commands") << "set confirm off\n"
                                                "set pagination off\n"
                                                "set debuginfod enabled off\n"
                                                "handle all nostop noprint pass\n"
                                                "break minivm_test_stop\n"
                                                "run\n"
                                                "backtrace\n"
                                                "kill\n";
    // The leak checker of sanitizer builds traces too, and gdb is there already.
    const Answer answer =
        shell("ASAN_OPTIONS=detect_leaks=0 " +
              under("gdb -nx -batch -x " + folder.path + "/commands --args", folder.path, "gdb"));
    INFO(answer.output);
    if (contains(answer.output, "ptrace")) {
        test::left_out("gdb may not trace here");
        return;
    }
    const size_t stop = answer.output.find("#0  minivm_test_stop");
    const size_t fragment = answer.output.find("#1  ", stop);
    REQUIRE(stop != std::string::npos);
    REQUIRE(fragment != std::string::npos);
    const std::string trace = answer.output.substr(fragment);
    INFO(trace);
    const std::vector<std::string> frames = {
        "$global::call_runtime ()",
        "$sample:inner/0 () at sample.erl:33",
        "$sample:middle/2 () at sample.erl:20",
        "$sample:outer/1 () at sample.erl:11",
        "$global::enter ()",
    };
    size_t at = 0;
    for (size_t i = 0; i < frames.size(); i++) {
        at = trace.find("#" + std::to_string(i + 1) + "  ", at);
        REQUIRE(at != std::string::npos);
        const std::string line = trace.substr(at, trace.find('\n', at) - at);
        CHECK_THAT(line, Catch::Contains(frames[i]));
    }
    // The stack of the process ends there: no frame behind it, no complaint.
    CHECK_FALSE(contains(trace, "#6  "));
    CHECK_FALSE(contains(trace, "corrupt stack"));
    CHECK_FALSE(contains(trace, "Backtrace stopped"));
}

TEST_CASE("native code for perf and gdb to look at", "[.]") {
    const char* const kind = std::getenv("MINIVM_SAMPLE");
    const char* const folder = std::getenv("MINIVM_SAMPLE_FOLDER");
    REQUIRE(kind != nullptr);
    REQUIRE(folder != nullptr);
    CodeMemory::Options options;
    options.nameless = true;
    const auto memory = try_code_memory(options);
    REQUIRE(memory.ok());
    CHECK((*memory)->nameless());
    const Sample sample(**memory, folder);
    if (std::strcmp(kind, "gdb") == 0) {
        const GdbEntry entry(sample.module);
        sample.run(1);
        return;
    }
    PerfOptions perf_options;
    perf_options.map = std::strcmp(kind, "map") == 0;
    perf_options.dump = !perf_options.map;
    if (perf_options.dump) {
        perf_options.directory = folder;
    }
    const auto perf = Perf::open(perf_options);
    REQUIRE(perf.ok());
    (*perf)->add(sample.module);
    std::printf("%s\n", (*perf)->map_path().c_str());
    sample.run(200'000'000);
}

#endif

}  // namespace
}  // namespace minivm
