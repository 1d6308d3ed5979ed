// The natives of OTP's module prim_tty, of OTP 29: standard streams and the terminal.
#pragma once

#include "vm/nif/abi.hpp"

namespace minivm::nif {

// What nif_init of the library would give, if it were one of its own.
const Entry& prim_tty_entry();

}  // namespace minivm::nif
