// Equality and term order.
//
//   number < atom < reference < fun < port < pid < tuple < map < nil < list < bit string
// Threads: any; reads only. No recursion on the C++ stack in the depth of the terms.
#pragma once

#include "vm/term/term.hpp"

namespace minivm {

bool exact_equal_slow(Term a, Term b);
// =:=. 0.0 and -0.0 differ.
inline bool exact_equal(Term a, Term b) {
    // An immediate equals nothing but itself: floats are boxed canonically.
    return a == b || (is_pointer(a) && is_pointer(b) && exact_equal_slow(a, b));
}
// Term order with 1 == 1.0. <0, 0, >0.
int compare_terms(Term a, Term b);
// Term order where an integer sorts before a float it equals: the order of map keys (exact).
int compare_terms_exact(Term a, Term b);
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
