// See order_hash.hpp.
#include "vm/term/order_hash.hpp"

#include "vm/term/atom_table.hpp"
#include "vm/term/bignum.hpp"
#include "vm/term/function_name.hpp"
#include "vm/term/map_trie.hpp"
#include "vm/term/native_record.hpp"
#include "vm/term/term_stack.hpp"

#include <cstring>

namespace minivm {
namespace {

using hashing::BitBytes;
using hashing::golden;
using order_hashing::is_otp_immediate;
using order_hashing::otp_word;

// Marks among the terms still to hash; no term is a catch.
constexpr Term kMarkCdr = make_catch(0);  // the tail of a list follows, which is no list

bool is_byte(Term t) {
    return is_small(t) && t.raw <= make_small(255).raw;
}
uint32_t low(uint64_t v) {
    return static_cast<uint32_t>(v);
}
uint32_t high(uint64_t v) {
    return static_cast<uint32_t>(v >> 32);
}
uint64_t both(uint64_t low, uint64_t high) {
    return low | high << 32;
}
// A magnitude, a limb at a time: of a bignum, or of a small integer that is a bignum in OTP.
struct Magnitude {
    explicit Magnitude(Term t) {
        if (is_small(t)) {
            const int64_t v = small_value(t);
            negative = v < 0;
            one = v < 0 ? -static_cast<uint64_t>(v) : static_cast<uint64_t>(v);
            return;
        }
        negative = big_is_negative(t);
        n = big_limbs(t);
        limbs = big_digits(t);
    }
    uint64_t limb(size_t i) const { return limbs == nullptr ? one : limbs[i]; }

    bool negative;
    uint64_t one = 0;
    size_t n = 1;
    const Word* limbs = nullptr;
};

struct RefWords {
    explicit RefWords(Term t) {
        if (is_local_ref(t)) {
            words[0] = low(ref_id(t).low);
            words[1] = high(ref_id(t).low);
            words[2] = ref_id(t).high;
            return;
        }
        // Missing words are zeros: trailing ones must not count.
        const Term* p = boxed_ptr(t);
        const auto* of_ref = reinterpret_cast<const uint32_t*>(p + 4);
        for (size_t i = 0; i < p[3].raw && i < 3; i++) {
            words[i] = of_ref[i];
        }
        for (size_t i = 3; i < p[3].raw; i++) {
            rest = rest * 31 + of_ref[i];
        }
    }
    uint32_t words[3] = {};
    uint64_t rest = 0;
};

// ---- up to OTP 26 -------------------------------------------------------------------------------

class NarrowHash {
public:
    explicit NarrowHash(uint32_t salt) : hash_(salt ^ order_hashing::kNarrowStart) {}

    uint32_t of(Term term) {
        for (;;) {
            if (is_cons(term)) {
                term = list(term);
                continue;
            }
            if (is_otp_immediate(term)) {
                word(otp_word(term), 1);
            } else if (is_small(term) || is_kind(term, Kind::pos_big) ||
                       is_kind(term, Kind::neg_big)) {
                const Magnitude m(term);
                for (size_t i = 0; i < m.n; i++) {
                    word(m.limb(i), m.negative ? 10 : 11);
                }
            } else if (is_float(term)) {
                const double d = float_value(term);
                word(d == 0 ? 0 : std::bit_cast<uint64_t>(d), 12);
            } else {
                object(term);
            }
            if (todo_.empty()) {
                return hash_;
            }
            term = todo_.pop();
            if (term == kMarkCdr) {
                stir_constant(18);
                term = todo_.pop();
            }
        }
    }

private:
    [[gnu::always_inline]] void word(uint64_t w, uint32_t constant) {
        hashing::mix_in(hash_, low(w), high(w), golden(constant));
    }
    [[gnu::always_inline]] void small_word(uint64_t w, uint32_t constant) {
        hashing::mix_in(hash_, low(w), 0, golden(constant));
    }
    void stir_constant(uint32_t constant) {
        hash_ ^= golden(constant);
        hash_ = std::rotl(hash_, 17);
    }

