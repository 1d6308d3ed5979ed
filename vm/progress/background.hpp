// Work of the VM that is too long for a scheduler between two processes. The dirty schedulers do it (vm/sched/dirty.cpp).
#pragma once

namespace minivm::dirty {

// Runs job(data) on a dirty scheduler, soon; at the end of the machine, or where there are no dirty
// schedulers, here and now. Jobs may run beside each other. Any thread, without locks held.
void run(void (*job)(void*), void* data);

}  // namespace minivm::dirty
