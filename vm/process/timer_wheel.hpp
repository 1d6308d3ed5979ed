// A hierarchical timer wheel: four rings of 256 places of 1 ms, 256 ms, 65.5 s and 4.7 h.
//
// A timer lies in the finest ring that reaches its due time; when the hand of a ring has gone round,
// the next place of the coarser ring is dealt out to the finer ones. Setting, cancelling and firing
// are O(1). Timers beyond the last ring wait in its farthest place and are dealt out again.
//
// Each scheduler has one wheel. Its lock is held for a few list operations and while receive timeouts wake
// their processes (which takes a run queue's lock, never the other way round); BIF timers fire after
// the lock is released.
// Threads: any.
#pragma once

#include <atomic>
#include <cstdint>
#include <mutex>
#include <unordered_map>

#include "vm/process/timer_node.hpp"
#include "vm/term/term.hpp"
#include "vm/util/lock.hpp"

namespace minivm {

struct BifTimer;

uint64_t monotonic_ns();                 // never goes back
inline uint64_t monotonic_ms() { return monotonic_ns() / 1000000; }

class TimerWheel {
  public:
    explicit TimerWheel(uint64_t now_ms);
    TimerWheel(const TimerWheel&) = delete;
    TimerWheel& operator=(const TimerWheel&) = delete;

    // node is in no wheel. It fires when the wheel next moves to its time or later, so not before the
    // next millisecond. True if it is now the first that is due.
    bool set(TimerNode* node, uint64_t due_ms);
    // True if the node was in the wheel, and now will not fire. For a receive timer, false also means that it
    // has fired completely: no wake-up is under way.
    bool cancel(TimerNode* node);

    // Fires all timers due at now_ms; returns how many.
    unsigned advance(uint64_t now_ms);
    // When advance() next has something to do; ~0: never. Any thread, no lock.
    uint64_t next_due_ms() const {
        // relaxed: a hint; another thread that makes it earlier wakes the scheduler afterwards.
        return next_due_ms_.load(std::memory_order_relaxed);
    }

    // BIF timers by reference, see process/timers.hpp. Guarded by lock().
    CountedMutex& lock() { return mutex_; }
    std::unordered_map<uint64_t, BifTimer*>& bif_timers() { return bif_timers_; }
    bool set_locked(TimerNode* node, uint64_t due_ms);
    bool cancel_locked(TimerNode* node);
    // Takes out every timer: at the VM's end.
    TimerNode* take_all();

  private:
    static constexpr int kRings = 4;
    static constexpr int kPlaces = 256;

    void place(TimerNode* node);
    void deal_out(int ring);
    uint64_t find_next() const;

    CountedMutex mutex_{LockKind::timers};
    uint64_t now_ms_;                         // all timers due at or before it have fired
    TimerNode* rings_[kRings][kPlaces] = {};
    uint64_t count_ = 0;
    std::atomic<uint64_t> next_due_ms_{~uint64_t{0}};
    std::unordered_map<uint64_t, BifTimer*> bif_timers_;
};

// advance() calls these for due timers (process/timers.cpp). With the wheel's lock held:
void fire_receive_timer(TimerNode* node);
void forget_bif_timer(TimerWheel& wheel, TimerNode* node);
// Without the lock; a list linked by next.
void deliver_bif_timers(TimerNode* list);

}  // namespace minivm
