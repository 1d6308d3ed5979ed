// The garbage collector of a process: generational, copying.
//
// An object is born in the block (or in a fragment). One that survives a collection stays in the block,
// below high_water; when it survives a second one it is promoted to the old generation. A minor
// collection looks at the block and the fragments only; a major one empties the old generation into a
// new block. Literals never move.
//
// Invariant: nothing in the old generation points into the block or a fragment. It holds because terms
// are immutable and an object older than high_water cannot point to a younger one. What is written into
// after it was made (match contexts, bin_refs) has only its raw words changed.
//
// Threads: the process's own scheduler, or whoever owns the process.
#pragma once

#include "vm/process/process.hpp"

namespace minivm {

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

// True if the process may refer to literals that are being given back: looks at every word as if it
// were a term. Between slices.
bool refers_to_released_literals(Process& p);
// Moves all that the process refers to of them into its heap; collects. Between slices.
void move_released_literals_gc(Process& p);

// A major collection into a block with no more room than what lives (and the reserve) takes.
GcResult shrink_gc(Process& p, Term* x, size_t live);

// Gives a new process its block: at least min_words, stack and reserve included.
void heap_init(Process& p, size_t min_words);
// Frees block, old generation and fragments, and gives up all off-heap references. The mailbox's
// messages are not touched.
void heap_release(Process& p);

// The sizes that blocks have: the smallest of them that is at least `words`.
size_t next_heap_size(size_t words);
// Words that block, old generation and fragments occupy, free ones included.
size_t heap_capacity_words(const Process& p);

// Roots in Process::extra (process/extra.hpp): calls visit(term, context) for each. A term may be
// visited only once in a call.
void visit_extra_roots(Process& p, void (*visit)(Term* root, void* context), void* context);

// Words of a term, each part of it counted once; literals are not counted.
size_t size_with_sharing(Term root);

// In words, all that is shared counted each time; the empty tuple takes none, as on OTP.
size_t flat_size_of_term(Term t);

// Aborts unless every term that the process's own roots reach lies in its block, fragments or old
// generation or is a literal, with a well-formed header, and the invariant above holds.
void verify_heap(const Process& p);

}  // namespace minivm
