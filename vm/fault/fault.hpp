// What happens when the VM itself fails: SIGSEGV, SIGBUS, SIGFPE, SIGILL, SIGTRAP, SIGABRT.
//
// The handler runs on the thread's alternate stack, so that it can report an overflow of the thread's
// own stack as well. It allocates nothing, takes no lock of ours and writes one report, to the
// recording and to standard error: what and where, the registers, the C++ frames (libunwind), the
// process that ran and its Erlang frames (the walker of stack traces). If a part faults itself, the
// handler goes on with the next one; another thread that faults meanwhile waits. Then the signal
// takes its course: the handler before ours gets it, or the system's default action happens.
//
// Threads: call install() and the settings before other threads start, prepare_thread() on each thread.
#pragma once

#include <cstdint>

#include "vm/term/term.hpp"
#include "vm/util/fatal.hpp"

namespace minivm {

struct Process;

namespace fault {

// Sets the handlers. print: the report goes to standard error as well.
void install(bool print);
// Uses the unwinder once: that reads the program's tables, which takes a millisecond and which later uses
// find. Any thread, after install().
void warm_up();
bool is_installed();
// The machine's registers when the signal came; the arguments in the order of the calling convention.
struct Registers {
    uint64_t pc = 0;
    uint64_t sp = 0;
    uint64_t argument[6] = {};
    // The register in which an engine may keep the Erlang stack pointer: rsp on x86-64, x20 on aarch64
    // (docs/jit.md).
    uint64_t erlang_stack = 0;
};

// Where Erlang code was when the signal came.
struct ErlangState {
    const void* pc = nullptr;     // bytecode or native
    const Term* stack = nullptr;  // its top
};

// For tests, and for programs that run with the option --debug-bifs: fails in the way that `how` says, "segv",
// "abort", "fpe", "ill", "bus", "trap" or "stack". False: no such word.
bool provoke(const char* how);
extern bool g_may_provoke;

}  // namespace fault
}  // namespace minivm
