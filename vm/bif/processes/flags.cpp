// erlang:process_flag/2,3.
#include "vm/bif/bif.hpp"
#include "vm/bif/code/code_operation.hpp"
#include "vm/bif/processes/options.hpp"
#include "vm/bif/processes/requests.hpp"
#include "vm/process/node_life.hpp"
#include "vm/process/process_life.hpp"
#include "vm/process/process_table.hpp"
#include "vm/process/scheduling.hpp"
#include "vm/process/signal.hpp"
#include "vm/process/state.hpp"
#include "vm/process/tracing.hpp"
#include "vm/sched/scheduler.hpp"
#include "vm/term/map.hpp"
#include "vm/util/otp_release.hpp"

#include <algorithm>

namespace minivm {

namespace {

// The N of its process_flag(save_calls, N).
uint32_t saved_calls(const Process& p) {
    return p.extra != nullptr && p.extra->saved_calls != nullptr ? p.extra->saved_calls->most : 0;
}

// ---- process_flag/2: a function for each flag sets it and returns its former value, or fails -----------

Term set_trap_exit(Process& p, Term, Term value) {
    if (!is_bool(value)) {
        return badarg(p);
    }
    // Exit signals that have arrived take effect by the old flag.
    Term result;
    if (handle_now(p, &result)) {
        return result;
    }
    const Term old = make_bool(p.trap_exit);
    p.trap_exit = value == atoms::true_;
    return old;
}

Term set_priority(Process& p, Term, Term value) {
    const Term old = priority_atom(p.priority);
    Priority now;
    if (!parse_priority(value, &now)) {
        return badarg(p);
    }
    // relaxed: see raise_receiver().
    std::atomic_ref<Priority>(p.priority).store(now, std::memory_order_relaxed);
    return old;
}

Term set_own_min_heap_size(Process& p, Term, Term value) {
    const Term old = make_small(p.min_heap_words);
    uint32_t n;
    if (!small_in(value, 0, 0x7FFFFFFF, &n)) {
        return badarg(p);
    }
    p.min_heap_words = least_heap_words(n);
    return old;
}

Term set_own_fullsweep_after(Process& p, Term, Term value) {
    const Term old = make_small(p.fullsweep_after);
    uint32_t n;
    if (!small_in(value, 0, 0x7FFFFFFF, &n)) {
        return badarg(p);
    }
    p.fullsweep_after = n & 0xFFFF;  // OTP keeps 16 bits
    return old;
}

Term set_message_queue_data(Process& p, Term, Term value) {
    if (value != atoms::on_heap && value != atoms::off_heap) {
        return badarg(p);
    }
    const Term old = p.message_queue_off_heap ? atoms::off_heap : atoms::on_heap;
    p.message_queue_off_heap = value == atoms::off_heap;
    return old;
}

Term set_error_handler(Process& p, Term, Term value) {
    if (!is_atom(value)) {
        return badarg(p);
    }
    ProcessExtra& extra = extra_of(p);
    const Term old = is_value(extra.error_handler) ? extra.error_handler : atoms::error_handler;
    extra.error_handler = value;
    return old;
}

Term set_own_min_bin_vheap_size(Process& p, Term, Term value) {
    ProcessExtra& extra = extra_of(p);
    const Term old = make_small(static_cast<int64_t>(extra.min_bin_vheap_words));
    if (!is_small(value) || small_value(value) < 0) {
        return badarg(p);
    }
    extra.min_bin_vheap_words = least_vheap_words(static_cast<uint64_t>(small_value(value)));
    return old;
}

Term set_own_max_heap_size(Process& p, Term, Term value) {
    MaxHeap max;
    if (!parse_max_heap(value, &max) || is_below(max, p.min_heap_words)) {
        return badarg(p);
    }
    ProcessExtra& extra = extra_of(p);
    const Term old = max_heap_term(p.heap, extra.max_heap_words, extra.max_heap_kill, extra.max_heap_log,
                                   extra.max_heap_shared);
    extra.max_heap_words = max.words;
    extra.max_heap_kill = max.kill;
    extra.max_heap_log = max.log;
    extra.max_heap_shared = max.shared;
    return old;
}

Term set_sensitive(Process& p, Term, Term value) {
    if (!is_bool(value)) {
        return badarg(p);
    }
    ProcessExtra& extra = extra_of(p);
    const Term old = make_bool(extra.sensitive);
    extra.sensitive = value == atoms::true_;
    // relaxed (both): see records::is_sensitive().
    if (extra.sensitive) {
        p.state.fetch_or(process_state::kSensitive, std::memory_order_relaxed);
    } else {
        p.state.fetch_and(~process_state::kSensitive, std::memory_order_relaxed);  // relaxed: as above
    }
    return old;
}

Term set_async_dist(Process& p, Term, Term value) {
    if (!by_release::at_least(26)) {
        return badarg_cause(p, atoms::badopt);
    }
    if (!is_bool(value)) {
        return badarg(p);
    }
    ProcessExtra& extra = extra_of(p);
    const Term old = make_bool(extra.async_dist);
    extra.async_dist = value == atoms::true_;
    return old;
}

Term set_save_calls(Process& p, Term flag, Term value) {
    uint32_t n;
    if (!small_in(value, 0, 10000, &n)) {
        return badarg_cause(p, atoms::none);
    }
    Term answer = make_small(saved_calls(p));
    if (n != 0 && !tracing::g_hooks->begin_saving(p, function_name(p, atoms::erlang, "process_flag"), {flag, value},
                                                  &answer)) {
        return answer;
    }
    tracing::g_hooks->set_saving(p, n);
    return answer;
}

Term set_own_scheduler(Process& p, Term, Term value) {
    uint32_t n;
    if (!small_in(value, 0, static_cast<uint32_t>(vm::scheduler_count()), &n)) {
        return badarg(p);
    }
    const Term old = make_small(p.bound_to);
    if (n == p.bound_to) {
        return old;
    }
    // The yield below moves the process to its new scheduler.
    p.bound_to = n;
    static const Export* back = bif_export("minivm", "return", 1);
    return yield(p, back, {old});
}

// The options of {monitor_nodes, Options}: [], or a map as net_kernel makes it. False: neither.
bool node_options(Term t, uint32_t* options) {
    if (is_nil(t)) {
        *options = 0;
        return true;
    }
    if (!is_map(t)) {
        return false;
    }
    *options = node_life::watch::kInfoMap;
    map::Iterator it(t);
    Term key;
    Term value;
    while (it.next(&key, &value)) {
        if (key == atoms::list && value == atoms::true_) {
            *options &= ~node_life::watch::kInfoMap;
        } else if (key == atoms::connection_id && is_bool(value)) {
            *options |= value == atoms::true_ ? node_life::watch::kConnectionId : 0;
        } else if (key == atoms::nodedown_reason && is_bool(value)) {
            *options |= value == atoms::true_ ? node_life::watch::kDownReason : 0;
        } else if (key == atoms::node_type && (value == atoms::visible || value == atoms::all)) {
            *options |= node_life::watch::kVisible | (value == atoms::all ? node_life::watch::kHidden : 0);
        } else if (key == atoms::node_type && value == atoms::hidden) {
            *options |= node_life::watch::kHidden;
        } else {
            return false;
        }
    }
    return true;
}

Term set_monitor_nodes(Process& p, Term flag, Term value) {
    uint32_t options = 0;
    if (!is_bool(value) || (is_tuple(flag) && !node_options(tuple_element(flag, 1), &options))) {
        return badarg(p);
    }
    return make_small(value == atoms::true_ ? node_life::watch_nodes(p, options)
                                            : node_life::unwatch_nodes(p, options));
}

struct Flag {
    Term name;
    Term (*set)(Process& p, Term flag, Term value);
};
constexpr Flag kFlags[] = {
    {atoms::trap_exit, set_trap_exit},
    {atoms::priority, set_priority},
    {atoms::min_heap_size, set_own_min_heap_size},
    {atoms::fullsweep_after, set_own_fullsweep_after},
    {atoms::message_queue_data, set_message_queue_data},
    {atoms::error_handler, set_error_handler},
    {atoms::min_bin_vheap_size, set_own_min_bin_vheap_size},
    {atoms::max_heap_size, set_own_max_heap_size},
    {atoms::sensitive, set_sensitive},
    {atoms::async_dist, set_async_dist},
    {atoms::save_calls, set_save_calls},
    {atoms::scheduler, set_own_scheduler},
    {atoms::monitor_nodes, set_monitor_nodes},  // {monitor_nodes, Options} as well
};

Term erlang_process_flag_2(Process& p, const Term* a) {
    const Term name = is_tuple_of(a[0], 2) && tuple_element(a[0], 0) == atoms::monitor_nodes ? tuple_element(a[0], 0) : a[0];
    for (const Flag& flag : kFlags) {
        if (flag.name == name) {
            return flag.set(p, a[0], a[1]);
        }
    }
    return badarg_cause(p, atoms::badopt);
}

// erts_internal:process_flag(Pid, save_calls, N)
Term erts_internal_process_flag_3(Process& p, const Term* a) {
    uint32_t n;
    if (!is_local_pid(a[0]) || process_table::lookup(a[0]) == nullptr) {
        return atoms::badtype;
    }
    if (a[1] != atoms::save_calls) {
        return atoms::badarg;
    }
    if (!small_in(a[2], 0, 10000, &n)) {
        return atoms::badarg;
    }
    if (a[0] == p.id) {
        return erlang_process_flag_2(p, a + 1);
    }
    const Term pid = a[0];  // begin_saving() may put the arguments of a wait there
    const RefId ref = new_ref_id(p);
    Term answer = make_ref_term(p.heap, ref);
    if (n != 0 &&
        !tracing::g_hooks->begin_saving(p, function_name(p, atom_table::intern("erts_internal"), "process_flag"),
                                        {a[0], a[1], a[2]}, &answer)) {
        return answer;
    }
    ControlSignal* s = new_request(
        p, ref,
        [](Process& target, ControlSignal& request) {
            const Term old = make_small(saved_calls(target));
            tracing::g_hooks->set_saving(target, static_cast<uint32_t>(request.number));
            reply(request, old);
        },
        [](ControlSignal& request) {
            if (request.number != 0) {
                tracing::g_hooks->end_saving();
            }
            reply(request, atoms::badarg);
        });
    s->number = n;
    send_signal(pid, s);
    return answer;
}

}  // namespace

MINIVM_BIF_TABLE(flags) = {
    {"erlang", "process_flag", 2, erlang_process_flag_2, kBifPlain, nullptr},
    {"erts_internal", "process_flag", 3, erts_internal_process_flag_3, kBifPlain, nullptr},
};

}  // namespace minivm
