#include "trace/tracer.hpp"

#include "trace/session.hpp"
#include "trace/tracer_recorder.hpp"
#include "vm/code/code_index.hpp"
#include "vm/code/export.hpp"
#include "vm/code/module_table.hpp"
#include "vm/instr/bif_def.hpp"
#include "vm/port/port.hpp"
#include "vm/process/clock.hpp"
#include "vm/process/process_table.hpp"
#include "vm/process/signal.hpp"
#include "vm/process/state.hpp"
#include "vm/progress/thread_progress.hpp"
#include "vm/sched/scheduler.hpp"
#include "vm/term/local_atoms.hpp"
#include "vm/util/lock.hpp"
#include "vm/util/otp_release.hpp"

#include <mutex>

namespace minivm::trace {

LOCAL_ATOM(atom_erl_tracer, "erl_tracer")

namespace {

using namespace tracing;

// Orders the replacement of States, and guards the flags of new processes and ports.
CountedMutex g_tracers_lock{LockKind::tracers};
std::vector<State> g_new[2];  // by New; none without flags
std::vector<State>& new_of(New which) {
    return g_new[static_cast<size_t>(which)];
}

// In the order of trace_info/2 in OTP, the last one first.
constexpr struct {
    const char* name;
    uint32_t flag;
} kFlags[] = {
    {"timestamp", kTimestamp},
    {"strict_monotonic_timestamp", kStrictMonotonicTimestamp},
    {"monotonic_timestamp", kMonotonicTimestamp},
    {"send", kSend},
    {"receive", kReceive},
    {"set_on_spawn", kSetOnSpawn},
    {"call", kCall},
    {"procs", kProcs},
    {"set_on_first_spawn", kSetOnFirstSpawn},
    {"set_on_link", kSetOnLink},
    {"set_on_first_link", kSetOnFirstLink},
    {"running", kRunning},
    {"exiting", kExiting},
    {"garbage_collection", kGarbageCollection},
    {"arity", kArity},
    {"return_to", kReturnTo},
    {"silent", kSilent},
    {"scheduler_id", kSchedulerId},
    {"ports", kPorts},
    {"running_ports", kRunningPorts},
    {"running_procs", kRunningProcs},
};

void free_states(void* first) {
    for (const auto* s = static_cast<const State*>(first); s != nullptr;) {
        const State* next = s->next;
        delete s;
        s = next;
    }
}

// Holds the lock for one change. Defers the freeing of old States after it has released the lock: on a
// thread that is no scheduler later() may run other work at once, which may take the lock.
class FlagChange {
public:
    FlagChange() : lock_(g_tracers_lock) {}
    ~FlagChange() {
        lock_.unlock();
        if (gone_ != nullptr) {
            thread_progress::later(free_states, const_cast<State*>(gone_));
        }
    }
    FlagChange(const FlagChange&) = delete;
    FlagChange& operator=(const FlagChange&) = delete;

