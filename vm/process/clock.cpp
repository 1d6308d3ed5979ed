#include "vm/process/clock.hpp"

#include <atomic>
#include <ctime>

#include "vm/process/timer_wheel.hpp"
#include "vm/term/bignum.hpp"

namespace minivm::clock {
namespace {

constexpr int64_t kNanosecond = 1000000000;

struct Clock {
    uint64_t start_ns = minivm::monotonic_ns();
    int64_t offset_ns;  // system time - monotonic time
    Clock() {
        timespec t;
        clock_gettime(CLOCK_REALTIME, &t);
        offset_ns = int64_t{t.tv_sec} * kNanosecond + t.tv_nsec - kBegin;
    }
};

const Clock& the_clock() {
    static const Clock instance;
    return instance;
}

std::atomic<uint64_t> g_unique_block{0};
std::atomic<uint64_t> g_unique_monotonic{0};

// Threads take blocks of numbers, so that they do not contend for one counter.
uint64_t next_unique() {
    constexpr uint64_t kBlock = 1024;
    thread_local uint64_t next = 0;
    thread_local uint64_t end = 0;
    if (next == end) {
        // relaxed: only uniqueness is required.
        next = g_unique_block.fetch_add(kBlock, std::memory_order_relaxed);
        end = next + kBlock;
    }
    return next++;
}

}  // namespace

void start() { the_clock(); }
uint64_t start_of_machine_ns() { return the_clock().start_ns; }

int64_t monotonic_ns() {
    const uint64_t start = the_clock().start_ns;
    return kBegin + static_cast<int64_t>(minivm::monotonic_ns() - start);
}
int64_t system_ns() { return monotonic_ns() + offset_ns(); }
int64_t offset_ns() { return the_clock().offset_ns; }

Term mega_seconds(Heap& h, int64_t us) {
    return make_tuple(h, make_small(us / 1000000000000), make_small(us / 1000000 % 1000000),
                      make_small(us % 1000000));
}

Term now(Heap& h) {
    static std::atomic<int64_t> last{0};
    int64_t now = system_ns() / 1000;
    // relaxed: only a total order of the values is required.
    int64_t before = last.load(std::memory_order_relaxed);
    do {
        if (now <= before) {
            now = before + 1;
        }
        // relaxed: as above.
    } while (!last.compare_exchange_weak(before, now, std::memory_order_relaxed));
    return mega_seconds(h, now);
}

Term timestamp(Heap& h) { return mega_seconds(h, system_ns() / 1000); }

Term cpu_time(Heap& h) {
    timespec t;
    clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &t);
    return mega_seconds(h, int64_t{t.tv_sec} * 1000000 + t.tv_nsec / 1000);
}

Term unique_integer(Heap& h, bool monotonic, bool positive) {
    // seq_cst: a later call on any thread returns a larger number.
    const uint64_t n = monotonic ? g_unique_monotonic.fetch_add(1, std::memory_order_seq_cst)
                                 : next_unique();
    return make_integer(h, positive ? static_cast<int64_t>(n) + 1
                                    : kBegin + 1 + static_cast<int64_t>(n));
}

}  // namespace minivm::clock
