#include "vm/semantics/binary.hpp"

#include "vm/process/outcome.hpp"
#include "vm/semantics/bytes.hpp"
#include "vm/term/bignum.hpp"
#include "vm/term/compare.hpp"
#include "vm/term/map.hpp"
#include "vm/util/otp_release.hpp"
#include "vm/util/scratch.hpp"
#include "vm/util/utf8.hpp"

#include <algorithm>
#include <bit>
#include <cmath>

namespace minivm {

namespace {

// ---- numbers <-> bits --------------------------------------------------------------------------

// To nearest, ties to even; infinity if it is too large, as OTP.
uint16_t double_to_half(double d) {
    uint64_t b = std::bit_cast<uint64_t>(d);
    const uint16_t sign = static_cast<uint16_t>(b >> 48 & 0x8000);
    b &= ~uint64_t{0} >> 1;
    const double magnitude = std::bit_cast<double>(b);
    if (magnitude >= 65536.0) {
        return sign | 0x7C00;
    }
    if (magnitude < 0x1p-14) {  // denormal: the last bit of a double at 2^28 is worth 2^-24
        const double shifted = magnitude + 0x1p28;
        return static_cast<uint16_t>(
            sign | (std::bit_cast<uint64_t>(shifted) - std::bit_cast<uint64_t>(0x1p28)));
    }
    b += (static_cast<uint64_t>(15 - 1023) << 52) + (uint64_t{1} << 41) - 1 + (b >> 42 & 1);
    return static_cast<uint16_t>(sign | b >> 42);
}

}  // namespace

namespace semantics {

// ---- construction: errors ----------------------------------------------------------------------

namespace {

// Larger than any memory: OTP ends when it cannot allocate, here it is a system_limit.
constexpr uint64_t kMaxBits = uint64_t{1} << 40;

const char* type_name(BinSegment::Type type) {
    switch (type) {
        case BinSegment::Type::integer:
            return "integer";
        case BinSegment::Type::float_:
            return "float";
        case BinSegment::Type::utf8:
            return "utf8";
        case BinSegment::Type::utf16:
            return "utf16";
        case BinSegment::Type::utf32:
            return "utf32";
        default:
            return "binary";
    }
}

// Raises `reason`, with what erl_erts_errors:format_bs_fail/2 needs for a sentence. The legacy
// instructions have no segment to name.
Term bs_fail(Process& p, Term reason, const BinSegment* s, const char* what, Term value) {
    error(p, reason);
    if (s != nullptr) {
        const Term cause =
            make_tuple(p.heap, make_small(s->number), atom_table::intern(type_name(s->type)),
                       atom_table::intern(what), value);
        Term keys[3] = {atoms::cause, atoms::function, atoms::module};
        Term values[3] = {cause, atom_table::intern("format_bs_fail"), atoms::erl_erts_errors};
        p.exception.error_info = map::from_pairs(p.heap, keys, values, 3);
    }
    return kNonValue;
}

// Size * Unit; false: raised.
bool construction_bits(Process& p, const BinSegment* s, Term size, uint32_t unit, uint64_t* bits) {
    if (is_small(size) && small_value(size) >= 0) {
        if (__builtin_mul_overflow(static_cast<uint64_t>(small_value(size)), unit, bits) ||
            *bits > kMaxBits) {
            bs_fail(p, atoms::system_limit, s, "size", size);
            return false;
        }
        return true;
    }
    const bool large = is_big(size) && !big_is_negative(size);
    bs_fail(p, large ? atoms::system_limit : atoms::badarg, s, "size", size);
    return false;
}

bool is_character(Term t) {
    return is_small(t) && is_unicode(static_cast<uint64_t>(small_value(t)));
}

// The number as a double; an integer too large for one is none.
bool to_double(Term t, double* d) {
    if (is_small(t)) {
        *d = static_cast<double>(small_value(t));
        return true;
    }
    if (is_float(t)) {
        *d = float_value(t);
        return true;
    }
    return is_big(t) && bignum::to_double(t, d) && std::isfinite(*d);
}

// ---- construction: writing ---------------------------------------------------------------------

// The first n bytes of v, most significant first; 1 <= n <= 8. By stores that overlap, as a call of
// memcpy costs more than they do.
inline void store_bytes(uint8_t* to, uint64_t v, unsigned n) {
    if (n == 1) {
        *to = static_cast<uint8_t>(v >> 56);
        return;
    }
    if (n == 8) {
        v = __builtin_bswap64(v);
        std::memcpy(to, &v, 8);
        return;
    }
    if (n >= 4) {
        const auto first4 = __builtin_bswap32(static_cast<uint32_t>(v >> 32));
        const auto last4 = __builtin_bswap32(static_cast<uint32_t>(v >> (64 - 8 * n)));
        std::memcpy(to, &first4, 4);
        std::memcpy(to + n - 4, &last4, 4);
    } else {
        const auto first2 = __builtin_bswap16(static_cast<uint16_t>(v >> 48));
        std::memcpy(to, &first2, 2);
        to[n - 1] = static_cast<uint8_t>(v >> (64 - 8 * n));
    }
}

struct BitWriter {
    uint8_t* bytes;
    uint64_t position;

