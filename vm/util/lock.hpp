// A mutex that counts who waits for it: schedulers should not.
//
// Taking a free one costs what a std::mutex costs. A scheduler that finds one taken looks again for
// kPatience; if it is free by then that is a short wait. If not, what counts is what the holder does
// meanwhile, by the clock of its processor time: if it works for kPatience, that is a long wait; if not, the
// kernel has taken it off its processor, and no lock keeps it from that. In the end the thread sleeps.
// (Interrupts are work by that clock: longest_ns tells whether a wait was longer than the machine's own are. A
// thread that is off its own processor before its first look at the holder does not see what that one works until then.)
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

// One count each. Objects of one kind share it.
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
    // relaxed: for numbers to show; who waits may read the one before, and then asks what that one has worked.
    void note_holder() { holder_.store(lock_waits::t_clock, std::memory_order_relaxed); }

    std::mutex mutex_;
    std::atomic<int32_t> holder_{0};  // the clock of who has it, or had it last
    const LockKind kind_;
};

namespace lock_waits {

// How long a scheduler looks again and again for a lock that is taken.
constexpr uint64_t kPatience_ns = 20000;

struct Count {
    uint64_t short_waits;
    uint64_t long_waits;
    uint64_t preempted;   // no shorter, but the holder was off its processor for all but kPatience
    uint64_t longest_ns;  // the most that a holder has worked in a long wait, where that is known
};
// Since the start. Any thread.
Count count(LockKind kind);
const char* name(LockKind kind);
// From here on waits for this thread are told apart by what it works; those of a thread that has not said so
// are long ones.
void set_has_clock();
// That, and from here on the waits of this thread count.
void set_is_scheduler();

}  // namespace lock_waits

}  // namespace minivm
