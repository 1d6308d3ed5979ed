// Trace flags of processes and ports, and the messages that tracers get.
//
// A process's flags are its tracing::State, replaced as a whole; one lock orders the writers.
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
// The tracer of process_flag(save_calls, N), which saves calls in the process itself: trace/saved_calls.hpp.
inline bool is_saver(Term tracer) {
    return tracer == atoms::save_calls;
}
inline bool is_saver(const Tracer& tracer) {
    return is_saver(tracer.term());
}
// Whether t is the term of a Tracer other than nobody.
inline bool is_tracer(Term t) {
    return is_local_pid(t) || is_local_port(t) || is_recorder(t) || is_saver(t) ||
           is_tuple_of(t, 2);
}
// Parses {tracer, Pid}, {tracer, Port} or {tracer, Module, State} with this tag instead of `tracer`.
// False: t is none of these, or the module cannot be a tracer.
bool parse_tracer(Term t, Term tag, Tracer* tracer);
// The same of Module and State, as a session has them.
bool parse_module_tracer(Term module, Term state, Tracer* tracer);
// Whether the tracer exists; a module is asked for its `trace_status`. tracee: what it traces, or the atom undefined.
bool can_trace(const Tracer& tracer, Term tracee);
// What trace_info/2 shows: a pid, a port, {Module, State}, {flight_recorder, []}, or [] if the tracer has
// ended. tracee: as above.
Term tracer_term(Heap& h, const Tracer& tracer, Term tracee);
// The same whether it has ended or not, of a meta tracer: calls find out whether it has.
Term shown_tracer(Heap& h, const Tracer& tracer);

enum class Set : uint8_t { done, dead, taken };  // taken: another tracer traces it
// Sets or clears flags of a session. tracer: becomes the tracer unless there is another; null: the tracer stays.
Set set_flags(Process& p, uint32_t session, bool on, uint32_t flags, const Tracer* tracer);
// `taken` also if ports would trace each other in a circle: they would wait for each other's lock.
Set set_flags(tracing::TracedPort& port, uint32_t session, bool on, uint32_t flags,
              const Tracer* tracer);
// As a match specification asks for it: does not check who traces the process.
void change_flags(Process& p, uint32_t session, uint32_t off, uint32_t on, const Tracer* tracer);
// Clears the flags of s's session, unless it has another tracer by now.
void clear_flags(Process& p, const State& s);
// Clears the flags of the session.
void clear_flags(Process& p, uint32_t session);
void clear_flags(tracing::TracedPort& port, const State& s);
void clear_flags(tracing::TracedPort& port, uint32_t session);
// The process or port ends.
void clear_all_flags(Process& p);
void clear_all_flags(tracing::TracedPort& port);

// The flags that new processes, or new ports, begin with. A tracer that has ended, or that its module
// removes, is dropped.
enum class New : uint8_t { processes, ports };
void set_new_flags(New which, uint32_t session, bool on, uint32_t flags, const Tracer* tracer);
State new_flags(New which, uint32_t session);
std::vector<State> all_new_flags(New which);

// Whether the tracer wants to be told of an event. For a module that is its function's answer, which
// may also end what s traces, for events of p on its own scheduler (as in OTP, not for `receive` and
// `procs`); for others, true.
bool wants(Process& p, const State& s, EventKind kind, Term tag);
// Clears the flags of those of p's tracers that have ended, or whose modules say so.
void clear_inactive(Process& p);
// The same of a call: the module may also end the trace by its answer to `trace_status`.
bool wants_call(Process& p, const State& s);
// Sends {trace, Pid, Tag, ...} or {trace_ts, Pid, Tag, ..., Time} to s.tracer. Copies the terms.
// False: the tracer has ended. A tracer is not told of itself. Does not ask a module whether it wants it.
bool send_event(Process& p, const State& s, const Event& event);
// The same if the tracer wants to be told; clears the session's flags of p if the tracer has
// ended.
void send_or_clear(Process& p, const State& s, const Event& event);
// Sends to those tracers of p that the flag asks for.
void send_own_event(Process& p, uint32_t flag, const Event& event);
void send_own_event(tracing::TracedPort& port, uint32_t flag, const Event& event);

// The function that an address of code belongs to: {M, F, A}, or the non-value.
Term function_at(Heap& h, const void* address, bool is_return_address);
// The function in which p goes on: {M, F, A}, or 0.
Term current_function(Heap& h, const Process& p);
// The innermost return address on p's stack from `from` on, or null.
const void* return_address_of(const Process& p, const Term* from);

// The flag of this name, or all flags for `all`; 0: name is none.
uint32_t flag_of(Term name);
// Flags that mean something for ports, and for processes. Some do for both: they say what all events look like, or
// what happens to messages.
inline constexpr uint32_t kFlagsOfBoth =
    tracing::kSilent | tracing::kAllTimestamps | tracing::kSchedulerId | tracing::kSend | tracing::kReceive;
inline constexpr uint32_t kPortFlags = kFlagsOfBoth | tracing::kPorts | tracing::kRunningPorts;
inline constexpr uint32_t kProcessFlags = ~kPortFlags | kFlagsOfBoth;
Term flag_list(Heap& h, uint32_t flags);

}  // namespace minivm::trace
