// Registers, lists, tuples, records.
#pragma once

#include <utility>

#include "vm/process/exception.hpp"
#include "vm/semantics/binary.hpp"
#include "vm/semantics/native_record.hpp"
#include "vm/semantics/operation.hpp"

namespace minivm::semantics {

MEANING(func_info) {
    // Arguments of a local function may be contexts; the exception's are terms.
    for (Word i = 0; i < NUMBER(2); ++i) {
        a.s->x[i] = bs_context_to_binary(a.p, a.s->x[i]);
    }
    raise_function_clause(a.p, NUMBER(2), a.s->x);
    return Next::raise;
}
MEANING(init_yregs) {
    for (Word i = 0; i < a.list_count(); ++i) {
        *a.registers().at(a.list()[i]) = kNil;
    }
    return Next::go_on;
}
MEANING(move) { return set<1>(a, ARG(0)); }
MEANING(swap) {
    std::swap(OUT(0), OUT(1));
    return Next::go_on;
}

#define EXPECT(name, condition)                \
    MEANING(name) {                            \
        const Term t = ARG(0);                 \
        if (condition) {                       \
            return Next::go_on;                \
        }                                      \
        raise_tagged(a.p, atoms::badmatch, t); \
        return Next::raise;                    \
    }
EXPECT(expect_cons, is_cons(t))
EXPECT(expect_tuple, is_tuple(t) && tuple_arity(t) >= RAW(1))
EXPECT(expect_float, is_float(t))
MEANING(get_list) {
    const Term t = ARG(0);
    const Term tl = tail(t);
    set<1>(a, head(t));
    return set<2>(a, tl);
}
MEANING(get_hd) { return set<1>(a, head(ARG(0))); }
MEANING(get_tl) { return set<1>(a, tail(ARG(0))); }
MEANING(put_list) {
    const Term cell = put_cons(a.p.heap.top, ARG(0), ARG(1));
    a.p.heap.top += kConsWords;
    return set<2>(a, cell);
}
MEANING(get_tuple_element) { return set<2>(a, tuple_element(ARG(0), RAW(1))); }
MEANING(set_tuple_element) {
    tuple_elements(ARG(1))[RAW(2)] = ARG(0);
    return Next::go_on;
}
MEANING(put_tuple2) {
    const Word n = a.list_count();
    Term* t = a.p.heap.top;
    t[0] = Term{make_header(Kind::tuple, n)};
    for (Word i = 0; i < n; ++i) {
        t[i + 1] = a.registers().value(a.list()[i]);
    }
    a.p.heap.top += n + 1;
    return set<0>(a, make_boxed(t));
}
MEANING(update_record) {
    const Word arity = RAW(1);
    if (static_cast<Word>(a.p.heap.end - a.p.heap.top) < arity + 1 + kReserveWords) {
        collect(a, a.live(), arity + 1);
    }
    const Term* from = boxed_ptr(ARG(2));
    Term* t = a.p.heap.top;
    t[0] = Term{make_header(Kind::tuple, arity)};  // Src may have more
    for (Word i = 1; i <= arity; ++i) {
        t[i] = from[i];
    }
    for (Word i = 0; i < a.list_count(); i += 2) {
        t[a.list()[i]] = a.registers().value(a.list()[i + 1]);
    }
    a.p.heap.top += arity + 1;
    return set<3>(a, make_boxed(t));
}

// ---- native records ----------------------------------------------------------------------------------

MEANING(is_native_record) { return test(is_native_record(ARG(1))); }
MEANING(is_native_record_of) { return test(is_native_record_of(ARG(1), Term{RAW(2)}, Term{RAW(3)})); }
MEANING(is_record_accessible) { return test(is_record_accessible(ARG(1), Term{RAW(2)})); }
MEANING(get_record_elements) {
    const Term record = ARG(1);
    return fetch_all(a, [record](Term field) { return record_element(record, field); });
}
MEANING(get_record_field) {
    const Term r = get_record_field(a.p, ARG(1), Term{RAW(2)}, Term{RAW(3)});
    return is_value(r) ? set<4>(a, r) : fail(a);
}
template <typename A>
Next put_record(const A& a, bool is_new) {
    ListValues pairs(a);
    const Word n = a.list_count() / 2;
    const Term r = is_new ? new_native_record(a.p, Term{RAW(1)}, pairs.data(), n, a.s->code_ix)
                          : update_native_record(a.p, ARG(1), pairs.data(), n);
    return is_value(r) ? result<2>(a, r) : fail(a);
}
MEANING(new_native_record) { return put_record(a, true); }
MEANING(update_native_record) { return put_record(a, false); }
#undef EXPECT

}  // namespace minivm::semantics
