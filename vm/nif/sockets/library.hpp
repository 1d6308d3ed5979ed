// The natives of OTP's modules prim_socket and prim_net, of OTP 25 to 29: what nif_init of their libraries would give,
// if they were libraries of their own. A module has those of its functions that are declared here; what a later release
// declares and an earlier one does not is left out.
#pragma once

#include "vm/nif/abi.hpp"

namespace minivm::nif::sockets {

const Entry& prim_socket_entry();
const Entry& prim_net_entry();

}  // namespace minivm::nif::sockets
