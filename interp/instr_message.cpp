// Sending, and the instructions of a receive that transfer control.
#include "interp/generic.hpp"
#include "vm/process/engine_calls.hpp"
#include "vm/process/exception.hpp"
#include "vm/process/mailbox.hpp"

namespace minivm::interp {

HANDLER(send) {
    Process& p = *s->process;
    ENTER_RUNTIME(p);
    p.x = s->x;
    const Term r = send_message(p, s->x[0], s->x[1]);
    s->code_ix = code_index::reread(code_index::Reread::send, s->code_ix);
    if (MINIVM_UNLIKELY(!is_value(r)) && p.outcome == BifOutcome::exception) {
        set_operator_args(p, kOp, s->x[0], s->x[1]);
    }
    LEAVE_RUNTIME(p);
    if (MINIVM_UNLIKELY(!is_value(r))) {
        TAIL(slow_bif_failed);
    }
    s->x[0] = r;
    pc += fixed_words(kOp);
    if (MINIVM_UNLIKELY((fcalls -= 3) <= 0)) {
        interp_state(s).live = 1;
        TAIL(slow_yield);
    }
    DISPATCH();
}

HANDLER(loop_rec_end) {
    Process& p = *s->process;
    mailbox_next(p);
    pc += label_at(pc);
    if (MINIVM_UNLIKELY(--fcalls <= 0)) {
        interp_state(s).live = 0;
        TAIL(slow_yield);
    }
    DISPATCH();
}
HANDLER(wait) {
    pc += label_at(pc);
    interp_state(s).live = 0;
    interp_state(s).stop = Stop::waiting;
    TAIL(slow_stop);
}
HANDLER(wait_timeout) {
    using semantics::Next;
    Process& p = *s->process;
    ENTER_RUNTIME(p);
    const Next next = run_apart<kOp>(pc, E, s);
    LEAVE_RUNTIME(p);
    if (next == Next::raise) {
        TAIL(slow_raise);
    }
    const Word* after = pc + size_of<kOp>(pc);
    if (next == Next::go_on) {
        pc = after;
        DISPATCH();
    }
    p.timeout_pc = after;
    pc += label_at(pc);
    interp_state(s).live = 0;
    interp_state(s).stop = Stop::waiting;
    TAIL(slow_stop);
}

}  // namespace minivm::interp
