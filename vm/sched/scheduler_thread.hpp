// A scheduler with what its thread keeps beside the registers. Only vm/sched, vm/process and the BIFs
// about processes look in here.
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
    // kAsleep while it sleeps or is about to: the futex it sleeps on; kSeated: it waits for sockets (poller.hpp).
    static constexpr uint32_t kAsleep = 1;
    static constexpr uint32_t kSeated = 2;
    std::atomic<uint32_t> sleeping{0};
    std::atomic<bool> stands{false};             // as vm::pause() asks for
    std::atomic<uint64_t> reductions_total{0};   // the thread adds, others read
    std::atomic<uint64_t> context_switches{0};
    std::atomic<uint64_t> collections{0};
    std::atomic<uint64_t> words_reclaimed{0};
    std::atomic<uint64_t> sleeps{0};             // times that it has given up the processor itself
    std::atomic<int> thread_id{0};               // the kernel's; 0: not started yet
    static constexpr int8_t kNone = -1;
    std::atomic<int8_t> running{kNone};          // the priority of the process that runs right now
    // A bit for each priority of which some wait and none has had a turn lately: a hint that its scheduler gives.
    std::atomic<uint8_t> starved{0};

    // -- its thread
    thread_progress::Participant* progress = nullptr;
    bool ran_before = false;        // it has just recorded the end of a slice
    bool found_at_once = false;     // and the next process was in its queue
    bool seated = false;            // poller::take_seat()
    bool gave_to_dirty = false;     // a process, since it last looked for work in vain
    uint64_t long_slice_ticks = ~uint64_t{0};  // of the recorder's clock
    uint64_t random = 0;            // state of the stress generator
    int64_t until_timers = 0;       // reductions before the clock is looked at again
    uint64_t balance_at_ms = 0;     // when it compares its queue with the others' again
    uint64_t turns_then[4] = {};    // RunQueue::turns_from() when it did so last
};

// Null on dirty schedulers and other threads.
SchedulerThread* this_scheduler_thread();
// 1..scheduler_count().
SchedulerThread& scheduler_at(int number);
void wake_scheduler(SchedulerThread& s);
void wake_all_schedulers();
// Schedulers 1 to n run processes, the others only what is bound to them (vm/sched/online.hpp).
void set_active_schedulers(int n);
uint64_t next_random(uint64_t& state);

inline void count_up(std::atomic<uint64_t>& counter, uint64_t n) {
    // relaxed: one writer; a number to show.
    counter.store(counter.load(std::memory_order_relaxed) + n, std::memory_order_relaxed);
}
// A slice of p, which was in s's queue (slice.cpp).
void run_process(SchedulerThread& s, Process& p);
// What was put off behind that slice (Scheduler::after_turn) is done now: no other follows, for now.
void do_after_turn(SchedulerThread& s);

// ---- dirty.cpp --------------------------------------------------------------------------------------

namespace dirty {
void start(int cpu, int io);
// False: a thread is blocked and was left behind.
bool stop();
// p's state says kQueued and kDirty; p.dirty_bif is what to run.
void enqueue(Process& p);
// The same, but it was not enqueued: the caller has it again. Waits for who looks at it (Hold). False: it has been
// left meanwhile (Hold::leave()).
bool take_back(Process& p);
uint64_t queued(bool io);
// So many processes at once on CPU schedulers.
void set_online_cpu(int n);
}  // namespace dirty

}  // namespace minivm
