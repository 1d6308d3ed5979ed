// Small integers, floats, and guard functions on lists and tuples (hd, tl, element, tuple_size).
#include <cmath>

#include "interp/handlers.hpp"

namespace minivm::interp {

#define ARITH2(name, fast)                                       \
    template <K A, K B, K D>                                     \
    void name##_kinds(ARGS) {                                    \
        constexpr Op kOp = Op::name;                             \
        const Term a = source<kOp, 1, A, 0>(pc, E, s);           \
        const Term b = source<kOp, 2, B, (A == K::C)>(pc, E, s); \
        Term r;                                                  \
        if (MINIVM_LIKELY(fast)) {                               \
            *dst_at<kOp, 3, D>(pc, E, s) = r;                    \
            NEXT_OP_KINDS(K::X, A, B);                           \
        }                                                        \
        TAIL(generic<kOp>);                                      \
    }                                                            \
    void h_##name(ARGS) { TAIL((name##_kinds<K::S, K::S, K::S>)); }

static inline int64_t signed_raw(Term t) { return static_cast<int64_t>(t.raw); }
static inline bool fast_add(Term a, Term b, Term* r) {
    int64_t sum;
    if (both_small(a, b) && !__builtin_add_overflow(signed_raw(a), signed_raw(b), &sum)) {
        r->raw = static_cast<Word>(sum);
        return true;
    }
    return false;
}
static inline bool fast_sub(Term a, Term b, Term* r) {
    int64_t difference;
    if (both_small(a, b) && !__builtin_sub_overflow(signed_raw(a), signed_raw(b), &difference)) {
        r->raw = static_cast<Word>(difference);
        return true;
    }
    return false;
}
static inline bool fast_mul(Term a, Term b, Term* r) {
    int64_t product;
    if (both_small(a, b) && !__builtin_mul_overflow(signed_raw(a), small_value(b), &product)) {
        r->raw = static_cast<Word>(product);
        return true;
    }
    return false;
}
// kSmallMin div -1 is the only quotient that does not fit.
static inline bool fast_div(Term a, Term b, Term* r) {
    if (both_small(a, b) && b.raw != 0 && signed_raw(b) != -8) {
        *r = make_small(signed_raw(a) / signed_raw(b));
        return true;
    }
    return false;
}
static inline bool fast_rem(Term a, Term b, Term* r) {
    if (both_small(a, b) && b.raw != 0 && signed_raw(b) != -8) {
        r->raw = static_cast<Word>(signed_raw(a) % signed_raw(b));
        return true;
    }
    return false;
}
static inline bool fast_bits(Term a, Term b, Word value, Term* r) {
    r->raw = value;
    return both_small(a, b);
}
static inline bool fast_bsr(Term a, Term b, Term* r) {
    if (both_small(a, b) && signed_raw(b) >= 0) {
        const int64_t n = small_value(b);
        *r = make_small(small_value(a) >> (n > 63 ? 63 : n));
        return true;
    }
    return false;
}
static inline bool fast_bsl(Term a, Term b, Term* r) {
    if (both_small(a, b) && b.raw < (Word{60} << 3)) {
        const int n = static_cast<int>(small_value(b));
        const int64_t shifted = static_cast<int64_t>(a.raw << n);
        if ((shifted >> n) == signed_raw(a)) {
            r->raw = static_cast<Word>(shifted);
            return true;
        }
    }
    return false;
}

ARITH2(add, fast_add(a, b, &r))
ARITH2(sub, fast_sub(a, b, &r))
ARITH2(mul, fast_mul(a, b, &r))
ARITH2(int_div, fast_div(a, b, &r))
ARITH2(rem, fast_rem(a, b, &r))
ARITH2(band, fast_bits(a, b, a.raw& b.raw, &r))
ARITH2(bor, fast_bits(a, b, a.raw | b.raw, &r))
ARITH2(bxor, fast_bits(a, b, a.raw ^ b.raw, &r))
ARITH2(bsl, fast_bsl(a, b, &r))
ARITH2(bsr, fast_bsr(a, b, &r))

HANDLER(self) {
    DST(0) = s->process->id;
    NEXT(fixed_words(kOp));
}

