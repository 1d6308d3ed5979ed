// Tests: the next instruction, or the label.
#pragma once

#include "vm/code/export.hpp"
#include "vm/process/exception.hpp"
#include "vm/semantics/arith.hpp"
#include "vm/semantics/operation.hpp"
#include "vm/term/compare.hpp"

namespace minivm::semantics {

#define TEST2(name, condition)  \
    MEANING(name) {             \
        const Term x = ARG(1);  \
        const Term y = ARG(2);  \
        return test(condition); \
    }
TEST2(is_lt, is_lt(x, y))
TEST2(is_ge, !is_lt(x, y))
TEST2(is_eq, loose_equal(x, y))
TEST2(is_ne, !loose_equal(x, y))
TEST2(is_eq_exact, exact_equal(x, y))
TEST2(is_ne_exact, !exact_equal(x, y))
#define TEST1(name, condition)  \
    MEANING(name) {             \
        const Term t = ARG(1);  \
        return test(condition); \
    }
TEST1(is_integer, is_integer(t))
TEST1(is_float, is_float(t))
TEST1(is_number, is_number(t))
TEST1(is_atom, is_atom(t))
TEST1(is_boolean, is_bool(t))
TEST1(is_pid, is_pid(t))
TEST1(is_port, is_port(t))
TEST1(is_reference, is_reference(t))
TEST1(is_nil, is_nil(t))
TEST1(is_list, is_list(t))
TEST1(is_nonempty_list, is_cons(t))
TEST1(is_binary, is_binary(t))
TEST1(is_bitstr, is_bitstring_or_context(t))
TEST1(is_tuple, is_tuple(t))
TEST1(is_map, is_map(t))
TEST1(is_function, is_fun(t))
TEST1(test_arity, header_of(t) == make_header(Kind::tuple, RAW(2)))
TEST1(is_tagged_tuple, is_tuple_of(t, RAW(2)) && tuple_element(t, 0).raw == RAW(3))
MEANING(is_function2) {
    const Term t = ARG(1);
    const Term n = ARG(2);
    if (!is_fun(t) || !is_small(n)) {
        return Next::branch;
    }
    const uint32_t arity = is_local_fun(t) ? fun_entry(t)->arity : export_fun_entry(t)->arity;
    return test(small_value(n) == static_cast<int64_t>(arity));
}
#undef TEST2
#undef TEST1

}  // namespace minivm::semantics
