#include "vm/util/lock.hpp"

#include "vm/util/pause_cpu.hpp"

#include <pthread.h>
#include <sched.h>

#include <atomic>
#include <ctime>

namespace minivm {
namespace {

constexpr uint64_t kOtherProcessor_ns = 2000;
// How long a scheduler looks what the holder does before it sleeps: for longer than a time slice of the kernel.
constexpr uint64_t kWatched_ns = 20000000;
constexpr uint64_t kNotKnown = UINT64_MAX;

struct alignas(64) Counters {
    std::atomic<uint64_t> short_waits{0};
    std::atomic<uint64_t> long_waits{0};
    std::atomic<uint64_t> preempted{0};
    std::atomic<uint64_t> longest_ns{0};

    // A wait that was no short one, in which the holder has worked so long.
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

// kNotKnown: there is no such clock, any more.
uint64_t read_ns(clockid_t clock) {
    timespec t;
    if (clock_gettime(clock, &t) != 0) {
        return kNotKnown;
    }
    return static_cast<uint64_t>(t.tv_sec) * 1000000000 + static_cast<uint64_t>(t.tv_nsec);
}

uint64_t now_ns() { return read_ns(CLOCK_MONOTONIC); }

// What the thread that has a lock works while another one waits.
class Holder {
public:
    bool is_seen() const { return is_seen_; }
    // By the clock in the lock. Who has it twice has worked in between, so it is one holder.
    void look(int32_t clock) {
        const uint64_t now = clock == 0 ? kNotKnown : read_ns(clock);
        if (!is_seen_) {
            is_seen_ = true;
            clock_ = clock;
            first_ = latest_ = now;
        }
        looked_ = clock == clock_ ? now : kNotKnown;
    }
    // At the last look too.
    void has_it_still() { latest_ = looked_; }
    // kNotKnown: it has said no clock, has ended, or there were several.
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
        // Who has it is on another processor and about to give it back, or has been taken off this one: by us,
        // if we have just been woken.
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
    // What it has worked until we were woken counts as well.
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
    // Negative for a thread, and an int where Linux is: the number of the thread and what is counted.
    t_clock = pthread_getcpuclockid(pthread_self(), &clock) == 0 ? clock : 0;
}

void set_is_scheduler() {
    set_has_clock();
    t_is_scheduler = true;
}

}  // namespace lock_waits
}  // namespace minivm
