// Type tests, comparisons, selects.
#include "interp/handlers.hpp"
#include "vm/code/module_table.hpp"
#include "vm/semantics/meaning.hpp"
#include "vm/term/atom_table.hpp"
#include "vm/term/compare.hpp"
#include "vm/term/map.hpp"

namespace minivm::interp {

// The operands of a test for its meaning: operand 1, of a known kind, and the plain numbers after it.
template <Op kOp, K S>
struct TestOperands {
    const Word* pc;
    Term* E;
    Scheduler* s;
    template <int I>
    Term source() const {
        static_assert(I == 1);
        return src_at<kOp, I, S>(pc, E, s);
    }
    template <int I>
    Word word() const {
        return word_at<kOp, I>(pc);
    }
};

// A test on one operand, specialised for x and y registers. Runs the meaning, which touches no process.
template <Op kOp, K S>
void test_kind(ARGS) {
    if (semantics::meaning(semantics::Is<kOp>(), TestOperands<kOp, S>{pc, E, s}) == semantics::Next::go_on) {
        NEXT_OP_KINDS(K::X, S);
    }
    JUMP();
}
#define TEST1(name) \
    void h_##name(ARGS) { TAIL((test_kind<Op::name, K::S>)); }
TEST1(is_integer)
TEST1(is_float)
TEST1(is_number)
TEST1(is_atom)
TEST1(is_boolean)
TEST1(is_pid)
TEST1(is_port)
TEST1(is_reference)
TEST1(is_nil)
TEST1(is_list)
TEST1(is_nonempty_list)
TEST1(is_binary)
TEST1(is_bitstr)
TEST1(is_tuple)
TEST1(is_map)
TEST1(is_function)
TEST1(test_arity)
TEST1(is_tagged_tuple)

// A comparison of two operands: small integers and immediate floats here, the rest in generic(), so that
// this handler saves no registers.
#define COMPARE(name, word_condition, float_condition)           \
    template <K A, K B>                                          \
    void name##_kinds(ARGS) {                                    \
        constexpr Op kOp = Op::name;                             \
        const Term a = source<kOp, 1, A, 0>(pc, E, s);           \
        const Term b = source<kOp, 2, B, (A == K::C)>(pc, E, s); \
        bool yes;                                                \
        if (MINIVM_LIKELY(both_small(a, b))) {                   \
            yes = (word_condition);                              \
        } else if (is_imm_float(a) && is_imm_float(b)) {         \
            const double x = imm_float_value(a);                 \
            const double y = imm_float_value(b);                 \
            yes = (float_condition);                             \
        } else {                                                 \
            TAIL(generic<kOp>);                                  \
        }                                                        \
        if (yes) {                                               \
            NEXT_OP_KINDS(K::X, A, B);                           \
        }                                                        \
        JUMP();                                                  \
    }                                                            \
    void h_##name(ARGS) { TAIL((name##_kinds<K::S, K::S>)); }

static inline int64_t signed_raw(Term t) { return static_cast<int64_t>(t.raw); }

COMPARE(is_lt, signed_raw(a) < signed_raw(b), x < y)
COMPARE(is_ge, signed_raw(a) >= signed_raw(b), x >= y)
COMPARE(is_eq, a == b, x == y)
COMPARE(is_ne, a != b, x != y)

#define EXACT(name, wanted)                             \
    template <K A, K B>                                 \
    void name##_kinds(ARGS) {                           \
        constexpr Op kOp = Op::name;                    \
        const Term a = src_at<kOp, 1, A>(pc, E, s);     \
        const Term b = src_at<kOp, 2, B>(pc, E, s);     \
        if (a != b && is_pointer(a) && is_pointer(b)) { \
            TAIL(generic<kOp>);                         \
        }                                               \
        if (a != b && are_equal_zeros(a, b)) {          \
            TAIL(generic<kOp>);                         \
        }                                               \
        if ((a == b) == (wanted)) {                     \
            NEXT_OP_KINDS(K::X, A, B);                  \
        }                                               \
        JUMP();                                         \
    }                                                   \
    void h_##name(ARGS) { TAIL((name##_kinds<K::S, K::S>)); }
EXACT(is_eq_exact, true)
EXACT(is_ne_exact, false)

// The constant is an immediate: a word comparison.
template <K A, bool Wanted, Op kOp>
void is_exact_immediate(ARGS) {
    const Term a = src_at<kOp, 1, A>(pc, E, s);
    const Term b = source<kOp, 2, K::C, 0>(pc, E, s);
    if ((a == b) == Wanted) {
        NEXT_OP_KINDS(K::X, A, K::C);
    }
    JUMP();
}

// ---- selects --------------------------------------------------------------------------------------------
// pack.cpp lays them out: slot 0 the source, word 1 the label for no match, the list count 2n, then n constants
// and n labels. It sorts the constants, by unsigned word, for h_select_val only.

