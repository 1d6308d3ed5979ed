#include "vm/util/lock.hpp"

#include "vm/util/pause_cpu.hpp"

#include <sched.h>

#include <atomic>
#include <ctime>

namespace minivm {
namespace {

struct alignas(64) Counters {
    std::atomic<uint64_t> short_waits{0};
    std::atomic<uint64_t> long_waits{0};
};
Counters g_counters[kLockKinds];

constexpr uint64_t kOtherProcessor_ns = 2000;

thread_local bool t_is_scheduler = false;

constexpr const char* kNames[] = {
    "atoms",    "blocks",          "breakpoints", "catches",    "code_memory",      "exports",
    "funs",     "literals",        "literal_release", "modules", "permission",      "persistent_terms",
    "progress", "purge",           "registry",    "run_queue",  "timers",           "tracers"};
static_assert(sizeof kNames / sizeof *kNames == kLockKinds);

uint64_t now_ns() {
    timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return static_cast<uint64_t>(t.tv_sec) * 1000000000 + static_cast<uint64_t>(t.tv_nsec);
}

}  // namespace

MINIVM_NOINLINE void CountedMutex::lock_taken() {
    if (!t_is_scheduler) {
        mutex_.lock();
        return;
    }
    Counters& counters = g_counters[static_cast<int>(kind_)];
    const uint64_t begin = now_ns();
    const uint64_t until = begin + lock_waits::kPatience_ns;
    do {
        for (int i = 0; i < 16; ++i) {
            pause_cpu();
        }
        // Who has it is on another processor and about to give it back, or has been taken off this one: by us,
        // if we have just been woken.
        if (now_ns() - begin > kOtherProcessor_ns) {
            sched_yield();
        }
        if (mutex_.try_lock()) {
            // relaxed: a number to show.
            counters.short_waits.fetch_add(1, std::memory_order_relaxed);
            return;
        }
    } while (now_ns() < until);
    // relaxed: as above.
    counters.long_waits.fetch_add(1, std::memory_order_relaxed);
    mutex_.lock();
}

namespace lock_waits {

Count count(LockKind kind) {
    const Counters& counters = g_counters[static_cast<int>(kind)];
    // relaxed: numbers to show.
    return {counters.short_waits.load(std::memory_order_relaxed),
            counters.long_waits.load(std::memory_order_relaxed)};
}

const char* name(LockKind kind) { return kNames[static_cast<int>(kind)]; }

void set_is_scheduler() { t_is_scheduler = true; }

}  // namespace lock_waits
}  // namespace minivm
