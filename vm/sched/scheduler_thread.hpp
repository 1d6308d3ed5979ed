// A scheduler with the state of its thread. Only vm/sched, trace/ and the BIFs about processes and the
// system use this.
#pragma once

#include "vm/process/timer_wheel.hpp"
#include "vm/progress/thread_progress.hpp"
#include "vm/sched/run_queue.hpp"
#include "vm/sched/scheduler.hpp"

namespace minivm {

struct SchedulerThread : Scheduler {
    explicit SchedulerThread(uint64_t now_ms) : wheel(now_ms) { timers = &wheel; }

    // -- any thread
    RunQueue queue;
    TimerWheel wheel;
    // The futex it sleeps on. kAsleep: it sleeps or is about to; kSeated: it waits for sockets (poller.hpp).
    static constexpr uint32_t kAsleep = 1;
    static constexpr uint32_t kSeated = 2;
    std::atomic<uint32_t> sleeping{0};
    std::atomic<bool> stands{false};             // it waits in vm::wait_while_paused()
    std::atomic<uint64_t> reductions_total{0};   // this one and the next ones: the thread adds, others read
    std::atomic<uint64_t> context_switches{0};
    std::atomic<uint64_t> collections{0};
    std::atomic<uint64_t> words_reclaimed{0};
    std::atomic<uint64_t> sleeps{0};             // how often it has slept for want of work
    std::atomic<int> thread_id{0};               // the kernel's; 0: not started yet
    static constexpr int8_t kNone = -1;
    std::atomic<int8_t> running{kNone};          // the priority of the running process
    // A bit for each priority whose processes wait and have had no turn lately: a hint for other schedulers.
    std::atomic<uint8_t> starved{0};

    // -- its thread
    thread_progress::Participant* progress = nullptr;
    bool ran_before = false;        // it has just recorded the end of a slice
    bool found_at_once = false;     // and the next process was in its queue
    bool seated = false;            // it has the poller's seat: poller::take_seat()
    bool gave_to_dirty = false;     // it has given a process to a dirty scheduler since its last search for work
    uint64_t long_slice_ticks = ~uint64_t{0};  // of the recorder's clock
    uint64_t random = 0;            // state of the stress generator
    int64_t until_timers = 0;       // reductions before it looks at the clock again
    uint64_t balance_at_ms = 0;     // when it next compares its queue with the others'
    uint64_t turns_then[4] = {};    // RunQueue::turns_from() when it last did so
};

// The calling thread's; null on dirty schedulers and other threads.
SchedulerThread* this_scheduler_thread();
// 1..scheduler_count().
SchedulerThread& scheduler_at(int number);
void wake_scheduler(SchedulerThread& s);
void wake_all_schedulers();
// Schedulers 1 to n run processes, the others only processes bound to them (vm/sched/online.hpp).
void set_active_schedulers(int n);
uint64_t next_random(uint64_t& state);

inline void count_up(std::atomic<uint64_t>& counter, uint64_t n) {
    // relaxed: one writer; a number to show.
    counter.store(counter.load(std::memory_order_relaxed) + n, std::memory_order_relaxed);
}
// Runs a slice of p, which was in s's queue (slice.cpp).
void run_process(SchedulerThread& s, Process& p);
// Does the work that waits for the end of a turn (Scheduler::after_turn), if any.
void do_after_turn(SchedulerThread& s);

// ---- dirty.cpp --------------------------------------------------------------------------------------

namespace dirty {
void start(int cpu, int io);
// False: a thread is blocked and was left behind.
bool stop();
// A dirty scheduler is to run p.dirty_bif. p's state has kQueued and kDirty.
void enqueue(Process& p);
uint64_t queued(bool io);
// So many processes may run at once on dirty CPU schedulers.
void set_online_cpu(int n);
}  // namespace dirty

}  // namespace minivm
