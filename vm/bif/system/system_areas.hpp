// What system_info/1 says about the VM's memory and its contents.
#pragma once

#include <string_view>
#include <utility>
#include <vector>

#include "vm/process/process.hpp"

namespace minivm {

// The value of allocated_areas, allocator, alloc_util_allocators, info or loaded; the non-value: the item is
// none of these. On p's scheduler.
Term system_areas(Process& p, std::string_view item);

// The value of {allocator, Which}, or of {allocator_sizes, Which} if `sizes`; Which: a name or a list. OTP's allocators
// do not exist here: `false`. sys_alloc is malloc(), whose settings are known. The non-value: no name of an allocator.
Term allocator_info(Heap& h, Term which, bool sizes);

// What erlang:memory() says, in bytes. On p's scheduler, or by the thread that owns p.
std::vector<std::pair<const char*, uint64_t>> memory_areas(Process& p);

}  // namespace minivm
