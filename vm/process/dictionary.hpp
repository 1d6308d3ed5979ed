// The process dictionary: get/1, put/2, erase/1.
//
// An array of pairs: searched linearly while it is small, with a hash index when it has grown. The pairs
// are roots of the process's heap. Keys are compared with =:=.
// Threads: the process's owner.
#pragma once

#include <cstdint>
#include <vector>

#include "vm/term/term.hpp"

namespace minivm {

class Dictionary {
  public:
    struct Pair {
        Term key;
        Term value;
    };
    // The non-value: no such key.
    Term get(Term key) const;
    // Both return the old value, or the non-value.
    Term put(Term key, Term value);
    Term erase(Term key);
    void clear();
    // In the order in which the keys were put, except that an erase moves the last pair into the gap.
    std::vector<Pair>& pairs() { return pairs_; }
    const std::vector<Pair>& pairs() const { return pairs_; }

  private:
    static constexpr size_t kSearched = 8;   // more pairs than this are indexed
    static constexpr uint32_t kEmpty = ~uint32_t{0};
    static constexpr uint32_t kErased = ~uint32_t{0} - 1;

    size_t find(Term key) const;  // place in pairs_, or ~0
    size_t slot_of(Term key, size_t place) const;
    void rebuild_index();

    std::vector<Pair> pairs_;
    std::vector<uint32_t> index_;  // places in pairs_; power of two, or empty: not indexed
    size_t index_used_ = 0;        // slots that are not kEmpty
};

}  // namespace minivm
