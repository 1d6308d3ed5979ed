// Lines of a terminal, with editing, history and completion, by libedit.
//
// The library is opened when the first prompt is shown: programs that have none start without it.
#pragma once

#include "tools/client.hpp"

#include <memory>
#include <string>

namespace minivm::tools {

// Lines from standard input, which is a terminal. Completion asks the client's VM. Without libedit
// the lines come as the terminal gives them.
std::unique_ptr<Lines> terminal_lines(Client& client);

}  // namespace minivm::tools
