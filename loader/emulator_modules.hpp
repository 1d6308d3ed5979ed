// The modules in OTP's emulator: `beam.smp` contains the .beam files of its preloaded modules as data, one after the
// other. A release that brings its own ERTS has them nowhere else.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

namespace minivm::loader {

// Each whole .beam file (the IFF form: "FOR1", its size, "BEAM") in the bytes, in their order; the spans point into
// them. The size of a file says where it ends, so that nothing within it counts as another. Contents are not checked.
std::vector<std::span<const uint8_t>> beam_files_in(std::span<const uint8_t> bytes);

}  // namespace minivm::loader
