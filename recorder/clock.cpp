#include "recorder/clock.hpp"

#include <ctime>

#if defined(__x86_64__)
#include <cpuid.h>
#endif

namespace minivm::recorder {

namespace {
uint64_t clock_ns(clockid_t id) {
    timespec now{};
    clock_gettime(id, &now);
    return static_cast<uint64_t>(now.tv_sec) * 1'000'000'000u + static_cast<uint64_t>(now.tv_nsec);
}
}  // namespace

uint64_t monotonic_ns() {
    return clock_ns(CLOCK_MONOTONIC);
}

ClockKind best_clock() {
#if defined(__x86_64__)
    // Leaf 0x80000007, bit 8 of edx: the counter runs at one rate in all power states.
    unsigned a = 0;
    unsigned b = 0;
    unsigned c = 0;
    unsigned d = 0;
    if (__get_cpuid(0x80000007, &a, &b, &c, &d) != 0 && (d & (1u << 8)) != 0) {
        return ClockKind::tsc;
    }
    return ClockKind::monotonic_ns;
#elif defined(__aarch64__)
    return ClockKind::cntvct;
#else
    return ClockKind::monotonic_ns;
#endif
}

uint64_t read_clock(ClockKind kind) {
    return kind == ClockKind::monotonic_ns ? monotonic_ns() : read_counter();
}

ClockAnchor read_anchor(ClockKind kind) {
    // The counter is read on both sides of the clock; the closest of a few tries is kept, so that a
    // preemption in between does not spoil the pair.
    ClockAnchor best{};
    uint64_t best_width = UINT64_MAX;
    for (int i = 0; i < 4; i++) {
        const uint64_t before = read_clock(kind);
        const uint64_t mono = monotonic_ns();
        const uint64_t after = read_clock(kind);
        if (after - before < best_width) {
            best_width = after - before;
            best.ticks = before + (after - before) / 2;
            best.monotonic_ns = mono;
        }
    }
    best.wall_ns = clock_ns(CLOCK_REALTIME) - (monotonic_ns() - best.monotonic_ns);
    return best;
}

uint64_t measure_ticks_per_second(ClockKind kind, uint64_t spin_ns) {
    if (kind == ClockKind::monotonic_ns) {
        return 1'000'000'000;
    }
#if defined(__aarch64__)
    uint64_t frequency;
    asm volatile("mrs %0, cntfrq_el0" : "=r"(frequency));
    if (frequency != 0) {
        return frequency;
    }
#endif
    const ClockAnchor first = read_anchor(kind);
    while (monotonic_ns() - first.monotonic_ns < spin_ns) {
    }
    const ClockAnchor last = read_anchor(kind);
    const uint64_t ns = last.monotonic_ns - first.monotonic_ns;
    const auto ticks = static_cast<unsigned __int128>(last.ticks - first.ticks);
    return ns == 0 ? 1'000'000'000 : static_cast<uint64_t>(ticks * 1'000'000'000u / ns);
}

}  // namespace minivm::recorder
