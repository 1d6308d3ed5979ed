// Native code described for people and their tools.
#pragma once

#include "vm/instr/lowered.hpp"
#include "jit/code_info.hpp"
#include "jit/op_use.hpp"

#include <cstdint>
#include <string>
#include <vector>

namespace minivm::jit {

class Listing;
struct NativeCode;

// Names and lines of a module's code. A function has one range for each run of its code: what is
// rare lies behind all functions.
NativeModule describe(const LoweredModule& m, const NativeCode& code);

// The shared fragments; they have been made.
NativeModule describe_fragments();

// The code that would be emitted for the module, for either machine on any host; nothing is put
// into code memory. Fills `listing` with it, and `uses` with the bytes of its instructions, if not null.
std::vector<uint8_t> lay_out(const LoweredModule& m, Machine machine, bool fast_paths,
                             Listing* listing = nullptr, OpUses* uses = nullptr);

// The code that would be emitted for the module, as text: lowered instructions, and below each its
// machine code. A text for each function, by its index.
std::vector<std::string> disassemble(const LoweredModule& m, Machine machine, bool fast_paths);

}  // namespace minivm::jit
