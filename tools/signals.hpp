// Signals of the operating system that end the program, or ask for something (vm/process/os_signals.hpp).
#pragma once

#include <signal.h>

namespace minivm::tools {

// Starts the thread that waits for the signals of `set`, which all others block. is_repl: SIGINT belongs to
// the prompt. Once, before there are other threads.
void watch_signals(const sigset_t& set, bool is_repl);

}  // namespace minivm::tools