    // Returns the term to hash next.
    Term list(Term term) {
        uint32_t packed = 0;
        unsigned count = 0;
        while (is_cons(term) && is_byte(head(term))) {
            packed = (packed << 8) + static_cast<uint32_t>(small_value(head(term)));
            if (++count == 4) {
                small_word(packed, 4);
                packed = count = 0;
            }
            term = tail(term);
        }
        if (count > 0) {
            word(both(packed, count), 22);
        }
        if (!is_cons(term)) {
            return term;
        }
        stir_constant(17);
        todo_.push(tail(term));
        if (!is_cons(tail(term))) {
            todo_.push(kMarkCdr);
        }
        return head(term);
    }

    void bits(Term term) {
        const BitBytes b(term);
        hash_ += golden(13);
        if (b.size() == 0 && b.extra_bits() == 0) {
            return;
        }
        hash_ = hashing::block_hash(b.data(), b.size(), hash_);
        if (b.extra_bits() > 0) {
            word(both(b.extra_bits(), b.extra()), 15);
        }
    }

    void map(Term term) {
        const size_t n = map_size(term);
        small_word(n, 16);
        if (is_flat_map(term)) {
            for (size_t i = n; i-- > 0;) {
                todo_.push(map::flat_values(term)[i]);
                todo_.push(map::flat_keys(term)[i]);
            }
            return;
        }
        map::Iterator it(term);  // the stack reverses the order
        for (Term key, value; it.next(&key, &value);) {
            todo_.push(value);
            todo_.push(key);
        }
    }

    void object(Term term) {
        const Term* p = boxed_ptr(term);
        switch (kind_of(term)) {
            case Kind::tuple:
            case Kind::record: {
                const size_t n = header_arity(p[0].raw);
                small_word(n, 9);
                for (size_t i = n; i > 0; i--) {
                    todo_.push(p[i]);
                }
                return;
            }
            case Kind::flat_map:
            case Kind::hash_map:
                return map(term);
            case Kind::export_fun:
                return word(p[1].raw, 14);  // entries never move
            case Kind::fun: {
                const LambdaName e = name_of(fun_entry(term));
                const size_t n = fun_free_count(term);
                word(both(n, otp_word(e.module)), 20);
                word(both(e.index, e.old_uniq), 21);
                for (size_t i = n; i-- > 0;) {
                    todo_.push(fun_free_variables(term)[i]);
                }
                return;
            }
            case Kind::heap_bits:
            case Kind::sub_bits:
                return bits(term);
            case Kind::ref:
            case Kind::magic_ref:
            case Kind::ext_ref: {
                const RefWords r(term);
                if (kind_of(term) == Kind::ext_ref) {
                    word(p[1].raw, 7);
                }
                small_word(r.words[0], 7);
                word(both(r.words[1], r.words[2]), 8);
                if (r.rest != 0) {
                    word(r.rest, 8);
                }
                return;
            }
            case Kind::ext_pid:
                word(p[1].raw, 5);
                return word(both(p[2].raw, p[3].raw), 5);
            case Kind::ext_port:
                word(p[1].raw, 6);
                return word(p[2].raw, 6);
            default:
                MINIVM_CHECK(false);  // no terms of their own, or done above
        }
    }

    uint32_t hash_;
    TermStack todo_;
};

// ---- from OTP 27 on -----------------------------------------------------------------------------

constexpr uint64_t kMurmur1 = 0x87C37B91114253D5;
constexpr uint64_t kMurmur2 = 0x4CF5AD432745937F;

enum class Type : uint8_t {
    immediate = 1,
    array_element,
    car,
    cdr,
    string,
    tuple,
    record,
    flat_map,
    hash_map_of_16,
    hash_map,
    hash_map_node,
    binary,
    local_fun,
    external_fun,
    neg_big,
    pos_big,
    local_ref,
    external_ref,
    external_pid,
    external_port,
    float64
};

// MurmurHash3 of 128 bits for x64, a word at a time into either half.
class Murmur {
public:
    void alpha(uint64_t word) {
        alpha_ ^= stirred_alpha(word);
        alpha_ = (std::rotl(alpha_, 27) + beta_) * 5 + 0x52DCE729;
        ticks_++;
    }
    void alpha(Type type) { alpha(static_cast<uint64_t>(type)); }
    void beta(uint64_t word) {
        beta_ ^= stirred_beta(word);
        beta_ = (std::rotl(beta_, 31) + alpha_) * 5 + 0x38495AB5;
        ticks_++;
    }
    // The last bytes of a binary.
    void rest_alpha(uint64_t word) { alpha_ ^= stirred_alpha(word); }
    void rest_beta(uint64_t word) { beta_ ^= stirred_beta(word); }
    void immediate(Term t) {
        alpha(Type::immediate);
        beta(otp_word(t));
    }
    uint64_t finish() {
        alpha_ ^= ticks_;
        beta_ ^= ticks_;
        alpha_ += beta_;
        beta_ += alpha_;
        alpha_ = order_hashing::mix64(alpha_);
        beta_ = order_hashing::mix64(beta_);
        alpha_ += beta_;
        beta_ += alpha_;
        return alpha_ ^ beta_;
    }

private:
    static uint64_t stirred_alpha(uint64_t w) { return std::rotl(w * kMurmur1, 31) * kMurmur2; }
    static uint64_t stirred_beta(uint64_t w) { return std::rotl(w * kMurmur2, 33) * kMurmur1; }

