// Pids, ports and references of other nodes, and what limits those of this one.
#pragma once

#include "vm/term/heap.hpp"
#include "vm/term/this_node.hpp"

#include <span>

namespace minivm {

// The limits of local ones: see make_local_pid. (OTP's own pids have fewer bits.)
constexpr uint32_t kMaxLocalPidNumber = 0xFFFFFFF;
constexpr uint32_t kMaxLocalPidSerial = 0x3FFFFFFF;
constexpr uint64_t kMaxLocalPort = 0xFFFFFFF;
// How many words of 32 bits the reference of another node may have.
constexpr size_t kMaxRefWords = 5;

// node: not this one.
Term put_external_pid(Heap& h, Node node, uint32_t number, uint32_t serial);
Term put_external_port(Heap& h, Node node, uint64_t number);
// words: at most kMaxRefWords; the first is the one that is printed last.
Term put_external_ref(Heap& h, Node node, std::span<const uint32_t> words);

}  // namespace minivm
