// The two phases of loading: prepare makes a module instance nobody sees; finish makes a set of them
// the current code, together or not at all.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "loader/loader.hpp"
#include "vm/code/loading.hpp"

namespace minivm::loader {

// Reads, verifies, lowers and compiles. Any thread, any number in parallel. Null: *error says why.
std::unique_ptr<ModuleInstance> prepare(const uint8_t* bytes, size_t size, LoadError* error);

// Makes these modules current in one commit. Blocks until thread progress has passed, so only threads
// that are no schedulers may call it (dirty schedulers, the main thread).
void finish(std::vector<std::unique_ptr<ModuleInstance>> modules);

// The current version becomes old, and its functions undefined. Threads: as finish().
ModuleSource::Removal delete_module(Term module);
// The old version is forgotten. Its code is not freed, for processes may still run it. False: there is
// none. Threads: as finish().
bool purge_module(Term module);

}  // namespace minivm::loader
