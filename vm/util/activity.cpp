#include "vm/util/activity.hpp"

#include <ctime>
#include <deque>
#include <memory>
#include <mutex>

namespace minivm::activity {

class Account {
  public:
    Account(ThreadKind kind, int number) : kind_(kind), number_(number) {}
    bool is(ThreadKind kind, int number) const { return kind_ == kind && number_ == number; }
    // relaxed, here and in set(): only the thread itself writes the word; others only show it.
    Activity now() const { return now_.load(std::memory_order_relaxed); }
    void set(Activity to, bool is_counted);
    void begin();
    Times times(bool is_counted);

  private:
    void count_locked();

    const ThreadKind kind_;
    const int number_;
    std::atomic<Activity> now_{Activity::sleep};
    std::mutex mutex_;
    int64_t since_ns_ = 0;  // under the mutex, as the times
    int64_t ns_[kActivities] = {};
};

namespace {

std::mutex g_mutex;
// All accounts ever made: a thread of an earlier machine that still hangs in a system call keeps its own.
std::deque<Account> g_accounts;
std::vector<Account*> g_current;
int g_users = 0;
std::atomic<bool> g_is_counted{false};

int64_t clock_ns() {
    timespec t{};
    clock_gettime(CLOCK_MONOTONIC, &t);
    return int64_t{t.tv_sec} * 1000000000 + t.tv_nsec;
}

// relaxed: a thread that sees the change late adds the time of its present activity to that of its next one.
bool is_counted() { return g_is_counted.load(std::memory_order_relaxed); }

}  // namespace

void Account::count_locked() {
    const int64_t now = clock_ns();
    ns_[static_cast<int>(this->now())] += now - since_ns_;
    since_ns_ = now;
}

void Account::set(Activity to, bool is_counted) {
    if (!is_counted) {
        now_.store(to, std::memory_order_relaxed);  // relaxed: see now()
        return;
    }
    const std::lock_guard lock(mutex_);
    count_locked();
    now_.store(to, std::memory_order_relaxed);  // relaxed: see now()
}

void Account::begin() {
    const std::lock_guard lock(mutex_);
    since_ns_ = clock_ns();
}

Times Account::times(bool is_counted) {
    const std::lock_guard lock(mutex_);
    if (is_counted) {
        count_locked();
    }
    Times t{kind_, number_, {}};
    for (int i = 0; i < kActivities; ++i) {
        t.ns[i] = ns_[i];
    }
    return t;
}

namespace detail {
constinit thread_local Account* t_account = nullptr;

void set(Account& account, Activity to) {
    if (account.now() != to) {
        account.set(to, is_counted());
    }
}
}  // namespace detail

void init(int schedulers, int dirty_cpu, int dirty_io) {
    const std::lock_guard lock(g_mutex);
    g_current.clear();
    const auto add = [](ThreadKind kind, int count) {
        for (int n = 1; n <= count; ++n) {
            g_current.push_back(&g_accounts.emplace_back(kind, n));
        }
    };
    add(ThreadKind::scheduler, schedulers);
    add(ThreadKind::dirty_cpu_scheduler, dirty_cpu);
    add(ThreadKind::dirty_io_scheduler, dirty_io);
    add(ThreadKind::poll, 1);
    g_users = 0;
    g_is_counted.store(false, std::memory_order_relaxed);  // relaxed: see is_counted()
}

void attach(ThreadKind kind, int n) {
    const std::lock_guard lock(g_mutex);
    for (Account* account : g_current) {
        if (account->is(kind, n)) {
            detail::t_account = account;
        }
    }
}

While::While(Activity what)
    : before_(detail::t_account != nullptr ? detail::t_account->now() : Activity::other) {
    set(what);
}

void start() {
    const std::lock_guard lock(g_mutex);
    if (g_users++ != 0) {
        return;
    }
    for (Account* account : g_current) {
        account->begin();
    }
    g_is_counted.store(true, std::memory_order_relaxed);  // relaxed: see is_counted()
}

void stop() {
    const std::lock_guard lock(g_mutex);
    if (--g_users == 0) {
        g_is_counted.store(false, std::memory_order_relaxed);  // relaxed: see is_counted()
    }
}

int64_t Times::busy_ns() const {
    int64_t sum = 0;
    for (int i = 0; i < kActivities; ++i) {
        const auto what = static_cast<Activity>(i);
        sum += what == Activity::sleep || what == Activity::other ? 0 : ns[i];
    }
    return sum;
}

std::vector<Times> times() {
    const std::lock_guard lock(g_mutex);
    std::vector<Times> all;
    for (Account* account : g_current) {
        all.push_back(account->times(is_counted()));
    }
    return all;
}

}  // namespace minivm::activity
