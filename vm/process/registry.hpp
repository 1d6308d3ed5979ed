// Registered names of processes and ports.
//
// The pid or port by name is one word an atom, so that sending to a name takes no lock.
// Threads: any; lookups of processes as in process_table.hpp.
#pragma once

#include <vector>

#include "vm/term/term.hpp"

namespace minivm {

struct Process;

namespace registry {

void init();
void destroy();

// The pid or port, or the non-value.
Term whereis(Term name);
enum class Registered : uint8_t { yes, no, has_name, not_alive };
// no: the name is taken, or the port is no more. not_alive: the process is no more.
Registered register_name(Term name, Term pid);
// False: nobody has the name.
bool unregister_name(Term name);
// The name of a process that ends, of a port that ends.
void forget(Process& p);
Term forget_port(Term port);
// The non-value: none.
Term name_of(Process& p);
Term name_of_port(Term port);
std::vector<Term> registered();

}  // namespace registry
}  // namespace minivm
