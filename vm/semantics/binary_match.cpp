// Matching of bit strings.
#include "vm/semantics/binary.hpp"

#include "vm/process/outcome.hpp"
#include "vm/semantics/bytes.hpp"
#include "vm/term/bignum.hpp"
#include "vm/util/utf8.hpp"

#include <algorithm>
#include <bit>
#include <cmath>

namespace minivm {

namespace {

double half_to_double(uint16_t h, bool* finite) {
    const int exponent = h >> 10 & 0x1F;
    const int fraction = h & 0x3FF;
    *finite = exponent != 31;
    const double magnitude =
        exponent == 0 ? std::ldexp(fraction, -24) : std::ldexp(1024 + fraction, exponent - 25);
    return (h & 0x8000) != 0 ? -magnitude : magnitude;
}

}  // namespace

namespace semantics {

Term bs_read_integer(Process& p, const uint8_t* bytes, uint64_t position, uint64_t bits,
                     uint32_t flags) {
    if (bits == 0) {
        return make_small(0);
    }
    const bool little = bs_is_little(flags);
    const uint64_t whole = bits >> 3;
    const unsigned rest = bits & 7;
    if (bits <= 64) {
        const unsigned n = static_cast<unsigned>(bits);
        uint64_t v;
        if (!little || n <= 8) {
            v = load_bits(bytes, position, n);
        } else {
            // Whole bytes, least significant first; then the bits above them.
            v = swap_bytes(load_bits(bytes, position, n - rest), static_cast<unsigned>(whole));
            if (rest != 0) {
                v |= load_bits(bytes, position + 8 * whole, rest) << 8 * whole;
            }
        }
        if (!bs_is_signed(flags)) {
            return make_unsigned(p.heap, v);
        }
        const unsigned unused = 64 - n;
        return make_integer(p.heap, static_cast<int64_t>(v << unused) >> unused);
    }
    const size_t size = whole + (rest != 0);
    ScratchBytes scratch(size);
    uint8_t* digits = scratch.data();
    if (little) {
        copy_bits(bytes, position, digits, 0, 8 * whole);
        if (rest != 0) {
            digits[whole] = static_cast<uint8_t>(load_bits(bytes, position + 8 * whole, rest));
        }
    } else {
        copy_bits(bytes, position + rest, digits, 0, 8 * whole);
        std::reverse(digits, digits + whole);
        if (rest != 0) {
            digits[whole] = static_cast<uint8_t>(load_bits(bytes, position, rest));
        }
    }
    const unsigned top = rest != 0 ? rest : 8;
    const bool negative = bs_is_signed(flags) && (digits[size - 1] >> (top - 1) & 1) != 0;
    if (negative) {
        digits[size - 1] |= static_cast<uint8_t>(0xFF << top);
        negate(digits, size);
    }
    return bignum::from_magnitude(p.heap, negative, digits, size);
}

Term bs_get_float(Process& p, Term ctx, Term size, uint32_t unit, uint32_t flags) {
    MatchContext* m = match_context(ctx);
    uint64_t bits;
    if (!bs_field_bits(size, unit, &bits) || bits > m->left()) {
        return kNonValue;
    }
    double d = 0.0;  // the value of no bits
    if (bits != 0) {
        if (bits != 16 && bits != 32 && bits != 64) {
            return kNonValue;
        }
        const unsigned n = static_cast<unsigned>(bits);
        uint64_t v = load_bits(storage_bytes(m->orig), m->position, n);
        if (bs_is_little(flags)) {
            v = swap_bytes(v, n / 8);
        }
        bool finite = true;
        if (n == 16) {
            d = half_to_double(static_cast<uint16_t>(v), &finite);
        } else {
            d = n == 32 ? std::bit_cast<float>(static_cast<uint32_t>(v)) : std::bit_cast<double>(v);
            finite = std::isfinite(d);
        }
        if (!finite) {
            return kNonValue;
        }
    }
    m->position += bits;
    return make_float(p.heap, d);
}

bool bs_match_string(Term ctx, uint64_t bits, const uint8_t* string) {
    MatchContext* m = match_context(ctx);
    if (bits > m->left() ||
        compare_bits({storage_bytes(m->orig), m->position, bits}, {string, 0, bits}) != 0) {
        return false;
    }
    m->position += bits;
    return true;
}

Term bs_context_to_binary(Process& p, Term t) {
    if (!is_match_context(t)) {
        return t;
    }
    const MatchContext* m = match_context(t);
    return part_of_storage(p.heap, m->orig, m->first, m->end - m->first);
}

Term bs_get_utf8(Term ctx) {
    MatchContext* m = match_context(ctx);
    const uint64_t left = m->left() >> 3;
    if (left == 0) {
        return kNonValue;
    }
    const uint8_t* bytes = storage_bytes(m->orig);
    const unsigned n = static_cast<unsigned>(std::min<uint64_t>(left, 4));
    uint8_t copy[4];
    const uint8_t* at = bytes + (m->position >> 3);
    if ((m->position & 7) != 0) {
        copy_bits(bytes, m->position, copy, 0, 8 * n);
        at = copy;
    }
    uint32_t c;
    bool more;
    const unsigned length = utf8_decode(at, n, &c, &more);
    if (length == 0) {
        return kNonValue;
    }
    m->position += 8 * length;
    return make_small(c);
}

Term bs_get_utf16(Term ctx, uint32_t flags) {
    MatchContext* m = match_context(ctx);
    const uint8_t* bytes = storage_bytes(m->orig);
    const auto unit_at = [&](uint64_t bit) {
        const uint64_t v = load_bits(bytes, bit, 16);
        return static_cast<uint32_t>(bs_is_little(flags) ? swap_bytes(v, 2) : v);
    };
    if (m->left() < 16) {
        return kNonValue;
    }
    const uint32_t first = unit_at(m->position);
    if (first < 0xD800 || first > 0xDFFF) {
        m->position += 16;
        return make_small(first);
    }
    if (first > 0xDBFF || m->left() < 32) {
        return kNonValue;
    }
    const uint32_t second = unit_at(m->position + 16);
    if (second < 0xDC00 || second > 0xDFFF) {
        return kNonValue;
    }
    m->position += 32;
    return make_small(0x10000 + ((first & 0x3FF) << 10) + (second & 0x3FF));
}

Term bs_get_utf32(Term ctx, uint32_t flags) {
    MatchContext* m = match_context(ctx);
    if (m->left() < 32) {
        return kNonValue;
    }
    uint64_t v = load_bits(storage_bytes(m->orig), m->position, 32);
    if (bs_is_little(flags)) {
        v = swap_bytes(v, 4);
    }
    if (!is_unicode(v)) {
        return kNonValue;
    }
    m->position += 32;
    return make_small(static_cast<int64_t>(v));
}

bool bs_match_equal(Term ctx, uint64_t bits, uint64_t value) {
    MatchContext* m = match_context(ctx);
    if (bits > m->left() ||
        load_bits(storage_bytes(m->orig), m->position, static_cast<unsigned>(bits)) != value) {
        return false;
    }
    m->position += bits;
    return true;
}

bool bs_match(Process& p, Term ctx, const Word* list, size_t n, const ListRegisters& registers) {
    const Word before = match_context(ctx)->position;
    const Word* const end = list + n;
    bool ok = true;
    for (const Word* c = list; ok && c < end; c += kBsCommandWords[c[0]]) {
        switch (static_cast<BsMatchCommand>(c[0])) {
            case kBsEnsureAtLeast:
                ok = bs_ensure_at_least(ctx, c[1], static_cast<uint32_t>(c[2]));
                break;
            case kBsEnsureExactly:
                ok = bs_ensure_exactly(ctx, c[1]);
                break;
            case kBsInteger: {
                const Term r =
                    bs_get_integer_bits(p, ctx, c[3] * c[4], static_cast<uint32_t>(c[2]));
                ok = is_value(r);
                if (ok) {
                    *registers.at(c[5]) = r;
                }
                break;
            }
            case kBsBinary: {
                const Term r = bs_get_binary_bits(p, ctx, c[3] * c[4]);
                ok = is_value(r);
                if (ok) {
                    *registers.at(c[5]) = r;
                }
                break;
            }
            case kBsGetTail:
                *registers.at(c[3]) = bs_get_tail(p, ctx);
                break;
            case kBsEqual:
                ok = bs_match_equal(ctx, c[2], c[3]);
                break;
            case kBsSkip:
                ok = bs_skip(ctx, c[1]);
                break;
        }
    }
    if (!ok) {
        match_context(ctx)->position = before;
    }
    return ok;
}

}  // namespace semantics
}  // namespace minivm
