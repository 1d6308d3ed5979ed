// See arith.hpp.
#include "vm/semantics/arith.hpp"

#include "vm/process/outcome.hpp"
#include "vm/term/bignum.hpp"

#include <cmath>

namespace minivm::semantics {
namespace {

using IntegerOp = Term (*)(Heap&, Term, Term);

// Long operands cost reductions, so that a loop over them yields. One reduction is about a microsecond:
// the time to add that many limbs, or to multiply or divide that many. A few limbs cost nothing.
constexpr size_t kLimbsPerReduction = 2048;
constexpr size_t kFactorLimbsPerReduction = 4;
constexpr size_t kFreeLimbs = 64;

size_t limbs_of(Term integer) {
    return is_small(integer) ? 1 : big_limbs(integer);
}

void charge(Process& p, Term a, Term b, IntegerOp op) {
    const size_t limbs = limbs_of(a) + limbs_of(b);
    if (MINIVM_LIKELY(limbs <= kFreeLimbs)) {
        return;
    }
    const bool product = op == bignum::mul || op == bignum::div || op == bignum::rem;
    consume(p, static_cast<int64_t>(limbs / (product && limbs_of(a) > 1 && limbs_of(b) > 1
                                                 ? kFactorLimbsPerReduction
                                                 : kLimbsPerReduction)));
}

Term integer_result(Process& p, Term result) {
    return is_value(result) ? result : system_limit(p);
}

// Converts a number; false: no number, or an integer too large.
bool as_double(Term t, double* out) {
    if (is_float(t)) {
        *out = float_value(t);
        return true;
    }
    return is_integer(t) && bignum::to_double(t, out);
}

Term float_result(Process& p, double d) {
    return std::isfinite(d) ? make_float(p.heap, d) : badarith(p);
}

// Two integers: the operation on bignums; two numbers: on doubles; else badarith.
template <typename FloatOp>
Term mixed(Process& p, Term a, Term b, IntegerOp on_integers, FloatOp on_floats) {
    if (is_integer(a) && is_integer(b)) {
        charge(p, a, b, on_integers);
        return integer_result(p, on_integers(p.heap, a, b));
    }
    double x;
    double y;
    if (!as_double(a, &x) || !as_double(b, &y)) {
        return badarith(p);
    }
    return float_result(p, on_floats(x, y));
}

Term on_integers(Process& p, Term a, Term b, IntegerOp op) {
    if (!is_integer(a) || !is_integer(b)) {
        return badarith(p);
    }
    charge(p, a, b, op);
    return integer_result(p, op(p.heap, a, b));
}

// a shifted by b, to the left if `left`.
Term shift(Process& p, Term a, Term b, bool left) {
    if (!is_integer(a) || !is_integer(b)) {
        return badarith(p);
    }
    if (a == make_small(0)) {
        return a;
    }
    // A bignum as the distance is further than any integer reaches.
    constexpr int64_t kFar = int64_t{1} << 62;
    const int64_t distance = is_small(b) ? small_value(b) : big_is_negative(b) ? -kFar : kFar;
    return integer_result(p, bignum::shift_left(p.heap, a, left ? distance : -distance));
}

}  // namespace

Term add_slow(Process& p, Term a, Term b) {
    return mixed(p, a, b, bignum::add, [](double x, double y) { return x + y; });
}

Term sub_slow(Process& p, Term a, Term b) {
    return mixed(p, a, b, bignum::sub, [](double x, double y) { return x - y; });
}

Term mul_slow(Process& p, Term a, Term b) {
    return mixed(p, a, b, bignum::mul, [](double x, double y) { return x * y; });
}

Term int_div_slow(Process& p, Term a, Term b) {
    return b == make_small(0) ? badarith(p) : on_integers(p, a, b, bignum::div);
}

Term rem_slow(Process& p, Term a, Term b) {
    return b == make_small(0) ? badarith(p) : on_integers(p, a, b, bignum::rem);
}

Term band_slow(Process& p, Term a, Term b) {
    return on_integers(p, a, b, bignum::band);
}

Term bor_slow(Process& p, Term a, Term b) {
    return on_integers(p, a, b, bignum::bor);
}

Term bxor_slow(Process& p, Term a, Term b) {
    return on_integers(p, a, b, bignum::bxor);
}

Term bsl_slow(Process& p, Term a, Term b) {
    return shift(p, a, b, true);
}

Term bsr_slow(Process& p, Term a, Term b) {
    return shift(p, a, b, false);
}

Term bnot_slow(Process& p, Term a) {
    return is_integer(a) ? integer_result(p, bignum::bnot(p.heap, a)) : badarith(p);
}

Term neg_slow(Process& p, Term a) {
    if (is_integer(a)) {
        return integer_result(p, bignum::neg(p.heap, a));
    }
    return is_float(a) ? make_float(p.heap, -float_value(a)) : badarith(p);
}

Term plus(Process& p, Term a) {
    return is_number(a) ? a : badarith(p);
}

Term divide(Process& p, Term a, Term b) {
    double x;
    double y;
    if (!as_double(a, &x) || !as_double(b, &y)) {
        return badarith(p);
    }
    return float_result(p, x / y);
}

// Float instructions are no functions: their errors carry no error_info.
bool fconv(Process& p, Term number, double* out) {
    if (as_double(number, out)) {
        return true;
    }
    error(p, atoms::badarith);
    return false;
}

bool fcheck(Process& p, double d) {
    if (MINIVM_LIKELY(std::isfinite(d))) {
        return true;
    }
    error(p, atoms::badarith);
    return false;
}

}  // namespace minivm::semantics
