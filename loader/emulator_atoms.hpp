// The names of the atoms that OTP's emulator makes before all others, in their order, read off its `beam.smp`: from OTP 26 on
// the keys of small maps are in the order in which atoms were made, and every program sees that.
//
// The emulator has them as an array of pointers to texts that ends in a null (`erl_atom_names`), which begins with "false",
// "true", "_" and "nonode@nohost". It is looked for in what the file has of its writable segments, with the relocations that
// give a position-independent program its pointers.
#pragma once

#include <cstdint>
#include <span>
#include <string_view>
#include <vector>

namespace minivm::loader {

// Of a 64-bit little-endian ELF file; the texts are the file's. Empty if the bytes are none, or have no such array.
std::vector<std::string_view> emulator_atoms(std::span<const uint8_t> elf);

// Numbers the atoms of the emulator in `path` first (atom_table::number_first()), if they can be read. Before others start.
void number_emulator_atoms(const char* path);

}  // namespace minivm::loader
