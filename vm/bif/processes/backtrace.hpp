// What process_info(Pid, backtrace) shows. On the process's own scheduler, or by the thread that owns it.
#pragma once

#include "vm/process/process.hpp"

#include <span>
#include <string>

namespace minivm {

std::string process_backtrace(Process& p);

// What process_info/2 would answer for this item, in h, when no scheduler runs any more: messages that the process has
// not taken yet count.
Term process_item_left(Process& p, Term what, Heap& h);

// The items that process_info/2 knows.
std::span<const Term> process_info_items();

}  // namespace minivm
