// erts_debug:set_internal_state/2 and get_internal_state/1: switches for tests of the VM itself.
// Both raise undef until set_internal_state(available_internal_state, true).
#include <pthread.h>

#include <chrono>
#include <thread>
#include <utility>

#include "vm/bif/bif.hpp"
#include "vm/bif/processes/backtrace.hpp"
#include "vm/code/code_index.hpp"
#include "vm/port/port.hpp"
#include "vm/process/continuation.hpp"
#include "vm/process/extra.hpp"
#include "vm/process/process_table.hpp"
#include "vm/process/report.hpp"
#include "vm/process/signal.hpp"
#include "vm/process/state.hpp"
#include "vm/process/system_monitor.hpp"
#include "vm/progress/thread_progress.hpp"
#include "vm/sched/scheduler.hpp"
#include "vm/term/atom_table.hpp"
#include "vm/term/binary.hpp"
#include "vm/term/format.hpp"
#include "vm/term/order_hash.hpp"
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

// A match of module re has no slices: its limit is only kept.
std::atomic<int64_t> g_re_limit{kNoSliceLimit};

// Returns the former limit: an integer, or `default`.
Term set_loop_limit(Process& p, std::atomic<int64_t>& kept, Term value) {
    int64_t limit = kNoSliceLimit;
    if (!is(value, "default") && (!get_int64(value, &limit) || limit <= 0)) {
        return badarg(p);
    }
    // relaxed: tests set it before they start what it applies to.
    const int64_t old = kept.exchange(limit, std::memory_order_relaxed);
    return old == kNoSliceLimit ? atom_table::intern("default") : make_integer(p.heap, old);
}

// ---- waiting for thread progress ----------------------------------------------------------------

// `passed` is set when thread progress has passed twice: deferred work that was asked for before it, and what
// that work deferred, is done.
struct Progress : MagicObject {
    std::atomic<bool> passed{false};
    Term waiting = kNonValue;
};

