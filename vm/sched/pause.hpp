// All processes stand still, for whoever looks at the machine from outside: the menu behind ^C.
//
// Schedulers stop behind their slices, as do the threads that take what files have; a scheduler that is asleep stays so as
// far as processes go. Processes with dirty schedulers go on: what they do there is nobody else's.
//
// Why nothing runs once pause() has returned true: the flag is set (seq_cst), then each scheduler is found asleep or
// standing. One that is asleep looks at the flag when it wakes, before it takes a process; one that was not has looked.
#pragma once

namespace minivm::vm {

// False: a scheduler has not come to the end of its slice in that time; it still will stop. Again: whether all stand now.
// One thread at a time, which is none of the machine's.
bool pause(int patience_ms);
void go_on();

bool is_paused();
// By a thread that holds nothing. Returns at once if nobody has asked.
void wait_while_paused();

}  // namespace minivm::vm
