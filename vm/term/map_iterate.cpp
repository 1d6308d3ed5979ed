// Walking a map in its order, and checking its layout.
#include "vm/term/compare.hpp"
#include "vm/term/map_trie.hpp"

#include <bit>

namespace minivm::map {

Iterator::Iterator(Term map, bool backwards)
    : depth_(0), map_(map), flat_index_(0), backwards_(backwards) {
    static_assert(kMaxLevels + 1 <= 24);
    if (!is_flat_map(map)) {
        stack_[0] = root_of(map);
        position_[0] = 0;
        depth_ = 1;
    }
}

namespace {

size_t node_size(Term child) {
    return is_collision(child) ? collision_pairs(boxed_ptr(child)) : children_of(boxed_ptr(child));
}

}  // namespace

void Iterator::leave_finished_nodes() {
    while (depth_ > 0 && position_[depth_ - 1] == node_size(stack_[depth_ - 1])) {
        depth_--;
    }
}

bool Iterator::next(Term* key, Term* value) {
    if (is_flat_map(map_)) {
        if (flat_index_ == map_size(map_)) {
            return false;
        }
        *key = flat_keys(map_)[flat_index_];
        *value = flat_values(map_)[flat_index_++];
        return true;
    }
    leave_finished_nodes();
    if (depth_ == 0) {
        return false;
    }
    for (;;) {
        const Term top = stack_[depth_ - 1];
        const Term* node = boxed_ptr(top);
        size_t at = position_[depth_ - 1]++;
        if (backwards_) {
            at = node_size(top) - 1 - at;
        }
        if (is_collision(top)) {
            *key = node[1 + 2 * at];
            *value = node[2 + 2 * at];
            return true;
        }
        const Term child = node[kNodeWords + at];
        if (is_cons(child)) {
            *key = head(child);
            *value = tail(child);
            return true;
        }
        stack_[depth_] = child;
        position_[depth_++] = 0;
    }
}

bool Iterator::position(Position* out) {
    if (is_flat_map(map_)) {
        *out = {flat_index_, 0};
        return flat_index_ != map_size(map_);
    }
    leave_finished_nodes();
    unsigned __int128 path = 0;
    for (int i = 0; i < depth_; i++) {
        const uint32_t at = i == depth_ - 1 ? position_[i] : position_[i] - 1;
        path |= static_cast<unsigned __int128>(at) << (kLevelBits * i);
    }
    *out = {static_cast<Word>(path), static_cast<Word>(path >> 64)};
    return depth_ != 0;
}

bool Iterator::seek(Position position) {
    if (is_flat_map(map_)) {
        flat_index_ = static_cast<uint32_t>(position.low);
        return position.high == 0 && position.low < std::max<size_t>(1, map_size(map_));
    }
    unsigned __int128 path = static_cast<unsigned __int128>(position.high) << 64 | position.low;
    Term child = root_of(map_);
    for (depth_ = 0; !is_cons(child);) {
        const bool collision = is_collision(child);
        const auto at = static_cast<uint64_t>(collision ? path : path & 31);
        if (at >= node_size(child)) {
            depth_ = 0;
            return false;
        }
        stack_[depth_] = child;
        position_[depth_++] = static_cast<uint32_t>(at);
        if (collision) {
            return true;
        }
        path >>= kLevelBits;
        child = boxed_ptr(child)[kNodeWords + (backwards_ ? node_size(child) - 1 - at : at)];
        if (!is_cons(child)) {
            position_[depth_ - 1]++;
        }
    }
    return path == 0;
}

namespace {

bool is_subtree(Term child, int level, size_t* count) {
    if (is_cons(child)) {
        ++*count;
        return true;
    }
    const Term* node = boxed_ptr(child);
    if (level == kMaxLevels) {
        if (!is_collision(child) || collision_pairs(node) < 2) {
            return false;
        }
        *count += collision_pairs(node);
        for (size_t i = 1; i < collision_pairs(node); i++) {
            if (compare_terms_exact(node[2 * i - 1], node[2 * i + 1]) >= 0) {
                return false;
            }
        }
        return true;
    }
    if (kind_of(child) != Kind::map_node || bitmap_of(node) == 0 || node[1].raw >> 32 != 0 ||
        static_cast<size_t>(std::popcount(bitmap_of(node))) != children_of(node) ||
        (level > 0 && children_of(node) == 1 && is_cons(node[kNodeWords]))) {
        return false;
    }
    for (size_t i = 0; i < children_of(node); i++) {
        if (!is_subtree(node[kNodeWords + i], level + 1, count)) {
            return false;
        }
    }
    return true;
}

}  // namespace

bool is_well_formed(Term map) {
    if (!is_map(map)) {
        return false;
    }
    const size_t n = map_size(map);
    if (is_flat_map(map)) {
        if (n > kMaxFlatMap || !is_tuple_of(keys_tuple(map), n)) {
            return false;
        }
        for (size_t i = 1; i < n; i++) {
            if (compare_flat_keys(flat_keys(map)[i - 1], flat_keys(map)[i]) >= 0) {
                return false;
            }
        }
        return true;
    }
    size_t count = 0;
    if (n <= kMaxFlatMap || !is_subtree(root_of(map), 0, &count) || count != n) {
        return false;
    }
    // Each key is found again where its hash leads, and only there.
    Iterator it(map);
    for (Term key, value; it.next(&key, &value);) {
        if (get(map, key) != value) {
            return false;
        }
    }
    return true;
}

}  // namespace minivm::map
