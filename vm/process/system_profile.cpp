#include "vm/process/system_profile.hpp"

#include "vm/code/code_index.hpp"
#include "vm/code/export.hpp"
#include "vm/code/module_table.hpp"
#include "vm/process/clock.hpp"
#include "vm/process/scheduling.hpp"
#include "vm/process/state.hpp"
#include "vm/process/tracing.hpp"
#include "vm/progress/thread_progress.hpp"
#include "vm/term/local_atoms.hpp"

namespace minivm::system_profile {


namespace {

LOCAL_ATOM(atom_active, "active")
LOCAL_ATOM(atom_inactive, "inactive")
LOCAL_ATOM(atom_profile, "profile")

std::mutex g_lock;
Settings g_settings;        // guarded by g_lock
int g_active_schedulers = 0;  // guarded by g_lock; counted only while scheduler events are wanted

// The profiler's pid, for threads that must not take the lock. 0: none.
std::atomic<uint64_t> g_profiler{0};

Term time_of(Heap& h) {
    if ((g_settings.timestamp & tracing::kTimestamp) != 0) {
        return clock::now(h);
    }
    const Term time = make_integer(h, clock::monotonic_ns());
    return (g_settings.timestamp & tracing::kStrictMonotonicTimestamp) != 0
               ? make_tuple(h, time, clock::unique_integer(h, true, false))
               : time;
}

void clear_locked() {
    g_settings = Settings{};
    watchers::set_bits(0, watchers::kProfileShift, watchers::kProfileBits);
}

// With g_lock held.
void send(Term message) {
    if (!tracing::tell_tracer(g_settings.profiler, message)) {
        clear_locked();
    }
}

Term turn_tag(bool active) { return active ? atom_active() : atom_inactive(); }

}  // namespace

Settings settings() {
    const thread_progress::DelaySection section;  // ends after the lock: its end may run deferred work
    const std::lock_guard lock(g_lock);
    if (is_value(g_settings.profiler) && !tracing::tracer_exists(g_settings.profiler)) {
        clear_locked();
    }
    return g_settings;
}

void set(const Settings& s) {
    const std::lock_guard lock(g_lock);
    g_settings = s;
    g_active_schedulers = active_schedulers();
    // relaxed: see Turn::begin(), which looks again under the lock.
    g_profiler.store(is_value(s.profiler) ? s.profiler.raw : 0, std::memory_order_relaxed);
    watchers::set_bits(s.events, watchers::kProfileShift, watchers::kProfileBits);
}

void Turn::begin(const Process& p) {
    // relaxed: the thread that wakes the profiler holds the lock, under which it has read the pid; other threads look
    // again under the lock.
    if (g_profiler.load(std::memory_order_relaxed) == p.id.raw) {
        return;
    }
    section_.emplace();
    lock_ = std::unique_lock(g_lock);
    if ((g_settings.events & kRunnableProcs) == 0 || g_settings.profiler == p.id) {
        lock_.unlock();
    }
}

void Turn::find_place(const Process& p) {
    pid_ = p.id;
    module_ = kNonValue;
    // relaxed: the caller owns it.
    if ((p.state.load(std::memory_order_relaxed) & process_state::kExiting) != 0) {
        return;
    }
    FunctionInfo where{};
    if (p.pc != nullptr && module_table::lookup(p.pc, code_index::active(), false, &where)) {
        module_ = where.module;
        function_ = where.function;
        arity_ = where.arity;
    } else if (const Export* e = p.initial_call) {
        module_ = e->module;
        function_ = e->function;
        arity_ = e->arity;
    }
}

void Turn::tell(bool active) const {
    Heap h;
    const Term place = is_value(module_) ? make_tuple(h, module_, function_, make_small(arity_))
                                         : make_small(0);
    send(make_tuple(h, atom_profile(), pid_, turn_tag(active), place, time_of(h)));
}

void port_turn(Term port, bool active) {
    const thread_progress::DelaySection section;
    const std::lock_guard lock(g_lock);
    if ((g_settings.events & kRunnablePorts) != 0) {
        Heap h;
        send(make_tuple(h, atom_profile(), port, turn_tag(active), make_small(0), time_of(h)));
    }
}

void scheduler_turn(int number, bool active) {
    const thread_progress::DelaySection section;
    const std::lock_guard lock(g_lock);
    if ((g_settings.events & kScheduler) != 0) {
        g_active_schedulers += active ? 1 : -1;
        Heap h;
        send(make_tuple(h, atom_profile(), atoms::scheduler, make_small(number), turn_tag(active),
                           make_small(g_active_schedulers), time_of(h)));
    }
}

void caller_turn(bool active) {
    const Scheduler* s = this_scheduler();
    if (s != nullptr && s->process != nullptr) {
        Turn turn(*s->process);
        turn.look_at(*s->process);
        turn.became(active);
    }
}

}  // namespace minivm::system_profile
