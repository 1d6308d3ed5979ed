// Moving what a heap refers to of literals that are being given back into that heap.
//
// The process is collected first: its block then holds nothing but live objects, one after another, and
// there is neither an old generation nor a fragment. The walk goes over the block once; each literal
// object that is met is copied once, whoever refers to it.
// Threads: whoever owns the process, between its slices.
#pragma once

#include <unordered_map>
#include <vector>

#include "vm/heap/collector.hpp"

namespace minivm {

// True if a term, or any word of a heap looked at as if it were one, may be of a released literal.
bool is_released(Term t);
bool any_released(const Fragment* fragments);
bool any_released(const ProcessHeap& p, const Roots& roots);

class LiteralMover {
  public:
    // Of a heap that has just had a major collection.
    explicit LiteralMover(ProcessHeap& p) : p_(p) {}
    // Updates the block, the stack and the roots, and copies what they refer to.
    void move(const Roots& roots);

  private:
    struct Copy {
        Term* at;
        size_t words;
    };
    void update(Term* slot);
    Term* update_object(Term* at, size_t words);
    Term moved(Term t);
    void keep_off_heap(Term* object);

    ProcessHeap& p_;
    std::unordered_map<Word, Term> moved_;  // by the raw word of the pointer to the literal
    std::vector<Copy> copies_;              // not yet updated
};

}  // namespace minivm
