// What engines call of process and scheduling code, beside the mailbox.
// Threads: all on the process's own scheduler.
#pragma once

#include "vm/process/process.hpp"

namespace minivm {

// The send instruction: x0 ! x1. The message, or the non-value: Process::outcome (badarg for a name
// nobody has, ...).
Term send_message(Process& p, Term to, Term message);

// True for erlang:error/1 and the like: they never return, and where apply calls them in tail position
// the caller's frame stays, for the stack trace.
bool keeps_caller(const Export* e);
// What an apply instruction calls: x[arity]:x[arity + 1] with the arguments in x. A call of erlang:apply/3
// is one of what that applies, as on OTP: x and arity are that call's then. Null: it is a bad one, which
// raise_bad_apply() says.
const Export* applied(uint32_t* arity, Term* x);
// The same of what a BIF traps to, also if its return is traced.
bool trap_keeps_caller(const Process& p);

// How many x registers what a BIF traps to finds in use.
uint32_t trap_live(const Process& p);

// The timeout of the receive that waits. It fires once; then take_timed_out() is true once, when the
// process is scheduled in. `infinity` is one that never fires: it is there, so that nobody asks for it again.
void set_receive_timeout(Process& p, uint64_t ms);
void set_receive_for_ever(Process& p);
bool has_receive_timeout(const Process& p);
void cancel_receive_timeout(Process& p);
bool take_timed_out(Process& p);

Term recv_marker_reserve(Process& p);
void recv_marker_bind(Process& p, Term marker, Term reference);
void recv_marker_clear(Process& p, Term reference);
void recv_marker_use(Process& p, Term reference);

// Keeps x[0..live) in Process::saved_x while p is scheduled out, and brings them back.
void save_x_registers(Process& p, const Term* x, uint32_t live);
void restore_x_registers(Process& p, Term* x);

}  // namespace minivm
