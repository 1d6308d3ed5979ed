// Collecting a process's heap: its roots, its limits, and the probe. The collector itself is in
// heap/collector.hpp.
//
// Threads: the one that owns the process.
#pragma once

#include "vm/process/process.hpp"

namespace minivm {

class Roots;

struct GcResult {
    bool major = false;
    size_t before_words = 0;  // used in block, fragments and old generation
    size_t after_words = 0;
};

// Collects. Roots: x[0..live), the stack, and all terms that the process holds elsewhere. Afterwards
// heap.end - heap.top >= need_words + kReserveWords, and there are no fragments.
// A major collection if `major`, or if a minor one would not be enough.
GcResult collect_gc(Process& p, size_t need_words, Term* x, size_t live, bool major);

// Makes room for `words`; collects also if a BIF asked for it. True if it collected.
inline bool ensure_gc(Process& p, size_t words, Term* x, size_t live) {
    if (MINIVM_LIKELY(static_cast<size_t>(p.heap.end - p.heap.top) >= words + kReserveWords &&
                      !p.needs_gc())) {
        return false;
    }
    collect_gc(p, words, x, live, false);
    return true;
}

// Parts of the message under examination may have come into terms of the process: the message becomes part of its heap.
void attach_examined_message(Process& p);

// A major collection into a block that has room only for the live terms and the reserve.
GcResult shrink_gc(Process& p, Term* x, size_t live);

// The roots of the process's heap except its stack: x[0..live), the saved x registers (unless they are `x`),
// and all terms that it holds elsewhere. Valid until one of these moves or is added to.
Roots roots_of(Process& p, Term* x, size_t live);

// heap/collector.hpp's check, from all roots of a process that does not run.
void verify_heap(Process& p);

}  // namespace minivm
