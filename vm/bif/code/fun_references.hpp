// The item refc of erlang:fun_info/2.
#pragma once

#include "vm/bif/bif.hpp"

namespace minivm {

// The result of fun_info(fun, refc), where the fun is a local one; it comes later (a trap).
Term fun_reference_count(Process& p, Term fun);

}  // namespace minivm
