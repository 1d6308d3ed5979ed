// The item refc of erlang:fun_info/2.
#pragma once

#include "vm/bif/bif.hpp"

namespace minivm {

// Traps; the result is that of fun_info(Fun, refc) for a local fun.
Term fun_reference_count(Process& p, Term fun);

}  // namespace minivm
