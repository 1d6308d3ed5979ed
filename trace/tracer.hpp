// Who is traced by whom, and the messages that a tracer gets.
//
// A process's flags are its tracing::State, replaced as a whole; one lock orders those who replace.
// A message is pushed on the tracer's queue where the event happens, so that it comes before
// everything the process does afterwards. Threads: any that may read process structures
// (schedulers, or inside a delay section).
#pragma once

#include "vm/process/tracer_modules.hpp"
#include "vm/process/tracing.hpp"
#include "vm/term/atom_table.hpp"

#include <vector>

namespace minivm::trace {

using nif::tracer::Event;
using EventKind = nif::tracer::Kind;
using tracing::State;
using tracing::Tracer;

inline bool is_recorder(Term tracer) {
    return tracer == atoms::flight_recorder;
}
inline bool is_recorder(const Tracer& tracer) {
    return is_recorder(tracer.term());
}
// Calls are saved in the process itself: trace/saved_calls.hpp.
inline bool is_saver(Term tracer) {
    return tracer == atoms::save_calls;
}
inline bool is_saver(const Tracer& tracer) {
    return is_saver(tracer.term());
}
// The term of a Tracer that is somebody.
inline bool is_tracer(Term t) {
    return is_local_pid(t) || is_local_port(t) || is_recorder(t) || is_saver(t) ||
           is_tuple_of(t, 2);
}
// {tracer, Pid}, {tracer, Port} or {tracer, Module, State} with this tag instead of `tracer`;
// false: it is none, or the module cannot be one.
bool parse_tracer(Term t, Term tag, Tracer* tracer);
// The same of {Module, State} by itself, as a session has it.
bool parse_module_tracer(Term module, Term state, Tracer* tracer);
// It is there: a module says that it goes on. tracee: whom it traces, or the atom undefined.
bool can_trace(const Tracer& tracer, Term tracee);
// What trace_info/2 shows: a pid, a port, {Module, State}, {flight_recorder, []}, or [] if it is no
// more. tracee: as above.
Term tracer_term(Heap& h, const Tracer& tracer, Term tracee);
// The same whether it is there or not, of a meta tracer: that is known where it is called.
Term shown_tracer(Heap& h, const Tracer& tracer);

enum class Set : uint8_t { done, dead, taken };  // taken: another tracer traces it
// A session's flags on or off. tracer: it becomes this one unless there is another; null: it stays.
Set set_flags(Process& p, uint32_t session, bool on, uint32_t flags, const Tracer* tracer);
// A port that is traced by another one, and that one by it, would wait for each other's lock: `taken`.
Set set_flags(tracing::TracedPort& port, uint32_t session, bool on, uint32_t flags,
              const Tracer* tracer);
// As a match specification asks for it: no check of who traces it.
void change_flags(Process& p, uint32_t session, uint32_t off, uint32_t on, const Tracer* tracer);
// What this says is traced no more, unless somebody has put other flags in its place.
void clear_flags(Process& p, const State& s);
// Nor whatever the session traces.
void clear_flags(Process& p, uint32_t session);
void clear_flags(tracing::TracedPort& port, const State& s);
void clear_flags(tracing::TracedPort& port, uint32_t session);
// It ends.
void clear_all_flags(Process& p);
void clear_all_flags(tracing::TracedPort& port);

// What processes, or ports, to come begin with; no flags if nothing. A tracer that its module removes is
// dropped.
enum class New : uint8_t { processes, ports };
void set_new_flags(New which, uint32_t session, bool on, uint32_t flags, const Tracer* tracer);
State new_flags(New which, uint32_t session);
std::vector<State> all_new_flags(New which);

// Whether the tracer wants to be told of an event. For a module that is its function's answer,
// which may end what s traces, where p runs here (OTP has it so: `receive` and `procs` do not); for
// others, true.
bool wants(Process& p, const State& s, EventKind kind, Term tag);
// p's tracers that are no more, or modules that do not go on, trace it no more.
void clear_inactive(Process& p);
// Of a call: the module may also end it by its answer to `trace_status`.
bool wants_call(Process& p, const State& s);
// {trace, Pid, Tag, ...} or {trace_ts, Pid, Tag, ..., Time} to s.tracer. The terms are copied.
// False: the tracer is no more. A tracer is not told of itself. A module is not asked again.
bool send_event(Process& p, const State& s, const Event& event);
// The same if it wants to be told; ends what the session traces of p if there is no tracer any
// more.
void send_or_clear(Process& p, const State& s, const Event& event);
// To the tracers of p that the flag asks for.
void send_own_event(Process& p, uint32_t flag, const Event& event);
void send_own_event(tracing::TracedPort& port, uint32_t flag, const Event& event);

// The function that an address on p's stack belongs to: {M, F, A}, or the non-value.
Term function_at(Heap& h, const void* address, bool is_return_address);
// Where p will run on: {M, F, A}, or 0.
Term current_function(Heap& h, const Process& p);
// The innermost call that has not returned: its caller's address, or null.
const void* return_address_of(const Process& p, const Term* from);

// The mask of a flag's name; 0: there is none. `all` is one.
uint32_t flag_of(Term name);
Term flag_list(Heap& h, uint32_t flags);

}  // namespace minivm::trace
