// erlang:system_monitor/0,1,2 and trace:system/3: one process of each trace session gets messages about processes
// that take long or grow large.
//
// If no event is asked for, each place pays one load and a test.
// Threads: any; each event is reported on the scheduler where it happens.
#pragma once

#include "vm/process/watchers.hpp"

namespace minivm::system_monitor {

enum Event : uint32_t {
    kLongGc = 1,
    kLongSchedule = 2,
    kLargeHeap = 4,
    kBusyPort = 8,
    kBusyDistPort = 16,
    kLongMessageQueue = 32
};

struct Settings {
    uint32_t events = 0;
    Term pid = kNonValue;
    uint64_t long_gc_ms = 0;
    uint64_t long_schedule_ms = 0;
    uint64_t large_heap_words = 0;
    uint64_t queue_enable = 0;  // messages
    uint64_t queue_disable = 0;
};
// Of a trace session; 0: of erlang:system_monitor(). events 0: no monitor.
Settings settings(uint32_t session);
void set(uint32_t session, const Settings& s);
// Applies an option of system_monitor/2 or trace:system/3 to *s. False: it is not a valid option.
bool change(Term option, Settings* s);
// The list of options of these settings, and {Pid, Options} or undefined.
Term options_of(Heap& h, const Settings& s);
Term monitor_of(Heap& h, const Settings& s);

inline bool wants(uint32_t events) { return watchers::any_of_all(events << watchers::kMonitorShift); }

// For tests: each collection takes so many milliseconds longer.
extern std::atomic<uint32_t> g_gc_sleep_ms;

uint64_t now_ns();
// Call the rest only if wants() is true.
void collected(Process& p, uint64_t began_ns);
// in: where p was scheduled in, an address in its code, or null.
void scheduled_out(Process& p, uint64_t began_ns, const void* in);
void suspended_by(const Process& p, Term port);
// The queue of p has become longer or shorter.
void queue_changed(Process& p);

}  // namespace minivm::system_monitor
