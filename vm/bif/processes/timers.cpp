// BIFs about time: clocks, unique integers, timers, and the counters of statistics/1.
#include "vm/process/timers.hpp"

#include "vm/bif/bif.hpp"
#include "vm/bif/processes/microstates.hpp"
#include "vm/port/port.hpp"
#include "vm/process/clock.hpp"
#include "vm/process/process_life.hpp"
#include "vm/process/process_table.hpp"
#include "vm/process/signal.hpp"
#include "vm/sched/scheduler_thread.hpp"
#include "vm/term/bignum.hpp"
#include "vm/term/local_atoms.hpp"
#include "vm/term/map.hpp"
#include "vm/util/activity.hpp"

#include <algorithm>
#include <atomic>
#include <ctime>
#include <mutex>
#include <vector>

namespace minivm {

namespace {

LOCAL_ATOM(atom_perf_counter, "perf_counter")
LOCAL_ATOM(atom_positive, "positive")
LOCAL_ATOM(atom_read_timer, "read_timer")
LOCAL_ATOM(atom_active_tasks, "active_tasks")
LOCAL_ATOM(atom_active_tasks_all, "active_tasks_all")
LOCAL_ATOM(atom_total_active_tasks, "total_active_tasks")
LOCAL_ATOM(atom_total_active_tasks_all, "total_active_tasks_all")
LOCAL_ATOM(atom_run_queue_lengths_all, "run_queue_lengths_all")
LOCAL_ATOM(atom_total_run_queue_lengths, "total_run_queue_lengths")
LOCAL_ATOM(atom_total_run_queue_lengths_all, "total_run_queue_lengths_all")
LOCAL_ATOM(atom_run_queues, "run_queues")
LOCAL_ATOM(atom_scheduler_wall_time_all, "scheduler_wall_time_all")
LOCAL_ATOM(atom_microstate_accounting, "microstate_accounting")

// ---- clocks ---------------------------------------------------------------------------------------
constexpr int64_t kNanosecond = 1000000000;

// The parts of a second of a time unit. False: no time unit.
bool parse_unit(Term t, uint64_t* parts) {
    if (t == atoms::nanosecond || t == atoms::native || t == atom_perf_counter() ||
        t == atoms::nano_seconds) {
        *parts = kNanosecond;
    } else if (t == atoms::microsecond || t == atoms::micro_seconds) {
        *parts = 1000000;
    } else if (t == atoms::millisecond || t == atoms::milli_seconds) {
        *parts = 1000;
    } else if (t == atoms::second || t == atoms::seconds) {
        *parts = 1;
    } else {
        return get_uint64(t, parts) && *parts > 0;
    }
    return true;
}

// floor(ns * parts / 10^9)
Term in_unit(Heap& h, int64_t ns, uint64_t parts) {
    const __int128 product = static_cast<__int128>(ns) * static_cast<__int128>(parts);
    __int128 quotient = product / kNanosecond;
    if (product % kNanosecond < 0) {
        --quotient;
    }
    if (quotient >= INT64_MIN && quotient <= INT64_MAX) {
        return make_integer(h, static_cast<int64_t>(quotient));
    }
    const bool negative = quotient < 0;
    const auto magnitude = static_cast<unsigned __int128>(negative ? -quotient : quotient);
    const uint64_t limbs[2] = {static_cast<uint64_t>(magnitude),
                               static_cast<uint64_t>(magnitude >> 64)};
    return bignum::from_limbs(h, negative, limbs, 2);
}

Term time_in(Process& p, int64_t ns, Term unit) {
    uint64_t parts;
    return parse_unit(unit, &parts) ? in_unit(p.heap, ns, parts) : badarg(p);
}

Term erlang_monotonic_time_0(Process& p, const Term*) {
    return make_integer(p.heap, clock::monotonic_ns());
}
Term erlang_monotonic_time_1(Process& p, const Term* a) { return time_in(p, clock::monotonic_ns(), a[0]); }
Term erlang_system_time_0(Process& p, const Term*) { return make_integer(p.heap, clock::system_ns()); }
Term erlang_system_time_1(Process& p, const Term* a) { return time_in(p, clock::system_ns(), a[0]); }
Term erlang_time_offset_0(Process& p, const Term*) {
    return make_integer(p.heap, clock::offset_ns());
}
Term erlang_time_offset_1(Process& p, const Term* a) {
    return time_in(p, clock::offset_ns(), a[0]);
}

Term os_now(Process& p, clockid_t clock, const Term* unit) {
    timespec t;
    clock_gettime(clock, &t);
    const int64_t ns = static_cast<int64_t>(t.tv_sec) * kNanosecond + t.tv_nsec;
    return unit == nullptr ? make_integer(p.heap, ns) : time_in(p, ns, *unit);
}
Term os_system_time_0(Process& p, const Term*) { return os_now(p, CLOCK_REALTIME, nullptr); }
Term os_system_time_1(Process& p, const Term* a) { return os_now(p, CLOCK_REALTIME, a); }
Term os_perf_counter_0(Process& p, const Term*) { return os_now(p, CLOCK_MONOTONIC, nullptr); }

Term erlang_timestamp_0(Process& p, const Term*) { return clock::timestamp(p.heap); }
Term os_timestamp_0(Process& p, const Term*) {
    timespec t;
    clock_gettime(CLOCK_REALTIME, &t);
    return clock::mega_seconds(p.heap, static_cast<int64_t>(t.tv_sec) * 1000000 + t.tv_nsec / 1000);
}

Term erlang_now_0(Process& p, const Term*) { return clock::now(p.heap); }

Term erts_internal_time_unit_0(Process&, const Term*) { return make_small(kNanosecond); }
Term erts_internal_perf_counter_unit_0(Process&, const Term*) { return make_small(kNanosecond); }

// ---- unique integers ----------------------------------------------------------------------------------

Term erlang_unique_integer_0(Process& p, const Term*) { return clock::unique_integer(p.heap, false, false); }

Term erlang_unique_integer_1(Process& p, const Term* a) {
    bool positive = false;
    bool monotonic = false;
    Term list = a[0];
    for (; is_cons(list); list = tail(list)) {
        if (head(list) == atom_positive()) {
            positive = true;
        } else if (head(list) == atoms::monotonic) {
            monotonic = true;
        } else {
            return badarg(p);
        }
    }
    return is_nil(list) ? clock::unique_integer(p.heap, monotonic, positive) : badarg(p);
}

// ---- timers -------------------------------------------------------------------------------------------------

// Rounded down.
constexpr int64_t kBeginMs = (clock::kBegin - 999999) / 1000000;
static_assert(clock::kBegin < 0);
// How long after the beginning a timer may be due. OTP counts nanoseconds in 64 bits from one second on, up to the last
// whole second.
constexpr int64_t kLongestMs = (INT64_MAX / 1000000000 - 1) * 1000;

// When a timer of `time` milliseconds is due, by the clock of monotonic_ms(); abs: `time` is an Erlang
// monotonic time. False: out of range.
bool due_time(Term time, bool abs, uint64_t* due_ms) {
    int64_t t;
    if (!get_int64(time, &t)) {
        return false;
    }
    // Erlang's time is kBegin when our clock is at `start`.
    const uint64_t start = clock::start_of_machine_ns();
    if (abs) {
        if (t < kBeginMs || t > kBeginMs + kLongestMs) {
            return false;
        }
        // In nanoseconds: kBegin is no whole number of milliseconds, and a timer is never early.
        const int64_t since = t * 1000000 - clock::kBegin;
        const uint64_t since_ns = since < 0 ? 0 : static_cast<uint64_t>(since);
        *due_ms = (start + since_ns + 999999) / 1000000;
        return true;
    }
    const uint64_t now = minivm::monotonic_ns();
    if (t < 0 || t > kLongestMs - static_cast<int64_t>((now - start) / 1000000)) {
        return false;
    }
    *due_ms = (now + 999999) / 1000000 + static_cast<uint64_t>(t);
    return true;
}

// [{abs, Bool}]
bool parse_abs(Term list, bool* abs) {
    for (; is_cons(list); list = tail(list)) {
        const Term o = head(list);
        if (!is_tuple_of(o, 2) || tuple_element(o, 0) != atoms::abs ||
            !is_bool(tuple_element(o, 1))) {
            return false;
        }
        *abs = tuple_element(o, 1) == atoms::true_;
    }
    return is_nil(list);
}

Term start_timer(Process& p, const Term* a, Term options, bool wrap) {
    bool abs = false;
    uint64_t due;
    if (!parse_abs(options, &abs)) {
        return badarg_cause(p, atoms::badopt);
    }
    if (!due_time(a[0], abs, &due)) {
        return badarg_cause(p, atoms::time);
    }
    if (!is_local_pid(a[1]) && !is_atom(a[1])) {
        return badarg(p);
    }
    const RefId ref = timers::start(p, due, a[1], a[2], wrap);
    return put_ref(p.heap.alloc(kRefWords), ref);
}

Term erlang_send_after_3(Process& p, const Term* a) { return start_timer(p, a, kNil, false); }
Term erlang_send_after_4(Process& p, const Term* a) { return start_timer(p, a, a[3], false); }
Term erlang_start_timer_3(Process& p, const Term* a) { return start_timer(p, a, kNil, true); }
Term erlang_start_timer_4(Process& p, const Term* a) { return start_timer(p, a, a[3], true); }

Term left_term(Heap& h, int64_t left) { return left < 0 ? atoms::false_ : make_integer(h, left); }

// [{async, Bool}] and, for cancel_timer, [{info, Bool}]
bool parse_access(Term list, bool* async, bool* info) {
    for (; is_cons(list); list = tail(list)) {
        const Term o = head(list);
        if (!is_tuple_of(o, 2) || !is_bool(tuple_element(o, 1))) {
            return false;
        }
        const bool value = tuple_element(o, 1) == atoms::true_;
        if (tuple_element(o, 0) == atoms::async) {
            *async = value;
        } else if (info != nullptr && tuple_element(o, 0) == atoms::info) {
            *info = value;
        } else {
            return false;
        }
    }
    return is_nil(list);
}

// The answer by message: {Tag, TimerRef, Result}.
void send_answer(Process& p, Term tag, Term timer, int64_t left) {
    Heap h;
    send_message_to_pid(p.id, make_tuple(h, tag, copy_term(timer, h, true), left_term(h, left)));
}

Term access_timer(Process& p, Term timer, Term options, bool cancel) {
    bool async = false;
    bool info = true;
    if (!parse_access(options, &async, cancel ? &info : nullptr)) {
        return badarg(p);
    }
    if (!is_reference(timer)) {
        return badarg(p);
    }
    int64_t left = -1;
    if (is_local_ref(timer)) {
        left = cancel ? timers::cancel(ref_id(timer)) : timers::read(ref_id(timer));
    }
    if (async) {
        if (info) {
            send_answer(p, cancel ? atoms::cancel_timer : atom_read_timer(), timer, left);
        }
        return atoms::ok;
    }
    return info ? left_term(p.heap, left) : atoms::ok;
}

Term erlang_cancel_timer_1(Process& p, const Term* a) { return access_timer(p, a[0], kNil, true); }
Term erlang_cancel_timer_2(Process& p, const Term* a) { return access_timer(p, a[0], a[1], true); }
Term erlang_read_timer_1(Process& p, const Term* a) { return access_timer(p, a[0], kNil, false); }
Term erlang_read_timer_2(Process& p, const Term* a) { return access_timer(p, a[0], a[1], false); }

// ---- statistics ------------------------------------------------------------------------------------------------

// {Total, SinceLastCall}
Term since_last(Process& p, uint64_t total, std::atomic<uint64_t>& last) {
    // relaxed: numbers to show.
    const uint64_t before = last.exchange(total, std::memory_order_relaxed);
    const uint64_t since = total > before ? total - before : 0;
    return make_tuple(p.heap, make_unsigned(p.heap, total), make_unsigned(p.heap, since));
}

uint64_t all_reductions(Process& p) {
    // The sum lacks the reductions of slices that still run; only those of ours are known here.
    return vm::statistics().reductions +
           static_cast<uint64_t>(std::max<int64_t>(0, kSliceReductions - p.reductions));
}

uint64_t total_queued() {
    uint64_t n = 0;
    for (int i = 1; i <= vm::scheduler_count(); ++i) {
        n += vm::run_queue_length(i);
    }
    return n;
}

Term queue_lengths(Process& p, bool with_running, bool with_dirty_io) {
    // All dirty CPU schedulers have one queue, all dirty I/O schedulers another.
    Term list = kNil;
    if (with_dirty_io) {
        list = cons(p.heap, make_unsigned(p.heap, dirty::queued(true)), list);
    }
    list = cons(p.heap, make_unsigned(p.heap, dirty::queued(false)), list);
    for (int i = vm::scheduler_count(); i >= 1; --i) {
        // relaxed: a number to show.
        const uint64_t running =
            with_running &&
            scheduler_at(i).running.load(std::memory_order_relaxed) != SchedulerThread::kNone;
        list = cons(p.heap, make_unsigned(p.heap, vm::run_queue_length(i) + running), list);
    }
    return list;
}

uint64_t sum_of(Term list) {
    uint64_t n = 0;
    for (; is_cons(list); list = tail(list)) {
        n += static_cast<uint64_t>(small_value(head(list)));
    }
    return n;
}

// ---- scheduler_wall_time and microstate_accounting ------------------------------------------------------

int64_t clock_ns() {
    timespec t{};
    clock_gettime(CLOCK_MONOTONIC, &t);
    return int64_t{t.tv_sec} * kNanosecond + t.tv_nsec;
}

// scheduler_wall_time: what it shows counts from when it was turned on.
struct WallTime {
    std::mutex mutex;
    bool on = false;
    int64_t since_ns = 0;
    std::vector<activity::Times> before;
};
WallTime g_wall_time;

// microstate_accounting: the times while it was on, since the last reset.
struct Microstates {
    std::mutex mutex;
    bool on = false;
    std::vector<activity::Times> begin;  // when it was turned on
    std::vector<activity::Times> sums;   // until it was turned off

