// Modules as tracers (OTP's behaviour erl_tracer): for a traced event the VM calls native functions of the
// module: enabled/3 and the like answer whether the tracer wants the event, trace/5 and the like get it. OTP's
// documentation of erl_tracer says which of them.
//
// They run on the thread on which the event happens, in the middle of whatever it does. So the terms that
// they make are in a heap of their own, which is freed when they return: the process's heap may be full,
// and cannot be collected there. Nothing that they do is traced itself.
//
// The functions are looked up by the module's name each time. A module that has been deleted, or loaded
// again without its library yet, has none. A library is not unloaded during a call, because a purge waits
// for thread progress.
//
// Threads: any. The caller must hold no lock that a native function could take.
#pragma once

#include "vm/process/tracing.hpp"

namespace minivm::nif::tracer {

// The kinds of events that may have functions of their own, besides the general ones.
enum class Kind : uint8_t {
    general,
    call,
    garbage_collection,
    ports,
    procs,
    receive,
    running_ports,
    running_procs,
    send
};

// The module has enabled/3 and trace/5.
bool is_tracer(Term module);

enum class Answer : uint8_t { trace, discard, remove };
// Whether the tracer wants an event. An answer other than `trace` and `discard` counts as `remove`.
Answer ask(const tracing::Tracer& tracer, Kind kind, Term tag, Term tracee);
// Whether the tracer is still active; false: its module is gone, or answers `remove`. tracee: the
// atom undefined if there is none.
bool is_active(const tracing::Tracer& tracer, Term tracee);

struct Event {
    Kind kind = Kind::general;
    Term tag;
    Term what;
    Term extra = kNonValue;   // the event's further term
    Term result = kNonValue;  // the message of a match specification
};
// self: the process in which the event happens, for enif_self() (a call, a send, a time slice, a
// collection), or null. flags: those of the trace, for the options.
void tell(const tracing::Tracer& tracer, const Event& event, Process* self, Term tracee,
          uint32_t flags);

}  // namespace minivm::nif::tracer
