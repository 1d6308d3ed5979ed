// Requests to another process: a signal asks it, and the caller then waits in
// erts_internal:await_result/1 for {Ref, Result}.
// Threads: the scheduler of p.
#pragma once

#include "vm/process/signal.hpp"

namespace minivm {

Term make_ref_term(Heap& h, RefId id);
// A trap: the caller goes on when {Ref, Result} has come, with Result as the BIF's result.
Term await(Process& p, RefId ref);
// Handles the signals that have arrived. True: one of them ends p, and the BIF returns *result.
bool handle_now(Process& p, Term* result);
// A pid of an earlier creation of this node. Nothing is left of its process.
bool is_former_pid(Term t);
// Whether nothing is left of a local process for others, who may have been told so.
bool has_ended(Term pid);
// Whether the dirty function that a process has, which a dirty::Hold keeps there, changes its links. Then nobody
// looks at them from outside; will_exit() does. There is one such function, a short one.
bool changes_links_meanwhile(const Process& held);
ControlSignal* new_request(Process& p, RefId ref, void (*run)(Process&, ControlSignal&),
                           void (*gone)(ControlSignal&));

}  // namespace minivm
