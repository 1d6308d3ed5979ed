// minivm disasm: the lowered form of a .beam file as text.
#pragma once

#include <cstdio>
#include <string>

namespace minivm {
struct LoweredModule;
}

namespace minivm::tools {

// Prints the module, or only function NAME or NAME/ARITY (with or without "module:" before it).
// `native`: the machine whose code is shown below each instruction, "x86-64" or "aarch64"; or empty.
// Returns the exit status: 0, or 1 after saying on `err` what is wrong.
int disasm_command(const std::string& path, const std::string& function,
                   const std::string& native, std::FILE* out, std::FILE* err);

// Prints the same for a lowered module; `native` as above, and checked. False: it has no such function.
bool print_lowered(const LoweredModule& m, const std::string& function, const std::string& native,
                   std::FILE* out);

}  // namespace minivm::tools
