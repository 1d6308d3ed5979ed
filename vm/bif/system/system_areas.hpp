// What system_info/1 says of the memory of the machine and of what is in it.
#pragma once

#include <string_view>
#include <utility>
#include <vector>

#include "vm/process/process.hpp"

namespace minivm {

// The value of allocated_areas, allocator, alloc_util_allocators, info or loaded; the non-value: the item is
// none of these. On p's scheduler.
Term system_areas(Process& p, std::string_view item);

// What erlang:memory() says, in bytes. By p's scheduler, or who owns p.
std::vector<std::pair<const char*, uint64_t>> memory_areas(Process& p);

}  // namespace minivm
