// Collecting a process's heap: its roots, its limits, and who is told of it. The collector itself is in
// heap/collector.hpp.
//
// Threads: the process's own scheduler, or whoever owns the process.
#pragma once

#include "vm/process/process.hpp"

namespace minivm {

class Roots;

struct GcResult {
    bool major = false;
    size_t before_words = 0;  // used in block, fragments and old generation
    size_t after_words = 0;
};

// Collects. Roots: x[0..live), the stack, and all that the process holds elsewhere. Afterwards
// heap.end - heap.top >= need_words + kReserveWords, and there are no fragments.
// A major collection is made if `major`, and whenever a minor one does not do.
GcResult collect_gc(Process& p, size_t need_words, Term* x, size_t live, bool major);

// Makes room for `words`, and collects if a BIF asked for it. True if it collected.
inline bool ensure_gc(Process& p, size_t words, Term* x, size_t live) {
    if (MINIVM_LIKELY(static_cast<size_t>(p.heap.end - p.heap.top) >= words + kReserveWords &&
                      !p.needs_gc())) {
        return false;
    }
    collect_gc(p, words, x, live, false);
    return true;
}

// A major collection into a block with no more room than what lives (and the reserve) takes.
GcResult shrink_gc(Process& p, Term* x, size_t live);

// What refers into the process's heap, its stack apart: x[0..live), the x registers that are saved (unless
// they are `x`), and all that it holds elsewhere. Good until one of these moves or is added to.
Roots roots_of(Process& p, Term* x, size_t live);

// heap/collector.hpp's check, from all roots of a process that does not run.
void verify_heap(Process& p);

}  // namespace minivm
