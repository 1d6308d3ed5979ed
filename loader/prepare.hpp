// Prepare, the first phase of loading: makes a module instance that nobody sees. The second one,
// finish, is in vm/code_change/code_change.hpp.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "loader/loader.hpp"
#include "vm/code/loading.hpp"

namespace minivm::loader {

// Reads, verifies, lowers, and compiles by `engine`; null: by the one that engine_for() says. What that one
// cannot do for want of code memory becomes bytecode. Any thread, any number in parallel. Null: *error says
// why.
std::unique_ptr<ModuleInstance> prepare(const uint8_t* bytes, size_t size, Engine* engine, LoadError* error);

}  // namespace minivm::loader
