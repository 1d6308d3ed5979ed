// How processes begin and end.
#pragma once

#include "vm/process/process.hpp"

namespace minivm {

// The defaults for new processes: erlang:system_flag/2 and the emulator's flags set them.
struct SpawnDefaults {
    std::atomic<uint32_t> min_heap_words{233};
    std::atomic<uint32_t> fullsweep_after{65535};
    std::atomic<uint64_t> min_bin_vheap_words{46422};
    std::atomic<uint64_t> max_heap_words{0};
    std::atomic<bool> max_heap_kill{true};
    std::atomic<bool> max_heap_log{true};
    std::atomic<bool> max_heap_shared{false};
    std::atomic<bool> message_queue_off_heap{false};
    std::atomic<bool> async_dist{false};
};
extern SpawnDefaults g_spawn_defaults;

// The least sizes of a process that asks for `wanted`: at least the default, rounded up to a size that heaps have.
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
    // One of min_heap_size, priority, fullsweep_after, max_heap_size and scheduler is given: only then does OTP
    // look at min_bin_vheap_size.
    bool looks_at_vheap = false;
    bool has_fullsweep_after = false;
    uint32_t fullsweep_after = 0;
    bool has_max_heap = false;
    uint64_t max_heap_words = 0;
    bool max_heap_kill = true;
    bool max_heap_log = true;
    bool max_heap_shared = false;
    // relaxed: as set_limits() reads them.
    bool message_queue_off_heap = g_spawn_defaults.message_queue_off_heap.load(std::memory_order_relaxed);
    bool async_dist = g_spawn_defaults.async_dist.load(std::memory_order_relaxed);
    bool system_process = false;
    uint32_t bound_to = 0;             // Process::bound_to
    Term group_leader = kNonValue;     // the non-value: the parent's
    // Called when the child is made, linked to and monitored by the parent, but cannot run yet.
    void (*before_start)(Process* parent, Process& child, SpawnOptions& o, void* context) = nullptr;
    void* context = nullptr;
    // The monitor's; made if it is zero.
    RefId monitor_ref{};
    // For sequential tracing: the options, and the tag of the reply.
    Term option_list = kNil;
    Term reply_tag = atoms::spawn_reply;
    bool replies = false;  // before_start sends the reply: spawn_request, not a call that returns
};

// Makes a process that calls `entry` with copies of the elements of the proper list `args` (at most 255).
// It starts with pc null, x registers saved, and an empty stack. parent is null for processes of the VM.
// Returns its pid, or the non-value: there are too many processes. On the parent's scheduler; without a
// parent, on any thread.
Term spawn(Process* parent, const Export* entry, Term args, SpawnOptions& options);

// The exit reason of a process that has stopped by itself: from p.exception, with the stack trace if its
// class has one. Built in p.heap.
Term uncaught_exit_reason(Process& p);

// Ends p: signals to links and monitors, name, timers, memory. On its scheduler, which owns p; p must not
// be used afterwards.
void end_process(Process& p);
// If p is on a dirty scheduler in a function that can go on without it (kBifLeavable) and an exit signal will end p:
// p ends now for all other processes, and the function goes on alone. Any scheduler.
void end_dirty_process(Process& p);
// Frees a process that has ended in this way, when its function has returned or would begin. The owner calls it.
void finish_left_process(Process& p);

// Calls f (in registration order) on the process's scheduler when it ends, before its exit signals: to free its ETS
// tables, for instance. Any thread, at any time, but a process that is ending then may miss it; so register f before a
// process can have what f frees. Never unregistered; at most sixteen functions.
void at_process_exit(void (*f)(Process& p));

// Frees a process that will never run again, without signals: when the VM stops.
void destroy_process(Process& p);

}  // namespace minivm