    // to + (a - b)
    static void add_difference(std::vector<activity::Times>& to, const std::vector<activity::Times>& a,
                               const std::vector<activity::Times>& b) {
        for (size_t i = 0; i < to.size(); ++i) {
            for (int k = 0; k < activity::kActivities; ++k) {
                to[i].ns[k] += a[i].ns[k] - b[i].ns[k];
            }
        }
    }
    void forget_locked() {
        begin = activity::times();
        sums = begin;
        for (activity::Times& t : sums) {
            std::fill(std::begin(t.ns), std::end(t.ns), 0);
        }
    }
    std::vector<activity::Times> all_locked() {
        if (sums.size() != activity::times().size()) {  // not made yet, or left by an earlier VM
            on = false;
            forget_locked();
        }
        std::vector<activity::Times> all = sums;
        if (on) {
            add_difference(all, activity::times(), begin);
        }
        return all;
    }
};
Microstates g_microstates;

// erts_internal:scheduler_wall_time(Bool) -> the former setting
Term erts_internal_scheduler_wall_time_1(Process& p, const Term* a) {
    if (a[0] != atoms::true_ && a[0] != atoms::false_) {
        return badarg(p);
    }
    std::lock_guard lock(g_wall_time.mutex);
    const bool old = g_wall_time.on;
    g_wall_time.on = a[0] == atoms::true_;
    if (g_wall_time.on && !old) {
        activity::start();
        g_wall_time.since_ns = clock_ns();
        g_wall_time.before = activity::times();
    } else if (old && !g_wall_time.on) {
        activity::stop();
    }
    return make_bool(old);
}

// [{SchedulerId, ActiveTime, TotalTime}], without the dirty I/O schedulers unless `all`.
Term scheduler_wall_time(Process& p, bool all) {
    std::lock_guard lock(g_wall_time.mutex);
    if (!g_wall_time.on) {
        return atoms::undefined;
    }
    const std::vector<activity::Times> now = activity::times();
    if (now.size() != g_wall_time.before.size()) {  // left by an earlier VM
        return atoms::undefined;
    }
    const int64_t total = clock_ns() - g_wall_time.since_ns;
    Term list = kNil;
    for (size_t i = now.size(); i > 0; --i) {
        const activity::ThreadKind kind = now[i - 1].kind;
        if (kind == activity::ThreadKind::poll ||
            (kind == activity::ThreadKind::dirty_io_scheduler && !all)) {
            continue;
        }
        const int64_t active = now[i - 1].busy_ns() - g_wall_time.before[i - 1].busy_ns();
        list = cons(p.heap,
                    make_tuple(p.heap, make_small(static_cast<int64_t>(i)),
                               make_integer(p.heap, active < total ? active : total),
                               make_integer(p.heap, total)),
                    list);
    }
    return list;
}

// [#{type, id, counters}] in units of os:perf_counter/0.
Term microstates(Process& p) {
    static constexpr const char* kKinds[] = {"scheduler", "dirty_cpu_scheduler", "dirty_io_scheduler", "poll"};
    static constexpr const char* kNames[] = {"aux", "check_io", "emulator", "gc", "other", "port", "sleep"};
    static_assert(std::size(kNames) == activity::kActivities);
    std::lock_guard lock(g_microstates.mutex);
    Term list = kNil;
    std::vector<activity::Times> all = g_microstates.all_locked();
    std::reverse(all.begin(), all.end());
    for (const activity::Times& t : all) {
        Term names[activity::kActivities];
        Term values[activity::kActivities];
        for (int k = 0; k < activity::kActivities; ++k) {
            names[k] = atom_table::intern(kNames[k]);
            values[k] = make_integer(p.heap, std::max<int64_t>(t.ns[k], 0));
        }
        const Term counters = map::from_pairs(p.heap, names, values, activity::kActivities);
        const bool is_poll = t.kind == activity::ThreadKind::poll;
        Term keys[3] = {atom_table::intern("counters"), atom_table::intern("id"), atoms::type};
        Term of[3] = {counters, make_small(is_poll ? 0 : t.number),
                      atom_table::intern(kKinds[static_cast<int>(t.kind)])};
        list = cons(p.heap, map::from_pairs(p.heap, keys, of, 3), list);
    }
    return list;
}

Term erlang_statistics_1(Process& p, const Term* a) {
    static std::atomic<uint64_t> last_reductions{0};
    static std::atomic<uint64_t> last_exact{0};
    static std::atomic<uint64_t> last_runtime{0};
    static std::atomic<uint64_t> last_wall{0};
    const Term item = a[0];
    if (item == atoms::reductions) {
        return since_last(p, all_reductions(p), last_reductions);
    }
    if (item == atoms::exact_reductions) {
        return since_last(p, all_reductions(p), last_exact);
    }
    if (item == atoms::runtime) {
        timespec t;
        clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &t);
        return since_last(p, static_cast<uint64_t>(t.tv_sec) * 1000 +
                                 static_cast<uint64_t>(t.tv_nsec) / 1000000,
                          last_runtime);
    }
    if (item == atoms::wall_clock) {
        return since_last(p, (minivm::monotonic_ns() - clock::start_of_machine_ns()) / 1000000, last_wall);
    }
    if (item == atoms::context_switches) {
        return make_tuple(p.heap, make_unsigned(p.heap, vm::statistics().context_switches),
                          make_small(0));
    }
    if (item == atoms::garbage_collection) {
        const vm::Statistics s = vm::statistics();
        return make_tuple(p.heap, make_unsigned(p.heap, s.collections),
                          make_unsigned(p.heap, s.words_reclaimed), make_small(0));
    }
    if (item == atoms::io) {
        const Term in = make_unsigned(p.heap, port::total_input());
        const Term out = make_unsigned(p.heap, port::total_output());
        return make_tuple(p.heap, make_tuple(p.heap, atoms::input, in),
                          make_tuple(p.heap, atoms::output, out));
    }
    if (item == atoms::run_queue) {
        return make_unsigned(p.heap, total_queued());
    }
    if (item == atoms::run_queue_lengths) {
        return queue_lengths(p, false, false);
    }
    if (item == atom_run_queues()) {
        Term list = queue_lengths(p, false, true);
        std::vector<Term> all;
        for (; is_cons(list); list = tail(list)) {
            all.push_back(head(list));
        }
        Term* t = p.heap.alloc(all.size() + 1);
        t[0] = Term{make_header(Kind::tuple, all.size())};
        std::copy(all.begin(), all.end(), t + 1);
        return make_boxed(t);
    }
    if (item == atom_run_queue_lengths_all()) {
        return queue_lengths(p, false, true);
    }
    if (item == atom_total_run_queue_lengths()) {
        return make_unsigned(p.heap, sum_of(queue_lengths(p, false, false)));
    }
    if (item == atom_total_run_queue_lengths_all()) {
        return make_unsigned(p.heap, sum_of(queue_lengths(p, false, true)));
    }
    if (item == atom_active_tasks()) {
        return queue_lengths(p, true, false);
    }
    if (item == atom_active_tasks_all()) {
        return queue_lengths(p, true, true);
    }
    if (item == atom_total_active_tasks()) {
        return make_unsigned(p.heap, sum_of(queue_lengths(p, true, false)));
    }
    if (item == atom_total_active_tasks_all()) {
        return make_unsigned(p.heap, sum_of(queue_lengths(p, true, true)));
    }
    if (item == atoms::scheduler_wall_time) {
        return scheduler_wall_time(p, false);
    }
    if (item == atom_scheduler_wall_time_all()) {
        return scheduler_wall_time(p, true);
    }
    if (item == atom_microstate_accounting()) {
        return microstates(p);
    }
    return badarg(p);
}

}  // namespace

