// The code modification permission: only its holder loads, deletes, purges code or sets breakpoints.
//
// A process that does not get it waits while its scheduler goes on: release() wakes the process, which then
// asks again. The permission belongs to an operation, not to a process: thread progress completes the
// operation even if the process that asked dies meanwhile.
// Threads: any.
#pragma once

#include "vm/term/term.hpp"

namespace minivm::code_permission {

// True: the caller is the holder and makes sure that release() is called. False: the next release() wakes
// the process `pid`.
bool seize_or_queue(Term pid);
// True: pid is waiting, and the permission has not been free since it asked.
bool is_queued(Term pid);
// Returns when the caller is the holder. Blocks, so not on a scheduler.
void seize_blocking();
// Called at the end of the operation, on any thread.
void release();

}  // namespace minivm::code_permission
