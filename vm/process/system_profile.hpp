// erlang:system_profile/0,2: one process, the profiler, gets messages when processes and ports become runnable and
// stop being so, and when schedulers fall asleep and wake up.
//
// If no event is asked for, each place pays one load and a test. Threads: any.
#pragma once

#include "vm/process/watchers.hpp"
#include "vm/progress/thread_progress.hpp"

#include <mutex>
#include <optional>

namespace minivm::system_profile {

enum Event : uint32_t { kRunnableProcs = 1, kRunnablePorts = 2, kScheduler = 4, kExclusive = 8 };

struct Settings {
    uint32_t events = 0;
    Term profiler = kNonValue;  // a pid; the non-value: none
    uint32_t timestamp = 0;     // one of tracing::kAllTimestamps; 0: monotonic
};
Settings settings();
void set(const Settings& s);

inline bool wants(uint32_t events) { return watchers::any_of_all(events << watchers::kProfileShift); }

// Holds a lock over a change of p's state and the message about it, so that a process's `active` and `inactive`
// alternate: the thread that puts it to sleep and the one that wakes it may differ. The profiler itself is not
// reported, and may be woken while another thread holds the lock.
class Turn {
  public:
    explicit Turn(const Process& p) {
        if (wants(kRunnableProcs)) {
            begin(p);
        }
    }
    // Remembers where p is in its code. The caller owns p.
    void look_at(const Process& p) {
        if (MINIVM_UNLIKELY(lock_.owns_lock())) {
            find_place(p);
        }
    }
    // After look_at(), when the state has changed.
    void became(bool active) const {
        if (MINIVM_UNLIKELY(lock_.owns_lock())) {
            tell(active);
        }
    }

  private:
    void begin(const Process& p);
    void find_place(const Process& p);
    void tell(bool active) const;
    // Ends after the lock is released: its end may run work that wakes processes, which takes the lock.
    std::optional<thread_progress::DelaySection> section_;
    std::unique_lock<std::mutex> lock_;
    Term pid_ = kNonValue;
    Term module_ = kNonValue;  // the non-value: in no function
    Term function_ = kNonValue;
    uint32_t arity_ = 0;
};

// Call these only if wants() is true.
void port_turn(Term port, bool active);
void scheduler_turn(int number, bool active);
// For the process that this thread runs, if it runs one.
void caller_turn(bool active);

}  // namespace minivm::system_profile
