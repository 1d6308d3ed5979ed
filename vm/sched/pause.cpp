#include "vm/sched/pause.hpp"

#include "vm/sched/scheduler_thread.hpp"

#include <atomic>
#include <chrono>
#include <condition_variable>
#include <mutex>
#include <thread>

namespace minivm::vm {

namespace {

std::atomic<bool> g_is_paused{false};
std::mutex g_pause_mutex;  // held to change the flag to false, and to wait for that
std::condition_variable g_goes_on;

bool stands(const SchedulerThread& s) {
    // seq_cst: after the store in pause(); partners are pause_scheduler() and sleep_until_work().
    return s.stands.load(std::memory_order_seq_cst) || s.sleeping.load(std::memory_order_seq_cst) != 0;
}

}  // namespace

bool pause(int patience_ms) {
    using Clock = std::chrono::steady_clock;
    // seq_cst: see stands().
    g_is_paused.store(true, std::memory_order_seq_cst);
    const auto end = Clock::now() + std::chrono::milliseconds(patience_ms);
    for (int i = 1; i <= scheduler_count(); ++i) {
        while (!stands(scheduler_at(i))) {
            if (Clock::now() > end) {
                return false;
            }
            std::this_thread::sleep_for(std::chrono::microseconds(200));
        }
    }
    return true;
}

void go_on() {
    {
        const std::lock_guard lock(g_pause_mutex);
        g_is_paused.store(false, std::memory_order_seq_cst);  // seq_cst: see is_paused()
    }
    g_goes_on.notify_all();
}

bool is_paused() {
    // seq_cst: a scheduler that wakes clears `sleeping` before it looks here; its partner is pause().
    return g_is_paused.load(std::memory_order_seq_cst);
}

void wait_while_paused() {
    std::unique_lock lock(g_pause_mutex);
    g_goes_on.wait(lock, [] { return !is_paused(); });
}

}  // namespace minivm::vm
