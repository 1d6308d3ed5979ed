// Equality and term order.
//
//   number < atom < reference < fun < port < pid < tuple < native record < map < nil < list < bit string
// Threads: any; reads only. Recursion on the C++ stack only where maps are keys of maps: compare.cpp.
#pragma once

#include "vm/term/atom_table.hpp"
#include "vm/term/term.hpp"
#include "vm/util/otp_release.hpp"

namespace minivm {

// The words of 0.0 and -0.0 differ in the bit of the sign only.
constexpr Word kZeroWord = try_make_imm_float(0.0).raw;
constexpr Word kZeroSign = try_make_imm_float(-0.0).raw ^ kZeroWord;
constexpr bool is_zero_float(Term t) { return (t.raw & ~kZeroSign) == kZeroWord; }
// Both are a float zero, and the release in use makes 0.0 and -0.0 equal.
inline bool are_equal_zeros(Term a, Term b) {
    return MINIVM_UNLIKELY((a.raw | b.raw | kZeroSign) == (kZeroWord | kZeroSign)) && is_zero_float(a) &&
           is_zero_float(b) && by_release::zeros_are_equal();
}
// An immediate that equals nothing but itself: floats are boxed canonically.
inline bool is_equal_by_word(Term t) {
    return is_immediate(t) && !(is_zero_float(t) && by_release::zeros_are_equal());
}

bool exact_equal_slow(Term a, Term b);
// =:=. Whether 0.0 and -0.0 differ depends on the release.
inline bool exact_equal(Term a, Term b) {
    return a == b || (is_pointer(a) && is_pointer(b) ? exact_equal_slow(a, b) : are_equal_zeros(a, b));
}
// Term order with 1 == 1.0. <0, 0, >0.
int compare_terms(Term a, Term b);
// Term order where an integer sorts before a float it equals: the order of keys (exact).
int compare_terms_exact(Term a, Term b);
// The order of the keys in a flat map: exact, but by release two atoms compare by their numbers.
inline int compare_flat_keys(Term a, Term b) {
    return by_release::atom_keys_have_numbers() && is_atom(a) && is_atom(b) ? atom_table::compare_numbers(a, b)
                                                                            : compare_terms_exact(a, b);
}
// ==
inline bool loose_equal(Term a, Term b) {
    if (a == b) {
        return true;
    }
    // An atom, a pid or [] equals itself alone.
    if (both_small(a, b) || (a.raw & kTagMask) == kTagImm || (b.raw & kTagMask) == kTagImm) {
        return false;
    }
    return compare_terms(a, b) == 0;
}

}  // namespace minivm
