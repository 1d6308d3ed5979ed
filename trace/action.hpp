// What happens when a breakpoint is hit: matching, messages, and what match specifications ask for.
#pragma once

#include "trace/breakpoint.hpp"
#include "trace/tracer.hpp"

#include <vector>

namespace minivm::trace {

// What a call that is traced asks for: frames of its trace on the stack, and clocks to be told.
struct CallNeeds {
    int64_t call = 0;
    int64_t meta = 0;
    CallTable* time = nullptr;  // clock_called() is to be told of these
    CallTable* memory = nullptr;
    bool none() const { return (call | meta) == 0 && time == nullptr && memory == nullptr; }
};
// By another session than 0.
struct SessionFrames : CallNeeds {
    uint32_t session = 0;
    const Tracer* meta_tracer = nullptr;  // the breakpoint's, if the session has no tracer
};
// By session 0, and by the others.
struct Frames : CallNeeds {
    const Tracer* meta_tracer = nullptr;  // the breakpoint's
    std::vector<SessionFrames> of_sessions;
    bool none() const { return CallNeeds::none() && of_sessions.empty(); }
};
// Where the call of a breakpoint's function returns to, or null.
using CallerOf = const void* (*)(const Process&, const Breakpoint&);
// The call of b with arguments x.
Frames hit(const Breakpoint& b, Process& p, const Term* x, CallerOf caller_of);

// A specification for a trace: false and true are none. False: it is not one.
bool make_spec(Term t, SpecPtr* out, match_spec::Dialect dialect = match_spec::Dialect::call);

// erlang:match_spec_test(Arguments, Spec, trace)
Term test_spec(Process& p, const Term* a);

// Whether messages that p sends, or gets, are traced, by trace_pattern(send | 'receive', ...).
struct EventPatterns {
    SpecPtr send, receive;  // null: all
    bool no_send = false, no_receive = false;
};
bool event_matches(Process& p, uint32_t session, const SpecPtr& spec, const Term* terms,
                   uint32_t count, Term* extra);

void init_actions();

}  // namespace minivm::trace