    // The low n bits of v, n <= 64. What follows them in the last byte means nothing yet.
    void put_bits(uint64_t v, unsigned n) {
        const unsigned before = position & 7;
        if (n + before > 64) {
            put_bits(v >> 32, n - 32);
            put_bits(v, 32);
            return;
        }
        if (n == 0) {
            return;
        }
        uint8_t* to = bytes + (position >> 3);
        uint64_t top = v << (64 - n) >> before;
        if (before != 0) {
            top |= static_cast<uint64_t>(*to & ~(0xFFu >> before)) << 56;
        }
        store_bytes(to, top, (before + n + 7) >> 3);
        position += n;
    }

    void put_bytes(const uint8_t* from, size_t n) {
        if ((position & 7) == 0) {
            if (n != 0) {
                std::memcpy(bytes + (position >> 3), from, n);
            }
        } else {
            copy_bits(from, 0, bytes, position, 8 * n);
        }
        position += 8 * n;
    }

    void put_view(const BitView& v, uint64_t bits) {
        if (bits <= 56) {
            const auto n = static_cast<unsigned>(bits);
            put_bits(load_bits(v.bytes, v.offset, n), n);
            return;
        }
        copy_bits(v.bytes, v.offset, bytes, position, bits);
        position += bits;
    }

    void put_integer(Term t, uint64_t bits, uint32_t flags) {
        const bool little = bs_is_little(flags);
        if (bits <= 64 && is_small(t)) {
            const uint64_t v = static_cast<uint64_t>(small_value(t));
            const unsigned n = static_cast<unsigned>(bits);
            if (!little || n <= 8) {
                put_bits(v, n);
            } else {
                const unsigned whole = n & ~7u;
                put_bits(swap_bytes(v, whole / 8), whole);
                put_bits(whole == 64 ? 0 : v >> whole, n - whole);
            }
            return;
        }
        // Two's complement, least significant byte first.
        const size_t whole = bits >> 3;
        const unsigned rest = bits & 7;
        const size_t size = whole + 1;
        ScratchBytes scratch(size);
        uint8_t* digits = scratch.data();
        const bool negative = is_small(t) ? small_value(t) < 0 : big_is_negative(t);
        if (is_small(t)) {
            const int64_t v = small_value(t);
            const size_t n = std::min<size_t>(size, 8);
            std::memset(digits, negative ? 0xFF : 0, size);
            std::memcpy(digits, &v, n);
        } else {
            const size_t n = std::min(size, big_limbs(t) * 8);
            std::memset(digits + n, 0, size - n);
            std::memcpy(digits, big_digits(t), n);
            if (negative) {
                negate(digits, size);
            }
        }
        if (little) {
            put_bytes(digits, whole);
            put_bits(digits[whole], rest);
        } else {
            put_bits(digits[whole], rest);
            std::reverse(digits, digits + whole);
            put_bytes(digits, whole);
        }
    }

