// Float registers.
#pragma once

#include "vm/semantics/arith.hpp"
#include "vm/semantics/operation.hpp"

namespace minivm::semantics {

MEANING(fmove_to) {
    FR(1) = float_value(ARG(0));
    return Next::go_on;
}
MEANING(fmove_from) {
    // The heap words are reserved by the test_heap before it.
    return set<1>(a, make_float(a.p.heap, FR(0)));
}
MEANING(fconv) { return fconv(a.p, ARG(0), &FR(1)) ? Next::go_on : Next::raise; }
#define FARITH(name) \
    MEANING(name) { return name(a.p, FR(0), FR(1), &FR(2)) ? Next::go_on : Next::raise; }
FARITH(fadd)
FARITH(fsub)
FARITH(fmul)
FARITH(fdiv)
MEANING(fnegate) {
    // Where the zeros are equal, OTP has 0.0 - X, which is never -0.0.
    FR(1) = by_release::zeros_are_equal() ? 0.0 - FR(0) : -FR(0);
    return Next::go_on;
}
#undef FARITH

}  // namespace minivm::semantics
