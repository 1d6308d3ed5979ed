// How long the scheduler threads have been busy: statistics(scheduler_wall_time).
//
// What is measured is the processor time of the threads, so waiting for the processor is not busy time,
// looking for work is.
// Threads: any scheduler.
#pragma once

#include <pthread.h>

#include <cstdint>
#include <vector>

// What busy_times_ns() is made of.
namespace minivm::busy {
int64_t of_thread(pthread_t thread);
void add_dirty(bool io, std::vector<int64_t>& all);
}  // namespace minivm::busy

namespace minivm::vm {

// Processor time since its start of each scheduler, in ns; with `dirty_cpu` and `dirty_io` of the dirty
// ones too, in this order. A dirty scheduler that has had no work has no thread: 0.
std::vector<int64_t> busy_times_ns(bool dirty_cpu, bool dirty_io);

}  // namespace minivm::vm
