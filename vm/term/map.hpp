// Maps: flat up to kMaxFlatMap pairs, keys sorted (compare_flat_keys); then a hash array mapped trie.
//
// Layouts (term.hpp): flat_map [keys tuple | values], hash_map [count | root], map_node
// [bitmap | children], a child being a cons [Key | Value], a boxed map_node or a map_collision.
// Both kinds are persistent: an update shares what it does not change, keys tuples included.
// Keys are compared with =:=.
// Threads: any; results are built in the given heap.
#pragma once

#include "vm/term/heap.hpp"

namespace minivm::map {

Term empty(Heap& h);
// Value of key, or the non-value.
Term get(Term map, Term key);
// The same for a hash map where key_hash(key) is known already.
Term get_hashed(Term map, Term key, uint32_t hash);
uint32_t key_hash(Term key);
Term put(Heap& h, Term map, Term key, Term value);
// As put, but the non-value if key is not there.
Term update(Heap& h, Term map, Term key, Term value);
Term remove(Heap& h, Term map, Term key);  // the same map if it is not there
// From n pairs (keys[i], values[i]); later ones win. The arrays are scratch: they may be reordered.
Term from_pairs(Heap& h, Term* keys, Term* values, size_t n);
Term merge(Heap& h, Term a, Term b);  // b's values win

// The same in 32 steps for two hash maps: merge_part() for each part in 0..31, then merge_finish().
constexpr unsigned kMergeParts = 32;
// The merged child (the non-value: none); *common is raised by the number of keys in both.
Term merge_part(Heap& h, Term a, Term b, unsigned part, size_t* common);
Term merge_finish(Heap& h, Term a, Term b, const Term* parts, size_t common);

// All pairs in the map's own order: a flat map's is that of its keys, a hash map's is OTP's. backwards: a
// hash map from its end on. A position belongs to one direction.
struct Iterator {
    explicit Iterator(Term map, bool backwards = false);
    bool next(Term* key, Term* value);

    // Where next() will go on: five bits a level, then the place among colliding keys. Stays valid for
    // the same map when the map is moved.
    struct Position {
        Word low;
        Word high;
    };
    // False if there are no more pairs.
    bool position(Position* out);
    // False if the map has no such position.
    bool seek(Position position);

  private:
    void leave_finished_nodes();

    Term stack_[24];
    uint32_t position_[24];  // the child to visit next, of each node on the stack
    int depth_;
    Term map_;
    uint32_t flat_index_;
    bool backwards_;
};
// put_map_assoc / put_map_exact: pairs in args[0..2n): key, value. Non-value: the key is not there
// (exact only; *missing_key is set).
Term update_assoc(Heap& h, Term map, const Term* pairs, size_t n);
Term update_exact(Heap& h, Term map, const Term* pairs, size_t n, Term* missing_key);

// Checks the layout of a map: order of keys, bit maps, places by hash, no needless node. For tests.
bool is_well_formed(Term map);
#ifdef MINIVM_DEBUG
// Hashes are and-ed with this, so that tests can make keys collide. Not while maps are in use.
extern uint32_t g_hash_mask_for_tests;
#endif

}  // namespace minivm::map
