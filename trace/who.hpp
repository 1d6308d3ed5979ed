// Whom the BIFs of tracing are about.
#pragma once

#include "vm/term/term.hpp"

namespace minivm::trace {

struct Who {
    bool existing = false, fresh = false;
    bool processes = false, ports = false;
};
// all, existing, processes, new_ports and so on, alone. False: none of these.
bool parse_who(Term t, Who* who);
// A number that an arity can be.
bool is_arity(Term t);

}  // namespace minivm::trace
