// Modules as tracers (OTP's behaviour erl_tracer): where something happens that is traced, native
// functions of the module are called: enabled/3 and its like say whether it is to be told, trace/5
// and its like are told. Which of them: OTP's documentation of erl_tracer.
//
// They are called on the thread on which it happens, whatever that is in the middle of. So what
// they make is in a heap of its own and goes when they return: the process's may be full, and is
// nobody's to collect there. Nothing that they do is traced itself.
//
// The functions are looked up by the module's name each time. A module that is deleted, or has been
// loaded again and not yet its library, has none; a library that is being called is not unloaded,
// as a purge waits for thread progress.
//
// Threads: any. No lock may be held that a native function could want.
#pragma once

#include "vm/process/tracing.hpp"

namespace minivm::nif::tracer {

// The kinds of events that may have functions of their own, beside the general ones.
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
// Whether an event is to be told. What is neither `trace` nor `discard` is `remove`.
Answer ask(const tracing::Tracer& tracer, Kind kind, Term tag, Term tracee);
// Whether the tracer is still to be one; false: its module is gone, or says `remove`. tracee: the
// atom undefined if there is none.
bool is_active(const tracing::Tracer& tracer, Term tracee);

struct Event {
    Kind kind = Kind::general;
    Term tag;
    Term what;
    Term extra = kNonValue;   // what else belongs to it
    Term result = kNonValue;  // what a match specification adds
};
// self: the process in which it happens, if the functions may know (a call, what it sends, time
// slices and collections), or null. flags: those of the trace, for the options.
void tell(const tracing::Tracer& tracer, const Event& event, Process* self, Term tracee,
          uint32_t flags);

}  // namespace minivm::nif::tracer
