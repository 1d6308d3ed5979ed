// Flat maps and hash array mapped tries.
//
// The shape of a trie depends on the set of its keys alone: a node other than the root never has a leaf
// as its only child, and in a collision node the keys are in the order of terms.
#include "vm/term/map.hpp"

#include <algorithm>
#include <bit>
#include <memory>
#include <vector>

#include "vm/term/compare.hpp"
#include "vm/term/map_trie.hpp"

namespace minivm::map {

#ifdef MINIVM_DEBUG
uint32_t g_hash_mask_for_tests = ~uint32_t{0};
#endif

uint64_t whole_way(Term key) {
    const uint64_t hash = order_hash(key);
    const auto upper = static_cast<uint32_t>(by_release::hashes_are_wide() ? hash >> 32
                                                                           : order_hash_again(key));
    return uint64_t{reverse_digits(masked(static_cast<uint32_t>(hash)))} << 32 |
           reverse_digits(masked(upper));
}

namespace {

// ---- flat maps --------------------------------------------------------------------------------------

// Index of key in keys[0..n), or n.
size_t find_key(const Term* keys, size_t n, Term key) {
    if (is_equal_by_word(key)) {
        for (size_t i = 0; i < n; i++) {
            if (keys[i] == key) {
                return i;
            }
        }
        return n;
    }
    for (size_t i = 0; i < n; i++) {
        if (exact_equal(keys[i], key)) {
            return i;
        }
    }
    return n;
}

// A flat map of n values to be filled in.
Term* new_flat(Heap& h, Term keys, size_t n) {
    Term* p = h.alloc(2 + n);
    p[0] = Term{make_header(Kind::flat_map, 1 + n)};
    p[1] = keys;
    return p;
}

Term flat_from_sorted(Heap& h, const Term* keys, const Term* values, size_t n) {
    if (n == 0) {
        return empty(h);
    }
    Term* tuple = h.alloc(1 + n);
    tuple[0] = Term{make_header(Kind::tuple, n)};
    std::copy_n(keys, n, tuple + 1);
    Term* p = new_flat(h, make_boxed(tuple), n);
    std::copy_n(values, n, p + 2);
    return make_boxed(p);
}

// Up to kMaxFlatMap pairs, sorted.
struct SortedPairs {
    Term keys[kMaxFlatMap];
    Term values[kMaxFlatMap];
    size_t n = 0;

