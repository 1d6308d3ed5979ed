// Wakes a process that waits for code or for the permission to change it. Declared here because the folder
// that defines it (vm/sched/scheduler.cpp) is above this one.
#pragma once

#include "vm/term/term.hpp"

namespace minivm {

// Wakes a process that waits; nothing happens if it is gone. Any thread.
void wake_up_pid(Term pid);

}  // namespace minivm
