// Which kinds of watchers a process has, in two words: one of the process, one for all processes. A probe
// (process/probe.hpp) tests both at once, and goes on if a bit for its event is set.
//
// A bit says only that a watcher may want the event; the watcher's own state says which events. Threads: any.
#pragma once

#include "vm/process/process.hpp"

namespace minivm::watchers {

enum Watcher : uint32_t {
    // Process::watchers
    kTraced = 1u << 0,         // has a tracing::State
    kClocked = 1u << 1,        // trace_local has clocks that need to know of slices and collections
    kToken = 1u << 2,          // has a token of sequential tracing
    kLongQueueTold = 1u << 3,  // system_monitor has reported that its queue is long
    // g_of_all
    kNewTraced = 1u << 8  // new processes are to be traced
};
constexpr unsigned kMonitorShift = 16;  // events of system_monitor, in g_of_all
constexpr unsigned kMonitorBits = 8;
constexpr unsigned kProfileShift = kMonitorShift + kMonitorBits;  // events of system_profile
constexpr unsigned kProfileBits = 8;

inline std::atomic<uint32_t> g_of_all{0};

inline bool any_of_all(uint32_t which) {
    // relaxed: an event concurrent with the setting may be reported or not.
    return MINIVM_UNLIKELY((g_of_all.load(std::memory_order_relaxed) & which) != 0);
}
inline bool any(const Process& p, uint32_t which) {
    // A thread that sets a bit and needs p to see it then sends p a signal, which p takes with acquire. The state
    // behind the bit is published separately (tracing::state_of()).
    // relaxed: because of that, and as above.
    return MINIVM_UNLIKELY(((p.watchers.load(std::memory_order_relaxed) |
                             g_of_all.load(std::memory_order_relaxed)) & which) != 0);
}
// The bits of a word have different writers.
inline void set(std::atomic<uint32_t>& word, uint32_t bit, bool on) {
    if (on) {
        // relaxed: as above.
        word.fetch_or(bit, std::memory_order_relaxed);
    } else {
        // relaxed: as above.
        word.fetch_and(~bit, std::memory_order_relaxed);
    }
}
// Replaces the `bits` bits at `shift` of g_of_all by `events`.
inline void set_bits(uint32_t events, unsigned shift, unsigned bits) {
    const uint32_t mask = ((1u << bits) - 1) << shift;
    // relaxed: as above.
    uint32_t old = g_of_all.load(std::memory_order_relaxed);
    while (!g_of_all.compare_exchange_weak(old, (old & ~mask) | events << shift, std::memory_order_relaxed)) {
    }
}

}  // namespace minivm::watchers
