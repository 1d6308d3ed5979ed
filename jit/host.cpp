#include "jit/macro_assembler.hpp"

namespace minivm::jit {

std::unique_ptr<MacroAssembler> new_host_assembler() {
#if defined(__x86_64__)
    return new_x86_64_assembler();
#elif defined(__aarch64__)
    return new_aarch64_assembler();
#else
    return nullptr;
#endif
}

}  // namespace minivm::jit
