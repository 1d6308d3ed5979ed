// The JIT: an Engine that makes native code.
#pragma once

#include "vm/code/engine.hpp"
#include "vm/util/result.hpp"

#include <string>

namespace minivm {
struct PerfOptions;
}

namespace minivm::jit {

// Whether the JIT can make code for this machine.
bool available();

struct Options {
    size_t code_memory_bytes = 0;  // 0: what the machine's branches reach
    std::string only;              // file with a Selection; empty: all
    std::string list;              // file for the names of the functions that get native code
    // False: as if the kernel had no membarrier for instructions (--code-barrier progress).
    bool use_membarrier = true;
    // For tests of tools/bisect: the code of "MODULE:FUNCTION/ARITY" gets a mistake (jit/emitter.hpp).
    std::string mistake_in;
};
constexpr size_t kLeastCodeMemoryBytes = 64 * 1024;  // holds the shared fragments

// Call it before the functions below, best while the process has one thread. Fails with what is wrong with a file.
Result<void, std::string> configure(const Options& options);

// Writes names and lines of all code from now on for Linux perf (jit/perf.hpp). Call it before engine(): perf
// can name only code memory that was reserved for it. Fails with what is wrong with a file.
Result<void, std::string> write_perf_files(const PerfOptions& options);

// Shows names, lines and frames of all code to gdb (jit/gdb.hpp). Call it before engine().
void show_code_to_gdb();

// Native code made from now on checks, where functions begin and where calls return, that the registers
// play their roles, the stack has its reserve, return addresses are tagged and arguments are terms; the
// program aborts with what is wrong (--check-native).
void emit_checks();
bool checks_emitted();

// Native code keeps frame pointers, for profilers that follow them (--perf=fp). Call it before engine().
void keep_frame_pointers();
bool frame_pointers();

// The engine; its shared fragments are made at the first call, before anything is loaded.
// fast_paths: false gives every instruction its default operation (--engine jit-default).
Engine& engine(bool fast_paths = true);

}  // namespace minivm::jit