HANDLER(hd) {
    const Term t = SRC(1);
    if (MINIVM_LIKELY(is_cons(t))) {
        DST(2) = head(t);
        NEXT_OP();
    }
    TAIL(generic<kOp>);
}
HANDLER(tl) {
    const Term t = SRC(1);
    if (MINIVM_LIKELY(is_cons(t))) {
        DST(2) = tail(t);
        NEXT_OP();
    }
    TAIL(generic<kOp>);
}
template <K A, K B, K D>
void element_kinds(ARGS) {
    constexpr Op kOp = Op::element;
    const Term index = source<kOp, 1, A, 0>(pc, E, s);
    const Term t = source<kOp, 2, B, (A == K::C)>(pc, E, s);
    if (MINIVM_LIKELY(is_small(index) && is_tuple(t))) {
        const Word n = static_cast<Word>(small_value(index)) - 1;
        if (MINIVM_LIKELY(n < tuple_arity(t))) {
            *dst_at<kOp, 3, D>(pc, E, s) = tuple_element(t, n);
            NEXT_OP_KINDS(K::X, A, B);
        }
    }
    TAIL(generic<kOp>);
}
void h_element(ARGS) { TAIL((element_kinds<K::S, K::S, K::S>)); }
HANDLER(tuple_size) {
    const Term t = SRC(1);
    if (MINIVM_LIKELY(is_tuple(t))) {
        DST(2) = make_small(static_cast<int64_t>(tuple_arity(t)));
        NEXT_OP();
    }
    TAIL(generic<kOp>);
}

// ---- floats -----------------------------------------------------------------------------------------

template <Op O, int I>
static inline double* freg_at(const Word* pc, Scheduler* s) {
    return reinterpret_cast<double*>(reinterpret_cast<char*>(s->f) + slot_of<O, I>(pc));
}
#define FREG(i) (*freg_at<kOp, i>(pc, s))

HANDLER(fmove_to) {
    FREG(1) = float_value(SRC(0));
    NEXT_OP();
}
HANDLER(fmove_from) {
    const double d = FREG(0);
    if (MINIVM_LIKELY(float_fits_imm(d))) {
        DST(1) = try_make_imm_float(d);
    } else {
        htop[0] = Term{make_header(Kind::float64, 1)};
        htop[1] = Term{std::bit_cast<Word>(d)};
        DST(1) = make_boxed(htop);
        htop += kBoxedFloatWords;
    }
    NEXT(fixed_words(kOp));
}
HANDLER(fconv) {
    const Term t = SRC(0);
    if (MINIVM_LIKELY(is_small(t))) {
        FREG(1) = static_cast<double>(small_value(t));
        NEXT_OP();
    }
    if (is_float(t)) {
        FREG(1) = float_value(t);
        NEXT_OP();
    }
    TAIL(generic<kOp>);
}
// The destination may be an operand's register, so only a finite result is stored: generic() needs the operands.
#define FARITH(name, expression)               \
    HANDLER(name) {                            \
        const double a = FREG(0);              \
        const double b = FREG(1);              \
        const double r = (expression);         \
        if (MINIVM_LIKELY(std::isfinite(r))) { \
            FREG(2) = r;                       \
            NEXT(fixed_words(kOp));            \
        }                                      \
        TAIL(generic<kOp>);                    \
    }
FARITH(fadd, a + b)
FARITH(fsub, a - b)
FARITH(fmul, a* b)
FARITH(fdiv, a / b)
template <typename T>
static int place(T k) {
    return static_cast<int>(k);
}
Handler select_arith(Op op, const K* k) {
    switch (op) {
#define PICK3(name)                                                              \
    case Op::name: {                                                             \
        static constexpr Handler table[3][3][2] = {                              \
            {{name##_kinds<K::X, K::X, K::X>, name##_kinds<K::X, K::X, K::Y>},   \
             {name##_kinds<K::X, K::Y, K::X>, name##_kinds<K::X, K::Y, K::Y>},   \
             {name##_kinds<K::X, K::C, K::X>, name##_kinds<K::X, K::C, K::Y>}},  \
            {{name##_kinds<K::Y, K::X, K::X>, name##_kinds<K::Y, K::X, K::Y>},   \
             {name##_kinds<K::Y, K::Y, K::X>, name##_kinds<K::Y, K::Y, K::Y>},   \
             {name##_kinds<K::Y, K::C, K::X>, name##_kinds<K::Y, K::C, K::Y>}},  \
            {{name##_kinds<K::C, K::X, K::X>, name##_kinds<K::C, K::X, K::Y>},   \
             {name##_kinds<K::C, K::Y, K::X>, name##_kinds<K::C, K::Y, K::Y>},   \
             {name##_kinds<K::C, K::C, K::X>, name##_kinds<K::C, K::C, K::Y>}}}; \
        return table[place(k[1])][place(k[2])][place(k[3])];                     \
    }
        PICK3(add)
        PICK3(sub)
        PICK3(mul)
        PICK3(int_div)
        PICK3(rem)
        PICK3(band)
        PICK3(bsr)
        PICK3(bsl)
        PICK3(bor)
        PICK3(bxor)
        PICK3(element)
        default:
            return nullptr;
    }
}

}  // namespace minivm::interp
