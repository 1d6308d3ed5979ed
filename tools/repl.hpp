// `minivm repl`: a VM with a prompt.
#pragma once

namespace minivm::tools {

struct RunOptions;

// The prompt and the VM are two processes, joined by a pair of sockets: the prompt is the client
// that `minivm attach` is, the terminal's signals are its own, and it tells how the VM ended.
// Returns the exit status.
int repl_command(RunOptions& options);

}  // namespace minivm::tools