    uint64_t alpha_ = 0;
    uint64_t beta_ = 0;
    uint64_t ticks_ = 0;
};

uint64_t up_to_8_bytes(const uint8_t* bytes, size_t n) {
    uint64_t word = 0;
    std::memcpy(&word, bytes, n);
    return word;
}

class WideHash {
public:
    uint64_t of(Term term) {
        for (;;) {
            if (is_cons(term)) {
                term = list(term);
                continue;
            }
            Term next = kNonValue;
            if (is_otp_immediate(term)) {
                hash_.immediate(term);
            } else if (is_float(term)) {
                hash_.alpha(Type::float64);
                hash_.beta(std::bit_cast<uint64_t>(float_value(term)));
            } else if (is_small(term) || is_kind(term, Kind::pos_big) ||
                       is_kind(term, Kind::neg_big)) {
                integer(Magnitude(term));
            } else {
                next = object(term);
            }
            if (is_value(next)) {
                term = next;
                continue;
            }
            if (todo_.empty()) {
                return hash_.finish();
            }
            term = todo_.pop();
            if (term == kMarkCdr) {
                hash_.beta(static_cast<uint64_t>(Type::cdr));
                term = todo_.pop();
            }
        }
    }

private:
    static uint64_t typed(Type type, uint64_t high) {
        return both(static_cast<uint64_t>(type), high);
    }
    // Hashes an immediate at once; for another term hashes only that there is one, and the term itself later.
    void later(Term t) {
        if (is_otp_immediate(t)) {
            hash_.immediate(t);
        } else {
            hash_.alpha(Type::array_element);
            todo_.push(t);
        }
    }
    // Returns the last of n terms, which is hashed next, before the others; the non-value if there are none.
    Term row(const Term* terms, size_t n) {
        if (n == 0) {
            return kNonValue;
        }
        for (size_t i = 0; i + 1 < n; i++) {
            later(terms[i]);
        }
        return terms[n - 1];
    }

    // Returns the term to hash next.
    Term list(Term term) {
        uint64_t packed = 0;
        unsigned count = 0;
        while (is_cons(term) && is_byte(head(term))) {
            packed = packed << 8 | static_cast<uint64_t>(small_value(head(term)));
            if (++count == 4) {
                hash_.alpha(typed(Type::string, packed) | 4 << 8);
                packed = count = 0;
            }
            term = tail(term);
        }
        if (count > 0) {
            hash_.alpha(typed(Type::string, packed) | count << 8);
        }
        if (!is_cons(term)) {
            return term;
        }
        const Term first = head(term);
        const Term rest = tail(term);
        if (is_otp_immediate(first)) {
            hash_.alpha(typed(Type::immediate, static_cast<uint64_t>(Type::car)));
            hash_.beta(otp_word(first));
            if (!is_cons(rest)) {
                hash_.alpha(Type::cdr);
            }
            return rest;
        }
        todo_.push(rest);
        if (!is_cons(rest)) {
            todo_.push(kMarkCdr);
        }
        hash_.alpha(Type::car);
        return first;
    }

    void integer(const Magnitude& m) {
        hash_.alpha(typed(m.negative ? Type::neg_big : Type::pos_big, m.n));
        size_t i = 0;
        for (; i + 2 <= m.n; i += 2) {
            hash_.alpha(m.limb(i));
            hash_.beta(m.limb(i + 1));
        }
        if (i < m.n) {
            hash_.beta(m.limb(i));
        }
    }

