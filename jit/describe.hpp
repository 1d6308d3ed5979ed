// Native code described for people and their tools.
#pragma once

#include "vm/instr/lowered.hpp"
#include "jit/code_info.hpp"

#include <cstdint>
#include <string>
#include <vector>

namespace minivm::jit {

struct NativeCode;

// Names and lines of a module's code. A function has one range for each run of its code: what is
// rare lies behind all functions.
NativeModule describe(const LoweredModule& m, const NativeCode& code);

// The shared fragments; they have been made.
NativeModule describe_fragments();

// What would be emitted for the module, on this machine: lowered instructions, and below each its
// machine code. A text for each function, by its index. available() holds.
std::vector<std::string> disassemble(const LoweredModule& m, bool fast_paths);

}  // namespace minivm::jit
