#include "vm/term/told_references.hpp"

#include <mutex>
#include <unordered_map>

namespace minivm {

namespace {

struct Hash {
    size_t operator()(RefId id) const { return (id.low * 0x9E3779B97F4A7C15u) ^ id.high; }
};
struct Part {
    std::mutex lock;
    std::unordered_map<RefId, MagicObject*, Hash> objects;
};
constexpr size_t kParts = 16;

Part& part_of(RefId id) {
    static Part parts[kParts];
    return parts[Hash()(id) >> 32 & (kParts - 1)];
}

}  // namespace

// The last reference is gone, so no other thread calls add() for this object.
void MagicObject::forget_told() {
    Part& part = part_of(told_id);
    const std::lock_guard lock(part.lock);
    part.objects.erase(told_id);
}

namespace told_references {

void add(Term magic_ref) {
    MagicObject& object = *magic_object(magic_ref);
    // relaxed: a caller that sees true has nothing to do; make() takes the lock under which the entry was made.
    if (object.is_told.load(std::memory_order_relaxed)) {
        return;
    }
    const RefId id = ref_id(magic_ref);
    Part& part = part_of(id);
    const std::lock_guard lock(part.lock);
    // relaxed: the caller holds a reference, and giving that up (acq_rel) comes before forget_told().
    if (!object.is_told.exchange(true, std::memory_order_relaxed)) {
        object.told_id = id;
        part.objects.emplace(id, &object);
    }
}

Term make(Heap& h, RefId id) {
    Part& part = part_of(id);
    MagicObject* found = nullptr;
    {
        const std::lock_guard lock(part.lock);
        const auto at = part.objects.find(id);
        if (at != part.objects.end() && at->second->try_retain()) {
            found = at->second;
        }
    }
    return found != nullptr ? make_magic_ref(h, id, found) : put_ref(h.alloc(kRefWords), id);
}

}  // namespace told_references

}  // namespace minivm
