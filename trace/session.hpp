// Trace sessions: each has its own tracer, flags, patterns and counters.
//
// Session 0 is the one of erlang:trace/3 and trace_pattern/3, where each caller names a tracer. OTP 27's
// module `trace` makes and destroys the others; one made with `undefined` for a tracer, as OTP's suites
// do, is like session 0. Numbers are never used again, so what is left of a session that has ended (a
// frame on a stack, a handle) has no effect. Threads: any, unless noted.
#pragma once

#include "trace/action.hpp"
#include "trace/pattern.hpp"

#include <functional>
#include <memory>
#include <vector>

namespace minivm::trace {

struct Session {
    Session(uint32_t number_, Term name_, Tracer tracer_)
        : number(number_), name(name_), tracer(std::move(tracer_)) {}
    ~Session();
    Session(const Session&) = delete;
    Session& operator=(const Session&) = delete;

    const uint32_t number;
    const Term name;
    const Tracer tracer;
    bool has_tracer() const { return is_tracer(tracer.term()); }
    Patterns patterns;  // holder of the code modification permission
    // Patterns for messages, replaced as a whole; null: all messages.
    std::atomic<const EventPatterns*> events{nullptr};
};
using SessionPtr = std::shared_ptr<Session>;

SessionPtr create_session(Term name, const Tracer& tracer);
// Null: the session has ended, or there never was one of that number.
SessionPtr session_of(uint32_t number);
std::vector<SessionPtr> all_sessions();  // in the order they began, session 0 last
// As session_of(), without a lock, for hits: valid until the thread's next quiescent point.
const Session* find_session(uint32_t number);
inline bool is_live(uint32_t number) {
    return find_session(number) != nullptr;
}
// Spawns a process that destroys the session unless it has ended; deferred, as callers may be where no
// process can be spawned.
void destroy_later(uint32_t number);
// Takes the session out of the list: from here on nobody finds it. False: it has ended already.
bool end_session(uint32_t number);

EventPatterns event_patterns(const Session& s);
void change_event_patterns(Session& s, const std::function<void(EventPatterns&)>& change);

// The term {Reference, {Name, Number}}: the session is destroyed when the last copy is gone.
Term make_handle(Process& p, const Session& s);
// {Name, Number}
Term weak_handle(Heap& h, const Session& s);
// The session of a handle, strong or weak; null: it is none, or the session has ended. Not session 0.
SessionPtr session_of_handle(Term handle);

}  // namespace minivm::trace
