#include "vm/code/catches.hpp"

#include "vm/util/lock.hpp"

#include <atomic>
#include <map>
#include <mutex>

namespace minivm::catch_table {
namespace {

constexpr size_t kCatchChunk = 1024;
constexpr size_t kMaxCatchChunks = 1 << 15;
std::atomic<Handler*> g_catches[kMaxCatchChunks];
uint32_t g_catch_count = 0;  // under the code modification permission

// Free entries, from purged modules: first -> count. Adjacent pieces are joined.
std::map<uint32_t, uint32_t> g_free_catches;  // under g_catch_lock
CountedMutex g_catch_lock{LockKind::catches};

}  // namespace

Handler& entry(uint32_t index) {
    // acquire: pairs with the release in allocate(); the chunk is zeroed by then.
    return g_catches[index / kCatchChunk].load(std::memory_order_acquire)[index % kCatchChunk];
}
Handler get(uint32_t index) { return entry(index); }

uint32_t allocate(uint32_t n) {
    if (n == 0) {
        return 0;
    }
    const std::lock_guard lock(g_catch_lock);
    for (auto piece = g_free_catches.begin(); piece != g_free_catches.end(); ++piece) {
        if (piece->second >= n) {
            const auto [first, count] = *piece;
            g_free_catches.erase(piece);
            if (count > n) {
                g_free_catches.emplace(first + n, count - n);
            }
            return first;
        }
    }
    const uint32_t first = g_catch_count;
    g_catch_count += n;
    MINIVM_CHECK(g_catch_count < kCatchChunk * kMaxCatchChunks);
    for (size_t c = first / kCatchChunk; c <= (first + n) / kCatchChunk; ++c) {
        // relaxed: only the holder of the permission allocates chunks.
        if (g_catches[c].load(std::memory_order_relaxed) == nullptr) {
            // release: pairs with entry().
            g_catches[c].store(new Handler[kCatchChunk]{}, std::memory_order_release);
        }
    }
    return first;
}

void give_back(uint32_t first, uint32_t n) {
    if (n == 0) {
        return;
    }
    const std::lock_guard lock(g_catch_lock);
    auto next = g_free_catches.lower_bound(first);
    if (next != g_free_catches.end() && first + n == next->first) {
        n += next->second;
        next = g_free_catches.erase(next);
    }
    if (next != g_free_catches.begin()) {
        const auto previous = std::prev(next);
        if (previous->first + previous->second == first) {
            previous->second += n;
            return;
        }
    }
    g_free_catches.emplace(first, n);
}

}  // namespace minivm::catch_table
