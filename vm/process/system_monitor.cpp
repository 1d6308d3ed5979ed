#include "vm/process/system_monitor.hpp"

#include "vm/code/code_index.hpp"
#include "vm/code/export.hpp"
#include "vm/code/module_table.hpp"
#include "vm/process/signal.hpp"
#include "vm/process/tracing.hpp"
#include "vm/progress/thread_progress.hpp"
#include "vm/term/arguments.hpp"
#include "vm/term/local_atoms.hpp"
#include "vm/util/otp_release.hpp"

#include <algorithm>
#include <chrono>
#include <mutex>
#include <thread>
#include <vector>

namespace minivm::system_monitor {

std::atomic<uint32_t> g_gc_sleep_ms{0};

namespace {

LOCAL_ATOM(atom_busy_dist_port, "busy_dist_port")

constexpr uint64_t kLeastLargeHeap = 16384;  // words, as in OTP

std::mutex g_lock;
struct Monitor {
    uint32_t session;
    Settings settings;
};
std::vector<Monitor> g_monitors;  // guarded by g_lock

void show_events() {
    uint32_t events = 0;
    for (const Monitor& m : g_monitors) {
        events |= m.settings.events;
    }
    watchers::set_bits(events, watchers::kMonitorShift, watchers::kMonitorBits);
}
// The settings of all monitors that are alive; removes the others.
std::vector<Settings> all_settings() {
    // Ends after the lock: tracer_exists() opens one too, whose end could run deferred work under the lock.
    const thread_progress::DelaySection section;
    const std::lock_guard lock(g_lock);
    if (std::erase_if(g_monitors, [](const Monitor& m) { return !tracing::tracer_exists(m.settings.pid); }) != 0) {
        show_events();
    }
    std::vector<Settings> all;
    for (const Monitor& m : g_monitors) {
        all.push_back(m.settings);
    }
    return all;
}

bool change_flag(Term value, uint32_t event, Settings* s) {
    s->events = value == atoms::true_ ? s->events | event : s->events & ~event;
    return is_bool(value);
}
// A limit, raised to `least` if it is less; `false`: none.
bool change_limit(Term value, uint32_t event, uint64_t least, uint64_t* limit, Settings* s) {
    if (value == atoms::false_ && by_release::at_least(28)) {
        s->events &= ~event;
        return true;
    }
    s->events |= event;
    if (!get_uint64(value, limit)) {
        return false;
    }
    *limit = std::max(*limit, least);
    return true;
}

// Sends {monitor, Pid, Tag, What} to the monitor, but not about the monitor itself.
void tell(const Process& p, const Settings& s, Heap& h, Term tag, Term what) {
    if (s.pid != p.id) {
        tracing::tell_tracer(s.pid, make_tuple(h, atoms::monitor, p.id, tag, what));
    }
}

Term put_number(Heap& h, const char* name, uint64_t value, Term rest) {
    return cons(h, make_tuple(h, atom_table::intern(name), make_unsigned(h, value)), rest);
}

Term sizes_of(Heap& h, const Process& p) {
    const auto words = [](const Term* from, const Term* to) {
        return from == nullptr ? uint64_t{0} : static_cast<uint64_t>(to - from);
    };
    Term list = put_number(h, "heap_size", words(p.heap_start, p.heap.top), kNil);
    list = put_number(h, "old_heap_size", words(p.old_start, p.old_top), list);
    list = put_number(h, "stack_size", words(p.heap.end, p.stack_base), list);
    list = put_number(h, "mbuf_size", p.heap.fragment_words + p.heap.received_words, list);
    list = put_number(h, "heap_block_size", words(p.heap_start, p.stack_base), list);
    return put_number(h, "old_heap_block_size", words(p.old_start, p.old_end), list);
}

Term place(Heap& h, const Process& p, const void* address) {
    const Export* e = p.initial_call;
    FunctionInfo where{};
    if (address != nullptr && module_table::lookup(address, code_index::active(), false, &where)) {
        return make_tuple(h, where.module, where.function, make_small(where.arity));
    }
    return e != nullptr ? make_tuple(h, e->module, e->function, make_small(e->arity))
                        : atoms::undefined;
}

}  // namespace

uint64_t now_ns() {
    return static_cast<uint64_t>(std::chrono::duration_cast<std::chrono::nanoseconds>(
                                     std::chrono::steady_clock::now().time_since_epoch())
                                     .count());
}

Settings settings(uint32_t session) {
    const thread_progress::DelaySection section;  // as in all_settings()
    const std::lock_guard lock(g_lock);
    for (const Monitor& m : g_monitors) {
        // A session's tracer is looked up only when it is to get an event.
        if (m.session == session && (session != 0 || tracing::tracer_exists(m.settings.pid))) {
            return m.settings;
        }
    }
    return {};
}

void set(uint32_t session, const Settings& s) {
    const std::lock_guard lock(g_lock);
    std::erase_if(g_monitors, [session](const Monitor& m) { return m.session == session; });
    if (s.events != 0) {
        g_monitors.push_back({session, s});
    }
    show_events();
}

bool change(Term option, Settings* s) {
    const bool is_pair = is_tuple_of(option, 2);
    const Term name = is_pair ? tuple_element(option, 0) : option;
    const Term value = is_pair ? tuple_element(option, 1) : atoms::true_;
    const bool may_be_pair = by_release::at_least(28);
    if (name == atoms::busy_port) {
        return (may_be_pair || !is_pair) && change_flag(value, kBusyPort, s);
    }
    if (name == atom_busy_dist_port()) {
        return (may_be_pair || !is_pair) && change_flag(value, kBusyDistPort, s);
    }
    if (name == atoms::long_message_queue && by_release::at_least(27)) {
        if (value == atoms::false_ && may_be_pair) {
            s->events &= ~uint32_t{kLongMessageQueue};
            return true;
        }
        s->events |= kLongMessageQueue;
        return is_tuple_of(value, 2) && get_uint64(tuple_element(value, 0), &s->queue_disable) &&
               get_uint64(tuple_element(value, 1), &s->queue_enable) && s->queue_enable > 0 &&
               s->queue_disable < s->queue_enable;
    }
    return name == atoms::long_gc         ? change_limit(value, kLongGc, 1, &s->long_gc_ms, s)
           : name == atoms::long_schedule ? change_limit(value, kLongSchedule, 1, &s->long_schedule_ms, s)
           : name == atoms::large_heap    ? change_limit(value, kLargeHeap, kLeastLargeHeap, &s->large_heap_words, s)
                                          : false;
}

Term options_of(Heap& h, const Settings& s) {
    Term list = kNil;
    const auto add = [&](uint32_t event, Term name, uint64_t value) {
        if ((s.events & event) != 0) {
            list = cons(h, make_tuple(h, name, make_unsigned(h, value)), list);
        }
    };
    if ((s.events & kLongMessageQueue) != 0) {
        const Term limits = make_tuple(h, make_unsigned(h, s.queue_disable), make_unsigned(h, s.queue_enable));
        list = cons(h, make_tuple(h, atoms::long_message_queue, limits), list);
    }
    add(kLongGc, atoms::long_gc, s.long_gc_ms);
    add(kLongSchedule, atoms::long_schedule, s.long_schedule_ms);
    add(kLargeHeap, atoms::large_heap, s.large_heap_words);
    if ((s.events & kBusyPort) != 0) {
        list = cons(h, atoms::busy_port, list);
    }
    if ((s.events & kBusyDistPort) != 0) {
        list = cons(h, atom_busy_dist_port(), list);
    }
    return list;
}

Term monitor_of(Heap& h, const Settings& s) {
    return s.events == 0 ? atoms::undefined : make_tuple(h, s.pid, options_of(h, s));
}

void collected(Process& p, uint64_t began_ns) {
    // relaxed: a setting.
    const uint32_t sleep_ms = g_gc_sleep_ms.load(std::memory_order_relaxed);
    if (MINIVM_UNLIKELY(sleep_ms != 0)) {
        std::this_thread::sleep_for(std::chrono::milliseconds(sleep_ms));
    }
    const uint64_t ms = (now_ns() - began_ns) / 1000000;
    const auto words = static_cast<uint64_t>((p.stack_base - p.heap_start) + (p.old_end - p.old_start));
    for (const Settings& s : all_settings()) {
        Heap h;
        if ((s.events & kLongGc) != 0 && ms > s.long_gc_ms) {
            tell(p, s, h, atoms::long_gc, put_number(h, "timeout", ms, sizes_of(h, p)));
        }
        if ((s.events & kLargeHeap) != 0 && words >= s.large_heap_words) {
            tell(p, s, h, atoms::large_heap, sizes_of(h, p));
        }
    }
}

void scheduled_out(Process& p, uint64_t began_ns, const void* in) {
    const uint64_t ms = (now_ns() - began_ns) / 1000000;
    for (const Settings& s : all_settings()) {
        if ((s.events & kLongSchedule) != 0 && ms >= s.long_schedule_ms) {
            Heap h;
            Term list = cons(h, make_tuple(h, atoms::out, place(h, p, p.pc)), kNil);
            list = cons(h, make_tuple(h, atoms::in, place(h, p, in)), list);
            tell(p, s, h, atoms::long_schedule, put_number(h, "timeout", ms, list));
        }
    }
}

void suspended_by(const Process& p, Term port) {
    for (const Settings& s : all_settings()) {
        if ((s.events & kBusyPort) != 0) {
            Heap h;
            tell(p, s, h, atoms::busy_port, port);
        }
    }
}

// A process has one mark for all sessions. If limits differ, a session whose limit is not crossed gets no message.
void queue_changed(Process& p) {
    const uint32_t length = p.mailbox.length;
    // relaxed: its own.
    const bool told = (p.watchers.load(std::memory_order_relaxed) & watchers::kLongQueueTold) != 0;
    bool changes = false;
    for (const Settings& s : all_settings()) {
        if ((s.events & kLongMessageQueue) != 0 && (told ? length <= s.queue_disable : length >= s.queue_enable)) {
            changes = true;
            Heap h;
            tell(p, s, h, atoms::long_message_queue, make_bool(!told));
        }
    }
    if (changes) {
        watchers::set(p.watchers, watchers::kLongQueueTold, !told);
    }
}

}  // namespace minivm::system_monitor
