#pragma once

#include "vm/instr/lowered.hpp"
#include "jit/native_code.hpp"

namespace minivm::jit {

// The default operation of an instruction; null for a `flow` one (jit/emitted.def).
DefaultOp default_op(Op op);

}  // namespace minivm::jit
