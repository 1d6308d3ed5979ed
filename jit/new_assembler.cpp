#include "jit/code_info.hpp"
#include "jit/jit.hpp"
#include "jit/macro_assembler.hpp"

namespace minivm::jit {
namespace {

bool g_frame_pointers = false;

}  // namespace

void keep_frame_pointers() {
    g_frame_pointers = true;
}
bool frame_pointers() {
    return g_frame_pointers;
}

std::unique_ptr<MacroAssembler> new_assembler(Machine machine) {
    auto a = machine == Machine::x86_64 ? new_x86_64_assembler() : new_aarch64_assembler();
    if (g_frame_pointers) {
        a->keep_frame_pointers();
    }
    return a;
}

}  // namespace minivm::jit
