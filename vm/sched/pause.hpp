// Stops all processes, for the menu behind ^C, which shows the VM from outside.
//
// Schedulers stop after their slices, and so does the poller's thread; a scheduler that sleeps runs no process when it
// wakes. Processes on dirty schedulers go on: what they do there concerns no other process.
//
// Why no process runs once pause() has returned true: pause() sets the flag (seq_cst), then finds each scheduler asleep
// or standing. A scheduler that wakes looks at the flag before it takes a process; one that stands has seen the flag.
#pragma once

namespace minivm::vm {

// False: a scheduler has not ended its slice in that time; it will still stop then. Calling it again tells whether all
// stand now. One thread at a time, which is none of the VM's.
bool pause(int patience_ms);
void go_on();

bool is_paused();
// The calling thread must hold no lock. Returns at once if the VM is not paused.
void wait_while_paused();

}  // namespace minivm::vm
