// The .beam files of the installed OTP and Elixir: the real input that there is.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace minivm::test {

// What a command prints.
std::string output_of(const std::string& command);

// Their paths, sorted, and of those below the folder MINIVM_BEAMS, if that is set. Fails the test where
// there is no `erl`.
std::vector<std::string> installed_beams();
std::vector<uint8_t> read_installed(const std::string& path);

}  // namespace minivm::test
