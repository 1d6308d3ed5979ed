// The shape of hash array mapped tries (map.cpp), for what builds, walks and checks them.
#pragma once

#include "vm/term/hash.hpp"
#include "vm/term/map.hpp"

namespace minivm::map {

constexpr int kLevelBits = 5;
constexpr int kLevelsPerHash = 6;
constexpr int kMaxLevels = 3 * kLevelsPerHash;  // collision nodes hang below the last
constexpr int kTopShift = 32 - kLevelBits;

inline uint32_t salted_hash(Term key, int salt) {
    const uint32_t hash = internal_hash(key, static_cast<uint32_t>(salt));
#ifdef MINIVM_DEBUG
    return hash & g_hash_mask_for_tests;
#else
    return hash;
#endif
}

// The way of a key through the levels.
class Way {
  public:
    Way(Term key, uint32_t hash) : key_(key), bits_(hash), level_(0) {}
    static Way at_level(Term key, int level) {
        Way way(key, 0);
        way.level_ = level;
        if (level < kMaxLevels) {
            way.bits_ = salted_hash(key, level / kLevelsPerHash)
                        << (kLevelBits * (level % kLevelsPerHash));
        }
        return way;
    }
    unsigned index() const { return bits_ >> kTopShift; }
    int level() const { return level_; }
    Way next() const {
        Way way = *this;
        way.bits_ <<= kLevelBits;
        if (++way.level_ % kLevelsPerHash == 0 && way.level_ < kMaxLevels) {
            way.bits_ = salted_hash(key_, way.level_ / kLevelsPerHash);
        }
        return way;
    }

  private:
    Term key_;
    uint32_t bits_;
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
