// A timer's place in a timer wheel; see process/timer_wheel.hpp.
#pragma once

#include <cstdint>

namespace minivm {

class TimerWheel;

struct TimerNode {
    // -- guarded by the lock of the wheel it was last put in
    TimerNode* next = nullptr;
    TimerNode** link = nullptr;  // the pointer to this node; null: in no wheel
    uint64_t due_ms = 0;         // in the clock of monotonic_ms()
    // -- the thread that sets and cancels it
    TimerWheel* wheel = nullptr;  // the wheel it was put in; null: not set
    bool is_receive = false;      // the timeout of a process's receive; else a BifTimer
};

}  // namespace minivm
