// Receiving.
#pragma once

#include "vm/code/code_index.hpp"
#include "vm/process/engine_calls.hpp"
#include "vm/process/exception.hpp"
#include "vm/process/mailbox.hpp"
#include "vm/semantics/operation.hpp"

namespace minivm::semantics {

MEANING(loop_rec) {
    const Term m = mailbox_peek(a.p);
    a.s->code_ix = code_index::reread(code_index::Reread::receive, a.s->code_ix);
    if (MINIVM_UNLIKELY(a.p.is_exiting())) {
        return Next::exiting;
    }
    return is_value(m) ? set<1>(a, m) : Next::branch;
}
MEANING(loop_rec_end) {
    mailbox_next(a.p);
    return --a.p.reductions <= 0 ? Next::yield : Next::go_on;
}
MEANING(remove_message) {
    mailbox_remove(a.p);
    return Next::go_on;
}
// Branch: wait. Go on: do not wait. It runs again after each message that does not match, but reads its operand only
// the first time: that may be an x register, which other processes overwrite during the wait.
MEANING(wait_timeout) {
    if (!has_receive_timeout(a.p)) {
        const Term t = ARG(1);
        if (t == make_small(0)) {
            return Next::go_on;
        }
        if (t == atoms::infinity) {
            set_receive_for_ever(a.p);
        } else {
            if (!is_small(t) || small_value(t) < 0 || small_value(t) > 0xFFFFFFFF) {
                mailbox_timeout(a.p);  // the next receive begins at the front
                raise_code_error(a.p, atoms::timeout_value);
                return Next::raise;
            }
            set_receive_timeout(a.p, static_cast<uint64_t>(small_value(t)));
        }
    }
    return Next::branch;
}
MEANING(timeout) {
    mailbox_timeout(a.p);
    return Next::go_on;
}
MEANING(recv_marker_reserve) { return set<0>(a, recv_marker_reserve(a.p)); }
MEANING(recv_marker_bind) {
    recv_marker_bind(a.p, ARG(0), ARG(1));
    return Next::go_on;
}
MEANING(recv_marker_clear) {
    recv_marker_clear(a.p, ARG(0));
    return Next::go_on;
}
MEANING(recv_marker_use) {
    recv_marker_use(a.p, ARG(0));
    return Next::go_on;
}

}  // namespace minivm::semantics
