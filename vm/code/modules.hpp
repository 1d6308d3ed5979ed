// The versions of each module and the address ranges of their code, for what loads code (loading.cpp) and looks it up.
#pragma once

#include "vm/code/module_table.hpp"

#include <atomic>
#include <vector>

namespace minivm::modules {

// Of each array, the holder of the code modification permission writes the place of the staging generation; others
// read that of the active one. Entries are never freed.
struct ModuleEntry {
    Term name;
    ModuleInstance* current[kCodeIndexes];
    ModuleInstance* old[kCodeIndexes];
    ModuleInstance* on_load[kCodeIndexes];  // its on_load function has not succeeded yet
    ModuleEntry* next;
};
// The entry of that name, or null. Any thread.
ModuleEntry* find(Term name);
// The same, made if it is not there. Any thread.
ModuleEntry* get(Term name);

// The ranges table of one generation: ascending, not overlapping. Written as the arrays above.
struct Range {
    Word begin, end;
    ModuleInstance* instance;
};
extern std::vector<Range> g_ranges[kCodeIndexes];

// How often staging has begun. What a thread found in g_ranges[i] is still true while this is the
// same: a generation only changes between a beginning and the commit that makes it active. Written by
// staging::begin(), read by module_table::lookup(), which says why that may be relaxed.
extern std::atomic<uint64_t> g_stagings;

}  // namespace minivm::modules
