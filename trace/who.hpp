// Which processes and ports a call of erlang:trace/3 or trace_info/2 is about, where it names a group of them.
#pragma once

#include "vm/term/term.hpp"

namespace minivm::trace {

struct Who {
    bool existing = false, fresh = false;
    bool processes = false, ports = false;
};
// Of the atoms all, existing, processes, new_ports and so on. False: t is none of these.
bool parse_who(Term t, Who* who);
// Whether t is an integer that may be an arity: 0 to 255.
bool is_arity(Term t);

}  // namespace minivm::trace
