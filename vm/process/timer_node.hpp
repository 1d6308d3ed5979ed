// A timer's place in a timer wheel; see process/timer_wheel.hpp.
#pragma once

#include <cstdint>

namespace minivm {

class TimerWheel;

struct TimerNode {
    // -- guarded by the lock of the wheel it was last put in
    TimerNode* next = nullptr;
    TimerNode** link = nullptr;  // what points here; null: in no wheel
    uint64_t due_ms = 0;         // in the monotonic clock of the machine
    // -- the thread that sets and cancels it
    TimerWheel* wheel = nullptr;  // where it was put; null: not set
    bool is_receive = false;      // the timeout of a process's receive; else a BifTimer
};

}  // namespace minivm
