// Work of the VM that is too long for a scheduler between two processes. Dirty schedulers do it (vm/sched/dirty.cpp).
#pragma once

namespace minivm::dirty {

// Runs job(data) on a dirty scheduler, soon. While the VM ends, and where there are no dirty schedulers, the
// caller runs it at once. Several jobs may run at the same time. Any thread, with no lock held.
void run(void (*job)(void*), void* data);

}  // namespace minivm::dirty
