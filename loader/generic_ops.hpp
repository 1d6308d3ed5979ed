// The table of generic_ops.def.
// Threads: constant data.
#pragma once

#include "vm/instr/lowered.hpp"

namespace minivm::loader {

enum class GenericOp : uint8_t {
    none = 0,
#define GENERIC(opcode, name, arguments, lowered, order) op_##name = opcode,
#include "loader/generic_ops.def"
#undef GENERIC
};

enum class Lowering : uint8_t { table, special, dropped, obsolete };

struct GenericInfo {
    const char* name;
    const char* arguments;  // letters, see generic_ops.def
    const char* order;
    Lowering lowering;
    Op op;  // if lowering is table
};

constexpr size_t kMaxGenericArguments = 8;

// Null: there is no such instruction.
const GenericInfo* generic_info(uint8_t opcode);

}  // namespace minivm::loader
