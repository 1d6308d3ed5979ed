// Reading the arguments of a function.
#pragma once

#include <cstdint>

#include "vm/term/term.hpp"

namespace minivm {

// Number of elements of a proper list, or -1.
int64_t list_length(Term list);
// Value of a small or big that fits; false otherwise.
bool get_int64(Term t, int64_t* out);
bool get_uint64(Term t, uint64_t* out);
// Value of a small from `low` to `high`; false otherwise.
bool small_in(Term t, int64_t low, int64_t high, uint32_t* out);

}  // namespace minivm
