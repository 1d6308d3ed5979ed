// The name and the creation of this node. Local pids, ports and references do not store them: they have
// the name and the creation that this node has at the moment.
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

// Both in one word, so that a reader gets a name with its own creation and needs no lock.
inline std::atomic<uint64_t> g_this_node{node_word(kNotAlive)};

// Any thread. A caller that needs both, or one of them twice, calls this once: the node may be renamed in between.
inline Node this_node() {
    // relaxed: the atom existed before it could become the node's name, and the word leads to nothing
    // else.
    const uint64_t word = g_this_node.load(std::memory_order_relaxed);
    return {make_atom(static_cast<uint32_t>(word >> 32)), static_cast<uint32_t>(word)};
}
inline Term this_node_name() { return this_node().name; }

}  // namespace minivm