    // Where key is or belongs.
    size_t place(Term key, bool* found) const {
        *found = false;
        size_t low = 0;
        size_t high = n;
        // Mostly pairs come in order.
        if (n != 0) {
            const int c = compare_flat_keys(keys[n - 1], key);
            if (c <= 0) {
                *found = c == 0;
                return c == 0 ? n - 1 : n;
            }
            high = n - 1;
        }
        while (low < high) {
            const size_t middle = (low + high) / 2;
            const int c = compare_flat_keys(keys[middle], key);
            if (c == 0) {
                *found = true;
                return middle;
            }
            if (c < 0) {
                low = middle + 1;
            } else {
                high = middle;
            }
        }
        return low;
    }
    // False if there is no room.
    bool put(Term key, Term value) {
        bool found;
        const size_t at = place(key, &found);
        if (!found) {
            if (n == kMaxFlatMap) {
                return false;
            }
            std::copy_backward(keys + at, keys + n, keys + n + 1);
            std::copy_backward(values + at, values + n, values + n + 1);
            n++;
        }
        keys[at] = key;  // the later key too: 0.0 and -0.0 may be equal
        values[at] = value;
        return true;
    }
    Term to_map(Heap& h) const { return flat_from_sorted(h, keys, values, n); }
};

Term with_value(Heap& h, Term flat, size_t index, Term value) {
    const size_t n = map_size(flat);
    if (flat_values(flat)[index] == value) {
        return flat;
    }
    Term* p = new_flat(h, keys_tuple(flat), n);
    std::copy_n(flat_values(flat), n, p + 2);
    p[2 + index] = value;
    return make_boxed(p);
}

// ---- tries ------------------------------------------------------------------------------------------

Term make_hash_map(Heap& h, size_t count, Term root) {
    Term* p = h.alloc(3);
    p[0] = Term{make_header(Kind::hash_map, 2)};
    p[1] = Term{count};
    p[2] = root;
    return make_boxed(p);
}

// Where the compiler may not assume the machine's own instruction, std::popcount calls a table search.
#if defined(__x86_64__)
bool can_count_bits() {
    __builtin_cpu_init();
    return __builtin_cpu_supports("popcnt") != 0;
}
const bool g_counts_bits = can_count_bits();  // false before it is initialized: slower, not wrong
#endif
constexpr uint32_t bits_in(uint32_t v) {
#if defined(__x86_64__)
    if (!std::is_constant_evaluated() && MINIVM_LIKELY(g_counts_bits)) {
        uint32_t n;
        asm("popcntl %1, %0" : "=r"(n) : "r"(v) : "cc");
        return n;
    }
#endif
    v -= v >> 1 & 0x55555555;
    v = (v & 0x33333333) + (v >> 2 & 0x33333333);
    return ((v + (v >> 4)) & 0x0F0F0F0F) * 0x01010101 >> 24;
}
static_assert(bits_in(0) == 0 && bits_in(~0u) == 32 && bits_in(0x80000001) == 2);

// The word of the child for `bit`, or where it would stand.
size_t slot_of(uint32_t bitmap, uint32_t bit) {
    return kNodeWords + static_cast<size_t>(bits_in(bitmap & (bit - 1)));
}

Term* new_node(Heap& h, uint32_t bitmap) {
    const size_t n = static_cast<size_t>(bits_in(bitmap));
    Term* p = h.alloc(kNodeWords + n);
    p[0] = Term{make_header(Kind::map_node, 1 + n)};
    p[1] = Term{bitmap};
    return p;
}

Term with_child(Heap& h, const Term* node, size_t slot, Term child) {
    Term* p = new_node(h, bitmap_of(node));
    std::copy_n(node + kNodeWords, children_of(node), p + kNodeWords);
    p[slot] = child;
    return make_boxed(p);
}

Term with_new_child(Heap& h, const Term* node, uint32_t bit, Term child) {
    const uint32_t bitmap = bitmap_of(node);
    const size_t slot = slot_of(bitmap, bit);
    Term* p = new_node(h, bitmap | bit);
    std::copy(node + kNodeWords, node + slot, p + kNodeWords);
    p[slot] = child;
    std::copy(node + slot, node + kNodeWords + children_of(node), p + slot + 1);
    return make_boxed(p);
}

// Index of the pair in a collision node, or the number of pairs.
size_t find_colliding(const Term* collision, Term key) {
    const size_t n = collision_pairs(collision);
    for (size_t i = 0; i < n; i++) {
        if (exact_equal(collision[1 + 2 * i], key)) {
            return i;
        }
    }
    return n;
}

Term* new_collision(Heap& h, size_t pairs) {
    Term* p = h.alloc(1 + 2 * pairs);
    p[0] = Term{make_header(Kind::map_collision, 2 * pairs)};
    return p;
}

// A subtree of two leaves with different keys.
Term join_leaves(Heap& h, Term a, Way way_a, Term b, Way way_b) {
    if (way_a.level() == kMaxLevels) {
        if (compare_terms_exact(head(b), head(a)) < 0) {
            std::swap(a, b);
        }
        Term* p = new_collision(h, 2);
        p[1] = head(a);
        p[2] = tail(a);
        p[3] = head(b);
        p[4] = tail(b);
        return make_boxed(p);
    }
    const unsigned index_a = way_a.index();
    const unsigned index_b = way_b.index();
    if (index_a == index_b) {
        const Term child = join_leaves(h, a, way_a.next(), b, way_b.next());
        Term* p = new_node(h, 1u << index_a);
        p[2] = child;
        return make_boxed(p);
    }
    Term* p = new_node(h, (1u << index_a) | (1u << index_b));
    p[2] = index_a < index_b ? a : b;
    p[3] = index_a < index_b ? b : a;
    return make_boxed(p);
}

struct Insertion {
    Heap& h;
    Term key;
    Term value;
    bool may_add = true;
    bool may_replace = true;
    bool existed = false;

