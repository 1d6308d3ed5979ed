#pragma once

#include "vm/instr/lowered.hpp"
#include "jit/native_code.hpp"

namespace minivm::jit {

// The default operation of an instruction that is not written by hand.
DefaultOp default_op(Op op);

}  // namespace minivm::jit
