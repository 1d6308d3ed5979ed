// minivm: runs Erlang and Elixir programs from .beam files.
#include <spdlog/sinks/stdout_sinks.h>
#include <spdlog/spdlog.h>

#include <CLI/CLI.hpp>

#include "tools/disasm.hpp"
#include "tools/run.hpp"


namespace {

constexpr const char* kVersion = "minivm 0.1.0";

void set_up_log(const std::string& level) {
    auto logger = spdlog::stderr_logger_mt("minivm");
    logger->set_pattern("minivm: %v");
    spdlog::set_default_logger(logger);
    spdlog::set_level(spdlog::level::from_str(level));
}

// erl spells long options with one dash.
std::vector<std::string> erl_options(int argc, char** argv) {
    std::vector<std::string> args;
    bool program_seen = false;
    for (int i = 1; i < argc; ++i) {
        std::string a = argv[i];
        if (!program_seen && (a == "-pa" || a == "-eval")) {
            a.insert(0, "-");
        }
        if (a == "--") {
            program_seen = true;
        }
        args.push_back(std::move(a));
    }
    return args;
}

}  // namespace

int main(int argc, char** argv) {
    CLI::App app("minivm: a small BEAM. Runs .beam files of erlc and elixirc.", "minivm");
    app.set_version_flag("--version", kVersion);
    app.require_subcommand(1);
    std::string log_level = "info";
    app.add_option("--log-level", log_level, "Messages of the VM itself: trace, debug, info, warning, error, off")
        ->check(CLI::IsMember({"trace", "debug", "info", "warning", "error", "off"}));

    minivm::tools::RunOptions run_options;
    CLI::App* run = app.add_subcommand("run", "Run a program: main/1 with the arguments, else start/0");
    run->prefix_command();
    run->footer(
        "After the options: FILE.beam or MODULE, then the program's arguments.\n"
        "-- ends the options. Exit status: 0, N after halt(N), 127 after an uncaught exception.");
    run->add_option("--engine", run_options.engine, "Engine for modules: interp")
        ->check(CLI::IsMember({"interp"}));
    run->add_option("-S,--schedulers", run_options.schedulers, "Scheduler threads (default: one a core)")
        ->check(CLI::Range(1, 1024));
    run->add_option("--pa", run_options.path, "Directory to look for modules in, before OTP's (also -pa)")
        ->allow_extra_args(false)
        ->check(CLI::ExistingDirectory);
    run->add_option("--eval", run_options.evals, "Erlang expressions to evaluate (also -eval)")
        ->allow_extra_args(false);
    std::vector<std::string> call;
    run->add_option("-s", call, "Call M:F() or M:F(Args): module, function, arguments; start by default")
        ->expected(1, -1);
    run->add_flag("--no-halt", run_options.wait, "Go on when the program has returned, until halt()");
    run->add_option("--record", run_options.record_file,
                    "File of the flight recorder; it survives kill -9 (default: memory only)");
    run->add_flag("--stress-gc", run_options.stress_gc, "Collect at every chance (to find bugs)");
    run->add_flag("--stress-reductions", run_options.stress_reductions, "One reduction a time slice");
    run->add_option("--stress-sched", run_options.stress_sched_seed, "Random scheduling from this seed");

    CLI::App* disasm = app.add_subcommand("disasm", "Print what a .beam file is lowered to");
    disasm->prefix_command();
    disasm->footer("FILE.beam [MODULE:FUNCTION/ARITY]");

    std::vector<std::string> args = erl_options(argc, argv);
    std::reverse(args.begin(), args.end());
    try {
        app.parse(args);
    } catch (const CLI::ParseError& e) {
        return app.exit(e) == 0 ? 0 : 2;
    }
    set_up_log(log_level);
    if (disasm->parsed()) {
        const std::vector<std::string> rest = disasm->remaining();
        if (rest.empty() || rest.size() > 2) {
            spdlog::error("disasm: give FILE.beam and, if you like, one function");
            return 2;
        }
        return minivm::tools::disasm_command(rest[0], rest.size() > 1 ? rest[1] : "", stdout, stderr);
    }
    std::vector<std::string> rest = run->remaining();
    if (!rest.empty() && rest.front() == "--") {
        rest.erase(rest.begin());
    }
    if (!call.empty()) {
        run_options.calls.push_back(call);
    }
    if (rest.empty() && call.empty() && run_options.evals.empty()) {
        spdlog::error("run: which program? Give FILE.beam, MODULE, -s or -eval (see minivm run --help)");
        return 2;
    }
    if (!rest.empty()) {
        run_options.program = rest.front();
        run_options.arguments.assign(rest.begin() + 1, rest.end());
    }
    return minivm::tools::run_command(run_options);
}
