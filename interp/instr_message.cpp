// Sending and receiving.
#include "interp/handlers.hpp"
#include "vm/process/engine_hooks.hpp"
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

HANDLER(loop_rec) {
    Process& p = *s->process;
    ENTER_RUNTIME(p);
    const Term m = mailbox_peek(p);
    s->code_ix = code_index::reread(code_index::Reread::receive, s->code_ix);
    LEAVE_RUNTIME(p);
    if (MINIVM_UNLIKELY(p.is_exiting())) {
        TAIL(slow_exiting);
    }
    if (!is_value(m)) {
        JUMP();
    }
    DST(1) = m;
    NEXT(fixed_words(kOp));
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
HANDLER(remove_message) {
    Process& p = *s->process;
    ENTER_RUNTIME(p);
    mailbox_remove(p);
    cancel_receive_timeout(p);
    LEAVE_RUNTIME(p);
    NEXT(fixed_words(kOp));
}
HANDLER(wait) {
    pc += label_at(pc);
    interp_state(s).live = 0;
    interp_state(s).stop = Stop::waiting;
    TAIL(slow_stop);
}
HANDLER(wait_timeout) {
    Process& p = *s->process;
    const Term t = SRC(1);
    const Word* after = pc + size_of<kOp>(pc);
    if (!has_receive_timeout(p)) {
        if (t == make_small(0)) {
            pc = after;
            DISPATCH();
        }
        if (t != atoms::infinity) {
            if (!is_small(t) || small_value(t) < 0 || small_value(t) > 0xFFFFFFFF) {
                ENTER_RUNTIME(p);
                mailbox_timeout(p);  // the next receive begins at the front
                raise_code_error(p, atoms::timeout_value);
                LEAVE_RUNTIME(p);
                TAIL(slow_raise);
            }
            set_receive_timeout(p, static_cast<uint64_t>(small_value(t)));
        }
    }
    p.timeout_pc = after;
    pc += label_at(pc);
    interp_state(s).live = 0;
    interp_state(s).stop = Stop::waiting;
    TAIL(slow_stop);
}
HANDLER(timeout) {
    Process& p = *s->process;
    ENTER_RUNTIME(p);
    mailbox_timeout(p);
    LEAVE_RUNTIME(p);
    NEXT(fixed_words(kOp));
}

HANDLER(recv_marker_reserve) {
    Process& p = *s->process;
    ENTER_RUNTIME(p);
    DST(0) = recv_marker_reserve(p);
    LEAVE_RUNTIME(p);
    NEXT(fixed_words(kOp));
}
HANDLER(recv_marker_bind) {
    recv_marker_bind(*s->process, SRC(0), SRC(1));
    NEXT_OP();
}
HANDLER(recv_marker_clear) {
    recv_marker_clear(*s->process, SRC(0));
    NEXT_OP();
}
HANDLER(recv_marker_use) {
    recv_marker_use(*s->process, SRC(0));
    NEXT_OP();
}

}  // namespace minivm::interp
