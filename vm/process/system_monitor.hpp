// erlang:system_monitor/0,1,2 and trace:system/3: a process of each session of tracing is told of what takes long or grows large.
//
// Where nothing is asked for, each place pays one load and a test.
// Threads: any; each event is told on the scheduler where it happens.
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
// Of a session of tracing, 0: of erlang:system_monitor(). events 0: nobody is told.
Settings settings(uint32_t session);
void set(uint32_t session, const Settings& s);
// What an option of system_monitor/2 or trace:system/3 says. False: it is none.
bool change(Term option, Settings* s);
// The options that these settings have, and {Pid, Options} or undefined.
Term options_of(Heap& h, const Settings& s);
Term monitor_of(Heap& h, const Settings& s);

inline bool wants(uint32_t events) { return watchers::any_of_all(events << watchers::kMonitorShift); }

// For tests: each collection is to take so many milliseconds more.
extern std::atomic<uint32_t> g_gc_sleep_ms;

uint64_t now_ns();
// Call the rest only where wants() says so.
void collected(Process& p, uint64_t began_ns);
// in, out: addresses in p's code, or null.
void scheduled_out(Process& p, uint64_t began_ns, const void* in);
void suspended_by(const Process& p, Term port);
// The queue of p has got longer or shorter.
void queue_changed(Process& p);

}  // namespace minivm::system_monitor
