// Integers of any size: arithmetic on GMP's mpn layer, conversion from and to text and doubles.
//
// Every function takes small or big integers and gives a normalised result (small if it fits).
// Results are built in the given heap. kNonValue: system_limit (more than by_release::max_big_limbs()
// limbs), unless said otherwise.
// Threads: any.
#pragma once

#include <string>
#include <string_view>

#include "vm/term/heap.hpp"

namespace minivm::bignum {

Term add(Heap& h, Term a, Term b);
Term sub(Heap& h, Term a, Term b);
Term mul(Heap& h, Term a, Term b);
Term div(Heap& h, Term a, Term b);   // truncates; b is not 0
Term rem(Heap& h, Term a, Term b);   // sign of a; b is not 0
Term band(Heap& h, Term a, Term b);
Term bor(Heap& h, Term a, Term b);
Term bxor(Heap& h, Term a, Term b);
Term bnot(Heap& h, Term a);
Term neg(Heap& h, Term a);
// a << n for n > 0, a >> -n (floor) for n < 0.
Term shift_left(Heap& h, Term a, int64_t n);
int compare(Term a, Term b);          // <0, 0, >0
bool to_double(Term a, double* out);  // false: does not fit; nearest, ties to even
int compare_with_double(Term a, double d);  // exact: no rounding
Term from_double(Heap& h, double d);  // d is integral and finite
// The size of the magnitude in bytes; copy_magnitude() writes the lowest n of them.
size_t magnitude_bytes(Term a);
void copy_magnitude(Term a, uint8_t* little_endian, size_t n);
Term from_magnitude(Heap& h, bool negative, const uint8_t* little_endian, size_t n);
Term from_limbs(Heap& h, bool negative, const uint64_t* limbs, size_t n);
// Digits in base 2..36, upper case, with '-'.
std::string to_string(Term a, int base);
// Digits in base 2..36 with optional sign; kNonValue if it is no integer, or too large.
Term parse(Heap& h, std::string_view digits, int base);

}  // namespace minivm::bignum
