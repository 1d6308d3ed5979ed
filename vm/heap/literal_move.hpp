// Copies the released literals that a heap refers to into that heap, so that their area can be freed.
//
// The process is collected first: its block then holds nothing but live objects, one after another, and
// there is neither an old generation nor a fragment. The walk goes over the block once and copies each
// literal object that it meets once, however many terms refer to it.
// Threads: the owner of the process, between its slices.
#pragma once

#include <unordered_map>
#include <vector>

#include "vm/heap/collector.hpp"

namespace minivm {

// True if a term, or any word of a heap taken as a term, may point to a released literal.
bool is_released(Term t);
bool any_released(const Fragment* fragments);
bool any_released(const ProcessHeap& p, const Roots& roots);

class LiteralMover {
  public:
    // The heap has just had a major collection.
    explicit LiteralMover(ProcessHeap& p) : p_(p) {}
    // Copies the released literals that block, stack and roots refer to, and updates these.
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