    void bits(Term t) {
        hash_.alpha(Type::binary);
        hash_.beta(bitstring_bits(t));
        if (bitstring_bits(t) == 0) {
            return;
        }
        const BitBytes b(t);
        const uint8_t* bytes = b.data();
        size_t left = b.size();
        for (; left >= 16; left -= 16, bytes += 16) {
            hash_.alpha(up_to_8_bytes(bytes, 8));
            hash_.beta(up_to_8_bytes(bytes + 8, 8));
        }
        if (left > 8) {
            hash_.rest_beta(up_to_8_bytes(bytes + 8, left - 8));
        }
        if (left > 0) {
            hash_.rest_alpha(up_to_8_bytes(bytes, left < 8 ? left : 8));
        }
        if (b.extra_bits() > 0) {
            hash_.alpha(uint64_t{b.extra()});
        }
    }

    Term map(Term term) {
        const size_t n = map_size(term);
        hash_.alpha(is_flat_map(term) ? Type::flat_map : Type::hash_map);
        hash_.beta(n);
        if (!is_flat_map(term)) {
            map::Iterator it(term);
            for (Term key, value; it.next(&key, &value);) {
                later(value);
                later(key);
            }
            return kNonValue;
        }
        if (n == 0) {
            return kNonValue;
        }
        const Term* keys = map::flat_keys(term);
        const Term* values = map::flat_values(term);
        for (size_t i = 0; i + 1 < n; i++) {
            later(values[i]);
            later(keys[i]);
        }
        later(values[n - 1]);
        return keys[n - 1];
    }

    // Returns the term to hash next; the non-value: the top of todo_.
    Term object(Term term) {
        const Term* p = boxed_ptr(term);
        const Kind kind = kind_of(term);
        switch (kind) {
            case Kind::tuple:
                hash_.alpha(Type::tuple);
                hash_.beta(tuple_arity(term));
                return row(p + 1, tuple_arity(term));
            case Kind::record:
                hash_.alpha(Type::record);
                hash_.beta(header_arity(p[0].raw));
                later(tuple_element(native_record::definition(term), native_record::kHash));
                return row(native_record::values(term), native_record::field_count(term));
            case Kind::flat_map:
            case Kind::hash_map:
                return map(term);
            case Kind::export_fun:
                hash_.alpha(Type::external_fun);
                hash_.beta(p[1].raw);  // entries never move
                break;
            case Kind::fun: {
                const LambdaName e = name_of(fun_entry(term));
                hash_.alpha(typed(Type::local_fun, fun_free_count(term)));
                hash_.beta(both(e.index, e.old_uniq));
                hash_.immediate(e.module);
                return row(fun_free_variables(term), fun_free_count(term));
            }
            case Kind::heap_bits:
            case Kind::sub_bits:
                bits(term);
                break;
            case Kind::ref:
            case Kind::magic_ref:
            case Kind::ext_ref: {
                const RefWords r(term);
                hash_.alpha(typed(is_local_ref(term) ? Type::local_ref : Type::external_ref,
                                  r.words[0]));
                hash_.beta(both(r.words[1], r.words[2]));
                if (!is_local_ref(term)) {
                    hash_.alpha(r.rest);
                    hash_.alpha(p[1].raw);
                }
                break;
            }
            case Kind::ext_pid:
            case Kind::ext_port:
                hash_.alpha(kind == Kind::ext_pid ? Type::external_pid : Type::external_port);
                hash_.beta(p[1].raw);
                hash_.alpha(p[2].raw);
                hash_.beta(kind == Kind::ext_pid ? p[3].raw : 0);
                break;
            default:
                MINIVM_CHECK(false);  // no terms of their own, or done above
        }
        return kNonValue;
    }

    Murmur hash_;
    TermStack todo_;
};

}  // namespace

uint64_t order_hashing::of_pointer(Term t) {
    return by_release::hashes_are_wide() ? WideHash().of(t) : NarrowHash(0).of(t);
}

uint32_t order_hash_again(Term t) {
    uint32_t salt = 0;
    hashing::mix_in(salt, 1, 1, golden(22));
    return NarrowHash(salt).of(t);
}

}  // namespace minivm
