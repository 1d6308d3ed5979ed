// Memory of the sizes that processes are made of: the Process itself and the first heap block.
//
// Processes come and go by the million, often born on one thread and buried on another. A thread keeps
// what it frees for its own next process, and gives what is too much to the others in batches. Memory
// once taken from the system stays with the pool.
// With sanitizers everything comes from malloc, so that they see each use.
// Threads: any.
#pragma once

#include <cstddef>
#include <cstdint>

namespace minivm {

enum class PoolClass { process, heap_block };
constexpr size_t kPooledHeapWords = 233;  // the size of nearly every process's first block

// size_bytes is the same in each call of a class.
void* pool_alloc(PoolClass c, size_t size_bytes);
void pool_free(PoolClass c, void* memory);

// Sets malloc up for a program that frees and allocates heaps all the time. Call it once, before there are
// schedulers; another thread that allocates meanwhile may still go by malloc's own settings.
void prepare_malloc();
// For a thread that allocates much at once, such as one that prepares modules: malloc gives each thread an
// arena of its own, which would grow by a system call for every few pages.
void prepare_malloc_of_thread();

// A heap block of so many words; ends the VM when memory is out.
void* heap_block_alloc(size_t words);
void heap_block_free(void* block, size_t words);  // null: does nothing

}  // namespace minivm
