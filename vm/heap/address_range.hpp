// A range of memory, to test whether a pointer leads into it.
#pragma once

#include "vm/term/term.hpp"

namespace minivm {

struct AddressRange {
    Word begin = 0;
    Word bytes = 0;
    AddressRange() = default;
    AddressRange(const Term* from, const Term* to)
        : begin(reinterpret_cast<Word>(from)),
          bytes(reinterpret_cast<Word>(to) - reinterpret_cast<Word>(from)) {}
    bool has(Term pointer) const { return pointer.raw - begin < bytes; }
};

}  // namespace minivm
