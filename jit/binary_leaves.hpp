// The instructions on bit strings that native code calls through a fragment, without storing the x
// registers for the collector: fn(Process*, t0, t1, t2), a term or the non-value.
//
// The non-value says that the leaf has done nothing: there is no match, too little room on the heap, or
// an error. The default operation finds out which. After a leaf that built a term no collection is
// due, and the words that an instruction reserves are still free.
#pragma once

#include "vm/term/binary.hpp"
#include "vm/term/heap.hpp"
#include "vm/term/term.hpp"

namespace minivm {
struct Process;
}

namespace minivm::jit {

using Leaf = Word (*)(Process* p, Word, Word, Word);

// What the emitter knows of an append to a bit string; one word.
struct AppendShape {
    uint8_t bits = 0;         // that are appended, 64 at most; the character's own with UTF-8
    uint8_t unit = 1;         // of the bit string
    uint16_t heap_words = 0;  // that the instruction reserves
    bool in_place = false;    // nothing else has the bit string: it may become the result
    // From bit 32 on, for native code: the bytes of heap that have to be free.
    Word packed() const {
        const uint64_t words = heap_words + kSubBitsWords + kReserveWords;
        return bits | (in_place ? kInPlace : 0) | uint64_t{unit} << 8 | uint64_t{heap_words} << 16 |
               words * sizeof(Term) << 32;
    }
    static constexpr uint8_t kInPlace = 0x80;
    static AppendShape of(Word w) {
        return {static_cast<uint8_t>(w & (kInPlace - 1)), static_cast<uint8_t>(w >> 8),
                static_cast<uint16_t>(w >> 16), (w & kInPlace) != 0};
    }
};
// Words of a bit string of at most 64 bits on the heap.
constexpr size_t kSmallBitsWords = 3;

Word leaf_get_integer(Process* p, Word context, Word size, Word unit_flags);
Word leaf_get_float(Process* p, Word context, Word size, Word unit_flags);
Word leaf_get_binary(Process* p, Word context, Word size, Word unit);
Word leaf_get_tail(Process* p, Word context, Word, Word);
// The non-value of these two means no match.
Word leaf_get_utf8(Process* p, Word context, Word, Word);
Word leaf_match_string(Process* p, Word context, Word bits, Word string);
// The operands are in the record; x registers are in the scheduler's array, and the return address
// of the call into the fragment is on top of the stack.
Word leaf_create_bin(Process* p, Word record, Word scheduler, Word);
// Appends the uppermost bits of the number to a bit string.
Word leaf_append_bits(Process* p, Word bits, Word number, Word shape);
// Appends a character; the non-value if it is none.
Word leaf_append_utf8(Process* p, Word bits, Word character, Word shape);

}  // namespace minivm::jit
