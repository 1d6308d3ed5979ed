// The names of the atoms that OTP's emulator makes before all others, in their order, read from its `beam.smp`: from
// OTP 26 on the keys of small maps are in the order in which atoms were made, and every program sees that.
//
// The emulator has an array of pointers to texts that ends in a null (`erl_atom_names`) and begins with "false",
// "true", "_" and "nonode@nohost". It is searched for in the writable segments of the file, with the relocations that
// give a position-independent program its pointers.
#pragma once

#include <cstdint>
#include <span>
#include <string_view>
#include <vector>

namespace minivm::loader {

// From a 64-bit little-endian ELF file, into which the texts point. Empty if it is no such file or has no such array.
std::vector<std::string_view> emulator_atoms(std::span<const uint8_t> elf);

// Numbers the atoms of the emulator in `path` first (atom_table::number_first()), if it can. Before threads start.
void number_emulator_atoms(const char* path);

}  // namespace minivm::loader
