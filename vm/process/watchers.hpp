// Who watches what happens to processes, in two words: one of the process, one of all processes. A probe
// (process/probe.hpp) tests both at once, and goes on where a bit is set that its event is about.
//
// A bit says that somebody may have to be told: who, and of what, its own state says. Threads: any.
#pragma once

#include "vm/process/process.hpp"

namespace minivm::watchers {

enum Watcher : uint32_t {
    // Process::watchers
    kTraced = 1u << 0,         // has a tracing::State
    kClocked = 1u << 1,        // trace_local has clocks that are to be told of slices and collections
    kToken = 1u << 2,          // has a token of sequential tracing
    kLongQueueTold = 1u << 3,  // system_monitor knows that its queue is long
    // g_of_all
    kNewTraced = 1u << 8  // new processes are to be traced
};
constexpr unsigned kMonitorShift = 16;  // events of system_monitor, in g_of_all
constexpr unsigned kMonitorBits = 8;
constexpr unsigned kProfileShift = kMonitorShift + kMonitorBits;  // events of system_profile
constexpr unsigned kProfileBits = 8;

inline std::atomic<uint32_t> g_of_all{0};

inline bool any_of_all(uint32_t which) {
    // relaxed: what happens beside a setting may be told or not.
    return MINIVM_UNLIKELY((g_of_all.load(std::memory_order_relaxed) & which) != 0);
}
inline bool any(const Process& p, uint32_t which) {
    // Whoever has set a bit and then tells the process so, does it by a signal, which p fetches with acquire. What the
    // bit leads to is published by itself (tracing::state_of()).
    // relaxed: that, and as above.
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
// These bits in the place of those that were there.
inline void set_bits(uint32_t events, unsigned shift, unsigned bits) {
    const uint32_t mask = ((1u << bits) - 1) << shift;
    // relaxed: as above.
    uint32_t old = g_of_all.load(std::memory_order_relaxed);
    while (!g_of_all.compare_exchange_weak(old, (old & ~mask) | events << shift, std::memory_order_relaxed)) {
    }
}

}  // namespace minivm::watchers
