// How a BIF ends that has no value to return: `return badarg(p);`. All return kNonValue and set in the process
// what the engine does next.
// Threads: the scheduler of the process.
#pragma once

#include <initializer_list>

#include "vm/process/process.hpp"

namespace minivm {

Term error(Process& p, Term reason);             // class error; the BIF and its arguments top the trace
Term exit_(Process& p, Term reason);
Term throw_(Process& p, Term value);
Term badarg(Process& p);                         // with error_info as OTP gives it for the erlang module
Term badarith(Process& p);
Term system_limit(Process& p);
Term badmap(Process& p, Term map);               // {badmap, Map}
Term badkey(Process& p, Term key);               // {badkey, Key}
Term notsup(Process& p);
// badarg whose error_info carries `cause` (an atom or term), e.g. badarg with #{cause => id}.
Term badarg_cause(Process& p, Term cause);

// Tail-call another function: its result is this BIF's result.
Term trap(Process& p, const Export* to, std::initializer_list<Term> args);
// As trap, after the process has been scheduled out and in again.
Term yield(Process& p, const Export* to, std::initializer_list<Term> args);
// Tail-call a fun: p.x[0..arity) hold its arguments, p.x[arity] the fun (erlang:apply/2).
Term trap_fun(Process& p, uint32_t arity);
// As yield, but waits for a signal or wake_up() first.
Term trap_wait(Process& p, const Export* to, std::initializer_list<Term> args);

inline void consume(Process& p, int64_t reductions) { set_reductions_left(p, reductions_left(p) - reductions); }
inline bool out_of_reductions(const Process& p) { return reductions_left(p) <= 0; }

}  // namespace minivm
