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
bool is_any_small_beyond_otp(Term t) {
    return is_small(t) && !is_otp_immediate(t);
}

// A magnitude, a limb at a time: that of a bignum, or of a small that is one to OTP.
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

uint32_t narrow_hash(Term term, uint32_t salt) {
    uint32_t hash = salt ^ order_hashing::kNarrowStart;
    TermStack todo;
    const auto word = [&](uint64_t w, uint32_t constant) __attribute__((always_inline)) {
        hashing::mix_in(hash, low(w), high(w), golden(constant));
    };
    const auto small_word = [&](uint64_t w, uint32_t constant) __attribute__((always_inline)) {
        hashing::mix_in(hash, low(w), 0, golden(constant));
    };
    const auto stir_constant = [&](uint32_t constant) {
        hash ^= golden(constant);
        hash = std::rotl(hash, 17);
    };
    for (;;) {
        if (is_cons(term)) {
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
            if (is_cons(term)) {
                stir_constant(17);
                todo.push(tail(term));
                if (!is_cons(tail(term))) {
                    todo.push(kMarkCdr);
                }
                term = head(term);
            }
            continue;
        }
        if (is_otp_immediate(term)) {
            word(otp_word(term), 1);
        } else if (is_any_small_beyond_otp(term)) {
            const Magnitude m(term);
            word(m.one, m.negative ? 10 : 11);
        } else if (is_float(term)) {
            const double d = float_value(term);
            word(d == 0 ? 0 : std::bit_cast<uint64_t>(d), 12);
        } else {
            const Term* p = boxed_ptr(term);
            switch (kind_of(term)) {
                case Kind::tuple:
                case Kind::record: {
                    const size_t n = header_arity(p[0].raw);
                    small_word(n, 9);
                    for (size_t i = n; i > 0; i--) {
                        todo.push(p[i]);
                    }
                    break;
                }
                case Kind::flat_map: {
                    const size_t n = map_size(term);
                    small_word(n, 16);
                    for (size_t i = n; i-- > 0;) {
                        todo.push(map::flat_values(term)[i]);
                        todo.push(map::flat_keys(term)[i]);
                    }
                    break;
                }
                case Kind::hash_map: {  // backwards
                    small_word(map_size(term), 16);
                    map::Iterator it(term);
                    for (Term key, value; it.next(&key, &value);) {
                        todo.push(value);
                        todo.push(key);
                    }
                    break;
                }
                case Kind::export_fun:
                    word(p[1].raw, 14);  // entries never move
                    break;
                case Kind::fun: {
                    const LambdaName e = name_of(fun_entry(term));
                    const size_t n = fun_free_count(term);
                    word(both(n, otp_word(e.module)), 20);
                    word(both(e.index, e.old_uniq), 21);
                    for (size_t i = n; i-- > 0;) {
                        todo.push(fun_free_variables(term)[i]);
                    }
                    break;
                }
                case Kind::heap_bits:
                case Kind::sub_bits: {
                    const BitBytes bits(term);
                    hash += golden(13);
                    if (bits.size() == 0 && bits.extra_bits() == 0) {
                        break;
                    }
                    hash = hashing::block_hash(bits.data(), bits.size(), hash);
                    if (bits.extra_bits() > 0) {
                        word(both(bits.extra_bits(), bits.extra()), 15);
                    }
                    break;
                }
                case Kind::pos_big:
                case Kind::neg_big: {
                    const Magnitude m(term);
                    for (size_t i = 0; i < m.n; i++) {
                        word(m.limb(i), m.negative ? 10 : 11);
                    }
                    break;
                }
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
                    break;
                }
                case Kind::ext_pid:
                    word(p[1].raw, 5);
                    word(both(p[2].raw, p[3].raw), 5);
                    break;
                case Kind::ext_port:
                    word(p[1].raw, 6);
                    word(p[2].raw, 6);
                    break;
                case Kind::float64:
                case Kind::bin_ref:
                case Kind::match_context:
                case Kind::map_node:
                case Kind::map_collision:
                    MINIVM_CHECK(false);  // no terms of their own, or done above
            }
        }
        if (todo.empty()) {
            return hash;
        }
        term = todo.pop();
        if (term == kMarkCdr) {
            stir_constant(18);
            term = todo.pop();
        }
    }
}

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

void add_bits(Murmur& hash, Term t) {
    hash.alpha(Type::binary);
    hash.beta(bitstring_bits(t));
    if (bitstring_bits(t) == 0) {
        return;
    }
    const BitBytes bits(t);
    const uint8_t* bytes = bits.data();
    size_t left = bits.size();
    for (; left >= 16; left -= 16, bytes += 16) {
        hash.alpha(up_to_8_bytes(bytes, 8));
        hash.beta(up_to_8_bytes(bytes + 8, 8));
    }
    if (left > 8) {
        hash.rest_beta(up_to_8_bytes(bytes + 8, left - 8));
    }
    if (left > 0) {
        hash.rest_alpha(up_to_8_bytes(bytes, left < 8 ? left : 8));
    }
    if (bits.extra_bits() > 0) {
        hash.alpha(uint64_t{bits.extra()});
    }
}

