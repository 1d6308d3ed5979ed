// Hashes of terms.
// Threads: any; reads only. No recursion on the C++ stack in the depth of the terms.
#pragma once

#include "vm/term/compare.hpp"

namespace minivm {

// erlang:phash2/1 before the range is applied: the same on every node and release.
uint32_t phash2(Term t);
// erlang:phash/2's hash, before the range is applied.
uint32_t phash(Term t);
// As phash2 and phash, but give up (false) after *steps terms, or as much work; *steps becomes what is
// left of them.
bool phash2_within(Term t, int64_t* steps, uint32_t* hash);
bool phash_within(Term t, int64_t* steps, uint32_t* hash);

// ---- for tables whose order nobody sees: fast, equal for =:= terms --------------------------------

// Multiplications to 128 bits folded, as wyhash does.
namespace hashing {

constexpr uint64_t kSecret1 = 0xA0761D6478BD642F;
constexpr uint64_t kSecret2 = 0xE7037ED1A0B428DB;
constexpr uint64_t kSecret3 = 0x8EBC6AF09C88C6E3;

inline uint64_t fold(uint64_t a, uint64_t b) {
    const auto product = static_cast<unsigned __int128>(a) * b;
    return static_cast<uint64_t>(product) ^ static_cast<uint64_t>(product >> 64);
}
// stir() multiplies by hash ^ kSecret1: this is never kSecret1.
inline uint64_t start_of(uint32_t salt) { return (uint64_t{salt} + 1) * kSecret3; }
inline void stir(uint64_t& hash, uint64_t word) { hash = fold(hash ^ kSecret1, word ^ kSecret2); }
// One word for both zeros: in some releases they are =:=.
inline uint64_t word_of(Term immediate) { return is_zero_float(immediate) ? kZeroWord : immediate.raw; }
inline uint32_t finish(uint64_t hash) {
    hash = fold(hash ^ kSecret3, kSecret1);
    return static_cast<uint32_t>(hash ^ (hash >> 32));
}

}  // namespace hashing

uint32_t internal_hash_of_pointer(Term t, uint32_t salt);
// Another `salt` gives another hash.
inline uint32_t internal_hash(Term t, uint32_t salt) {
    if (MINIVM_UNLIKELY(!is_immediate(t))) {
        return internal_hash_of_pointer(t, salt);
    }
    uint64_t hash = hashing::start_of(salt);
    hashing::stir(hash, hashing::word_of(t));
    return hashing::finish(hash);
}

}  // namespace minivm
