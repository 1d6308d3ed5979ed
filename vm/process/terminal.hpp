// The terminal's modes: whoever changes them says so here, so that they are as they were when the VM has ended.
// Threads: any.
#pragma once

#include <termios.h>

namespace minivm::terminal {

// tcsetattr() that a signal does not interrupt. False: errno tells.
bool set_modes(int descriptor, const termios& modes);
// `usual` is what restore() gives back to it; of the terminal that was named last.
void will_change(int descriptor, const termios& usual);
// When the VM ends.
void restore();
// The same in the handler of a fault, for which nobody waits: not if somebody is at it.
void restore_at_fault();

// The terminal as it was before the VM, for as long as this lives.
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
