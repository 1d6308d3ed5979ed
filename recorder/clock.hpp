// Time stamps: the processor's counter where it runs evenly, the monotonic clock elsewhere.
//
// The counter is read without a fence: up to a few dozen cycles early or late, which is less than
// records on different processors can be compared by anyway (docs/protocols/recorder.md, "Time and
// order").
#pragma once

#include <cstdint>

#if defined(__x86_64__)
#include <x86intrin.h>
#endif

namespace minivm::recorder {

enum class ClockKind : uint32_t { monotonic_ns = 0, tsc = 1, cntvct = 2 };

// One moment on the three clocks.
struct ClockAnchor {
    uint64_t ticks;
    uint64_t monotonic_ns;
    uint64_t wall_ns;  // since 1970
};

uint64_t monotonic_ns();
ClockKind best_clock();

[[gnu::always_inline]] inline uint64_t read_counter() {
#if defined(__x86_64__)
    return __rdtsc();
#elif defined(__aarch64__)
    uint64_t ticks;
    asm volatile("mrs %0, cntvct_el0" : "=r"(ticks));
    return ticks;
#else
    return monotonic_ns();
#endif
}

uint64_t read_clock(ClockKind kind);
ClockAnchor read_anchor(ClockKind kind);
// Frequency of the clock from a first look that takes about `spin_ns`; later anchors make it exact.
uint64_t measure_ticks_per_second(ClockKind kind, uint64_t spin_ns);

}  // namespace minivm::recorder