    // Readers may hold the former States of a process or port until they have passed.
    template <typename T>
    void put(T& p, const State* first) {
        MINIVM_ASSERT(gone_ == nullptr);
        // release: pairs with state_of().
        gone_ = p.trace.exchange(first, std::memory_order_acq_rel);
        note(p, first != nullptr);
    }

private:
    static void note(Process& p, bool traced) { watchers::set(p.watchers, watchers::kTraced, traced); }
    static void note(TracedPort&, bool) {}
    std::unique_lock<CountedMutex> lock_;
    const State* gone_ = nullptr;
};

// Replaces the session's State by `wanted`, whose `all` and `next` do not matter; flags 0: takes it
// out.
template <typename T>
void replace(FlagChange& change, T& p, const State& wanted) {
    std::vector<State> all;
    bool placed = false;
    for (const State* s = state_of(p); s != nullptr; s = s->next) {
        if (!placed && s->session >= wanted.session) {
            all.push_back(wanted);
            placed = true;
        }
        if (s->session != wanted.session) {
            all.push_back(*s);
        }
    }
    if (!placed) {
        all.push_back(wanted);
    }
    const State* first = nullptr;
    while (!all.empty()) {
        State s = all.back();
        all.pop_back();
        if (s.flags != 0) {
            s.next = first;
            s.all = s.flags | (first != nullptr ? first->all : 0);
            first = new State(s);
        }
    }
    change.put(p, first);
}

bool is_ending(const Process& p) {
    // acquire: a process that ends sets kExiting before clear_all_flags() takes the lock that we hold.
    return (p.state.load(std::memory_order_acquire) & process_state::kExiting) != 0;
}
bool is_ending(const TracedPort& port) {
    return port.ended;
}

// Whether tracer is a port whose tracers lead to `port`. Events go from port to port, each with its lock held, so
// they must not come back.
bool leads_to_locked(Term tracer, Term port) {
    if (!is_local_port(tracer)) {
        return false;
    }
    const std::shared_ptr<TracedPort> by = port::traced(tracer);
    for (const State* s = by != nullptr ? state_of(*by) : nullptr; s != nullptr; s = s->next) {
        const Term next = s->tracer.term();
        if (next != tracer && (next == port || leads_to_locked(next, port))) {
            return true;
        }
    }
    return false;
}
bool is_circle_locked(const Process&, const Tracer*) {
    return false;
}
bool is_circle_locked(const TracedPort& port, const Tracer* tracer) {
    return tracer != nullptr && !tracer->is(port.id) && leads_to_locked(tracer->term(), port.id);
}

Term time_of(Heap& h, uint32_t flags) {
    if ((flags & kTimestamp) != 0) {
        // relaxed: an event at the same time as a change has the one or the other.
        if (g_cpu_timestamps.load(std::memory_order_relaxed)) {
            return clock::cpu_time(h);
        }
        return clock::now(h);  // strictly increasing, as programs expect
    }
    const Term now = make_integer(h, clock::monotonic_ns());
    return (flags & kStrictMonotonicTimestamp) != 0
               ? make_tuple(h, now, clock::unique_integer(h, true, false))
               : now;
}

}  // namespace

uint32_t flag_of(Term name) {
    const std::string_view text = atom_table::text(name);
    uint32_t all = 0;
    for (const auto& f : kFlags) {
        if (text == f.name) {
            return f.flag;
        }
        all |= f.flag;
    }
    return text == "all" ? all : 0;  // `silent` is one of them, as in OTP
}

Term flag_list(Heap& h, uint32_t flags) {
    Term list = kNil;
    for (const auto& f : kFlags) {
        if ((flags & f.flag) != 0) {
            list = cons(h, atom_table::intern(f.name), list);
        }
    }
    return list;
}

bool parse_module_tracer(Term module, Term state, Tracer* tracer) {
    if (is_recorder(module)) {
        *tracer = Tracer(module);
        return true;
    }
    if (module == atom_erl_tracer() && (is_local_pid(state) || is_local_port(state))) {
        *tracer = Tracer(state);
        return true;
    }
    // erl_tracer takes any state; can_trace() finds later that it is no tracer.
    if (!is_atom(module) || (module != atom_erl_tracer() && !nif::tracer::is_tracer(module))) {
        return false;
    }
    *tracer = Tracer::of_module(module, state);
    return true;
}

bool can_trace(const Tracer& tracer, Term tracee) {
    return is_recorder(tracer) || is_saver(tracer) || (tracer.is_module() ? nif::tracer::is_active(tracer, tracee)
                                                      : tracing::tracer_exists(tracer.term()));
}

bool parse_tracer(Term t, Term tag, Tracer* tracer) {
    if (is_tuple_of(t, 3) && tuple_element(t, 0) == tag) {
        return parse_module_tracer(tuple_element(t, 1), tuple_element(t, 2), tracer);
    }
    if (!is_tuple_of(t, 2) || tuple_element(t, 0) != tag) {
        return false;
    }
    const Term pid = tuple_element(t, 1);
    if (!is_local_pid(pid) && !is_local_port(pid)) {
        return false;
    }
    *tracer = Tracer(pid);
    return true;
}

Term shown_tracer(Heap& h, const Tracer& tracer) {
    if (is_recorder(tracer)) {
        return make_tuple(h, tracer.term(), kNil);
    }
    const bool is_default = tracer.is_module() && tracer.module() == atom_erl_tracer();
    return copy_term(is_default ? tracer.state() : tracer.term(), h, false);
}

Term tracer_term(Heap& h, const Tracer& tracer, Term tracee) {
    return can_trace(tracer, tracee) ? shown_tracer(h, tracer) : kNil;
}

// ---- flags --------------------------------------------------------------------------------------

// A session that ends is first taken out of the list of sessions, and then clears its flags under the lock: who
// holds the lock and still finds the session sets flags before that.

template <typename T>
static Set set_flags_of(T& p, uint32_t session, bool on, uint32_t flags, const Tracer* tracer) {
    Tracer gone;  // another tracer that has ended, found out without the lock, as a module may be asked
    for (;;) {
        Tracer other;
        {
            FlagChange change;
            if (is_ending(p) || !is_live(session)) {
                return Set::dead;
            }
            if (on && is_circle_locked(p, tracer)) {
                return Set::taken;
            }
            const State* old = state_of(p, session);
            if (old == nullptr || tracer == nullptr || old->tracer == *tracer ||
                old->tracer.is_copy_of(gone) || (!on && by_release::traces_by_session())) {
                State now = old != nullptr ? *old : State{0, Tracer(), session};
                now.flags = on ? now.flags | flags : now.flags & ~flags;
                now.tracer = tracer != nullptr ? *tracer : now.tracer;
                replace(change, p, now);
                return Set::done;
            }
            other = old->tracer;
        }
        if (can_trace(other, p.id)) {
            return Set::taken;
        }
        gone = std::move(other);
    }
}

Set set_flags(Process& p, uint32_t session, bool on, uint32_t flags, const Tracer* tracer) {
    return set_flags_of(p, session, on, flags, tracer);
}
Set set_flags(TracedPort& port, uint32_t session, bool on, uint32_t flags, const Tracer* tracer) {
    return set_flags_of(port, session, on, flags, tracer);
}

void change_flags(Process& p, uint32_t session, uint32_t off, uint32_t on, const Tracer* tracer) {
    FlagChange change;
    if (is_ending(p) || !is_live(session)) {
        return;
    }
    const State* old = state_of(p, session);
    const uint32_t now = ((old != nullptr ? old->flags : 0) & ~off) | on;
    const Tracer by = tracer != nullptr ? *tracer : old != nullptr ? old->tracer : Tracer();
    replace(change, p, {is_tracer(by.term()) ? now : 0, by, session});
}

template <typename T>
static void clear_flags_of(T& p, uint32_t session, const Tracer* by) {
    FlagChange change;
    const State* now = state_of(p, session);
    if (now != nullptr && (by == nullptr || now->tracer.is_copy_of(*by))) {
        replace(change, p, {0, Tracer(), session});
    }
}
void clear_flags(Process& p, uint32_t session) {
    clear_flags_of(p, session, nullptr);
}
void clear_flags(Process& p, const State& s) {
    clear_flags_of(p, s.session, &s.tracer);
}
void clear_flags(TracedPort& port, uint32_t session) {
    clear_flags_of(port, session, nullptr);
}
void clear_flags(TracedPort& port, const State& s) {
    clear_flags_of(port, s.session, &s.tracer);
}

void clear_all_flags(Process& p) {
    FlagChange().put(p, nullptr);
}

void clear_all_flags(TracedPort& port) {
    FlagChange change;
    port.ended = true;
    change.put(port, nullptr);
}

// A process that begins at the same time may miss the change.
static void note_new_locked() {
    watchers::set(watchers::g_of_all, watchers::kNewTraced, !new_of(New::processes).empty());
}
static void erase_new_locked(New which, const State* s) {
    std::vector<State>& all = new_of(which);
    all.erase(all.begin() + (s - all.data()));
}

// Null: the session has none.
static State* find_new_locked(New which, uint32_t session) {
    for (State& s : new_of(which)) {
        if (s.session == session) {
            return &s;
        }
    }
    return nullptr;
}

void set_new_flags(New which, uint32_t session, bool on, uint32_t flags, const Tracer* tracer) {
    {
        const std::lock_guard lock(g_tracers_lock);
        State now{0, Tracer(), session};
        if (State* const old = find_new_locked(which, session)) {
            now = *old;
            erase_new_locked(which, old);
        }
        now.flags = on ? now.flags | flags : now.flags & ~flags;
        // Flags without a tracer are dropped: so clearing some without naming the tracer clears all, as in
        // OTP.
        now.tracer = tracer != nullptr ? *tracer : Tracer();
        if (is_tracer(now.tracer.term()) && now.flags != 0 && is_live(session)) {
            new_of(which).push_back(now);
        }
        note_new_locked();
    }
    all_new_flags(which);
}

State new_flags(New which, uint32_t session) {
    for (const State& s : all_new_flags(which)) {
        if (s.session == session) {
            return s;
        }
    }
    return {0, Tracer(), session};
}

std::vector<State> all_new_flags(New which) {
    std::vector<State> all;
    {
        const std::lock_guard lock(g_tracers_lock);
        all = new_of(which);
    }
    // Not under the lock: modules may be asked.
    std::erase_if(all, [which](const State& s) {
        if (can_trace(s.tracer, atoms::undefined)) {
            return false;
        }
        const std::lock_guard lock(g_tracers_lock);
        State* const now = find_new_locked(which, s.session);
        if (now != nullptr && now->tracer.is_copy_of(s.tracer)) {
            erase_new_locked(which, now);
            note_new_locked();
        }
        return true;
    });
    return all;
}

// ---- messages -----------------------------------------------------------------------------------

// Whether functions of a module may know in which process they are called, and end the trace: for
// events that happen on the scheduler of that process.
static bool is_own(EventKind kind) {
    return kind == EventKind::call || kind == EventKind::send || kind == EventKind::running_procs ||
           kind == EventKind::garbage_collection;
}

// The process that functions of a module see themselves called in, or null.
static Process* self_of(Process& p, EventKind kind) {
    return is_own(kind) ? &p : nullptr;
}
static Process* self_of(TracedPort&, EventKind) {
    return nullptr;
}

template <typename T>
static bool wants_of(T& p, const State& s, EventKind kind, Term tag) {
    if (!s.tracer.is_module()) {
        return true;
    }
    const nif::tracer::Answer answer = nif::tracer::ask(s.tracer, kind, tag, p.id);
    if (answer == nif::tracer::Answer::remove && is_own(kind)) {
        clear_flags(p, s);
    }
    return answer == nif::tracer::Answer::trace;
}
bool wants(Process& p, const State& s, EventKind kind, Term tag) {
    return wants_of(p, s, kind, tag);
}

void clear_inactive(Process& p) {
    for (const State* s = state_of(p); s != nullptr; s = s->next) {
        if (!can_trace(s->tracer, p.id)) {
            clear_flags(p, *s);
        }
    }
}

bool wants_call(Process& p, const State& s) {
    if (!s.tracer.is_module()) {
        return true;
    }
    if (!nif::tracer::is_active(s.tracer, p.id)) {
        clear_flags(p, s);
        return false;
    }
    return wants(p, s, EventKind::call, atoms::call);
}

// Puts a port into the terms of its event, as the record's subject is a process; the number of terms.
static size_t recorded_subject(const Process&, Term*) {
    return 0;
}
static size_t recorded_subject(const TracedPort& port, Term* parts) {
    parts[0] = port.id;
    return 1;
}

template <typename T>
static bool send_event_of(T& p, const State& s, const Event& event) {
    if (s.tracer.is(p.id)) {
        return true;
    }
    if (s.tracer.is_module()) {
        nif::tracer::tell(s.tracer, event, self_of(p, event.kind), p.id, s.flags);
        return true;
    }
    Term with_subject[4];
    const size_t subject = recorded_subject(p, with_subject);
    Term* const parts = with_subject + subject;
    parts[0] = event.what;
    size_t count = 1;
    for (const Term part : {event.extra, event.result}) {
        if (is_value(part)) {
            parts[count++] = part;
        }
    }
    if (is_recorder(s.tracer)) {
        to_recorder::event(s.session, event.tag, {with_subject, subject + count});
        return true;
    }
    thread_progress::DelaySection section;
    if (!tracing::tracer_exists(s.tracer.term())) {
        return false;
    }
    const bool timed = (s.flags & kAllTimestamps) != 0;
    const bool numbered = (s.flags & kSchedulerId) != 0;
    const size_t n = 3 + count + (numbered ? 1 : 0) + (timed ? 1 : 0);
    Heap h;
    Term* t = h.alloc(1 + n);
    t[0] = Term{make_header(Kind::tuple, n)};
    t[1] = timed ? atoms::trace_ts : atoms::trace;
    t[2] = p.id;
    t[3] = event.tag;
    size_t i = 4;
    for (size_t part = 0; part < count; ++part) {
        t[i++] = parts[part];
    }
    if (numbered) {
        const Scheduler* on = this_scheduler();
        t[i++] = make_small(on != nullptr ? on->number : 0);
    }
    if (timed) {
        t[i] = time_of(h, s.flags);
    }
    return tracing::tell_tracer(s.tracer.term(), make_boxed(t));
}

bool send_event(Process& p, const State& s, const Event& event) {
    return send_event_of(p, s, event);
}

template <typename T>
static void send_or_clear_of(T& p, const State& s, const Event& event) {
    if (wants_of(p, s, event.kind, event.tag) && !send_event_of(p, s, event)) {
        clear_flags(p, s);
    }
}
void send_or_clear(Process& p, const State& s, const Event& event) {
    send_or_clear_of(p, s, event);
}

template <typename T>
static void send_own_event_of(T& p, uint32_t flag, const Event& event) {
    if (!is_traced(p, flag)) {
        return;
    }
    const thread_progress::DelaySection section;
    for (const State* s = state_of(p); s != nullptr; s = s->next) {
        if ((s->flags & flag) != 0) {
            send_or_clear_of(p, *s, event);
        }
    }
}
void send_own_event(Process& p, uint32_t flag, const Event& event) {
    send_own_event_of(p, flag, event);
}
void send_own_event(TracedPort& port, uint32_t flag, const Event& event) {
    send_own_event_of(port, flag, event);
}

// ---- places -------------------------------------------------------------------------------------

Term function_at(Heap& h, const void* address, bool is_return_address) {
    FunctionInfo where{};
    if (address == nullptr ||
        !module_table::lookup(address, code_index::active(), is_return_address, &where)) {
        return kNonValue;
    }
    return make_tuple(h, where.module, where.function, make_small(where.arity));
}

const void* return_address_of(const Process& p, const Term* from) {
    FunctionInfo where{};
    for (const Term* w = from; w < p.stack_base; ++w) {
        if (is_header(w->raw)) {
            const auto* address = reinterpret_cast<const void*>(w->raw - kTagHeader);
            if (module_table::lookup(address, code_index::active(), true, &where)) {
                return address;
            }
        }
    }
    return nullptr;
}

Term current_function(Heap& h, const Process& p) {
    if (p.dirty_bif != nullptr) {
        // Process::pc is behind the call, which may be in tail position.
        const Export* e = p.dirty_bif->exp;
        return make_tuple(h, e->module, e->function, make_small(e->arity));
    }
    static const Export* back = bif_export("minivm", "return", 1);
    if (p.trap_export == back && p.pc == &back->stub[kStubCall]) {
        // The function that ends a yield is none of the program's.
        const Term caller = function_at(h, return_address_of(p, p.heap.end), true);
        return is_value(caller) ? caller : make_small(0);
    }
    for (const Export* e : {p.initial_call, p.trap_export}) {
        if (e != nullptr &&
            (p.pc == &e->stub[kStubCall] || (p.pc == nullptr && e == p.initial_call))) {
            return make_tuple(h, e->module, e->function, make_small(e->arity));
        }
    }
    const Term f = function_at(h, p.pc, false);
    return is_value(f) ? f : make_small(0);
}

}  // namespace minivm::trace
