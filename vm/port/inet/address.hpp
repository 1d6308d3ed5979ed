// Socket addresses in the form of prim_inet's requests and answers, and as terms.
#pragma once

#include "vm/port/inet/protocol.hpp"
#include "vm/term/heap.hpp"
#include "vm/util/socket_address.hpp"

#include <string>

namespace minivm::port::inet {

using Address = SocketAddress;

// Reads an address for a socket of this family (AF_INET, AF_INET6, AF_UNIX). Result: null, or the name of the error.
const char* read_address(Reader* in, int family, Address* out);
void write_address(const Address& address, std::string* out);
// The family and the IP address without the port, for interfaces. False: no IP address.
bool write_ip(const sockaddr* address, std::string* out);
// The port number; 0: the address has none.
unsigned port_of(const Address& address);
// {A, B, C, D} and the port, or {local, Path} and 0, for {udp, Socket, ..., ..., Packet}.
void address_terms(Heap& h, const Address& address, Term* ip, Term* port);

}  // namespace minivm::port::inet
