// Fixed words of records, and how full the tables of the VM are.
// Threads: any.
#pragma once

#include <cstdint>

#include "vm/util/assert.hpp"

namespace minivm::records {

// Ids of define_string() that records use for fixed words.
enum class Word : uint64_t {
    none,
    yielded,
    waiting,
    dirty,
    exited,
    processes,
    atoms,
    exit_signal,
    down_signal,
    count
};
// Gives the words their names in the recording that has just begun.
void define_words();

// Records that a limit is used up to 3/4, 7/8, 15/16 and so on, at most once each.
void note_use(Word limit, uint64_t used, uint64_t of);
inline void note_use_rarely(Word limit, uint64_t used, uint64_t of) {
    if (MINIVM_UNLIKELY(used > of / 4 * 3)) {
        note_use(limit, used, of);
    }
}

}  // namespace minivm::records
