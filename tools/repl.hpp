// `minivm repl`: a VM with a prompt.
#pragma once

namespace minivm::tools {

struct RunOptions;

// The prompt and the VM are two processes of the system, joined by a pair of sockets: the prompt is a
// client as `minivm attach` is, it gets the terminal's signals, and it says how the VM ended.
// Returns the exit status.
int repl_command(RunOptions& options);

}  // namespace minivm::tools
