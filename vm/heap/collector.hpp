// The garbage collector of a process: generational, copying.
//
// An object is born in the block (or in a fragment). One that survives a collection stays in the block,
// below high_water; when it survives a second one it is promoted to the old generation. A minor
// collection looks at the block and the fragments only; a major one empties the old generation into a
// new block. Literals never move.
//
// Invariant: nothing in the old generation points into the block or a fragment. It holds because terms
// are immutable and an object older than high_water cannot point to a younger one. Objects that are written
// after they were made (match contexts, bin_refs) have only their raw words changed.
//
// Threads: the owner of the process.
#pragma once

#include <array>
#include <span>

#include "vm/heap/process_heap.hpp"

namespace minivm {

// The terms that refer into the heap and are neither part of it nor on the stack.
class Roots {
  public:
    using Visit = void (*)(Term* root, void* context);

    void add(Term* first, size_t count) {
        MINIVM_ASSERT(count_ < spans_.size());
        spans_[count_++] = {first, count};
    }
    // For roots that are not in arrays: others(holder, visit, context) calls visit(root, context) once for
    // each.
    void add_others(void (*others)(void* holder, Visit visit, void* context), void* holder) {
        others_ = others;
        holder_ = holder;
    }
    template <typename F>
    void for_each(const F& f) const {
        for (size_t i = 0; i < count_; i++) {
            for (Term& root : spans_[i]) {
                f(&root);
            }
        }
        if (others_ != nullptr) {
            others_(
                holder_, [](Term* root, void* context) { (*static_cast<const F*>(context))(root); },
                const_cast<F*>(&f));
        }
    }

  private:
    std::array<std::span<Term>, 4> spans_;
    size_t count_ = 0;
    void (*others_)(void* holder, Visit visit, void* context) = nullptr;
    void* holder_ = nullptr;
};

// True if a minor collection is enough: there is room for all that may be promoted (the call makes an old
// generation if there is none), and none of the limits asks for a major collection.
bool minor_is_enough(ProcessHeap& p);

// Collects, minor or major, and then gives the block the size that fits what lives in it. Afterwards
// heap.end - heap.top >= need_words + kReserveWords, and there are no fragments. Returns used_words() as
// it was before the block got its size.
size_t collect(ProcessHeap& p, const Roots& roots, size_t need_words, bool major);
// Shrinks the block to what live objects, stack and reserve take. Call it directly after a major collection.
void shrink_block(ProcessHeap& p, const Roots& roots);

// Words of a term, each part of it counted once; literals are not counted.
size_t size_with_sharing(Term root);

// Aborts unless every term that these roots and the stack reach lies in the block, fragments or old
// generation or is a literal, with a well-formed header, and the invariant above holds.
void verify_heap(const ProcessHeap& p, const Roots& roots);

}  // namespace minivm
