// The modules that OTP's emulator has in it: `beam.smp` holds the .beam files of what it starts with, one after the other, as
// data. A release that brings its own ERTS has them nowhere else.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

namespace minivm::loader {

// Each whole .beam file (the IFF form: "FOR1", its size, "BEAM") in the bytes, in their order; they stay the caller's. Where one
// ends is what its size says, so that nothing within one is taken for another. What is in them is not looked at.
std::vector<std::span<const uint8_t>> beam_files_in(std::span<const uint8_t> bytes);

}  // namespace minivm::loader
