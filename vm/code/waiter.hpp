// Who waits for code, or for the permission to change it, is a process; what wakes it stands above
// (process/state.hpp).
#pragma once

#include "vm/term/term.hpp"

namespace minivm {

// Wakes a process that waits; nothing happens if it is gone. Any thread.
void wake_up_pid(Term pid);

}  // namespace minivm
