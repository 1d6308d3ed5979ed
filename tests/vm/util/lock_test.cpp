#include "vm/util/lock.hpp"

#include <catch2/catch.hpp>

#include <atomic>
#include <chrono>
#include <cstdint>
#include <ctime>
#include <mutex>
#include <thread>

namespace minivm {
namespace {

constexpr LockKind kKind = LockKind::purge;
constexpr int kMaxTries = 1000;

int32_t own_clock() {
    lock_waits::set_has_clock();
    return lock_waits::t_clock;
}

// A thread that waits for its end, and what clock it has: such a holder works for no nanosecond, whatever the machine
// makes of a sleep.
class Parked {
public:
    Parked() : thread_([this] { park(); }) { clock_.wait(0); }
    ~Parked() {
        is_over_ = true;
        is_over_.notify_one();
        thread_.join();
    }
    int32_t clock() const { return clock_; }

private:
    void park() {
        clock_ = own_clock();
        clock_.notify_one();
        is_over_.wait(false);
    }

    std::atomic<int32_t> clock_{0};
    std::atomic<bool> is_over_{false};
    std::thread thread_;
};

uint64_t worked_ns() {
    timespec t;
    clock_gettime(CLOCK_THREAD_CPUTIME_ID, &t);
    return static_cast<uint64_t>(t.tv_sec) * 1000000000 + static_cast<uint64_t>(t.tv_nsec);
}

// A scheduler takes a lock while another thread, which has it by this clock, does that.
template <typename Clock, typename Hold>
void wait_once(Clock clock, Hold hold) {
    CountedMutex mutex(kKind);
    std::atomic<bool> is_held{false};
    std::atomic<bool> is_wanted{false};
    std::thread holder([&] {
        lock_waits::t_clock = clock();
        const std::lock_guard lock(mutex);
        is_held = true;
        while (!is_wanted) {
            std::this_thread::yield();
        }
        hold();
    });
    std::thread scheduler([&] {
        lock_waits::set_is_scheduler();
        while (!is_held) {
            std::this_thread::yield();
        }
        is_wanted = true;
        const std::lock_guard lock(mutex);
    });
    holder.join();
    scheduler.join();
}

void sleep() { std::this_thread::sleep_for(std::chrono::microseconds(300)); }
void work() {
    const uint64_t until = worked_ns() + 3000000;
    while (worked_ns() < until) {
    }
}

}  // namespace

// Now and then one of the two is interrupted where it counts, so not every try tells.
TEST_CASE("a wait for a lock whose holder is off its processor is told from one whose holder works") {
    Parked parked;
    const lock_waits::Count before = lock_waits::count(kKind);
    int tries = 0;
    while (lock_waits::count(kKind).preempted == before.preempted && ++tries < kMaxTries) {
        wait_once([&parked] { return parked.clock(); }, sleep);
    }
    CHECK(tries < kMaxTries);
    const uint64_t long_waits = lock_waits::count(kKind).long_waits;
    tries = 0;
    while (lock_waits::count(kKind).long_waits == long_waits && ++tries < kMaxTries) {
        wait_once(own_clock, work);
    }
    CHECK(tries < kMaxTries);
    CHECK(lock_waits::count(kKind).longest_ns >= lock_waits::kPatience_ns);
}

TEST_CASE("a wait for a thread that has not said which clock it has is never one for a holder off its processor") {
    const lock_waits::Count before = lock_waits::count(kKind);
    CountedMutex mutex(kKind);
    std::atomic<bool> is_held{false};
    std::thread holder([&] {
        const std::lock_guard lock(mutex);
        is_held = true;
        sleep();
    });
    std::thread scheduler([&] {
        lock_waits::set_is_scheduler();
        while (!is_held) {
            std::this_thread::yield();
        }
        const std::lock_guard lock(mutex);
    });
    holder.join();
    scheduler.join();
    CHECK(lock_waits::count(kKind).preempted == before.preempted);
}

}  // namespace minivm