    // The subtree with the pair; the same one if nothing changes. Depth is bounded by kMaxLevels.
    Term into(Term child, Way way) {
        if (is_cons(child)) {
            if (exact_equal(head(child), key)) {
                existed = true;
                return !may_replace || tail(child) == value ? child : cons(h, head(child), value);
            }
            return may_add ? join_leaves(h, child, Way::at_level(head(child), way.level()),
                                         cons(h, key, value), way)
                           : child;
        }
        const Term* node = boxed_ptr(child);
        if (is_collision(child)) {
            return into_collision(child, node);
        }
        const uint32_t bit = 1u << way.index();
        const uint32_t bitmap = bitmap_of(node);
        if ((bitmap & bit) == 0) {
            return may_add ? with_new_child(h, node, bit, cons(h, key, value)) : child;
        }
        const size_t slot = slot_of(bitmap, bit);
        const Term changed = into(node[slot], way.next());
        return changed == node[slot] ? child : with_child(h, node, slot, changed);
    }

  private:
    Term into_collision(Term child, const Term* node) {
        const size_t n = collision_pairs(node);
        size_t at = find_colliding(node, key);
        existed = at != n;
        if (existed ? !may_replace || node[2 + 2 * at] == value : !may_add) {
            return child;
        }
        while (!existed && at > 0 && compare_terms_exact(key, node[1 + 2 * (at - 1)]) < 0) {
            at--;
        }
        Term* p = new_collision(h, existed ? n : n + 1);
        std::copy_n(node + 1, 2 * at, p + 1);
        p[1 + 2 * at] = key;
        p[2 + 2 * at] = value;
        std::copy(node + 1 + 2 * (existed ? at + 1 : at), node + 1 + 2 * n, p + 3 + 2 * at);
        return make_boxed(p);
    }
};

// The subtree without the key, which is in it; a leaf if one is left, the non-value if none.
Term without(Heap& h, Term child, Term key, Way way) {
    if (is_cons(child)) {
        return kNonValue;
    }
    const Term* node = boxed_ptr(child);
    if (is_collision(child)) {
        const size_t n = collision_pairs(node);
        const size_t at = find_colliding(node, key);
        if (n == 2) {
            const size_t other = 1 - at;
            return cons(h, node[1 + 2 * other], node[2 + 2 * other]);
        }
        Term* p = new_collision(h, n - 1);
        std::copy_n(node + 1, 2 * at, p + 1);
        std::copy_n(node + 3 + 2 * at, 2 * (n - at - 1), p + 1 + 2 * at);
        return make_boxed(p);
    }
    const uint32_t bit = 1u << way.index();
    const uint32_t bitmap = bitmap_of(node);
    const size_t slot = slot_of(bitmap, bit);
    const size_t n = children_of(node);
    const Term rest = without(h, node[slot], key, way.next());
    if (is_value(rest)) {
        // Not the root: that has more than kMaxFlatMap leaves below.
        return n == 1 && is_cons(rest) && way.level() > 0 ? rest : with_child(h, node, slot, rest);
    }
    if (n == 2 && way.level() > 0) {
        const Term other = node[slot == kNodeWords ? kNodeWords + 1 : kNodeWords];
        if (is_cons(other)) {
            return other;
        }
    }
    Term* p = new_node(h, bitmap & ~bit);
    std::copy(node + kNodeWords, node + slot, p + kNodeWords);
    std::copy(node + slot + 1, node + kNodeWords + n, p + slot);
    return make_boxed(p);
}

size_t count_leaves(Term child) {
    if (is_cons(child)) {
        return 1;
    }
    const Term* node = boxed_ptr(child);
    if (is_collision(child)) {
        return collision_pairs(node);
    }
    size_t count = 0;
    for (size_t i = 0; i < children_of(node); i++) {
        count += count_leaves(node[kNodeWords + i]);
    }
    return count;
}

// The union of two subtrees at one place; b wins. *common counts keys in both.
Term merge_subtrees(Heap& h, Term a, Term b, int level, size_t* common) {
    if (a == b) {
        *common += count_leaves(a);
        return b;
    }
    if (is_cons(b)) {
        Insertion insertion{h, head(b), tail(b)};
        const Term result = insertion.into(a, Way::at_level(head(b), level));
        *common += insertion.existed ? 1 : 0;
        return result;
    }
    if (is_cons(a)) {
        Insertion insertion{h, head(a), tail(a)};
        insertion.may_replace = false;
        const Term result = insertion.into(b, Way::at_level(head(a), level));
        *common += insertion.existed ? 1 : 0;
        return result;
    }
    const Term* node_a = boxed_ptr(a);
    const Term* node_b = boxed_ptr(b);
    if (level == kMaxLevels) {
        Term result = a;
        for (size_t i = 0; i < collision_pairs(node_b); i++) {
            Insertion insertion{h, node_b[1 + 2 * i], node_b[2 + 2 * i]};
            result = insertion.into(result, Way::at_level(insertion.key, level));
            *common += insertion.existed ? 1 : 0;
        }
        return result;
    }
    const uint32_t bits_a = bitmap_of(node_a);
    const uint32_t bits_b = bitmap_of(node_b);
    Term children[32];
    size_t n = 0;
    for (uint32_t rest = bits_a | bits_b; rest != 0; rest &= rest - 1) {
        const uint32_t bit = rest & (~rest + 1);
        const bool in_a = (bits_a & bit) != 0;
        const bool in_b = (bits_b & bit) != 0;
        const Term child_a = in_a ? node_a[slot_of(bits_a, bit)] : kNonValue;
        const Term child_b = in_b ? node_b[slot_of(bits_b, bit)] : kNonValue;
        children[n++] = !in_a   ? child_b
                        : !in_b ? child_a
                                : merge_subtrees(h, child_a, child_b, level + 1, common);
    }
    Term* p = new_node(h, bits_a | bits_b);
    std::copy_n(children, n, p + kNodeWords);
    return make_boxed(p);
}

// ---- building a trie from many pairs ------------------------------------------------------------------

// Entries are the upper half of a way << 32 | number of the leaf: sorting puts them in the order of the
// trie and keeps the order of insertion among equal ones.
class Builder {
  public:
    Builder(Heap& h, const Term* keys, const Term* values, size_t n)
        : h_(h), keys_(keys), values_(values), entries_(n) {
        for (size_t i = 0; i < n; i++) {
            entries_[i] = entry(quick_way(keys[i]), i);
        }
        std::sort(entries_.begin(), entries_.end());
        drop_overwritten();
    }
    size_t size() const { return entries_.size(); }
    Term to_map() {
        if (size() <= kMaxFlatMap) {
            SortedPairs pairs;
            for (const uint64_t e : entries_) {
                pairs.put(keys_[number(e)], values_[number(e)]);
            }
            return pairs.to_map(h_);
        }
        const Term root = build(entries_.data(), size(), 0);
        return make_hash_map(h_, size(), root);
    }

