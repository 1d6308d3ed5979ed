// The usual traced call in one piece: one session traces the function and does nothing else with
// it, into the flight recorder, and its match specification asks for the same at each call. What
// hooks.cpp does for every call comes to the same records and frames, in twice the time. Threads:
// the process's own scheduler.
#pragma once

#include "trace/breakpoint.hpp"

namespace minivm::trace {

// The call of b with arguments x, which will return to this address if it is to leave a frame.
// False: it is not a usual one, or there is no room; nothing has been done.
bool plain_call(const Breakpoint& b, Process& p, const Term* x, Word address);
// A function has returned the value to the frame on top, which is taken off. False: as above.
bool plain_return(Process& p, Term value);

}  // namespace minivm::trace
