// Runs a VM: for `minivm run`, for `minivm repl`, and in place of beam.smp. Returns the exit status.
#pragma once

#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "tools/emulator_flags.hpp"
#include "vm/term/atom_table.hpp"

namespace minivm::tools {

struct RunOptions {
    std::string engine;  // empty: jit, or interp where there is none
    int schedulers = 0;                         // 0: one a core
    std::string erl_schedulers;                 // +S N:M, which gives both numbers, or empty
    int schedulers_online = 0;                  // 0: all of them
    std::vector<std::string> path;              // -pa
    std::vector<std::string> loads;             // --load: modules (.beam, .erl) to load before anything runs
    struct Step {
        bool is_call = false;                   // -s M [F [A...]], or -eval TEXT
        std::vector<std::string> words;
    };
    std::vector<Step> steps;                    // in the order of the command line
    std::string program;                        // file or module; may be empty with -s or -eval
    std::vector<std::string> arguments;
    std::vector<std::pair<std::string, std::vector<std::string>>> flags;  // init:get_argument/1
    std::string record_file;                    // empty: one of the last few in the user's directory
    std::string record_size;                    // empty: by the number of schedulers
    std::vector<std::string> record_off;        // categories, or "all"
    bool record_terms = true;                   // false: messages and reasons are not copied
    std::string dump_on = "fault";              // exit | fault | never
    std::string perf;                           // for Linux perf: true, map, dump, fp, no_fp, with commas
    std::string perf_directory;                 // of its files; empty: as usual
    uint32_t atoms = atom_table::kDefaultLimit;
    size_t code_memory_kib = 0;                 // 0: what the machine's branches reach
    uint32_t trace_frames = 100000;             // on one stack; see trace/
    std::string jit_only;                       // file: which functions get native code, or empty
    std::string jit_list;                       // file for the names of those that got it, or empty
    std::string code_barrier = "membarrier";    // or progress: as if the kernel had none
    std::string jit_mistake;                    // function that gets a mistake, for tests; or empty
    bool check_native = false;                  // native code checks what it assumes
    bool gdb = false;                           // names, lines and frames of native code for gdb
    std::vector<std::string> traces;            // --trace: patterns as for :trace at the prompt
    std::string listen;                         // socket for clients, or empty
    std::optional<EmulatorFlags> emulator;      // in place of beam.smp: OTP's init is the first process
    bool is_repl = false;                       // a prompt is the program; repl_files are loaded
    std::vector<std::string> repl_files;
    bool wait = false;                          // go on until halt() when all has been run
    bool debug_bifs = false;                    // minivm:provoke_fault/1 works
    bool stress_gc = false;
    bool stress_reductions = false;
    unsigned long stress_sched_seed = 0;
    std::vector<std::string> left_out_rereads;
};
int run_command(const RunOptions& options);

}  // namespace minivm::tools
