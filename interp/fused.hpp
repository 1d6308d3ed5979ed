// Handlers of fused instructions, for pack.cpp to choose from; see instr_fused.cpp.
#pragma once

#include <array>

#include "interp/handlers.hpp"

namespace minivm::interp {

// kinds: source, destination, source, destination, ...; X or Y each.
Handler fused_move2(const K* kinds);
Handler fused_move3(const K* kinds);
// kinds: tuple, first destination, second destination.
Handler fused_get_elements2(const K* kinds);
// `move Src, x0` and then op: call, call_only, call_last or return_; or, if `deallocate`, deallocate and return_.
Handler fused_move_then(Op op, bool deallocate, K source);
void h_deallocate_return(ARGS);  // word 0, slot 1: frame words

}  // namespace minivm::interp
