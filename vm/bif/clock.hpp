// Erlang's clock and unique integers, for those that are no BIFs.
// Threads: any.
#pragma once

#include "vm/heap/heap.hpp"

namespace minivm {
struct Process;
// erlang:system_flag(microstate_accounting, to): what it was.
Term set_microstate_accounting(Process& p, Term to);
}  // namespace minivm

namespace minivm::clock {

int64_t monotonic_ns();  // erlang:monotonic_time/0
int64_t start_ns();      // erlang:system_info(start_time)
int64_t offset_ns();     // erlang:time_offset/0
Term now(Heap& h);       // erlang:now/0
Term timestamp(Heap& h); // erlang:timestamp/0
Term cpu_time(Heap& h);  // of the operating system's process, as {MegaSeconds, Seconds, MicroSeconds}
Term unique_integer(Heap& h, bool monotonic, bool positive);

}  // namespace minivm::clock
