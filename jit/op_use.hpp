// What the lowered instructions of each kind come to in native code.
#pragma once

#include "vm/instr/lowered.hpp"

#include <array>
#include <cstdint>

namespace minivm::jit {

struct OpUse {
    uint64_t count = 0;
    uint64_t defaults = 0;  // of them, how many are nothing but their default operation
    uint64_t bytes = 0;     // with what is out of line
};
using OpUses = std::array<OpUse, static_cast<size_t>(Op::kCount)>;

}  // namespace minivm::jit
