// Numbers as bytes, for bit strings.
#pragma once

#include "vm/util/scratch.hpp"

#include <cstddef>
#include <cstdint>

namespace minivm {

// Reverses the order of n whole bytes.
inline uint64_t swap_bytes(uint64_t v, unsigned n) {
    return __builtin_bswap64(v) >> (64 - 8 * n);
}

using ScratchBytes = Scratch<uint8_t, 256>;  // of a number that does not fit into a word

// Negates a little-endian number in two's complement, in place.
inline void negate(uint8_t* little, size_t n) {
    unsigned carry = 1;
    for (size_t i = 0; i < n; i++) {
        carry += static_cast<uint8_t>(~little[i]);
        little[i] = static_cast<uint8_t>(carry);
        carry >>= 8;
    }
}

}  // namespace minivm
