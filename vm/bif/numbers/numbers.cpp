// BIFs about numbers: conversions to and from text, module math. Conversions of numbers longer than kDirty... go on as
// hidden functions on a dirty scheduler: they would take more than a time slice.
#include "vm/bif/bif.hpp"
#include "vm/bif/numbers/text.hpp"
#include "vm/semantics/arith.hpp"
#include "vm/term/bignum.hpp"
#include "vm/term/binary.hpp"
#include "vm/term/format.hpp"
#include "vm/util/otp_release.hpp"

#include <algorithm>
#include <cmath>
#include <string>

namespace minivm {

namespace {

// About a millisecond of work.
constexpr size_t kDirtyDigits = 20'000;  // of text to convert to an integer

constexpr size_t kDirtyLimbs = 1'000;    // of an integer to convert to text

// ---- numbers -------------------------------------------------------------------------------------------

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

// ---- integers and text ---------------------------------------------------------------------------------

// 2..36, or 0: badarg.
int base_of(Term t) {
    return is_small(t) && small_value(t) >= 2 && small_value(t) <= 36
               ? static_cast<int>(small_value(t))
               : 0;
}

Term string_of(Process& p, std::string_view text) {
    return make_string(p.heap, text.data(), text.size());
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

// Appends the bytes of a list. False: it is no proper list, or has other elements.
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

// The text is that of an integer, so parse() refuses only what is too large.
Term parsed(Process& p, std::string_view text, int base) {
    const Term result = bignum::parse(p.heap, text, base);
    return is_value(result) ? result : system_limit(p);
}

// Whether the text has more digits than any integer may have, known without reading them.
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

// ---- prefixes of lists ---------------------------------------------------------------------------------

// Reads the characters of a list one by one; an element that is no ASCII character reads as 0.
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

// From OTP 26 on, erlang's and string's functions of these names call these, which return an integer, or an
// atom that says why there is none.
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

// {Integer, Rest}; big: there are so many digits that the caller converts them in parts.
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
    consume(p, static_cast<int64_t>(text.size() / 16));
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

// ---- floats and text -----------------------------------------------------------------------------------

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
    // In OTP a C function reads the text, up to the first zero byte, and takes a comma for the point.
    std::string number(text.substr(0, text.find('\0')));
    if (const size_t comma = number.find(','); comma != std::string::npos) {
        number[comma] = number.find('.') == std::string::npos ? '.' : ',';
    }
    return parse_float(number, &d) ? make_float(p.heap, d) : badarg(p);
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

// ---- math ----------------------------------------------------------------------------------------------

// badarg: no number. badarith: too large for a float.
bool math_argument(Process& p, Term t, double* out) {
    if (!is_number(t)) {
        badarg(p);
        return false;
    }
    if (!semantics::fconv(p, t, out)) {
        badarith(p);  // the error of a function has error_info, unlike the instruction's
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

}  // namespace

Term binary_string_of(Process& p, std::string_view text) {
    return make_binary(p.heap, text.data(), text.size());
}

MINIVM_BIF_TABLE(numbers) = {
    {"erlang", "abs", 1, erlang_abs_1, kBifGuard, nullptr},
    {"erlang", "float", 1, erlang_float_1, kBifGuard, nullptr},
    {"erlang", "round", 1, to_integral<std::round>, kBifGuard, nullptr},
    {"erlang", "trunc", 1, to_integral<std::trunc>, kBifGuard, nullptr},
    {"erlang", "ceil", 1, to_integral<std::ceil>, kBifGuard, nullptr},
    {"erlang", "floor", 1, to_integral<std::floor>, kBifGuard, nullptr},
    {"erlang", "integer_to_list", 1, erlang_integer_to_list_1, kBifPlain, nullptr},
    {"erlang", "integer_to_list", 2, erlang_integer_to_list_2, kBifPlain, nullptr},
    {"erlang", "integer_to_list_dirty", 2, integer_text_dirty<string_of>, kBifHiddenDirty, nullptr},
    {"erlang", "integer_to_binary", 1, erlang_integer_to_binary_1, kBifPlain, nullptr},
    {"erlang", "integer_to_binary", 2, erlang_integer_to_binary_2, kBifPlain, nullptr},
    {"erlang", "integer_to_binary_dirty", 2, integer_text_dirty<binary_string_of>, kBifHiddenDirty, nullptr},
    {"erlang", "list_to_integer", 1, erlang_list_to_integer_1, kBifPlain, nullptr},
    {"erlang", "list_to_integer", 2, erlang_list_to_integer_2, kBifPlain, nullptr},
    {"erlang", "binary_to_integer", 1, erlang_binary_to_integer_1, kBifPlain, nullptr},
    {"erlang", "binary_to_integer", 2, erlang_binary_to_integer_2, kBifPlain, nullptr},
    {"erlang", "text_to_integer_dirty", 2, erlang_text_to_integer_dirty_2, kBifHiddenDirty, nullptr},
    {"erlang", "float_to_list", 1, erlang_float_to_list_1, kBifPlain, nullptr},
    {"erlang", "float_to_list", 2, erlang_float_to_list_2, kBifPlain, nullptr},
    {"erlang", "float_to_binary", 1, erlang_float_to_binary_1, kBifPlain, nullptr},
    {"erlang", "float_to_binary", 2, erlang_float_to_binary_2, kBifPlain, nullptr},
    {"erlang", "list_to_float", 1, erlang_list_to_float_1, kBifPlain, nullptr},
    {"erlang", "binary_to_float", 1, erlang_binary_to_float_1, kBifPlain, nullptr},
    {"erts_internal", "binary_to_integer", 2, erts_internal_binary_to_integer_2, kBifPlain, nullptr},
    {"erts_internal", "list_to_integer", 2, erts_internal_list_to_integer_2, kBifPlain, nullptr},
    {"string", "list_to_integer", 1, string_list_to_integer_1, kBifPlain, nullptr},
    {"string", "list_to_integer_dirty", 2, string_list_to_integer_dirty_2, kBifHiddenDirty, nullptr},
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
