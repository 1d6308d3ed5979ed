// A mutex that counts who waits for it: schedulers should not.
//
// Taking a free one costs what a std::mutex costs. A scheduler that finds one taken looks again for
// kPatience; if it is free by then that is a short wait, else a long one, for which the thread gives up the
// processor. Long waits are what the VM promises not to have while code is loaded, traced or purged
// (docs/protocols/code_loading.md), and minivm:scheduler_waits() tells how many there were.
//
// Threads that are no schedulers wait as long as they have to, and are not counted.
#pragma once

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

class CountedMutex {
  public:
    constexpr explicit CountedMutex(LockKind kind) : kind_(kind) {}
    CountedMutex(const CountedMutex&) = delete;
    CountedMutex& operator=(const CountedMutex&) = delete;

    void lock() {
        if (MINIVM_UNLIKELY(!mutex_.try_lock())) {
            lock_taken();
        }
    }
    bool try_lock() { return mutex_.try_lock(); }
    void unlock() { mutex_.unlock(); }
    // For condition variables; on threads that are no schedulers.
    std::mutex& native() { return mutex_; }

  private:
    void lock_taken();

    std::mutex mutex_;
    const LockKind kind_;
};

namespace lock_waits {

// How long a scheduler looks again and again for a lock that is taken.
constexpr uint64_t kPatience_ns = 20000;

struct Count {
    uint64_t short_waits;
    uint64_t long_waits;
};
// Since the start. Any thread.
Count count(LockKind kind);
const char* name(LockKind kind);
// From here on the waits of this thread count.
void set_is_scheduler();

}  // namespace lock_waits

}  // namespace minivm
