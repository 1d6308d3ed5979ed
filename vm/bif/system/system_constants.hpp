// What system_info/1 says that does not change while the VM runs.
#pragma once

#include <string_view>

#include "vm/term/heap.hpp"

namespace minivm {

// The value of an item that is a constant of the VM or of the release in use; the non-value: the item
// is none of these. Any thread.
Term system_constant(Heap& h, std::string_view item);
// What the emulator's flags said of an item (vm::Options::told); the non-value: nothing. Any thread.
Term told_constant(std::string_view item);

}  // namespace minivm
