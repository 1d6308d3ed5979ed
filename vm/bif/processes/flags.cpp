// erlang:process_flag/2,3.
#include "vm/bif/bif.hpp"
#include "vm/bif/code/code_operation.hpp"
#include "vm/bif/processes/options.hpp"
#include "vm/bif/processes/requests.hpp"
#include "vm/process/process_table.hpp"
#include "vm/process/scheduling.hpp"
#include "vm/process/signal.hpp"
#include "vm/process/state.hpp"
#include "vm/process/tracing.hpp"
#include "vm/sched/scheduler.hpp"
#include "vm/term/local_atoms.hpp"
#include "vm/util/otp_release.hpp"

#include <algorithm>

namespace minivm {

namespace {

// How many calls it saves.
uint32_t saved_calls(const Process& p) {
    return p.extra != nullptr && p.extra->saved_calls != nullptr ? p.extra->saved_calls->most : 0;
}

Term erlang_process_flag_2(Process& p, const Term* a) {
    const Term flag = a[0];
    const Term value = a[1];
    uint32_t n;
    if (flag == atoms::trap_exit) {
        if (!is_bool(value)) {
            return badarg(p);
        }
        // Exit signals that are here already were sent to a process with the old flag.
        Term result;
        if (handle_now(p, &result)) {
            return result;
        }
        const Term old = make_bool(p.trap_exit);
        p.trap_exit = value == atoms::true_;
        return old;
    }
    if (flag == atoms::priority) {
        const Term old = priority_atom(p.priority);
        Priority now;
        if (!parse_priority(value, &now)) {
            return badarg(p);
        }
        // relaxed: see raise_receiver().
        std::atomic_ref<Priority>(p.priority).store(now, std::memory_order_relaxed);
        return old;
    }
    if (flag == atoms::min_heap_size) {
        const Term old = make_small(p.min_heap_words);
        if (!small_in(value, 0, 0x7FFFFFFF, &n)) {
            return badarg(p);
        }
        p.min_heap_words = static_cast<uint32_t>(next_heap_size(std::max<uint32_t>(n, 12)));
        return old;
    }
    if (flag == atoms::fullsweep_after) {
        const Term old = make_small(p.fullsweep_after);
        if (!small_in(value, 0, 0x7FFFFFFF, &n)) {
            return badarg(p);
        }
        p.fullsweep_after = n & 0xFFFF;  // OTP keeps 16 bits
        return old;
    }
    if (flag == atoms::message_queue_data) {
        if (value != atoms::on_heap && value != atoms::off_heap) {
            return badarg(p);
        }
        const Term old = p.message_queue_off_heap ? atoms::off_heap : atoms::on_heap;
        p.message_queue_off_heap = value == atoms::off_heap;
        return old;
    }
    if (flag == atoms::error_handler) {
        if (!is_atom(value)) {
            return badarg(p);
        }
        ProcessExtra& extra = extra_of(p);
        const Term old = is_value(extra.error_handler) ? extra.error_handler : atoms::error_handler;
        extra.error_handler = value;
        return old;
    }
    if (flag == atoms::min_bin_vheap_size) {
        ProcessExtra& extra = extra_of(p);
        const Term old = make_small(extra.min_bin_vheap_words);
        if (!small_in(value, 0, 0x7FFFFFFF, &n)) {
            return badarg(p);
        }
        extra.min_bin_vheap_words = n;
        return old;
    }
    if (flag == atoms::max_heap_size) {
        MaxHeap max;
        if (!parse_max_heap(value, &max)) {
            return badarg(p);
        }
        ProcessExtra& extra = extra_of(p);
        const Term old = max_heap_term(p.heap, extra.max_heap_words, extra.max_heap_kill,
                                       extra.max_heap_log, extra.max_heap_shared);
        extra.max_heap_words = max.words;
        extra.max_heap_kill = max.kill;
        extra.max_heap_log = max.log;
        extra.max_heap_shared = max.shared;
        return old;
    }
    if (flag == atoms::sensitive || (flag == atoms::async_dist && by_release::at_least(26))) {
        if (!is_bool(value)) {
            return badarg(p);
        }
        ProcessExtra& extra = extra_of(p);
        bool& place = flag == atoms::sensitive ? extra.sensitive : extra.async_dist;
        const Term old = make_bool(place);
        place = value == atoms::true_;
        if (flag == atoms::sensitive) {
            // relaxed: see records::is_sensitive().
            if (place) {
                p.state.fetch_or(process_state::kSensitive, std::memory_order_relaxed);
            } else {
                // relaxed: as above.
                p.state.fetch_and(~process_state::kSensitive, std::memory_order_relaxed);
            }
        }
        return old;
    }
    if (flag == atoms::save_calls) {
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
    if (flag == atoms::scheduler) {
        if (!small_in(value, 0, static_cast<uint32_t>(vm::scheduler_count()), &n)) {
            return badarg(p);
        }
        const Term old = make_small(p.bound_to);
        if (n == p.bound_to) {
            return old;
        }
        // It goes on where it belongs now.
        p.bound_to = n;
        static const Export* back = bif_export("minivm", "return", 1);
        return yield(p, back, {old});
    }
    if (flag == atoms::monitor_nodes ||
        (is_tuple_of(flag, 2) && tuple_element(flag, 0) == atoms::monitor_nodes)) {
        // Nodes never come or go here.
        if (!is_bool(value)) {
            return badarg(p);
        }
        ProcessExtra& extra = extra_of(p);
        const Term old = make_small(extra.monitor_nodes);
        if (value == atoms::true_) {
            extra.monitor_nodes++;
        } else {
            extra.monitor_nodes = 0;
        }
        return old;
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
    const Term pid = a[0];  // a wait puts what it is for in the place of the arguments
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
