// Code index: which generation of the code access structures running code reads.
//
// Three generations rotate. Running code reads the active one; a load stages its changes in the next
// one and makes it active by one store, after thread progress; so nobody waits for readers of the
// previous one, and a generation is staged again only after everybody has left it.
//
// Threads: active() on any managed thread; the rest only by the holder of the code modification
// permission.
#pragma once

#include <atomic>

#include "vm/code/export.hpp"

namespace minivm::code_index {

extern std::atomic<int> g_active;

inline int active() {
    // relaxed: the tables behind this index were complete before every scheduler passed a quiescent
    // point, which is sequenced before this load. Pairs with commit_staging().
    return g_active.load(std::memory_order_relaxed);
}
inline int staging() { return (active() + 1) % kCodeIndexes; }
// Makes the staging generation active. Thread progress must have passed since it was last written.
void commit_staging();

}  // namespace minivm::code_index
