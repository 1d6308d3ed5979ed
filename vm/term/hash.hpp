// Hashes of terms.
// Threads: any; reads only. No recursion on the C++ stack in the depth of the terms.
#pragma once

#include "vm/term/term.hpp"

namespace minivm {

// erlang:phash2/1 before the range is applied: the same on every node and release.
uint32_t phash2(Term t);
// erlang:phash/2's hash, before the range is applied.
uint32_t phash(Term t);
// As phash2 and phash, but give up (false) after *steps terms, or as much work; *steps becomes what is
// left of them.
bool phash2_within(Term t, int64_t* steps, uint32_t* hash);
bool phash_within(Term t, int64_t* steps, uint32_t* hash);
// For hash maps and tables inside this VM only: fast, equal for =:= terms. `salt` gives a further hash.
uint32_t internal_hash(Term t, uint32_t salt);

}  // namespace minivm
