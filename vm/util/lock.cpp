#include "vm/util/lock.hpp"

#include "vm/util/pause_cpu.hpp"

#include <pthread.h>
#include <sched.h>

#include <atomic>
#include <ctime>

namespace minivm {
namespace {

constexpr uint64_t kOtherProcessor_ns = 2000;
// How long a scheduler watches the holder before it sleeps: longer than a time slice of the kernel.
constexpr uint64_t kWatched_ns = 20000000;
constexpr uint64_t kNotKnown = UINT64_MAX;

struct alignas(64) Counters {
    std::atomic<uint64_t> short_waits{0};
    std::atomic<uint64_t> long_waits{0};
    std::atomic<uint64_t> preempted{0};
    std::atomic<uint64_t> longest_ns{0};

    // Counts a wait that was not short; the holder used worked_ns of processor time in it.
    void add(uint64_t worked_ns) {
        if (worked_ns < lock_waits::kPatience_ns) {
            // relaxed, here and below: numbers to show.
            preempted.fetch_add(1, std::memory_order_relaxed);
            return;
        }
        // relaxed: as above.
        long_waits.fetch_add(1, std::memory_order_relaxed);
        uint64_t longest = longest_ns.load(std::memory_order_relaxed);
        // relaxed: as above.
        while (worked_ns != kNotKnown && worked_ns > longest &&
               !longest_ns.compare_exchange_weak(longest, worked_ns, std::memory_order_relaxed)) {
        }
    }
};
Counters g_counters[kLockKinds];

thread_local bool t_is_scheduler = false;

constexpr const char* kNames[] = {
    "atoms",    "blocks",          "breakpoints", "catches",    "code_memory",      "exports",
    "funs",     "literals",        "literal_release", "modules", "permission",      "persistent_terms",
    "progress", "purge",           "registry",    "run_queue",  "timers",           "tracers"};
static_assert(sizeof kNames / sizeof *kNames == kLockKinds);

// kNotKnown: the clock does not exist, such as that of a thread that has ended.
uint64_t read_ns(clockid_t clock) {
    timespec t;
    if (clock_gettime(clock, &t) != 0) {
        return kNotKnown;
    }
    return static_cast<uint64_t>(t.tv_sec) * 1000000000 + static_cast<uint64_t>(t.tv_nsec);
}

uint64_t now_ns() { return read_ns(CLOCK_MONOTONIC); }

// The processor time that the holder of a lock uses while another thread waits.
class Holder {
public:
    bool is_seen() const { return is_seen_; }
    // Reads the holder's clock. A thread that holds the lock twice worked in between, so it counts as one holder.
    void look(int32_t clock) {
        const uint64_t now = clock == 0 ? kNotKnown : read_ns(clock);
        if (!is_seen_) {
            is_seen_ = true;
            clock_ = clock;
            first_ = latest_ = now;
        }
        looked_ = clock == clock_ ? now : kNotKnown;
    }
    // At the last look the lock was still taken.
    void has_it_still() { latest_ = looked_; }
    // kNotKnown: the holder noted no clock or has ended, or there were several holders.
    uint64_t worked_ns() const { return first_ == kNotKnown || latest_ == kNotKnown ? kNotKnown : latest_ - first_; }

private:
    bool is_seen_ = false;
    int32_t clock_ = 0;
    uint64_t first_ = 0;
    uint64_t latest_ = 0;
    uint64_t looked_ = 0;
};

}  // namespace

constinit thread_local int32_t lock_waits::t_clock = 0;

MINIVM_NOINLINE void CountedMutex::lock_taken() {
    if (!t_is_scheduler) {
        mutex_.lock();
        return;
    }
    Counters& counters = g_counters[static_cast<int>(kind_)];
    const uint64_t begin = now_ns();
    uint64_t waited = 0;
    Holder holder;
    do {
        for (int i = 0; i < 16; ++i) {
            pause_cpu();
        }
        waited = now_ns() - begin;
        // The holder is on another processor and about to unlock, or has been preempted on this one: by us, if we
        // have just been woken.
        if (waited > kOtherProcessor_ns) {
            if (!holder.is_seen() || waited > lock_waits::kPatience_ns) {
                // relaxed: see note_holder().
                holder.look(holder_.load(std::memory_order_relaxed));
            }
            sched_yield();
        }
        if (mutex_.try_lock()) {
            if (waited <= lock_waits::kPatience_ns) {
                // relaxed: a number to show.
                counters.short_waits.fetch_add(1, std::memory_order_relaxed);
            } else {
                counters.add(holder.worked_ns());
            }
            return;
        }
        holder.has_it_still();
    } while (waited < kWatched_ns);
    mutex_.lock();
    // The holder's work until we were woken counts as well. relaxed: see note_holder().
    holder.look(holder_.load(std::memory_order_relaxed));
    holder.has_it_still();
    counters.add(holder.worked_ns());
}

namespace lock_waits {

Count count(LockKind kind) {
    const Counters& counters = g_counters[static_cast<int>(kind)];
    // relaxed, all: numbers to show.
    return {counters.short_waits.load(std::memory_order_relaxed),
            counters.long_waits.load(std::memory_order_relaxed),
            counters.preempted.load(std::memory_order_relaxed),
            // relaxed: as above.
            counters.longest_ns.load(std::memory_order_relaxed)};
}

const char* name(LockKind kind) { return kNames[static_cast<int>(kind)]; }

void set_has_clock() {
    clockid_t clock = 0;
    // On Linux a thread's clock is a negative int, made of the thread's number and of what is counted.
    t_clock = pthread_getcpuclockid(pthread_self(), &clock) == 0 ? clock : 0;
}

void set_is_scheduler() {
    set_has_clock();
    t_is_scheduler = true;
}

}  // namespace lock_waits
}  // namespace minivm