  private:
    static uint64_t entry(uint32_t hash, size_t number) { return uint64_t{hash} << 32 | number; }
    static uint32_t hash(uint64_t e) { return static_cast<uint32_t>(e >> 32); }
    static size_t number(uint64_t e) { return static_cast<uint32_t>(e); }

    // Of equal keys only the last stays. They have equal hashes, and few other keys share one.
    void drop_overwritten() {
        size_t kept = 0;
        size_t group = 0;  // where the kept entries with the present hash begin
        for (const uint64_t e : entries_) {
            if (kept == 0 || hash(entries_[kept - 1]) != hash(e)) {
                group = kept;
            }
            size_t at = group;
            while (at < kept && !exact_equal(keys_[number(entries_[at])], keys_[number(e)])) {
                at++;
            }
            entries_[at] = e;
            kept = std::max(kept, at + 1);
        }
        entries_.resize(kept);
    }

    Term leaf(uint64_t e) { return cons(h_, keys_[number(e)], values_[number(e)]); }

    Term build(uint64_t* entries, size_t n, int level) {
        if (n == 1 && level > 0) {
            return leaf(entries[0]);
        }
        if (level == kQuickLevels) {
            Term child = leaf(entries[0]);
            for (size_t i = 1; i < n; i++) {
                const size_t k = number(entries[i]);
                Insertion insertion{h_, keys_[k], values_[k]};
                child = insertion.into(child, Way::at_level(keys_[k], level));
            }
            return child;
        }
        const int shift = 32 - kLevelBits * (level + 1);
        const auto index = [&](size_t i) { return (hash(entries[i]) >> shift) & 31; };
        Term children[32];
        size_t count = 0;
        uint32_t bitmap = 0;
        for (size_t i = 0; i < n;) {
            size_t end = i + 1;
            while (end < n && index(end) == index(i)) {
                end++;
            }
            bitmap |= 1u << index(i);
            children[count++] = build(entries + i, end - i, level + 1);
            i = end;
        }
        Term* p = new_node(h_, bitmap);
        std::copy_n(children, count, p + kNodeWords);
        return make_boxed(p);
    }