// After the second round: the deferred work of the first may have deferred more.
void progress_passed(void* data) {
    auto* progress = static_cast<Progress*>(data);
    const Term pid = progress->waiting;
    // release: pairs with erts_debug_wait_progress_1().
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

// A copy of the term that lies in heap fragments, as a message that has been received does.
Term in_fragment(Process& p, Term t) {
    Heap h;
    const Term copy = copy_term(t, h, true);
    attach_fragments(p.heap, std::exchange(h.fragments, nullptr), std::exchange(h.off_heap, nullptr), h.off_heap_bytes);
    return copy;
}

Term erts_debug_set_internal_state_2(Process& p, const Term* a) {
    if (is(a[0], "available_internal_state") && (a[1] == atoms::true_ || a[1] == atoms::false_)) {
        if (a[1] == atoms::true_) {
            report_text(p, ReportLevel::warning,
                        "Process " + format_pid(p.id) + " enabled access to the emulator internal state.\n" +
                            "NOTE: This is an erts internal test feature and should *only* be used by OTP "
                            "test-suites.\n");
        }
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
    } else if (is(a[0], "binary_loop_limit") || is(a[0], "unicode_loop_limit")) {
        return set_loop_limit(p, g_slice_limit, a[1]);
    } else if (is(a[0], "re_loop_limit")) {
        return set_loop_limit(p, g_re_limit, a[1]);
    } else if ((is(a[0], "ets_force_split") || is(a[0], "ets_debug_random_split_join")) &&
               is_tuple(a[1]) && tuple_arity(a[1]) == 2 && is_bool(tuple_element(a[1], 1))) {
        return atoms::ok;  // a table is never split here
    } else if (is(a[0], "proc_sig_buffers") && a[1] == atoms::true_) {
        return atoms::true_;  // senders need no buffers: they never wait for each other here
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
    } else if (is(a[0], "make") && is(a[1], "magic_ref")) {
        auto object = std::make_unique<MagicObject>();
        const auto address = reinterpret_cast<uint64_t>(object.get());
        const Term ref = hold_state(p, std::move(object));
        return make_tuple(p.heap, ref, make_unsigned(p.heap, address));
    } else if (is(a[0], "binary") && is_small(a[1])) {
        // An off-heap binary of zeros, however small.
        constexpr int64_t kMostBytes = 1 << 26;
        const int64_t size = small_value(a[1]);
        if (size < 0 || size > kMostBytes) {
            return atoms::false_;
        }
        RefBinary* const binary = RefBinary::create(static_cast<size_t>(size));
        std::memset(binary->data(), 0, static_cast<size_t>(size));
        return wrap_ref_binary(p.heap, binary, 8 * static_cast<uint64_t>(size));
    } else if (is(a[0], "mbuf")) {
        return in_fragment(p, a[1]);
    } else if (is(a[0], "next_pid")) {
        uint64_t number = 0;
        if (get_uint64(a[1], &number)) {
            process_table::set_next_number(number);
            return a[1];
        }
    } else if (is(a[0], "force_gc") && is_local_pid(a[1])) {
        static const Export* collect = bif_export("erlang", "garbage_collect", 1);
        return trap(p, collect, {a[1]});
    }
    return badarg(p);
}

// The status (running, waiting, ...) at this moment; `undefined`: no such process.
Term process_status(Term pid) {
    const thread_progress::DelaySection section;
    const Process* const q = process_table::lookup(pid);
    if (q == nullptr) {
        return atoms::undefined;
    }
    // relaxed: a state to show.
    const uint32_t state = q->state.load(std::memory_order_relaxed);
    return (state & process_state::kExiting) != 0   ? atom_table::intern("exiting")
           : (state & process_state::kRunning) != 0 ? atoms::running
           : (state & process_state::kWaiting) != 0 ? atoms::waiting
                                                    : atoms::runnable;
}

// heap_binary, or {refc_binary, Size, {binary, Allocated}, Flags}: there are no flags here.
Term binary_info(Process& p, Term t) {
    if (!is_bitstring(t)) {
        return kNonValue;
    }
    if (kind_of(t) == Kind::heap_bits) {
        return atom_table::intern("heap_binary");
    }
    const Term* const ref = boxed_ptr(boxed_ptr(t)[1]);
    if (header_kind(ref->raw) != Kind::bin_ref) {
        return kNonValue;
    }
    const auto* const b = reinterpret_cast<const RefBinary*>(ref[1].raw);
    const Term size = make_unsigned(p.heap, (bitstring_bits(t) + 7) / 8);
    const Term allocated =
        make_tuple(p.heap, atom_table::intern("binary"), make_unsigned(p.heap, b->size_bytes));
    return make_tuple(p.heap, atom_table::intern("refc_binary"), size, allocated, make_small(0));
}

// The bytes of the calling thread's C++ stack that native code may still use.
uint64_t free_stack_bytes() {
    pthread_attr_t attributes;
    void* lowest = nullptr;
    size_t size = 0;
    if (pthread_getattr_np(pthread_self(), &attributes) != 0) {
        return 0;
    }
    pthread_attr_getstack(&attributes, &lowest, &size);
    pthread_attr_destroy(&attributes);
    const char here = 0;
    return static_cast<uint64_t>(&here - static_cast<const char*>(lowest));
}

// ---- links and monitors -------------------------------------------------------------------------

bool is_pid_or_port(Term t) { return is_local_pid(t) || is_local_port(t); }

// {erl_link, process or port, With, linked or unlinking, Id}
Term link_term(Heap& h, Term with, bool unlinking, uint64_t id) {
    const Term t[] = {atom_table::intern("erl_link"), is_local_port(with) ? atoms::port : atoms::process, with,
                      atom_table::intern(unlinking ? "unlinking" : "linked"), make_unsigned(h, id)};
    return make_tuple(h, t[0], t[1], t[2], t[3], t[4]);
}

Term links_of(Process& p, Heap& h) {
    Term list = kNil;
    if (p.extra != nullptr) {
        for (const auto& [with, link] : p.extra->links) {
            list = cons(h, link_term(h, Term{with}, link.unlinking != 0, reinterpret_cast<uint64_t>(&link)), list);
        }
    }
    return list;
}

// {erl_monitor, Type, origin or target, Ref, Other, Name or []}
Term monitor_term(Heap& h, Term type, const char* direction, RefId ref, Term other, Term name) {
    Term* const t = h.alloc(7);
    t[0] = Term{make_header(Kind::tuple, 6)};
    t[1] = atom_table::intern("erl_monitor");
    t[2] = type;
    t[3] = atom_table::intern(direction);
    t[5] = is_value(other) ? other : kNil;
    t[6] = is_value(name) ? name : kNil;
    t[4] = put_ref(h.alloc(kRefWords), ref);
    return make_boxed(t);
}

Term monitors_of(Process& p, Heap& h) {
    Term list = kNil;
    if (p.extra == nullptr) {
        return list;
    }
    for (const auto& [ref, m] : p.extra->monitors) {
        const Term type = m.time_offset ? atoms::time_offset : m.port ? atoms::port : atoms::process;
        list = cons(h, monitor_term(h, type, "origin", ref, m.target, m.name), list);
    }
    for (const auto& [ref, m] : p.extra->monitored_by) {
        list = cons(h, monitor_term(h, is_local_port(m.watcher) ? atoms::port : atoms::process, "target", ref,
                                    m.watcher, m.name),
                    list);
    }
    return list;
}

// Asks a process for a list about itself.
template <Term (*list_of)(Process&, Heap&)>
Term ask_for_list(Process& p, Term pid) {
    if (pid == p.id) {
        return list_of(p, p.heap);
    }
    if (process_table::lookup(pid) == nullptr) {
        return atoms::undefined;
    }
    ControlSignal* s = new_signal(SignalKind::rpc, p.id);
    const RefId ref = new_ref_id(p);
    s->ref = ref;
    s->run = [](Process& target, ControlSignal& request) {
        Heap h;
        reply(request, list_of(target, h));
    };
    s->gone = [](ControlSignal& request) { reply(request, atoms::undefined); };
    send_signal(pid, s);
    static const Export* const await_result = bif_export("erts_internal", "await_result", 1);
    return trap(p, await_result, {put_ref(p.heap.alloc(kRefWords), ref)});
}

Term links_of_port(Process& p, Term port) {
    port::Info info;
    if (!port::info(port, &info)) {
        return atoms::undefined;
    }
    Term list = kNil;
    for (const Term with : info.links) {
        list = cons(p.heap, link_term(p.heap, with, false, 0), list);
    }
    return list;
}

// get_internal_state({What, Of}); the non-value: no such state.
Term state_of(Process& p, Term what, Term of) {
    if (is(what, "process_status") && is_local_pid(of)) {
        return process_status(of);
    }
    if (is(what, "atom") && is_small(of)) {
        const int64_t n = small_value(of);
        return n >= 0 && n < atom_table::count() ? make_atom(static_cast<uint32_t>(n)) : kNonValue;
    }
    if (is(what, "internal_hash")) {
        return make_unsigned(p.heap, order_hash(of));
    }
    if (is(what, "binary_info")) {
        return binary_info(p, of);
    }
    if (is(what, "magic_ref") && is_magic_ref(of)) {
        const MagicObject* const object = magic_object(of);
        // relaxed: a number to show.
        return make_tuple(p.heap, make_unsigned(p.heap, reinterpret_cast<uint64_t>(object)),
                          make_unsigned(p.heap, object->refs.load(std::memory_order_relaxed)),
                          atoms::true_);
    }
    return kNonValue;
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
    if (is(a[0], "processes") || is(a[0], "memory")) {
        return trap(p, bif_export("erlang", is(a[0], "memory") ? "memory" : "processes", 0), {});
    }
    if (is(a[0], "process_info_args")) {
        return list_of(p.heap, process_info_items());
    }
    if (is(a[0], "flxctr_memory_usage")) {
        return atom_table::intern("notsup");  // tables have no such counters
    }
    if (is(a[0], "next_pid")) {
        return make_unsigned(p.heap, process_table::next_number());
    }
    if (is(a[0], "stack_check")) {
        return make_unsigned(p.heap, free_stack_bytes());
    }
    if (is(a[0], "nbalance")) {
        // Schedulers balance without rounds here; this many reductions make OTP begin one.
        constexpr uint64_t kReductionsOfRound = 2000 * 2000;
        return make_unsigned(p.heap, vm::statistics().reductions /
                                         (kReductionsOfRound * static_cast<uint64_t>(vm::scheduler_count())));
    }
    if (is(a[0], "node_and_dist_references")) {
        // References to nodes are not counted here.
        return make_tuple(p.heap, make_tuple(p.heap, atom_table::intern("node_references"), kNil),
                          make_tuple(p.heap, atom_table::intern("dist_references"), kNil));
    }
    if (is_tuple_of(a[0], 2)) {
        const Term of = tuple_element(a[0], 1);
        if (is(tuple_element(a[0], 0), "link_list") && is_pid_or_port(of)) {
            return is_local_port(of) ? links_of_port(p, of) : ask_for_list<links_of>(p, of);
        }
        if (is(tuple_element(a[0], 0), "monitor_list") && is_local_pid(of)) {
            return ask_for_list<monitors_of>(p, of);
        }
        const Term value = state_of(p, tuple_element(a[0], 0), tuple_element(a[0], 1));
        if (is_value(value)) {
            return value;
        }
    }
    if (is(a[0], "persistent_term")) {
        // The table's part of the memory in persistent_term:info/0, which leaves the table out.
        Term keys[1] = {atom_table::intern("table")};
        Term values[1] = {make_small(0)};
        return map::from_pairs(p.heap, keys, values, 1);
    }
    return badarg(p);
}

#ifdef MINIVM_DEBUG
// minivm:leave_out_rereads(Boolean): whether Options::left_out_rereads takes effect.
Term minivm_leave_out_rereads_1(Process& p, const Term* a) {
    if (a[0] != atoms::true_ && a[0] != atoms::false_) {
        return badarg(p);
    }
    // relaxed: messages order what follows.
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