HANDLER(select_val) {  // immediates, sorted by word: binary search
    const Word key = SRC(0).raw;
    const Word n = LIST_COUNT() / 2;
    const Word* keys = LIST();
    Word low = 0;
    Word high = n;
    while (low < high) {
        const Word mid = (low + high) / 2;
        if (keys[mid] < key) {
            low = mid + 1;
        } else {
            high = mid;
        }
    }
    if (low < n && keys[low] == key) {
        NEXT(static_cast<int32_t>(keys[n + low]));
    }
    JUMP();
}
void h_select_linear(ARGS) {  // few immediates
    constexpr Op kOp = Op::select_val;
    const Word key = SRC(0).raw;
    const Word n = LIST_COUNT() / 2;
    const Word* keys = LIST();
    for (Word i = 0; i < n; ++i) {
        if (keys[i] == key) {
            NEXT(static_cast<int32_t>(keys[n + i]));
        }
    }
    JUMP();
}
void h_select_boxed(ARGS) {  // some constant is no immediate
    constexpr Op kOp = Op::select_val;
    const Term key = SRC(0);
    const Word n = LIST_COUNT() / 2;
    const Word* keys = LIST();
    for (Word i = 0; i < n; ++i) {
        if (exact_equal(Term{keys[i]}, key)) {
            NEXT(static_cast<int32_t>(keys[n + i]));
        }
    }
    JUMP();
}
void h_select_jump(ARGS) {  // dense small integers: [lowest | labels ...], 0: no match
    constexpr Op kOp = Op::select_val;
    const Term key = SRC(0);
    const Word n = LIST_COUNT() - 1;
    const Word* list = LIST();
    const Word i = static_cast<Word>(small_value(key) - static_cast<int64_t>(list[0]));
    if (MINIVM_LIKELY(is_small(key) && i < n)) {
        const int32_t to = static_cast<int32_t>(list[1 + i]);
        if (to != 0) {
            NEXT(to);
        }
    }
    JUMP();
}
HANDLER(select_tuple_arity) {
    const Term t = SRC(0);
    if (is_tuple(t)) {
        const Word key = tuple_arity(t);
        const Word n = LIST_COUNT() / 2;
        const Word* keys = LIST();
        for (Word i = 0; i < n; ++i) {
            if (keys[i] == key) {
                NEXT(static_cast<int32_t>(keys[n + i]));
            }
        }
    }
    JUMP();
}

Handler select_test(Op op, const K* k, bool constant_is_immediate) {
    switch (op) {
#define PICK1(name)                                      \
    case Op::name:                                       \
        return k[1] == K::X   ? test_kind<Op::name, K::X> \
               : k[1] == K::Y ? test_kind<Op::name, K::Y> \
                              : test_kind<Op::name, K::S>;
        PICK1(is_integer)
        PICK1(is_float)
        PICK1(is_number)
        PICK1(is_atom)
        PICK1(is_boolean)
        PICK1(is_pid)
        PICK1(is_port)
        PICK1(is_reference)
        PICK1(is_nil)
        PICK1(is_list)
        PICK1(is_nonempty_list)
        PICK1(is_binary)
        PICK1(is_bitstr)
        PICK1(is_tuple)
        PICK1(is_map)
        PICK1(is_function)
        PICK1(test_arity)
        PICK1(is_tagged_tuple)
#define PICK2(name)                                                                          \
    case Op::name: {                                                                         \
        static constexpr Handler table[3][3] = {                                             \
            {name##_kinds<K::X, K::X>, name##_kinds<K::X, K::Y>, name##_kinds<K::X, K::C>},  \
            {name##_kinds<K::Y, K::X>, name##_kinds<K::Y, K::Y>, name##_kinds<K::Y, K::C>},  \
            {name##_kinds<K::C, K::X>, name##_kinds<K::C, K::Y>, name##_kinds<K::C, K::C>}}; \
        return table[static_cast<int>(k[1])][static_cast<int>(k[2])];                        \
    }
        PICK2(is_lt)
        PICK2(is_ge)
        PICK2(is_eq)
        PICK2(is_ne)
        case Op::is_eq_exact:
        case Op::is_ne_exact: {
            const bool eq = op == Op::is_eq_exact;
            if (k[2] == K::C && constant_is_immediate && k[1] != K::C) {
                if (k[1] == K::X) {
                    return eq ? is_exact_immediate<K::X, true, Op::is_eq_exact>
                              : is_exact_immediate<K::X, false, Op::is_ne_exact>;
                }
                return eq ? is_exact_immediate<K::Y, true, Op::is_eq_exact>
                          : is_exact_immediate<K::Y, false, Op::is_ne_exact>;
            }
            if (k[1] == K::X && k[2] == K::X) {
                return eq ? is_eq_exact_kinds<K::X, K::X> : is_ne_exact_kinds<K::X, K::X>;
            }
            return nullptr;
        }
        default:
            return nullptr;
    }
}

}  // namespace minivm::interp
