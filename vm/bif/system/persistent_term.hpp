// What other areas need of the persistent terms.
#pragma once

#include "vm/term/heap.hpp"

namespace minivm::persistent_term {

// Calls f for the literal area of each term, under the lock that all changes take: f is short and takes no lock.
// Any thread.
void for_each_area(void (*f)(const Term* begin, const Term* end, void* context), void* context);

}  // namespace minivm::persistent_term
