// What vm/process needs of ports (vm/port): processes send to them, use them as tracers, and share names with them.
// Threads: any that may hold a Process*, unless said.
#pragma once

#include <initializer_list>
#include <string>

#include "vm/process/process.hpp"
#include "vm/process/signal.hpp"

namespace minivm::port {

bool exists(Term id);

enum class Sent : uint8_t { done, busy, no_port };
// Takes the bytes over. busy: nothing was taken, and the port will wake the process `wake`. from: the sender of the
// command, for tracing; the non-value: it is not traced.
Sent command(Term id, std::string* bytes, bool even_if_busy, Term wake, Term from);
// Reports, as OTP's emulator does, a value for the port that is no iodata.
void report_bad_value(Term id);
// A message to the port; busy as above. sender null: no process would wait.
Sent message(Process* sender, Term id, Term message, bool even_if_busy = false);
// Sends a trace message to a port that is a tracer, in the external format. False: there is no such port.
bool trace(Term id, Term message);
// A link, monitor or exit signal. Takes the signal over.
void signal(Term id, Signal* s);
// trap_wait() of a process that a port will wake; the function `again` calls waited().
Term wait(Process& p, Term id, const Export* again, std::initializer_list<Term> args);
inline void waited(Process& p) {
    if (p.extra != nullptr) {
        p.extra->waits_for_port = false;
    }
}

// Registered names: called by the registry, under its lock.
// False: no port, or it has a name.
bool set_registered_name(Term id, Term name);
void clear_registered_name(Term id);
Term registered_name(Term id);

}  // namespace minivm::port