    void put_float(double d, unsigned bits, uint32_t flags) {
        uint64_t v;
        if (bits == 64) {
            v = std::bit_cast<uint64_t>(d);
        } else if (bits == 32) {
            v = std::bit_cast<uint32_t>(static_cast<float>(d));
        } else {
            v = double_to_half(d);
        }
        put_bits(bs_is_little(flags) ? swap_bytes(v, bits / 8) : v, bits);
    }

    void put_utf8(uint32_t c) {
        if (c < 0x80) {
            put_bits(c, 8);
            return;
        }
        uint8_t utf8[8] = {};
        const unsigned n = utf8_encode(c, utf8);
        put_bits(load_big<uint64_t>(utf8) >> (64 - 8 * n), 8 * n);
    }

    void put_utf16(uint32_t c, uint32_t flags) {
        const auto put = [&](uint32_t v) {
            put_bits(bs_is_little(flags) ? swap_bytes(v, 2) : v, 16);
        };
        if (c < 0x10000) {
            put(c);
        } else {
            put(0xD800 + ((c - 0x10000) >> 10));
            put(0xDC00 + ((c - 0x10000) & 0x3FF));
        }
    }

    void put_utf32(uint32_t c, uint32_t flags) {
        put_bits(bs_is_little(flags) ? swap_bytes(c, 4) : c, 32);
    }
};

unsigned utf8_bits(Term c) {
    const int64_t v = is_small(c) ? small_value(c) : -1;
    return v < 0 ? 32 : v < 0x80 ? 8 : v < 0x800 ? 16 : v < 0x10000 ? 24 : 32;
}
unsigned utf16_bits(Term c) {
    return is_small(c) && small_value(c) >= 0x10000 ? 32 : 16;
}

// The checks that come after all sizes are known. False: raised.
bool check_value(Process& p, const BinSegment& s, uint64_t bits) {
    switch (s.type) {
        case BinSegment::Type::integer:
            if (!is_integer(s.src)) {
                bs_fail(p, atoms::badarg, &s, "type", s.src);
                return false;
            }
            return true;
        case BinSegment::Type::float_: {
            double d;
            if (bits != 16 && bits != 32 && bits != 64) {
                bs_fail(p, atoms::badarg, &s, "invalid", make_small(static_cast<int64_t>(bits)));
            } else if (!is_number(s.src)) {
                bs_fail(p, atoms::badarg, &s, "type", s.src);
            } else if (!to_double(s.src, &d)) {
                bs_fail(p, atoms::badarg, &s, "no_float", s.src);
            } else {
                return true;
            }
            return false;
        }
        case BinSegment::Type::binary:
        case BinSegment::Type::append:
        case BinSegment::Type::private_append:
            if (!is_bitstring(s.src)) {
                bs_fail(p, atoms::badarg, &s, "type", s.src);
            } else if (s.whole && s.unit > 1 && bitstring_bits(s.src) % s.unit != 0) {
                bs_fail(p, atoms::badarg, &s, "unit", s.src);
            } else if (bitstring_bits(s.src) < bits) {
                bs_fail(p, atoms::badarg, &s, "short", s.src);
            } else {
                return true;
            }
            return false;
        case BinSegment::Type::utf8:
        case BinSegment::Type::utf16:
        case BinSegment::Type::utf32:
            if (!is_character(s.src)) {
                bs_fail(p, atoms::badarg, &s, "type", s.src);
                return false;
            }
            return true;
        case BinSegment::Type::string:
            return true;
    }
    return true;
}

}  // namespace

// ---- construction ------------------------------------------------------------------------------

namespace {

using Type = BinSegment::Type;

constexpr bool is_append(Type type) {
    return type == Type::append || type == Type::private_append;
}
Type type_of(const Word* segment) {
    return static_cast<Type>(segment[0]);
}

// Its size is the atom `all` in the file; that atom in a register is no size.
bool is_whole(const Word* segment) {
    return segment[5] == atoms::all.raw;
}

// The bits of a segment that bs_create_common can write; kNotCommon: it cannot.
constexpr uint64_t kNotCommon = ~uint64_t{0};
inline uint64_t common_bits(const Word* w, const ListRegisters& registers) {
    switch (type_of(w)) {
        case Type::integer: {
            const Term src = registers.value(w[4]);
            const Term size = registers.value(w[5]);
            if (both_small(src, size) && static_cast<uint64_t>(small_value(size)) <= 64) {
                const uint64_t bits = static_cast<uint64_t>(small_value(size)) * w[2];
                return bits <= 64 ? bits : kNotCommon;
            }
            return kNotCommon;
        }
        case Type::string:
            return 8 * static_cast<uint64_t>(small_value(Term{w[5]}));
        case Type::binary: {
            const Term src = registers.value(w[4]);
            if (!is_bitstring(src)) {
                return kNotCommon;
            }
            const Term size = registers.value(w[5]);
            const uint64_t there = bitstring_bits(src);
            if (is_whole(w)) {
                return w[2] <= 1 || bs_divisible(there, static_cast<uint32_t>(w[2])) ? there
                                                                                     : kNotCommon;
            }
            uint64_t bits;
            return bs_field_bits(size, static_cast<uint32_t>(w[2]), &bits) && bits <= there
                       ? bits
                       : kNotCommon;
        }
        case Type::utf8: {
            const Term src = registers.value(w[4]);
            return is_character(src) ? utf8_bits(src) : kNotCommon;
        }
        default:
            return kNotCommon;
    }
}

}  // namespace

Term bs_create_common(Process& p, const Word* list, size_t n, const ListRegisters& registers) {
    if (n == 0) {
        return kNonValue;
    }
    const Word* const end = list + n;
    const Word* rest = list;
    Term base = kNonValue;
    if (is_append(type_of(list))) {
        base = registers.value(list[4]);
        if (!is_bitstring(base) ||
            (list[2] > 1 && !bs_divisible(bitstring_bits(base), static_cast<uint32_t>(list[2])))) {
            return kNonValue;
        }
        rest += kBsSegmentWords;
    }
    uint64_t total = 0;
    for (const Word* w = rest; w < end; w += kBsSegmentWords) {
        const uint64_t bits = common_bits(w, registers);
        // A sum of fewer than 2^22 terms up to 2^40, see the loader: it cannot wrap around.
        if (bits > kMaxBits) {
            return kNonValue;
        }
        total += bits;
    }
    if (total > kMaxBits) {
        return kNonValue;
    }
    BitWriter out;
    Term result;
    if (is_value(base)) {
        result = append_bits(p.heap, base, total, &out.bytes, &out.position);
    } else {
        result = new_bits(p.heap, total, &out.bytes);
        out.position = 0;
        if ((total & 7) != 0) {
            out.bytes[total >> 3] = 0;
        }
    }
    for (const Word* w = rest; w < end; w += kBsSegmentWords) {
        switch (type_of(w)) {
            case Type::integer: {
                const uint64_t bits =
                    static_cast<uint64_t>(small_value(registers.value(w[5]))) * w[2];
                const Term src = registers.value(w[4]);
                if (bits == 8 && (out.position & 7) == 0) {
                    out.bytes[out.position >> 3] = static_cast<uint8_t>(small_value(src));
                    out.position += 8;
                } else {
                    out.put_integer(src, bits, static_cast<uint32_t>(w[3]));
                }
                break;
            }
            case Type::string:
                out.put_bytes(reinterpret_cast<const uint8_t*>(w[4]),
                              static_cast<size_t>(small_value(Term{w[5]})));
                break;
            case Type::binary: {
                // The append may have moved its storage.
                const BitView from = bit_view(registers.value(w[4]));
                out.put_view(from, is_whole(w) ? from.size
                                               : static_cast<uint64_t>(small_value(
                                                     registers.value(w[5]))) *
                                                     w[2]);
                break;
            }
            default:
                out.put_utf8(static_cast<uint32_t>(small_value(registers.value(w[4]))));
                break;
        }
    }
    return result;
}

Term bs_append_number(Process& p, Term base, uint64_t v, unsigned n, uint32_t unit) {
    if (!is_bitstring(base) || (unit > 1 && !bs_divisible(bitstring_bits(base), unit))) {
        return kNonValue;
    }
    BitWriter out;
    const Term result = append_bits(p.heap, base, n, &out.bytes, &out.position);
    if (n == 8 && (out.position & 7) == 0) {
        out.bytes[out.position >> 3] = static_cast<uint8_t>(v);
    } else {
        out.put_bits(v, n);
    }
    return result;
}

Term bs_create_bin(Process& p, const Word* list, size_t n, const ListRegisters& registers) {
    const Term common = bs_create_common(p, list, n, registers);
    if (MINIVM_LIKELY(is_value(common))) {
        return common;
    }
    const size_t count = n / kBsSegmentWords;
    Scratch<BinSegment, 32> scratch(count);
    BinSegment* const segments = scratch.data();
    for (size_t i = 0; i < count; ++i) {
        const Word* w = list + kBsSegmentWords * i;
        BinSegment& seg = segments[i];
        seg.type = type_of(w);
        seg.number = static_cast<uint32_t>(w[1]);
        seg.unit = static_cast<uint16_t>(w[2]);
        seg.flags = static_cast<uint8_t>(w[3]);
        seg.string = nullptr;
        seg.src = kNil;
        if (seg.type == Type::string) {
            seg.string = reinterpret_cast<const uint8_t*>(w[4]);
        } else {
            seg.src = registers.value(w[4]);
        }
        seg.size = registers.value(w[5]);
        seg.whole = is_whole(w);
    }
    return bs_create_bin(p, segments, count);
}

Term bs_create_bin(Process& p, const BinSegment* segments, size_t n) {
    Scratch<uint64_t, 32> scratch(n);
    uint64_t* const bits = scratch.data();
    // Checks sizes first, then values, as OTP does; UTF-32 characters, and by release UTF-8 ones, count as sizes.
    uint64_t total = 0;
    for (size_t i = 0; i < n; i++) {
        const BinSegment& s = segments[i];
        switch (s.type) {
            case Type::append:
            case Type::private_append:
                bits[i] = 0;  // its own bits are there already
                break;
            case Type::binary:
                if (s.whole) {
                    // Its unit is checked with the values.
                    if (!is_bitstring(s.src)) {
                        return bs_fail(p, atoms::badarg, &s, "type", s.src);
                    }
                    bits[i] = bitstring_bits(s.src);
                    break;
                }
                [[fallthrough]];
            case Type::integer:
            case Type::float_:
                if (!construction_bits(p, &s, s.size, s.unit, &bits[i])) {
                    return kNonValue;
                }
                break;
            case Type::string:
                bits[i] = 8 * static_cast<uint64_t>(small_value(s.size));
                break;
            case Type::utf8:
                if (by_release::checks_utf8_with_sizes() && !check_value(p, s, 0)) {
                    return kNonValue;
                }
                bits[i] = utf8_bits(s.src);
                break;
            case Type::utf16:
                bits[i] = utf16_bits(s.src);
                break;
            case Type::utf32:
                if (!check_value(p, s, 0)) {
                    return kNonValue;
                }
                bits[i] = 32;
                break;
        }
        total += bits[i];
        if (total > kMaxBits) {
            return bs_fail(p, atoms::system_limit, nullptr, nullptr, kNonValue);
        }
    }
    for (size_t i = 0; i < n; i++) {
        if (!check_value(p, segments[i], bits[i])) {
            return kNonValue;
        }
    }
    BitWriter w;
    Term result;
    size_t first = 0;
    if (n != 0 && is_append(segments[0].type)) {
        result = append_bits(p.heap, segments[0].src, total, &w.bytes, &w.position);
        first = 1;
    } else {
        result = new_bits(p.heap, total, &w.bytes);
        w.position = 0;
        if ((total & 7) != 0) {
            w.bytes[total >> 3] = 0;
        }
    }
    for (size_t i = first; i < n; i++) {
        const BinSegment& s = segments[i];
        switch (s.type) {
            case Type::integer:
                w.put_integer(s.src, bits[i], s.flags);
                break;
            case Type::float_: {
                double d = 0;
                to_double(s.src, &d);
                w.put_float(d, static_cast<unsigned>(bits[i]), s.flags);
                break;
            }
            case Type::binary:
            case Type::append:
            case Type::private_append:
                w.put_view(bit_view(s.src), bits[i]);
                break;
            case Type::string:
                w.put_bytes(s.string, bits[i] >> 3);
                break;
            case Type::utf8:
                w.put_utf8(static_cast<uint32_t>(small_value(s.src)));
                break;
            case Type::utf16:
                w.put_utf16(static_cast<uint32_t>(small_value(s.src)), s.flags);
                break;
            case Type::utf32:
                w.put_utf32(static_cast<uint32_t>(small_value(s.src)), s.flags);
                break;
        }
    }
    return result;
}

Term bs_init_writable(Process& p, Term size) {
    constexpr int64_t kDefaultBytes = 1024;
    constexpr int64_t kMaxHintBytes = 1 << 30;
    int64_t bytes = kDefaultBytes;
    if (is_small(size) && small_value(size) >= 0) {
        bytes = std::min(small_value(size), kMaxHintBytes);
    }
    return new_appendable(p.heap, static_cast<uint64_t>(bytes));
}

// ---- what older compilers wrote ----------------------------------------------------------------

namespace {
// The bit string that this scheduler's process is filling in. Its bytes are outside the heap.
struct Begun {
    BitWriter out;
    uint64_t end;  // no bit from here on is its own
    bool has_room(uint64_t bits) const { return bits <= end - out.position; }
};
thread_local Begun t_begun;

Term begin_behind(Process& p, Term bits, uint64_t extra) {
    const Term result = append_bits(p.heap, bits, extra, &t_begun.out.bytes, &t_begun.out.position);
    t_begun.end = t_begun.out.position + extra;
    // Nothing proves that all of it is filled in, and Erlang code must not see what this memory held before.
    if (extra != 0) {
        uint8_t* const first = t_begun.out.bytes + (t_begun.out.position >> 3);
        const unsigned kept = t_begun.out.position & 7;
        *first = static_cast<uint8_t>(*first & (0xFF00u >> kept));
        std::memset(first + 1, 0, ((t_begun.end + 7) >> 3) - (t_begun.out.position >> 3) - 1);
    }
    return result;
}
bool put_failed(Process& p) {
    bs_fail(p, atoms::badarg, nullptr, nullptr, kNonValue);
    return false;
}
}  // namespace

Term bs_init(Process& p, Term size, uint32_t unit) {
    uint64_t bits;
    if (!construction_bits(p, nullptr, size, unit, &bits)) {
        return kNonValue;
    }
    return begin_behind(p, new_appendable(p.heap, (bits + 7) >> 3), bits);
}

Term bs_append(Process& p, Term size, uint32_t size_unit, Term bin, uint32_t unit) {
    uint64_t bits;
    if (!construction_bits(p, nullptr, size, size_unit, &bits)) {
        return kNonValue;
    }
    if (!is_bitstring(bin) || (unit > 1 && bitstring_bits(bin) % unit != 0)) {
        return bs_fail(p, atoms::badarg, nullptr, nullptr, kNonValue);
    }
    return begin_behind(p, bin, bits);
}

bool bs_put_integer(Process& p, Term size, uint32_t unit, uint32_t flags, Term src) {
    uint64_t bits;
    if (!construction_bits(p, nullptr, size, unit, &bits)) {
        return false;
    }
    if (!is_integer(src) || !t_begun.has_room(bits)) {
        return put_failed(p);
    }
    t_begun.out.put_integer(src, bits, flags);
    return true;
}

bool bs_put_float(Process& p, Term size, uint32_t unit, uint32_t flags, Term src) {
    uint64_t bits;
    if (!construction_bits(p, nullptr, size, unit, &bits)) {
        return false;
    }
    double d;
    if ((bits != 16 && bits != 32 && bits != 64) || !to_double(src, &d) || !t_begun.has_room(bits)) {
        return put_failed(p);
    }
    t_begun.out.put_float(d, static_cast<unsigned>(bits), flags);
    return true;
}

bool bs_put_binary(Process& p, Term size, uint32_t unit, Term src) {
    if (!is_bitstring(src)) {
        return put_failed(p);
    }
    const BitView v = bit_view(src);
    uint64_t bits = v.size;
    if (size == atoms::all) {
        if (unit > 1 && bits % unit != 0) {
            return put_failed(p);
        }
    } else if (!construction_bits(p, nullptr, size, unit, &bits)) {
        return false;
    } else if (bits > v.size) {
        return put_failed(p);
    }
    if (!t_begun.has_room(bits)) {
        return put_failed(p);
    }
    t_begun.out.put_view(v, bits);
    return true;
}

void bs_put_string(const uint8_t* bytes, size_t n) {
    if (t_begun.has_room(8 * uint64_t{n})) {
        t_begun.out.put_bytes(bytes, n);
    }
}

bool bs_put_utf8(Process& p, Term src) {
    if (!is_character(src) || !t_begun.has_room(utf8_bits(src))) {
        return put_failed(p);
    }
    t_begun.out.put_utf8(static_cast<uint32_t>(small_value(src)));
    return true;
}
bool bs_put_utf16(Process& p, uint32_t flags, Term src) {
    if (!is_character(src) || !t_begun.has_room(utf16_bits(src))) {
        return put_failed(p);
    }
    t_begun.out.put_utf16(static_cast<uint32_t>(small_value(src)), flags);
    return true;
}
bool bs_put_utf32(Process& p, uint32_t flags, Term src) {
    if (!is_character(src) || !t_begun.has_room(32)) {
        return put_failed(p);
    }
    t_begun.out.put_utf32(static_cast<uint32_t>(small_value(src)), flags);
    return true;
}

Term bs_utf8_size(Term src) {
    return make_small(utf8_bits(src) / 8);
}
Term bs_utf16_size(Term src) {
    return make_small(utf16_bits(src) / 8);
}

Term bs_add(Process& p, Term a, Term b, uint32_t unit) {
    const auto is_size = [](Term t) {
        return is_small(t) ? small_value(t) >= 0 : is_big(t) && !big_is_negative(t);
    };
    if (!is_size(a) || !is_size(b)) {
        return bs_fail(p, atoms::badarg, nullptr, nullptr, kNonValue);
    }
    uint64_t sum;
    if (!both_small(a, b) ||
        __builtin_mul_overflow(static_cast<uint64_t>(small_value(b)), unit, &sum) ||
        __builtin_add_overflow(sum, static_cast<uint64_t>(small_value(a)), &sum) ||
        !fits_small_u(sum)) {
        return bs_fail(p, atoms::system_limit, nullptr, nullptr, kNonValue);
    }
    return make_small(static_cast<int64_t>(sum));
}

Term bs_bits_to_bytes(Process& p, Term bits) {
    if (!is_small(bits) || small_value(bits) < 0 || small_value(bits) % 8 != 0) {
        return bs_fail(p, atoms::badarg, nullptr, nullptr, kNonValue);
    }
    return make_small(small_value(bits) / 8);
}

}  // namespace semantics
}  // namespace minivm
