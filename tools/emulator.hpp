// minivm in place of `beam.smp`: what OTP's `erlexec` starts, with OTP's own `init` as the first process.
#pragma once

namespace minivm::tools {

// Whether this process was started under the emulator's name.
bool is_emulator();
// Runs the emulator's command line: flags, "--", words for init. Returns the exit status.
int emulator_main(int argc, char** argv);

}  // namespace minivm::tools
