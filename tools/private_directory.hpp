// Directories that nobody but the user can look into: for recordings and sockets.
#pragma once

#include <string>
#include <vector>

namespace minivm::tools {

// Makes `path` with mode 0700, or finds it in good order. False: *error says why not. It is refused
// if it is a link, belongs to another user or is open to others.
bool own_directory(const std::string& path, std::string* error);
// Where such a directory may be if the user has named no place, the best first.
std::vector<std::string> own_directories();

}  // namespace minivm::tools
