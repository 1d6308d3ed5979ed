// Timers: the timeout of a receive, and BIF timers: erlang:send_after, start_timer and the like.
//
// A BIF timer lies in the wheel of the scheduler that its reference names, so cancelling and reading
// find it from anywhere.
// Threads: any, unless noted.
#pragma once

#include "vm/process/process.hpp"
#include "vm/process/timer_wheel.hpp"

namespace minivm {

struct BifTimer : TimerNode {
    RefId ref;
    Term to = kNonValue;       // pid, name, or another destination of deliver_message()
    Term message = kNonValue;  // in the fragments, like `to`
    Fragment* fragments = nullptr;
    Term* off_heap = nullptr;
};

namespace timers {

void destroy();  // when the schedulers have stopped

// due_ms in the clock of monotonic_ms(). wrap: the message is {timeout, Ref, Message}. On p's scheduler.
RefId start(Process& p, uint64_t due_ms, Term to, Term message, bool wrap);
// Milliseconds left, or -1: no such timer (any more).
int64_t cancel(RefId ref);
int64_t read(RefId ref);

}  // namespace timers

void free_saved_x(Process& p);

}  // namespace minivm
