// The menu behind ^C, as OTP's emulator has it.
#pragma once

namespace minivm::tools {

enum class AfterBreak : unsigned char { go_on, end };

// Shows the menu on standard output and does what standard input says, until that is to go on or to end the VM with
// status 0; so does another SIGINT. No process runs meanwhile. On the thread for signals, which has SIGINT blocked.
AfterBreak break_menu();

}  // namespace minivm::tools
