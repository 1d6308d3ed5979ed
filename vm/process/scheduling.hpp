// What vm/process needs of the schedulers (vm/sched).
//
// Threads: a Scheduler's fields belong to its thread unless marked.
#pragma once

#include "vm/process/process.hpp"

namespace minivm {

class TimerWheel;

constexpr int kMaxXRegisters = 1024;
constexpr int kMaxFloatRegisters = 1024;

struct Scheduler {
    // First, so that engines reach x registers at small offsets from the scheduler's address.
    Term x[kMaxXRegisters + 8] = {};
    double f[kMaxFloatRegisters + 1] = {};
    Process* process = nullptr;  // running now
    int code_ix = 0;             // cached active code index
    int number = 0;              // 1..schedulers; 0: dirty
    uint64_t ref_counter = 0;
    void* engine_state = nullptr;
    void* c_stack = nullptr;     // while native code runs: the C++ stack pointer
    TimerWheel* timers = nullptr;  // null: dirty
    // Work for the end of a process's turn, because it is cheaper to do once for the whole turn (vm/dist gives a
    // connection the messages that the process has sent). One piece of work; null after it is done.
    bool in_turn = false;
    void (*after_turn)(void* data) = nullptr;
    void* after_turn_data = nullptr;
    int turns_put_off = 0;       // turns that have ended since after_turn was set
};

// The scheduler of this thread, dirty ones included; null on other threads.
Scheduler* this_scheduler();

// Puts a process whose state has kQueued into a run queue. Any thread.
void enqueue_process(Process& p);
// If p waits in a run queue, it handles its signals as if it had this priority, and then waits again for
// its turn to run. Any thread that may hold a Process*.
void raise_process(Process& p, Priority to);
// A collection of p freed so many words. On the thread that owns p.
void count_collection(uint64_t words);

// A unique reference.
RefId new_ref_id(Process& p);
// The same; s is this_scheduler(), null on a thread without one.
RefId new_ref_id(Scheduler* s);

// The timers of scheduler 1..N; null: there is no such scheduler. Any thread.
TimerWheel* timer_wheel_of(int scheduler);
// Wakes scheduler 1, if it sleeps, to look at its timers. Any thread.
void wake_for_timers();
// How many schedulers run processes now (vm/sched/online.hpp). Any thread.
int active_schedulers();

// The program's own process, whose end is recorded as the program's (vm/sched/halt.hpp). Raw; 0: none.
extern std::atomic<Word> g_main_process;
// end_process() calls it for that process and for system processes.
void note_end_slow(Process& p, Term reason);

}  // namespace minivm
