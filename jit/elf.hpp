// An ELF file in memory with names, lines and frames of native code, for debuggers.
//
// It holds no code: its .text only says where the code lies in this process. What it does hold:
//
//     .text          address and size of all ranges; no bytes
//     .symtab        one function symbol for each range
//     .debug_info    one compilation unit with one subprogram for each range
//     .debug_abbrev
//     .debug_line    the line program (DWARF version 4)
//     .debug_frame   for each address, how to find the caller's frame; see NativeFrame
//
// Machine, registers and frame rules come with the NativeModule, so either machine's file can be
// made anywhere.
#pragma once

#include "jit/code_info.hpp"

#include <cstddef>
#include <cstdint>
#include <string>

namespace minivm {

// e_machine
uint16_t elf_machine(Machine machine);

// DWARF's numbers of the registers that the JIT may name, and the column of the return address.
namespace dwarf_register {
inline constexpr uint8_t kX86Rbx = 3;
inline constexpr uint8_t kX86Rbp = 6;
inline constexpr uint8_t kX86Rsp = 7;
inline constexpr uint8_t kX86R12 = 12;  // r8 to r15 have their own numbers
inline constexpr uint8_t kX86ReturnAddress = 16;
inline constexpr uint8_t kA64X30 = 30;  // x0 to x30 have their own numbers
inline constexpr uint8_t kA64Sp = 31;
}  // namespace dwarf_register

// The file, as bytes. The module has at least one range.
std::string make_elf(const NativeModule& module);

}  // namespace minivm
