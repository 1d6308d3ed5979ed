// The map that erlang:process_flag/2 and others show for max_heap_size.
#pragma once

#include "vm/term/heap.hpp"

#include <cstdint>

namespace minivm {

// `shared`: binaries outside of the heap count; shown by releases that know it.
Term max_heap_term(Heap& h, uint64_t words, bool kill, bool log, bool shared);

}  // namespace minivm
