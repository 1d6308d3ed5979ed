// Exceptions: raising, stack traces, finding the handler.
//
// An exception is raised by filling Process::exception; the engine then calls unwind(), which saves a
// raw trace and drops the stack down to the frame that holds the nearest catch mark.
//
// A raw trace is a tuple {Class, Top, Frames...}:
//   Class   as for erlang:raise/3
//   Top     []; or the first entry, {M, F, ArgsOrArity, Info}; or {M, F, Args} for a function_clause, whose line
//           is that of the first frame
//   Frames  four terms each: module, function, line and arity in one small integer (line << 8 | arity), file
//           (atom or [])
// It contains no code pointer, so a purge need not look at it. A list given to erlang:raise/3 stays a list:
// {Class, List}.
//
// Threads: all on the process's own scheduler. Nothing here collects; terms are built with p.heap.
#pragma once

#include "vm/instr/bif_def.hpp"
#include "vm/instr/lowered.hpp"
#include "vm/process/process.hpp"

#include <atomic>

namespace minivm {

// ---- raising (all leave the exception in p) -------------------------------------------------------

void raise_tagged(Process& p, Term tag, Term value);        // error {Tag, Value}, raised by code
void raise_code_error(Process& p, Term reason);             // error Reason, raised by code
void raise_function_clause(Process& p, uint32_t arity, const Term* x);
void raise_bad_apply(Process& p, uint32_t arity, const Term* x);  // arity and x as applied() has left them
void raise_bad_fun(Process& p, Term fun, uint32_t arity, const Term* x);  // badfun or badarity
// Called by the BIF that a call of the fun trapped to: the module is loaded but has no such fun any more. Returns the
// non-value.
Term raise_fun_is_gone(Process& p, Term fun);
void raise_undef(Process& p, Term module, Term function, uint32_t arity, const Term* x);
void raise_again(Process& p, Term raw_trace, Term reason);
// raw_raise: false if class is none.
bool raise_raw(Process& p, Term cls, Term reason, Term trace);
// Sets the operator or BIF that raised, and its arguments, as the trace's first entry.
void set_operator_args(Process& p, Op op, Term a, Term b);
void set_bif_args(Process& p, const BifDef& bif, const Term* args);

// The value of `catch` for an exception.
Term caught_value(Process& p, Term cls, Term reason, Term raw_trace);
// The stack trace list of a raw trace.
Term stacktrace_list(Process& p, Term raw_trace);

// ---- BIF calls --------------------------------------------------------------------------------------

// call_bif_function() for a dirty BIF on a normal scheduler (it asks for the switch), for a library's function
// and for a traced BIF (it calls the hook).
Term call_bif_slow(Process& p, const BifDef& bif, Term* x);
Term call_bif_untraced(Process& p, const BifDef& bif, Term* x);
inline Term call_bif_function(Process& p, const BifDef& bif, Term* x) {
    if (MINIVM_UNLIKELY(bif.has_any(kBifDirtyCpu | kBifDirtyIo | kBifNative | kBifTraced))) {
        return call_bif_slow(p, bif, x);
    }
    p.x = x;
    const Term r = bif.fn(p, x);
    if (MINIVM_UNLIKELY(!is_value(r)) && p.outcome == BifOutcome::exception) {
        set_bif_args(p, bif, x);
    }
    return r;
}
// `function`/3 (undefined_function, undefined_lambda, ...) of the process's error handler, if it is loaded; else
// null. Null also for the usual error_handler where the VM loads modules on demand.
const Export* own_error_handler(const Process& p, const char* function);
// A call of an undefined function: calls the process's own error handler or loads the module on demand (both
// traps), or raises undef.
void call_undefined(Process& p, const Export* e);
// A call of a function with a debugger's breakpoint, with the arguments in p.x: calls breakpoint/3 of the process's
// error handler instead, or raises undef if that has none.
void call_debugger(Process& p, Term module, Term function, uint32_t arity);
void call_unloaded_fun(Process& p, const FunEntry* fe);
// [x[0], ... x[n - 1]], on the heap of p.
Term args_list(Process& p, const Term* x, uint32_t n);

// ---- unwinding --------------------------------------------------------------------------------------

// Builds the trace (unless the exception has one already; its first place is Process::pc, null if only callers
// matter), looks for a handler and drops the stack to the handler's frame: p.heap.end is then that frame, x[0..3]
// are set, and p.pc is the handler's address, in either engine.
// False: no handler; the process ends, p.exception has reason and raw trace.
bool unwind(Process& p, Term* x, int code_ix);

// Up to `limit` {M,F,A,Location} entries of a process's stack, as current_stacktrace shows them.
Term current_stacktrace(Process& p, Heap& h, const void* pc, int code_ix, size_t limit);

extern std::atomic<int> g_backtrace_depth;  // erlang:system_flag(backtrace_depth, N)

// For a function of a native library (kBifNative; vm/nif). see_native(): acquires its code pointer, so that its flags,
// which were written before, are seen. call_native(): calls it.
void see_native(const BifDef& function);
Term call_native(Process& p, const BifDef& function, Term* x);

}  // namespace minivm
