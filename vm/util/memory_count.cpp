#include "vm/util/memory_count.hpp"

#include <malloc.h>

#include <atomic>

#include "vm/util/assert.hpp"

namespace minivm {

namespace {

// The sums of one thread. Never freed: those of a thread that has ended stay in force, and another thread goes on
// with them.
struct alignas(64) Counts {
    std::atomic<int64_t> bytes[kMemoryAreas] = {};
    std::atomic<bool> taken{true};
    Counts* next = nullptr;
};
constinit std::atomic<Counts*> g_all{nullptr};

Counts* take_counts() {
    // acquire: pairs with the release below; next does not change after it.
    for (Counts* c = g_all.load(std::memory_order_acquire); c != nullptr; c = c->next) {
        // relaxed: a look before the exchange.
        if (!c->taken.load(std::memory_order_relaxed) &&
            // acquire: pairs with ~Own(): the sums of the thread before are seen.
            !c->taken.exchange(true, std::memory_order_acquire)) {
            return c;
        }
    }
    auto* const fresh = new Counts;
    // relaxed: the exchange tells if it has changed.
    fresh->next = g_all.load(std::memory_order_relaxed);
    // release: a thread that finds it sees its contents. relaxed: after a failure the loop tries again.
    while (!g_all.compare_exchange_weak(fresh->next, fresh, std::memory_order_release,
                                        std::memory_order_relaxed)) {
    }
    return fresh;
}

struct Own {
    ~Own() {
        if (counts != nullptr) {
            // release: pairs with take_counts().
            counts->taken.store(false, std::memory_order_release);
            counts = nullptr;
        }
    }
    Counts* counts = nullptr;
};
thread_local Own t_own;

}  // namespace

void count_memory(MemoryArea area, int64_t bytes) {
    if (MINIVM_UNLIKELY(t_own.counts == nullptr)) {
        t_own.counts = take_counts();
    }
    std::atomic<int64_t>& sum = t_own.counts->bytes[static_cast<int>(area)];
    // relaxed: only this thread writes it, and memory_in_use() needs no order.
    sum.store(sum.load(std::memory_order_relaxed) + bytes, std::memory_order_relaxed);
}

void count_taken(MemoryArea area, void* block) {
    count_memory(area, static_cast<int64_t>(malloc_usable_size(block)));
}

void count_given_back(MemoryArea area, void* block) {
    count_memory(area, -static_cast<int64_t>(malloc_usable_size(block)));
}

uint64_t memory_in_use(MemoryArea area) {
    int64_t sum = 0;
    // acquire: as in take_counts().
    for (const Counts* c = g_all.load(std::memory_order_acquire); c != nullptr; c = c->next) {
        // relaxed: see count_memory().
        sum += c->bytes[static_cast<int>(area)].load(std::memory_order_relaxed);
    }
    return sum > 0 ? static_cast<uint64_t>(sum) : 0;
}

}  // namespace minivm
