// Tracing: erlang:trace/3, trace_pattern/3 and what belongs to them.
#pragma once

#include "trace/action.hpp"

namespace minivm::trace {

// Registers the BIFs; before bif_registry::init().
void add_bifs();
void add_info_bifs();  // a part of these
// Sets the hooks: from here on the VM reports events. Before any process begins.
void start();

}  // namespace minivm::trace
