// Microstate accounting.
#pragma once

#include "vm/term/term.hpp"

namespace minivm {
struct Process;
// erlang:system_flag(microstate_accounting, to): what it was.
Term set_microstate_accounting(Process& p, Term to);
}  // namespace minivm
