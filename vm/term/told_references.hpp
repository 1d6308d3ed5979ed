// Magic references that have been told outside as bytes or text, so that who reads these has the object again while it lives, as
// in OTP: an atomics array survives term_to_binary/1 and the way to another node and back.
//
// Threads: any. An object is taken out before it is destroyed, under the lock of its part of the table, and what is found there
// is retained under that lock; so nobody gets one whose last reference is gone.
#pragma once

#include "vm/term/heap.hpp"

namespace minivm::told_references {

// The reference, which is a magic one, is being told. Its object is found by the first of its references that is.
void add(Term magic_ref);
// The reference with that id: a magic one if such a one has been told and its object lives, else a plain one.
Term make(Heap& h, RefId id);

}  // namespace minivm::told_references
