// How many schedulers run processes: erlang:system_flag/2 with schedulers_online,
// dirty_cpu_schedulers_online and multi_scheduling.
//
// Those beyond the number run what is bound to them and nothing else, and otherwise sleep. One that
// runs a process ends its slice first, so a change holds everywhere after thread progress. Threads:
// any.
#pragma once

#include "vm/process/process.hpp"

#include <vector>

namespace minivm::online {

void start(int schedulers, int dirty_cpu);
int schedulers();
int dirty_cpu();
// schedulers(), or 1 while some process keeps the others from running.
int active();

// The number before, or 0: there are not so many. The dirty CPU schedulers follow in proportion.
int set_schedulers(int n);
// Not more than schedulers().
int set_dirty_cpu(int n);

// By whom multi-scheduling is blocked. Dirty schedulers go on in either case.
// What system_info(multi_scheduling) says: "enabled", "blocked_normal" or "blocked".
const char* state();
// By p, once more. It ends with p at the latest. On p's scheduler.
void block(Process& p, bool normal);
void unblock(Process& p, bool normal);
// Pids, as often as they block.
std::vector<Term> blockers(bool normal);

}  // namespace minivm::online
