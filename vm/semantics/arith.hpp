// The meaning of arithmetic, bit operations and comparisons on terms of any type.
//
// Each function takes any two terms. The value is returned; operands of a wrong type, a division by
// zero or a float that overflows give kNonValue after badarith(), an integer too large kNonValue
// after system_limit(). Small integers are handled here, in line; everything else in arith.cpp.
// Integers and floats mix: the integer is converted. Results may be built on the process's heap;
// nothing is collected.
// Threads: that of the running process.
#pragma once

#include "vm/process/process.hpp"
#include "vm/term/compare.hpp"

namespace minivm::semantics {

Term add_slow(Process& p, Term a, Term b);
Term sub_slow(Process& p, Term a, Term b);
Term mul_slow(Process& p, Term a, Term b);
Term int_div_slow(Process& p, Term a, Term b);
Term rem_slow(Process& p, Term a, Term b);
Term band_slow(Process& p, Term a, Term b);
Term bor_slow(Process& p, Term a, Term b);
Term bxor_slow(Process& p, Term a, Term b);
Term bsl_slow(Process& p, Term a, Term b);
Term bsr_slow(Process& p, Term a, Term b);
Term bnot_slow(Process& p, Term a);
Term neg_slow(Process& p, Term a);

// Smalls carry their tag 000 through sums and differences; the overflow of 61 bits is that of 64.
inline Term add(Process& p, Term a, Term b) {
    int64_t sum;
    if (MINIVM_LIKELY(both_small(a, b) &&
                      !__builtin_add_overflow(static_cast<int64_t>(a.raw),
                                              static_cast<int64_t>(b.raw), &sum))) {
        return Term{static_cast<Word>(sum)};
    }
    return add_slow(p, a, b);
}

inline Term sub(Process& p, Term a, Term b) {
    int64_t difference;
    if (MINIVM_LIKELY(both_small(a, b) &&
                      !__builtin_sub_overflow(static_cast<int64_t>(a.raw),
                                              static_cast<int64_t>(b.raw), &difference))) {
        return Term{static_cast<Word>(difference)};
    }
    return sub_slow(p, a, b);
}

inline Term mul(Process& p, Term a, Term b) {
    int64_t product;  // only one factor is shifted
    if (MINIVM_LIKELY(
            both_small(a, b) &&
            !__builtin_mul_overflow(small_value(a), static_cast<int64_t>(b.raw), &product))) {
        return Term{static_cast<Word>(product)};
    }
    return mul_slow(p, a, b);
}

inline Term int_div(Process& p, Term a, Term b) {
    // kSmallMin div -1 does not fit: left to the slow path, with division by zero.
    if (MINIVM_LIKELY(both_small(a, b) && b.raw + make_small(1).raw > make_small(1).raw)) {
        return make_small(small_value(a) / small_value(b));
    }
    return int_div_slow(p, a, b);
}

inline Term rem(Process& p, Term a, Term b) {
    if (MINIVM_LIKELY(both_small(a, b) && b.raw != 0)) {
        return Term{static_cast<Word>(static_cast<int64_t>(a.raw) % static_cast<int64_t>(b.raw))};
    }
    return rem_slow(p, a, b);
}

inline Term band(Process& p, Term a, Term b) {
    if (MINIVM_LIKELY(both_small(a, b))) {
        return Term{a.raw & b.raw};
    }
    return band_slow(p, a, b);
}

inline Term bor(Process& p, Term a, Term b) {
    if (MINIVM_LIKELY(both_small(a, b))) {
        return Term{a.raw | b.raw};
    }
    return bor_slow(p, a, b);
}

inline Term bxor(Process& p, Term a, Term b) {
    if (MINIVM_LIKELY(both_small(a, b))) {
        return Term{a.raw ^ b.raw};
    }
    return bxor_slow(p, a, b);
}

inline Term bsl(Process& p, Term a, Term b) {
    if (MINIVM_LIKELY(both_small(a, b) && b.raw < make_small(kSmallBits).raw)) {
        const auto shift = static_cast<unsigned>(small_value(b));
        const auto value = static_cast<int64_t>(a.raw);
        const auto shifted = static_cast<int64_t>(a.raw << shift);
        if (shifted >> shift == value) {
            return Term{static_cast<Word>(shifted)};
        }
    }
    return bsl_slow(p, a, b);
}

inline Term bsr(Process& p, Term a, Term b) {
    if (MINIVM_LIKELY(both_small(a, b) && b.raw < make_small(kSmallBits).raw)) {
        return make_small(small_value(a) >> small_value(b));
    }
    return bsr_slow(p, a, b);
}

inline Term bnot(Process& p, Term a) {
    if (MINIVM_LIKELY(is_small(a))) {
        return Term{~a.raw & ~kTagMask};
    }
    return bnot_slow(p, a);
}

inline Term neg(Process& p, Term a) {
    int64_t negated;
    if (MINIVM_LIKELY(is_small(a) &&
                      !__builtin_sub_overflow(int64_t{0}, static_cast<int64_t>(a.raw), &negated))) {
        return Term{static_cast<Word>(negated)};
    }
    return neg_slow(p, a);
}

// `+a`: a if it is a number.
Term plus(Process& p, Term a);
// `a / b`: always a float.
Term divide(Process& p, Term a, Term b);

// ---- floats in float registers: false after badarith() -----------------------------------------

// The number as a double.
bool fconv(Process& p, Term number, double* out);
// A result that is infinite or not a number is an error.
bool fcheck(Process& p, double d);
inline bool fadd(Process& p, double a, double b, double* out) {
    return fcheck(p, *out = a + b);
}
inline bool fsub(Process& p, double a, double b, double* out) {
    return fcheck(p, *out = a - b);
}
inline bool fmul(Process& p, double a, double b, double* out) {
    return fcheck(p, *out = a * b);
}
inline bool fdiv(Process& p, double a, double b, double* out) {
    return fcheck(p, *out = a / b);
}
// ---- comparisons --------------------------------------------------------------------------------

inline bool is_eq_exact(Term a, Term b) {
    return exact_equal(a, b);
}
inline bool is_ne_exact(Term a, Term b) {
    return !exact_equal(a, b);
}
inline bool is_eq(Term a, Term b) {
    return loose_equal(a, b);
}
inline bool is_ne(Term a, Term b) {
    return !loose_equal(a, b);
}
inline bool is_lt(Term a, Term b) {
    if (MINIVM_LIKELY(both_small(a, b))) {
        return static_cast<int64_t>(a.raw) < static_cast<int64_t>(b.raw);
    }
    if (is_imm_float(a) && is_imm_float(b)) {
        return imm_float_value(a) < imm_float_value(b);
    }
    return compare_terms(a, b) < 0;
}
inline bool is_ge(Term a, Term b) {
    return !is_lt(a, b);
}

}  // namespace minivm::semantics
