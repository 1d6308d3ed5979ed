// The meaning of the bit string instructions.
//
// Matching functions return kNonValue (or false) for "no match" and leave the context's position
// alone then. Construction functions return kNonValue with Process::exception set. Nothing
// collects; every function may allocate in p.heap unless it says otherwise.
//
// A match context knows its storage (orig), not an address in it: storage moves when its heap is
// collected or when a binary grows.
#pragma once

#include "vm/process/process.hpp"
#include "vm/term/binary.hpp"

#include <algorithm>
#include <cstring>

namespace minivm {

// Flags of a field as .beam files have them. Native is little on the machines we run on.
constexpr uint32_t kBsLittle = 2;
constexpr uint32_t kBsSigned = 4;
constexpr uint32_t kBsNative = 16;
constexpr bool bs_is_little(uint32_t flags) {
    return (flags & (kBsLittle | kBsNative)) != 0;
}
constexpr bool bs_is_signed(uint32_t flags) {
    return (flags & kBsSigned) != 0;
}

// The object behind a match context. Positions are bits from the start of orig's storage.
struct MatchContext {
    Word header;
    Term orig;  // heap_bits or bin_ref
    Word position;
    Word end;
    Word first;  // where the bit string began
    uint64_t left() const { return end - position; }
};
constexpr size_t kMatchContextWords = 5;
static_assert(sizeof(MatchContext) == kMatchContextWords * sizeof(Term));
inline MatchContext* match_context(Term t) {
    MINIVM_ASSERT(is_match_context(t));
    return reinterpret_cast<MatchContext*>(boxed_ptr(t));
}

// The registers that a word of an instruction's list can name, in either engine: a word is a term, a
// number where the list has one, or a register: its byte offset << 8 | 100, with bit 8 set if it is
// a y register. No constant looks like that.
struct ListRegisters {
    Term* x;
    Term* y;
    Term* at(Word w) const {
        char* base = reinterpret_cast<char*>((w >> 8 & 1) != 0 ? y : x);
        return reinterpret_cast<Term*>(base + ((w >> 8) & ~Word{7}));
    }
    Term value(Word w) const { return is_header(w) ? *at(w) : Term{w}; }
};

// A segment of bs_create_bin.
struct BinSegment {
    enum class Type : uint8_t {
        integer,
        float_,
        binary,
        utf8,
        utf16,
        utf32,
        append,
        private_append,
        string
    };
    Type type;
    uint8_t flags;
    uint16_t unit;
    uint32_t number;        // its place in the source, for error reports
    const uint8_t* string;  // string only
    Term src;               // all others
    Term size;              // an integer, or no size; string: bytes; utf*: unused
    bool whole = false;     // binary: all of src, whatever the size
};

namespace semantics {

// ---- matching ----------------------------------------------------------------------------------

// A context over a bit string; a context is given back as it is.
inline Term bs_start_match(Process& p, Term src) {
    if (!is_boxed(src)) {
        return kNonValue;
    }
    Term* from = boxed_ptr(src);
    Term orig = src;
    Word first = 0;
    Word bits;
    switch (header_kind(from->raw)) {
        case Kind::sub_bits:
            orig = from[1];
            first = from[2].raw;
            bits = from[3].raw;
            break;
        case Kind::heap_bits:
            bits = from[1].raw;
            break;
        case Kind::match_context:
            return src;
        default:
            return kNonValue;
    }
    Term* to = p.heap.alloc(kMatchContextWords);
    to[0] = Term{make_header(Kind::match_context, kMatchContextWords - 1)};
    to[1] = orig;
    to[2] = Term{first};
    to[3] = Term{first + bits};
    to[4] = Term{first};
    return make_boxed(to);
}

// Size * Unit in bits; false if nothing can have that size.
inline bool bs_field_bits(Term size, uint32_t unit, uint64_t* bits) {
    return is_small(size) && small_value(size) >= 0 &&
           !__builtin_mul_overflow(static_cast<uint64_t>(small_value(size)), unit, bits);
}

// Divisible; without a division where unit is a power of two, as nearly always.
inline bool bs_divisible(uint64_t bits, uint32_t unit) {
    return ((unit & (unit - 1)) == 0 ? bits & (unit - 1) : bits % unit) == 0;
}

// An integer of any size, sign, endianness and alignment; the bits are there.
Term bs_read_integer(Process& p, const uint8_t* bytes, uint64_t position, uint64_t bits,
                     uint32_t flags);

// 1 <= bits <= 56, whole bytes if little-endian and more than one: a small integer, always. Nothing is
// allocated.
inline bool bs_is_small_field(uint64_t bits, uint32_t flags) {
    return bits >= 1 && bits <= 56 && (!bs_is_little(flags) || bits <= 8 || bits % 8 == 0);
}
inline Term bs_read_small(const uint8_t* bytes, uint64_t position, unsigned bits, uint32_t flags) {
    uint64_t v = bits == 8 && (position & 7) == 0 ? bytes[position >> 3]
                                                  : load_bits(bytes, position, bits);
    if (bits > 8 && bs_is_little(flags)) {
        v = __builtin_bswap64(v) >> (64 - bits);
    }
    const unsigned unused = 64 - bits;
    return make_small(bs_is_signed(flags) ? static_cast<int64_t>(v << unused) >> unused
                                          : static_cast<int64_t>(v));
}

// `bits` bits as an integer.
inline Term bs_get_integer_bits(Process& p, Term ctx, uint64_t bits, uint32_t flags) {
    MatchContext* m = match_context(ctx);
    const Word at = m->position;
    if (bits > m->end - at) {
        return kNonValue;
    }
    const uint8_t* bytes = storage_bytes(m->orig);
    if ((at & 7) == 0) {
        const uint8_t* b = bytes + (at >> 3);
        switch (bits) {
            case 8:
                m->position = at + 8;
                return make_small(bs_is_signed(flags) ? static_cast<int8_t>(*b) : *b);
            case 16: {
                uint16_t v;
                std::memcpy(&v, b, 2);
                v = bs_is_little(flags) ? v : __builtin_bswap16(v);
                m->position = at + 16;
                return make_small(bs_is_signed(flags) ? static_cast<int16_t>(v) : v);
            }
            case 32: {
                uint32_t v;
                std::memcpy(&v, b, 4);
                v = bs_is_little(flags) ? v : __builtin_bswap32(v);
                m->position = at + 32;
                return make_small(bs_is_signed(flags) ? int64_t{static_cast<int32_t>(v)}
                                                      : int64_t{v});
            }
            default:
                break;
        }
    }
    const Term value = bs_read_integer(p, bytes, at, bits, flags);
    if (is_value(value)) {
        m->position = at + bits;
    }
    return value;
}
inline Term bs_get_integer(Process& p, Term ctx, Term size, uint32_t unit, uint32_t flags) {
    uint64_t bits;
    return bs_field_bits(size, unit, &bits) ? bs_get_integer_bits(p, ctx, bits, flags) : kNonValue;
}

Term bs_get_float(Process& p, Term ctx, Term size, uint32_t unit, uint32_t flags);

// `bits` bits as a bit string that shares the storage (or a copy, if that is small).
inline Term bs_get_binary_bits(Process& p, Term ctx, uint64_t bits) {
    MatchContext* m = match_context(ctx);
    if (bits > m->left()) {
        return kNonValue;
    }
    const Word at = m->position;
    m->position = at + bits;
    return part_of_storage(p.heap, m->orig, at, bits);
}
// The rest, if it is divisible by unit.
inline Term bs_get_rest(Process& p, Term ctx, uint32_t unit) {
    const uint64_t left = match_context(ctx)->left();
    return bs_divisible(left, unit) ? bs_get_binary_bits(p, ctx, left) : kNonValue;
}
// Set in the unit where the file has the size `all`: at run time that atom is no size.
constexpr uint32_t kBsWholeRest = 1 << 15;
inline Term bs_get_binary(Process& p, Term ctx, Term size, uint32_t unit) {
    uint64_t bits;
    if ((unit & kBsWholeRest) != 0) {
        return bs_get_rest(p, ctx, unit & ~kBsWholeRest);
    }
    return bs_field_bits(size, unit, &bits) ? bs_get_binary_bits(p, ctx, bits) : kNonValue;
}

inline bool bs_skip(Term ctx, uint64_t bits) {
    MatchContext* m = match_context(ctx);
    if (bits > m->left()) {
        return false;
    }
    m->position += bits;
    return true;
}
inline bool bs_skip_bits(Term ctx, Term size, uint32_t unit) {
    uint64_t bits;
    if ((unit & kBsWholeRest) != 0) {
        bits = match_context(ctx)->left();
        return bs_divisible(bits, unit & ~kBsWholeRest) && bs_skip(ctx, bits);
    }
    return bs_field_bits(size, unit, &bits) && bs_skip(ctx, bits);
}

inline bool bs_test_tail(Term ctx, uint64_t bits) {
    return match_context(ctx)->left() == bits;
}
inline bool bs_test_unit(Term ctx, uint32_t unit) {
    return bs_divisible(match_context(ctx)->left(), unit);
}
// The next bits are those of `string`: skips them.
bool bs_match_string(Term ctx, uint64_t bits, const uint8_t* string);

// The rest; the position stays.
inline Term bs_get_tail(Process& p, Term ctx) {
    const MatchContext* m = match_context(ctx);
    return part_of_storage(p.heap, m->orig, m->position, m->left());
}
inline Term bs_get_position(Term ctx) {
    const MatchContext* m = match_context(ctx);
    return make_small(static_cast<int64_t>(m->position - m->first));
}
// A position outside of the context, which no compiler asks for, counts as its end.
inline void bs_set_position(Term ctx, Term position) {
    MatchContext* m = match_context(ctx);
    const uint64_t bits = is_small(position) ? static_cast<uint64_t>(small_value(position)) : UINT64_MAX;
    m->position = m->first + std::min(bits, m->end - m->first);
}
// What a context was started on, as a bit string; anything else stays as it is.
Term bs_context_to_binary(Process& p, Term t);

// The next character as a small integer.
Term bs_get_utf8(Term ctx);
Term bs_get_utf16(Term ctx, uint32_t flags);
Term bs_get_utf32(Term ctx, uint32_t flags);
inline bool bs_skip_utf8(Term ctx) {
    return is_value(bs_get_utf8(ctx));
}
inline bool bs_skip_utf16(Term ctx, uint32_t flags) {
    return is_value(bs_get_utf16(ctx, flags));
}
inline bool bs_skip_utf32(Term ctx, uint32_t flags) {
    return is_value(bs_get_utf32(ctx, flags));
}

// A command of bs_match: its code, then its operands.
enum BsMatchCommand : uint8_t {
    kBsEnsureAtLeast,  // bits, unit
    kBsEnsureExactly,  // bits
    kBsInteger,        // live, flags, size, unit, dst
    kBsBinary,         // live, flags, size, unit, dst
    kBsGetTail,        // live, unit, dst
    kBsEqual,          // -, bits, number
    kBsSkip            // bits
};
constexpr size_t kBsCommandWords[] = {3, 2, 6, 6, 4, 4, 2};
// Runs a list of them. False: one failed, and the position is as it was. What does not fit the heap
// is in fragments afterwards.
bool bs_match(Process& p, Term ctx, const Word* list, size_t n, const ListRegisters& registers);
// Commands that have no instruction of their own.
inline bool bs_ensure_at_least(Term ctx, uint64_t bits, uint32_t unit) {
    const uint64_t left = match_context(ctx)->left();
    return left >= bits && bs_divisible(left - bits, unit);
}
inline bool bs_ensure_exactly(Term ctx, uint64_t bits) {
    return bs_test_tail(ctx, bits);
}
// The next bits, 64 at most, are this number: skips them.
bool bs_match_equal(Term ctx, uint64_t bits, uint64_t value);

// ---- construction ------------------------------------------------------------------------------

Term bs_create_bin(Process& p, const BinSegment* segments, size_t n);
// The same of the words of the instruction's list, six a segment: type, number, unit, flags, src,
// size.
constexpr size_t kBsSegmentWords = 6;
Term bs_create_bin(Process& p, const Word* list, size_t n, const ListRegisters& registers);
// The common cases of it: integers, binaries, strings and UTF-8. kNonValue: another case, or an error;
// nothing has changed then. Takes at most kBsCreateWords heap words.
Term bs_create_common(Process& p, const Word* list, size_t n, const ListRegisters& registers);
constexpr size_t kBsCreateWords = 12;
// The lower n <= 64 bits of v behind a bit string whose bits are divisible by unit; kNonValue if it
// is none. Takes as many words at most.
Term bs_append_number(Process& p, Term base, uint64_t v, unsigned n, uint32_t unit);
// An empty binary to append to; Size is a hint in bytes.
Term bs_init_writable(Process& p, Term size);

// For files of compilers before OTP 25: one instruction begins a bit string, and the bs_put functions
// that follow fill it in. Nothing else runs in between, and the storage of the begun bit string does
// not move. Without room they write nothing and raise badarg; bs_put_string only writes nothing.
Term bs_init(Process& p, Term size, uint32_t unit);
Term bs_append(Process& p, Term size, uint32_t size_unit, Term bin, uint32_t unit);
bool bs_put_integer(Process& p, Term size, uint32_t unit, uint32_t flags, Term src);
bool bs_put_float(Process& p, Term size, uint32_t unit, uint32_t flags, Term src);
bool bs_put_binary(Process& p, Term size, uint32_t unit, Term src);  // Size may be all
void bs_put_string(const uint8_t* bytes, size_t n);
bool bs_put_utf8(Process& p, Term src);
bool bs_put_utf16(Process& p, uint32_t flags, Term src);
bool bs_put_utf32(Process& p, uint32_t flags, Term src);
// Size in bytes. A term that is no character gets a size too; its bs_put refuses it.
Term bs_utf8_size(Term src);
Term bs_utf16_size(Term src);
Term bs_add(Process& p, Term a, Term b, uint32_t unit);
Term bs_bits_to_bytes(Process& p, Term bits);

}  // namespace semantics

}  // namespace minivm
