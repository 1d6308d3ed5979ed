// The commands of the minivm program, one function each. They return the exit status.
#pragma once

#include <string>
#include <vector>

namespace minivm::tools {

struct RunOptions {
    std::string engine = "interp";
    int schedulers = 0;                         // 0: one a core
    std::vector<std::string> path;              // -pa
    std::vector<std::vector<std::string>> calls;  // -s M [F [A...]]
    std::vector<std::string> evals;             // -eval
    std::string program;                        // file or module; may be empty with -s or -eval
    std::vector<std::string> arguments;
    std::string record_file;                    // empty: the recorder keeps to memory
    bool wait = false;                          // go on until halt() when all has been run
    bool stress_gc = false;
    bool stress_reductions = false;
    unsigned long stress_sched_seed = 0;
};
int run_command(const RunOptions& options);

}  // namespace minivm::tools
