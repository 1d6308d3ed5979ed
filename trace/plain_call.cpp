#include "trace/plain_call.hpp"

#include "recorder/recorder.hpp"
#include "trace/frame.hpp"
#include "trace/tracer_recorder.hpp"
#include "vm/process/process_record.hpp"

#include <algorithm>

namespace minivm::trace {
namespace {

using namespace tracing;
using recorder::pack_text;
using recorder::pack_value;
using recorder::ValueTag;
using recorder::detail::event_word;

// Whether the session records the calls of p, and none of the flags `without` is on.
[[gnu::always_inline]] inline bool records_calls(const Process& p, uint32_t session,
                                                 uint32_t without) {
    const State* s = state_of(p, session);
    return s != nullptr && (s->flags & (kCall | without)) == kCall && is_recorder(s->tracer) &&
           recorder::enabled(recorder::Category::trace) && records::terms_are_on() &&
           !records::is_sensitive(p);
}

// Whether the stack has room for a frame and the reserve, and p may have one more frame.
[[gnu::always_inline]] inline bool has_room(const Process& p) {
    // relaxed: a setting.
    return p.trace_local != nullptr &&
           p.trace_local->frames < g_max_frames.load(std::memory_order_relaxed) && !p.needs_gc() &&
           p.heap.end - p.heap.top >= 2 * kFrameWords + static_cast<std::ptrdiff_t>(kReserveWords);
}

// Specifications and records get another term in the place of a match context: shown_arguments() in action.cpp.
bool has_match_context(const Term* x, uint32_t count) {
    return std::any_of(x, x + count, [](Term t) { return is_match_context(t); });
}

bool is_short(Term t) {
    return is_small(t) && recorder::fits_value_integer(small_value(t));
}
uint64_t short_word(Term t) {
    return pack_value(ValueTag::integer, static_cast<uint64_t>(small_value(t)));
}

// FrameFlags that the action's specification asks for. kNoMatch: the call is not even recorded.
// kOther: the specification may ask for something else, or its guards have made a collection due.
constexpr int64_t kNoMatch = -1;
constexpr int64_t kOther = -2;
int64_t frames_of_call(const Action& action, Process& p, const Term* x, uint32_t arity) {
    const Spec& spec = *action.call_spec;
    if (spec.frames.empty() || has_match_context(x, arity)) {
        return kOther;
    }
    // A call that fails leaves an exception and an outcome, which nobody reads where a function
    // begins.
    match_spec::Runner runner(p, *spec.program, true);
    const match_spec::Clause* clause = runner.find(x, arity);
    if (p.needs_gc()) {
        return kOther;
    }
    return clause == nullptr
               ? kNoMatch
               : spec.frames[static_cast<size_t>(clause - spec.program->clauses().data())];
}

// Records the call. False: an argument is a match context, nothing has been recorded.
[[gnu::always_inline]] inline bool record_call(const Breakpoint& b, uint32_t session, const Term* x,
                                               bool framed) {
    constexpr unsigned kHead = 3;  // the function, where the arguments lie, their tuple
    recorder::detail::Word words[kHead + to_recorder::kMostArguments];
    uint32_t n = 0;
    if (b.arity <= to_recorder::kMostArguments) {
        for (; n < b.arity && is_short(x[n]); ++n) {
            words[kHead + n] = short_word(x[n]);
        }
    }
    if (n != b.arity) {
        if (has_match_context(x, b.arity)) {
            return false;
        }
        to_recorder::call(b, session, x, false, kNonValue, framed);
        return true;
    }
    words[0] = records::in_session(b.record_id, session);
    words[1] = pack_text(2 * sizeof(uint64_t), (1 + n) * sizeof(uint64_t));
    words[2] = pack_value(ValueTag::tuple, n);
    MINIVM_EVENT_PLACE(here, call);
    MINIVM_EVENT_PLACE(here_framed, call_framed);
    const uint64_t event = framed ? event_word(here_framed) : event_word(here);
    if (n == 1) {
        recorder::detail::write4(event, words[0], words[1], words[2], words[3]);
    } else {
        recorder::detail::write_words(event, 0, words, kHead + n);
    }
    return true;
}

}  // namespace

bool plain_call(const Breakpoint& b, Process& p, const Term* x, Word address) {
    const Action* action = &active(b);
    uint32_t session = 0;
    if (action->does == Action::kSessionsTraced) {
        const SessionActions& sessions = active_sessions(b);
        if (sessions.size() != 1) {
            return false;
        }
        action = &sessions[0].action;
        session = sessions[0].session;
    }
    if (action->does != Action::kCalls ||
        !records_calls(p, session, kSilent | kArity | kReturnTo)) {
        return false;
    }
    int64_t frames = action->always_frames;
    if (frames < 0) {
        frames = frames_of_call(*action, p, x, b.arity);
        if (frames < 0) {
            return frames == kNoMatch;
        }
    }
    if ((frames != 0 && !has_room(p)) || !record_call(b, session, x, frames != 0)) {
        return false;
    }
    if (frames != 0) {
        ++p.trace_local->frames;
        Term* const e = p.heap.end -= kFrameWords;
        // Word by word: copying what frame_words() returns would load two words at once, and wait until
        // both are stored.
        e[0] = Term{address};
        e[1] = b.module;
        e[2] = b.function;
        e[3] = make_small(frames << 8 | b.arity);
        e[4] = mark_of(session);
    }
    return true;
}

bool plain_return(Process& p, Term value) {
    const FrameView f{p.heap.end};
    const int64_t other_flags = f.flags() & ~int64_t{kFrameException};
    if (other_flags != kFrameReturn || f.is_meta() || !records_calls(p, f.session(), 0)) {
        return false;
    }
    if (is_short(value)) {
        const uint64_t id = records::function_id(f.module(), f.function(), f.arity_number());
        MINIVM_EVENT_PLACE(here, return_from);
        recorder::detail::write4(event_word(here), records::in_session(id, f.session()),
                                 pack_text(2 * sizeof(uint64_t), sizeof(uint64_t)),
                                 short_word(value), 0);
    } else {
        to_recorder::return_from(f.session(), f.module(), f.function(), f.arity_number(), value);
    }
    remove_frames(p, 1);
    p.heap.end += kFrameWords - 1;
    return true;
}

}  // namespace minivm::trace
