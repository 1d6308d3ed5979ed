// erts_debug:set_internal_state/2 and get_internal_state/1: switches for tests of the VM itself.
// Both are undefined functions until set_internal_state(available_internal_state, true).
#include <chrono>
#include <thread>

#include "vm/process/system_monitor.hpp"
#include "vm/bif/bif.hpp"
#include "vm/bif/continuation.hpp"
#include "vm/code/code_index.hpp"
#include "vm/process/state.hpp"
#include "vm/sched/scheduler.hpp"
#include "vm/sched/thread_progress.hpp"
#include "vm/term/atom_table.hpp"
#include "vm/term/map.hpp"

namespace minivm {

std::atomic<int64_t> g_slice_limit{kNoSliceLimit};

namespace {

std::atomic<bool> g_available{false};

bool is(Term t, const char* name) {
    return t == atom_table::intern(name);
}

bool available() {
    // relaxed: a switch alone; nothing else is read because of it.
    return g_available.load(std::memory_order_relaxed);
}

// The limit before: an integer, or `default`.
Term set_loop_limit(Process& p, Term value) {
    int64_t limit = kNoSliceLimit;
    if (!is(value, "default") && (!get_int64(value, &limit) || limit <= 0)) {
        return badarg(p);
    }
    // relaxed: tests set it before they start what it applies to.
    const int64_t old = g_slice_limit.exchange(limit, std::memory_order_relaxed);
    return old == kNoSliceLimit ? atom_table::intern("default") : make_integer(p.heap, old);
}

// ---- waiting for thread progress ----------------------------------------------------------------

// Set once every scheduler has left what it was reading, and freed what it was asked to before
// that.
struct Progress : MagicObject {
    std::atomic<bool> passed{false};
    Term waiting = kNonValue;
};

// The second time round: what the first freed may have put off more.
void progress_passed(void* data) {
    auto* progress = static_cast<Progress*>(data);
    const Term pid = progress->waiting;
    // release: pairs with the waiting process's look.
    progress->passed.store(true, std::memory_order_release);
    wake_up_pid(pid);
    progress->release();
}
void progress_half(void* data) {
    thread_progress::later(progress_passed, data);
}

Term erts_debug_wait_progress_1(Process& p, const Term* a) {
    // acquire: pairs with progress_passed().
    if (held_state<Progress>(a[0])->passed.load(std::memory_order_acquire)) {
        return atoms::ok;
    }
    static const Export* self = bif_export("erts_debug", "wait_progress", 1);
    return trap_wait(p, self, {a[0]});
}

Term wait_for_progress(Process& p) {
    auto progress = std::make_unique<Progress>();
    progress->waiting = p.id;
    progress->retain();
    thread_progress::later(progress_half, progress.get());
    const Term ref = hold_state(p, std::move(progress));
    static const Export* wait = bif_export("erts_debug", "wait_progress", 1);
    return trap_wait(p, wait, {ref});
}

// ---- the switches ----------------------------------------------------------------------------------

Term erts_debug_sleep_1(Process&, const Term* a) {
    std::this_thread::sleep_for(std::chrono::milliseconds(small_value(a[0])));
    return atoms::true_;
}

Term erts_debug_set_internal_state_2(Process& p, const Term* a) {
    if (is(a[0], "available_internal_state") && (a[1] == atoms::true_ || a[1] == atoms::false_)) {
        // relaxed: see available().
        return make_bool(g_available.exchange(a[1] == atoms::true_, std::memory_order_relaxed));
    }
    if (!available()) {
        return error(p, atoms::undef);
    }
    if (is(a[0], "reds_left")) {
        int64_t n = 0;
        if (get_int64(a[1], &n) && n >= 0 && n <= kSliceReductions) {
            p.reductions = n;
            return atoms::true_;
        }
    } else if (is(a[0], "binary_loop_limit") || is(a[0], "unicode_loop_limit") ||
               is(a[0], "re_loop_limit")) {
        return set_loop_limit(p, a[1]);
    } else if ((is(a[0], "ets_force_split") || is(a[0], "ets_debug_random_split_join")) &&
               is_tuple(a[1]) && tuple_arity(a[1]) == 2 && is_bool(tuple_element(a[1], 1))) {
        return atoms::ok;  // tables have one part here, whatever the load
    } else if (is(a[0], "proc_sig_buffers") && a[1] == atoms::true_) {
        return atoms::true_;  // senders never wait for each other here
    } else if (is(a[0], "ets_force_trap")) {
        return atom_table::intern("notsup");  // as in every release build of erl
    } else if (is(a[0], "sleep") && is_small(a[1]) && small_value(a[1]) >= 0) {
        static const Export* sleep = bif_export("erts_debug", "sleep", 1);
        return trap(p, sleep, {a[1]});
    } else if (is(a[0], "wait")) {
        if (is(a[1], "deallocations") || is(a[1], "thread_progress") ||
            is(a[1], "timer_cancellations") || is(a[1], "aux_work")) {
            return wait_for_progress(p);
        }
    } else if (is(a[0], "test_long_gc_sleep") && is_small(a[1]) && small_value(a[1]) >= 0) {
        // relaxed: a setting.
        system_monitor::g_gc_sleep_ms.store(static_cast<uint32_t>(small_value(a[1])),
                                            std::memory_order_relaxed);
        return atoms::true_;
    } else if (is(a[0], "force_gc") && is_local_pid(a[1])) {
        static const Export* collect = bif_export("erlang", "garbage_collect", 1);
        return trap(p, collect, {a[1]});
    }
    return badarg(p);
}

Term erts_debug_get_internal_state_1(Process& p, const Term* a) {
    if (is(a[0], "available_internal_state")) {
        return make_bool(available());
    }
    if (!available()) {
        return error(p, atoms::undef);
    }
    if (is(a[0], "reds_left")) {
        return make_integer(p.heap, p.reductions);
    }
    if (is(a[0], "force_heap_frags")) {
        return atoms::false_;
    }
    if (is(a[0], "persistent_term")) {
        // The part of the table in what persistent_term:info/0 gives as memory: it is not in it.
        Term keys[1] = {atom_table::intern("table")};
        Term values[1] = {make_small(0)};
        return map::from_pairs(p.heap, keys, values, 1);
    }
    return badarg(p);
}

#ifdef MINIVM_DEBUG
// minivm:leave_out_rereads(Boolean): what the program was started with takes effect, or no longer.
Term minivm_leave_out_rereads_1(Process& p, const Term* a) {
    if (a[0] != atoms::true_ && a[0] != atoms::false_) {
        return badarg(p);
    }
    // relaxed: what follows is told by messages.
    code_index::g_left_out.store(a[0] == atoms::true_ ? vm::g_options.left_out_rereads : 0,
                                 std::memory_order_relaxed);
    return atoms::true_;
}
#endif

}  // namespace

MINIVM_BIF_TABLE(internal_state) = {
    {"erts_debug", "set_internal_state", 2, erts_debug_set_internal_state_2, kBifPlain, nullptr},
    {"erts_debug", "get_internal_state", 1, erts_debug_get_internal_state_1, kBifPlain, nullptr},
    {"erts_debug", "wait_progress", 1, erts_debug_wait_progress_1, kBifHidden, nullptr},
    {"erts_debug", "sleep", 1, erts_debug_sleep_1, kBifDirtyIo | kBifHidden, nullptr},
#ifdef MINIVM_DEBUG
    {"minivm", "leave_out_rereads", 1, minivm_leave_out_rereads_1, kBifPlain, nullptr},
#endif
};

}  // namespace minivm
