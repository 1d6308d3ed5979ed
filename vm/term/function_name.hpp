// Which functions funs refer to: what the order of terms, hashes and the written form need to know of the entries
// that code/ keeps. Defined in code/entries.cpp.
#pragma once

#include <cstdint>

#include "vm/term/term.hpp"

namespace minivm {

struct FunctionName {  // of fun Module:Function/Arity
    Term module;
    Term function;
    uint32_t arity;
};
struct LambdaName {  // of a fun in a module: module, index and old_uniq tell it from others
    Term module;
    uint32_t index;
    uint32_t old_uniq;
    Term function;  // the name of the lifted function; the non-value if it is not known
    uint32_t arity;
};
FunctionName name_of(const Export* entry);
LambdaName name_of(const FunEntry* entry);

}  // namespace minivm
