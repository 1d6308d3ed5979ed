// Scripts for `escript`: a line "#!...", then perhaps "%%! FLAGS", then source, a .beam file or a zip
// archive; or an archive, or a text, alone. What they hold is run by OTP's module escript.
#pragma once

#include <string>

#include "tools/run.hpp"

namespace minivm::tools {

// If the program is a script: run it as escript does, with its flags. Otherwise nothing changes.
void run_as_script(RunOptions* options);

}  // namespace minivm::tools
