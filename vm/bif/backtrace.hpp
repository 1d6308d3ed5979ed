// What process_info(Pid, backtrace) shows. On the process's own scheduler, or who owns it.
#pragma once

#include "vm/process/process.hpp"

#include <string>

namespace minivm {

std::string process_backtrace(Process& p);

}  // namespace minivm
