// This node's name: the process that owns it, its end, and the processes that get nodeup and nodedown messages.
//
// Threads: schedulers.
#pragma once

#include "vm/term/this_node.hpp"

namespace minivm {

struct Process;

namespace node_life {

inline bool is_alive() { return node_word(this_node()) != node_word(kNotAlive); }

// Name@Host, with something on both sides and one @.
bool is_node_name(Term atom);

// erlang:setnode/2: this node is alive until the process net_kernel ends, which owns the name from here on.
// False: the node is alive already, or there is no net_kernel.
bool begin(Term name, uint32_t creation);
// The process that owns the name ends with this reason.
void owner_ended(Term reason);

// Tells the watchers that another node is connected (the reason is the non-value), or no longer.
void tell_of_node(Term node, uint32_t connection, bool visible, Term down_reason);

// The options of process_flag({monitor_nodes, Options}, true).
namespace watch {
constexpr uint32_t kVisible = 1;
constexpr uint32_t kHidden = 2;
constexpr uint32_t kDownReason = 4;
constexpr uint32_t kInfoMap = 8;  // the message has a map of properties, not a list
constexpr uint32_t kConnectionId = 16;
}  // namespace watch

// Each set of options is a subscription of its own; a process may subscribe any number of times, and one
// unwatch_nodes() ends them all. Returns how many there were before.
uint32_t watch_nodes(Process& p, uint32_t options);
uint32_t unwatch_nodes(Process& p, uint32_t options);
// p ends.
void forget_watcher(Process& p);

}  // namespace node_life
}  // namespace minivm
