// Numbers, atoms as text, type tests, comparisons, hashes and checksums: the functions of the
// modules erlang, math and string that look at no more than their arguments.
//
// Conversions of long numbers and checksums of much data go on as hidden functions on a dirty
// scheduler: above kDirty... they would take more than a time slice.
#include "vm/bif/bif.hpp"
#include "vm/code/export.hpp"
#include "vm/semantics/arith.hpp"
#include "vm/semantics/native_record.hpp"
#include "vm/term/bignum.hpp"
#include "vm/term/binary.hpp"
#include "vm/term/format.hpp"
#include "vm/term/hash.hpp"
#include "vm/util/md5.hpp"
#include "vm/util/otp_release.hpp"
#include "vm/util/utf8.hpp"

#include <algorithm>
#include <zlib.h>

#include <cmath>
#include <cstring>
#include <string>

namespace minivm {
namespace {

// About a millisecond of work.
constexpr size_t kDirtyDigits = 20'000;  // of text to convert to an integer
constexpr size_t kDirtyLimbs = 1'000;    // of an integer to convert to text
constexpr uint64_t kDirtyChecksumBytes = 512 * 1024;
constexpr int64_t kBytesPerReduction = 1024;

// ---- operators ----------------------------------------------------------------------------------

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

// ---- type tests ---------------------------------------------------------------------------------

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

// A native record, that is.
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
    // Bignums are refused, and those of OTP begin earlier.
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

// From OTP 29 on. Both bounds are looked at whatever the term is.
Term erlang_is_integer_3(Process& p, const Term* a) {
    if (!is_integer(a[1]) || !is_integer(a[2])) {
        return badarg(p);
    }
    return make_bool(is_integer(a[0]) && compare_terms(a[1], a[0]) <= 0 &&
                     compare_terms(a[0], a[2]) <= 0);
}

// ---- numbers ------------------------------------------------------------------------------------

Term erlang_abs_1(Process& p, const Term* a) {
    if (is_integer(a[0])) {
        const bool negative = is_small(a[0]) ? small_value(a[0]) < 0 : big_is_negative(a[0]);
        return negative ? semantics::neg(p, a[0]) : a[0];
    }
    if (!is_float(a[0])) {
        return badarg(p);
    }
    const double d = float_value(a[0]);
    return d < 0 ? make_float(p.heap, -d) : a[0];  // -0.0 stays
}

Term erlang_float_1(Process& p, const Term* a) {
    if (is_float(a[0])) {
        return a[0];
    }
    double d;
    return is_integer(a[0]) && bignum::to_double(a[0], &d) ? make_float(p.heap, d) : badarg(p);
}

template <double (*Rounding)(double)>
Term to_integral(Process& p, const Term* a) {
    if (is_integer(a[0])) {
        return a[0];
    }
    return is_float(a[0]) ? bignum::from_double(p.heap, Rounding(float_value(a[0]))) : badarg(p);
}

// ---- integers and text --------------------------------------------------------------------------

// 2..36, or 0: badarg.
int base_of(Term t) {
    return is_small(t) && small_value(t) >= 2 && small_value(t) <= 36
               ? static_cast<int>(small_value(t))
               : 0;
}

Term string_of(Process& p, std::string_view text) {
    return make_string(p.heap, text.data(), text.size());
}
Term binary_string_of(Process& p, std::string_view text) {
    return make_binary(p.heap, text.data(), text.size());
}

using TextResult = Term (*)(Process&, std::string_view);

template <TextResult Make>
Term integer_text_dirty(Process& p, const Term* a) {
    const std::string text = bignum::to_string(a[0], base_of(a[1]));
    consume(p, static_cast<int64_t>(text.size()));
    return Make(p, text);
}

template <TextResult Make>
Term integer_text(Process& p, Term integer, Term base) {
    if (!is_integer(integer) || base_of(base) == 0) {
        return badarg(p);
    }
    if (is_big(integer) && big_limbs(integer) > kDirtyLimbs) {
        static const Export* dirty = bif_export(
            "erlang", Make == string_of ? "integer_to_list_dirty" : "integer_to_binary_dirty", 2);
        return trap(p, dirty, {integer, base});
    }
    const std::string text = bignum::to_string(integer, base_of(base));
    consume(p, static_cast<int64_t>(text.size() / 16));
    return Make(p, text);
}

constexpr Term kDecimal = make_small(10);

Term erlang_integer_to_list_1(Process& p, const Term* a) {
    return integer_text<string_of>(p, a[0], kDecimal);
}
Term erlang_integer_to_list_2(Process& p, const Term* a) {
    return integer_text<string_of>(p, a[0], a[1]);
}
Term erlang_integer_to_binary_1(Process& p, const Term* a) {
    return integer_text<binary_string_of>(p, a[0], kDecimal);
}
Term erlang_integer_to_binary_2(Process& p, const Term* a) {
    return integer_text<binary_string_of>(p, a[0], a[1]);
}

// The bytes of a list of them. false: it is no proper list, or has something else.
bool byte_list(Term list, std::string* out) {
    for (; is_cons(list); list = tail(list)) {
        const Term t = head(list);
        if (!is_small(t) || small_value(t) < 0 || small_value(t) > 255) {
            return false;
        }
        *out += static_cast<char>(small_value(t));
    }
    return is_nil(list);
}

// 0..35; 36: it is no digit.
int digit_value(char c) {
    return c >= '0' && c <= '9'   ? c - '0'
           : c >= 'A' && c <= 'Z' ? c - 'A' + 10
           : c >= 'a' && c <= 'z' ? c - 'a' + 10
                                  : 36;
}

// Digits with an optional sign, and nothing else.
bool is_integer_text(std::string_view text, int base) {
    if (!text.empty() && (text[0] == '+' || text[0] == '-')) {
        text.remove_prefix(1);
    }
    return !text.empty() && std::all_of(text.begin(), text.end(),
                                        [base](char c) { return digit_value(c) < base; });
}

// The text is an integer's; what parse() still refuses is too large.
Term parsed(Process& p, std::string_view text, int base) {
    const Term result = bignum::parse(p.heap, text, base);
    return is_value(result) ? result : system_limit(p);
}

// It has more digits than any integer: known without reading them.
bool is_too_long(std::string_view text, int base) {
    text.remove_prefix(std::min(text.find_first_not_of("+-0"), text.size()));
    const double bits = std::log2(base) * (static_cast<double>(text.size()) - 1);
    return bits > 64.0 * static_cast<double>(by_release::max_big_limbs());
}

// Continues text_to_integer: a[0] the text as a binary.
Term erlang_text_to_integer_dirty_2(Process& p, const Term* a) {
    Bytes text;
    MINIVM_CHECK(get_bytes(a[0], &text));
    consume(p, static_cast<int64_t>(text.size));
    return parsed(p, {reinterpret_cast<const char*>(text.data), text.size}, base_of(a[1]));
}

Term text_to_integer(Process& p, std::string_view text, Term base) {
    if (base_of(base) == 0 || !is_integer_text(text, base_of(base))) {
        return badarg(p);
    }
    consume(p, static_cast<int64_t>(text.size() / 16));
    if (is_too_long(text, base_of(base))) {
        return system_limit(p);
    }
    if (text.size() > kDirtyDigits) {
        static const Export* dirty = bif_export("erlang", "text_to_integer_dirty", 2);
        return trap(p, dirty, {make_binary(p.heap, text.data(), text.size()), base});
    }
    return parsed(p, text, base_of(base));
}

Term erlang_list_to_integer_2(Process& p, const Term* a) {
    std::string text;
    return byte_list(a[0], &text) ? text_to_integer(p, text, a[1]) : badarg(p);
}
Term erlang_list_to_integer_1(Process& p, const Term* a) {
    const Term args[] = {a[0], kDecimal};
    return erlang_list_to_integer_2(p, args);
}
Term erlang_binary_to_integer_2(Process& p, const Term* a) {
    Bytes text;
    if (!get_bytes(a[0], &text)) {
        return badarg(p);
    }
    return text_to_integer(p, {reinterpret_cast<const char*>(text.data), text.size}, a[1]);
}
Term erlang_binary_to_integer_1(Process& p, const Term* a) {
    const Term args[] = {a[0], kDecimal};
    return erlang_binary_to_integer_2(p, args);
}

// ---- prefixes of lists --------------------------------------------------------------------------

// Reads the characters of a list one by one; what is no small character reads as 0.
class CharReader {
public:
    explicit CharReader(Term list) : rest_(list) {}
    char peek() const {
        if (!is_cons(rest_) || !is_small(head(rest_))) {
            return 0;
        }
        const int64_t c = small_value(head(rest_));
        return c > 0 && c < 128 ? static_cast<char>(c) : '\0';
    }
    void take(std::string* out) {
        *out += peek();
        rest_ = tail(rest_);
    }
    bool sign(std::string* out) {
        if (peek() != '+' && peek() != '-') {
            return false;
        }
        take(out);
        return true;
    }
    bool digits(std::string* out, int base = 10) {
        const size_t before = out->size();
        while (digit_value(peek()) < base) {
            take(out);
        }
        return out->size() > before;
    }
    Term rest() const { return rest_; }

private:
    Term rest_;
};

Term string_error(Process& p, std::string_view reason) {
    return make_tuple(p.heap, atoms::error, atom_table::intern(reason));
}

// Continues string:list_to_integer/1: a[0] the digits as a binary, a[1] what follows them.
Term string_list_to_integer_dirty_2(Process& p, const Term* a) {
    const Term args[] = {a[0], kDecimal};
    const Term integer = erlang_text_to_integer_dirty_2(p, args);
    return is_value(integer) ? make_tuple(p.heap, integer, a[1]) : kNonValue;
}

// What erlang's and string's functions of these names are made of from OTP 26 on: an integer, or an atom
// that says why not.
Term erts_internal_binary_to_integer_2(Process& p, const Term* a) {
    Bytes text;
    if (base_of(a[1]) == 0) {
        return badarg(p);
    }
    if (!get_bytes(a[0], &text) ||
        !is_integer_text({reinterpret_cast<const char*>(text.data), text.size}, base_of(a[1]))) {
        return atoms::badarg;
    }
    return text_to_integer(p, {reinterpret_cast<const char*>(text.data), text.size}, a[1]);
}

// {Integer, Rest}; big: of so many digits that the caller has to go another way.
Term erts_internal_list_to_integer_2(Process& p, const Term* a) {
    const int base = base_of(a[1]);
    if (base == 0) {
        return badarg(p);
    }
    if (!is_list(a[0])) {
        return atom_table::intern("not_a_list");
    }
    CharReader reader(a[0]);
    std::string text;
    reader.sign(&text);
    if (!reader.digits(&text, base)) {
        return atom_table::intern("no_integer");
    }
    if (text.size() > kDirtyDigits) {
        return atom_table::intern("big");
    }
    const Term integer = parsed(p, text, base);
    return is_value(integer) ? make_tuple(p.heap, integer, reader.rest()) : kNonValue;
}

Term string_list_to_integer_1(Process& p, const Term* a) {
    if (!is_list(a[0])) {
        return string_error(p, "not_a_list");
    }
    CharReader reader(a[0]);
    std::string text;
    reader.sign(&text);
    if (!reader.digits(&text)) {
        return string_error(p, "no_integer");
    }
    consume(p, static_cast<int64_t>(text.size() / 16));
    if (is_too_long(text, 10)) {
        return by_release::at_least(29) ? string_error(p, "system_limit") : system_limit(p);
    }
    if (text.size() > kDirtyDigits) {
        static const Export* dirty = bif_export("string", "list_to_integer_dirty", 2);
        return trap(p, dirty, {binary_string_of(p, text), reader.rest()});
    }
    const Term integer = parsed(p, text, 10);
    return is_value(integer) ? make_tuple(p.heap, integer, reader.rest()) : kNonValue;
}

Term string_list_to_float_1(Process& p, const Term* a) {
    if (!is_list(a[0])) {
        return string_error(p, "not_a_list");
    }
    CharReader reader(a[0]);
    std::string text;
    reader.sign(&text);
    const bool has_whole = reader.digits(&text);
    if (!has_whole || (reader.peek() != '.' && reader.peek() != ',')) {
        return string_error(p, "no_float");
    }
    reader.take(&text);
    text.back() = '.';
    if (!reader.digits(&text)) {
        return string_error(p, "no_float");
    }
    consume(p, static_cast<int64_t>(text.size() / 16));
    // An exponent without digits is not part of the number.
    CharReader ahead = reader;
    std::string exponent;
    if (ahead.peek() == 'e' || ahead.peek() == 'E') {
        ahead.take(&exponent);
        ahead.sign(&exponent);
        if (ahead.digits(&exponent)) {
            text += exponent;
            reader = ahead;
        }
    }
    double d;
    if (!parse_float(text, &d)) {
        return string_error(p, "no_float");
    }
    return make_tuple(p.heap, make_float(p.heap, d), reader.rest());
}

// ---- floats and text ----------------------------------------------------------------------------

constexpr size_t kLongestFloatText = 255;  // what OTP has room for

struct FloatFormat {
    enum { scientific, fixed, shortest } style = scientific;
    int digits = 20;
    bool compact = false;
};

// False: an option is wrong. The last of several styles counts.
bool float_format(Term options, FloatFormat* out) {
    static const Term compact = atom_table::intern("compact");
    static const Term shortest = atom_table::intern("short");
    static const Term decimals = atom_table::intern("decimals");
    static const Term scientific = atom_table::intern("scientific");
    for (; is_cons(options); options = tail(options)) {
        const Term option = head(options);
        if (option == compact) {
            out->compact = true;
        } else if (option == shortest) {
            out->style = FloatFormat::shortest;
        } else if (is_tuple_of(option, 2) && is_small(tuple_element(option, 1))) {
            const Term name = tuple_element(option, 0);
            const int64_t digits = small_value(tuple_element(option, 1));
            if (name == decimals && digits >= 0 && digits <= 253) {
                out->style = FloatFormat::fixed;
                out->digits = static_cast<int>(digits);
            } else if (name == scientific && digits <= 249) {
                out->style = FloatFormat::scientific;
                // As OTP: a negative number means printf's own choice.
                out->digits = digits < 0 ? 6 : static_cast<int>(digits);
            } else {
                return false;
            }
        } else {
            return false;
        }
    }
    return is_nil(options);
}

template <TextResult Make>
Term float_text(Process& p, Term number, Term options) {
    FloatFormat format;
    if (!is_float(number) || !float_format(options, &format)) {
        return badarg(p);
    }
    const double d = float_value(number);
    std::string text;
    switch (format.style) {
        case FloatFormat::shortest:
            return Make(p, ShortFloat(d).text());
        case FloatFormat::scientific:
            text = float_scientific(d, format.digits);
            if (text.size() > kLongestFloatText) {
                return badarg(p);
            }
            break;
        case FloatFormat::fixed:
            if (!float_decimals(d, format.digits, format.compact, &text)) {
                return badarg(p);
            }
            break;
    }
    return Make(p, text);
}

Term erlang_float_to_list_1(Process& p, const Term* a) {
    return float_text<string_of>(p, a[0], kNil);
}
Term erlang_float_to_list_2(Process& p, const Term* a) {
    return float_text<string_of>(p, a[0], a[1]);
}
Term erlang_float_to_binary_1(Process& p, const Term* a) {
    return float_text<binary_string_of>(p, a[0], kNil);
}
Term erlang_float_to_binary_2(Process& p, const Term* a) {
    return float_text<binary_string_of>(p, a[0], a[1]);
}

Term text_to_float(Process& p, std::string_view text) {
    double d;
    // OTP has C read it, to the first zero byte.
    return parse_float(text.substr(0, text.find('\0')), &d) ? make_float(p.heap, d) : badarg(p);
}
Term erlang_list_to_float_1(Process& p, const Term* a) {
    std::string text;
    return byte_list(a[0], &text) ? text_to_float(p, text) : badarg(p);
}
Term erlang_binary_to_float_1(Process& p, const Term* a) {
    Bytes text;
    if (!get_bytes(a[0], &text)) {
        return badarg(p);
    }
    return text_to_float(p, {reinterpret_cast<const char*>(text.data), text.size});
}

// ---- math ---------------------------------------------------------------------------------------

// badarg: no number. badarith: too large for a float.
bool math_argument(Process& p, Term t, double* out) {
    if (!is_number(t)) {
        badarg(p);
        return false;
    }
    if (!semantics::fconv(p, t, out)) {
        badarith(p);  // a function, other than the instruction, has error_info
        return false;
    }
    return true;
}

Term math_result(Process& p, double d) {
    return std::isfinite(d) ? make_float(p.heap, d) : badarith(p);
}

template <double (*Function)(double)>
Term math_unary(Process& p, const Term* a) {
    double x;
    return math_argument(p, a[0], &x) ? math_result(p, Function(x)) : kNonValue;
}

template <double (*Function)(double, double)>
Term math_binary(Process& p, const Term* a) {
    double x;
    double y;
    if (!math_argument(p, a[0], &x) || !math_argument(p, a[1], &y)) {
        return kNonValue;
    }
    return math_result(p, Function(x, y));
}

constexpr double kPi = 3.14159265358979323846;
Term math_pi_0(Process& p, const Term*) {
    return make_float(p.heap, kPi);
}
Term math_tau_0(Process& p, const Term*) {
    return make_float(p.heap, 2 * kPi);
}

// ---- atoms and text -----------------------------------------------------------------------------

enum class Encoding { latin1, utf8, unknown };

Encoding encoding_of(Term t) {
    return t == atoms::latin1                        ? Encoding::latin1
           : t == atoms::utf8 || t == atoms::unicode ? Encoding::utf8
                                                     : Encoding::unknown;
}

enum class TextError { none, bad, too_long };

// The atom of well-formed text, made if need be; or only looked for.
Term to_atom(Process& p, TextError e, std::string_view utf8, bool existing) {
    if (existing) {
        const Term atom = e == TextError::none ? atom_table::find(utf8) : kNonValue;
        return is_value(atom) ? atom : badarg(p);
    }
    if (e == TextError::bad) {
        return badarg(p);
    }
    const Term atom = e == TextError::none ? atom_table::intern(utf8) : kNonValue;
    return is_value(atom) ? atom : system_limit(p);
}

// OTP looks at no more characters than an atom may have before it calls the text too long.
TextError list_text(Term list, std::string* utf8) {
    for (size_t n = 0; is_cons(list); list = tail(list), ++n) {
        if (n == kMaxAtomChars) {
            return TextError::too_long;
        }
        const Term t = head(list);
        if (!is_small(t) || small_value(t) < 0 || small_value(t) > 0x10FFFF ||
            (small_value(t) >= 0xD800 && small_value(t) <= 0xDFFF)) {
            return TextError::bad;
        }
        append_utf8(static_cast<uint32_t>(small_value(t)), utf8);
    }
    return is_nil(list) ? TextError::none : TextError::bad;
}

TextError binary_text(std::string_view bytes, Encoding encoding, std::string* utf8) {
    if (encoding == Encoding::latin1) {
        if (bytes.size() > kMaxAtomChars) {
            return TextError::too_long;
        }
        for (const char c : bytes) {
            append_utf8(static_cast<uint8_t>(c), utf8);
        }
        return TextError::none;
    }
    // The prefix of as many characters as an atom may have: is more behind it?
    size_t end = 0;
    for (size_t chars = 0; end < bytes.size(); ++end) {
        if ((static_cast<uint8_t>(bytes[end]) & 0xC0) != 0x80 && ++chars > kMaxAtomChars) {
            break;
        }
    }
    if (!atom_table::is_valid(bytes.substr(0, end))) {
        return TextError::bad;
    }
    if (end < bytes.size()) {
        return TextError::too_long;
    }
    *utf8 = bytes;
    return TextError::none;
}

Term atom_from_list(Process& p, Term list, bool existing) {
    std::string utf8;
    const TextError e = list_text(list, &utf8);
    return to_atom(p, e, utf8, existing);
}

Term atom_from_binary(Process& p, Term binary, Term encoding_name, bool existing) {
    Bytes bytes;
    const Encoding encoding = encoding_of(encoding_name);
    if (encoding == Encoding::unknown || !get_bytes(binary, &bytes)) {
        return badarg(p);
    }
    std::string utf8;
    const TextError e =
        binary_text({reinterpret_cast<const char*>(bytes.data), bytes.size}, encoding, &utf8);
    return to_atom(p, e, utf8, existing);
}

Term erlang_list_to_atom_1(Process& p, const Term* a) {
    return atom_from_list(p, a[0], false);
}
Term erlang_list_to_existing_atom_1(Process& p, const Term* a) {
    return atom_from_list(p, a[0], true);
}
Term erlang_binary_to_atom_2(Process& p, const Term* a) {
    return atom_from_binary(p, a[0], a[1], false);
}
Term erlang_binary_to_existing_atom_2(Process& p, const Term* a) {
    return atom_from_binary(p, a[0], a[1], true);
}

Term erlang_atom_to_list_1(Process& p, const Term* a) {
    if (!is_atom(a[0])) {
        return badarg(p);
    }
    const std::string_view text = atom_table::text(a[0]);
    return make_string_utf8(p.heap, text.data(), text.size());
}

Term atom_binary(Process& p, Term atom, Term encoding_name) {
    const Encoding encoding = encoding_of(encoding_name);
    if (!is_atom(atom) || encoding == Encoding::unknown) {
        return badarg(p);
    }
    const std::string_view text = atom_table::text(atom);
    if (encoding == Encoding::utf8) {
        return make_binary(p.heap, text.data(), text.size());
    }
    std::string latin1;
    for (size_t i = 0; i < text.size(); ++i) {
        const auto c = static_cast<uint8_t>(text[i]);
        if (c < 0x80) {
            latin1 += text[i];
        } else if (c <= 0xC3) {
            latin1 += static_cast<char>((c << 6) | (static_cast<uint8_t>(text[++i]) & 0x3F));
        } else {
            return badarg(p);  // no Latin-1 character
        }
    }
    return binary_string_of(p, latin1);
}
Term erlang_atom_to_binary_2(Process& p, const Term* a) {
    return atom_binary(p, a[0], a[1]);
}

// ---- hashes -------------------------------------------------------------------------------------

// 1 .. 2^32
bool hash_range(Term t, uint64_t* out) {
    return get_uint64(t, out) && *out >= 1 && *out <= uint64_t{1} << 32;
}

constexpr uint64_t kPhash2Range = uint64_t{1} << 27;  // of phash2/1
constexpr int64_t kStepsPerReduction = 20;
constexpr int64_t kStepsBeforeDirty = 40'000;
// A term that is large because parts are shared may take for ever. After so many steps the process handles its signals,
// one that kills it too, and begins again with more: of all the work a third at most is lost.
constexpr int64_t kStepsOfFirstTry = 10'000'000;
constexpr int64_t kMoreStepsEachTry = 4;

using Hash = bool (*)(Term, int64_t*, uint32_t*);

// Hashes t; false: it takes more than `limit` steps. Small terms are hashed where they are; for
// large ones that much work is lost, and all of it done by hash_dirty.
template <Hash Function>
bool hash_charged(Process& p, Term t, int64_t limit, uint32_t* hash) {
    int64_t steps = limit;
    const bool done = Function(t, &steps, hash);
    consume(p, (limit - steps) / kStepsPerReduction);
    return done;
}

template <Hash Function>
Term hash_result(uint32_t hash, uint64_t range) {
    return make_small(static_cast<int64_t>(hash % range) + (Function == phash_within ? 1 : 0));
}

template <Hash Function>
Term trap_to_hash_dirty(Process& p, Term t, Term range, int64_t limit) {
    static const Export* dirty =
        bif_export("erlang", Function == phash_within ? "phash_dirty" : "phash2_dirty", 3);
    return trap(p, dirty, {t, range, make_small(limit)});
}

// a[0] the term, a[1] the range, which is right, a[2] the steps that it may take.
template <Hash Function>
Term hash_dirty(Process& p, const Term* a) {
    uint64_t range = 0;
    uint32_t hash = 0;
    MINIVM_CHECK(hash_range(a[1], &range));
    const int64_t limit = small_value(a[2]);
    if (hash_charged<Function>(p, a[0], limit, &hash)) {
        return hash_result<Function>(hash, range);
    }
    return trap_to_hash_dirty<Function>(p, a[0], a[1],
                                        std::min(limit, kSmallMax / kMoreStepsEachTry) * kMoreStepsEachTry);
}

template <Hash Function>
Term hash_term(Process& p, const Term* a) {
    uint64_t range;
    if (!hash_range(a[1], &range)) {
        return badarg(p);
    }
    uint32_t hash;
    if (hash_charged<Function>(p, a[0], kStepsBeforeDirty, &hash)) {
        return hash_result<Function>(hash, range);
    }
    return trap_to_hash_dirty<Function>(p, a[0], a[1], kStepsOfFirstTry);
}

Term erlang_phash2_1(Process& p, const Term* a) {
    const Term args[] = {a[0], make_small(kPhash2Range)};
    return hash_term<phash2_within>(p, args);
}

// ---- checksums ----------------------------------------------------------------------------------

bool get_uint32(Term t, uint32_t* out) {
    if (!is_small(t) || small_value(t) < 0 || small_value(t) > UINT32_MAX) {
        return false;
    }
    *out = static_cast<uint32_t>(small_value(t));
    return true;
}

// Gives the bytes of iodata to f, without copying those of a single binary.
template <typename F>
bool with_bytes(Process& p, Term iodata, F f) {
    Bytes bytes;
    if (get_bytes(iodata, &bytes)) {
        consume(p, static_cast<int64_t>(bytes.size) / kBytesPerReduction);
        f(bytes.data, bytes.size);
        return true;
    }
    std::string flat;
    if (!is_list(iodata) || !iolist_to_bytes(iodata, &flat)) {
        return false;
    }
    consume(p, static_cast<int64_t>(flat.size()) / kBytesPerReduction);
    f(reinterpret_cast<const uint8_t*>(flat.data()), flat.size());
    return true;
}

bool is_much(Term iodata) {
    uint64_t bytes = 0;
    return iolist_size(iodata, &bytes) && bytes > kDirtyChecksumBytes;
}

using Checksum = uint32_t (*)(uint32_t, const uint8_t*, size_t);

uint32_t crc32_of(uint32_t seed, const uint8_t* data, size_t size) {
    return static_cast<uint32_t>(crc32_z(seed, data, size));
}
uint32_t adler32_of(uint32_t seed, const uint8_t* data, size_t size) {
    return static_cast<uint32_t>(adler32_z(seed, data, size));
}

// a[0] the checksum so far, a[1] the data.
template <Checksum Function>
Term checksum_dirty(Process& p, const Term* a) {
    uint32_t sum = 0;
    if (!get_uint32(a[0], &sum) || !with_bytes(p, a[1], [&](const uint8_t* data, size_t size) {
            sum = Function(sum, data, size);
        })) {
        return badarg(p);
    }
    return make_small(sum);
}

template <Checksum Function>
Term checksum(Process& p, const Term* a) {
    if (is_much(a[1])) {
        static const Export* dirty =
            bif_export("erlang", Function == crc32_of ? "crc32_dirty" : "adler32_dirty", 2);
        return trap(p, dirty, {a[0], a[1]});
    }
    return checksum_dirty<Function>(p, a);
}

Term erlang_crc32_1(Process& p, const Term* a) {
    const Term args[] = {make_small(0), a[0]};
    return checksum<crc32_of>(p, args);
}
Term erlang_adler32_1(Process& p, const Term* a) {
    const Term args[] = {make_small(1), a[0]};
    return checksum<adler32_of>(p, args);
}

// OTP's answer for no bytes is the first sum as it is, where zlib's takes 1 away and adds the second's, which
// differs if the second is no sum of nothing.
uLong adler32_combined(uLong first, uLong second, z_off_t second_size) {
    return second_size == 0 ? first : adler32_combine(first, second, second_size);
}

template <uLong (*Combine)(uLong, uLong, z_off_t)>
Term checksum_combine(Process& p, const Term* a) {
    uint32_t first;
    uint32_t second;
    uint32_t second_size;
    if (!get_uint32(a[0], &first) || !get_uint32(a[1], &second) ||
        !get_uint32(a[2], &second_size)) {
        return badarg(p);
    }
    return make_small(static_cast<int64_t>(Combine(first, second, second_size) & 0xFFFFFFFF));
}

Term erlang_md5_dirty_1(Process& p, const Term* a) {
    Md5 md5;
    if (!with_bytes(p, a[0], [&](const uint8_t* data, size_t size) { md5.update(data, size); })) {
        return badarg(p);
    }
    uint8_t digest[16];
    md5.final(digest);
    return make_binary(p.heap, digest, sizeof(digest));
}
Term erlang_md5_1(Process& p, const Term* a) {
    if (is_much(a[0])) {
        static const Export* dirty = bif_export("erlang", "md5_dirty", 1);
        return trap(p, dirty, {a[0]});
    }
    return erlang_md5_dirty_1(p, a);
}

// The context is the Md5 itself, in a binary.
bool md5_context(Term t, Md5* out) {
    Bytes bytes;
    if (!get_bytes(t, &bytes) || bytes.size != sizeof(Md5)) {
        return false;
    }
    std::memcpy(static_cast<void*>(out), bytes.data, sizeof(Md5));
    return true;
}

Term erlang_md5_init_0(Process& p, const Term*) {
    const Md5 md5;
    return make_binary(p.heap, &md5, sizeof(md5));
}
Term erlang_md5_update_dirty_2(Process& p, const Term* a) {
    Md5 md5;
    if (!md5_context(a[0], &md5) ||
        !with_bytes(p, a[1], [&](const uint8_t* data, size_t size) { md5.update(data, size); })) {
        return badarg(p);
    }
    return make_binary(p.heap, &md5, sizeof(md5));
}
Term erlang_md5_update_2(Process& p, const Term* a) {
    if (is_much(a[1])) {
        static const Export* dirty = bif_export("erlang", "md5_update_dirty", 2);
        return trap(p, dirty, {a[0], a[1]});
    }
    return erlang_md5_update_dirty_2(p, a);
}
Term erlang_md5_final_1(Process& p, const Term* a) {
    Md5 md5;
    if (!md5_context(a[0], &md5)) {
        return badarg(p);
    }
    uint8_t digest[16];
    md5.final(digest);
    return make_binary(p.heap, digest, sizeof(digest));
}

constexpr uint8_t kHiddenDirty = kBifDirtyCpu | kBifHidden | kBifLeavable;

}  // namespace

MINIVM_BIF_TABLE(numbers) = {
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
    {"erlang", "abs", 1, erlang_abs_1, kBifGuard, nullptr},
    {"erlang", "float", 1, erlang_float_1, kBifGuard, nullptr},
    {"erlang", "round", 1, to_integral<std::round>, kBifGuard, nullptr},
    {"erlang", "trunc", 1, to_integral<std::trunc>, kBifGuard, nullptr},
    {"erlang", "ceil", 1, to_integral<std::ceil>, kBifGuard, nullptr},
    {"erlang", "floor", 1, to_integral<std::floor>, kBifGuard, nullptr},
    {"erlang", "integer_to_list", 1, erlang_integer_to_list_1, kBifPlain, nullptr},
    {"erlang", "integer_to_list", 2, erlang_integer_to_list_2, kBifPlain, nullptr},
    {"erlang", "integer_to_list_dirty", 2, integer_text_dirty<string_of>, kHiddenDirty, nullptr},
    {"erlang", "integer_to_binary", 1, erlang_integer_to_binary_1, kBifPlain, nullptr},
    {"erlang", "integer_to_binary", 2, erlang_integer_to_binary_2, kBifPlain, nullptr},
    {"erlang", "integer_to_binary_dirty", 2, integer_text_dirty<binary_string_of>, kHiddenDirty, nullptr},
    {"erlang", "list_to_integer", 1, erlang_list_to_integer_1, kBifPlain, nullptr},
    {"erlang", "list_to_integer", 2, erlang_list_to_integer_2, kBifPlain, nullptr},
    {"erlang", "binary_to_integer", 1, erlang_binary_to_integer_1, kBifPlain, nullptr},
    {"erlang", "binary_to_integer", 2, erlang_binary_to_integer_2, kBifPlain, nullptr},
    {"erlang", "text_to_integer_dirty", 2, erlang_text_to_integer_dirty_2, kHiddenDirty, nullptr},
    {"erlang", "float_to_list", 1, erlang_float_to_list_1, kBifPlain, nullptr},
    {"erlang", "float_to_list", 2, erlang_float_to_list_2, kBifPlain, nullptr},
    {"erlang", "float_to_binary", 1, erlang_float_to_binary_1, kBifPlain, nullptr},
    {"erlang", "float_to_binary", 2, erlang_float_to_binary_2, kBifPlain, nullptr},
    {"erlang", "list_to_float", 1, erlang_list_to_float_1, kBifPlain, nullptr},
    {"erlang", "binary_to_float", 1, erlang_binary_to_float_1, kBifPlain, nullptr},
    {"erlang", "atom_to_list", 1, erlang_atom_to_list_1, kBifPlain, nullptr},
    // No guard, but the compiler of OTP 29 uses it as one in bodies.
    {"erlang", "list_to_atom", 1, erlang_list_to_atom_1, kBifGuard, nullptr},
    {"erlang", "list_to_existing_atom", 1, erlang_list_to_existing_atom_1, kBifGuard, nullptr},
    {"erlang", "atom_to_binary", 2, erlang_atom_to_binary_2, kBifPlain, nullptr},
    {"erlang", "binary_to_atom", 2, erlang_binary_to_atom_2, kBifGuard, nullptr},
    {"erlang", "binary_to_existing_atom", 2, erlang_binary_to_existing_atom_2, kBifGuard, nullptr},
    {"erlang", "phash2", 1, erlang_phash2_1, kBifPlain, nullptr},
    {"erlang", "phash2", 2, hash_term<phash2_within>, kBifPlain, nullptr},
    {"erlang", "phash2_dirty", 3, hash_dirty<phash2_within>, kHiddenDirty, nullptr},
    {"erlang", "phash", 2, hash_term<phash_within>, kBifPlain, nullptr},
    {"erlang", "phash_dirty", 3, hash_dirty<phash_within>, kHiddenDirty, nullptr},
    {"erlang", "crc32", 1, erlang_crc32_1, kBifPlain, nullptr},
    {"erlang", "crc32", 2, checksum<crc32_of>, kBifPlain, nullptr},
    {"erlang", "crc32_dirty", 2, checksum_dirty<crc32_of>, kHiddenDirty, nullptr},
    {"erlang", "crc32_combine", 3, checksum_combine<crc32_combine>, kBifPlain, nullptr},
    {"erlang", "adler32", 1, erlang_adler32_1, kBifPlain, nullptr},
    {"erlang", "adler32", 2, checksum<adler32_of>, kBifPlain, nullptr},
    {"erlang", "adler32_dirty", 2, checksum_dirty<adler32_of>, kHiddenDirty, nullptr},
    {"erlang", "adler32_combine", 3, checksum_combine<adler32_combined>, kBifPlain, nullptr},
    {"erlang", "md5", 1, erlang_md5_1, kBifPlain, nullptr},
    {"erlang", "md5_dirty", 1, erlang_md5_dirty_1, kHiddenDirty, nullptr},
    {"erlang", "md5_init", 0, erlang_md5_init_0, kBifPlain, nullptr},
    {"erlang", "md5_update", 2, erlang_md5_update_2, kBifPlain, nullptr},
    {"erlang", "md5_update_dirty", 2, erlang_md5_update_dirty_2, kHiddenDirty, nullptr},
    {"erlang", "md5_final", 1, erlang_md5_final_1, kBifPlain, nullptr},
    {"erts_internal", "binary_to_integer", 2, erts_internal_binary_to_integer_2, kBifPlain, nullptr},
    {"erts_internal", "list_to_integer", 2, erts_internal_list_to_integer_2, kBifPlain, nullptr},
    {"string", "list_to_integer", 1, string_list_to_integer_1, kBifPlain, nullptr},
    {"string", "list_to_integer_dirty", 2, string_list_to_integer_dirty_2, kHiddenDirty, nullptr},
    {"string", "list_to_float", 1, string_list_to_float_1, kBifPlain, nullptr},
    {"math", "pi", 0, math_pi_0, kBifPlain, nullptr},
    {"math", "tau", 0, math_tau_0, kBifPlain, nullptr},
    {"math", "acos", 1, math_unary<std::acos>, kBifPlain, nullptr},
    {"math", "acosh", 1, math_unary<std::acosh>, kBifPlain, nullptr},
    {"math", "asin", 1, math_unary<std::asin>, kBifPlain, nullptr},
    {"math", "asinh", 1, math_unary<std::asinh>, kBifPlain, nullptr},
    {"math", "atan", 1, math_unary<std::atan>, kBifPlain, nullptr},
    {"math", "atanh", 1, math_unary<std::atanh>, kBifPlain, nullptr},
    {"math", "ceil", 1, math_unary<std::ceil>, kBifPlain, nullptr},
    {"math", "cos", 1, math_unary<std::cos>, kBifPlain, nullptr},
    {"math", "cosh", 1, math_unary<std::cosh>, kBifPlain, nullptr},
    {"math", "erf", 1, math_unary<std::erf>, kBifPlain, nullptr},
    {"math", "erfc", 1, math_unary<std::erfc>, kBifPlain, nullptr},
    {"math", "exp", 1, math_unary<std::exp>, kBifPlain, nullptr},
    {"math", "floor", 1, math_unary<std::floor>, kBifPlain, nullptr},
    {"math", "log", 1, math_unary<std::log>, kBifPlain, nullptr},
    {"math", "log10", 1, math_unary<std::log10>, kBifPlain, nullptr},
    {"math", "log2", 1, math_unary<std::log2>, kBifPlain, nullptr},
    {"math", "sin", 1, math_unary<std::sin>, kBifPlain, nullptr},
    {"math", "sinh", 1, math_unary<std::sinh>, kBifPlain, nullptr},
    {"math", "sqrt", 1, math_unary<std::sqrt>, kBifPlain, nullptr},
    {"math", "tan", 1, math_unary<std::tan>, kBifPlain, nullptr},
    {"math", "tanh", 1, math_unary<std::tanh>, kBifPlain, nullptr},
    {"math", "atan2", 2, math_binary<std::atan2>, kBifPlain, nullptr},
    {"math", "fmod", 2, math_binary<std::fmod>, kBifPlain, nullptr},
    {"math", "pow", 2, math_binary<std::pow>, kBifPlain, nullptr},
};

}  // namespace minivm
