// Operators as functions, and type tests.
#include "vm/bif/bif.hpp"
#include "vm/code/export.hpp"
#include "vm/semantics/arith.hpp"
#include "vm/semantics/native_record.hpp"
#include "vm/term/bignum.hpp"
#include "vm/util/otp_release.hpp"

namespace minivm {

namespace {

// ---- operators -----------------------------------------------------------------------------------------

Term erlang_plus_1(Process& p, const Term* a) {
    return semantics::plus(p, a[0]);
}

Term erlang_minus_1(Process& p, const Term* a) {
    return semantics::neg(p, a[0]);
}

Term erlang_plus_2(Process& p, const Term* a) {
    return semantics::add(p, a[0], a[1]);
}

Term erlang_minus_2(Process& p, const Term* a) {
    return semantics::sub(p, a[0], a[1]);
}

Term erlang_times_2(Process& p, const Term* a) {
    return semantics::mul(p, a[0], a[1]);
}

Term erlang_divide_2(Process& p, const Term* a) {
    return semantics::divide(p, a[0], a[1]);
}

Term erlang_div_2(Process& p, const Term* a) {
    return semantics::int_div(p, a[0], a[1]);
}

Term erlang_rem_2(Process& p, const Term* a) {
    return semantics::rem(p, a[0], a[1]);
}

Term erlang_band_2(Process& p, const Term* a) {
    return semantics::band(p, a[0], a[1]);
}

Term erlang_bor_2(Process& p, const Term* a) {
    return semantics::bor(p, a[0], a[1]);
}

Term erlang_bxor_2(Process& p, const Term* a) {
    return semantics::bxor(p, a[0], a[1]);
}

Term erlang_bsl_2(Process& p, const Term* a) {
    return semantics::bsl(p, a[0], a[1]);
}

Term erlang_bsr_2(Process& p, const Term* a) {
    return semantics::bsr(p, a[0], a[1]);
}

Term erlang_bnot_1(Process& p, const Term* a) {
    return semantics::bnot(p, a[0]);
}

Term erlang_eq_exact_2(Process&, const Term* a) {
    return make_bool(exact_equal(a[0], a[1]));
}

Term erlang_ne_exact_2(Process&, const Term* a) {
    return make_bool(!exact_equal(a[0], a[1]));
}

Term erlang_eq_2(Process&, const Term* a) {
    return make_bool(loose_equal(a[0], a[1]));
}

Term erlang_ne_2(Process&, const Term* a) {
    return make_bool(!loose_equal(a[0], a[1]));
}

Term erlang_lt_2(Process&, const Term* a) {
    return make_bool(semantics::is_lt(a[0], a[1]));
}

Term erlang_le_2(Process&, const Term* a) {
    return make_bool(semantics::is_ge(a[1], a[0]));
}

Term erlang_gt_2(Process&, const Term* a) {
    return make_bool(semantics::is_lt(a[1], a[0]));
}

Term erlang_ge_2(Process&, const Term* a) {
    return make_bool(semantics::is_ge(a[0], a[1]));
}

Term erlang_min_2(Process&, const Term* a) {
    return semantics::is_lt(a[1], a[0]) ? a[1] : a[0];
}

Term erlang_max_2(Process&, const Term* a) {
    return semantics::is_lt(a[0], a[1]) ? a[1] : a[0];
}

Term erlang_not_1(Process& p, const Term* a) {
    return is_bool(a[0]) ? make_bool(a[0] == atoms::false_) : badarg(p);
}

Term erlang_and_2(Process& p, const Term* a) {
    return is_bool(a[0]) && is_bool(a[1]) ? make_bool(a[0] == atoms::true_ && a[1] == atoms::true_)
                                          : badarg(p);
}

Term erlang_or_2(Process& p, const Term* a) {
    return is_bool(a[0]) && is_bool(a[1]) ? make_bool(a[0] == atoms::true_ || a[1] == atoms::true_)
                                          : badarg(p);
}

Term erlang_xor_2(Process& p, const Term* a) {
    return is_bool(a[0]) && is_bool(a[1]) ? make_bool(a[0] != a[1]) : badarg(p);
}

// ---- type tests ----------------------------------------------------------------------------------------

Term erlang_is_atom_1(Process&, const Term* a) {
    return make_bool(is_atom(a[0]));
}

Term erlang_is_binary_1(Process&, const Term* a) {
    return make_bool(is_binary(a[0]));
}

Term erlang_is_bitstring_1(Process&, const Term* a) {
    return make_bool(is_bitstring(a[0]));
}

Term erlang_is_boolean_1(Process&, const Term* a) {
    return make_bool(is_bool(a[0]));
}

Term erlang_is_float_1(Process&, const Term* a) {
    return make_bool(is_float(a[0]));
}

Term erlang_is_function_1(Process&, const Term* a) {
    return make_bool(is_fun(a[0]));
}

Term erlang_is_integer_1(Process&, const Term* a) {
    return make_bool(is_integer(a[0]));
}

Term erlang_is_list_1(Process&, const Term* a) {
    return make_bool(is_list(a[0]));
}

Term erlang_is_map_1(Process&, const Term* a) {
    return make_bool(is_map(a[0]));
}

Term erlang_is_number_1(Process&, const Term* a) {
    return make_bool(is_number(a[0]));
}

Term erlang_is_pid_1(Process&, const Term* a) {
    return make_bool(is_pid(a[0]));
}

Term erlang_is_port_1(Process&, const Term* a) {
    return make_bool(is_port(a[0]));
}

Term erlang_is_reference_1(Process&, const Term* a) {
    return make_bool(is_reference(a[0]));
}

Term erlang_is_tuple_1(Process&, const Term* a) {
    return make_bool(is_tuple(a[0]));
}

Term erlang_is_function_2(Process& p, const Term* a) {
    if (is_big(a[1]) && !big_is_negative(a[1])) {
        return atoms::false_;  // no function has so many arguments
    }
    if (!is_small(a[1]) || small_value(a[1]) < 0) {
        return badarg(p);
    }
    if (is_local_fun(a[0])) {
        return make_bool(fun_entry(a[0])->arity == small_value(a[1]));
    }
    return make_bool(is_export_fun(a[0]) && export_fun_entry(a[0])->arity == small_value(a[1]));
}

// True for native records only.
Term erlang_is_record_1(Process&, const Term* a) { return make_bool(is_native_record(a[0])); }

Term erlang_is_record_2(Process& p, const Term* a) {
    if (!is_atom(a[1])) {
        return badarg(p);
    }
    if (is_native_record(a[0])) {
        return make_bool(native_record::name(a[0]) == a[1]);
    }
    return make_bool(is_tuple(a[0]) && tuple_arity(a[0]) > 0 && tuple_element(a[0], 0) == a[1]);
}

Term erlang_is_record_3(Process& p, const Term* a) {
    // OTP refuses bignums, which begin at smaller numbers there.
    constexpr int64_t kOtpSmallBound = int64_t{1} << 59;
    if (is_atom(a[1]) && is_atom(a[2]) && by_release::has_native_records()) {
        return make_bool(semantics::is_native_record_of(a[0], a[1], a[2]));
    }
    if (!is_atom(a[1]) || !is_small(a[2]) || small_value(a[2]) >= kOtpSmallBound ||
        small_value(a[2]) < -kOtpSmallBound) {
        return badarg(p);
    }
    return make_bool(is_tuple(a[0]) && tuple_arity(a[0]) > 0 &&
                     static_cast<int64_t>(tuple_arity(a[0])) == small_value(a[2]) &&
                     tuple_element(a[0], 0) == a[1]);
}

// From OTP 29 on. Checks both bounds whatever the term is.
Term erlang_is_integer_3(Process& p, const Term* a) {
    if (!is_integer(a[1]) || !is_integer(a[2])) {
        return badarg(p);
    }
    return make_bool(is_integer(a[0]) && compare_terms(a[1], a[0]) <= 0 &&
                     compare_terms(a[0], a[2]) <= 0);
}

}  // namespace

MINIVM_BIF_TABLE(operators) = {
    {"erlang", "+", 1, erlang_plus_1, kBifGuard, nullptr},
    {"erlang", "-", 1, erlang_minus_1, kBifGuard, nullptr},
    {"erlang", "+", 2, erlang_plus_2, kBifGuard, nullptr},
    {"erlang", "-", 2, erlang_minus_2, kBifGuard, nullptr},
    {"erlang", "*", 2, erlang_times_2, kBifGuard, nullptr},
    {"erlang", "/", 2, erlang_divide_2, kBifGuard, nullptr},
    {"erlang", "div", 2, erlang_div_2, kBifGuard, nullptr},
    {"erlang", "rem", 2, erlang_rem_2, kBifGuard, nullptr},
    {"erlang", "band", 2, erlang_band_2, kBifGuard, nullptr},
    {"erlang", "bor", 2, erlang_bor_2, kBifGuard, nullptr},
    {"erlang", "bxor", 2, erlang_bxor_2, kBifGuard, nullptr},
    {"erlang", "bsl", 2, erlang_bsl_2, kBifGuard, nullptr},
    {"erlang", "bsr", 2, erlang_bsr_2, kBifGuard, nullptr},
    {"erlang", "bnot", 1, erlang_bnot_1, kBifGuard, nullptr},
    {"erlang", "=:=", 2, erlang_eq_exact_2, kBifGuard, nullptr},
    {"erlang", "=/=", 2, erlang_ne_exact_2, kBifGuard, nullptr},
    {"erlang", "==", 2, erlang_eq_2, kBifGuard, nullptr},
    {"erlang", "/=", 2, erlang_ne_2, kBifGuard, nullptr},
    {"erlang", "<", 2, erlang_lt_2, kBifGuard, nullptr},
    {"erlang", "=<", 2, erlang_le_2, kBifGuard, nullptr},
    {"erlang", ">", 2, erlang_gt_2, kBifGuard, nullptr},
    {"erlang", ">=", 2, erlang_ge_2, kBifGuard, nullptr},
    {"erlang", "min", 2, erlang_min_2, kBifGuard, nullptr},
    {"erlang", "max", 2, erlang_max_2, kBifGuard, nullptr},
    {"erlang", "not", 1, erlang_not_1, kBifGuard, nullptr},
    {"erlang", "and", 2, erlang_and_2, kBifGuard, nullptr},
    {"erlang", "or", 2, erlang_or_2, kBifGuard, nullptr},
    {"erlang", "xor", 2, erlang_xor_2, kBifGuard, nullptr},
    {"erlang", "is_atom", 1, erlang_is_atom_1, kBifGuard, nullptr},
    {"erlang", "is_binary", 1, erlang_is_binary_1, kBifGuard, nullptr},
    {"erlang", "is_bitstring", 1, erlang_is_bitstring_1, kBifGuard, nullptr},
    {"erlang", "is_boolean", 1, erlang_is_boolean_1, kBifGuard, nullptr},
    {"erlang", "is_float", 1, erlang_is_float_1, kBifGuard, nullptr},
    {"erlang", "is_function", 1, erlang_is_function_1, kBifGuard, nullptr},
    {"erlang", "is_function", 2, erlang_is_function_2, kBifGuard, nullptr},
    {"erlang", "is_integer", 1, erlang_is_integer_1, kBifGuard, nullptr},
    {"erlang", "is_integer", 3, erlang_is_integer_3, kBifGuard, nullptr},
    {"erlang", "is_list", 1, erlang_is_list_1, kBifGuard, nullptr},
    {"erlang", "is_map", 1, erlang_is_map_1, kBifGuard, nullptr},
    {"erlang", "is_number", 1, erlang_is_number_1, kBifGuard, nullptr},
    {"erlang", "is_pid", 1, erlang_is_pid_1, kBifGuard, nullptr},
    {"erlang", "is_port", 1, erlang_is_port_1, kBifGuard, nullptr},
    {"erlang", "is_record", 1, erlang_is_record_1, kBifGuard, nullptr},
    {"erlang", "is_record", 2, erlang_is_record_2, kBifGuard, nullptr},
    {"erlang", "is_record", 3, erlang_is_record_3, kBifGuard, nullptr},
    {"erlang", "is_reference", 1, erlang_is_reference_1, kBifGuard, nullptr},
    {"erlang", "is_tuple", 1, erlang_is_tuple_1, kBifGuard, nullptr},
};

}  // namespace minivm
