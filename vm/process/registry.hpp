// Registered names.
//
// The pid by name is one word an atom, so that sending to a name takes no lock.
// Threads: any; lookups of processes as in process_table.hpp.
#pragma once

#include <vector>

#include "vm/term/term.hpp"

namespace minivm {

struct Process;

namespace registry {

void init();
void destroy();

// The pid, or the non-value.
Term whereis(Term name);
// False: the name is taken, the process has a name or is no more.
bool register_name(Term name, Term pid);
// False: nobody has the name.
bool unregister_name(Term name);
// The name of a process that ends.
void forget(Process& p);
// The non-value: none.
Term name_of(Process& p);
std::vector<Term> registered();

}  // namespace registry
}  // namespace minivm
