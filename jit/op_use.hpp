// How much native code the lowered instructions of each kind take.
#pragma once

#include "vm/instr/lowered.hpp"

#include <array>
#include <cstdint>

namespace minivm::jit {

struct OpUse {
    uint64_t count = 0;
    uint64_t defaults = 0;  // of these, how many are only their default operation
    uint64_t bytes = 0;     // with what is out of line
};
using OpUses = std::array<OpUse, static_cast<size_t>(Op::kCount)>;

}  // namespace minivm::jit
