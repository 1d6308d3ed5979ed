// Addresses of sockets as prim_inet writes and reads them, and as terms.
#pragma once

#include "vm/port/inet/protocol.hpp"
#include "vm/term/heap.hpp"
#include "vm/util/socket_address.hpp"

#include <string>

namespace minivm::port::inet {

using Address = SocketAddress;

// An address for a socket of this family (AF_INET, AF_INET6, AF_UNIX). Null, or the name of the error.
const char* read_address(Reader* in, int family, Address* out);
void write_address(const Address& address, std::string* out);
// The same without family and port, as interfaces have them.
bool write_ip(const sockaddr* address, std::string* out);
// The port in the system's order is turned round; 0: it has none.
unsigned port_of(const Address& address);
// {A, B, C, D} and the port, or {local, Path} and 0: what {udp, Socket, ..., ..., Packet} tells.
void address_terms(Heap& h, const Address& address, Term* ip, Term* port);

}  // namespace minivm::port::inet
