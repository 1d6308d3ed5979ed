// The numbers of catches, for what loads code (loading.cpp).
#pragma once

#include "vm/code/module_table.hpp"

namespace minivm::catch_table {

// n numbers in a row, the first of which is the answer. The holder of the code modification permission.
uint32_t allocate(uint32_t n);
Handler& entry(uint32_t index);
// They may be allocated again. Any thread.
void give_back(uint32_t first, uint32_t n);

}  // namespace minivm::catch_table
