// What another process must answer is asked by a signal; the caller then waits in
// erts_internal:await_result/1 for {Ref, Result}.
// Threads: the scheduler of p.
#pragma once

#include "vm/process/signal.hpp"

namespace minivm {

Term make_ref_term(Heap& h, RefId id);
// The caller goes on when {Ref, Result} has come, with Result as the BIF's result.
Term await(Process& p, RefId ref);
// Handles what has arrived; true if it ended the process.
bool handle_now(Process& p, Term* result);
ControlSignal* new_request(Process& p, RefId ref, void (*run)(Process&, ControlSignal&),
                           void (*gone)(ControlSignal&));

}  // namespace minivm
