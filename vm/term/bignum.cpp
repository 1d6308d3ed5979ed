// See bignum.hpp.
//
// Operands are seen through Operand, which gives a small integer the shape of a big one. Results
// are computed straight into the heap where their size is known but for a limb or so, and trimmed.
#include "vm/term/bignum.hpp"

#include <gmp.h>

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstring>
#include <memory>
#include <vector>

#include "vm/util/otp_release.hpp"

namespace minivm::bignum {
namespace {

static_assert(sizeof(mp_limb_t) == sizeof(Word) && GMP_NUMB_BITS == 64);

// Results of more limbs are a system_limit.
size_t max_limbs() { return by_release::max_big_limbs(); }

struct Operand {
    const mp_limb_t* limbs;
    size_t n;  // 0 for zero; the top limb is not 0
    bool negative;
    mp_limb_t small;

    explicit Operand(Term t) {
        if (is_small(t)) {
            const int64_t v = small_value(t);
            negative = v < 0;
            small = negative ? -static_cast<uint64_t>(v) : static_cast<uint64_t>(v);
            limbs = &small;
            n = v != 0 ? 1 : 0;
        } else {
            MINIVM_ASSERT(is_big(t));
            limbs = reinterpret_cast<const mp_limb_t*>(big_digits(t));
            n = big_limbs(t);
            negative = big_is_negative(t);
        }
    }
    Operand(const Operand&) = delete;
    Operand& operator=(const Operand&) = delete;
};

size_t significant(const mp_limb_t* limbs, size_t n) {
    while (n > 0 && limbs[n - 1] == 0) {
        --n;
    }
    return n;
}

// A result under construction: n limbs in the heap behind a header word.
class Result {
public:
    Result(Heap& h, size_t limbs) : heap_(h), capacity_(limbs), object_(h.alloc(limbs + 1)) {}
    mp_limb_t* limbs() { return reinterpret_cast<mp_limb_t*>(object_ + 1); }
    Term finish(bool negative, size_t n) {
        MINIVM_ASSERT(n <= capacity_);
        n = significant(limbs(), n);
        constexpr uint64_t kLargest = static_cast<uint64_t>(kSmallMax);
        if (n == 0 || (n == 1 && limbs()[0] <= kLargest + (negative ? 1 : 0))) {
            const uint64_t v = n == 0 ? 0 : limbs()[0];
            heap_.trim(object_, capacity_ + 1, 0);
            return make_small(static_cast<int64_t>(negative ? -v : v));
        }
        if (n > max_limbs()) {
            heap_.trim(object_, capacity_ + 1, 0);
            return kNonValue;
        }
        *object_ = Term{make_header(negative ? Kind::neg_big : Kind::pos_big, n)};
        if (n < capacity_) {
            heap_.trim(object_, capacity_ + 1, n + 1);
        }
        return make_boxed(object_);
    }

private:
    Heap& heap_;
    size_t capacity_;
    Term* object_;
};

// Scratch limbs: on the C++ stack while few.
class Scratch {
public:
    explicit Scratch(size_t n) {
        if (n > kInline) {
            more_ = std::make_unique_for_overwrite<mp_limb_t[]>(n);
        }
    }
    mp_limb_t* limbs() { return more_ ? more_.get() : inline_; }

private:
    static constexpr size_t kInline = 48;
    mp_limb_t inline_[kInline];
    std::unique_ptr<mp_limb_t[]> more_;
};

int compare_magnitudes(const Operand& a, const Operand& b) {
    if (a.n != b.n) {
        return a.n < b.n ? -1 : 1;
    }
    return a.n == 0 ? 0 : mpn_cmp(a.limbs, b.limbs, static_cast<mp_size_t>(a.n));
}

// |a| + |b| with the given sign.
Term add_magnitudes(Heap& h, const Operand& a, const Operand& b, bool negative) {
    const Operand& x = a.n >= b.n ? a : b;
    const Operand& y = a.n >= b.n ? b : a;
    Result r(h, x.n + 1);
    if (y.n == 0) {
        std::copy_n(x.limbs, x.n, r.limbs());
        return r.finish(negative, x.n);
    }
    r.limbs()[x.n] = mpn_add(r.limbs(), x.limbs, static_cast<mp_size_t>(x.n), y.limbs,
                             static_cast<mp_size_t>(y.n));
    return r.finish(negative, x.n + 1);
}

// |a| - |b|, negated if `negative`.
Term sub_magnitudes(Heap& h, const Operand& a, const Operand& b, bool negative) {
    const int c = compare_magnitudes(a, b);
    if (c == 0) {
        return make_small(0);
    }
    const Operand& x = c > 0 ? a : b;
    const Operand& y = c > 0 ? b : a;
    Result r(h, x.n);
    if (y.n == 0) {
        std::copy_n(x.limbs, x.n, r.limbs());
    } else {
        mpn_sub(r.limbs(), x.limbs, static_cast<mp_size_t>(x.n), y.limbs,
                static_cast<mp_size_t>(y.n));
    }
    return r.finish(negative != (c < 0), x.n);
}

Term from_operand(Heap& h, const Operand& a, bool negative) {
    Result r(h, a.n);
    std::copy_n(a.limbs, a.n, r.limbs());
    return r.finish(negative, a.n);
}

// The limbs of a in two's complement, sign extended to n limbs.
void to_twos_complement(const Operand& a, mp_limb_t* out, size_t n) {
    std::copy_n(a.limbs, a.n, out);
    std::fill(out + a.n, out + n, 0);
    if (a.negative) {
        mpn_neg(out, out, static_cast<mp_size_t>(n));
    }
}

template <typename Op>
Term bitwise(Heap& h, Term a, Term b, Op op) {
    const Operand x(a);
    const Operand y(b);
    // One limb more than the longer one holds its sign.
    const size_t n = std::max(x.n, y.n) + 1;
    Scratch scratch(n);
    Result r(h, n);
    to_twos_complement(x, scratch.limbs(), n);
    to_twos_complement(y, r.limbs(), n);
    for (size_t i = 0; i < n; ++i) {
        r.limbs()[i] = op(scratch.limbs()[i], r.limbs()[i]);
    }
    const bool negative = (r.limbs()[n - 1] >> 63) != 0;
    if (negative) {
        mpn_neg(r.limbs(), r.limbs(), static_cast<mp_size_t>(n));
    }
    return r.finish(negative, n);
}

// Quotient and remainder of the magnitudes, |a| >= |b| > 0. Each pointer may be null: not wanted.
void divide(const Operand& a, const Operand& b, mp_limb_t* quotient, mp_limb_t* remainder) {
    const auto an = static_cast<mp_size_t>(a.n);
    const auto bn = static_cast<mp_size_t>(b.n);
    if (bn == 1) {
        Scratch q(quotient != nullptr ? 0 : a.n);
        const mp_limb_t r =
            mpn_divrem_1(quotient != nullptr ? quotient : q.limbs(), 0, a.limbs, an, b.limbs[0]);
        if (remainder != nullptr) {
            remainder[0] = r;
        }
        return;
    }
    Scratch q(quotient != nullptr ? 0 : a.n - b.n + 1);
    Scratch r(remainder != nullptr ? 0 : b.n);
    mpn_tdiv_qr(quotient != nullptr ? quotient : q.limbs(),
                remainder != nullptr ? remainder : r.limbs(), 0, a.limbs, an, b.limbs, bn);
}

unsigned bit_length(const Operand& a, size_t* limbs_below) {
    *limbs_below = a.n - 1;
    return static_cast<unsigned>(std::bit_width(a.limbs[a.n - 1]));
}

}  // namespace

Term add(Heap& h, Term a, Term b) {
    const Operand x(a);
    const Operand y(b);
    return x.negative == y.negative ? add_magnitudes(h, x, y, x.negative)
                                    : sub_magnitudes(h, x, y, x.negative);
}

Term sub(Heap& h, Term a, Term b) {
    const Operand x(a);
    const Operand y(b);
    return x.negative != y.negative ? add_magnitudes(h, x, y, x.negative)
                                    : sub_magnitudes(h, x, y, x.negative);
}

Term mul(Heap& h, Term a, Term b) {
    const Operand x(a);
    const Operand y(b);
    if (x.n == 0 || y.n == 0) {
        return make_small(0);
    }
    if (x.n + y.n - 1 > max_limbs()) {
        return kNonValue;  // the product has at least so many limbs
    }
    const Operand& longer = x.n >= y.n ? x : y;
    const Operand& shorter = x.n >= y.n ? y : x;
    Result r(h, x.n + y.n);
    if (a == b) {
        mpn_sqr(r.limbs(), x.limbs, static_cast<mp_size_t>(x.n));
    } else {
        mpn_mul(r.limbs(), longer.limbs, static_cast<mp_size_t>(longer.n), shorter.limbs,
                static_cast<mp_size_t>(shorter.n));
    }
    return r.finish(x.negative != y.negative, x.n + y.n);
}

Term div(Heap& h, Term a, Term b) {
    const Operand x(a);
    const Operand y(b);
    MINIVM_ASSERT(y.n != 0);
    if (compare_magnitudes(x, y) < 0) {
        return make_small(0);
    }
    const size_t n = x.n - y.n + 1;
    Result r(h, n);
    divide(x, y, r.limbs(), nullptr);
    return r.finish(x.negative != y.negative, n);
}

Term rem(Heap& h, Term a, Term b) {
    const Operand x(a);
    const Operand y(b);
    MINIVM_ASSERT(y.n != 0);
    if (compare_magnitudes(x, y) < 0) {
        return a;
    }
    Result r(h, y.n);
    divide(x, y, nullptr, r.limbs());
    return r.finish(x.negative, y.n);
}

Term band(Heap& h, Term a, Term b) {
    return bitwise(h, a, b, [](mp_limb_t x, mp_limb_t y) { return x & y; });
}

Term bor(Heap& h, Term a, Term b) {
    return bitwise(h, a, b, [](mp_limb_t x, mp_limb_t y) { return x | y; });
}

Term bxor(Heap& h, Term a, Term b) {
    return bitwise(h, a, b, [](mp_limb_t x, mp_limb_t y) { return x ^ y; });
}

Term bnot(Heap& h, Term a) {
    return sub(h, make_small(-1), a);
}

Term neg(Heap& h, Term a) {
    const Operand x(a);
    return from_operand(h, x, !x.negative);
}

Term shift_left(Heap& h, Term a, int64_t n) {
    const Operand x(a);
    if (x.n == 0 || n == 0) {
        return a;
    }
    if (n > 0) {
        const uint64_t limbs = static_cast<uint64_t>(n) / 64;
        const auto bits = static_cast<unsigned>(n % 64);
        size_t below = 0;
        const unsigned top = bit_length(x, &below);
        const size_t needed_extra = top + bits > 64 ? 1 : 0;
        if (limbs > max_limbs() || limbs + x.n + needed_extra > max_limbs()) {
            return kNonValue;
        }
        const size_t size = limbs + x.n + 1;
        Result r(h, size);
        std::fill_n(r.limbs(), limbs, 0);
        if (bits == 0) {
            std::copy_n(x.limbs, x.n, r.limbs() + limbs);
            r.limbs()[size - 1] = 0;
        } else {
            r.limbs()[size - 1] =
                mpn_lshift(r.limbs() + limbs, x.limbs, static_cast<mp_size_t>(x.n), bits);
        }
        return r.finish(x.negative, size);
    }
    const uint64_t right = -static_cast<uint64_t>(n);
    const uint64_t limbs = right / 64;
    const auto bits = static_cast<unsigned>(right % 64);
    if (limbs >= x.n) {
        return make_small(x.negative ? -1 : 0);
    }
    const size_t size = x.n - limbs;
    Result r(h, size + 1);
    bool lost = significant(x.limbs, limbs) != 0;  // a bit that is 1 was shifted out
    if (bits == 0) {
        std::copy_n(x.limbs + limbs, size, r.limbs());
    } else {
        const mp_limb_t out =
            mpn_rshift(r.limbs(), x.limbs + limbs, static_cast<mp_size_t>(size), bits);
        lost = lost || out != 0;
    }
    r.limbs()[size] = 0;
    if (x.negative && lost) {
        r.limbs()[size] = mpn_add_1(r.limbs(), r.limbs(), static_cast<mp_size_t>(size), 1);
    }
    return r.finish(x.negative, size + 1);
}

int compare(Term a, Term b) {
    if (both_small(a, b)) {
        const int64_t x = small_value(a);
        const int64_t y = small_value(b);
        return x < y ? -1 : x > y ? 1 : 0;
    }
    const Operand x(a);
    const Operand y(b);
    if (x.negative != y.negative) {
        return x.negative ? -1 : 1;
    }
    const int c = compare_magnitudes(x, y);
    return x.negative ? -c : c;
}

// Ties to even. Infinite: it does not fit.
static double nearest_double(const Operand& x) {
    // The topmost 64 bits, the last of them also set if any bit below is set. A rounding to 53 bits only needs to know
    // whether there is such a bit, so it gives what rounding the whole number would.
    const auto unused = static_cast<unsigned>(std::countl_zero(x.limbs[x.n - 1]));
    uint64_t top = x.limbs[x.n - 1] << unused;
    size_t below = x.n - 1;
    if (unused != 0 && below != 0) {
        --below;
        top |= x.limbs[below] >> (64 - unused);
        top |= x.limbs[below] << unused != 0 ? 1 : 0;
    }
    while (below-- > 0) {
        top |= x.limbs[below] != 0 ? 1 : 0;
    }
    const size_t bits = 64 * x.n - unused;
    return bits > 1024 ? HUGE_VAL : std::ldexp(static_cast<double>(top), static_cast<int>(bits) - 64);
}

bool to_double(Term a, double* out) {
    if (is_small(a)) {
        *out = static_cast<double>(small_value(a));
        return true;
    }
    const Operand x(a);
    if (by_release::at_least(29)) {
        const double d = nearest_double(x);
        *out = x.negative ? -d : d;
        return std::isfinite(d);
    }
    double d = 0.0;
    // Limb by limb from the top, as OTP up to 28 does: a limb of more than 53 bits is rounded before it
    // is added, so the last bit may differ from the nearest double.
    for (size_t i = x.n; i-- > 0;) {
        d = d * 0x1p64 + static_cast<double>(x.limbs[i]);
        if (!std::isfinite(d)) {
            return false;
        }
    }
    *out = x.negative ? -d : d;
    return true;
}

int compare_with_double(Term a, double d) {
    const Operand x(a);
    const bool negative = d < 0;
    if (x.n == 0) {
        return d > 0 ? -1 : negative ? 1 : 0;
    }
    if (d == 0 || negative != x.negative) {
        return x.negative ? -1 : 1;
    }
    const int sign = negative ? -1 : 1;
    const double magnitude = std::fabs(d);
    if (magnitude < 1) {
        return sign;
    }
    if (!std::isfinite(magnitude)) {
        return -sign;
    }
    // magnitude = significand * 2^exponent with a significand below 2^53.
    int exponent = 0;
    const double fraction = std::frexp(magnitude, &exponent);
    size_t below = 0;
    const uint64_t length = bit_length(x, &below) + below * 64;
    if (length != static_cast<uint64_t>(exponent)) {
        return length < static_cast<uint64_t>(exponent) ? -sign : sign;
    }
    // Same bit length: compare the top 53 bits, then what the integer has below, or the double
    // behind the point.
    const auto significand = static_cast<uint64_t>(std::ldexp(fraction, 64));
    const unsigned top_bits = length % 64 == 0 ? 64 : static_cast<unsigned>(length % 64);
    uint64_t top = x.limbs[x.n - 1] << (64 - top_bits);
    if (top_bits < 64 && x.n > 1) {
        top |= x.limbs[x.n - 2] >> top_bits;
    }
    if (top != significand) {
        return top < significand ? -sign : sign;
    }
    // The bits below the 64 looked at: all of the integer's, as the double has none there.
    if (x.n == 1) {
        return 0;
    }
    const mp_limb_t rest = top_bits < 64 ? x.limbs[x.n - 2] << (64 - top_bits) : x.limbs[x.n - 2];
    return rest != 0 || significant(x.limbs, x.n - 2) != 0 ? sign : 0;
}

Term from_double(Heap& h, double d) {
    MINIVM_ASSERT(std::isfinite(d) && std::trunc(d) == d);
    if (std::fabs(d) < 0x1p60) {
        return make_small(static_cast<int64_t>(d));
    }
    int exponent = 0;
    const double fraction = std::frexp(std::fabs(d), &exponent);
    const auto significand = static_cast<uint64_t>(std::ldexp(fraction, 53));
    const auto shift = static_cast<unsigned>(exponent - 53);
    mp_limb_t limbs[(1024 + 64) / 64] = {};
    const unsigned bits = shift % 64;
    limbs[shift / 64] = significand << bits;
    if (bits > 11) {
        limbs[shift / 64 + 1] = significand >> (64 - bits);
    }
    return from_limbs(h, d < 0, reinterpret_cast<const uint64_t*>(limbs), std::size(limbs));
}

size_t magnitude_bytes(Term a) {
    const Operand x(a);
    if (x.n == 0) {
        return 0;
    }
    size_t below = 0;
    return (bit_length(x, &below) + 7) / 8 + below * 8;
}

void copy_magnitude(Term a, uint8_t* little_endian, size_t n) {
    const Operand x(a);
    MINIVM_ASSERT(n <= x.n * 8);
    if (n > 0) {
        std::memcpy(little_endian, x.limbs, n);
    }
}

Term from_magnitude(Heap& h, bool negative, const uint8_t* little_endian, size_t n) {
    while (n > 0 && little_endian[n - 1] == 0) {
        --n;
    }
    const size_t limbs = (n + 7) / 8;
    if (limbs > max_limbs()) {
        return kNonValue;
    }
    Result r(h, limbs);
    if (limbs > 0) {
        r.limbs()[limbs - 1] = 0;
        std::memcpy(r.limbs(), little_endian, n);
    }
    return r.finish(negative, limbs);
}

Term from_limbs(Heap& h, bool negative, const uint64_t* limbs, size_t n) {
    return from_magnitude(h, negative, reinterpret_cast<const uint8_t*>(limbs), n * 8);
}

std::string to_string(Term a, int base) {
    MINIVM_ASSERT(base >= 2 && base <= 36);
    const Operand x(a);
    if (x.n == 0) {
        return "0";
    }
    constexpr char kDigits[] = "0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZ";
    if (x.n == 1) {
        char text[65];
        char* p = text + sizeof(text);
        mp_limb_t v = x.limbs[0];
        if (base == 10) {  // the compiler divides by a constant with a multiplication
            for (; v != 0; v /= 10) {
                *--p = kDigits[v % 10];
            }
        }
        for (; v != 0; v /= static_cast<unsigned>(base)) {
            *--p = kDigits[v % static_cast<unsigned>(base)];
        }
        if (x.negative) {
            *--p = '-';
        }
        return {p, static_cast<size_t>(text + sizeof(text) - p)};
    }
    // mpn_get_str destroys what it converts.
    std::vector<mp_limb_t> limbs(x.limbs, x.limbs + x.n);
    limbs.push_back(0);
    const size_t space = static_cast<size_t>(static_cast<double>(x.n) * 64 / std::log2(base)) + 3;
    std::string text(space + 1, '\0');
    auto* digits = reinterpret_cast<unsigned char*>(text.data()) + 1;
    const size_t count = mpn_get_str(digits, base, limbs.data(), static_cast<mp_size_t>(x.n));
    MINIVM_CHECK(count <= space);
    size_t first = 0;
    while (first + 1 < count && digits[first] == 0) {
        ++first;
    }
    for (size_t i = first; i < count; ++i) {
        digits[i] = static_cast<unsigned char>(kDigits[digits[i]]);
    }
    text.resize(count + 1);
    text.erase(0, first + 1);
    if (x.negative) {
        text.insert(text.begin(), '-');
    }
    return text;
}

Term parse(Heap& h, std::string_view digits, int base) {
    MINIVM_ASSERT(base >= 2 && base <= 36);
    bool negative = false;
    if (!digits.empty() && (digits[0] == '-' || digits[0] == '+')) {
        negative = digits[0] == '-';
        digits.remove_prefix(1);
    }
    if (digits.empty()) {
        return kNonValue;
    }
    const auto digit_value = [](char c) {
        return c >= '0' && c <= '9'   ? c - '0'
               : c >= 'A' && c <= 'Z' ? c - 'A' + 10
               : c >= 'a' && c <= 'z' ? c - 'a' + 10
                                      : 99;
    };
    for (const char c : digits) {
        if (digit_value(c) >= base) {
            return kNonValue;
        }
    }
    while (digits.size() > 1 && digits[0] == '0') {
        digits.remove_prefix(1);
    }
    const double bits = static_cast<double>(digits.size()) * std::log2(base);
    if (bits < 60) {
        int64_t v = 0;
        for (const char c : digits) {
            v = v * base + digit_value(c);
        }
        return make_small(negative ? -v : v);
    }
    if (bits > (static_cast<double>(max_limbs()) + 2) * 64) {
        return kNonValue;
    }
    std::string values(digits.size(), '\0');
    std::transform(digits.begin(), digits.end(), values.begin(),
                   [&](char c) { return static_cast<char>(digit_value(c)); });
    Result r(h, static_cast<size_t>(bits / 64) + 2);
    const mp_size_t n = mpn_set_str(
        r.limbs(), reinterpret_cast<const unsigned char*>(values.data()), values.size(), base);
    return r.finish(negative, static_cast<size_t>(n));
}

}  // namespace minivm::bignum
