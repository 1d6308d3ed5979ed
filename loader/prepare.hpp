// The two phases of loading: prepare makes a module instance nobody sees; finish makes a set of them
// the current code, together or not at all.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "loader/loader.hpp"
#include "vm/code/module_table.hpp"

namespace minivm::loader {

// Reads, verifies, lowers and compiles. Any thread, any number in parallel. Null: *error says why.
std::unique_ptr<ModuleInstance> prepare(const uint8_t* bytes, size_t size, Engine& engine,
                                        LoadError* error);

// Makes these modules current in one commit. Blocks until thread progress has passed, so only threads
// that are no schedulers may call it (dirty schedulers, the main thread).
void finish(std::vector<std::unique_ptr<ModuleInstance>> modules);

}  // namespace minivm::loader
