// How a running VM is talked to: the VM's side of `minivm run --listen`, and of the prompt of
// `minivm repl`, which is a client in the same program.
//
// A thread of its own waits for clients, asks the kernel who they are, and puts those it lets in
// where the process minivm_outside (tools/boot/minivm_outside.erl) fetches them: as ports, so that
// from then on the thread of the ports reads and writes, and no scheduler ever waits for a client.
// The thread touches no structure of the VM but the process's mailbox. Nothing here exists in a VM
// that is not to be talked to.
//
// Threads: any, unless noted.
#pragma once

#include <string>

namespace minivm::tools::outside {

// Adds the functions that the Erlang side calls. Before bif_registry::init().
void add_bifs();

// Makes the socket; clients may connect from now on, and wait. False: *error says why it cannot be.
// Before start().
bool listen(const std::string& path, std::string* error);
// A client that is connected already, by one end of a pair of sockets. False: too many wait.
bool add_client(int fd);
// Begins to let clients in. Once the schedulers run.
bool start(std::string* error);
// Removes the socket.
void stop();

}  // namespace minivm::tools::outside
