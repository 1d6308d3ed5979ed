// The frame that a traced call leaves on the stack for its return; vm/process/tracing.hpp has its words.
#pragma once

#include "trace/breakpoint.hpp"
#include "trace/tracer.hpp"

#include <array>

namespace minivm::trace {

// The last word of a frame says whose it is: a session's own trace, or its meta trace. For a meta trace of a
// session without a tracer the word is the breakpoint's tracer, a term.
inline Term mark_of(uint32_t session) {
    return session == 0 ? kNil : make_small(int64_t{session});
}
inline Term meta_mark_of(uint32_t session) {
    return make_small(-int64_t{session});
}

inline FrameWords frame_words(const Breakpoint& b, int64_t flags, Term whose) {
    return {b.module, b.function, make_small(flags << 8 | b.arity), whose};
}

struct FrameView {
    const Term* words;  // after the address
    Term module() const { return words[0]; }
    Term function() const { return words[1]; }
    Term arity() const { return make_small(arity_number()); }
    uint32_t arity_number() const { return static_cast<uint32_t>(small_value(words[2]) & 0xFF); }
    int64_t flags() const { return small_value(words[2]) >> 8; }
    bool is_meta() const {
        return !is_nil(words[3]) && (!is_small(words[3]) || small_value(words[3]) < 0);
    }
    // Whether tracer() is one: in a frame of a meta trace of a session without a tracer.
    bool has_tracer() const { return is_tracer(words[3]); }
    Term tracer() const { return words[3]; }
    uint32_t session() const {
        const int64_t n = is_small(words[3]) ? small_value(words[3]) : 0;
        return static_cast<uint32_t>(n < 0 ? -n : n);
    }
    Term term(Heap& h) const { return make_tuple(h, module(), function(), arity()); }
};

}  // namespace minivm::trace
