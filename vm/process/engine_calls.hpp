// The functions of vm/process that engines call, besides the mailbox's.
// Threads: all on the process's own scheduler.
#pragma once

#include "vm/process/process.hpp"

namespace minivm {

// The send instruction: x0 ! x1. The message, or the non-value: see Process::outcome (badarg for a name
// that is not registered, ...).
Term send_message(Process& p, Term to, Term message);

// True for erlang:error/1 and the like: they never return, and where apply calls them in tail position
// the caller's frame stays, for the stack trace.
bool keeps_caller(const Export* e);
// The function that an apply instruction calls: x[arity]:x[arity + 1] with the arguments in x. A call of
// erlang:apply/3 is replaced by the call that it makes, as on OTP: *arity and x are that call's then. Null: a bad
// apply; raise_bad_apply() raises the error.
const Export* applied(uint32_t* arity, Term* x);
// keeps_caller() of the function that a BIF traps to; also true if the BIF's return is traced.
bool trap_keeps_caller(const Process& p);

// How many x registers are live in the function that a BIF traps to.
uint32_t trap_live(const Process& p);

// The timeout of the waiting receive. It fires once; then take_timed_out() is true once, when the process is
// scheduled in. `infinity` is a timeout that never fires, so that the receive does not set it again.
void set_receive_timeout(Process& p, uint64_t ms);
void set_receive_for_ever(Process& p);
bool has_receive_timeout(const Process& p);
void cancel_receive_timeout(Process& p);
bool take_timed_out(Process& p);

Term recv_marker_reserve(Process& p);
void recv_marker_bind(Process& p, Term marker, Term reference);
void recv_marker_clear(Process& p, Term reference);
void recv_marker_use(Process& p, Term reference);

// Saves x[0..live) in Process::saved_x while p is scheduled out, and restores them.
void save_x_registers(Process& p, const Term* x, uint32_t live);
void restore_x_registers(Process& p, Term* x);

}  // namespace minivm
