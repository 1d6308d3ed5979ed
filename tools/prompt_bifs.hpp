// BIFs for commands of the prompt (tools/boot/minivm_prompt.erl), for what Erlang code cannot find out:
// the flight recorder's records and categories, and the code of loaded modules.
#pragma once

namespace minivm::tools {

// Before bif_registry::init().
void add_prompt_bifs();

}  // namespace minivm::tools
