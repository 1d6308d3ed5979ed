#include "vm/process/process_life.hpp"
#include "vm/process/kernel_start.hpp"

#include <algorithm>
#include <atomic>
#include <mutex>
#include <new>

#include "vm/code/export.hpp"
#include "vm/heap/block_pool.hpp"
#include "vm/process/gc.hpp"
#include "vm/instr/bif_def.hpp"
#include "vm/process/dirty_hold.hpp"
#include "vm/process/engine_calls.hpp"
#include "vm/process/exception.hpp"
#include "vm/process/literal_release.hpp"
#include "vm/process/node_life.hpp"
#include "vm/process/probe.hpp"
#include "vm/process/process_table.hpp"
#include "vm/process/registry.hpp"
#include "vm/process/report.hpp"
#include "vm/process/scheduling.hpp"
#include "vm/process/seq_trace.hpp"
#include "vm/process/signal.hpp"
#include "vm/process/state.hpp"
#include "vm/process/system_profile.hpp"
#include "vm/process/timers.hpp"
#include "vm/progress/thread_progress.hpp"
#include "vm/util/memory_count.hpp"

namespace minivm {

SpawnDefaults g_spawn_defaults;

namespace {

constexpr size_t kFirstFrameWords = 32;  // heap words for the first calls beside the arguments

// Each entry is written once, before the count that covers it.
constexpr size_t kMaxExitHooks = 16;
struct {
    std::mutex writers;
    void (*list[kMaxExitHooks])(Process&);
    std::atomic<size_t> count{0};
} g_exit_hooks;

Process* allocate_process() {
    count_memory(MemoryArea::processes, sizeof(Process));
    return new (pool_alloc(PoolClass::process, sizeof(Process))) Process;
}

void free_process(Process* p) {
    p->~Process();
    pool_free(PoolClass::process, p);
    count_memory(MemoryArea::processes, -static_cast<int64_t>(sizeof(Process)));
}

// After thread progress: no thread holds a pointer to the process.
void retire(void* data) {
    free_process(static_cast<Process*>(data));
}

void free_memory(Process& p) {
    heap_release(p);
    free_saved_x(p);
    if (p.exit_signal != nullptr) {
        free_signal(p.exit_signal);
        p.exit_signal = nullptr;
    }
    if (p.extra != nullptr && p.extra->seq.token != nullptr) {
        seq_trace::release(p.extra->seq.token);
        watchers::set(p.watchers, watchers::kToken, false);
    }
    delete p.extra;
    p.extra = nullptr;
}

void set_limits(Process& p, const SpawnOptions& o) {
    // relaxed: settings of the VM; a new process may see a change late.
    constexpr auto kRelaxed = std::memory_order_relaxed;
    p.min_heap_words = least_heap_words(o.min_heap_words);
    p.fullsweep_after = o.has_fullsweep_after ? o.fullsweep_after
                                              : g_spawn_defaults.fullsweep_after.load(kRelaxed);
    const uint64_t vheap = least_vheap_words(o.looks_at_vheap ? o.min_bin_vheap_words : 0);
    const SpawnDefaults& d = g_spawn_defaults;
    const uint64_t words = o.has_max_heap ? o.max_heap_words : d.max_heap_words.load(kRelaxed);
    const bool kill = o.has_max_heap ? o.max_heap_kill : d.max_heap_kill.load(kRelaxed);
    const bool log = o.has_max_heap ? o.max_heap_log : d.max_heap_log.load(kRelaxed);
    const bool shared = o.has_max_heap ? o.max_heap_shared : d.max_heap_shared.load(kRelaxed);
    // Else they are as in a process without ProcessExtra.
    if (words != 0 || !kill || !log || shared || vheap != 46422) {
        ProcessExtra& extra = extra_of(p);
        extra.min_bin_vheap_words = vheap;
        extra.max_heap_words = words;
        extra.max_heap_kill = kill;
        extra.max_heap_log = log;
        extra.max_heap_shared = shared;
    }
    if (o.async_dist) {
        extra_of(p).async_dist = true;
    }
}

void tie_to_parent(Process& p, Process& parent, SpawnOptions& o) {
    if (o.link) {
        extra_of(p).links[parent.id.raw] = Link{};
        extra_of(parent).links[p.id.raw].priority = o.link_priority;
    }
    if (o.monitor) {
        const auto alias = static_cast<AliasKind>(o.monitor_alias);
        if (o.monitor_ref == RefId{}) {
            o.monitor_ref = alias == AliasKind::none ? new_ref_id(parent) : new_alias_id(parent);
        }
        if (alias != AliasKind::none) {
            extra_of(parent).aliases[o.monitor_ref].kind = alias;
        }
        Monitor m;
        m.target = p.id;
        m.tag = o.monitor_tag;
        m.priority = o.monitor_priority;
        extra_of(parent).monitors.emplace(o.monitor_ref, m);
        ProcessExtra& extra = extra_of(p);
        extra.monitored_by[o.monitor_ref] = MonitoredBy{parent.id, kNonValue, ++extra.monitors_seen};
    }
}

}  // namespace

uint32_t least_heap_words(uint32_t wanted) {
    // relaxed: a setting of the VM; the caller may see a change late.
    const uint32_t least = g_spawn_defaults.min_heap_words.load(std::memory_order_relaxed);
    return wanted < least ? least : static_cast<uint32_t>(std::min<size_t>(next_heap_size(wanted), UINT32_MAX));
}

uint64_t least_vheap_words(uint64_t wanted) {
    // relaxed: as above.
    const uint64_t least = g_spawn_defaults.min_bin_vheap_words.load(std::memory_order_relaxed);
    return wanted < least ? least : next_heap_size(wanted);
}

Term spawn(Process* parent, const Export* entry, Term args, SpawnOptions& options) {
    Process* p = allocate_process();
    p->priority = options.priority;
    p->message_queue_off_heap = options.message_queue_off_heap;
    p->initial_call = entry;
    p->system_process = options.system_process;
    p->bound_to = options.bound_to;
    set_limits(*p, options);
    const size_t words = is_nil(args) ? 0 : size_of_term(args, true);
    heap_init(*p, std::max<size_t>(p->min_heap_words, words + kFirstFrameWords + kReserveWords));
    Term x[255];
    uint32_t n = 0;
    for (Term rest = args; is_cons(rest); rest = tail(rest)) {
        MINIVM_CHECK(n < 255);
        const Term t = head(rest);
        x[n++] = is_pointer(t) ? copy_term(t, p->heap, true) : t;
    }
    save_x_registers(*p, x, n);
    if (parent != nullptr) {
        p->parent = parent->id;
        const Term leader = is_value(options.group_leader) ? options.group_leader
                                                           : parent->group_leader;
        p->group_leader = is_pointer(leader) ? copy_term(leader, p->heap, true) : leader;
    }
    // relaxed: insert() publishes. Queued from the start: a thread that finds p now only adds signals.
    p->state.store(process_state::kQueued, std::memory_order_relaxed);
    if (!process_table::insert(*p)) {
        free_memory(*p);
        free_process(p);
        return kNonValue;
    }
    if (parent != nullptr) {
        kernel_start::inherit(parent->id, p->id);
    }
    if (parent == nullptr) {
        const Term leader = is_value(options.group_leader) ? options.group_leader : p->id;
        p->group_leader = is_pointer(leader) ? copy_term(leader, p->heap, true) : leader;
    } else {
        tie_to_parent(*p, *parent, options);
    }
    probe::spawned(parent, *p, *entry, args, options);
    if (options.before_start != nullptr) {
        options.before_start(parent, *p, options, options.context);
    }
    // After enqueue_process() p may run and end: a thread other than a scheduler must not use p then.
    const Term pid = p->id;
    system_profile::Turn turn(*p);
    turn.look_at(*p);
    turn.became(true);
    enqueue_process(*p);
    return pid;
}

Term uncaught_exit_reason(Process& p) {
    const Exception& e = p.exception;
    switch (e.cls) {
        case ExceptionClass::none:
            return atoms::normal;
        case ExceptionClass::exit:
            return e.reason;
        case ExceptionClass::throw_:
        case ExceptionClass::error:
            break;
    }
    const Term reason = e.cls == ExceptionClass::throw_
                            ? make_tuple(p.heap, atoms::nocatch, e.reason)
                            : e.reason;
    return make_tuple(p.heap, reason, is_value(e.trace) ? stacktrace_list(p, e.trace) : kNil);
}

void at_process_exit(void (*f)(Process& p)) {
    const std::lock_guard lock(g_exit_hooks.writers);
    // relaxed: only holders of the lock write it.
    const size_t n = g_exit_hooks.count.load(std::memory_order_relaxed);
    MINIVM_CHECK(n < kMaxExitHooks);
    g_exit_hooks.list[n] = f;
    // release: end_for_others() reads the entry when it has read this count.
    g_exit_hooks.count.store(n + 1, std::memory_order_release);
}

// The part of an end that other processes see. p's registers and heap may be in use (end_dirty_process()).
static void end_for_others(Process& p, Term reason) {
    // relaxed: see vm::set_main_process().
    if (MINIVM_UNLIKELY(p.system_process ||
                        p.id.raw == g_main_process.load(std::memory_order_relaxed))) {
        note_end_slow(p, reason);
    }
    probe::exited(p, reason);
    cancel_receive_timeout(p);
    // acquire: see at_process_exit().
    const size_t hooks = g_exit_hooks.count.load(std::memory_order_acquire);
    for (size_t i = 0; i < hooks; ++i) {
        g_exit_hooks.list[i](p);
    }
    registry::forget(p);
    // relaxed: it is set before the end began, or not at all (node_life::begin()).
    if (MINIVM_UNLIKELY((p.state.load(std::memory_order_relaxed) & process_state::kOwnsNode) != 0)) {
        node_life::owner_ended(reason);
    }
    if (p.extra != nullptr && p.extra->watches_nodes) {
        node_life::forget_watcher(p);
    }
    // While lookup() still finds the process: trace_delivered/1 does not wait for one that it cannot find.
    probe::ended(p);
    process_table::remove(p);
    close_mailbox(p);
    if (p.extra != nullptr) {
        for (const auto& [pid, link] : p.extra->links) {
            if (link.unlinking == 0) {
                send_exit(p.id, Term{pid}, reason, true,
                          seq_trace::sending_exit(p, p.id, Term{pid}, reason));
            }
        }
        for (const auto& [ref, m] : p.extra->monitors) {
            if (is_value(m.target)) {
                ControlSignal* signal = new_signal(SignalKind::demonitor, p.id);
                signal->ref = ref;
                send_signal(m.target, signal);
            }
        }
        for (const auto* monitor : in_order_of_arrival(p.extra->monitored_by)) {
            const MonitoredBy& m = monitor->second;
            send_down(p.id, m.watcher, monitor->first, m.name, reason);
        }
        for (const auto& [pid, times] : p.extra->suspending) {
            send_resume(p.id, Term{pid}, times);
        }
    }
    probe::gone(p);
}

static void finish_process(Process& p) {
    free_memory(p);
    p.x = nullptr;
    p.scheduler = nullptr;
    system_profile::Turn turn(p);
    turn.look_at(p);
    turn.became(false);
    // seq_cst: no thread queues it any more; late wakers may still read the state until thread progress.
    p.state.fetch_or(process_state::kDead, std::memory_order_seq_cst);
    thread_progress::later(retire, &p);
}

void end_process(Process& p) {
    // seq_cst: before the registry's lock is taken; see registry::register_name().
    p.state.fetch_or(process_state::kExiting, std::memory_order_seq_cst);
    Scheduler* s = this_scheduler();
    p.scheduler = s;
    p.x = s->x;
    Term reason;
    if (p.exit_signal != nullptr) {
        reason = p.exit_signal->term;
    } else {
        if (p.exception.cls == ExceptionClass::error || p.exception.cls == ExceptionClass::throw_) {
            report_uncaught(p);
        }
        reason = uncaught_exit_reason(p);
    }
    end_for_others(p, reason);
    finish_process(p);
}

void end_dirty_process(Process& p) {
    // seq_cst: before the look at the signals; see end_if_dirty() in signal.cpp.
    p.state.fetch_and(~process_state::kEndIsChecked, std::memory_order_seq_cst);
    dirty::Hold hold(p);
    if (!hold || p.is_exiting() || !p.dirty_bif->has_any(kBifLeavable) || !will_exit(p)) {
        return;  // it handles its signals itself when it is back
    }
    handle_signals_of_held(p);
    if (p.exit_signal == nullptr) {
        return;
    }
    // relaxed: the owner has handed p over to the hold.
    const bool runs = (p.state.load(std::memory_order_relaxed) & process_state::kRunning) != 0;
    // acquire: pairs with run_dirty() in nif/library.cpp, which is about to set it.
    while (runs && p.dirty_bif->has_any(kBifNative) &&
           (p.state.load(std::memory_order_acquire) & process_state::kKept) == 0) {
        sched_yield();
    }
    // The function may still read literals.
    literal_release::keep();
    // seq_cst: as in end_process().
    p.state.fetch_or(process_state::kExiting, std::memory_order_seq_cst);
    end_for_others(p, p.exit_signal->term);
    hold.leave();
}

void finish_left_process(Process& p) {
    finish_process(p);
    literal_release::give_up();
}

void destroy_process(Process& p) {
    // The schedulers have stopped: no signals.
    p.receive_timer.wheel = nullptr;
    for (Signal* list : {p.deferred, p.unhandled}) {
        for (Signal* s = list; s != nullptr;) {
            Signal* next = s->next;
            free_signal(s);
            s = next;
        }
    }
    p.deferred = nullptr;
    p.unhandled = nullptr;
    drop_mailbox(p);
    free_memory(p);
    free_process(&p);
}

}  // namespace minivm
