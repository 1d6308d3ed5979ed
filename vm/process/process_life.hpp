// How processes begin and end.
#pragma once

#include "vm/process/process.hpp"

namespace minivm {

// What new processes have unless they are told otherwise: erlang:system_flag/2, and flags of the emulator.
struct SpawnDefaults {
    std::atomic<uint32_t> min_heap_words{233};
    std::atomic<uint32_t> fullsweep_after{65535};
    std::atomic<uint64_t> min_bin_vheap_words{46422};
    std::atomic<uint64_t> max_heap_words{0};
    std::atomic<bool> max_heap_kill{true};
    std::atomic<bool> max_heap_log{true};
    std::atomic<bool> message_queue_off_heap{false};
    std::atomic<bool> async_dist{false};
};
extern SpawnDefaults g_spawn_defaults;

// The least sizes of a process that asks for `wanted`: not below the defaults, and of those that heaps have.
uint32_t least_heap_words(uint32_t wanted);
uint64_t least_vheap_words(uint64_t wanted);

struct SpawnOptions {
    bool link = false;
    bool link_priority = false;        // Link::priority of the parent
    bool monitor = false;
    Term monitor_tag = kNonValue;      // in the parent's heap
    uint8_t monitor_alias = 0;         // AliasKind
    bool monitor_priority = false;
    Priority priority = Priority::normal;
    uint32_t min_heap_words = 0;       // 0: the default, like the next
    uint64_t min_bin_vheap_words = 0;
    // Given with one of min_heap_size, priority, fullsweep_after, max_heap_size and scheduler, without which OTP
    // does not look at min_bin_vheap_size.
    bool looks_at_vheap = false;
    bool has_fullsweep_after = false;
    uint32_t fullsweep_after = 0;
    bool has_max_heap = false;
    uint64_t max_heap_words = 0;
    bool max_heap_kill = true;
    bool max_heap_log = true;
    // relaxed: as set_limits() reads them.
    bool message_queue_off_heap = g_spawn_defaults.message_queue_off_heap.load(std::memory_order_relaxed);
    bool async_dist = g_spawn_defaults.async_dist.load(std::memory_order_relaxed);
    bool system_process = false;
    uint32_t bound_to = 0;             // Process::bound_to
    Term group_leader = kNonValue;     // the non-value: the parent's
    // Called when the child is made and tied to the parent, but cannot run yet.
    void (*before_start)(Process* parent, Process& child, SpawnOptions& o, void* context) = nullptr;
    void* context = nullptr;
    // The monitor's; made if it is zero.
    RefId monitor_ref{};
    // For sequential tracing: what was asked for, and how it is answered.
    Term option_list = kNil;
    Term reply_tag = atoms::spawn_reply;
    bool replies = false;  // before_start does: not a call that returns
};

// A new process that calls `entry` with the elements of the proper list `args` (at most 255), which
// are copied. It starts with pc null, x registers saved, and an empty stack. parent is null for the
// first ones. Its pid, or the non-value: there are too many processes. On the parent's scheduler; any
// thread for the first ones.
Term spawn(Process* parent, const Export* entry, Term args, SpawnOptions& options);

// What a process that stopped by itself exits with: from p.exception, with the stack trace where the
// class asks for it. Built in p.heap.
Term uncaught_exit_reason(Process& p);

// Ends p: signals to links and monitors, name, timers, memory. On its scheduler, which owns p; p is
// gone afterwards.
void end_process(Process& p);
// p, if it is with a dirty scheduler in a function that can do without it (kBifLeavable) and a signal is to end it:
// it ends now for everybody else, and the function goes on alone. Any scheduler.
void end_dirty_process(Process& p);
// What is left of one that has ended so, when the function has returned or would begin. By who has it then.
void finish_left_process(Process& p);

// Called (in registration order) on the process's scheduler when it ends, before its links are told:
// its ETS tables, for instance. Any thread, at any time: a process that ends meanwhile may not be told, so whoever needs
// it asks before a process can have what is to be let go of. Never taken back; sixteen of them at most.
void at_process_exit(void (*f)(Process& p));

// Frees a process that will never run again, without signals: when the machine stops.
void destroy_process(Process& p);

}  // namespace minivm
