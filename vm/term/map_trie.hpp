// The shape of hash array mapped tries (map.cpp), for what builds, walks and checks them.
#pragma once

#include "vm/term/map.hpp"
#include "vm/term/order_hash.hpp"

namespace minivm::map {

// A level takes five bits of a key's way, from the top. A way is 64 bits: OTP's hash of the key with its
// digits of four bits reversed, because OTP takes them from the lowest one. So an iterator, which visits
// ascending ways, has OTP's order.
constexpr int kLevelBits = 5;
constexpr int kMaxLevels = (64 + kLevelBits - 1) / kLevelBits;  // collision nodes hang below the last
constexpr int kQuickLevels = 32 / kLevelBits;  // for these 32 bits are enough

constexpr uint32_t reverse_digits(uint32_t v) {
    v = __builtin_bswap32(v);
    return (v & 0x0F0F0F0F) << 4 | (v >> 4 & 0x0F0F0F0F);
}

inline uint32_t masked(uint32_t hash) {
#ifdef MINIVM_DEBUG
    return hash & g_hash_mask_for_tests;
#else
    return hash;
#endif
}

// The upper half of a key's way.
inline uint32_t quick_way(Term key) {
    return reverse_digits(masked(static_cast<uint32_t>(order_hash(key))));
}
uint64_t whole_way(Term key);

// The way of a key through the levels.
class Way {
  public:
    Way(Term key, uint32_t quick) : key_(key), bits_(uint64_t{quick} << 32), level_(0) {}
    static Way at_level(Term key, int level) {
        Way way(key, level < kQuickLevels ? quick_way(key) : 0);
        if (level >= kQuickLevels) {
            way.bits_ = whole_way(key);
        }
        if (level != kMaxLevels) {
            way.bits_ <<= kLevelBits * level;
        }
        way.level_ = level;
        return way;
    }
    unsigned index() const { return static_cast<unsigned>(bits_ >> (64 - kLevelBits)); }
    int level() const { return level_; }
    Way next() const {
        if (MINIVM_UNLIKELY(level_ + 1 == kQuickLevels)) {
            return at_level(key_, kQuickLevels);
        }
        Way way = *this;
        way.bits_ <<= kLevelBits;
        way.level_++;
        return way;
    }

  private:
    Term key_;
    uint64_t bits_;
    int level_;
};

// Of a flat map.
inline Term keys_tuple(Term flat) { return boxed_ptr(flat)[1]; }
inline Term* flat_keys(Term flat) { return tuple_elements(keys_tuple(flat)); }
inline Term* flat_values(Term flat) { return boxed_ptr(flat) + 2; }

// Of a trie.
inline Term root_of(Term hash_map) { return boxed_ptr(hash_map)[2]; }
inline bool is_collision(Term child) { return kind_of(child) == Kind::map_collision; }
inline size_t collision_pairs(const Term* collision) { return header_arity(collision[0].raw) / 2; }
constexpr size_t kNodeWords = 2;  // header and bitmap; the children follow

inline size_t children_of(const Term* node) { return header_arity(node[0].raw) - 1; }
inline uint32_t bitmap_of(const Term* node) { return static_cast<uint32_t>(node[1].raw); }

}  // namespace minivm::map
