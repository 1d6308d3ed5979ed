// Where export and fun entries lead, for what loads code (loading.cpp). Only the holder of the code modification
// permission, for the staging generation.
#pragma once

#include "vm/code/export.hpp"
#include "vm/code/module_table.hpp"

namespace minivm::entries {

void init_stubs(Export* e);
// To the instruction of the instance; to the error handler.
void set_export(Export* e, int ix, const ModuleInstance& instance, uint32_t instr);
void clear_export(Export* e, int ix);
// Calls through it go by the trace, or no longer.
void set_traced(Export* e, int ix, bool on);
// To the instance's lambda of that number; to what says that the fun's code is not there.
void set_fun(FunEntry* fe, int ix, const ModuleInstance& instance, uint32_t lambda);
void clear_fun(FunEntry* fe, int ix);
bool fun_leads_to(const FunEntry* fe, int ix, const ModuleInstance& instance, uint32_t lambda);

}  // namespace minivm::entries
