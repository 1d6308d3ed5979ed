// Checks that a module's instructions can run without damage, and completes what depends on control
// flow: Instr::frame and Instr::live.
#pragma once

#include "loader/unverified_module.hpp"

namespace minivm::loader {

bool verify(UnverifiedModule& unverified, ErrorSink& error);

}  // namespace minivm::loader
