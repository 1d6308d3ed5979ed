// The names of the functions that funs refer to, for the order of terms, their hashes and their text. The entries are
// code/'s, and code/entries.cpp defines name_of().
#pragma once

#include <cstdint>

#include "vm/term/term.hpp"

namespace minivm {

struct FunctionName {  // of fun Module:Function/Arity
    Term module;
    Term function;
    uint32_t arity;
};
struct LambdaName {  // of a fun that a module makes: module, index and old_uniq identify it
    Term module;
    uint32_t index;
    uint32_t old_uniq;
    Term function;  // the name of the lifted function; the non-value if it is not known
    uint32_t arity;
};
FunctionName name_of(const Export* entry);
LambdaName name_of(const FunEntry* entry);

}  // namespace minivm
