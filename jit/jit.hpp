// The JIT: an Engine that makes native code.
#pragma once

#include "vm/engine.hpp"

namespace minivm::jit {

// Whether there is code for this machine.
bool available();

// The engine; its shared fragments are made at the first call, before anything is loaded.
// fast_paths: false gives every instruction its default operation (--engine jit-default).
Engine& engine(bool fast_paths = true);

}  // namespace minivm::jit
