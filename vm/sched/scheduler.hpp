// Schedulers: one thread each, running processes on an engine.
//
// Threads: a Scheduler's fields belong to its thread unless marked.
#pragma once

#include <atomic>
#include <string>
#include <utility>
#include <vector>

#include "vm/process/process_table.hpp"
#include "vm/process/scheduling.hpp"

namespace minivm {

struct Engine;

constexpr int64_t kSliceReductions = 4000;

namespace vm {
struct Options {
    int schedulers = 0;           // 0: one for each core
    int dirty_cpu_schedulers = 0; // 0: as many as schedulers
    int dirty_io_schedulers = 10;
    uint32_t processes = process_table::kMostLimit;  // how many there can be
    bool stress_gc = false;          // collect at every chance
    bool stress_reductions = false;  // one reduction a slice
    uint64_t stress_sched_seed = 0;  // random scheduling; 0: off
    uint32_t left_out_rereads = 0;   // see code_index.hpp; debug builds only
    bool prints_unicode = false;     // io:printable_range/0
    Term warning_map = kNonValue;    // error_logger:warning_map/0; the non-value: warning
    int halt_flush_ms = -1;          // HaltPlan::flush_ms of a halt without that option
    // Items of erlang:system_info/1 for settings that have no meaning here: atoms or numbers, as they were given.
    std::vector<std::pair<std::string, std::string>> told;
};
extern Options g_options;

// Makes the tables and starts the schedulers. Once; again after run_until_halt(). False: there is no slot of
// thread progress for a scheduler.
bool start(const Options& options, Engine* default_engine);
// Blocks until halt() is called, stops all schedulers and frees all processes. Returns the exit status.
// A scheduler that does not return from a system call or a native function is left behind: *clean is false
// then, and the program should end without running destructors.
int run_until_halt(bool* clean = nullptr);
// Stops the VM now: as plan_halt() said (vm/sched/halt.hpp), or else with this status. flush: ports first write
// what they have. Any thread; returns at once.
void halt(int status, bool flush);
bool is_halting();
Engine* default_engine();
int scheduler_count();
int dirty_cpu_count();
int dirty_io_count();

struct Statistics {
    uint64_t context_switches;
    uint64_t reductions;
    uint64_t collections;
    uint64_t words_reclaimed;
};
Statistics statistics();                 // sums over all schedulers
// Processes in the queue of scheduler 1..N.
uint32_t run_queue_length(int scheduler);
}  // namespace vm

}  // namespace minivm
