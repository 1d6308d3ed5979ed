// What other areas ask of the persistent terms.
#pragma once

#include "vm/term/heap.hpp"

namespace minivm::persistent_term {

// Calls f for the words of each term that is there. Nobody changes one meanwhile, so f is short and takes no lock.
// Any thread.
void for_each_area(void (*f)(const Term* begin, const Term* end, void* context), void* context);

}  // namespace minivm::persistent_term
