// Checks that a module's instructions can run without damage, and completes what depends on control
// flow: Instr::frame and Instr::live.
#pragma once

#include "loader/draft.hpp"

namespace minivm::loader {

bool verify(Draft& draft, ErrorSink& error);

}  // namespace minivm::loader
