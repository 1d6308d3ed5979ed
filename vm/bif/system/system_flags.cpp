// erlang:system_flag/2: a row for each flag. A new value holds for processes spawned later, which may see it
// late.
#include "vm/bif/bif.hpp"
#include "vm/bif/code/code_operation.hpp"
#include "vm/bif/processes/microstates.hpp"
#include "vm/bif/processes/options.hpp"
#include "vm/bif/system/topology.hpp"
#include "vm/code_change/code_change.hpp"
#include "vm/process/exception.hpp"
#include "vm/process/process_life.hpp"
#include "vm/process/process_table.hpp"
#include "vm/process/report.hpp"
#include "vm/process/seq_trace.hpp"
#include "vm/process/tracing.hpp"
#include "vm/sched/online.hpp"

#include <algorithm>
#include <atomic>

namespace minivm {

namespace {

// relaxed (all of these): see above.
constexpr auto kRelaxed = std::memory_order_relaxed;

// Sets the flag to a number from `least` to `most`; returns the former one.
Term exchange(Process& p, Term value, uint32_t least, uint32_t most, std::atomic<uint32_t>& flag) {
    uint32_t n;
    return small_in(value, least, most, &n) ? make_small(flag.exchange(n, kRelaxed)) : badarg(p);
}

Term set_backtrace_depth(Process& p, Term value) {
    constexpr int64_t kMaxDepth = 64;  // a stack trace has no room for more
    if (!is_small(value) || small_value(value) < 0) {
        return badarg(p);
    }
    const Term old = make_small(g_backtrace_depth);
    g_backtrace_depth = static_cast<int>(std::min(small_value(value), kMaxDepth));
    return old;
}

Term set_logger(Process& p, Term value) {
    const bool valid = value == atom_table::intern("logger") || value == atoms::undefined ||
                       (is_local_pid(value) && process_table::lookup(value) != nullptr);
    return valid ? set_system_logger(value) : badarg(p);
}

Term set_fullsweep_after(Process& p, Term value) {
    constexpr int64_t kMaxCollections = 0xFFFF;  // OTP keeps 16 bits
    if (!is_small(value) || small_value(value) < 0) {
        return badarg(p);
    }
    const auto n = static_cast<uint16_t>(std::min(small_value(value), kMaxCollections));
    return make_small(g_spawn_defaults.fullsweep_after.exchange(n, kRelaxed));
}

Term set_min_heap_size(Process& p, Term value) {
    uint32_t n;
    return small_in(value, 0, 0x7FFFFFFF, &n)
               ? make_small(g_spawn_defaults.min_heap_words.exchange(
                     static_cast<uint32_t>(next_heap_size(n < 12 ? 12 : n)), kRelaxed))
               : badarg(p);
}

Term set_min_bin_vheap_size(Process& p, Term value) {
    return is_small(value) && small_value(value) >= 0
               ? make_unsigned(p.heap, g_spawn_defaults.min_bin_vheap_words.exchange(
                                           next_heap_size(static_cast<uint64_t>(small_value(value))), kRelaxed))
               : badarg(p);
}

Term set_max_heap_size(Process& p, Term value) {
    SpawnDefaults& d = g_spawn_defaults;
    MaxHeap max;
    if (!parse_max_heap(value, &max) || is_below(max, d.min_heap_words.load(kRelaxed))) {
        return badarg(p);
    }
    const MaxHeap old = default_max_heap();
    d.max_heap_kill.store(max.kill, kRelaxed);
    d.max_heap_log.store(max.log, kRelaxed);
    d.max_heap_shared.store(max.shared, kRelaxed);
    d.max_heap_words.store(max.words, kRelaxed);
    return max_heap_term(p.heap, old.words, old.kill, old.log, old.shared);
}

Term set_schedulers_online(Process& p, Term value) {
    uint32_t n;
    const int old = small_in(value, 1, INT32_MAX, &n) ? online::set_schedulers(static_cast<int>(n)) : 0;
    return old != 0 ? await_thread_progress(p, make_small(old)) : badarg(p);
}

Term set_dirty_cpu_online(Process& p, Term value) {
    uint32_t n;
    const int old = small_in(value, 1, INT32_MAX, &n) ? online::set_dirty_cpu(static_cast<int>(n)) : 0;
    return old != 0 ? make_small(old) : badarg(p);
}

Term set_requests_limit(Process& p, Term value) {
    return exchange(p, value, 1, code_change::kMaxSystemRequests, code_change::g_system_requests_limit);
}

Term set_multi_scheduling(Process& p, Term value) {
    const std::string_view word = is_atom(value) ? atom_table::text(value) : "";
    const bool normal = word == "block_normal" || word == "unblock_normal";
    if (word == "block" || word == "block_normal") {
        online::block(p, normal);
        return await_thread_progress(p, atom_table::intern(online::state()));
    }
    if (word == "unblock" || word == "unblock_normal") {
        online::unblock(p, normal);
        return atom_table::intern(online::state());
    }
    return badarg(p);
}

Term set_trace_control_word(Process& p, Term value) {
    return exchange(p, value, 0, 0xFFFFFFFF, tracing::g_control_word);
}

Term reset_seq_trace(Process& p, Term value) {
    if (value != atoms::true_) {
        return badarg(p);
    }
    seq_trace::reset_all();
    return atoms::true_;
}

Term set_sequential_tracer(Process& p, Term value) {
    Term old = atoms::false_;
    return seq_trace::set_system_tracer(value, p.heap, &old) ? old : badarg(p);
}

Term finalize_time_offset(Process& p, Term value) {
    return value == atom_table::intern("finalize") ? atom_table::intern("final") : badarg(p);
}

// Measured while a process that asked for it lives: the kernel application counts these.
Term set_scheduler_wall_time(Process& p, Term value) {
    static const Export* counted =
        export_table::get(atom_table::intern("kernel_refc"), atoms::scheduler_wall_time, 1);
    return is_bool(value) ? trap(p, counted, {value}) : badarg(p);
}

// No other topology than the detected one can be defined.
Term set_cpu_topology(Process& p, Term value) {
    report_text(p, ReportLevel::warning,
                "A call to erlang:system_flag(cpu_topology, _) was made.\n"
                "The cpu_topology argument is deprecated and scheduled\n"
                "for removal in Erlang/OTP 18. For more information\n"
                "see the erlang:system_flag/2 documentation.\n");
    // It checks the value and then sets internal_cpu_topology.
    static const Export* const set = export_table::get(atoms::erlang, atom_table::intern("set_cpu_topology"), 1);
    return trap(p, set, {value});
}
Term set_internal_cpu_topology(Process& p, Term value) {
    return value == atoms::undefined ? cpu_topology::detected(p.heap) : badarg(p);
}

// Schedulers are not bound.
Term set_scheduler_bind_type(Process& p, Term value) {
    report_text(p, ReportLevel::warning,
                "A call to erlang:system_flag(scheduler_bind_type, _) was\n"
                "made. The scheduler_bind_type argument is deprecated and\n"
                "scheduled for removal in Erlang/OTP 18. For more\n"
                "information see the erlang:system_flag/2 documentation.\n");
    return value == atom_table::intern("unbound") ? value : badarg(p);
}

struct Flag {
    std::string_view name;
    Term (*set)(Process& p, Term value);
};
constexpr Flag kFlags[] = {
    {"backtrace_depth", set_backtrace_depth},
    {"cpu_topology", set_cpu_topology},
    {"dirty_cpu_schedulers_online", set_dirty_cpu_online},
    {"fullsweep_after", set_fullsweep_after},
    {"internal_cpu_topology", set_internal_cpu_topology},
    {"max_heap_size", set_max_heap_size},
    {"microstate_accounting", set_microstate_accounting},
    {"min_bin_vheap_size", set_min_bin_vheap_size},
    {"min_heap_size", set_min_heap_size},
    {"multi_scheduling", set_multi_scheduling},
    {"outstanding_system_requests_limit", set_requests_limit},
    {"reset_seq_trace", reset_seq_trace},
    {"scheduler_bind_type", set_scheduler_bind_type},
    {"scheduler_wall_time", set_scheduler_wall_time},
    {"schedulers_online", set_schedulers_online},
    {"sequential_tracer", set_sequential_tracer},
    {"system_logger", set_logger},
    {"time_offset", finalize_time_offset},
    {"trace_control_word", set_trace_control_word},
};

Term erlang_system_flag_2(Process& p, const Term* a) {
    if (is_atom(a[0])) {
        const std::string_view name = atom_table::text(a[0]);
        for (const Flag& flag : kFlags) {
            if (flag.name == name) {
                return flag.set(p, a[1]);
            }
        }
    }
    return badarg_cause(p, atoms::badopt);
}

// Answers when each scheduler that is awake has made progress, which one stuck in native code never does. For `heart`.
Term erts_internal_system_check_1(Process& p, const Term* a) {
    static const Term schedulers = atom_table::intern("schedulers");
    return a[0] == schedulers ? await_thread_progress(p, atoms::ok) : badarg(p);
}

}  // namespace

MINIVM_BIF_TABLE(system_flags) = {
    {"erlang", "system_flag", 2, erlang_system_flag_2, kBifPlain, nullptr},
    {"erts_internal", "system_check", 1, erts_internal_system_check_1, kBifPlain, nullptr},
};

}  // namespace minivm
