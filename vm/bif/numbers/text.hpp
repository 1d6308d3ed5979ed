// Text as the conversions of numbers and atoms return it.
#pragma once

#include <string>

#include "vm/term/term.hpp"

namespace minivm {

Term binary_string_of(Process& p, std::string_view text);

}  // namespace minivm
