// What happens when the VM itself fails: SIGSEGV, SIGBUS, SIGFPE, SIGILL, SIGTRAP, SIGABRT.
//
// The handler runs on the thread's alternate stack, so that an overflow of the thread's own is
// reported as well. It allocates nothing, takes no lock of ours and writes one report, to the
// recording and to standard error: what and where, the registers, the C++ frames (libunwind), the
// process that ran and its Erlang frames (the walker of stack traces). Each part that faults itself
// is given up and the next one written; another thread that faults meanwhile waits. Then the signal
// takes its course: the system's default, or whoever handled it before.
//
// Threads: install() and the settings before others start; prepare_thread() on each thread.
#pragma once

#include <cstdint>

#include "vm/term/term.hpp"
#include "vm/util/fatal.hpp"

namespace minivm {

struct Process;

namespace fault {

// Sets the handlers. print: the report goes to standard error as well.
void install(bool print);
// The first use of the unwinder reads the program's tables, which takes a millisecond; later ones find
// them. On any thread, once install() has been called.
void warm_up();
bool is_installed();
// The registers of the machine where a signal came, in the order of its calling convention.
struct Registers {
    uint64_t pc = 0;
    uint64_t sp = 0;
    uint64_t argument[6] = {};
    // Where an engine that keeps the Erlang stack in a register of its own finds it: rsp on x86-64,
    // x20 on aarch64 (docs/jit.md).
    uint64_t erlang_stack = 0;
};

// Where Erlang code was when the signal came.
struct ErlangState {
    const void* pc = nullptr;     // bytecode or native
    const Term* stack = nullptr;  // its top
};

// For tests and for those who ask for trouble (the option --debug-bifs): fails as told, "segv",
// "abort", "fpe", "ill", "bus", "trap" or "stack". False: no such word.
bool provoke(const char* how);
extern bool g_may_provoke;

}  // namespace fault
}  // namespace minivm
