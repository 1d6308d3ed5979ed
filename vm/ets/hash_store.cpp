#include "vm/ets/hash_store.hpp"

#include "vm/term/atom_table.hpp"
#include "vm/term/compare.hpp"
#include "vm/term/order_hash.hpp"

#include <algorithm>
#include <cstdlib>

namespace minivm::ets {

HashStore::HashStore(Type type, size_t keypos, size_t locks)
    : type_(type), keypos_(keypos), locks_(std::min(locks, kFirstChains)) {
    segments_[0] = segment_new(kFirstChains);
}

HashStore::~HashStore() {
    while (free_some(1 << 20)) {
    }
    for (Object** s : segments_) {
        std::free(static_cast<void*>(s));
    }
}

Object** HashStore::segment_new(size_t chains) {
    void* memory = std::calloc(chains, sizeof(Object*));
    MINIVM_CHECK(memory != nullptr);
    // relaxed: a figure.
    words_.fetch_add(chains, std::memory_order_relaxed);
    return static_cast<Object**>(memory);
}

uint32_t HashStore::hash_of(Term key) {
    // OTP keeps the highest bit of its hash free. The low 32 bits are more than enough here.
    const uint64_t hash = is_atom(key) ? atom_table::hash_value(key) : order_hash(key);
    return static_cast<uint32_t>(by_release::hashes_are_wide() ? hash >> 1 : hash & 0x7FFFFFFF);
}

bool HashStore::key_is(const Object* o, Term key, uint32_t hash) const {
    return o->hash == hash && exact_equal(o->key(keypos_), key);
}

void HashStore::added(const Object* o) {
    // relaxed, both: the lock orders writers; readers want a figure.
    size_.store(size() + 1, std::memory_order_relaxed);
    words_.store(words() + object_words(o), std::memory_order_relaxed);
}
void HashStore::removed(const Object* o) {
    // relaxed, both: as in added().
    size_.store(size() - 1, std::memory_order_relaxed);
    words_.store(words() - object_words(o), std::memory_order_relaxed);
}

const Object* HashStore::find_any(Term key) const {
    const uint32_t hash = hash_of(key);
    const Object* o = first_in_chain(chain_of(hash));
    while (o != nullptr && !key_is(o, key, hash)) {
        o = o->link[0];
    }
    return o;
}

Object* HashStore::find(Term key) const {
    const uint32_t hash = hash_of(key);
    Object* o = first_in_chain(chain_of(hash));
    while (o != nullptr && !key_is(o, key, hash)) {
        o = o->link[0];
    }
    return o == nullptr || !o->deleted ? o : next_of_key(o);
}

Object* HashStore::next_of_key(const Object* o) const {
    for (Object* n = o->link[0]; n != nullptr && key_is(n, o->key(keypos_), o->hash);
         n = n->link[0]) {
        if (!n->deleted) {
            return n;
        }
    }
    return nullptr;
}

void HashStore::insert(Object* o) {
    const Term key = o->key(keypos_);
    const uint32_t hash = o->hash = hash_of(key);
    Object** at = &chain(chain_of(hash));
    while (*at != nullptr && !key_is(*at, key, hash)) {
        at = &(*at)->link[0];
    }
    if (*at == nullptr) {
        // It becomes the last of its chain.
    } else if (type_ == Type::set) {
        Object* old = *at;
        o->link[0] = old->link[0];
        *at = o;
        added(o);
        if (old->deleted) {
            marked_--;
        } else {
            removed(old);
        }
        object_free(old);
        return;
    } else if (type_ == Type::bag) {
        for (Object** link = at; *link != nullptr && key_is(*link, key, hash);
             link = &(*link)->link[0]) {
            Object* n = *link;
            if (exact_equal(n->tuple(), o->tuple())) {
                if (n->deleted) {
                    // The marked object comes back as the newest of its key.
                    *link = n->link[0];
                    n->link[0] = *at;
                    *at = n;
                    n->deleted = false;
                    marked_--;
                    added(n);
                }
                object_free(o);
                return;
            }
        }
    }
    o->link[0] = *at;
    *at = o;
    added(o);
    // More than one step: the table may have been fixed while many objects came.
    for (int n = 0; n < kStepsAtOnce && size() > chains_ && !is_fixed(); n++) {
        grow();
    }
}

void HashStore::replace(Object* old, Object* fresh) {
    Object** at = &chain(chain_of(old->hash));
    while (*at != old) {
        at = &(*at)->link[0];
    }
    fresh->hash = old->hash;
    fresh->link[0] = old->link[0];
    *at = fresh;
    added(fresh);
    removed(old);
    object_free(old);
}

bool HashStore::drop(Object** at, size_t i) {
    Object* o = *at;
    removed(o);
    if (is_fixed()) {
        o->deleted = true;
        marked_++;
        if (marked_chains_.empty() || marked_chains_.back() != i) {
            marked_chains_.push_back(i);
        }
        return false;
    }
    *at = o->link[0];
    object_free(o);
    return true;
}

size_t HashStore::erase_key(Term key) {
    const uint32_t hash = hash_of(key);
    const size_t i = chain_of(hash);
    Object** at = &chain(i);
    while (*at != nullptr && !key_is(*at, key, hash)) {
        at = &(*at)->link[0];
    }
    size_t n = 0;
    while (*at != nullptr && key_is(*at, key, hash)) {
        if (!(*at)->deleted) {
            n++;
            if (drop(at, i)) {
                continue;
            }
        }
        at = &(*at)->link[0];
    }
    shrink();
    return n;
}

size_t HashStore::erase_equal(Term tuple) {
    const size_t i = chain_of(hash_of(tuple_element(tuple, keypos_ - 1)));
    const size_t n = erase_if(i, [&](const Object* o) { return exact_equal(o->tuple(), tuple); });
    shrink();
    return n;
}

void HashStore::mark_all() {
    for (size_t i = 0; i < chains_; i++) {
        erase_if(i, [](const Object*) { return true; });
    }
}

void HashStore::unfix() {
    MINIVM_ASSERT(is_fixed());
    // relaxed: as fix().
    if (fixed_.fetch_sub(1, std::memory_order_relaxed) != 1) {
        return;
    }
    for (size_t i : marked_chains_) {
        for (Object** at = &chain(i); *at != nullptr;) {
            Object* o = *at;
            if (o->deleted) {
                *at = o->link[0];
                object_free(o);
            } else {
                at = &o->link[0];
            }
        }
    }
    marked_chains_.clear();
    marked_ = 0;
    // Later inserts and deletions grow or shrink the table.
}

void HashStore::grow() {
    if (chains_ > mask_) {
        mask_ = mask_ * 2 + 1;
        const int segment = std::bit_width(chains_) - std::bit_width(kFirstChains - 1);
        MINIVM_CHECK(segment < kMaxSegments);
        segments_[segment] = segment_new(chains_);
    }
    slots_ += chains_ == slots_ ? kSlotsAtOnce : 0;
    const size_t to = chains_;
    const size_t from = to & (mask_ >> 1);
    chains_++;
    // The objects keep their order in both chains.
    Object* o = chain(from);
    Object** stay = &chain(from);
    Object** go = &chain(to);
    for (; o != nullptr; o = o->link[0]) {
        Object**& end = (o->hash & mask_) == to ? go : stay;
        *end = o;
        end = &o->link[0];
    }
    *stay = nullptr;
    *go = nullptr;
}

void HashStore::shrink() {
    for (int n = 0; n < kStepsAtOnce && size() < shrinks_below() && !is_fixed(); n++) {
        join();
    }
}

void HashStore::join() {
    const size_t from = --chains_;
    slots_ -= slots_ - from >= kSlotsAtOnce ? kSlotsAtOnce : 0;
    Object** end = &chain(from);
    while (*end != nullptr) {
        end = &(*end)->link[0];
    }
    Object*& into = chain(from & (mask_ >> 1));
    *end = into;
    into = chain(from);
    chain(from) = nullptr;
    if (chains_ == std::bit_floor(chains_)) {
        // The last segment is empty.
        const int segment = std::bit_width(chains_) - std::bit_width(kFirstChains - 1);
        std::free(static_cast<void*>(segments_[segment]));
        segments_[segment] = nullptr;
        mask_ >>= 1;
        // relaxed: a figure.
        words_.fetch_sub(chains_, std::memory_order_relaxed);
    }
}

bool HashStore::free_some(size_t n) {
    for (; free_chain_ < chains_; free_chain_++) {
        Object*& first = chain(free_chain_);
        while (first != nullptr) {
            if (n-- == 0) {
                return true;
            }
            Object* o = first;
            first = o->link[0];
            object_free(o);
        }
    }
    return false;
}

}  // namespace minivm::ets
