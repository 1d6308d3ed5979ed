// The natives of module zstd of OTP 28 and later, on the system's libzstd, which is opened when the module is loaded. A boot
// in embedded mode loads the module: where there is no such library that succeeds as well, and its functions say so.
#pragma once

#include "vm/nif/abi.hpp"

namespace minivm::nif {

const Entry& zstd_entry();

}  // namespace minivm::nif
