// process_flag(save_calls, N): a process keeps its last calls through export entries, sends and receives.
//
// A session of its own does that: its patterns match all functions, its tracer (the atom save_calls) stands for the
// process itself. It exists as long as a process saves its calls. Threads: any, unless noted.
#pragma once

#include "vm/process/process.hpp"

#include <initializer_list>

namespace minivm::trace::saved_calls {

// These three as tracing::Hooks has them. set(): on p's scheduler.
bool begin(Process& p, Term function, std::initializer_list<Term> args, Term* answer);
void set(Process& p, uint32_t n);
void end();

// Saves a call of p, which has the session's flags. On p's scheduler.
void save(Process& p, Term module, Term function, uint32_t arity);
void save(Process& p, Term what);  // the atom send, receive or timeout

}  // namespace minivm::trace::saved_calls
