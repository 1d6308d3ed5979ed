#include "vm/util/lock.hpp"

#include <catch2/catch.hpp>

#include <atomic>
#include <chrono>
#include <ctime>
#include <mutex>
#include <thread>

namespace minivm {
namespace {

constexpr LockKind kKind = LockKind::purge;
constexpr int kMaxTries = 1000;

uint64_t worked_ns() {
    timespec t;
    clock_gettime(CLOCK_THREAD_CPUTIME_ID, &t);
    return static_cast<uint64_t>(t.tv_sec) * 1000000000 + static_cast<uint64_t>(t.tv_nsec);
}

// A scheduler takes a lock while another thread, which has it, does that.
template <typename Hold>
void wait_once(Hold hold) {
    CountedMutex mutex(kKind);
    std::atomic<bool> is_held{false};
    std::atomic<bool> is_wanted{false};
    std::atomic<bool> is_over{false};
    std::thread holder([&] {
        lock_waits::set_has_clock();
        {
            const std::lock_guard lock(mutex);
            is_held = true;
            while (!is_wanted) {
                std::this_thread::yield();
            }
            hold();
        }
        // Its clock is asked behind the wait.
        while (!is_over) {
            std::this_thread::yield();
        }
    });
    std::thread scheduler([&] {
        lock_waits::set_is_scheduler();
        while (!is_held) {
            std::this_thread::yield();
        }
        is_wanted = true;
        mutex.lock();
        is_over = true;
        mutex.unlock();
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
    const lock_waits::Count before = lock_waits::count(kKind);
    int tries = 0;
    while (lock_waits::count(kKind).preempted == before.preempted && ++tries < kMaxTries) {
        wait_once(sleep);
    }
    CHECK(tries < kMaxTries);
    const uint64_t long_waits = lock_waits::count(kKind).long_waits;
    tries = 0;
    while (lock_waits::count(kKind).long_waits == long_waits && ++tries < kMaxTries) {
        wait_once(work);
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
