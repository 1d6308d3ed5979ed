// erlang:system_monitor/0,1,2.
#include "vm/process/system_monitor.hpp"

#include "vm/bif/bif.hpp"
#include "vm/process/process_table.hpp"
#include "vm/term/local_atoms.hpp"
#include "vm/util/otp_release.hpp"

#include <algorithm>

namespace minivm {
namespace {

LOCAL_ATOM(atom_busy_dist_port, "busy_dist_port")

constexpr uint64_t kLeastLargeHeap = 16384;  // words, as in OTP

bool parse_option(Term t, system_monitor::Settings* s) {
    if (t == atoms::busy_port) {
        s->events |= system_monitor::kBusyPort;
        return true;
    }
    if (t == atom_busy_dist_port()) {
        s->events |= system_monitor::kBusyDistPort;
        return true;
    }
    if (!is_tuple_of(t, 2)) {
        return false;
    }
    const Term name = tuple_element(t, 0);
    const Term value = tuple_element(t, 1);
    if (name == atoms::long_message_queue && by_release::at_least(27)) {
        s->events |= system_monitor::kLongMessageQueue;
        return is_tuple_of(value, 2) && get_uint64(tuple_element(value, 0), &s->queue_disable) &&
               get_uint64(tuple_element(value, 1), &s->queue_enable) && s->queue_enable > 0 &&
               s->queue_disable < s->queue_enable;
    }
    uint64_t n;
    if (!get_uint64(value, &n)) {
        return false;
    }
    if (name == atoms::long_gc) {
        s->events |= system_monitor::kLongGc;
        s->long_gc_ms = std::max<uint64_t>(n, 1);
    } else if (name == atoms::long_schedule) {
        s->events |= system_monitor::kLongSchedule;
        s->long_schedule_ms = std::max<uint64_t>(n, 1);
    } else if (name == atoms::large_heap) {
        s->events |= system_monitor::kLargeHeap;
        s->large_heap_words = std::max(n, kLeastLargeHeap);
    } else {
        return false;
    }
    return true;
}

// {Pid, Options}, or undefined.
Term monitor_term(Heap& h) {
    const system_monitor::Settings s = system_monitor::settings();
    if (s.events == 0) {
        return atoms::undefined;
    }
    Term list = kNil;
    const auto add = [&](uint32_t event, Term name, uint64_t value) {
        if ((s.events & event) != 0) {
            list = cons(h, make_tuple(h, name, make_unsigned(h, value)), list);
        }
    };
    add(system_monitor::kLongGc, atoms::long_gc, s.long_gc_ms);
    add(system_monitor::kLongSchedule, atoms::long_schedule, s.long_schedule_ms);
    add(system_monitor::kLargeHeap, atoms::large_heap, s.large_heap_words);
    if ((s.events & system_monitor::kLongMessageQueue) != 0) {
        const Term limits =
            make_tuple(h, make_unsigned(h, s.queue_disable), make_unsigned(h, s.queue_enable));
        list = cons(h, make_tuple(h, atoms::long_message_queue, limits), list);
    }
    if ((s.events & system_monitor::kBusyPort) != 0) {
        list = cons(h, atoms::busy_port, list);
    }
    if ((s.events & system_monitor::kBusyDistPort) != 0) {
        list = cons(h, atom_busy_dist_port(), list);
    }
    return make_tuple(h, s.pid, list);
}

Term set_monitor(Process& p, Term pid, Term list) {
    system_monitor::Settings s;
    if (pid != atoms::undefined && !is_nil(list)) {
        s.pid = pid;
        if (!is_local_pid(pid) || process_table::lookup(pid) == nullptr) {
            return badarg(p);
        }
        for (; is_cons(list); list = tail(list)) {
            if (!parse_option(head(list), &s)) {
                return badarg(p);
            }
        }
        if (!is_nil(list)) {
            return badarg(p);
        }
    }
    const Term old = monitor_term(p.heap);
    system_monitor::set(s);
    return old;
}

Term erlang_system_monitor_0(Process& p, const Term*) {
    return monitor_term(p.heap);
}
Term erlang_system_monitor_1(Process& p, const Term* a) {
    if (a[0] == atoms::undefined) {
        return set_monitor(p, a[0], kNil);
    }
    return is_tuple_of(a[0], 2) ? set_monitor(p, tuple_element(a[0], 0), tuple_element(a[0], 1))
                                : badarg(p);
}
Term erlang_system_monitor_2(Process& p, const Term* a) {
    return set_monitor(p, a[0], a[1]);
}

}  // namespace

MINIVM_BIF_TABLE(system_monitor) = {
    {"erlang", "system_monitor", 0, erlang_system_monitor_0, kBifPlain, nullptr},
    {"erlang", "system_monitor", 1, erlang_system_monitor_1, kBifPlain, nullptr},
    {"erlang", "system_monitor", 2, erlang_system_monitor_2, kBifPlain, nullptr},
};

}  // namespace minivm
