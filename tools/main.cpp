// minivm: runs Erlang and Elixir programs from .beam files.
#include "trace/trace.hpp"
#include "tools/attach.hpp"
#include "tools/disasm.hpp"
#include "tools/dump.hpp"
#include "tools/emulator.hpp"
#include "tools/erl_words.hpp"
#include "tools/escript.hpp"
#include "tools/install.hpp"
#include "tools/outside.hpp"
#include "tools/prompt_bifs.hpp"
#include "tools/repl.hpp"
#include "tools/report.hpp"
#include "tools/run.hpp"
#include "tools/text_values.hpp"
#include "jit/jit.hpp"
#include "vm/process/tracing.hpp"
#include "vm/term/atom_table.hpp"

#include <CLI/CLI.hpp>
#include <spdlog/sinks/stdout_sinks.h>
#include <spdlog/spdlog.h>

#include <fcntl.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdio>
#include <filesystem>
#include <functional>
#include <initializer_list>
#include <memory>
#include <string>
#include <system_error>
#include <thread>
#include <utility>
#include <vector>

namespace {

constexpr const char* kVersion = "minivm 0.1.0";

void set_up_log(const std::string& level) {
    auto logger = spdlog::stderr_logger_mt("minivm");
    logger->set_pattern("minivm: %v");
    spdlog::set_default_logger(logger);
    spdlog::set_level(spdlog::level::from_str(level));
}

// A standard stream that is closed would be the number of the next file that is opened: a program's
// output would then land in it, and what is read from it would be taken for input.
void open_closed_streams() {
    for (const int stream : {STDIN_FILENO, STDOUT_FILENO, STDERR_FILENO}) {
        if (fcntl(stream, F_GETFD) < 0 && errno == EBADF) {
            // The lowest free number is this one: those below are open by now.
            static_cast<void>(open("/dev/null", stream == STDIN_FILENO ? O_RDONLY : O_WRONLY));
        }
    }
}

// A word in the place of FILE.beam or MODULE that looks like an option is an unknown option.
bool is_option(const std::string& word) {
    return word.size() > 1 && (word[0] == '-' || word[0] == '+');
}
bool is_unknown_option(const std::vector<std::string>& rest) { return !rest.empty() && is_option(rest.front()); }

// `command`: the command in front of the option, or empty.
void report_unknown_option(const std::string& option, const std::string& command) {
    const std::string why = minivm::tools::why_unknown(option);
    std::fprintf(stderr, "minivm: %s%sunknown option %s%s%s (see minivm %s%s--help)\n", command.c_str(),
                 command.empty() ? "" : ": ", option.c_str(), why.empty() ? "" : ": ", why.c_str(), command.c_str(),
                 command.empty() ? "" : " ");
}

bool ends_with_one_of(const std::string& name, std::initializer_list<const char*> ends) {
    return std::any_of(ends.begin(), ends.end(), [&](const char* end) { return name.ends_with(end); });
}

// A word that CLI11 has seen, as the user wrote it.
std::string as_written(const std::string& word, int argc, char** argv) {
    char** const written = std::find_if(argv + 1, argv + argc, [&](const char* one) {
        return minivm::tools::as_cli_word(one) == word;
    });
    return written != argv + argc ? *written : word;
}

// Reports what stands in the place of a command.
void report_no_command(int argc, char** argv) {
    if (argc <= 1) {
        std::fputs("minivm: which command? minivm --help lists them\n", stderr);
        return;
    }
    const std::string word = argv[1];
    std::error_code ignored;
    if (is_option(word)) {
        report_unknown_option(word, "");
        std::fputs("minivm: options of a command stand behind it: minivm run --engine interp FILE\n", stderr);
    } else if (ends_with_one_of(word, {".beam", ".erl", ".ex", ".exs"}) ||
               std::filesystem::is_regular_file(word, ignored)) {
        std::fprintf(stderr, "minivm: there is no command %s; to run it: minivm run %s\n", word.c_str(), word.c_str());
    } else {
        std::fprintf(stderr, "minivm: there is no command %s; minivm --help lists them\n", word.c_str());
    }
}

using minivm::tools::kAtomsOption;
using minivm::tools::kErlSchedulersOption;

// Returns the command line up to the first "--" or "-extra"; *rest: that word and all behind it. CLI11 must not see the
// rest: it would look for options of the program above a subcommand there.
std::vector<std::string> split_arguments(int argc, char** argv, std::vector<std::string>* rest) {
    std::vector<std::string> args;
    for (int i = 1; i < argc; ++i) {
        const std::string a = argv[i];
        if (a == "--" || a == "-extra") {
            rest->assign(argv + i, argv + argc);
            break;
        }
        args.push_back(minivm::tools::as_cli_word(a));
    }
    return args;
}

// Options of every command that starts a VM.
void add_vm_options(CLI::App* command, minivm::tools::RunOptions* options,
                    std::string* record_terms) {
    command->add_option("--engine", options->engine,
                    "Engine for modules: jit (the default), interp, jit-default, mixed:SEED");
    command->add_option("-S,--schedulers", options->schedulers,
                    "Scheduler threads (default: one a core)")
        ->check(CLI::Range(1, 1024));
    command->add_option(kErlSchedulersOption, options->erl_schedulers,
                        "As erl's +S N:M: N schedulers, M of them online (also +S N:M)");
    command->add_option("--pa", options->path,
                    "Directory to look for modules in, before OTP's (also -pa)")
        ->allow_extra_args(false)
        ->check(CLI::ExistingDirectory);
    command->add_option("--listen", options->listen,
                    "Unix socket for minivm attach, load and record, in a directory of mode 0700");
    command->add_option("--record", options->record_file,
                    "File of the flight recorder; it survives kill -9 (default: one of the last "
                    "few in the user's runtime directory)");
    command->add_option("--record-size", options->record_size, "Its size, such as 64M (default: 6.5M, more with many schedulers)");
    command->add_option("--record-off", options->record_off,
                    "Categories that are not recorded, or all: " + minivm::tools::category_names())
        ->allow_extra_args(false);
    command->add_option("--record-terms", *record_terms, "no: messages and reasons are not recorded")
        ->check(CLI::IsMember({"yes", "no"}));
    command->add_option("--dump-on", options->dump_on,
                    "Write the recording as text beside it: exit, fault (default: reports only), never")
        ->check(CLI::IsMember({"exit", "fault", "never"}));
    command->add_flag("--debug-bifs", options->debug_bifs,
                  "minivm:provoke_fault(segv | abort | stack | ill | fpe | bus | trap) fails as it says");
    command->add_flag("--perf{true}", options->perf,
                  "For Linux perf: names of native code in /tmp, and frame pointers; --perf=WHAT[,...] with "
                  "map, dump, fp, no_fp or true, which is map,dump,fp (see docs/jit.md)");
    command->add_flag("--check-native", options->check_native,
                  "Native code checks what it assumes where functions begin and calls return (to find bugs)");
    command->add_flag("--gdb", options->gdb,
                  "Names, lines and frames of native code for gdb (see docs/jit.md)");
    command->add_option("--code-memory", options->code_memory_kib,
                    "KiB for native code (default: what the machine's branches reach); modules that "
                    "find no room run as bytecode")
        ->check(CLI::Range(minivm::jit::kLeastCodeMemoryBytes / 1024, size_t{1} << 19));
    command->add_option(kAtomsOption, options->atoms,
                        "How many atoms there can be (default: 1048576; also +t N)")
        ->check(CLI::Range(minivm::atom_table::kLeastLimit, minivm::atom_table::kMostLimit));
    command->add_option("--trace-frames", options->trace_frames,
                    "Traced calls on one stack whose return is told (default: 100000); of more only "
                    "the calls are")
        ->check(CLI::Range(uint32_t{1}, minivm::tracing::kMostFrames));
    command->add_option("--jit-only", options->jit_only,
                    "File of modules and functions that get native code (see docs/jit.md)")
        ->check(CLI::ExistingFile);
    command->add_option("--jit-list", options->jit_list,
                    "File for the names of all functions that got native code");
    command->add_option("--code-barrier", options->code_barrier)  // to test what kernels without it do
        ->check(CLI::IsMember({"membarrier", "progress"}))
        ->group("");
    command->add_option("--jit-mistake", options->jit_mistake)->group("");  // to test tools/bisect
    command->add_flag("--stress-gc", options->stress_gc, "Collect at every chance (to find bugs)");
    command->add_flag("--stress-reductions", options->stress_reductions,
                  "One reduction a time slice");
    command->add_option("--stress-sched", options->stress_sched_seed,
                    "Random scheduling from this seed");
    command->add_option("--leave-out-rereads", options->left_out_rereads)  // to test a test
        ->group("")
        ->delimiter(',')
        ->allow_extra_args(false);
}

// The command line as it was written.
struct Words {
    int argc;
    char** argv;
    std::vector<std::string> after_options;  // "--" or -extra and all behind it
};

// A subcommand, and what runs it once the command line has been parsed; that returns the exit status.
struct Command {
    CLI::App* app;
    std::function<int()> run;
};

// Options of run and repl.
struct VmOptions {
    minivm::tools::RunOptions options;
    std::string record_terms = "yes";
};

// Sets the options that the parser cannot set; false: the user has been told what is wrong.
bool complete(VmOptions* vm) {
    minivm::tools::RunOptions& options = vm->options;
    options.record_terms = vm->record_terms == "yes";
    if (options.erl_schedulers.empty()) {
        return true;
    }
    const int processors = static_cast<int>(std::max(std::thread::hardware_concurrency(), 1U));
    const auto numbers = minivm::tools::scheduler_numbers(options.erl_schedulers, processors);
    if (!numbers.error.empty()) {
        spdlog::error("+S {}: {}", options.erl_schedulers, numbers.error);
        return false;
    }
    options.schedulers = numbers.schedulers;
    options.schedulers_online = numbers.online;
    return true;
}

struct RunWords {
    VmOptions vm;
    std::vector<std::string> evals;
    const CLI::Option* eval_option = nullptr;
    std::vector<std::string> call_values;
    const CLI::Option* call_option = nullptr;
};

// The program and its arguments, as they were written.
std::vector<std::string> program_words(const CLI::App& run, const Words& words, RunWords* given) {
    std::vector<std::string> rest = run.remaining();
    std::vector<std::string> after = words.after_options;
    char** const options_end = words.argv + words.argc - after.size();
    std::copy(options_end - rest.size(), options_end, rest.begin());
    // Behind the program "--" is an argument of it like any other.
    if (rest.empty() && !after.empty() && after.front() == "-extra") {
        given->vm.options.arguments.assign(after.begin() + 1, after.end());
        after.clear();
    }
    const bool ends_options = rest.empty() && !after.empty();
    rest.insert(rest.end(), after.begin() + (ends_options ? 1 : 0), after.end());
    return rest;
}

// Takes the values of -s and -eval in their order; false: the user has been told what is wrong.
bool take_steps(const CLI::App& run, RunWords* given) {
    std::vector<std::vector<std::string>> calls = minivm::tools::split_calls(given->call_values);
    if (std::any_of(calls.begin(), calls.end(), [](const auto& call) { return call.empty(); })) {
        spdlog::error("run: -s: which module? Give -s MODULE [FUNCTION [ARGUMENT...]]");
        return false;
    }
    // One entry of the order for each value.
    size_t next_value = 0;
    size_t next_call = 0;
    size_t next_eval = 0;
    auto& steps = given->vm.options.steps;
    for (const CLI::Option* option : run.parse_order()) {
        if (option == given->eval_option) {
            steps.push_back({.is_call = false, .words = {given->evals[next_eval++]}});
        } else if (option == given->call_option &&
                   minivm::tools::begins_call(given->call_values[next_value++])) {
            steps.push_back({.is_call = true, .words = std::move(calls[next_call++])});
        }
    }
    return true;
}

int run_program(const CLI::App& run, const Words& words, RunWords* given) {
    minivm::tools::RunOptions& options = given->vm.options;
    if (!complete(&given->vm)) {
        return 2;
    }
    const std::vector<std::string> remaining = run.remaining();
    if (is_unknown_option(remaining)) {
        report_unknown_option(as_written(remaining.front(), words.argc, words.argv), "run");
        return 2;
    }
    const std::vector<std::string> rest = program_words(run, words, given);
    if (!take_steps(run, given)) {
        return 2;
    }
    if (rest.empty() && options.steps.empty()) {
        spdlog::error(
            "run: which program? Give FILE.beam, FILE.erl, MODULE, -s or -eval (see minivm run --help)");
        return 2;
    }
    if (!rest.empty()) {
        options.program = rest.front();
        if (ends_with_one_of(options.program, {".ex", ".exs"})) {
            spdlog::error(
                "run: {} is source of Elixir, which minivm does not compile: elixirc does, or elixir itself when it runs "
                "on minivm (docs/your_project.md)",
                options.program);
            return 2;
        }
        options.arguments.assign(rest.begin() + 1, rest.end());
        minivm::tools::run_as_script(&options);
    }
    return minivm::tools::run_command(options);
}

Command run_command(CLI::App& app, const Words& words) {
    const auto given = std::make_shared<RunWords>();
    CLI::App* run = app.add_subcommand("run", "Run a program: main/1 with the arguments, else start/0");
    run->prefix_command();
    run->footer(
        "After the options: FILE.beam, FILE.erl (compiled first), MODULE or a script for escript, then the program's arguments.\n"
        "-- ends the options. -extra does too, and all behind it are arguments of what -s or -eval\n"
        "call. Exit status: 0, N after halt(N), 127 after an uncaught exception.");
    given->eval_option = run->add_option("--eval", given->evals, "Erlang expressions to evaluate (also -eval)")
                             ->allow_extra_args(false);
    given->call_option =
        run->add_option("-s", given->call_values,
                        "Call M:F() or M:F(Args): module, function, arguments; start by default. All -s and -eval run in "
                        "their order")
            ->expected(1, -1);
    minivm::tools::RunOptions& options = given->vm.options;
    run->add_option("--trace", options.traces,
                    "Show calls, from the first on: M:F/A, M:F, M or M:F(ARGUMENTS), and what :trace at "
                    "the prompt takes (docs/prompt.md)")
        ->allow_extra_args(false);
    run->add_option("--load", options.loads,
                    "File (.beam, .erl) with one more module of the program, loaded before anything runs")
        ->allow_extra_args(false);
    run->add_flag("--no-halt", options.wait, "Go on when the program has returned, until halt()");
    add_vm_options(run, &options, &given->vm.record_terms);
    return {run, [run, &words, given] { return run_program(*run, words, given.get()); }};
}

Command repl_command(CLI::App& app) {
    const auto vm = std::make_shared<VmOptions>();
    CLI::App* repl = app.add_subcommand("repl", "A VM with a prompt");
    repl->add_option("FILE", vm->options.repl_files, "Modules (.beam, .erl) to load first");
    repl->footer("Expressions and commands come from the terminal or a pipe; :help lists them.\n"
                 "Exit status: 0, 1 if a command from a pipe failed, N after halt(N).");
    add_vm_options(repl, &vm->options, &vm->record_terms);
    return {repl, [vm] {
                if (!complete(vm.get())) {
                    return 2;
                }
                for (const std::string& file : vm->options.repl_files) {
                    if (is_option(file)) {
                        report_unknown_option(file, "repl");
                        return 2;
                    }
                }
                return minivm::tools::repl_command(vm->options);
            }};
}

Command disasm_command(CLI::App& app) {
    const auto native = std::make_shared<std::string>();
    CLI::App* disasm = app.add_subcommand("disasm", "Print what a .beam file is lowered to");
    disasm->prefix_command();
    disasm->footer("FILE.beam [MODULE:FUNCTION/ARITY]");
    disasm->add_option("--native", *native, "Show the machine code for x86-64 or aarch64 too")
        ->check(CLI::IsMember({"x86-64", "aarch64"}));
    return {disasm, [disasm, native] {
                const std::vector<std::string> rest = disasm->remaining();
                if (is_unknown_option(rest)) {
                    report_unknown_option(rest.front(), "disasm");
                    return 2;
                }
                if (rest.empty() || rest.size() > 2) {
                    spdlog::error("disasm: give FILE.beam and, if you like, one function");
                    return 2;
                }
                return minivm::tools::disasm_command(rest[0], rest.size() > 1 ? rest[1] : "", *native, stdout,
                                                     stderr);
            }};
}

Command dump_command(CLI::App& app) {
    const auto options = std::make_shared<minivm::tools::DumpOptions>();
    CLI::App* dump = app.add_subcommand("dump", "Print a recording, of a VM that runs or of one that is gone");
    dump->add_option("FILE", options->file, "The recording");
    dump->add_option("--format", options->format, "text, json, ctf, perfetto or terms")
        ->check(CLI::IsMember({"text", "json", "ctf", "perfetto", "terms"}));
    dump->add_option("--last", options->last, "Only this long before the newest record, such as 5s");
    dump->add_option("--pid", options->pid, "Only records about this process, such as <0.80.0>");
    dump->add_option("--category", options->categories, "Only these: " + minivm::tools::category_names())
        ->allow_extra_args(false);
    dump->add_option("--match", options->match, "Only records whose text contains this");
    dump->add_flag(
        "--places", options->places,
        "Text and terms: where in the source each record was made; the others always say");
    dump->add_option("-o,--output", options->output, "Write there (ctf: a directory)");
    dump->add_flag("--crash", options->crash,
                   "What went wrong: faults, failed processes, what ran at the end");
    dump->add_option("--records", options->records, "With --crash: records of each process (20)");
    return {dump, [options] {
                if (options->file.empty()) {
                    spdlog::error("dump: which recording? Give its file (see minivm dump --help)");
                    return 2;
                }
                return minivm::tools::dump_command(*options, stdout, stderr);
            }};
}

Command report_command(CLI::App& app) {
    struct Files {
        std::string recording, page;
    };
    const auto files = std::make_shared<Files>();
    CLI::App* report = app.add_subcommand("report", "A recording as one page for a browser");
    report->add_option("FILE", files->recording, "The recording");
    report->add_option("-o,--output", files->page, "The page (default: standard output)");
    return {report, [files] {
                if (files->recording.empty()) {
                    spdlog::error("report: which recording? Give its file (see minivm report --help)");
                    return 2;
                }
                return minivm::tools::report_command(files->recording, files->page, stdout, stderr);
            }};
}

Command attach_command(CLI::App& app) {
    const auto options = std::make_shared<minivm::tools::AttachOptions>();
    CLI::App* attach = app.add_subcommand("attach", "A prompt in a VM that runs with --listen");
    attach->add_option("SOCKET", options->socket, "What its --listen says");
    attach->add_option("-c", options->commands,
                       "Run this command (or expression) and end; again for one more")
        ->allow_extra_args(false);
    attach->footer("Without -c commands come from the terminal or a pipe; :help lists them.\n"
                   "Exit status: 0, 1 if a command failed, 2 if there is no VM to talk to.");
    return {attach, [options] {
                if (options->socket.empty()) {
                    spdlog::error("attach: which VM? Give the socket it listens at (minivm run --listen SOCKET)");
                    return 2;
                }
                return minivm::tools::attach_command(*options);
            }};
}

Command record_command(CLI::App& app) {
    struct What {
        std::string socket;
        std::vector<std::string> words;
    };
    const auto what = std::make_shared<What>();
    CLI::App* record = app.add_subcommand("record", "What the recorder of a VM with --listen records");
    record->add_option("SOCKET", what->socket, "What its --listen says");
    record->add_option("WHAT", what->words,
                       "on [CATEGORY...], off [CATEGORY...], filter CATEGORY... (these and no others); "
                       "start FILE [SIZE] [CATEGORY...]: one more recording; stop FILE; "
                       "nothing: what is recorded");
    record->footer("Categories: " + minivm::tools::category_names() + ", all");
    return {record, [what] {
                if (what->socket.empty()) {
                    spdlog::error("record: which VM? Give the socket it listens at (minivm run --listen SOCKET)");
                    return 2;
                }
                return minivm::tools::record_command(what->socket, what->words);
            }};
}

Command load_command(CLI::App& app) {
    const auto options = std::make_shared<minivm::tools::LoadOptions>();
    CLI::App* load = app.add_subcommand("load", "Load modules into a VM that runs with --listen");
    load->add_option("SOCKET", options->socket, "What its --listen says");
    load->add_option("FILE", options->files, "Modules (.beam, .erl); several change in one step");
    load->add_flag("--purge", options->purge,
                   "End processes that still run the code before the present one");
    return {load, [options] {
                if (options->socket.empty() || options->files.empty()) {
                    spdlog::error("load: give the socket the VM listens at, then FILE.beam...");
                    return 2;
                }
                return minivm::tools::load_command(*options);
            }};
}

Command erl_command(CLI::App& app) {
    CLI::App* erl = app.add_subcommand("erl", "What erl is, on minivm: OTP's own boot, all of erl's arguments");
    erl->prefix_command();
    return {erl, [] {  // main() has taken it where it is the first word
                spdlog::error("erl: it is the first word, and all behind it is erl's: minivm erl ARGUMENT...");
                return 2;
            }};
}

Command install_command(CLI::App& app) {
    const auto folder = std::make_shared<std::string>();
    CLI::App* install = app.add_subcommand(
        "install", "Make a folder whose bin/erl is minivm's, for scripts that start erl; or put minivm into a release");
    install->add_option("DIR", *folder, "The folder, or a release with an ERTS of its own; again to bring it up to date");
    return {install, [folder] {
                if (folder->empty()) {
                    spdlog::error("install: which folder? Give DIR (see minivm install --help)");
                    return 2;
                }
                return minivm::tools::install_command(*folder);
            }};
}

Command env_command(CLI::App& app) {
    CLI::App* env = app.add_subcommand("env", "Print what puts minivm's erl into PATH: eval \"$(minivm env)\"");
    return {env, minivm::tools::env_command};
}

// Reports what the parser has left over.
void report_extra(const CLI::App& app, const Words& words) {
    const std::vector<std::string> extras = app.remaining(true);
    const std::vector<const CLI::App*> commands = app.get_subcommands([](const CLI::App* c) { return c->parsed(); });
    const std::string command = commands.empty() ? "" : commands.front()->get_name();
    const std::string extra = extras.empty() ? "" : as_written(extras.front(), words.argc, words.argv);
    if (is_option(extra)) {
        report_unknown_option(extra, command);
    } else {
        std::fprintf(stderr, "minivm: %s: unexpected argument %s (see minivm %s --help)\n", command.c_str(), extra.c_str(),
                     command.c_str());
    }
}

}  // namespace

