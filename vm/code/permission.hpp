// The code modification permission: one loads, deletes, purges or sets breakpoints at a time.
//
// A process that cannot have it waits, its scheduler goes on: it is woken when the permission is free,
// and asks again. The permission belongs to an operation, not to a process: what was begun is completed
// (by thread progress) even if the process that asked dies meanwhile.
// Threads: any.
#pragma once

#include "vm/term/term.hpp"

namespace minivm::code_permission {

// True: the caller has it and must see to it that release() is called. False: pid is woken when it is
// free again.
bool seize_or_queue(Term pid);
// True: pid was told to wait and the permission has not been free since.
bool is_queued(Term pid);
// Returns when the caller has it. Blocks, so not on a scheduler.
void seize_blocking();
// By whoever ends the operation, on any thread.
void release();

}  // namespace minivm::code_permission
