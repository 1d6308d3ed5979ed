// What happens when a breakpoint is hit: matching, messages, and what match specifications ask for.
#pragma once

#include "trace/breakpoint.hpp"
#include "trace/tracer.hpp"

#include <vector>

namespace minivm::trace {

// What a traced call asks for: FrameFlags of the frames that it leaves on the stack, and the tables that
// measure it.
struct CallNeeds {
    int64_t call = 0;
    int64_t meta = 0;
    CallTable* time = nullptr;  // for clock_called()
    CallTable* memory = nullptr;
    bool none() const { return (call | meta) == 0 && time == nullptr && memory == nullptr; }
};
// What a session other than 0 asks for.
struct SessionFrames : CallNeeds {
    uint32_t session = 0;
    const Tracer* meta_tracer = nullptr;  // the breakpoint's, if the session has no tracer
};
// What session 0 and the others ask for.
struct Frames : CallNeeds {
    const Tracer* meta_tracer = nullptr;  // the breakpoint's
    std::vector<SessionFrames> of_sessions;
    bool none() const { return CallNeeds::none() && of_sessions.empty(); }
};
// Returns where the call of the breakpoint's function returns to, or null.
using CallerOf = const void* (*)(const Process&, const Breakpoint&);
// Does what b's active half says for a call with arguments x.
Frames hit(const Breakpoint& b, Process& p, const Term* x, CallerOf caller_of);

// Compiles a match specification for traces; null in *out for `true` and []. False: t is not valid.
bool make_spec(Term t, SpecPtr* out, match_spec::Dialect dialect = match_spec::Dialect::call);

// erlang:match_spec_test(Arguments, Spec, trace)
Term test_spec(Process& p, const Term* a);

// Which sends and receives a session traces, by trace_pattern(send | 'receive', ...).
struct EventPatterns {
    SpecPtr send, receive;  // null: all
    bool no_send = false, no_receive = false;
};
bool event_matches(Process& p, uint32_t session, const SpecPtr& spec, const Term* terms,
                   uint32_t count, Term* extra);

void init_actions();

}  // namespace minivm::trace
