#include "vm/ets/tree_store.hpp"

#include <algorithm>

namespace minivm::ets {

namespace {

int height(const Object* o) {
    return o == nullptr ? 0 : o->height;
}

uint32_t count_of(const Object* o) {
    return o == nullptr ? 0 : o->count;
}

void update(Object* o) {
    o->count = 1 + count_of(o->link[0]) + count_of(o->link[1]);
    o->height = static_cast<uint8_t>(1 + std::max(height(o->link[0]), height(o->link[1])));
}

// Makes the child on `side` the root of the subtree.
Object* rotate(Object* o, int side) {
    Object* child = o->link[side];
    o->link[side] = child->link[1 - side];
    child->link[1 - side] = o;
    update(o);
    update(child);
    return child;
}

Object* balance(Object* o) {
    const int lean = height(o->link[1]) - height(o->link[0]);
    if (lean >= -1 && lean <= 1) {
        update(o);
        return o;
    }
    const int side = lean > 0;
    Object*& child = o->link[side];
    if (height(child->link[1 - side]) > height(child->link[side])) {
        child = rotate(child, 1 - side);
    }
    return rotate(o, side);
}

}  // namespace

TreeStore::~TreeStore() {
    while (free_some(1 << 20)) {
    }
}

void TreeStore::count(const Object* added, const Object* removed) {
    const size_t plus = added != nullptr ? object_words(added) : 0;
    const size_t minus = removed != nullptr ? object_words(removed) : 0;
    // relaxed: the lock orders writers; readers want a figure.
    size_.store(size() + (added != nullptr) - (removed != nullptr), std::memory_order_relaxed);
    words_.store(words() + plus - minus, std::memory_order_relaxed);
}

Object* TreeStore::find(Term key) const {
    Object* o = root_;
    while (o != nullptr) {
        const int c = compare_keys(key, o->key(keypos_));
        if (c == 0) {
            return o;
        }
        o = o->link[c > 0];
    }
    return nullptr;
}

Object* TreeStore::first() const {
    Object* o = root_;
    while (o != nullptr && o->link[0] != nullptr) {
        o = o->link[0];
    }
    return o;
}

Object* TreeStore::last() const {
    Object* o = root_;
    while (o != nullptr && o->link[1] != nullptr) {
        o = o->link[1];
    }
    return o;
}

Object* TreeStore::nth(size_t n) const {
    Object* o = root_;
    while (o != nullptr) {
        const size_t before = count_of(o->link[0]);
        if (n == before) {
            break;
        }
        const bool right = n > before;
        n -= right ? before + 1 : 0;
        o = o->link[right];
    }
    return o;
}

Object* TreeStore::neighbour(Term key, int side) const {
    // acquire: this thread sees the walk as the last one left it; pairs with the release below.
    // relaxed at first: while the walk is taken, readers share its cache line.
    if (!walk_.is_taken.load(std::memory_order_relaxed) &&
        !walk_.is_taken.exchange(true, std::memory_order_acquire)) {
        Object* const found = step(walk_, key, side);
        walk_.is_taken.store(false, std::memory_order_release);  // release: as above
        return found;
    }
    return side == 1 ? first_where([&](Term k) { return compare_keys(k, key) > 0; })
                     : last_where([&](Term k) { return compare_keys(k, key) < 0; });
}

Object* TreeStore::step(Walk& walk, Term key, int side) const {
    Object** const at = walk.at;
    if (walk.depth == 0 || compare_keys(at[walk.depth - 1]->key(keypos_), key) != 0) {
        int found = 0;
        int depth = 0;
        for (Object* o = root_; o != nullptr;) {
            MINIVM_CHECK(depth < kMaxDepth);
            at[depth++] = o;
            const int c = compare_keys(o->key(keypos_), key);
            const bool beyond = side == 1 ? c > 0 : c < 0;
            found = beyond ? depth : found;
            o = o->link[beyond ? 1 - side : side];
        }
        walk.depth = found;
    } else if (Object* o = at[walk.depth - 1]->link[side]) {
        // The nearest of the subtree on that side.
        for (; o != nullptr; o = o->link[1 - side]) {
            MINIVM_CHECK(walk.depth < kMaxDepth);
            at[walk.depth++] = o;
        }
    } else {
        // The nearest ancestor that has it on its other side.
        const Object* below = at[--walk.depth];
        while (walk.depth > 0 && at[walk.depth - 1]->link[side] == below) {
            below = at[--walk.depth];
        }
    }
    return walk.depth > 0 ? at[walk.depth - 1] : nullptr;
}

Object** TreeStore::descend(Term key, Path* path) {
    Object** at = &root_;
    while (*at != nullptr) {
        const int c = compare_keys(key, (*at)->key(keypos_));
        if (c == 0) {
            break;
        }
        MINIVM_CHECK(path->depth < kMaxDepth);
        path->at[path->depth++] = at;
        at = &(*at)->link[c > 0];
    }
    return at;
}

void TreeStore::rebalance(const Path& path) {
    for (int i = path.depth; i-- > 0;) {
        *path.at[i] = balance(*path.at[i]);
    }
}

void TreeStore::insert(Object* o) {
    walk_.depth = 0;
    Path path;
    Object** at = descend(o->key(keypos_), &path);
    Object* old = *at;
    if (old != nullptr) {
        o->link[0] = old->link[0];
        o->link[1] = old->link[1];
        o->height = old->height;
        o->count = old->count;
        *at = o;
        count(o, old);
        object_free(old);
        return;
    }
    o->link[0] = o->link[1] = nullptr;
    o->height = 1;
    o->count = 1;
    *at = o;
    count(o, nullptr);
    rebalance(path);
}

void TreeStore::replace(Object* old, Object* fresh) {
    MINIVM_ASSERT(compare_keys(old->key(keypos_), fresh->key(keypos_)) == 0);
    (void)old;
    insert(fresh);
}

size_t TreeStore::erase_key(Term key) {
    walk_.depth = 0;
    Path path;
    Object** at = descend(key, &path);
    Object* gone = *at;
    if (gone == nullptr) {
        return 0;
    }
    if (gone->link[0] == nullptr || gone->link[1] == nullptr) {
        *at = gone->link[gone->link[0] == nullptr];
    } else {
        // The next one in order takes its place.
        const int place = path.depth;
        path.at[path.depth++] = at;
        Object** heir = &gone->link[1];
        while ((*heir)->link[0] != nullptr) {
            MINIVM_CHECK(path.depth < kMaxDepth);
            path.at[path.depth++] = heir;
            heir = &(*heir)->link[0];
        }
        Object* next = *heir;
        *heir = next->link[1];
        next->link[0] = gone->link[0];
        next->link[1] = gone->link[1];
        *at = next;
        // The path went through the link in the object that is gone.
        if (place + 1 < path.depth) {
            path.at[place + 1] = &next->link[1];
        }
    }
    count(nullptr, gone);
    object_free(gone);
    rebalance(path);
    return 1;
}

bool TreeStore::free_some(size_t n) {
    walk_.depth = 0;
    // Rotates left children up until there is none, so that no stack is needed.
    while (root_ != nullptr) {
        if (n-- == 0) {
            return true;
        }
        while (root_->link[0] != nullptr) {
            Object* left = root_->link[0];
            root_->link[0] = left->link[1];
            left->link[1] = root_;
            root_ = left;
        }
        Object* gone = root_;
        root_ = gone->link[1];
        object_free(gone);
    }
    return false;
}

}  // namespace minivm::ets
