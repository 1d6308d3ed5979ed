#include "tools/emulator.hpp"

#include <sys/auxv.h>

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <string_view>
#include <thread>

#include "loader/code_path.hpp"
#include "tools/emulator_flags.hpp"
#include "tools/run.hpp"
#include "vm/util/otp_release.hpp"

namespace minivm::tools {

bool is_emulator() {
    // Not argv[0], which is a script's name where escript starts one.
    const auto* file = reinterpret_cast<const char*>(getauxval(AT_EXECFN));
    if (file == nullptr) {
        return false;
    }
    const std::string_view path(file);
    return path.substr(path.rfind('/') + 1).starts_with("beam");
}

int emulator_main(int argc, char** argv) {
    const std::vector<std::string> words(argv, argv + argc);
    const int processors = static_cast<int>(std::max(std::thread::hardware_concurrency(), 1U));
    EmulatorFlags flags = parse_emulator_flags(words, processors);
    const auto compat = std::find_if(flags.told.rbegin(), flags.told.rend(), [](const auto& t) { return t.first == "compat_rel"; });
    if (flags.error.empty() && (flags.tells_version || compat != flags.told.rend())) {
        loader::CodePath path;  // the libraries say which release it is
        std::string error;
        if (!path.add_otp(&error)) {
            std::fprintf(stderr, "%s\n", error.c_str());
            return 1;
        }
        if (compat != flags.told.rend()) {
            const int release = std::atoi(compat->second.c_str());
            if (release < otp_release().number - 2 || release > otp_release().number) {
                flags.error = "bad compatibility release number " + compat->second;
            }
        }
    }
    if (!flags.error.empty()) {
        std::fprintf(stderr, "%s\r\n%s", flags.error.c_str(), emulator_usage(words.front()).c_str());
        return 1;
    }
    if (flags.tells_version) {
        std::fprintf(stderr, "Erlang (SMP,ASYNC_THREADS) (BEAM) emulator version %s\r\n", otp_release().erts_version.c_str());
        return 0;
    }
    RunOptions options;
    options.schedulers = flags.schedulers;
    options.schedulers_online = flags.schedulers_online;
    options.perf = flags.perf;
    options.perf_directory = flags.perf_directory;
    if (flags.atoms != 0) {
        options.atoms = flags.atoms;
    }
    options.emulator = flags;
    return run_command(options);
}

}  // namespace minivm::tools
