// The times that programs see, for parts of the machine that put them into terms. Any thread.
#pragma once

#include "vm/heap/heap.hpp"

namespace minivm {

int64_t erlang_monotonic_time();  // erlang:monotonic_time(), ns
Term erlang_timestamp(Heap& h);   // {MegaSecs, Secs, MicroSecs}
// What erlang:unique_integer([monotonic]) gives.
Term unique_monotonic_integer(Heap& h);

}  // namespace minivm
