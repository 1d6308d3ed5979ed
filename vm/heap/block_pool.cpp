#include "vm/heap/block_pool.hpp"

#include "recorder/recorder.hpp"

#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <mutex>
#if defined(__GLIBC__)
#include <malloc.h>
#endif

#include "vm/util/assert.hpp"
#include "vm/util/fatal.hpp"
#include "vm/util/lock.hpp"
#include "vm/util/memory_count.hpp"

#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
#define MINIVM_POOLS 0
#else
#define MINIVM_POOLS 1
#endif

namespace minivm {

namespace {

void* allocate(size_t bytes) {
    void* memory = std::malloc(bytes);
    if (MINIVM_UNLIKELY(memory == nullptr)) {
        out_of_memory(WantedFor::heap, bytes);
    }
    return memory;
}

#if MINIVM_POOLS

constexpr size_t kChunkBytes = 256 * 1024;
constexpr uint32_t kBatch = 128;  // pieces that move between threads at once
constexpr int kClasses = 2;

// A free piece of memory; next_batch only in the first of a batch.
struct Piece {
    Piece* next;
    Piece* next_batch;
};

struct Shared {
    CountedMutex mutex{LockKind::blocks};
    Piece* batches = nullptr;
};
Shared g_shared[kClasses];

struct Local {
    Piece* free = nullptr;   // at most 2 * kBatch
    uint32_t count = 0;
    char* chunk = nullptr;   // fresh memory not cut up yet
    size_t chunk_left = 0;
};

void give_batch(Shared& shared, Local& local, uint32_t n) {
    Piece* first = local.free;
    Piece* last = first;
    for (uint32_t i = 1; i < n; ++i) {
        last = last->next;
    }
    local.free = last->next;
    local.count -= n;
    last->next = nullptr;
    std::lock_guard lock(shared.mutex);
    first->next_batch = shared.batches;
    shared.batches = first;
}

struct Locals {
    Local of[kClasses];
    // A thread that ends leaves its pieces to the others; the rest of its chunk is lost.
    ~Locals() {
        for (int c = 0; c < kClasses; ++c) {
            if (of[c].count != 0) {
                give_batch(g_shared[c], of[c], of[c].count);
            }
        }
    }
};
thread_local Locals t_locals;

MINIVM_NOINLINE void* refill(int c, size_t size) {
    Local& local = t_locals.of[c];
    {
        Shared& shared = g_shared[c];
        std::lock_guard lock(shared.mutex);
        if (Piece* batch = shared.batches) {
            shared.batches = batch->next_batch;
            local.free = batch->next;
            local.count = 0;
            for (Piece* p = local.free; p != nullptr; p = p->next) {
                local.count++;
            }
            return batch;
        }
    }
    if (local.chunk_left < size) {
        local.chunk = static_cast<char*>(allocate(kChunkBytes));
        local.chunk_left = kChunkBytes;
    }
    void* piece = local.chunk;
    local.chunk += size;
    local.chunk_left -= size;
    return piece;
}

#endif

}  // namespace

void prepare_malloc() {
#if defined(__GLIBC__) && MINIVM_POOLS
    // A collection takes a block and frees the one before. By default malloc maps each block of more than
    // 128 KiB, whose pages the kernel clears one fault at a time, and unmaps it again: up to a third of the
    // time of programs whose heaps have that size. The memory that stays at the end of an arena instead is
    // bounded.
    constexpr int kLargestFromArena = 32 << 20;  // bytes; glibc takes no more
    constexpr int kKeptAtEnd = 64 << 20;
    mallopt(M_MMAP_THRESHOLD, kLargestFromArena);
    mallopt(M_TRIM_THRESHOLD, kKeptAtEnd);
#endif
}

void prepare_malloc_of_thread() {
#if defined(__GLIBC__) && MINIVM_POOLS
    constexpr size_t kRoom = 2 << 20;  // stays at the end of the arena, untouched until it is used
    void* volatile room = malloc(kRoom);
    free(room);
#endif
}

void* pool_alloc([[maybe_unused]] PoolClass c, size_t size_bytes) {
#if MINIVM_POOLS
    Local& local = t_locals.of[static_cast<int>(c)];
    if (MINIVM_LIKELY(local.free != nullptr)) {
        Piece* p = local.free;
        local.free = p->next;
        local.count--;
        return p;
    }
    return refill(static_cast<int>(c), (size_bytes + 15) & ~size_t{15});
#else
    return allocate(size_bytes);
#endif
}

void pool_free([[maybe_unused]] PoolClass c, void* memory) {
#if MINIVM_POOLS
    Local& local = t_locals.of[static_cast<int>(c)];
    auto* p = static_cast<Piece*>(memory);
    p->next = local.free;
    local.free = p;
    if (++local.count > 2 * kBatch) {
        give_batch(g_shared[static_cast<int>(c)], local, kBatch);
    }
#else
    std::free(memory);
#endif
}

void* heap_block_alloc(size_t words) {
    count_memory(MemoryArea::processes, static_cast<int64_t>(words * sizeof(uint64_t)));
    if (words == kPooledHeapWords) {
        return pool_alloc(PoolClass::heap_block, words * sizeof(uint64_t));
    }
    return allocate(words * sizeof(uint64_t));
}

void heap_block_free(void* block, size_t words) {
    if (block != nullptr) {
        count_memory(MemoryArea::processes, -static_cast<int64_t>(words * sizeof(uint64_t)));
    }
    if (block != nullptr && words == kPooledHeapWords) {
        pool_free(PoolClass::heap_block, block);
    } else {
        std::free(block);
    }
}

}  // namespace minivm
