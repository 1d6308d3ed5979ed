// The process: its memory (heap/process_heap.hpp), mailbox, links, and what it was doing.
//
// Threads: while a process runs, its scheduler owns everything here but the fields marked "any
// thread". The state word says who owns a process that does not run (process/state.hpp).
#pragma once

#include <atomic>
#include <cstddef>

#include "vm/heap/process_heap.hpp"
#include "vm/process/mailbox.hpp"
#include "vm/process/timer_node.hpp"
#include "vm/term/atom_table.hpp"

namespace minivm {

struct Scheduler;
struct Export;
struct BifDef;
namespace tracing {
struct State;
struct Local;
}
struct ProcessExtra;  // links, monitors, timers, dictionary, ... : process/extra.hpp

enum class Priority : uint8_t { max = 0, high = 1, normal = 2, low = 3 };

enum class ExceptionClass : uint8_t { none, error, exit, throw_ };

// A raised exception: a BIF or meaning that returns the non-value sets it, the engine finds the
// handler and clears it.
struct Exception {
    ExceptionClass cls = ExceptionClass::none;
    bool save_trace = true;      // false: `trace` is a raw trace that is passed on (raise)
    bool caller_raised = false;  // by error/1 and the like: the BIF itself is not in the trace
    Term reason = kNonValue;     // the first of kTerms adjacent roots
    Term trace = kNonValue;      // raw trace, or the list given to erlang:raise/3
    Term args = kNonValue;       // argument list for the top entry, or the non-value
    Term error_info = kNonValue; // map for the top entry, or the non-value
    const BifDef* bif = nullptr; // the BIF that raised, top entry of the trace; null: code raised
    Term top_module = kNonValue; // undef: the trace's top entry is this function, not its caller
    Term top_function = kNonValue;

    static constexpr size_t kTerms = 4;
    Term* terms() { return &reason; }
};
static_assert(offsetof(Exception, error_info) == offsetof(Exception, reason) + 3 * sizeof(Term));

// What the engine has to do when a BIF returned the non-value.
enum class BifOutcome : uint8_t {
    exception,  // Process::exception holds it
    trap,       // call Process::trap_export with the arguments in x registers; its result is ours
    yield,      // as trap, and give up the rest of the time slice first
    wait,       // as trap, but the process is scheduled out until a signal or wake-up arrives
    exited,     // an exit signal has told the process to end: schedule out
    dirty,      // Process::dirty_bif must run on a dirty scheduler
    trap_fun,   // call the fun in x[trap_arity] with the arguments before it
    hibernate,  // as trap, but the stack is dropped, and the process waits for a message first
    hibernate_here  // as wait, after the heap has been made as small as possible
};

struct Process : ProcessHeap {
    // -- read and written by engines in every slice
    int64_t reductions = 0;         // left in this slice; valid while not in engine code
    const Word* pc = nullptr;       // where to resume: bytecode address or native address
    bool pc_is_native = false;      // which of the two, for pc and timeout_pc
    Scheduler* scheduler = nullptr; // that runs it now; null when scheduled out
    Term* x = nullptr;              // the running scheduler's x registers; null when scheduled out
    Term id = kNonValue;            // its pid

    // -- exceptions and traps
    Exception exception;
    BifOutcome outcome = BifOutcome::exception;
    uint8_t live_x = 0;             // saved x registers while scheduled out
    Priority priority = Priority::normal;
    bool trap_exit = false;
    bool raised = false;              // queued only to handle signals: see raise_process()
    Priority raised_to = Priority::low;  // its list in the run queue then; written under the run queue's lock
    std::atomic<uint8_t> raise_wish{0};  // 1 + the priority to which the next push raises it; see raise_process()
    bool in_receive_examine = false;  // x registers may refer into the message under examination
    uint32_t trap_arity = 0;
    const Export* trap_export = nullptr;
    const Word* timeout_pc = nullptr;  // where the waiting receive goes on at its timeout

    Term* saved_x = nullptr;        // live_x terms; allocated on demand
    Mailbox mailbox;                // inner queue: this process; outer queue: any thread
    Term group_leader = kNonValue;  // copied into this heap if it is not a local pid
    Term parent = kNonValue;  // the process that spawned it: a pid of this node
    const Export* initial_call = nullptr;

    std::atomic<uint32_t> state{0}; // any thread; see process/state.hpp
    std::atomic<const tracing::State*> trace{nullptr};  // any thread; see process/tracing.hpp
    std::atomic<uint32_t> watchers{0};  // any thread; see process/watchers.hpp
    tracing::Local* trace_local = nullptr;  // made on first use
    ProcessExtra* extra = nullptr;  // made on first use
    Process* next_in_queue = nullptr;
    uint64_t reductions_done = 0;

    // -- vm/sched and vm/process only; the owner's, but for receive_timer and registered_name
    Signal* unhandled = nullptr;      // fetched signals that came after the one that ends the process
    Signal* deferred = nullptr;       // requests that must run between two slices
    Signal* exit_signal = nullptr;    // an exit signal that has taken effect; its term is the reason
    const BifDef* dirty_bif = nullptr;  // to run on, or just run on, a dirty scheduler
    bool goes_dirty = false;          // suspended on the way to dirty_bif, which has not begun
    bool in_engine = false;           // an engine runs its code: registers are not saved
    bool dirty_ok = false;            // dirty_bif's result is in saved_x[0]; else `outcome` says what to do
    bool was_waiting = false;         // when it was scheduled in: it may take a timeout
    bool message_queue_off_heap = false;
    bool counted = false;             // in the process table
    bool system_process = false;      // set before it starts
    uint32_t run_queue = 0;           // scheduler that ran it last
    uint32_t bound_to = 0;            // the only scheduler that may run it; 0: any
    bool blocks_schedulers = false;   // or did so once: vm/sched/online.hpp
    uint32_t suspended = 0;           // suspensions that have not been resumed
    Term registered_name = kNonValue; // guarded by the registry's lock
    TimerNode receive_timer;          // the timeout of the waiting receive. Its wheel: null before the receive sets a
                                      // timeout, a mark for infinity (timers.cpp), else the wheel that it was put in

    // An exit signal has taken effect: no code of this process may run any more.
    bool is_exiting() const { return exit_signal != nullptr; }
};

// Reductions left in p's slice, for everything but its engine.
// relaxed: a number to show: process_info/2 reads it while p is on a dirty scheduler.
inline int64_t reductions_left(const Process& p) {
    return std::atomic_ref(const_cast<int64_t&>(p.reductions)).load(std::memory_order_relaxed);
}
inline void set_reductions_left(Process& p, int64_t n) {
    std::atomic_ref(p.reductions).store(n, std::memory_order_relaxed);  // relaxed: as above
}

}  // namespace minivm
