// The usual traced call in one piece: a single session traces the function, into the flight recorder,
// and does nothing else with it; its match specification asks for frames at most. The general way in
// hooks.cpp makes the same records and frames in twice the time. Threads: the process's own
// scheduler.
#pragma once

#include "trace/breakpoint.hpp"

namespace minivm::trace {

// Traces the call of b with arguments x; `address`: the return address of the frame, if the call leaves one.
// False: the call is not a usual one, or there is no room; nothing has been done.
bool plain_call(const Breakpoint& b, Process& p, const Term* x, Word address);
// A function has returned `value` to the frame on top: traces that and pops the frame. False: as above.
bool plain_return(Process& p, Term value);

}  // namespace minivm::trace
