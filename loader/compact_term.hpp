// The compact term encoding: how the Code and Line chunks (and the atom lengths of OTP 28) write
// tagged numbers.
//
//   vvvv0ttt                     value 0..15
//   vvv01ttt bbbbbbbb            value 0..2047
//   nnn11ttt bytes (nnn + 2)     big endian, two's complement for integers; nnn < 7
//   11111ttt u(n) bytes (n + 9)  likewise, the count as a tagged number of its own
#pragma once

#include "loader/byte_reader.hpp"
#include "vm/term/heap.hpp"

namespace minivm::loader {

enum class CompactTag : uint8_t { u = 0, i = 1, a = 2, x = 3, y = 4, f = 5, h = 6, z = 7 };

struct CompactNumber {
    CompactTag tag = CompactTag::u;
    bool is_big = false;             // an integer of more than 64 bits, in bytes
    int64_t value = 0;               // not negative unless tag is i
    const uint8_t* bytes = nullptr;  // big endian two's complement, points into the chunk
    size_t byte_count = 0;
};

enum class CompactResult : uint8_t { ok, truncated, too_large };

CompactResult read_compact(ByteReader& in, CompactNumber* out);
// The integer that a number with the tag i stands for; the non-value if it is too large.
Term integer_term(Heap& heap, const CompactNumber& n);

}  // namespace minivm::loader
