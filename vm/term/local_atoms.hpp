// Atoms that one file needs and the VM as a whole does not name: LOCAL_ATOM(name, "text") defines a
// function name() in it. Interned on first use. An atom that two files of a folder need stands in atoms.def.
#pragma once

#include "vm/term/atom_table.hpp"

#define LOCAL_ATOM(name, text)                                    \
    static Term name() {                                          \
        static const Term atom = ::minivm::atom_table::intern(text); \
        return atom;                                              \
    }
