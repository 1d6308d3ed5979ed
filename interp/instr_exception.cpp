// catch, try, and what raises.
#include "interp/handlers.hpp"
#include "vm/process/exception.hpp"

namespace minivm::interp {

// The slot operand is the y register; the catch mark, made by install, is word 2.
HANDLER(catch_) {
    *dst_at<kOp, 0>(pc, E, s) = Term{pc[fixed_words(kOp)]};
    NEXT(fixed_words(kOp) + 1);
}
HANDLER(try_) {
    *dst_at<kOp, 0>(pc, E, s) = Term{pc[fixed_words(kOp)]};
    NEXT(fixed_words(kOp) + 1);
}
HANDLER(try_end) {
    *dst_at<kOp, 0>(pc, E, s) = kNil;
    NEXT(fixed_words(kOp));
}
// A handler is entered with x0 the non-value and x1, x2, x3 class, reason, raw trace.
HANDLER(try_case) {
    *dst_at<kOp, 0>(pc, E, s) = kNil;
    s->x[0] = s->x[1];
    s->x[1] = s->x[2];
    s->x[2] = s->x[3];
    NEXT(fixed_words(kOp));
}
HANDLER(catch_end) {
    *dst_at<kOp, 0>(pc, E, s) = kNil;
    if (is_value(s->x[0])) {
        NEXT(fixed_words(kOp));
    }
    Process& p = *s->process;
    ENTER_RUNTIME(p);
    s->x[0] = caught_value(p, s->x[1], s->x[2], s->x[3]);
    LEAVE_RUNTIME(p);
    pc += fixed_words(kOp);
    if (p.needs_gc()) {
        COLLECT(1, 0);
    }
    DISPATCH();
}

#define RAISE(call)            \
    do {                       \
        Process& p = *s->process; \
        ENTER_RUNTIME(p);      \
        call;                  \
        LEAVE_RUNTIME(p);      \
        TAIL(slow_raise);      \
    } while (0)

HANDLER(try_case_end) { RAISE(raise_tagged(p, atoms::try_clause, SRC(0))); }
HANDLER(badmatch) { RAISE(raise_tagged(p, atoms::badmatch, SRC(0))); }
HANDLER(case_end) { RAISE(raise_tagged(p, atoms::case_clause, SRC(0))); }
HANDLER(badrecord) { RAISE(raise_tagged(p, atoms::badrecord, SRC(0))); }
HANDLER(if_end) { RAISE(raise_code_error(p, atoms::if_clause)); }
HANDLER(raise) { RAISE(raise_again(p, SRC(0), SRC(1))); }
HANDLER(raw_raise) {
    Process& p = *s->process;
    ENTER_RUNTIME(p);
    const bool raised = raise_raw(p, s->x[0], s->x[1], s->x[2]);
    LEAVE_RUNTIME(p);
    if (raised) {
        TAIL(slow_raise);
    }
    s->x[0] = atoms::badarg;
    NEXT(fixed_words(kOp));
}
HANDLER(build_stacktrace) {
    Process& p = *s->process;
    ENTER_RUNTIME(p);
    s->x[0] = stacktrace_list(p, s->x[0]);
    LEAVE_RUNTIME(p);
    pc += fixed_words(kOp);
    if (p.needs_gc()) {
        COLLECT(1, 0);
    }
    DISPATCH();
}

}  // namespace minivm::interp
