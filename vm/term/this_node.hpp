// The name and the creation of this node, which local pids, ports and references leave out: they have
// those that this node has at the moment.
#pragma once

#include "vm/term/atom_table.hpp"

#include <atomic>

namespace minivm {

struct Node {
    Term name;
    uint32_t creation;
};

constexpr uint64_t node_word(Node node) {
    return static_cast<uint64_t>(atom_index(node.name)) << 32 | node.creation;
}
constexpr Node kNotAlive{atoms::nonode_at_nohost, 0};

// Both in one word, so that a reader sees a name with its own creation and nobody has to be stopped.
inline std::atomic<uint64_t> g_this_node{node_word(kNotAlive)};

// Any thread. What needs both, or needs them twice, asks once.
inline Node this_node() {
    // relaxed: the name's text was there before anybody could have named the node so, and nothing else
    // is reached through the word.
    const uint64_t word = g_this_node.load(std::memory_order_relaxed);
    return {make_atom(static_cast<uint32_t>(word >> 32)), static_cast<uint32_t>(word)};
}
inline Term this_node_name() { return this_node().name; }

}  // namespace minivm
