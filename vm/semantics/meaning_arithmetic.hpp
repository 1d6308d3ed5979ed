// Integers, and the BIFs that guards may call.
#pragma once

#include "vm/code/code_index.hpp"
#include "vm/instr/bif_def.hpp"
#include "vm/process/exception.hpp"
#include "vm/process/outcome.hpp"
#include "vm/semantics/arith.hpp"
#include "vm/semantics/operation.hpp"

namespace minivm::semantics {

template <Op kOp, int kDst, typename A>
MINIVM_ALWAYS_INLINE Next operator_result(const A& a, Term r, Term x, Term y) {
    if (MINIVM_LIKELY(is_value(r))) {
        return result<kDst>(a, r);
    }
    if (!a.has_label()) {
        set_operator_args(a.p, kOp, x, y);
    }
    return fail(a);
}
#define ARITH2(name)                                                   \
    MEANING(name) {                                                    \
        const Term x = ARG(1);                                         \
        const Term y = ARG(2);                                         \
        return operator_result<Op::name, 3>(a, name(a.p, x, y), x, y); \
    }
ARITH2(add)
ARITH2(sub)
ARITH2(mul)
ARITH2(int_div)
ARITH2(rem)
ARITH2(band)
ARITH2(bor)
ARITH2(bxor)
ARITH2(bsl)
ARITH2(bsr)
#define ARITH1(name)                                                        \
    MEANING(name) {                                                         \
        const Term x = ARG(1);                                              \
        return operator_result<Op::name, 2>(a, name(a.p, x), x, kNonValue); \
    }
ARITH1(bnot)
ARITH1(neg)

// The arguments are sources 2 to 1 + kArgs; the destination comes next.
template <int kArgs, typename A>
MINIVM_ALWAYS_INLINE Next guard_bif(const A& a) {
    Term args[kArgs + 1];
    args[kArgs] = kNonValue;
    if constexpr (kArgs > 0) {
        args[0] = ARG(2);
    }
    if constexpr (kArgs > 1) {
        args[1] = ARG(3);
    }
    if constexpr (kArgs > 2) {
        args[2] = ARG(4);
    }
    const auto& bif = *reinterpret_cast<const BifDef*>(RAW(1));
    const Term r = bif.fn(a.p, args);
    a.s->code_ix = code_index::reread(code_index::Reread::guard_bif, a.s->code_ix);
    if (MINIVM_UNLIKELY(!is_value(r))) {
        if (!a.has_label()) {
            set_bif_args(a.p, bif, args);
        }
        return fail(a);
    }
    return result<2 + kArgs>(a, r);
}
MEANING(bif0) { return guard_bif<0>(a); }
MEANING(bif1) { return guard_bif<1>(a); }
MEANING(bif2) { return guard_bif<2>(a); }
MEANING(bif3) { return guard_bif<3>(a); }
MEANING(self) { return set<0>(a, a.p.id); }

template <Op kOp, typename A>
Next guard_badarg(const A& a, Term x, Term y) {
    if (a.has_label()) {
        return Next::branch;
    }
    badarg(a.p);
    set_operator_args(a.p, kOp, x, y);
    return Next::raise;
}
MEANING(hd) {
    const Term t = ARG(1);
    return is_cons(t) ? set<2>(a, head(t)) : guard_badarg<Op::hd>(a, t, kNonValue);
}
MEANING(tl) {
    const Term t = ARG(1);
    return is_cons(t) ? set<2>(a, tail(t)) : guard_badarg<Op::tl>(a, t, kNonValue);
}
MEANING(element) {
    const Term index = ARG(1);
    const Term t = ARG(2);
    if (is_small(index) && is_tuple(t)) {
        const Word n = static_cast<Word>(small_value(index)) - 1;
        if (n < tuple_arity(t)) {
            return set<3>(a, tuple_element(t, n));
        }
    }
    return guard_badarg<Op::element>(a, index, t);
}
MEANING(tuple_size) {
    const Term t = ARG(1);
    if (is_tuple(t)) {
        return set<2>(a, make_small(static_cast<int64_t>(tuple_arity(t))));
    }
    return guard_badarg<Op::tuple_size>(a, t, kNonValue);
}
#undef ARITH2
#undef ARITH1

}  // namespace minivm::semantics
