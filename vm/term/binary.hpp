// Bit strings: views, construction, and bit copying.
//
// A bit string is heap_bits [bit size | bytes], or sub_bits [orig | first bit | bit size] over a
// heap_bits or a bin_ref. In the last byte of a bit string whose size is no multiple of 8 the bits
// after its end mean nothing.
// Threads: any.
#pragma once

#include "vm/term/heap.hpp"

#include <cstring>
#include <memory>
#include <string>

namespace minivm {

constexpr size_t kMaxHeapBitsBytes = 64;  // a binary of more bytes is a RefBinary
constexpr size_t kSubBitsWords = 4;       // of a sub_bits object, its header included

// Where the bits of a bit string, or a part of them, are. Valid until the next collection.
struct BitView {
    const uint8_t* bytes;  // byte 0 of the underlying storage
    uint64_t offset;       // first bit
    uint64_t size;         // bits
    bool byte_aligned() const { return (offset & 7) == 0; }
    const uint8_t* first_byte() const { return bytes + (offset >> 3); }
};
// Storage of a heap_bits or bin_ref.
inline uint8_t* storage_bytes(Term orig) {
    Term* p = boxed_ptr(orig);
    if (header_kind(p->raw) == Kind::heap_bits) {
        return reinterpret_cast<uint8_t*>(p + 2);
    }
    MINIVM_ASSERT(header_kind(p->raw) == Kind::bin_ref);
    return reinterpret_cast<RefBinary*>(p[1].raw)->data();
}
inline BitView bit_view(Term bitstring) {
    const Term* p = boxed_ptr(bitstring);
    if (header_kind(p->raw) == Kind::heap_bits) {
        return {reinterpret_cast<const uint8_t*>(p + 2), 0, p[1].raw};
    }
    return {storage_bytes(p[1]), p[2].raw, p[3].raw};
}

// A bit string of `bits` bits whose bytes the caller fills in: heap_bits up to 64 bytes, else
// reference counted. *bytes points to the first byte; the unused low bits of the last byte must be
// set to 0.
Term new_bits(Heap& h, uint64_t bits, uint8_t** bytes);
// The first `bits` bits of b as a bit string; takes over one reference.
Term wrap_ref_binary(Heap& h, RefBinary* b, uint64_t bits);
// Part of a bit string, sharing its storage (copied when small).
Term sub_bitstring(Heap& h, Term bitstring, uint64_t first_bit, uint64_t bits);
// The same, from a heap_bits or bin_ref and an offset into its storage.
Term part_of_storage(Heap& h, Term orig, uint64_t first_bit, uint64_t bits);
// What lies at p, most significant byte first.
template <typename T>
inline T load_big(const uint8_t* p) {
    T v;
    std::memcpy(&v, p, sizeof v);
    if constexpr (sizeof v == 2) {
        return __builtin_bswap16(v);
    } else if constexpr (sizeof v == 4) {
        return __builtin_bswap32(v);
    } else {
        return __builtin_bswap64(v);
    }
}
// n <= 64 bits from any offset, most significant first, as a number. Reads no byte that holds none
// of them.
inline uint64_t load_bits(const uint8_t* bytes, uint64_t bit, unsigned n) {
    bytes += bit >> 3;
    const unsigned s = bit & 7;
    uint64_t v = 0;
    if (n == 0) {
        return 0;
    }
    const unsigned touched = (s + n + 7) >> 3;  // at most 9 bytes
    if (touched <= 8) {
        // By loads that overlap, where there is no load of that many bytes.
        if (touched == 1) {
            v = bytes[0];
        } else if (touched < 4) {
            v = uint64_t{load_big<uint16_t>(bytes)} << 8 * (touched - 2) | bytes[touched - 1];
        } else if (touched < 8) {
            v = uint64_t{load_big<uint32_t>(bytes)} << 8 * (touched - 4) |
                load_big<uint32_t>(bytes + touched - 4);
        } else {
            v = load_big<uint64_t>(bytes);
        }
        v >>= touched * 8 - s - n;
        return n == 64 ? v : v & ((uint64_t{1} << n) - 1);
    }
    v = load_big<uint64_t>(bytes);
    const unsigned low = s + n - 64;  // bits of the ninth byte
    v = v << low | bytes[8] >> (8 - low);
    return n == 64 ? v : v & ((uint64_t{1} << n) - 1);
}
// Copies n bits between any bit offsets; the other bits of the first and last byte stay. The two
// must not overlap.
void copy_bits(const uint8_t* from, uint64_t from_bit, uint8_t* to, uint64_t to_bit, uint64_t n);
// <0, 0, >0 in term order of bit strings.
int compare_bits(const BitView& a, const BitView& b);

// ---- appending ----------------------------------------------------------------------------------
// <<Bin/bits, ...>> in a loop must not copy Bin each time. So the result of an append lives in a
// RefBinary with room to grow, whose append_end tells how many bits are in use. A bit string that
// ends there grows in place; one that ends before (an older value, appended to again) is copied.
// Several processes may hold the binary: the mark is moved by compare and swap, so one of them wins
// and the others copy, and bits before the mark are never written again.

// `bitstring` with `extra` bits behind it. The caller must write those, from bit *first_bit of
// *bytes. May move the storage of `bitstring`: take views of it afterwards.
Term append_bits(Heap& h, Term bitstring, uint64_t extra, uint8_t** bytes, uint64_t* first_bit);
// An empty bit string with room to append to.
Term new_appendable(Heap& h, uint64_t capacity_bytes);

// The bytes of a binary, contiguous: points into the binary if it is byte aligned, else into
// `copy`.
struct Bytes {
    const uint8_t* data;
    size_t size;
    std::unique_ptr<uint8_t[]> copy;
};
// False if t is no binary (bit size no multiple of 8).
bool get_bytes(Term t, Bytes* out);

// Flattens iodata. False: it is none. Not recursive.
bool iolist_to_bytes(Term iodata, std::string* out);
bool iolist_size(Term iodata, uint64_t* bytes);

}  // namespace minivm