uint64_t wide_hash(Term term) {
    Murmur hash;
    TermStack todo;
    // Immediates are hashed at once, what else there is is known to be there and comes later.
    const auto later = [&](Term t) {
        if (is_otp_immediate(t)) {
            hash.immediate(t);
        } else {
            hash.alpha(Type::array_element);
            todo.push(t);
        }
    };
    const auto typed = [](Type type, uint64_t high) { return both(static_cast<uint64_t>(type), high); };
    for (;;) {
        if (is_cons(term)) {
            uint64_t packed = 0;
            unsigned count = 0;
            while (is_cons(term) && is_byte(head(term))) {
                packed = packed << 8 | static_cast<uint64_t>(small_value(head(term)));
                if (++count == 4) {
                    hash.alpha(typed(Type::string, packed) | 4 << 8);
                    packed = count = 0;
                }
                term = tail(term);
            }
            if (count > 0) {
                hash.alpha(typed(Type::string, packed) | count << 8);
            }
            if (is_cons(term)) {
                const Term first = head(term);
                const Term rest = tail(term);
                if (is_otp_immediate(first)) {
                    hash.alpha(typed(Type::immediate, static_cast<uint64_t>(Type::car)));
                    hash.beta(otp_word(first));
                    if (!is_cons(rest)) {
                        hash.alpha(Type::cdr);
                    }
                    term = rest;
                } else {
                    todo.push(rest);
                    if (!is_cons(rest)) {
                        todo.push(kMarkCdr);
                    }
                    hash.alpha(Type::car);
                    term = first;
                }
            }
            continue;
        }
        if (is_otp_immediate(term)) {
            hash.immediate(term);
        } else if (is_float(term)) {
            hash.alpha(Type::float64);
            hash.beta(std::bit_cast<uint64_t>(float_value(term)));
        } else if (is_small(term) || kind_of(term) == Kind::pos_big ||
                   kind_of(term) == Kind::neg_big) {
            const Magnitude m(term);
            hash.alpha(typed(m.negative ? Type::neg_big : Type::pos_big, m.n));
            size_t i = 0;
            for (; i + 2 <= m.n; i += 2) {
                hash.alpha(m.limb(i));
                hash.beta(m.limb(i + 1));
            }
            if (i < m.n) {
                hash.beta(m.limb(i));
            }
        } else {
            const Term* p = boxed_ptr(term);
            switch (kind_of(term)) {
                case Kind::tuple:
                case Kind::record: {
                    const size_t n = header_arity(p[0].raw);
                    hash.alpha(kind_of(term) == Kind::tuple ? Type::tuple : Type::record);
                    hash.beta(n);
                    size_t i = 1;
                    if (kind_of(term) == Kind::record) {
                        later(tuple_element(native_record::definition(term), native_record::kHash));
                        i = 2;
                    }
                    for (; i < n; i++) {
                        later(p[i]);
                    }
                    if (i == n) {
                        term = p[n];
                        continue;
                    }
                    break;
                }
                case Kind::flat_map: {
                    const size_t n = map_size(term);
                    hash.alpha(Type::flat_map);
                    hash.beta(n);
                    if (n == 0) {
                        break;
                    }
                    const Term* keys = map::flat_keys(term);
                    const Term* values = map::flat_values(term);
                    for (size_t i = 0; i + 1 < n; i++) {
                        later(values[i]);
                        later(keys[i]);
                    }
                    later(values[n - 1]);
                    term = keys[n - 1];
                    continue;
                }
                case Kind::hash_map: {
                    hash.alpha(Type::hash_map);
                    hash.beta(map_size(term));
                    map::Iterator it(term);
                    for (Term key, value; it.next(&key, &value);) {
                        later(value);
                        later(key);
                    }
                    break;
                }
                case Kind::export_fun:
                    hash.alpha(Type::external_fun);
                    hash.beta(p[1].raw);  // entries never move
                    break;
                case Kind::fun: {
                    const LambdaName e = name_of(fun_entry(term));
                    const size_t n = fun_free_count(term);
                    hash.alpha(typed(Type::local_fun, n));
                    hash.beta(both(e.index, e.old_uniq));
                    hash.immediate(e.module);
                    for (size_t i = 0; i + 1 < n; i++) {
                        later(fun_free_variables(term)[i]);
                    }
                    if (n > 0) {
                        term = fun_free_variables(term)[n - 1];
                        continue;
                    }
                    break;
                }
                case Kind::heap_bits:
                case Kind::sub_bits:
                    add_bits(hash, term);
                    break;
                case Kind::ref:
                case Kind::magic_ref:
                case Kind::ext_ref: {
                    const RefWords r(term);
                    hash.alpha(typed(is_local_ref(term) ? Type::local_ref : Type::external_ref,
                                     r.words[0]));
                    hash.beta(both(r.words[1], r.words[2]));
                    if (r.rest != 0) {
                        hash.alpha(r.rest);
                    }
                    if (!is_local_ref(term)) {
                        hash.alpha(p[1].raw);
                    }
                    break;
                }
                case Kind::ext_pid:
                case Kind::ext_port:
                    hash.alpha(kind_of(term) == Kind::ext_pid ? Type::external_pid
                                                              : Type::external_port);
                    hash.beta(p[1].raw);
                    hash.alpha(p[2].raw);
                    if (kind_of(term) == Kind::ext_pid) {
                        hash.beta(p[3].raw);
                    }
                    break;
                case Kind::pos_big:
                case Kind::neg_big:
                case Kind::float64:
                case Kind::bin_ref:
                case Kind::match_context:
                case Kind::map_node:
                case Kind::map_collision:
                    MINIVM_CHECK(false);  // no terms of their own, or done above
            }
        }
        if (todo.empty()) {
            return hash.finish();
        }
        term = todo.pop();
        if (term == kMarkCdr) {
            hash.beta(static_cast<uint64_t>(Type::cdr));
            term = todo.pop();
        }
    }
}

}  // namespace

uint64_t order_hashing::of_pointer(Term t) {
    return by_release::hashes_are_wide() ? wide_hash(t) : narrow_hash(t, 0);
}

uint32_t order_hash_again(Term t) {
    uint32_t salt = 0;
    hashing::mix_in(salt, 1, 1, golden(22));
    return narrow_hash(t, salt);
}

}  // namespace minivm
