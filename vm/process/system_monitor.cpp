#include "vm/process/system_monitor.hpp"

#include "vm/code/code_index.hpp"
#include "vm/code/export.hpp"
#include "vm/code/module_table.hpp"
#include "vm/process/signal.hpp"
#include "vm/process/tracing.hpp"

#include <chrono>
#include <mutex>
#include <thread>

namespace minivm::system_monitor {

std::atomic<uint32_t> g_gc_sleep_ms{0};

namespace {

std::mutex g_lock;
Settings g_settings;  // guarded by g_lock

// {monitor, Pid, Tag, What} to the monitor, which is not told of itself.
void tell(const Process& p, const Settings& s, Heap& h, Term tag, Term what) {
    if (s.pid != p.id) {
        tracing::tell_tracer(s.pid, make_tuple(h, atoms::monitor, p.id, tag, what));
    }
    h.clear();
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

Settings settings() {
    const std::lock_guard lock(g_lock);
    if (g_settings.events != 0 && !tracing::tracer_exists(g_settings.pid)) {
        g_settings = Settings{};
        watchers::set_bits(0, watchers::kMonitorShift, watchers::kMonitorBits);
    }
    return g_settings;
}

void set(const Settings& s) {
    const std::lock_guard lock(g_lock);
    g_settings = s;
    watchers::set_bits(s.events, watchers::kMonitorShift, watchers::kMonitorBits);
}

void collected(Process& p, uint64_t began_ns) {
    // relaxed: a setting.
    const uint32_t sleep_ms = g_gc_sleep_ms.load(std::memory_order_relaxed);
    if (MINIVM_UNLIKELY(sleep_ms != 0)) {
        std::this_thread::sleep_for(std::chrono::milliseconds(sleep_ms));
    }
    const Settings s = settings();
    if ((s.events & kLongGc) != 0) {
        const uint64_t ms = (now_ns() - began_ns) / 1000000;
        if (ms > s.long_gc_ms) {
            Heap h;
            tell(p, s, h, atoms::long_gc, put_number(h, "timeout", ms, sizes_of(h, p)));
        }
    }
    if ((s.events & kLargeHeap) != 0) {
        const auto words =
            static_cast<uint64_t>((p.stack_base - p.heap_start) + (p.old_end - p.old_start));
        if (words >= s.large_heap_words) {
            Heap h;
            tell(p, s, h, atoms::large_heap, sizes_of(h, p));
        }
    }
}

void scheduled_out(Process& p, uint64_t began_ns, const void* in) {
    const Settings s = settings();
    const uint64_t ms = (now_ns() - began_ns) / 1000000;
    if ((s.events & kLongSchedule) == 0 || ms < s.long_schedule_ms) {
        return;
    }
    Heap h;
    Term list = cons(h, make_tuple(h, atoms::out, place(h, p, p.pc)), kNil);
    list = cons(h, make_tuple(h, atoms::in, place(h, p, in)), list);
    tell(p, s, h, atoms::long_schedule, put_number(h, "timeout", ms, list));
}

void suspended_by(const Process& p, Term port) {
    const Settings s = settings();
    if ((s.events & kBusyPort) != 0) {
        Heap h;
        tell(p, s, h, atoms::busy_port, port);
    }
}

void queue_changed(Process& p) {
    const Settings s = settings();
    const uint32_t length = p.mailbox.length;
    // relaxed: its own.
    const bool told = (p.watchers.load(std::memory_order_relaxed) & watchers::kLongQueueTold) != 0;
    if ((s.events & kLongMessageQueue) == 0 ||
        (told ? length > s.queue_disable : length < s.queue_enable)) {
        return;
    }
    watchers::set(p.watchers, watchers::kLongQueueTold, !told);
    Heap h;
    tell(p, s, h, atoms::long_message_queue, make_bool(!told));
}

}  // namespace minivm::system_monitor
