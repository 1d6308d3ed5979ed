// How a BIF changes code: with the permission, on a dirty scheduler, and waiting for the commit.
#pragma once

#include "vm/bif/bif.hpp"
#include "vm/code_change/code_change.hpp"

namespace minivm {

// True: the caller has the code modification permission. False: it returns *wait, and the process calls
// {Module, Function} with these arguments again when the permission is free.
bool has_code_permission(Process& p, Term function, std::initializer_list<Term> args, Term* wait);
Term function_name(Process& p, Term module, const char* function);  // {Module, Function}
// One reference for the operation, one for await_code_change().
code_change::ForProcess* new_code_operation(Process& p);
// Returns `result` when the operation is done. Takes over the caller's reference.
Term await_code_change(Process& p, code_change::ForProcess* op, Term result);
// The same when every scheduler has made progress from here on.
Term await_thread_progress(Process& p, Term result);

}  // namespace minivm