Term set_microstate_accounting(Process& p, Term to) {
    if (to != atoms::true_ && to != atoms::false_ && to != atom_table::intern("reset")) {
        return badarg(p);
    }
    std::lock_guard lock(g_microstates.mutex);
    const bool old = g_microstates.on;
    if (to == atoms::true_ && !old) {
        g_microstates.all_locked();  // makes the sums
        activity::start();
        g_microstates.begin = activity::times();
        g_microstates.on = true;
    } else if (to == atoms::false_ && old) {
        g_microstates.sums = g_microstates.all_locked();
        g_microstates.on = false;
        activity::stop();
    } else if (!is_bool(to)) {
        g_microstates.forget_locked();
    }
    return make_bool(old);
}

MINIVM_BIF_TABLE(timers) = {
    {"erts_internal", "scheduler_wall_time", 1, erts_internal_scheduler_wall_time_1, kBifPlain,
     nullptr},
    {"erlang", "monotonic_time", 0, erlang_monotonic_time_0, kBifPlain, nullptr},
    {"erlang", "monotonic_time", 1, erlang_monotonic_time_1, kBifPlain, nullptr},
    {"erlang", "system_time", 0, erlang_system_time_0, kBifPlain, nullptr},
    {"erlang", "system_time", 1, erlang_system_time_1, kBifPlain, nullptr},
    {"erlang", "time_offset", 0, erlang_time_offset_0, kBifPlain, nullptr},
    {"erlang", "time_offset", 1, erlang_time_offset_1, kBifPlain, nullptr},
    {"erlang", "timestamp", 0, erlang_timestamp_0, kBifPlain, nullptr},
    {"erlang", "now", 0, erlang_now_0, kBifPlain, nullptr},
    {"os", "system_time", 0, os_system_time_0, kBifPlain, nullptr},
    {"os", "system_time", 1, os_system_time_1, kBifPlain, nullptr},
    {"os", "timestamp", 0, os_timestamp_0, kBifPlain, nullptr},
    {"os", "perf_counter", 0, os_perf_counter_0, kBifPlain, nullptr},
    {"erts_internal", "time_unit", 0, erts_internal_time_unit_0, kBifPlain, nullptr},
    {"erts_internal", "perf_counter_unit", 0, erts_internal_perf_counter_unit_0, kBifPlain, nullptr},
    {"erlang", "unique_integer", 0, erlang_unique_integer_0, kBifPlain, nullptr},
    {"erlang", "unique_integer", 1, erlang_unique_integer_1, kBifPlain, nullptr},
    {"erlang", "send_after", 3, erlang_send_after_3, kBifPlain, nullptr},
    {"erlang", "send_after", 4, erlang_send_after_4, kBifPlain, nullptr},
    {"erlang", "start_timer", 3, erlang_start_timer_3, kBifPlain, nullptr},
    {"erlang", "start_timer", 4, erlang_start_timer_4, kBifPlain, nullptr},
    {"erlang", "cancel_timer", 1, erlang_cancel_timer_1, kBifPlain, nullptr},
    {"erlang", "cancel_timer", 2, erlang_cancel_timer_2, kBifPlain, nullptr},
    {"erlang", "read_timer", 1, erlang_read_timer_1, kBifPlain, nullptr},
    {"erlang", "read_timer", 2, erlang_read_timer_2, kBifPlain, nullptr},
    {"erlang", "statistics", 1, erlang_statistics_1, kBifPlain, nullptr},
};

}  // namespace minivm
