#include "loader/generic_ops.hpp"

#include <iterator>

namespace minivm::loader {

namespace {

// One name space for what the `lowered` column can say.
struct Outcome {
    Lowering lowering;
    Op op;
};
namespace outcome {
#define INSTR(name, operands, effects, facts, meaning) \
    [[maybe_unused]] constexpr Outcome name = {Lowering::table, Op::name};
#include "vm/instr/instructions.def"
#undef INSTR
constexpr Outcome special = {Lowering::special, Op::kCount};
constexpr Outcome dropped = {Lowering::dropped, Op::kCount};
constexpr Outcome obsolete = {Lowering::obsolete, Op::kCount};
}  // namespace outcome

constexpr GenericInfo kGenericOps[] = {
    {nullptr, "", "", Lowering::obsolete, Op::kCount},
#define GENERIC(opcode, name, arguments, lowered, order) \
    {#name, arguments, order, outcome::lowered.lowering, outcome::lowered.op},
#include "loader/generic_ops.def"
#undef GENERIC
};

// The rows stand in the order of their opcodes, without a gap.
constexpr uint8_t kOpcodes[] = {
    0,
#define GENERIC(opcode, name, arguments, lowered, order) opcode,
#include "loader/generic_ops.def"
#undef GENERIC
};
constexpr bool opcodes_are_consecutive() {
    for (size_t i = 0; i < std::size(kOpcodes); ++i) {
        if (kOpcodes[i] != i) {
            return false;
        }
    }
    return true;
}
static_assert(opcodes_are_consecutive());

}  // namespace

const GenericInfo* generic_info(uint8_t opcode) {
    return opcode == 0 || opcode >= std::size(kGenericOps) ? nullptr : &kGenericOps[opcode];
}

}  // namespace minivm::loader
