// How many schedulers run processes: erlang:system_flag/2 with schedulers_online,
// dirty_cpu_schedulers_online and multi_scheduling.
//
// Schedulers beyond the number run only processes that are bound to them, and otherwise sleep. One that
// runs a process ends the slice first, so a change has taken effect after thread progress. Threads: any.
#pragma once

#include "vm/process/process.hpp"

#include <vector>

namespace minivm::online {

void start(int schedulers, int dirty_cpu);
int schedulers();
int dirty_cpu();
// schedulers(), or 1 while a process blocks multi-scheduling.
int active();

// Returns the number before, or 0: there are not so many. The dirty CPU schedulers follow in proportion.
int set_schedulers(int n);
// The same for dirty CPU schedulers; at most schedulers().
int set_dirty_cpu(int n);

// Blocking of multi-scheduling. Dirty schedulers go on in either case.
// The value of system_info(multi_scheduling): "enabled", "blocked_normal" or "blocked".
const char* state();
// p blocks it once more; its blocks end with p at the latest. On p's scheduler.
void block(Process& p, bool normal);
void unblock(Process& p, bool normal);
// The pids of the blocking processes, each as often as it blocks.
std::vector<Term> blockers(bool normal);

}  // namespace minivm::online
