// Allocation of catch table entries, for loading.cpp.
#pragma once

#include "vm/code/module_table.hpp"

namespace minivm::catch_table {

// Returns the first of n consecutive entries. Only the holder of the code modification permission.
uint32_t allocate(uint32_t n);
Handler& entry(uint32_t index);
// allocate() may return these entries again. Any thread.
void give_back(uint32_t first, uint32_t n);

}  // namespace minivm::catch_table
