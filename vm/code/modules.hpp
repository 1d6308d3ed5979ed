// The versions of each module and the address ranges of their code, for loading.cpp and module_table.
#pragma once

#include "vm/code/module_table.hpp"

#include <atomic>
#include <vector>

namespace minivm::modules {

// In each array, the holder of the code modification permission writes the element of the staging generation;
// others read the one of the active generation. Entries are never freed.
struct ModuleEntry {
    Term name;
    ModuleInstance* current[kCodeIndexes];
    ModuleInstance* old[kCodeIndexes];
    ModuleInstance* on_load[kCodeIndexes];  // pending: its on_load function has not succeeded yet
    ModuleEntry* next;
};
// The entry of that name, or null. Any thread.
ModuleEntry* find(Term name);
// The same; makes it if there is none. Any thread.
ModuleEntry* get(Term name);

// The ranges table of each generation: ascending, not overlapping. Written like the arrays above.
struct Range {
    Word begin, end;
    ModuleInstance* instance;
};
extern std::vector<Range> g_ranges[kCodeIndexes];

// How often staging has begun. What a thread found in g_ranges[i] is still true while this number is the
// same: a generation changes only between a begin() and the commit that makes it active.
// staging::begin() writes it, module_table::lookup() reads it and says why relaxed is enough.
extern std::atomic<uint64_t> g_stagings;

}  // namespace minivm::modules
