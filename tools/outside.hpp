// The VM's side of its clients: those of `minivm run --listen`, and the prompt of `minivm repl`.
//
// A thread of its own waits for clients, asks the kernel who they are, and puts those it lets in into
// a queue, from which sessions (tools/boot/minivm_outside.erl starts them) fetch them: as ports, so that
// from then on the thread of the ports reads and writes, and no scheduler ever waits for a client.
// The thread touches no structure of the VM but the mailbox of the process minivm_outside. A VM without
// --listen has no such thread.
//
// Threads: any, unless noted.
#pragma once

#include <string>

namespace minivm::tools::outside {

// Adds the functions that the Erlang side calls. Before bif_registry::init().
void add_bifs();

// Makes the socket; clients may connect from now on, and wait. False: *error says why there is none.
// Before start().
bool listen(const std::string& path, std::string* error);
// Adds a client that is connected already, by one end of a pair of sockets. False: too many wait.
bool add_client(int fd);
// Begins to let clients in. Once the schedulers run.
bool start(std::string* error);
// Removes the socket.
void stop();

}  // namespace minivm::tools::outside
