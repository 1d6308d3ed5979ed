// What the threads of the machine do with their time: statistics(microstate_accounting) and
// statistics(scheduler_wall_time).
//
// Each thread says when it begins something else. The clock is only looked at while somebody wants to know
// (start(), stop()), else a change is one store. The time of a thread that has not been started, as of a dirty
// scheduler without work, is sleep.
//
// Threads: set() and attach() concern the calling one; the rest any thread.
#pragma once

#include <atomic>
#include <cstdint>
#include <vector>

namespace minivm::activity {

// By the names that OTP gives them. other: looking for work.
enum class Activity : uint8_t { aux, check_io, emulator, gc, other, port, sleep };
constexpr int kActivities = static_cast<int>(Activity::sleep) + 1;

enum class ThreadKind : uint8_t { scheduler, dirty_cpu_scheduler, dirty_io_scheduler, poll };

class Account;
namespace detail {
extern constinit thread_local Account* t_account;
void set(Account& account, Activity to);
}  // namespace detail

// The threads there will be; those of a machine before are forgotten. Before any of them starts.
void init(int schedulers, int dirty_cpu, int dirty_io);
// The calling thread is the n-th (from 1) of its kind.
void attach(ThreadKind kind, int n);

// The calling thread, if it is one of them, does this from here on.
inline void set(Activity to) {
    if (Account* const account = detail::t_account) {
        detail::set(*account, to);
    }
}

// In a block, then again what was before.
class While {
  public:
    explicit While(Activity what);
    ~While() { set(before_); }
    While(const While&) = delete;
    While& operator=(const While&) = delete;

  private:
    Activity before_;
};

// Time is counted from the first start() to the last stop().
void start();
void stop();

struct Times {
    ThreadKind kind;
    int number;                  // from 1
    int64_t ns[kActivities];     // since any time at all: only differences say something
    // All but sleep and looking for work.
    int64_t busy_ns() const;
};
// Schedulers first, then dirty CPU and dirty I/O ones, at last the thread that waits for files.
std::vector<Times> times();

}  // namespace minivm::activity
