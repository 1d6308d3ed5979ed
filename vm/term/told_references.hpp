// Magic references that were written as bytes or text. Reading those gives the object again while it lives, as in OTP:
// an atomics array survives term_to_binary/1, and the way to another node and back.
//
// Threads: any. An object leaves the table before it is destroyed, under the lock of its part of the table, and make()
// retains what it finds under that lock. So make() never returns an object whose last reference is gone.
#pragma once

#include "vm/term/heap.hpp"

namespace minivm::told_references {

// The magic reference is being written. make() finds its object by the first reference to it that was written.
void add(Term magic_ref);
// The reference with that id: a magic one if add() has had it and its object lives, else a plain one.
Term make(Heap& h, RefId id);

}  // namespace minivm::told_references
