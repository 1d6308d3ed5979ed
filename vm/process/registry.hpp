// Registered names of processes and ports.
//
// One word for each atom holds the pid or port with that name, so that sending to a name takes no lock.
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
// no: the name is taken, or the port is closed. not_alive: the process has ended.
Registered register_name(Term name, Term pid);
// False: the name is not registered.
bool unregister_name(Term name);
// Unregisters the name of a process, of a port, that ends. forget_port() returns the name.
void forget(Process& p);
Term forget_port(Term port);
// The non-value: no name.
Term name_of(Process& p);
Term name_of_port(Term port);
std::vector<Term> registered();

}  // namespace registry
}  // namespace minivm
