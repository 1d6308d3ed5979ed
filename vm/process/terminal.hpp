// The terminal's modes: code that changes them registers that here, so that the VM restores them when it ends.
// Threads: any.
#pragma once

#include <termios.h>

namespace minivm::terminal {

// tcsetattr() that a signal does not interrupt. False: see errno.
bool set_modes(int descriptor, const termios& modes);
// restore() will set `usual` again, for the terminal of the last call.
void will_change(int descriptor, const termios& usual);
// When the VM ends.
void restore();
// The same in a fault handler, which must not wait: does nothing if another thread has the lock.
void restore_at_fault();

// While this exists, the terminal has the modes that it had before the VM.
class UsualModes {
  public:
    UsualModes();
    ~UsualModes();
    UsualModes(const UsualModes&) = delete;
    UsualModes& operator=(const UsualModes&) = delete;

  private:
    int descriptor_ = -1;
    termios changed_{};
};

}  // namespace minivm::terminal
