// Erlang's clock and unique integers.
// Threads: any.
#pragma once

#include "vm/term/heap.hpp"

namespace minivm::clock {

// Erlang monotonic time is in nanoseconds and begins here, as OTP's does, so that negative times show up in
// tests and not in production; it fits a small integer for 36 years of running.
constexpr int64_t kBegin = -(int64_t{1} << 59);

// Starts the clock, at start-up. The first call of another function starts it too.
void start();
// The operating system's clock (minivm::monotonic_ns()) when this clock started.
uint64_t start_of_machine_ns();

int64_t monotonic_ns();  // erlang:monotonic_time/0
int64_t system_ns();     // erlang:system_time/0
int64_t offset_ns();     // erlang:time_offset/0: never changes
Term mega_seconds(Heap& h, int64_t us);  // {MegaSeconds, Seconds, MicroSeconds}
Term now(Heap& h);       // erlang:now/0: never the same twice
Term timestamp(Heap& h); // erlang:timestamp/0
Term cpu_time(Heap& h);  // processor time of the VM, as {MegaSeconds, Seconds, MicroSeconds}
Term unique_integer(Heap& h, bool monotonic, bool positive);

}  // namespace minivm::clock
