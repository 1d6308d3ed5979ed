// An object of a table: a tuple and everything it refers to, in one block outside all heaps.
//
// Nothing in the block points out of it but to reference-counted binaries, magic objects, atoms and
// code entries: literals are copied too, so that purging code need not look into tables.
// Threads: guarded by the lock of the table; an object in no table belongs to the thread that has it.
#pragma once

#include "vm/term/heap.hpp"

namespace minivm::ets {

struct Object {
    Object* link[2];  // hash: [0] is the next of the chain; tree: left and right
    Term* off_heap;   // binaries and magic references in the block
    size_t words;     // of `data`
    union {
        uint32_t hash;   // hash: of the key
        uint32_t count;  // tree: objects in the subtree
    };
    uint8_t height;  // tree: of the subtree
    bool deleted;    // hash: marked as deleted, but in its chain while the table is fixed
    Term data[];     // the tuple is at the beginning

    Term tuple() const { return make_boxed(data); }
    Term key(size_t keypos) const { return data[keypos]; }
};

Object* object_new(Term tuple);
void object_free(Object* o);

// Words of memory that an object takes.
inline size_t object_words(const Object* o) {
    return sizeof(Object) / sizeof(Term) + o->words;
}

}  // namespace minivm::ets
