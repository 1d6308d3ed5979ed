// The objects of an ordered_set: an AVL tree by term order, in which 1 and 1.0 are one key.
//
// Walks go by key, not by place, so the tree may change between two steps and needs no fixing.
// Threads: as hash_store.hpp.
#pragma once

#include "vm/ets/object.hpp"
#include "vm/term/compare.hpp"

#include <atomic>

namespace minivm::ets {

class TreeStore {
public:
    explicit TreeStore(size_t keypos) : keypos_(keypos) {}
    ~TreeStore();
    TreeStore(const TreeStore&) = delete;
    TreeStore& operator=(const TreeStore&) = delete;

    static int compare_keys(Term a, Term b) {
        if (both_small(a, b)) {
            return static_cast<int64_t>(a.raw) < static_cast<int64_t>(b.raw) ? -1 : a.raw != b.raw;
        }
        return compare_terms(a, b);
    }

    Object* find(Term key) const;
    Object* first() const;
    Object* last() const;
    // The n-th in order, from 0; null: there are no more than n.
    Object* nth(size_t n) const;
    // The steps of a walk in order, forwards or backwards, begin where the last one ended and take
    // constant time on average.
    Object* next(Term key) const { return neighbour(key, 1); }
    Object* previous(Term key) const { return neighbour(key, 0); }
    // The first whose key fulfils a condition that holds from some key on.
    template <typename Condition>
    Object* first_where(Condition condition) const {
        Object* found = nullptr;
        for (Object* o = root_; o != nullptr;) {
            if (condition(o->key(keypos_))) {
                found = o;
                o = o->link[0];
            } else {
                o = o->link[1];
            }
        }
        return found;
    }
    // The last whose key fulfils a condition that holds up to some key.
    template <typename Condition>
    Object* last_where(Condition condition) const {
        Object* found = nullptr;
        for (Object* o = root_; o != nullptr;) {
            if (condition(o->key(keypos_))) {
                found = o;
                o = o->link[1];
            } else {
                o = o->link[0];
            }
        }
        return found;
    }

    // Takes ownership of the object, which replaces the one with its key.
    void insert(Object* o);
    // Puts `fresh`, whose key is equal, in the place of `old`, which is freed.
    void replace(Object* old, Object* fresh);
    size_t erase_key(Term key);

    // relaxed, both: figures for info/2; writers hold the lock.
    size_t size() const { return size_.load(std::memory_order_relaxed); }
    size_t words() const { return words_.load(std::memory_order_relaxed); }

    // As HashStore::free_some().
    bool free_some(size_t n);

private:
    // The way from the root to a place; an AVL tree of 2^48 objects is no deeper.
    static constexpr int kMaxDepth = 72;
    struct Path {
        Object** at[kMaxDepth];
        int depth = 0;
    };
    // Where the last step of next() or previous() ended: the objects from the root to that one.
    // Readers share the table's lock, so one of them at a time takes the walk, and the others search
    // from the root; writers hold the lock exclusively and reset the walk.
    struct Walk {
        std::atomic<bool> is_taken{false};
        int depth = 0;
        Object* at[kMaxDepth];
    };
    // The next object of a key, side 1, or the one before, side 0.
    Object* neighbour(Term key, int side) const;
    Object* step(Walk& walk, Term key, int side) const;

    // The place of the key; the path holds the links above it.
    Object** descend(Term key, Path* path);
    static void rebalance(const Path& path);
    void count(const Object* added, const Object* removed);

    const size_t keypos_;
    Object* root_ = nullptr;
    mutable Walk walk_;
    std::atomic<size_t> size_{0};
    std::atomic<size_t> words_{0};
};

}  // namespace minivm::ets
