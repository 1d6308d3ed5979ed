#include "vm/ets/object.hpp"

#include <cstdlib>
#include <new>
#include <utility>

namespace minivm::ets {

Object* object_new(Term tuple) {
    const size_t words = size_of_term(tuple, false);
    void* memory = std::malloc(sizeof(Object) + words * sizeof(Term));
    MINIVM_CHECK(memory != nullptr);
    Object* o = new (memory) Object{};
    o->words = words;
    Heap h;
    h.top = o->data;
    // alloc() leaves a reserve below `end`, which nothing uses and the block does not have.
    h.end = h.top + words + kReserveWords;
    const Term copy = copy_term(tuple, h, false);
    MINIVM_CHECK(copy == o->tuple() && h.top == o->data + words);
    o->off_heap = std::exchange(h.off_heap, nullptr);
    return o;
}

void object_free(Object* o) {
    release_off_heap(o->off_heap);
    std::free(o);
}

}  // namespace minivm::ets
