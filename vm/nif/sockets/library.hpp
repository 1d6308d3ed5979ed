// The natives of OTP's modules prim_socket and prim_net, of OTP 25 to 29: what the nif_init of libraries of their own
// would return. A module gets the natives that it declares; those that only other releases declare are left out.
#pragma once

#include "vm/nif/abi.hpp"

namespace minivm::nif::sockets {

const Entry& prim_socket_entry();
const Entry& prim_net_entry();

}  // namespace minivm::nif::sockets
