// How much memory the areas of the machine take: erlang:memory/1.
//
// Each thread counts what it takes and gives back, which may be more than it took; the sum over all threads is
// what is in use. A sum that is made while others allocate may miss what they do meanwhile.
// Threads: any.
#pragma once

#include <cstdint>

namespace minivm {

enum class MemoryArea : uint8_t { processes, binaries, literals, atoms, atoms_used };
constexpr int kMemoryAreas = static_cast<int>(MemoryArea::atoms_used) + 1;

// bytes: negative for what is given back.
void count_memory(MemoryArea area, int64_t bytes);
// A block of malloc(), by the size that malloc gave it.
void count_taken(MemoryArea area, void* block);
void count_given_back(MemoryArea area, void* block);

// Bytes in use.
uint64_t memory_in_use(MemoryArea area);

}  // namespace minivm
