#include "jit/code_info.hpp"
#include "jit/macro_assembler.hpp"

namespace minivm::jit {

std::unique_ptr<MacroAssembler> new_assembler(Machine machine) {
    return machine == Machine::x86_64 ? new_x86_64_assembler() : new_aarch64_assembler();
}

}  // namespace minivm::jit