int main(int argc, char** argv) {
    minivm::trace::add_bifs();
    minivm::tools::outside::add_bifs();
    minivm::tools::add_prompt_bifs();
    open_closed_streams();
    if (minivm::tools::is_emulator()) {
        set_up_log("info");
        return minivm::tools::emulator_main(argc, argv);
    }
    if (argc > 1 && std::string_view(argv[1]) == "erl") {  // all behind it is erl's
        set_up_log("info");
        return minivm::tools::erl_command({argv + 2, argv + argc});
    }
    CLI::App app("minivm: a small BEAM. Runs .beam files of erlc and elixirc.", "minivm");
    app.set_version_flag("--version", kVersion);
    app.require_subcommand(1);
    std::string log_level = "info";
    app.add_option("--log-level", log_level,
                   "Messages of the VM itself: trace, debug, info, warning, error, off")
        ->check(CLI::IsMember({"trace", "debug", "info", "warning", "error", "off"}));
    Words words{argc, argv, {}};
    const Command commands[] = {run_command(app, words), repl_command(app),   disasm_command(app), dump_command(app),
                                report_command(app),     attach_command(app), record_command(app), load_command(app),
                                erl_command(app),        install_command(app), env_command(app)};
    std::vector<std::string> args = split_arguments(argc, argv, &words.after_options);
    std::reverse(args.begin(), args.end());
    try {
        app.parse(args);
    } catch (const CLI::RequiredError&) {
        report_no_command(argc, argv);
        return 2;
    } catch (const CLI::ExtrasError&) {
        report_extra(app, words);
        return 2;
    } catch (const CLI::ParseError& e) {
        return app.exit(e) == 0 ? 0 : 2;
    }
    set_up_log(log_level);
    for (const Command& command : commands) {
        if (command.app->parsed()) {
            return command.run();
        }
    }
    return 2;
}
