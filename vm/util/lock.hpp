// A mutex that counts who waits for it: schedulers should not.
//
// Locking a free one costs what a std::mutex costs. A scheduler that finds it taken tries again for kPatience_ns;
// if it gets the lock by then, the wait is short. If not, the processor time of the holder decides: if the holder
// works for kPatience_ns meanwhile, the wait is long; if not, the kernel has preempted the holder, which no lock
// can prevent. In the end the scheduler sleeps.
// (Interrupts count as work on that clock: longest_ns shows whether a wait was longer than the machine's interrupts
// are. A scheduler that is preempted before its first look at the holder does not see what it works until then.)
// Long waits are what the VM promises not to have while code is loaded, traced or purged
// (docs/protocols/code_loading.md), and minivm:scheduler_waits() tells how many there were of each.
//
// Threads that are no schedulers wait as long as they have to, and are not counted.
#pragma once

#include <atomic>
#include <cstdint>
#include <mutex>

#include "vm/util/assert.hpp"

namespace minivm {

// All locks of one kind share one count.
enum class LockKind : uint8_t {
    atoms,
    blocks,          // of processes and signals
    breakpoints,
    catches,
    code_memory,
    exports,
    funs,
    literals,
    literal_release,
    modules,
    permission,
    persistent_terms,
    progress,        // deferred work
    purge,
    registry,
    run_queue,
    timers,
    tracers
};
constexpr int kLockKinds = static_cast<int>(LockKind::tracers) + 1;

namespace lock_waits {
// The clock of this thread's processor time, as clock_gettime() takes it; 0: not known, see set_has_clock().
extern constinit thread_local int32_t t_clock;
}  // namespace lock_waits

class CountedMutex {
  public:
    constexpr explicit CountedMutex(LockKind kind) : kind_(kind) {}
    CountedMutex(const CountedMutex&) = delete;
    CountedMutex& operator=(const CountedMutex&) = delete;

    void lock() {
        if (MINIVM_UNLIKELY(!mutex_.try_lock())) {
            lock_taken();
        }
        note_holder();
    }
    bool try_lock() {
        const bool done = mutex_.try_lock();
        if (done) {
            note_holder();
        }
        return done;
    }
    void unlock() { mutex_.unlock(); }

  private:
    void lock_taken();
    // relaxed: for numbers to show; a waiter may read the clock of the holder before, and measures that one's work.
    void note_holder() { holder_.store(lock_waits::t_clock, std::memory_order_relaxed); }

    std::mutex mutex_;
    std::atomic<int32_t> holder_{0};  // the clock of the holder, or of the last one
    const LockKind kind_;
};

namespace lock_waits {

// A wait up to this is short; in a longer one the holder's work is compared with it.
constexpr uint64_t kPatience_ns = 20000;

struct Count {
    uint64_t short_waits;
    uint64_t long_waits;
    uint64_t preempted;   // no shorter, but the holder worked for less than kPatience_ns
    uint64_t longest_ns;  // the most that a holder has worked in a long wait, where that is known
};
// Counts since the VM started. Any thread.
Count count(LockKind kind);
const char* name(LockKind kind);
// From here on a wait for this thread counts as long or preempted by what it works; for a thread without a clock
// it counts as long.
void set_has_clock();
// The same, and from here on this thread's own waits are counted.
void set_is_scheduler();

}  // namespace lock_waits

}  // namespace minivm
