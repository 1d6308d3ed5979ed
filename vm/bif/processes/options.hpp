// Options that several BIFs about processes take. The parsers return false for a term that is no such option.
#pragma once

#include "vm/process/process.hpp"

namespace minivm {

constexpr int64_t kMaxArguments = 255;
// Whether a[0..2] are a module, a function and a proper list of arguments.
bool check_mfa(const Term* a);

bool parse_priority(Term t, Priority* out);
Term priority_atom(Priority priority);

struct MaxHeap {
    uint64_t words = 0;
    bool kill = true;
    bool log = true;
    bool shared = false;
};
// What erlang:system_flag(max_heap_size, Value) has set.
MaxHeap default_max_heap();
// max_heap_size: a number of words, or a map. What it leaves out is as by default. The caller compares it with a
// minimum, see is_below().
bool parse_max_heap(Term t, MaxHeap* out);
// Whether it is a limit, and below the least size of a heap.
inline bool is_below(const MaxHeap& max, uint64_t min_heap_words) {
    return max.words != 0 && max.words < min_heap_words;
}
// The map that erlang:process_flag/2 and others show for max_heap_size. shared: off-heap
// binaries count; only releases that know it show it.
Term max_heap_term(Heap& h, uint64_t words, bool kill, bool log, bool shared);

// [], [priority]
bool takes_priority_only(Term list, bool* priority);
// [{alias, Kind}, {tag, Term}, priority]
bool parse_monitor_options(Term list, uint8_t* alias, Term* tag, bool* priority);

}  // namespace minivm
