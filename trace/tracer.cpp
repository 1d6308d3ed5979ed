#include "trace/tracer.hpp"

#include "vm/bif/bif.hpp"
#include "vm/bif/clock.hpp"
#include "vm/bif/local_atoms.hpp"
#include "vm/code/code_index.hpp"
#include "vm/code/export.hpp"
#include "vm/code/module_table.hpp"
#include "vm/process/process_table.hpp"
#include "vm/process/signal.hpp"
#include "vm/process/state.hpp"
#include "vm/sched/scheduler.hpp"
#include "vm/sched/thread_progress.hpp"
#include "vm/util/lock.hpp"
#include "trace/session.hpp"
#include "trace/tracer_recorder.hpp"

#include <mutex>

namespace minivm::trace {

LOCAL_ATOM(atom_trace, "trace")
LOCAL_ATOM(atom_trace_ts, "trace_ts")

namespace {

using namespace tracing;

// Guards who replaces a State, and the flags of new processes.
CountedMutex g_lock{LockKind::tracers};
std::vector<State> g_new;  // none without flags

constexpr struct {
    const char* name;
    uint32_t flag;
} kFlags[] = {
    {"arity", kArity},
    {"call", kCall},
    {"exiting", kExiting},
    {"garbage_collection", kGarbageCollection},
    {"monotonic_timestamp", kMonotonicTimestamp},
    {"ports", kPorts},
    {"procs", kProcs},
    {"receive", kReceive},
    {"return_to", kReturnTo},
    {"running", kRunning},
    {"running_ports", kRunningPorts},
    {"running_procs", kRunningProcs},
    {"scheduler_id", kSchedulerId},
    {"send", kSend},
    {"set_on_first_link", kSetOnFirstLink},
    {"set_on_first_spawn", kSetOnFirstSpawn},
    {"set_on_link", kSetOnLink},
    {"set_on_spawn", kSetOnSpawn},
    {"silent", kSilent},
    {"strict_monotonic_timestamp", kStrictMonotonicTimestamp},
    {"timestamp", kTimestamp},
};

void free_later(const State* s) {
    if (s != nullptr) {
        thread_progress::later(
            [](void* d) {
                for (const auto* s = static_cast<const State*>(d); s != nullptr;) {
                    const State* next = s->next;
                    delete s;
                    s = next;
                }
            },
            const_cast<State*>(s));
    }
}

// Puts this in the place of the session's State; flags 0: takes it out. Its next counts for
// nothing.
void replace_locked(Process& p, const State& wanted) {
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
    // release: pairs with state_of(). Readers may hold the former one until they have passed.
    free_later(p.trace.exchange(first, std::memory_order_acq_rel));
}

bool is_ending(const Process& p) {
    // acquire: a process sets kExiting, and then clear_flags() takes the lock that we hold.
    return (p.state.load(std::memory_order_acquire) & process_state::kExiting) != 0;
}

bool is_alive(Term pid) {
    if (is_recorder(pid)) {
        return true;
    }
    if (is_local_port(pid)) {
        return tracer_exists(pid);
    }
    const Process* p = process_table::lookup(pid);
    return p != nullptr && !is_ending(*p);
}

Term time_of(Heap& h, uint32_t flags) {
    if ((flags & kTimestamp) != 0) {
        return clock::now(h);  // never the same twice, as programs expect of it
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
    return text == "all"
               ? all & ~(kSilent | kSchedulerId | kMonotonicTimestamp | kStrictMonotonicTimestamp)
               : 0;
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

bool parse_tracer(Term t, Term tag, Term* tracer) {
    if (is_tuple_of(t, 3) && tuple_element(t, 0) == tag) {
        *tracer = tuple_element(t, 1);
        return is_recorder(*tracer);
    }
    if (is_tuple_of(t, 2) && tuple_element(t, 0) == tag) {
        *tracer = tuple_element(t, 1);
        return is_local_pid(*tracer) || is_local_port(*tracer);
    }
    return false;
}

bool can_trace(Term tracer) {
    return is_recorder(tracer) || tracing::tracer_exists(tracer);
}

Term tracer_term(Heap& h, Term tracer) {
    if (is_recorder(tracer)) {
        return make_tuple(h, tracer, kNil);
    }
    return tracing::tracer_exists(tracer) ? tracer : kNil;
}

// ---- flags --------------------------------------------------------------------------------------

// A session that ends takes its flags away when nobody finds it any more, by the lock: whoever
// holds it and finds the session comes before that.

Set set_flags(Process& p, uint32_t session, bool on, uint32_t flags, Term tracer) {
    const std::lock_guard lock(g_lock);
    if (is_ending(p) || !is_live(session)) {
        return Set::dead;
    }
    const State* old = state_of(p, session);
    uint32_t now = old != nullptr ? old->flags : 0;
    if (old != nullptr && on && old->tracer != tracer && is_alive(old->tracer)) {
        return Set::taken;
    }
    now = on ? now | flags : now & ~flags;
    replace_locked(p, {now, on || old == nullptr ? tracer : old->tracer, session});
    return Set::done;
}

void change_flags(Process& p, uint32_t session, uint32_t off, uint32_t on, Term tracer) {
    const std::lock_guard lock(g_lock);
    if (is_ending(p) || !is_live(session)) {
        return;
    }
    const State* old = state_of(p, session);
    const uint32_t now = ((old != nullptr ? old->flags : 0) & ~off) | on;
    if (is_value(tracer) && tracer == p.id) {
        return;  // nobody traces himself
    }
    const Term by = is_value(tracer) ? tracer : old != nullptr ? old->tracer : kNil;
    replace_locked(p, {is_tracer(by) ? now : 0, by, session});
}

void clear_flags(Process& p, uint32_t session) {
    const std::lock_guard lock(g_lock);
    if (state_of(p, session) != nullptr) {
        replace_locked(p, {0, kNil, session});
    }
}

void clear_all_flags(Process& p) {
    const std::lock_guard lock(g_lock);
    // release: as in replace_locked().
    free_later(p.trace.exchange(nullptr, std::memory_order_acq_rel));
}

void set_new_flags(uint32_t session, bool on, uint32_t flags, Term tracer) {
    const std::lock_guard lock(g_lock);
    State now{0, kNil, session};
    std::vector<State> others;
    for (const State& s : g_new) {
        if (s.session == session) {
            now.flags = s.flags;
            now.tracer = s.tracer;
        } else {
            others.push_back(s);
        }
    }
    now.flags = on ? now.flags | flags : now.flags & ~flags;
    now.tracer = on ? tracer : now.tracer;
    if (now.flags != 0 && is_live(session)) {
        others.push_back(now);
    }
    g_new = std::move(others);
    // relaxed: a process begun beside this may come before it.
    g_trace_new.store(!g_new.empty(), std::memory_order_relaxed);
}

State new_flags(uint32_t session) {
    const std::lock_guard lock(g_lock);
    for (const State& s : g_new) {
        if (s.session == session) {
            return s;
        }
    }
    return {0, kNil, session};
}

std::vector<State> all_new_flags() {
    const std::lock_guard lock(g_lock);
    return g_new;
}

// ---- messages -----------------------------------------------------------------------------------

bool send_event(const Process& p, const State& s, Term tag, std::initializer_list<Term> terms) {
    if (s.tracer == p.id) {
        return true;
    }
    if (is_recorder(s.tracer)) {
        to_recorder::event(s.session, tag, terms);
        return true;
    }
    thread_progress::DelaySection section;
    if (!tracing::tracer_exists(s.tracer)) {
        return false;
    }
    const bool timed = (s.flags & kAllTimestamps) != 0;
    const bool numbered = (s.flags & kSchedulerId) != 0;
    const size_t n = 3 + terms.size() + (numbered ? 1 : 0) + (timed ? 1 : 0);
    Heap h;
    Term* t = h.alloc(1 + n);
    t[0] = Term{make_header(Kind::tuple, n)};
    t[1] = timed ? atom_trace_ts() : atom_trace();
    t[2] = p.id;
    t[3] = tag;
    size_t i = 4;
    for (const Term part : terms) {
        t[i++] = part;
    }
    if (numbered) {
        const Scheduler* on = this_scheduler();
        t[i++] = make_small(on != nullptr ? on->number : 0);
    }
    if (timed) {
        t[i] = time_of(h, s.flags);
    }
    const bool sent = tracing::tell_tracer(s.tracer, make_boxed(t));
    h.clear();
    return sent;
}

void send_or_clear(Process& p, const State& s, Term tag, std::initializer_list<Term> terms) {
    if (!send_event(p, s, tag, terms)) {
        clear_flags(p, s.session);
    }
}

void send_own_event(Process& p, uint32_t flag, Term tag, std::initializer_list<Term> terms) {
    if (!is_traced(p, flag)) {
        return;
    }
    for (const State* s = state_of(p); s != nullptr; s = s->next) {
        if ((s->flags & flag) != 0) {
            send_or_clear(p, *s, tag, terms);
        }
    }
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
        // Native code goes on behind the call, which may be in tail position.
        const Export* e = p.dirty_bif->exp;
        return make_tuple(h, e->module, e->function, make_small(e->arity));
    }
    static const Export* back = bif_export("minivm", "return", 1);
    if (p.trap_export == back && p.pc == &back->stub[kStubCall]) {
        // What a yield goes on with is no function of the program.
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
