// Sets the addresses in export and fun entries, for loading.cpp. Only the holder of the code modification
// permission, for the staging generation.
#pragma once

#include "vm/code/export.hpp"
#include "vm/code/module_table.hpp"

namespace minivm::entries {

void init_stubs(Export* e);
// The entry leads to the instance's instruction; to the error handler.
void set_export(Export* e, int ix, const ModuleInstance& instance, uint32_t instr);
void clear_export(Export* e, int ix);
// Calls through the entry go through its trace, or no longer.
void set_traced(Export* e, int ix, bool on);
// The entry leads to the instance's lambda of that number; to the stub for a fun without code.
void set_fun(FunEntry* fe, int ix, const ModuleInstance& instance, uint32_t lambda);
void clear_fun(FunEntry* fe, int ix);
bool fun_leads_to(const FunEntry* fe, int ix, const ModuleInstance& instance, uint32_t lambda);

}  // namespace minivm::entries
