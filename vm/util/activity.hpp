// What the threads of the machine do with their time: statistics(microstate_accounting) and
// statistics(scheduler_wall_time).
//
// Each thread reports with set() what it does from then on. A change reads the clock only while somebody wants
// to know (between start() and stop()); else it is one store. A thread that has not been started, such as a
// dirty scheduler without work, counts as asleep.
//
// Threads: set() and attach() concern the calling thread; any thread may call the rest.
#pragma once

#include <atomic>
#include <cstdint>
#include <vector>

namespace minivm::activity {

// The names are OTP's. other: looking for work.
enum class Activity : uint8_t { aux, check_io, emulator, gc, other, port, sleep };
constexpr int kActivities = static_cast<int>(Activity::sleep) + 1;

enum class ThreadKind : uint8_t { scheduler, dirty_cpu_scheduler, dirty_io_scheduler, poll };

class Account;
namespace detail {
extern constinit thread_local Account* t_account;
void set(Account& account, Activity to);
}  // namespace detail

// Makes accounts for the threads to come and forgets an earlier machine's. Call it before any of them starts.
void init(int schedulers, int dirty_cpu, int dirty_io);
// The calling thread is the n-th (from 1) of its kind.
void attach(ThreadKind kind, int n);

// From here on the calling thread does this, if it has an account.
inline void set(Activity to) {
    if (Account* const account = detail::t_account) {
        detail::set(*account, to);
    }
}

// Sets an activity for a block, and at its end the one before it again.
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
    int64_t ns[kActivities];     // since some unknown time: only differences mean something
    // All but sleep and looking for work.
    int64_t busy_ns() const;
};
// Schedulers first, then dirty CPU and dirty I/O schedulers, last the thread that waits for files.
std::vector<Times> times();

}  // namespace minivm::activity
