// The natives of module zstd of OTP 28 and later, on the system's libzstd, which the first call opens. A boot in
// embedded mode loads the module, so loading succeeds also without libzstd, and the functions say that it is missing.
#pragma once

#include "vm/nif/abi.hpp"

namespace minivm::nif {

const Entry& zstd_entry();

}  // namespace minivm::nif
