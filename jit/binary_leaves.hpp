// The instructions on bit strings that native code calls through a fragment, without storing the x
// registers for the collector: fn(Process*, t0, t1, t2), a term or the non-value.
//
// The non-value says that it did not happen: there is no match, too little room on the heap, or
// something is wrong. The default operation finds out which. What they build needs no collection
// afterwards, and the words that an instruction reserves are still free.
#pragma once

#include "vm/term/term.hpp"

namespace minivm {
struct Process;
}

namespace minivm::jit {

using Leaf = Word (*)(Process* p, Word, Word, Word);

Word leaf_get_integer(Process* p, Word context, Word size, Word unit_flags);
Word leaf_get_float(Process* p, Word context, Word size, Word unit_flags);
Word leaf_get_binary(Process* p, Word context, Word size, Word unit);
Word leaf_get_tail(Process* p, Word context, Word, Word);
// The non-value of these two means no match.
Word leaf_get_utf8(Process* p, Word context, Word, Word);
Word leaf_match_string(Process* p, Word context, Word bits, Word string);
// The operands are in the record; x registers are in the scheduler's array, and the return address
// of the call into the fragment is on top of the stack.
Word leaf_create_bin(Process* p, Word record, Word scheduler, Word);

}  // namespace minivm::jit
