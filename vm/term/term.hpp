// The term: one 64-bit word, and the objects it can point to.
//
//   low bits   what                                   value
//   000        small integer, 61 bits                 value << 3
//   001        cons pointer                           -> [head | tail]
//   010        boxed pointer                          -> [header | words ...]
//   011 110 111  float that fits (see make_float)     rotl(ieee, 4) + 3
//   100        header word of a heap object; on a stack: a return address
//   101        other immediates, kind in bits 3..5    payload << 6
//
// Zeroed memory is a valid term (small 0). nil and the non-value fit a signed 8-bit immediate, atoms
// with an index below 2^25 fit 31 bits. A double that fits is always immediate, never boxed: so two
// floats, one of them immediate, are =:= iff their words are equal (for 0.0 and -0.0: compare.hpp).
//
// Threads: plain data. Objects reached from a term belong to one process, or are immutable and shared
// (literals).
#pragma once

#include <bit>
#include <cstddef>
#include <cstdint>

#include "vm/util/assert.hpp"

namespace minivm {

using Word = uint64_t;
static_assert(sizeof(void*) == 8 && std::endian::native == std::endian::little);

struct Term {
    Word raw;
    friend constexpr bool operator==(Term, Term) = default;
};
static_assert(sizeof(Term) == 8);

// ---- tags -------------------------------------------------------------------------------------

constexpr Word kTagMask = 7;
constexpr Word kTagSmall = 0;
constexpr Word kTagCons = 1;
constexpr Word kTagBoxed = 2;
constexpr Word kTagHeader = 4;
constexpr Word kTagImm = 5;

constexpr Word kImmMask = 0x3F;
constexpr Word kImmAtom = kTagImm | (0 << 3);
constexpr Word kImmPid = kTagImm | (1 << 3);
constexpr Word kImmPort = kTagImm | (2 << 3);
constexpr Word kImmCatch = kTagImm | (3 << 3);
constexpr Word kImmNil = kTagImm | (4 << 3);
constexpr Word kImmNonValue = kTagImm | (5 << 3);
constexpr int kImmShift = 6;

constexpr Term kNil{kImmNil};
// No Erlang term: "nothing here", and the result of a BIF or meaning that did not give a value.
constexpr Term kNonValue{kImmNonValue};

constexpr bool is_value(Term t) { return t != kNonValue; }
constexpr bool is_nil(Term t) { return t == kNil; }
constexpr bool is_cons(Term t) { return (t.raw & kTagMask) == kTagCons; }
constexpr bool is_boxed(Term t) { return (t.raw & kTagMask) == kTagBoxed; }
constexpr bool is_pointer(Term t) { return is_cons(t) || is_boxed(t); }
constexpr bool is_immediate(Term t) { return !is_pointer(t); }
constexpr bool is_header(Word w) { return (w & kTagMask) == kTagHeader; }

// ---- small integers ---------------------------------------------------------------------------

constexpr int kSmallBits = 61;
constexpr int64_t kSmallMax = (int64_t{1} << 60) - 1;
constexpr int64_t kSmallMin = -(int64_t{1} << 60);

constexpr bool is_small(Term t) { return (t.raw & kTagMask) == kTagSmall; }
constexpr bool both_small(Term a, Term b) { return ((a.raw | b.raw) & kTagMask) == 0; }
constexpr int64_t small_value(Term t) { return static_cast<int64_t>(t.raw) >> 3; }
constexpr Term make_small(int64_t v) { return Term{static_cast<Word>(v) << 3}; }
constexpr bool fits_small(int64_t v) { return v >= kSmallMin && v <= kSmallMax; }
constexpr bool fits_small_u(uint64_t v) { return v <= static_cast<uint64_t>(kSmallMax); }

// ---- atoms, local pids and ports, catches -------------------------------------------------------

constexpr bool is_atom(Term t) { return (t.raw & kImmMask) == kImmAtom; }
constexpr uint32_t atom_index(Term t) { return static_cast<uint32_t>(t.raw >> kImmShift); }
constexpr Term make_atom(uint32_t index) {
    return Term{(static_cast<Word>(index) << kImmShift) | kImmAtom};
}

// A local pid is <0.Number.Serial>: number in the low 28 bits of the payload, serial above (30 bits).
constexpr bool is_local_pid(Term t) { return (t.raw & kImmMask) == kImmPid; }
constexpr Term make_local_pid(uint64_t data) { return Term{(data << kImmShift) | kImmPid}; }
constexpr bool is_local_port(Term t) { return (t.raw & kImmMask) == kImmPort; }
constexpr Term make_local_port(uint64_t data) { return Term{(data << kImmShift) | kImmPort}; }
constexpr uint64_t imm_data(Term t) { return t.raw >> kImmShift; }
constexpr uint32_t pid_number(Term t) { return static_cast<uint32_t>(imm_data(t) & 0xFFFFFFF); }
constexpr uint32_t pid_serial(Term t) { return static_cast<uint32_t>(imm_data(t) >> 28); }

// The mark of a catch or try in a Y register: index into the catch table, never a code pointer.
constexpr bool is_catch(Term t) { return (t.raw & kImmMask) == kImmCatch; }
constexpr Term make_catch(uint32_t index) {
    return Term{(static_cast<Word>(index) << kImmShift) | kImmCatch};
}
constexpr uint32_t catch_index(Term t) { return static_cast<uint32_t>(t.raw >> kImmShift); }

// ---- pointers -----------------------------------------------------------------------------------

inline Term* cons_ptr(Term t) { return reinterpret_cast<Term*>(t.raw - kTagCons); }
inline Term* boxed_ptr(Term t) { return reinterpret_cast<Term*>(t.raw - kTagBoxed); }
inline Term make_cons(const Term* p) { return Term{reinterpret_cast<Word>(p) | kTagCons}; }
inline Term make_boxed(const void* p) { return Term{reinterpret_cast<Word>(p) | kTagBoxed}; }
inline Term* any_ptr(Term t) { return reinterpret_cast<Term*>(t.raw & ~kTagMask); }

inline Term head(Term cons) { return cons_ptr(cons)[0]; }
inline Term tail(Term cons) { return cons_ptr(cons)[1]; }
constexpr size_t kConsWords = 2;

// Writes a cons cell at p (2 words) and returns it.
inline Term put_cons(Term* p, Term hd, Term tl) {
    p[0] = hd;
    p[1] = tl;
    return make_cons(p);
}

// ---- headers ------------------------------------------------------------------------------------
// header = arity << 8 | kind << 3 | 100. The arity is the number of words that follow the header.

enum class Kind : uint8_t {
    tuple = 0,
    pos_big = 1,       // arity limbs, least significant first, no leading zero limb
    neg_big = 2,       // magnitude likewise
    float64 = 3,       // one word: the IEEE bits, never a value that make_float can tag
    heap_bits = 4,     // [bit size | bytes, padded to words]
    sub_bits = 5,      // [orig | first bit | bit size]; orig is heap_bits or bin_ref
    bin_ref = 6,       // [RefBinary* | next off-heap object]: reachable only from sub_bits/match_context
    match_context = 7, // [orig | position bit | end bit | first bit]: mutable
    fun = 8,           // [FunEntry* | creator pid | free variables ...]
    export_fun = 9,    // [Export*]
    ref = 10,          // local reference: [id low 64 | id high]
    magic_ref = 11,    // [id low 64 | id high | MagicObject* | next off-heap object]
    ext_pid = 12,      // [node atom | number | serial | creation]
    ext_port = 13,     // [node atom | number | creation]
    ext_ref = 14,      // [node atom | creation | count of 32-bit words | words, two in one ...]
    flat_map = 15,     // [keys tuple | values ...]: keys by compare_flat_keys(), at most kMaxFlatMap
    hash_map = 16,     // [count of pairs (raw) | root node]: more than kMaxFlatMap pairs
    map_node = 17,     // [bitmap (raw) | children ...]: inner node of a hash map, never a term itself
    map_collision = 18, // [key | value]... : pairs whose hashes are equal in all bits
    record = 19        // [definition tuple | values ...]: a native record, term/native_record.hpp
};

constexpr Word make_header(Kind k, size_t arity) {
    return (static_cast<Word>(arity) << 8) | (static_cast<Word>(k) << 3) | kTagHeader;
}
constexpr Kind header_kind(Word h) { return static_cast<Kind>((h >> 3) & 0x1F); }
constexpr size_t header_arity(Word h) { return h >> 8; }
inline Word header_of(Term boxed) { return boxed_ptr(boxed)->raw; }
inline Kind kind_of(Term boxed) { return header_kind(header_of(boxed)); }
inline bool is_kind(Term t, Kind k) { return is_boxed(t) && kind_of(t) == k; }

// ---- tuples ---------------------------------------------------------------------------------------

inline bool is_tuple(Term t) { return is_kind(t, Kind::tuple); }
inline size_t tuple_arity(Term t) { return header_arity(header_of(t)); }
inline bool is_tuple_of(Term t, size_t n) {
    return is_boxed(t) && header_of(t) == make_header(Kind::tuple, n);
}
// The elements, 0-based.
inline Term* tuple_elements(Term t) { return boxed_ptr(t) + 1; }
inline Term tuple_element(Term t, size_t i) { return boxed_ptr(t)[i + 1]; }
template <typename... Ts>
inline Term put_tuple(Term* p, Ts... elements) {  // needs 1 + sizeof...(elements) words at p
    *p = Term{make_header(Kind::tuple, sizeof...(Ts))};
    Term* q = p;
    ((*++q = elements), ...);
    return make_boxed(p);
}

// ---- floats ---------------------------------------------------------------------------------------
// rotl(bits, 4) puts sign and the three top exponent bits into the low four; adding 3 sends the
// exponent prefixes 000, 011, 100 to the tags 011, 110, 111 without a carry. So +-0.0, magnitudes
// below 2^-767 and those from 2^-255 up to 2^257 are immediate; all others are boxed.

constexpr uint32_t kFloatTagBits = 0xC8C8C8C8;  // bit n set: low five bits n are a float's
constexpr bool is_imm_float(Term t) { return (kFloatTagBits >> (t.raw & 31)) & 1; }
constexpr double imm_float_value(Term t) { return std::bit_cast<double>(std::rotr(t.raw - 3, 4)); }
// The self-tagged word, valid only if is_imm_float() of it.
constexpr Term try_make_imm_float(double d) {
    return Term{std::rotl(std::bit_cast<Word>(d), 4) + 3};
}
constexpr bool float_fits_imm(double d) {
    const Word prefix = (std::bit_cast<Word>(d) >> 60) & 7;
    return prefix == 0 || prefix == 3 || prefix == 4;
}
constexpr size_t kBoxedFloatWords = 2;
inline bool is_boxed_float(Term t) { return is_kind(t, Kind::float64); }
inline bool is_float(Term t) { return is_imm_float(t) || is_boxed_float(t); }
inline double boxed_float_value(Term t) { return std::bit_cast<double>(boxed_ptr(t)[1].raw); }
inline double float_value(Term t) {
    return is_imm_float(t) ? imm_float_value(t) : boxed_float_value(t);
}
// make_float is in term/heap.hpp: it may need two heap words.

// ---- integers, numbers ----------------------------------------------------------------------------

inline bool is_big(Term t) {
    return is_boxed(t) && (kind_of(t) == Kind::pos_big || kind_of(t) == Kind::neg_big);
}
inline bool is_integer(Term t) { return is_small(t) || is_big(t); }
inline bool is_number(Term t) { return is_integer(t) || is_float(t); }
inline bool big_is_negative(Term t) { return kind_of(t) == Kind::neg_big; }
inline size_t big_limbs(Term t) { return header_arity(header_of(t)); }
inline Word* big_digits(Term t) { return reinterpret_cast<Word*>(boxed_ptr(t) + 1); }

// ---- bit strings ----------------------------------------------------------------------------------
// Accessors for offset, size and bytes are in term/binary.hpp.

inline bool is_bitstring(Term t) {
    return is_boxed(t) && (kind_of(t) == Kind::heap_bits || kind_of(t) == Kind::sub_bits);
}
inline bool is_match_context(Term t) { return is_kind(t, Kind::match_context); }
// The test of the instruction is_bitstr: from OTP 27 on the compiler also applies it to a match context, which stands
// for the bits that are left.
inline bool is_bitstring_or_context(Term t) { return is_bitstring(t) || is_match_context(t); }
inline Word bitstring_bits(Term t) {  // size in bits
    return kind_of(t) == Kind::heap_bits ? boxed_ptr(t)[1].raw : boxed_ptr(t)[3].raw;
}
inline bool is_binary(Term t) { return is_bitstring(t) && (bitstring_bits(t) & 7) == 0; }

// ---- the other kinds ------------------------------------------------------------------------------

inline bool is_list(Term t) { return is_cons(t) || is_nil(t); }
inline bool is_fun(Term t) {
    return is_boxed(t) && (kind_of(t) == Kind::fun || kind_of(t) == Kind::export_fun);
}
inline bool is_local_fun(Term t) { return is_kind(t, Kind::fun); }
inline bool is_export_fun(Term t) { return is_kind(t, Kind::export_fun); }
inline bool is_pid(Term t) { return is_local_pid(t) || is_kind(t, Kind::ext_pid); }
inline bool is_port(Term t) { return is_local_port(t) || is_kind(t, Kind::ext_port); }
inline bool is_magic_ref(Term t) { return is_kind(t, Kind::magic_ref); }
inline bool is_local_ref(Term t) { return is_kind(t, Kind::ref) || is_magic_ref(t); }
inline bool is_reference(Term t) { return is_local_ref(t) || is_kind(t, Kind::ext_ref); }
inline bool is_flat_map(Term t) { return is_kind(t, Kind::flat_map); }
inline bool is_hash_map(Term t) { return is_kind(t, Kind::hash_map); }
inline bool is_map(Term t) { return is_flat_map(t) || is_hash_map(t); }
inline bool is_native_record(Term t) { return is_kind(t, Kind::record); }

constexpr size_t kMaxFlatMap = 32;
inline size_t map_size(Term t) {
    return is_flat_map(t) ? header_arity(header_of(t)) - 1 : boxed_ptr(t)[1].raw;
}

struct Export;
struct FunEntry;
struct RefBinary;
struct MagicObject;

constexpr size_t kFunFixedWords = 3;  // header, entry, creator; the free variables follow
inline FunEntry* fun_entry(Term t) { return reinterpret_cast<FunEntry*>(boxed_ptr(t)[1].raw); }
inline Term fun_creator(Term t) { return boxed_ptr(t)[2]; }
inline size_t fun_free_count(Term t) { return header_arity(header_of(t)) - 2; }
inline Term* fun_free_variables(Term t) { return boxed_ptr(t) + kFunFixedWords; }
inline Export* export_fun_entry(Term t) { return reinterpret_cast<Export*>(boxed_ptr(t)[1].raw); }

// A local reference has an id of 96 bits: w0 in the low half of `low`, w1 in its high half, w2 in `high`.
// OTP prints #Ref<0.w2.w1.w0>.
struct RefId {
    uint64_t low;
    uint32_t high;
    friend constexpr bool operator==(RefId, RefId) = default;
};
constexpr size_t kRefWords = 3;
inline RefId ref_id(Term local_ref) {
    return {boxed_ptr(local_ref)[1].raw, static_cast<uint32_t>(boxed_ptr(local_ref)[2].raw)};
}
inline Term put_ref(Term* p, RefId id) {
    p[0] = Term{make_header(Kind::ref, 2)};
    p[1] = Term{id.low};
    p[2] = Term{id.high};
    return make_boxed(p);
}

// True if the words after the header are raw data, not terms, so that GC and copying must not look
// at them. (sub_bits, match_context, fun, flat_map, ... are mixed and handled one by one.)
constexpr bool is_raw_kind(Kind k) {
    return k == Kind::pos_big || k == Kind::neg_big || k == Kind::float64 || k == Kind::heap_bits ||
           k == Kind::bin_ref || k == Kind::export_fun || k == Kind::ref || k == Kind::magic_ref ||
           k == Kind::ext_ref || k == Kind::ext_pid || k == Kind::ext_port;
}

}  // namespace minivm
