// Who is traced by whom, and the messages that a tracer gets.
//
// A process's flags are its tracing::State, replaced as a whole; one lock orders those who replace.
// A message is pushed on the tracer's queue where the event happens, so that it comes before
// everything the process does afterwards. Threads: any that may read process structures
// (schedulers, or inside a delay section).
#pragma once

#include "vm/process/tracing.hpp"
#include "vm/term/atom_table.hpp"

#include <initializer_list>
#include <vector>

namespace minivm::trace {

using tracing::State;

// A tracer is a local pid or port, or the atom flight_recorder: the recorder.
inline bool is_recorder(Term tracer) {
    return tracer == atoms::flight_recorder;
}
inline bool is_tracer(Term t) {
    return is_local_pid(t) || is_local_port(t) || is_recorder(t);
}
// {tracer, Pid}, {tracer, Port} or {tracer, flight_recorder, State} with this tag instead of
// `tracer`.
bool parse_tracer(Term t, Term tag, Term* tracer);
// It is there.
bool can_trace(Term tracer);
// What trace_info/2 shows: a pid, a port, {flight_recorder, []}, or [] if it is no more.
Term tracer_term(Heap& h, Term tracer);

enum class Set : uint8_t { done, dead, taken };  // taken: another process traces it
// A session's flags on or off. on: the tracer becomes this one unless it has one.
Set set_flags(Process& p, uint32_t session, bool on, uint32_t flags, Term tracer);
// As a match specification asks for it: no check of who traces it.
void change_flags(Process& p, uint32_t session, uint32_t off, uint32_t on, Term tracer);
// The session's tracer has gone.
void clear_flags(Process& p, uint32_t session);
// The process ends.
void clear_all_flags(Process& p);

// What processes to come begin with; {0, []} if nothing.
void set_new_flags(uint32_t session, bool on, uint32_t flags, Term tracer);
State new_flags(uint32_t session);
std::vector<State> all_new_flags();

// {trace, Pid, Tag, ...} or {trace_ts, Pid, Tag, ..., Time} to s.tracer. The terms are copied.
// False: the tracer is no more. A tracer is not told of itself.
bool send_event(const Process& p, const State& s, Term tag, std::initializer_list<Term> terms);
// The same; ends what the session traces of p if there is no tracer any more.
void send_or_clear(Process& p, const State& s, Term tag, std::initializer_list<Term> terms);
// To the tracers of p that the flag asks for.
void send_own_event(Process& p, uint32_t flag, Term tag, std::initializer_list<Term> terms);

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
