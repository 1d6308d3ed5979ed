// The natives of OTP's module prim_tty, of OTP 26 to 29: standard streams and the terminal.
#pragma once

#include "vm/nif/abi.hpp"

namespace minivm::nif {

// What the nif_init of a library of its own would return.
const Entry& prim_tty_entry();

}  // namespace minivm::nif
