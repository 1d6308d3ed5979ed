// The interpreter: direct-threaded, one handler an instruction. See handlers.hpp.
#pragma once

#include "vm/code/engine.hpp"

namespace minivm::interp {

// The engine, one for the whole VM. The first call sets up the stubs that entries without bytecode point to.
Engine& engine();

}  // namespace minivm::interp
