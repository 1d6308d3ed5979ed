// What processes need of the schedulers that run them (vm/sched).
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
    // Between the beginning and the end of a process's turn: what is better done once for all that it did
    // (vm/dist gives a connection what the process has sent). One piece of work; taken out when it is done.
    bool in_turn = false;
    void (*after_turn)(void* data) = nullptr;
    void* after_turn_data = nullptr;
    int turns_put_off = 0;       // since it was asked for
};

// The scheduler of this thread, or null on a thread that is none.
Scheduler* this_scheduler();

// Puts a process whose state says kQueued into a run queue. Any thread.
void enqueue_process(Process& p);
// p, if it waits for its turn, handles its signals as if it had this priority, and waits again for its
// turn to run. Any thread that may hold a Process*.
void raise_process(Process& p, Priority to);
// A collection of p gave back so many words. On the thread that owns p.
void count_collection(uint64_t words);

// A reference nobody else has.
RefId new_ref_id(Process& p);
// The same by the thread's scheduler, this_scheduler(); null on a thread that has none.
RefId new_ref_id(Scheduler* s);

// The timers of scheduler 1..N; null: there is no such scheduler. Any thread.
TimerWheel* timer_wheel_of(int scheduler);
// Scheduler 1 wakes, if it sleeps, and looks at its timers. Any thread.
void wake_for_timers();
// So many schedulers run processes now (vm/sched/online.hpp). Any thread.
int active_schedulers();

// The program's own process, whose end is recorded as the program's (vm/sched/halt.hpp). Raw; 0: none.
extern std::atomic<Word> g_main_process;
// For end_process(), of it and of system processes.
void note_end_slow(Process& p, Term reason);

}  // namespace minivm
