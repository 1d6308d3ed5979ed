// The interface's functions, which libraries find in the program by their names.
//
// Definitions are in api_*.cpp with C linkage, as OTP's erl_nif.h declares them; the program
// exports exactly these (tools/CMakeLists.txt). Threads: any, unless the environment that a function gets
// says otherwise.
#pragma once

#include "vm/nif/environment.hpp"

#include <cstdarg>
#include <cstdio>

namespace minivm::nif {

// Refers to each function of the interface, so that the linker keeps them.
void api_is_linked();
// The address of a function, or null. For tests.
const void* api_function(const char* name);

// What %T prints.
std::string text_of_term(Term t);
// printf with %T.
std::string format_text(const char* format, va_list arguments);

}  // namespace minivm::nif
