// See hash.hpp.
//
// phash2 and phash are OTP's, bit for bit: both thread one 32-bit value through the term from left
// to right, phash2 with Bob Jenkins' mix of 1996, phash with multiplications. The pairs of a map
// are hashed each on its own and xor-ed, so that their order does not matter. internal_hash is not
// OTP's: 64-bit multiplications folded (as wyhash does), and sums over pairs.
#include "vm/term/hash.hpp"

#include "vm/term/atom_table.hpp"
#include "vm/term/binary.hpp"
#include "vm/term/function_name.hpp"
#include "vm/term/hash_parts.hpp"
#include "vm/term/map.hpp"
#include "vm/term/native_record.hpp"
#include "vm/term/term_stack.hpp"

#include <cstring>

namespace minivm {

namespace hashing {

BitBytes::BitBytes(Term t) {
    const BitView v = bit_view(t);
    size_ = v.size / 8;
    extra_bits_ = static_cast<unsigned>(v.size % 8);
    if (v.byte_aligned()) {
        data_ = v.first_byte();
        return;
    }
    const size_t bytes = size_ + (extra_bits_ != 0 ? 1 : 0);
    copy_ = std::make_unique_for_overwrite<uint8_t[]>(bytes + 1);
    copy_bits(v.bytes, v.offset, copy_.get(), 0, v.size);
    data_ = copy_.get();
}

static uint32_t load32(const uint8_t* p) {
    uint32_t v;
    std::memcpy(&v, p, 4);
    return v;
}

uint32_t block_hash(const uint8_t* bytes, size_t size, uint32_t initial) {
    uint32_t a = kGolden;
    uint32_t b = kGolden;
    uint32_t c = initial;
    size_t left = size;
    for (; left >= 12; left -= 12, bytes += 12) {
        a += load32(bytes);
        b += load32(bytes + 4);
        c += load32(bytes + 8);
        jenkins_mix(a, b, c);
    }
    // The last words, zero filled; the lowest byte of c has the length instead.
    uint8_t rest[12] = {};
    std::memcpy(rest, bytes, left);
    a += load32(rest);
    b += load32(rest + 4);
    c += static_cast<uint32_t>(size) + (load32(rest + 8) << 8);
    jenkins_mix(a, b, c);
    return c;
}

}  // namespace hashing

namespace {

using hashing::BitBytes;
using hashing::block_hash;
using hashing::golden;
using hashing::mix_in;

// Marks among the terms still to hash; no term is a catch.
constexpr Term kMarkPair = make_catch(0);     // a pair of a map is complete
constexpr Term kMarkMap = make_catch(1);      // a map is complete; below it its saved state
constexpr Term kMarkTuple = make_catch(2);    // phash: a tuple is complete; below it its arity
constexpr Term kMarkCdr = make_catch(3);      // phash: the tail of a list follows
constexpr Term kMarkListEnd = make_catch(4);  // phash: a list is complete
constexpr Term kMarkRecord = make_catch(5);   // phash: a native record, as a tuple

// State kept among terms: any 61-bit value as a small.
Term saved(uint64_t v) {
    return make_small(static_cast<int64_t>(v));
}
uint32_t saved32(Term t) {
    return static_cast<uint32_t>(small_value(t));
}

bool is_byte(Term t) {
    return is_small(t) && t.raw <= make_small(255).raw;
}

// Number of a pid, port or reference as the portable hashes see it.
uint32_t pid_hash_number(Term t) {
    return is_local_pid(t) ? pid_number(t) : static_cast<uint32_t>(boxed_ptr(t)[2].raw);
}
uint64_t port_hash_number(Term t) {
    return is_local_port(t) ? imm_data(t) : boxed_ptr(t)[2].raw;
}
uint32_t ref_hash_number(Term t) {
    return is_local_ref(t) ? static_cast<uint32_t>(ref_id(t).low)
                           : static_cast<uint32_t>(boxed_ptr(t)[4].raw);
}

// +0.0 for both zeros.
uint64_t float_hash_bits(Term t) {
    const double d = float_value(t);
    return d == 0 ? 0 : std::bit_cast<uint64_t>(d);
}

// ---- phash2 -------------------------------------------------------------------------------------

// A small that fits 28 bits; larger ones hash as if they were big.
void mix_small(uint32_t& hash, int64_t v) {
    if (v >= -(int64_t{1} << 27) && v < (int64_t{1} << 27)) {
        if (v < 0) {
            mix_in(hash, static_cast<uint32_t>(-v), 0, golden(1));
        }
        mix_in(hash, static_cast<uint32_t>(v), 0, golden(1));
        return;
    }
    const uint64_t magnitude = v < 0 ? -static_cast<uint64_t>(v) : static_cast<uint64_t>(v);
    mix_in(hash, static_cast<uint32_t>(magnitude), static_cast<uint32_t>(magnitude >> 32),
           golden(v < 0 ? 10 : 11));
}

constexpr int64_t kUnlimited = INT64_MAX;
// This many bytes of a binary count as one step.
constexpr size_t kBytesPerStep = 32;

bool spend(int64_t* steps, uint64_t n) {
    return (*steps -= static_cast<int64_t>(n)) >= 0;
}

}  // namespace

bool phash2_within(Term term, int64_t* steps, uint32_t* out) {
    if (is_atom(term)) {
        *out = atom_table::hash_value(term);
        return true;
    }
    TermStack todo;
    uint32_t hash = 0;
    uint32_t pairs = 0;  // xor of the hashes of the pairs of the innermost map
    for (;;) {
        if (--*steps < 0) {
            return false;
        }
        if (is_cons(term)) {
            // Bytes are mixed in four at a time; what remains before another term or the end follows alone.
            uint32_t packed = 0;
            unsigned count = 0;
            while (is_cons(term) && is_byte(head(term)) && *steps > 0) {
                packed = (packed << 8) + static_cast<uint32_t>(small_value(head(term)));
                if (++count == 4) {
                    mix_in(hash, packed, 0, golden(4));
                    packed = count = 0;
                    --*steps;
                }
                term = tail(term);
            }
            if (count > 0) {
                mix_in(hash, packed, 0, golden(4));
            }
            if (is_cons(term)) {
                todo.push(tail(term));
                term = head(term);
            }
            continue;
        }
        if (is_boxed(term)) {
            switch (kind_of(term)) {
                case Kind::tuple: {
                    const size_t n = tuple_arity(term);
                    if (!spend(steps, n / 4)) {
                        return false;
                    }
                    mix_in(hash, static_cast<uint32_t>(n), 0, golden(9));
                    for (size_t i = n; i-- > 0;) {
                        todo.push(tuple_element(term, i));
                    }
                    break;
                }
                case Kind::record: {
                    const size_t n = native_record::field_count(term);
                    if (!spend(steps, n / 4)) {
                        return false;
                    }
                    mix_in(hash, static_cast<uint32_t>(n), native_record::definition_hash(term),
                           golden(23));
                    for (size_t i = n; i-- > 0;) {
                        todo.push(native_record::values(term)[i]);
                    }
                    break;
                }
                case Kind::flat_map:
                case Kind::hash_map: {
                    const size_t n = map_size(term);
                    if (!spend(steps, n)) {
                        return false;
                    }
                    mix_in(hash, static_cast<uint32_t>(n), 0, golden(16));
                    if (n == 0) {
                        break;
                    }
                    todo.push(saved(pairs));
                    todo.push(saved(hash));
                    todo.push(kMarkMap);
                    hash = 0;
                    pairs = 0;
                    map::Iterator it(term);
                    for (Term key, value; it.next(&key, &value);) {
                        todo.push(kMarkPair);
                        todo.push(value);
                        todo.push(key);
                    }
                    break;
                }
                case Kind::export_fun: {
                    const FunctionName e = name_of(export_fun_entry(term));
                    mix_in(hash, e.arity, atom_table::hash_value(e.module), golden(1));
                    mix_in(hash, atom_table::hash_value(e.function), 0, golden(14));
                    break;
                }
                case Kind::fun: {
                    const LambdaName e = name_of(fun_entry(term));
                    const size_t n = fun_free_count(term);
                    mix_in(hash, static_cast<uint32_t>(n), atom_table::hash_value(e.module),
                           golden(1));
                    mix_in(hash, e.index, e.old_uniq, golden(1));
                    for (size_t i = n; i-- > 0;) {
                        todo.push(fun_free_variables(term)[i]);
                    }
                    break;
                }
                case Kind::heap_bits:
                case Kind::sub_bits: {
                    if (!spend(steps, bitstring_bits(term) / (8 * kBytesPerStep))) {
                        return false;
                    }
                    const BitBytes bits(term);
                    const uint32_t initial = golden(13) + hash;
                    if (bits.size() == 0 && bits.extra_bits() == 0) {
                        hash = initial;
                        break;
                    }
                    hash = block_hash(bits.data(), bits.size(), initial);
                    if (bits.extra_bits() > 0) {
                        mix_in(hash, bits.extra_bits(), bits.extra(), golden(15));
                    }
                    break;
                }
                case Kind::pos_big:
                case Kind::neg_big: {
                    const uint32_t constant = golden(big_is_negative(term) ? 10 : 11);
                    if (!spend(steps, big_limbs(term) / 4)) {
                        return false;
                    }
                    for (size_t i = 0; i < big_limbs(term); ++i) {
                        const Word limb = big_digits(term)[i];
                        mix_in(hash, static_cast<uint32_t>(limb), static_cast<uint32_t>(limb >> 32),
                               constant);
                    }
                    break;
                }
                case Kind::ref:
                case Kind::magic_ref:
                case Kind::ext_ref:
                    mix_in(hash, ref_hash_number(term), 0, golden(7));
                    break;
                case Kind::ext_pid:
                    mix_in(hash, pid_hash_number(term), 0, golden(5));
                    break;
                case Kind::ext_port:
                    mix_in(hash, static_cast<uint32_t>(port_hash_number(term)),
                           static_cast<uint32_t>(port_hash_number(term) >> 32), golden(6));
                    break;
                case Kind::float64: {
                    const uint64_t bits = float_hash_bits(term);
                    mix_in(hash, static_cast<uint32_t>(bits >> 32), static_cast<uint32_t>(bits),
                           golden(12));
                    break;
                }
                case Kind::bin_ref:
                case Kind::match_context:
                case Kind::map_node:
                case Kind::map_collision:
                    MINIVM_CHECK(false);  // no terms of their own
            }
        } else if (is_small(term)) {
            mix_small(hash, small_value(term));
        } else if (is_imm_float(term)) {
            const uint64_t bits = float_hash_bits(term);
            mix_in(hash, static_cast<uint32_t>(bits >> 32), static_cast<uint32_t>(bits),
                   golden(12));
        } else if (is_atom(term)) {
            const uint32_t value = atom_table::hash_value(term);
            if (hash == 0) {
                hash = value;
            } else {
                mix_in(hash, value, 0, golden(3));
            }
        } else if (is_nil(term)) {
            if (hash == 0) {
                hash = 3468870702u;
            } else {
                constexpr uint32_t kNilTag = 2;
                mix_in(hash, kNilTag, 0, golden(2));
            }
        } else if (is_local_pid(term)) {
            mix_in(hash, pid_hash_number(term), 0, golden(5));
        } else {
            MINIVM_CHECK(is_local_port(term));
            mix_in(hash, static_cast<uint32_t>(port_hash_number(term)),
                   static_cast<uint32_t>(port_hash_number(term) >> 32), golden(6));
        }
        for (;;) {
            if (todo.empty()) {
                *out = hash;
                return true;
            }
            term = todo.pop();
            if (term == kMarkPair) {
                pairs ^= hash;
                hash = 0;
            } else if (term == kMarkMap) {
                hash = saved32(todo.pop());
                mix_in(hash, pairs, 0, golden(19));
                pairs = saved32(todo.pop());
            } else {
                break;
            }
        }
    }
}

uint32_t phash2(Term t) {
    int64_t steps = kUnlimited;
    uint32_t hash = 0;
    phash2_within(t, &steps, &hash);
    return hash;
}

// ---- phash --------------------------------------------------------------------------------------

namespace {

// Primes just above 2^28, as OTP numbers them.
constexpr uint32_t kPrime1 = 268440163;
constexpr uint32_t kPrime2 = 268439161;
constexpr uint32_t kPrime3 = 268435459;
constexpr uint32_t kPrime4 = 268436141;
constexpr uint32_t kPrime5 = 268438633;
constexpr uint32_t kPrime6 = 268437017;
constexpr uint32_t kPrime8 = 268437511;
constexpr uint32_t kPrime9 = 268439627;
constexpr uint32_t kPrime10 = 268440479;
constexpr uint32_t kPrime11 = 268440577;
constexpr uint32_t kPrime12 = 268440581;
constexpr uint32_t kPrime13 = 268440593;
constexpr uint32_t kPrime14 = 268440611;
constexpr uint32_t kPrime15 = 268440629;

uint32_t step_bytes(uint32_t hash, uint64_t value, int bytes, uint32_t prime) {
    for (; bytes > 0; --bytes, value >>= 8) {
        hash = hash * prime + (value & 0xFF);
    }
    return hash;
}

// The magnitude's bytes, a multiple of four of them, least significant first.
uint32_t step_limb(uint32_t hash, uint64_t limb, bool last) {
    return step_bytes(hash, limb, last && (limb >> 32) == 0 ? 4 : 8, kPrime2);
}

uint32_t step_port(uint32_t hash, uint64_t number) {
    if (number >> 32 != 0) {
        hash = step_bytes(hash, number >> 32, 4, kPrime11);
    }
    return step_bytes(hash, number, 4, kPrime9) * kPrime10;
}

}  // namespace

bool phash_within(Term term, int64_t* steps, uint32_t* out) {
    TermStack todo;
    uint32_t hash = 0;
    for (;;) {
        if (--*steps < 0) {
            return false;
        }
        if (is_cons(term)) {
            while (is_byte(head(term)) && --*steps > 0) {
                hash = hash * kPrime2 + static_cast<uint32_t>(small_value(head(term)));
                if (!is_cons(tail(term))) {
                    break;
                }
                term = tail(term);
            }
            if (is_byte(head(term))) {  // the last cell
                todo.push(kMarkListEnd);
                term = tail(term);
            } else {
                todo.push(tail(term));
                todo.push(kMarkCdr);
                term = head(term);
            }
            continue;
        }
        if (is_boxed(term)) {
            switch (kind_of(term)) {
                case Kind::tuple: {
                    const size_t n = tuple_arity(term);
                    if (!spend(steps, n / 4)) {
                        return false;
                    }
                    todo.push(saved(n));
                    todo.push(kMarkTuple);
                    for (size_t i = n; i-- > 0;) {
                        todo.push(tuple_element(term, i));
                    }
                    break;
                }
                case Kind::record: {
                    // The definition is hashed like the values, as OTP does.
                    const size_t n = header_arity(header_of(term));
                    if (!spend(steps, n / 4)) {
                        return false;
                    }
                    todo.push(saved(n));
                    todo.push(kMarkRecord);
                    for (size_t i = n; i-- > 0;) {
                        todo.push(boxed_ptr(term)[1 + i]);
                    }
                    break;
                }
                case Kind::flat_map:
                case Kind::hash_map: {
                    uint32_t of_map = 0;
                    if (!phash2_within(term, steps, &of_map)) {
                        return false;
                    }
                    hash = hash * kPrime13 + kPrime14 + of_map;
                    break;
                }
                case Kind::export_fun: {
                    const FunctionName e = name_of(export_fun_entry(term));
                    hash = hash * kPrime11 + e.arity;
                    hash = hash * kPrime1 + atom_table::hash_value(e.module);
                    hash = hash * kPrime1 + atom_table::hash_value(e.function);
                    break;
                }
                case Kind::fun: {
                    const LambdaName e = name_of(fun_entry(term));
                    const size_t n = fun_free_count(term);
                    hash = hash * kPrime10 + static_cast<uint32_t>(n);
                    hash = hash * kPrime1 + atom_table::hash_value(e.module);
                    hash = hash * kPrime2 + e.index;
                    hash = hash * kPrime2 + e.old_uniq;
                    for (size_t i = n; i-- > 0;) {
                        todo.push(fun_free_variables(term)[i]);
                    }
                    break;
                }
                case Kind::heap_bits:
                case Kind::sub_bits: {
                    if (!spend(steps, bitstring_bits(term) / (8 * kBytesPerStep))) {
                        return false;
                    }
                    const BitBytes bits(term);
                    for (size_t i = 0; i < bits.size(); ++i) {
                        hash = hash * kPrime1 + bits.data()[i];
                    }
                    if (bits.extra_bits() > 0) {
                        hash = (hash * kPrime1 + bits.extra()) * kPrime12 + bits.extra_bits();
                    }
                    hash = hash * kPrime4 + static_cast<uint32_t>(bits.size());
                    break;
                }
                case Kind::pos_big:
                case Kind::neg_big: {
                    const size_t n = big_limbs(term);
                    if (!spend(steps, n / 4)) {
                        return false;
                    }
                    for (size_t i = 0; i < n; ++i) {
                        hash = step_limb(hash, big_digits(term)[i], i + 1 == n);
                    }
                    hash *= big_is_negative(term) ? kPrime4 : kPrime3;
                    break;
                }
                case Kind::ref:
                case Kind::magic_ref:
                case Kind::ext_ref:
                    hash = step_bytes(hash, ref_hash_number(term), 4, kPrime9) * kPrime10;
                    break;
                case Kind::ext_pid:
                    hash = step_bytes(hash, pid_hash_number(term), 4, kPrime5) * kPrime6;
                    break;
                case Kind::ext_port:
                    hash = step_port(hash, port_hash_number(term));
                    break;
                case Kind::float64: {
                    const uint64_t bits = float_hash_bits(term);
                    hash = hash * kPrime6 + static_cast<uint32_t>(bits ^ (bits >> 32));
                    break;
                }
                case Kind::bin_ref:
                case Kind::match_context:
                case Kind::map_node:
                case Kind::map_collision:
                    MINIVM_CHECK(false);  // no terms of their own
            }
        } else if (is_small(term)) {
            const int64_t v = small_value(term);
            hash =
                step_limb(hash, v < 0 ? -static_cast<uint64_t>(v) : static_cast<uint64_t>(v), true);
            hash *= v < 0 ? kPrime4 : kPrime3;
        } else if (is_imm_float(term)) {
            const uint64_t bits = float_hash_bits(term);
            hash = hash * kPrime6 + static_cast<uint32_t>(bits ^ (bits >> 32));
        } else if (is_atom(term)) {
            hash = hash * kPrime1 + atom_table::hash_value(term);
        } else if (is_nil(term)) {
            hash = hash * kPrime3 + 1;
        } else if (is_local_pid(term)) {
            hash = step_bytes(hash, pid_hash_number(term), 4, kPrime5) * kPrime6;
        } else {
            MINIVM_CHECK(is_local_port(term));
            hash = step_port(hash, port_hash_number(term));
        }
        for (;;) {
            if (todo.empty()) {
                *out = hash;
                return true;
            }
            term = todo.pop();
            if (term == kMarkListEnd) {
                hash *= kPrime8;
            } else if (term == kMarkTuple) {
                hash = hash * kPrime9 + static_cast<uint32_t>(small_value(todo.pop()));
            } else if (term == kMarkRecord) {
                hash = hash * kPrime15 + static_cast<uint32_t>(small_value(todo.pop()));
            } else if (term == kMarkCdr) {
                term = todo.pop();
                if (!is_cons(term)) {
                    todo.push(kMarkListEnd);
                }
                break;
            } else {
                break;
            }
        }
    }
}

uint32_t phash(Term t) {
    int64_t steps = kUnlimited;
    uint32_t hash = 0;
    phash_within(t, &steps, &hash);
    return hash;
}

// ---- internal -----------------------------------------------------------------------------------

namespace {

using namespace hashing;

void stir_bytes(uint64_t& hash, const uint8_t* bytes, size_t size) {
    for (; size >= 8; size -= 8, bytes += 8) {
        uint64_t word;
        std::memcpy(&word, bytes, 8);
        stir(hash, word);
    }
    if (size > 0) {
        uint64_t word = 0;
        std::memcpy(&word, bytes, size);
        stir(hash, word);
    }
}

// Tells the types apart; immediates are stirred in as they are and end in other bits.
uint64_t type_word(Kind kind, uint64_t size) {
    return make_header(kind, size);
}

}  // namespace

uint32_t internal_hash_of_pointer(Term term, uint32_t salt) {
    const uint64_t start = start_of(salt);
    uint64_t hash = start;
    TermStack todo;
    uint64_t pairs = 0;  // sum of the hashes of the pairs of the innermost map
    // 64-bit state among terms takes two smalls.
    const auto push64 = [&](uint64_t v) {
        todo.push(saved(v >> 32));
        todo.push(saved(v & 0xFFFFFFFF));
    };
    const auto pop64 = [&] {
        const uint64_t low = saved32(todo.pop());
        return static_cast<uint64_t>(saved32(todo.pop())) << 32 | low;
    };
    for (;;) {
        if (is_cons(term)) {
            stir(hash, kTagCons);
            todo.push(tail(term));
            term = head(term);
            continue;
        }
        if (!is_boxed(term)) {
            stir(hash, word_of(term));
        } else {
            const Term* p = boxed_ptr(term);
            const Kind kind = kind_of(term);
            switch (kind) {
                case Kind::tuple:
                case Kind::record:
                    stir(hash, p[0].raw);
                    for (size_t i = header_arity(p[0].raw); i > 0; i--) {
                        todo.push(p[i]);
                    }
                    break;
                case Kind::flat_map:
                case Kind::hash_map: {
                    stir(hash, type_word(Kind::flat_map, map_size(term)));
                    push64(pairs);
                    push64(hash);
                    todo.push(kMarkMap);
                    hash = start + 1;  // a pair must not hash as a whole term does
                    pairs = 0;
                    map::Iterator it(term);
                    for (Term key, value; it.next(&key, &value);) {
                        todo.push(kMarkPair);
                        todo.push(value);
                        todo.push(key);
                    }
                    break;
                }
                case Kind::export_fun:
                    stir(hash, p[0].raw);
                    stir(hash, p[1].raw);  // entries never move
                    break;
                case Kind::fun:
                    stir(hash, p[0].raw);
                    stir(hash, p[1].raw);
                    for (size_t i = fun_free_count(term); i-- > 0;) {
                        todo.push(fun_free_variables(term)[i]);
                    }
                    break;
                case Kind::heap_bits:
                case Kind::sub_bits: {
                    const BitBytes bits(term);
                    stir(hash, type_word(Kind::heap_bits, bitstring_bits(term)));
                    stir_bytes(hash, bits.data(), bits.size());
                    if (bits.extra_bits() > 0) {
                        stir(hash, bits.extra());
                    }
                    break;
                }
                case Kind::ref:
                case Kind::magic_ref:
                    stir(hash, type_word(Kind::ref, 0));
                    stir(hash, ref_id(term).low);
                    stir(hash, ref_id(term).high);
                    break;
                case Kind::ext_ref: {
                    // Missing words are zeros: trailing ones must not count.
                    const auto* words = reinterpret_cast<const uint32_t*>(p + 4);
                    size_t n = p[3].raw;
                    while (n > 0 && words[n - 1] == 0) {
                        --n;
                    }
                    stir(hash, type_word(Kind::ext_ref, 0));
                    stir(hash, p[1].raw);
                    stir(hash, p[2].raw);
                    for (size_t i = 0; i < n; ++i) {
                        stir(hash, words[i]);
                    }
                    break;
                }
                case Kind::pos_big:
                case Kind::neg_big:
                case Kind::float64:
                case Kind::ext_pid:
                case Kind::ext_port:
                    for (size_t i = 0; i <= header_arity(p[0].raw); ++i) {
                        stir(hash, p[i].raw);
                    }
                    break;
                case Kind::bin_ref:
                case Kind::match_context:
                case Kind::map_node:
                case Kind::map_collision:
                    MINIVM_CHECK(false);  // no terms of their own
            }
        }
        for (;;) {
            if (todo.empty()) {
                return finish(hash);
            }
            term = todo.pop();
            if (term == kMarkPair) {
                pairs += fold(hash ^ kSecret1, kSecret3);
                hash = start + 1;
            } else if (term == kMarkMap) {
                hash = pop64();
                stir(hash, pairs);
                pairs = pop64();
            } else {
                break;
            }
        }
    }
}

}  // namespace minivm
