// Code index: which generation of the code access structures running code reads.
//
// Three generations rotate. Running code reads the active one; a load stages its changes in the next
// one and makes it active by one store, after thread progress. So a load does not wait for readers of
// the previous one, and a generation is staged again only after every reader has left it.
//
// Threads: active() on any managed thread; the rest only by the holder of the code modification
// permission.
#pragma once

#include <atomic>
#include <cstdint>

#include "vm/code/export.hpp"

namespace minivm::code_index {

extern std::atomic<int> g_active;

inline int active() {
    // relaxed: the tables behind this index were complete before every scheduler passed a quiescent
    // point, which is sequenced before this load. Pairs with commit_staging().
    return g_active.load(std::memory_order_relaxed);
}
inline int staging() { return (active() + 1) % kCodeIndexes; }

// Where a scheduler reads the index again for the process that it runs, so that a process that learns
// of new code runs it.
enum class Reread : uint8_t { schedule_in, signals, receive, send, bif, guard_bif };
constexpr const char* kRereadNames[] = {"schedule_in", "signals", "receive", "send",
                                        "bif",         "guard_bif"};
#ifdef MINIVM_DEBUG
// Bits by Reread: these places keep their cached index, to show that the tests notice.
// relaxed: the test that sets it makes sure that the schedulers see it.
extern std::atomic<uint32_t> g_left_out;
inline int reread(Reread where, int cached) {
    return (g_left_out.load(std::memory_order_relaxed) >> static_cast<int>(where) & 1) != 0 ? cached : active();
}
#else
inline int reread(Reread, int) { return active(); }
#endif

// Makes the staging generation active. Thread progress must have passed since it was last written.
void commit_staging();

}  // namespace minivm::code_index
