// The objects of a set, bag or duplicate_bag: chains in a hash table that grows by one chain at a
// time.
//
// Linear hashing: a chain that was split, and its new partner, use one bit of the hash more than the
// other chains. Growing splits one chain into two, shrinking joins two, so no operation pays for a
// large table. Chains lie in segments of doubling size, which never move.
//
// A walk meets the objects in the order that it has on `erl`: the hash, the sizes at which the table
// grows and shrinks, the place of an object in its chain and the order of the chains are OTP's
// (erl_db_hash.c), where all chains of one lock of a table with write_concurrency come before the next's.
//
// While the table is fixed it neither grows nor shrinks, and deleted objects stay in their chains,
// marked: a walk by chain number meets each object once, and next(Key) finds its place.
//
// Invariants
//   (1) Objects of one key are neighbours in their chain, the newest first; a new key goes to the end.
//   (2) A set has at most one object of a key, marked or not.
//   (3) Marked objects exist only while the table is fixed.
// Threads: guarded by the lock of the table; size() and words() are read without it.
#pragma once

#include "vm/ets/object.hpp"

#include <atomic>
#include <vector>

namespace minivm::ets {

enum class Type : uint8_t { set, ordered_set, bag, duplicate_bag };

class HashStore {
public:
    // `locks`: how many locks OTP's table would have, a power of two; 1: no write_concurrency.
    HashStore(Type type, size_t keypos, size_t locks = 1);
    ~HashStore();
    HashStore(const HashStore&) = delete;
    HashStore& operator=(const HashStore&) = delete;

    static uint32_t hash_of(Term key);

    // The newest object of the key, marked ones left out; null: none.
    Object* find(Term key) const;
    // The next of the same key that is not marked.
    Object* next_of_key(const Object* o) const;
    // The first object of the key, even if it is marked.
    const Object* find_any(Term key) const;

    // Takes ownership of the object; in a set it replaces the one with its key.
    void insert(Object* o);
    // Puts `fresh`, which has the same key, in the place of `old`, which is freed.
    void replace(Object* old, Object* fresh);
    // Erases all objects of the key; returns how many.
    size_t erase_key(Term key);
    // Erases all objects that are =:= to the tuple.
    size_t erase_equal(Term tuple);
    // Erases the objects of chain i for which condition(object) holds.
    template <typename Condition>
    size_t erase_if(size_t i, Condition condition) {
        size_t n = 0;
        for (Object** at = &chain(i); *at != nullptr;) {
            Object* o = *at;
            if (!o->deleted && condition(o)) {
                n++;
                if (drop(at, i)) {
                    continue;
                }
            }
            at = &(*at)->link[0];
        }
        return n;
    }
    void mark_all();

    size_t chains() const { return chains_; }
    Object* first_in_chain(size_t i) const { return const_cast<HashStore*>(this)->chain(i); }
    // The chain after chain i in a walk, which begins with chain 0; kNoChain: i was the last.
    static constexpr size_t kNoChain = ~size_t{0};
    size_t next_chain(size_t i) const {
        i += locks_;
        if (i < chains_) {
            return i;
        }
        i = (i + 1) & (locks_ - 1);
        return i != 0 ? i : kNoChain;
    }
    size_t chain_of(uint32_t hash) const {
        const size_t i = hash & mask_;
        return i < chains_ ? i : i & (mask_ >> 1);
    }

    // Also under a shared lock. relaxed: writers look at the count under the exclusive lock.
    void fix() { fixed_.fetch_add(1, std::memory_order_relaxed); }
    void unfix();
    // relaxed: as fix().
    bool is_fixed() const { return fixed_.load(std::memory_order_relaxed) != 0; }
    // Joins a few chains if there are many for the objects, and the table is not fixed.
    void shrink();
    size_t shrinks_below() const {
        return slots_ >= kFirstChains + 2 * kSlotsAtOnce ? (slots_ - kSlotsAtOnce) / 2 : 0;
    }

    // relaxed, both: figures for info/2; writers hold the lock.
    size_t size() const { return size_.load(std::memory_order_relaxed); }
    size_t words() const { return words_.load(std::memory_order_relaxed); }
    size_t kept() const { return marked_; }

    // Frees up to n objects; false: none is left. Only for a store that nobody uses any more.
    bool free_some(size_t n);

private:
    static constexpr size_t kFirstChains = 256;
    static constexpr size_t kSlotsAtOnce = 2048;
    static constexpr int kStepsAtOnce = 5;  // chains split or joined by one operation at most
    static constexpr int kMaxSegments = 40;

    Object*& chain(size_t i) {
        const int segment =
            i < kFirstChains ? 0 : std::bit_width(i) - std::bit_width(kFirstChains - 1);
        return segments_[segment][segment == 0 ? i : i - std::bit_floor(i)];
    }
    Object** segment_new(size_t chains);
    bool key_is(const Object* o, Term key, uint32_t hash) const;
    // Removes or marks *at, which is in chain i; true if it is out of the chain.
    bool drop(Object** at, size_t i);
    void added(const Object* o);
    void removed(const Object* o);
    void grow();  // by a chain
    void join();  // a chain less

    const Type type_;
    const size_t keypos_;
    const size_t locks_;
    size_t chains_ = kFirstChains;
    size_t mask_ = kFirstChains - 1;  // 2^k - 1 >= chains_ - 1
    // Chains that OTP's segments would have room for: shrinks_below() goes by that.
    size_t slots_ = kFirstChains;
    std::atomic<size_t> fixed_{0};
    size_t marked_ = 0;
    size_t free_chain_ = 0;  // free_some() goes on here
    std::vector<size_t> marked_chains_;
    std::atomic<size_t> size_{0};
    std::atomic<size_t> words_{0};
    Object** segments_[kMaxSegments] = {};
};

}  // namespace minivm::ets
