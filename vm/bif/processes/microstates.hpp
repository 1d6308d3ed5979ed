// Microstate accounting.
#pragma once

#include "vm/term/term.hpp"

namespace minivm {
struct Process;
// erlang:system_flag(microstate_accounting, to); returns the former value.
Term set_microstate_accounting(Process& p, Term to);
}  // namespace minivm
