// Reading text as the conversions to numbers and atoms take it.
#pragma once

#include <string>

#include "vm/term/term.hpp"

namespace minivm {

Term binary_string_of(Process& p, std::string_view text);

}  // namespace minivm
