// Signals of the operating system that end the program, or ask for something (vm/process/os_signals.hpp).
#pragma once

#include <signal.h>

namespace minivm::tools {

// What SIGINT does to OTP's boot: +B of the emulator.
enum class Break : unsigned char { menu, by_default, ignored };

// Starts the thread that waits for the signals of `set`, which all other threads block. is_repl: SIGINT belongs to
// the prompt. is_otp: SIGUSR1 goes to OTP's kernel, once it is up, which answers with a crash dump. Once, before
// there are other threads.
void watch_signals(const sigset_t& set, bool is_repl, bool is_otp, Break on_break);

}  // namespace minivm::tools
