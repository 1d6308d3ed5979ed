// erlang:system_profile/0,2: one process is told when processes and ports become runnable and stop being so, and
// when schedulers fall asleep and wake up.
//
// Where nothing is asked for, each place pays one load and a test. Threads: any.
#pragma once

#include "vm/process/watchers.hpp"

#include <mutex>

namespace minivm::system_profile {

enum Event : uint32_t { kRunnableProcs = 1, kRunnablePorts = 2, kScheduler = 4, kExclusive = 8 };

struct Settings {
    uint32_t events = 0;
    Term profiler = kNonValue;  // a pid; the non-value: nobody is told
    uint32_t timestamp = 0;     // tracing::kTimestamp or one of its kin
};
Settings settings();
void set(const Settings& s);

inline bool wants(uint32_t events) { return watchers::any_of_all(events << watchers::kProfileShift); }

// Held over a change of p's state and what is told of it, so that one process's `active` and `inactive` come in
// turn: who puts it to sleep and who wakes it may be two threads. The profiler itself is not told of, and may be
// woken while somebody holds it.
class Turn {
  public:
    explicit Turn(const Process& p) {
        if (wants(kRunnableProcs)) {
            begin(p);
        }
    }
    // Where p stands. Who calls this owns it.
    void look_at(const Process& p) {
        if (MINIVM_UNLIKELY(lock_.owns_lock())) {
            find_place(p);
        }
    }
    // Behind look_at(), when the state has changed.
    void became(bool active) const {
        if (MINIVM_UNLIKELY(lock_.owns_lock())) {
            tell(active);
        }
    }

  private:
    void begin(const Process& p);
    void find_place(const Process& p);
    void tell(bool active) const;
    std::unique_lock<std::mutex> lock_;
    Term pid_ = kNonValue;
    Term module_ = kNonValue;  // the non-value: it is nowhere
    Term function_ = kNonValue;
    uint32_t arity_ = 0;
};

// Call these only where wants() says so.
void port_turn(Term port, bool active);
void scheduler_turn(int number, bool active);
// The process that this thread runs, if it runs one.
void caller_turn(bool active);

}  // namespace minivm::system_profile
