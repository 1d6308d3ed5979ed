// process_flag(save_calls, N): a process keeps its last calls through export entries, what it sent and received.
//
// That is a session of its own kind: its patterns are all functions, its tracer (the atom save_calls) the process
// itself. It is there as long as somebody saves his calls. Threads: any, unless noted.
#pragma once

#include "vm/process/process.hpp"

#include <initializer_list>

namespace minivm::trace::saved_calls {

// These three as tracing::Hooks has them. set(): on p's scheduler.
bool begin(Process& p, Term function, std::initializer_list<Term> args, Term* answer);
void set(Process& p, uint32_t n);
void end();

// On p's scheduler, where it has the session's flags.
void save(Process& p, Term module, Term function, uint32_t arity);
void save(Process& p, Term what);  // the atom send, receive or timeout

}  // namespace minivm::trace::saved_calls