    Heap& h_;
    const Term* keys_;
    const Term* values_;
    std::vector<uint64_t> entries_;
};

// A map of the flat map's pairs and n more, of which the later ones win.
Term add_pairs(Heap& h, Term flat, const Term* pairs, size_t n) {
    const size_t size = map_size(flat);
    const auto scratch = std::make_unique<Term[]>(2 * (size + n));
    Term* keys = scratch.get();
    Term* values = keys + size + n;
    std::copy_n(flat_keys(flat), size, keys);
    std::copy_n(flat_values(flat), size, values);
    for (size_t i = 0; i < n; i++) {
        keys[size + i] = pairs[2 * i];
        values[size + i] = pairs[2 * i + 1];
    }
    return Builder(h, keys, values, size + n).to_map();
}

Term put_hashed(Heap& h, Term map, Insertion& insertion) {
    const Term root = root_of(map);
    const Term changed = insertion.into(root, Way(insertion.key, quick_way(insertion.key)));
    if (changed == root) {
        return map;
    }
    return make_hash_map(h, map_size(map) + (insertion.existed ? 0 : 1), changed);
}

Term merge_flat(Heap& h, Term a, Term b) {
    if (keys_tuple(a) == keys_tuple(b)) {
        return b;
    }
    const size_t size_a = map_size(a);
    const size_t size_b = map_size(b);
    const Term* keys_a = flat_keys(a);
    const Term* keys_b = flat_keys(b);
    Term keys[2 * kMaxFlatMap];
    Term values[2 * kMaxFlatMap];
    size_t i = 0;
    size_t j = 0;
    size_t n = 0;
    while (i < size_a || j < size_b) {
        const int c = i == size_a   ? 1
                      : j == size_b ? -1
                                    : compare_flat_keys(keys_a[i], keys_b[j]);
        keys[n] = c < 0 ? keys_a[i] : keys_b[j];
        values[n++] = c < 0 ? flat_values(a)[i] : flat_values(b)[j];
        i += c <= 0 ? 1 : 0;
        j += c >= 0 ? 1 : 0;
    }
    if (n > kMaxFlatMap) {
        return Builder(h, keys, values, n).to_map();
    }
    if (n == size_b) {
        return b;  // every key of a is in b
    }
    if (n == size_a) {
        Term* p = new_flat(h, keys_tuple(a), n);
        std::copy_n(values, n, p + 2);
        return make_boxed(p);
    }
    return flat_from_sorted(h, keys, values, n);
}

Term child_for(Term hash_map, unsigned part) {
    const Term* node = boxed_ptr(root_of(hash_map));
    const uint32_t bit = 1u << part;
    return (bitmap_of(node) & bit) != 0 ? node[slot_of(bitmap_of(node), bit)] : kNonValue;
}

}  // namespace

// ---- looking up -----------------------------------------------------------------------------------------

uint32_t key_hash(Term key) { return quick_way(key); }

// Takes the turns of a Way, with the level in the loop.
Term get_hashed(Term map, Term key, uint32_t hash) {
    Term child = root_of(map);
    uint64_t bits = uint64_t{hash} << 32;
    for (int level = 0; level < kMaxLevels; ++level) {
        if (MINIVM_UNLIKELY(level == kQuickLevels)) {
            bits = whole_way(key) << (kLevelBits * kQuickLevels);
        }
        const Term* node = boxed_ptr(child);
        const uint32_t bit = 1u << (bits >> (64 - kLevelBits));
        const uint32_t bitmap = bitmap_of(node);
        if ((bitmap & bit) == 0) {
            return kNonValue;
        }
        child = node[slot_of(bitmap, bit)];
        if (is_cons(child)) {
            return exact_equal(head(child), key) ? tail(child) : kNonValue;
        }
        bits <<= kLevelBits;
    }
    const Term* node = boxed_ptr(child);
    const size_t at = find_colliding(node, key);
    return at != collision_pairs(node) ? node[2 + 2 * at] : kNonValue;
}

Term get(Term map, Term key) {
    if (is_flat_map(map)) {
        const size_t n = map_size(map);
        const size_t at = find_key(flat_keys(map), n, key);
        return at != n ? flat_values(map)[at] : kNonValue;
    }
    return get_hashed(map, key, quick_way(key));
}

// ---- building ---------------------------------------------------------------------------------------------

Term empty(Heap& h) {
    Term* p = h.alloc(3);
    p[0] = Term{make_header(Kind::tuple, 0)};
    p[1] = Term{make_header(Kind::flat_map, 1)};
    p[2] = make_boxed(p);
    return make_boxed(p + 1);
}

Term from_pairs(Heap& h, Term* keys, Term* values, size_t n) {
    if (n > kMaxFlatMap) {
        return Builder(h, keys, values, n).to_map();
    }
    SortedPairs pairs;
    for (size_t i = 0; i < n; i++) {
        pairs.put(keys[i], values[i]);
    }
    return pairs.to_map(h);
}

Term put(Heap& h, Term map, Term key, Term value) {
    if (!is_flat_map(map)) {
        Insertion insertion{h, key, value};
        return put_hashed(h, map, insertion);
    }
    const size_t n = map_size(map);
    const Term* keys = flat_keys(map);
    const size_t at = find_key(keys, n, key);
    if (at != n) {
        return with_value(h, map, at, value);
    }
    if (n == kMaxFlatMap) {
        const Term pair[2] = {key, value};
        return add_pairs(h, map, pair, 1);
    }
    size_t before = 0;
    for (size_t high = n; before < high;) {
        const size_t middle = (before + high) / 2;
        if (compare_flat_keys(keys[middle], key) < 0) {
            before = middle + 1;
        } else {
            high = middle;
        }
    }
    const Term* values = flat_values(map);
    Term* tuple = h.alloc(2 + n);
    tuple[0] = Term{make_header(Kind::tuple, n + 1)};
    std::copy_n(keys, before, tuple + 1);
    tuple[1 + before] = key;
    std::copy(keys + before, keys + n, tuple + 2 + before);
    Term* p = new_flat(h, make_boxed(tuple), n + 1);
    std::copy_n(values, before, p + 2);
    p[2 + before] = value;
    std::copy(values + before, values + n, p + 3 + before);
    return make_boxed(p);
}

Term update(Heap& h, Term map, Term key, Term value) {
    if (!is_flat_map(map)) {
        Insertion insertion{h, key, value};
        insertion.may_add = false;
        const Term result = put_hashed(h, map, insertion);
        return insertion.existed ? result : kNonValue;
    }
    const size_t n = map_size(map);
    const size_t at = find_key(flat_keys(map), n, key);
    return at != n ? with_value(h, map, at, value) : kNonValue;
}

Term remove(Heap& h, Term map, Term key) {
    const size_t n = map_size(map);
    if (is_flat_map(map)) {
        const Term* keys = flat_keys(map);
        const Term* values = flat_values(map);
        const size_t at = find_key(keys, n, key);
        if (at == n) {
            return map;
        }
        if (n == 1) {
            return empty(h);
        }
        Term* tuple = h.alloc(n);
        tuple[0] = Term{make_header(Kind::tuple, n - 1)};
        std::copy_n(keys, at, tuple + 1);
        std::copy(keys + at + 1, keys + n, tuple + 1 + at);
        Term* p = new_flat(h, make_boxed(tuple), n - 1);
        std::copy_n(values, at, p + 2);
        std::copy(values + at + 1, values + n, p + 2 + at);
        return make_boxed(p);
    }
    const uint32_t hash = quick_way(key);
    if (!is_value(get_hashed(map, key, hash))) {
        return map;
    }
    if (n == kMaxFlatMap + 1) {
        SortedPairs pairs;
        Iterator it(map);
        for (Term k, v; it.next(&k, &v);) {
            if (!exact_equal(k, key)) {
                pairs.put(k, v);
            }
        }
        return pairs.to_map(h);
    }
    return make_hash_map(h, n - 1, without(h, root_of(map), key, Way(key, hash)));
}

Term merge(Heap& h, Term a, Term b) {
    if (a == b || map_size(a) == 0) {
        return b;
    }
    if (map_size(b) == 0) {
        return a;
    }
    if (is_flat_map(a) && is_flat_map(b)) {
        return merge_flat(h, a, b);
    }
    if (is_flat_map(b)) {
        for (size_t i = 0; i < map_size(b); i++) {
            a = put(h, a, flat_keys(b)[i], flat_values(b)[i]);
        }
        return a;
    }
    if (is_flat_map(a)) {
        for (size_t i = 0; i < map_size(a); i++) {
            Insertion insertion{h, flat_keys(a)[i], flat_values(a)[i]};
            insertion.may_replace = false;
            b = put_hashed(h, b, insertion);
        }
        return b;
    }
    size_t common = 0;
    const Term root = merge_subtrees(h, root_of(a), root_of(b), 0, &common);
    return make_hash_map(h, map_size(a) + map_size(b) - common, root);
}

Term merge_part(Heap& h, Term a, Term b, unsigned part, size_t* common) {
    const Term child_a = child_for(a, part);
    const Term child_b = child_for(b, part);
    if (!is_value(child_a) || !is_value(child_b)) {
        return is_value(child_a) ? child_a : child_b;
    }
    return merge_subtrees(h, child_a, child_b, 1, common);
}

Term merge_finish(Heap& h, Term a, Term b, const Term* parts, size_t common) {
    uint32_t bitmap = 0;
    for (unsigned i = 0; i < kMergeParts; i++) {
        bitmap |= is_value(parts[i]) ? 1u << i : 0;
    }
    Term* p = new_node(h, bitmap);
    Term* child = p + kNodeWords;
    for (unsigned i = 0; i < kMergeParts; i++) {
        if (is_value(parts[i])) {
            *child++ = parts[i];
        }
    }
    return make_hash_map(h, map_size(a) + map_size(b) - common, make_boxed(p));
}

Term update_assoc(Heap& h, Term map, const Term* pairs, size_t n) {
    // Up to this many pairs are put one by one: cheaper than a second map and a merge.
    constexpr size_t kFewPairs = 16;
    if (n == 1) {
        return put(h, map, pairs[0], pairs[1]);
    }
    if (!is_flat_map(map)) {
        if (n > kFewPairs) {
            return merge(h, map, add_pairs(h, empty(h), pairs, n));
        }
        for (size_t i = 0; i < n; i++) {
            map = put(h, map, pairs[2 * i], pairs[2 * i + 1]);
        }
        return map;
    }
    SortedPairs result;
    result.n = map_size(map);
    const size_t size = result.n;
    const Term* old_keys = flat_keys(map);
    std::copy_n(old_keys, size, result.keys);
    std::copy_n(flat_values(map), size, result.values);
    bool changed = false;
    for (size_t i = 0; i < n; i++) {
        const Term key = pairs[2 * i];
        const Term value = pairs[2 * i + 1];
        const size_t at = find_key(result.keys, result.n, key);
        if (at != result.n) {
            changed |= result.values[at] != value;
            result.values[at] = value;
        } else if (!result.put(key, value)) {
            return add_pairs(h, map, pairs, n);
        }
    }
    if (result.n != size) {
        return result.to_map(h);
    }
    if (!changed) {
        return map;
    }
    Term* p = new_flat(h, keys_tuple(map), size);
    std::copy_n(result.values, size, p + 2);
    return make_boxed(p);
}

// Of the keys that map does not have, the first in the order of a flat map's keys: updates are made in that order.
static Term first_missing_key(Term map, const Term* pairs, size_t n) {
    Term missing = kNonValue;
    for (size_t i = 0; i < n; i++) {
        const Term key = pairs[2 * i];
        if (!is_value(get(map, key)) &&
            (!is_value(missing) || compare_flat_keys(key, missing) < 0)) {
            missing = key;
        }
    }
    return missing;
}

Term update_exact(Heap& h, Term map, const Term* pairs, size_t n, Term* missing_key) {
    if (!is_flat_map(map) || n == 1) {
        const Term before = map;
        for (size_t i = 0; i < n; i++) {
            map = update(h, map, pairs[2 * i], pairs[2 * i + 1]);
            if (!is_value(map)) {
                *missing_key = first_missing_key(before, pairs, n);
                return kNonValue;
            }
        }
        return map;
    }
    const size_t size = map_size(map);
    Term values[kMaxFlatMap];
    std::copy_n(flat_values(map), size, values);
    bool changed = false;
    for (size_t i = 0; i < n; i++) {
        const size_t at = find_key(flat_keys(map), size, pairs[2 * i]);
        if (at == size) {
            *missing_key = first_missing_key(map, pairs, n);
            return kNonValue;
        }
        changed |= values[at] != pairs[2 * i + 1];
        values[at] = pairs[2 * i + 1];
    }
    if (!changed) {
        return map;
    }
    Term* p = new_flat(h, keys_tuple(map), size);
    std::copy_n(values, size, p + 2);
    return make_boxed(p);
}

}  // namespace minivm::map
