// The BIFs. What they raise is explained by OTP's erl_erts_errors.
//
// Those of sessions (erts_internal:trace/4 and so on, which OTP 27's module `trace` calls) do for a
// session what erlang:trace/3 and its like do for session 0.
#include "trace/pattern.hpp"
#include "trace/session.hpp"
#include "trace/trace.hpp"
#include "trace/tracer.hpp"
#include "vm/bif/code/code_operation.hpp"
#include "vm/code/code_index.hpp"
#include "vm/code/permission.hpp"
#include "vm/instr/bif_def.hpp"
#include "vm/port/port.hpp"
#include "vm/process/clock.hpp"
#include "vm/process/outcome.hpp"
#include "vm/process/process_table.hpp"
#include "vm/process/report.hpp"
#include "vm/process/signal.hpp"
#include "vm/progress/thread_progress.hpp"
#include "vm/sched/scheduler.hpp"
#include "vm/term/arguments.hpp"
#include "vm/term/local_atoms.hpp"
#include "vm/term/map.hpp"
#include "vm/util/otp_release.hpp"

namespace minivm::trace {
namespace {

LOCAL_ATOM(atom_all, "all")
LOCAL_ATOM(atom_any, "any")
LOCAL_ATOM(atom_call_count, "call_count")
LOCAL_ATOM(atom_call_memory, "call_memory")
LOCAL_ATOM(atom_call_time, "call_time")
LOCAL_ATOM(atom_flags, "flags")
LOCAL_ATOM(atom_global, "global")
LOCAL_ATOM(atom_local, "local")
LOCAL_ATOM(atom_match_spec, "match_spec")
LOCAL_ATOM(atom_meta, "meta")
LOCAL_ATOM(atom_meta_match_spec, "meta_match_spec")
LOCAL_ATOM(atom_on_load, "on_load")
LOCAL_ATOM(atom_pause, "pause")
LOCAL_ATOM(atom_restart, "restart")
LOCAL_ATOM(atom_session, "session")
LOCAL_ATOM(atom_trace_delivered, "trace_delivered")
LOCAL_ATOM(atom_traced, "traced")
LOCAL_ATOM(atom_tracer, "tracer")

// ---- trace/3 ------------------------------------------------------------------------------------

struct Who {
    bool existing = false, fresh = false;
    bool processes = false, ports = false;
};
bool parse_who(Term t, Who* who) {
    if (!is_atom(t)) {
        return false;
    }
    const std::string_view text = atom_table::text(t);
    const auto is = [&](const char* s) { return text == s; };
    if (is("all") || is("processes") || is("ports")) {
        *who = {true, true, !is("ports"), !is("processes")};
    } else if (is("existing") || is("existing_processes") || is("existing_ports")) {
        *who = {true, false, !is("existing_ports"), !is("existing_processes")};
    } else if (is("new") || is("new_processes") || is("new_ports")) {
        *who = {false, true, !is("new_ports"), !is("new_processes")};
    } else {
        return false;
    }
    return true;
}

void for_each_port(void (*f)(tracing::TracedPort&, void*), void* context) {
    for (const Term id : port::all()) {
        if (const std::shared_ptr<tracing::TracedPort> port = port::traced(id)) {
            f(*port, context);
        }
    }
}

struct SettingAll {
    uint32_t session;
    bool on;
    uint32_t flags;
    const Tracer* tracer;  // null: whoever there is
    int64_t count = 0;
};
template <typename T>
void set_one(T& p, void* context) {
    auto& a = *static_cast<SettingAll*>(context);
    if (set_flags(p, a.session, a.on, a.flags, a.tracer) == Set::done) {
        a.count++;
    }
}

// a: who, how, flags.
Term set_trace(Process& p, const Session& session, const Term* a) {
    uint32_t flags = 0;
    bool cpu_time = false;
    Tracer tracer;
    bool named = false;  // where flags are cleared it may be, and if so has to be right
    Term list = a[2];
    for (; is_cons(list); list = tail(list)) {
        const Term f = head(list);
        if (!session.has_tracer() && is_tuple(f) && parse_tracer(f, atom_tracer(), &tracer)) {
            // Of a process it is found out by the first event that it has ended.
            if (is_local_port(tracer.term()) && !tracing::tracer_exists(tracer.term())) {
                return badarg_cause(p, atoms::badopt);
            }
            named = true;
        } else if (is_atom(f) && flag_of(f) != 0) {
            flags |= flag_of(f);
        } else if (f == atoms::cpu_timestamp) {
            cpu_time = true;
        } else {
            return badarg_cause(p, atoms::badopt);
        }
    }
    if (!is_nil(list)) {
        return badarg_cause(p, atoms::badopt);
    }
    // That one is for all or nobody.
    if (!is_bool(a[1]) || (cpu_time && a[0] != atom_all())) {
        return badarg(p);
    }
    const bool on = a[1] == atoms::true_;
    if (!named) {
        tracer = session.has_tracer() ? session.tracer : Tracer(p.id);
    }
    const Tracer* const by = on || named ? &tracer : nullptr;
    const auto set = [&](auto* target) {
        const Set done = target != nullptr ? set_flags(*target, session.number, on, flags, by) : Set::dead;
        if (done == Set::taken) {
            report_text(p, ReportLevel::error, "** can only have one tracer per process\n");
        }
        return done == Set::done ? make_small(1) : badarg(p);
    };
    if (is_local_pid(a[0])) {
        return set(process_table::lookup(a[0]));
    }
    if (is_local_port(a[0])) {
        return set(port::traced(a[0]).get());
    }
    Who who;
    if (!parse_who(a[0], &who)) {
        return badarg(p);
    }
    if (cpu_time) {
        // relaxed: an event beside the change has one or the other.
        tracing::g_cpu_timestamps.store(on, std::memory_order_relaxed);
    }
    SettingAll setting{session.number, on, flags, by};
    if (who.existing && who.processes) {
        process_table::for_each(set_one<Process>, &setting);
    }
    if (who.existing && who.ports) {
        for_each_port(set_one<tracing::TracedPort>, &setting);
    }
    if (who.fresh && who.processes) {
        set_new_flags(New::processes, session.number, on, flags, by);
    }
    if (who.fresh && who.ports) {
        set_new_flags(New::ports, session.number, on, flags, by);
    }
    return make_small(setting.count);
}

Term erts_internal_trace_3(Process& p, const Term* a) {
    return set_trace(p, *session_of(0), a);
}
Term erts_internal_trace_4(Process& p, const Term* a) {
    const SessionPtr session = session_of_handle(a[0]);
    return session != nullptr ? set_trace(p, *session, a + 1) : badarg_cause(p, atom_session());
}

// ---- trace_pattern/3 ----------------------------------------------------------------------------

bool is_arity(Term t) {
    return is_small(t) && small_value(t) >= 0 && small_value(t) <= 255;
}
constexpr int64_t kNoArity = UINT32_MAX;  // of no function
bool parse_functions(Term t, Functions* which) {
    if (!is_tuple_of(t, 3) || !is_atom(tuple_element(t, 0)) || !is_atom(tuple_element(t, 1))) {
        return false;
    }
    which->module = tuple_element(t, 0);
    which->function = tuple_element(t, 1);
    const Term arity = tuple_element(t, 2);
    if (arity == atoms::underscore) {
        which->arity = -1;
    } else if (is_small(arity)) {
        which->arity = is_arity(arity) ? small_value(arity) : kNoArity;
    } else {
        return false;
    }
    // A name behind a '_' is none that can be looked up.
    return (which->module != atoms::underscore ||
            (which->function == atoms::underscore && which->arity < 0)) &&
           (which->function != atoms::underscore || which->arity < 0);
}

bool parse_flags(Process& p, const Session& session, Term list, Request* r) {
    for (; is_cons(list); list = tail(list)) {
        const Term f = head(list);
        if (f == atom_global()) {
            r->global = true;
        } else if (f == atom_local()) {
            r->local = true;
        } else if (f == atom_meta()) {
            r->meta = true;
            r->meta_tracer = session.has_tracer() ? session.tracer : Tracer(p.id);
        } else if (!session.has_tracer() && parse_tracer(f, atom_meta(), &r->meta_tracer) &&
                   (!is_local_port(r->meta_tracer.term()) ||
                    tracing::tracer_exists(r->meta_tracer.term()))) {
            r->meta = true;
        } else if (f == atom_call_count()) {
            r->count = true;
        } else if (f == atom_call_time()) {
            r->time = true;
        } else if (f == atom_call_memory()) {
            r->memory = true;
        } else {
            return false;
        }
    }
    if (!is_nil(list) || (r->global && (r->local || r->meta || r->counters()))) {
        return false;
    }
    if (!r->local && !r->meta && !r->counters()) {
        r->global = true;
    }
    return true;
}

// Except in session 0 the action `trace` must not name another.
bool names_tracer(Term flags) {
    for (; is_cons(flags); flags = tail(flags)) {
        if (is_tuple(head(flags)) && tuple_arity(head(flags)) >= 2 &&
            tuple_element(head(flags), 0) == atom_tracer()) {
            return true;
        }
    }
    return false;
}
bool names_tracer_in_body(Term spec) {
    for (; is_cons(spec); spec = tail(spec)) {
        Term body = is_tuple_of(head(spec), 3) ? tuple_element(head(spec), 2) : kNil;
        for (; is_cons(body); body = tail(body)) {
            const Term action = head(body);
            if (!is_tuple(action) || tuple_arity(action) < 3 ||
                tuple_element(action, 0) != atoms::trace) {
                continue;
            }
            for (size_t i = 1; i < tuple_arity(action); ++i) {
                if (names_tracer(tuple_element(action, i))) {
                    return true;
                }
            }
        }
    }
    return false;
}
bool make_spec_for(const Session& session, Term t, SpecPtr* out, match_spec::Dialect dialect) {
    return (session.number == 0 || !names_tracer_in_body(t)) && make_spec(t, out, dialect);
}

bool is_counter_state(Term t) {
    return t == atom_restart() || t == atom_pause();
}

Term set_event_pattern(Process& p, Session& session, const Term* a) {
    EventPatterns e = event_patterns(session);
    const bool off = a[1] == atoms::false_;
    const auto dialect =
        a[0] == atoms::send ? match_spec::Dialect::sent : match_spec::Dialect::received;
    SpecPtr spec;
    if (!off && !is_counter_state(a[1]) && !make_spec_for(session, a[1], &spec, dialect)) {
        return badarg_cause(p, atom_match_spec());
    }
    Request r;
    if (!parse_flags(p, session, a[2], &r)) {
        return badarg_cause(p, atoms::badopt);
    }
    // Nothing but a specification or whether there is one.
    if (!is_nil(a[2]) || is_counter_state(a[1])) {
        return badarg_cause(p, atoms::none);
    }
    if (a[0] == atoms::send) {
        e.no_send = off;
        e.send = spec;
    } else {
        e.no_receive = off;
        e.receive = spec;
    }
    set_event_patterns(session, e);
    return make_small(1);
}

// A change of patterns, complete but for its functions. False: the process has the exception.
bool parse_request(Process& p, const Session& session, const Term* a, Request* out) {
    Request& r = *out;
    if (a[1] == atoms::false_) {
        r.on = false;
    } else if (is_counter_state(a[1])) {
        // For all but counters that is `true`.
        r.restart = a[1] == atom_restart();
        r.pause = !r.restart;
    } else if (!make_spec_for(session, a[1], &r.spec, match_spec::Dialect::call)) {
        badarg_cause(p, atom_match_spec());
        return false;
    }
    if (!parse_flags(p, session, a[2], &r)) {
        badarg_cause(p, atoms::badopt);
        return false;
    }
    if (r.counters() && r.spec != nullptr && !r.local && !r.meta) {
        badarg_cause(p, atom_call_count());  // counters know no patterns
        return false;
    }
    return true;
}

// By the holder of the permission, which it gives back.
Term apply_and_await(Process& p, Session& session, const Request& r) {
    Change change(session.number, session.tracer);
    const int64_t count = apply_request(session, r, &change);
    code_change::ForProcess* op = new_code_operation(p);
    change.apply(op);
    return await_code_change(p, op, make_small(count));
}

// a: which, specification, flags. handle: of a session; the non-value for session 0.
Term set_pattern(Process& p, const SessionPtr& session, Term handle, const Term* a) {
    if (a[0] == atoms::send || a[0] == atoms::receive) {
        return set_event_pattern(p, *session, a);
    }
    Request r;
    if (!parse_request(p, *session, a, &r)) {
        return kNonValue;
    }
    if (a[0] != atom_on_load() && !parse_functions(a[0], &r.which)) {
        return badarg_cause(p, atoms::none);
    }
    const bool own = is_value(handle);
    // One function's code takes no time to speak of. Entries are staged, and many functions are
    // many.
    const bool is_short = r.which.arity >= 0 && !r.global && a[0] != atom_on_load();
    if (!is_short && this_scheduler() != nullptr && this_scheduler()->number != 0) {
        static const Export* const on_dirty_3 = bif_export("minivm", "trace_pattern", 3);
        static const Export* const on_dirty_4 = bif_export("minivm", "trace_pattern", 4);
        return own ? trap(p, on_dirty_4, {handle, a[0], a[1], a[2]})
                   : trap(p, on_dirty_3, {a[0], a[1], a[2]});
    }
    Term wait = kNonValue;
    const Term name = function_name(p, atoms::erts_internal, "trace_pattern");
    if (!(own ? has_code_permission(p, name, {handle, a[0], a[1], a[2]}, &wait)
              : has_code_permission(p, name, {a[0], a[1], a[2]}, &wait))) {
        return wait;
    }
    if (session_of(session->number) == nullptr) {  // it has ended meanwhile
        code_permission::release();
        return badarg_cause(p, atom_session());
    }
    if (a[0] == atom_on_load()) {
        session->patterns.on_load.change(r);
        code_permission::release();
        return make_small(0);
    }
    return apply_and_await(p, *session, r);
}

// minivm:trace_matching(Session, {Module, Function, Arity | '_'}, Specification, Flags): as trace:function/4, but
// that the names may have * and ?, and that modules which come later are traced as well.
Term minivm_trace_matching_4(Process& p, const Term* a) {
    const SessionPtr session = session_of_handle(a[0]);
    if (session == nullptr) {
        return badarg_cause(p, atom_session());
    }
    Request r;
    if (!parse_request(p, *session, a + 1, &r)) {
        return kNonValue;
    }
    if (!is_tuple_of(a[1], 3) || !is_atom(tuple_element(a[1], 0)) ||
        !is_atom(tuple_element(a[1], 1)) ||
        (!is_arity(tuple_element(a[1], 2)) && tuple_element(a[1], 2) != atoms::underscore)) {
        return badarg_cause(p, atoms::none);
    }
    const Term arity = tuple_element(a[1], 2);
    r.which = {tuple_element(a[1], 0), tuple_element(a[1], 1),
               is_small(arity) ? small_value(arity) : -1, true};
    Term wait = kNonValue;
    const Term name = function_name(p, atom_table::intern("minivm"), "trace_matching");
    if (!has_code_permission(p, name, {a[0], a[1], a[2], a[3]}, &wait)) {
        return wait;
    }
    if (session_of(session->number) == nullptr) {  // it has ended meanwhile
        code_permission::release();
        return badarg_cause(p, atom_session());
    }
    return apply_and_await(p, *session, r);
}

// Of OTP's debugger: calls go to breakpoint/3 of the error handler instead.
Term erts_debug_breakpoint_2(Process& p, const Term* a) {
    Request r;
    r.debug = true;
    r.on = a[1] == atoms::true_;
    if ((!r.on && a[1] != atoms::false_) || !parse_functions(a[0], &r.which)) {
        return badarg(p);
    }
    Term wait = kNonValue;
    const Term name = function_name(p, atom_table::intern("erts_debug"), "breakpoint");
    if (!has_code_permission(p, name, {a[0], a[1]}, &wait)) {
        return wait;
    }
    return apply_and_await(p, *session_of(0), r);
}

Term erts_internal_trace_pattern_3(Process& p, const Term* a) {
    return set_pattern(p, session_of(0), kNonValue, a);
}
Term erts_internal_trace_pattern_4(Process& p, const Term* a) {
    const SessionPtr session = session_of_handle(a[0]);
    return session != nullptr ? set_pattern(p, session, a[0], a + 1)
                              : badarg_cause(p, atom_session());
}

// ---- trace_info/2 -------------------------------------------------------------------------------

// tracer: as it is shown; [] if there is none.
Term info_of_flags(Process& p, Term item, uint32_t flags, Term tracer) {
    if (item == atom_flags()) {
        return make_tuple(p.heap, item, flag_list(p.heap, flags));
    }
    if (item == atom_tracer()) {
        return make_tuple(p.heap, item, tracer);
    }
    return badarg(p);
}

Term copy_spec(Process& p, const SpecPtr& spec) {
    return spec == nullptr ? kNil : copy_term(spec->term, p.heap, false);
}

// A session's actions of a function; false: there is no such function.
bool actions_of(uint32_t session, Term module, Term function, uint32_t arity, const Action** local,
                const Action** global) {
    const int ix = code_index::active();
    const Export* e = export_table::find(module, function, arity);
    const auto action = [=](const Breakpoint* b) {
        return b != nullptr ? active_of(*b, session) : nullptr;
    };
    if (e != nullptr && e->bif != nullptr) {
        *local = action(find(e->bif));
        return true;
    }
    const ModuleInstance* m = module_table::current(module, ix);
    if (m == nullptr) {
        return false;
    }
    for (uint32_t i = 0; i < m->lowered.functions.size(); ++i) {
        const LoweredFunction& f = m->lowered.functions[i];
        if (f.name == function && f.arity == arity) {
            *local = action(find(m->engine->place_of_breakpoint(*m, i).key));
            *global = e != nullptr ? action(find(e)) : nullptr;
            return true;
        }
    }
    return false;
}

// [{Pid, Calls, Seconds, MicroSeconds}]
Term time_rows(Heap& h, const CallTable& table) {
    const double us = 1e6 / ticks_per_second();
    Term list = kNil;
    for (const CallTable::Row& r : table.rows()) {
        const auto total = static_cast<int64_t>(static_cast<double>(r.amount) * us);
        list = cons(h,
                    make_tuple(h, r.pid, make_unsigned(h, r.calls), make_small(total / 1000000),
                               make_small(total % 1000000)),
                    list);
    }
    return list;
}
// [{Pid, Calls, Words}]
Term memory_rows(Heap& h, const CallTable& table) {
    Term list = kNil;
    for (const CallTable::Row& r : table.rows()) {
        list = cons(h, make_tuple(h, r.pid, make_unsigned(h, r.calls), make_unsigned(h, r.amount)),
                    list);
    }
    return list;
}

bool is_function_item(Term t) {
    return t == atom_traced() || t == atom_match_spec() || t == atom_meta() ||
           t == atom_meta_match_spec() || t == atom_call_count() || t == atom_call_time() ||
           t == atom_call_memory() || t == atom_all();
}

Term info_of_function(Process& p, const Session& session, Term mfa, Term item) {
    const Term arity = tuple_element(mfa, 2);
    if (!is_atom(tuple_element(mfa, 0)) || !is_atom(tuple_element(mfa, 1)) || !is_small(arity)) {
        return badarg(p);
    }
    const Action* local = nullptr;
    const Action* global = nullptr;
    const bool known =
        is_arity(arity) && actions_of(session.number, tuple_element(mfa, 0), tuple_element(mfa, 1),
                                      static_cast<uint32_t>(small_value(arity)), &local, &global);
    const Action none;
    const Action& a = local != nullptr ? *local : none;
    const bool calls_global = (global != nullptr && global->call) || (a.call && a.global);
    const bool calls_local = a.call && !a.global;
    Heap& h = p.heap;
    const auto value_of = [&](Term i) -> Term {
        if (i == atom_traced()) {
            return calls_local ? atom_local() : calls_global ? atom_global() : atoms::false_;
        }
        if (i == atom_match_spec()) {
            return calls_local                         ? copy_spec(p, a.call_spec)
                   : calls_global && global != nullptr ? copy_spec(p, global->call_spec)
                   : calls_global                      ? copy_spec(p, a.call_spec)
                                                       : atoms::false_;
        }
        if (i == atom_meta()) {
            const Action::Others& meta = a.others();
            // relaxed: a call that finds it gone beside this comes before or after.
            return a.meta && !meta.meta_tracer_gone->load(std::memory_order_relaxed)
                       ? shown_tracer(h, meta.meta_tracer)
                       : kNil;
        }
        if (i == atom_meta_match_spec()) {
            return a.meta ? copy_spec(p, a.others().meta_spec) : atoms::false_;
        }
        if (i == atom_call_count()) {
            return a.count ? make_unsigned(h, a.others().counted->sum()) : atoms::false_;
        }
        if (i == atom_call_time()) {
            return a.time ? time_rows(h, *a.others().times) : atoms::false_;
        }
        if (i == atom_call_memory()) {
            return a.memory ? memory_rows(h, *a.others().words) : atoms::false_;
        }
        return kNonValue;
    };
    if (by_release::at_least(29) && !is_function_item(item)) {
        return badarg(p);
    }
    // Up to OTP 28 whatever the item is.
    if (!known) {
        return make_tuple(h, item, atoms::undefined);
    }
    if (!calls_local && !calls_global && a.none()) {
        return make_tuple(h, item, atoms::false_);
    }
    if (item == atom_all()) {
        Term list = kNil;
        for (const Term i :
             {atom_call_count(), atom_call_time(), atom_call_memory(), atom_meta_match_spec(),
              atom_meta(), atom_match_spec(), atom_traced()}) {
            // OTP 25 does not show it among all.
            if (i != atom_call_memory() || session.number != 0 || by_release::at_least(26)) {
                const Term value = value_of(i);
                const bool gone = i == atom_meta() && is_nil(value);
                list = cons(h, make_tuple(h, i, gone ? atoms::false_ : value), list);
            }
        }
        return make_tuple(h, item, list);
    }
    const Term value = value_of(item);
    return is_value(value) ? make_tuple(h, item, value) : badarg(p);
}

// What functions of modules to come will have. The caller has the code modification permission.
Term info_of_on_load(Process& p, const Session& session, Term item) {
    const OnLoad& o = session.patterns.on_load;
    const auto value_of = [&](Term i) -> Term {
        if (i == atom_traced()) {
            return o.is_global() ? atom_global() : o.local ? atom_local() : atoms::false_;
        }
        if (i == atom_match_spec()) {
            return o.is_global() || o.local ? copy_spec(p, o.spec) : atoms::false_;
        }
        if (i == atom_meta()) {
            return o.meta && !is_nil(o.meta_tracer.term())
                       ? tracer_term(p.heap, o.meta_tracer, atoms::undefined)
                       : atoms::false_;
        }
        if (i == atom_meta_match_spec()) {
            return o.meta ? copy_spec(p, o.meta_spec) : atoms::false_;
        }
        return i == atom_call_count()    ? make_bool(o.count)
               : i == atom_call_time()   ? make_bool(o.time)
               : i == atom_call_memory() ? make_bool(o.memory)
                                         : kNonValue;
    };
    Term value = atoms::false_;
    if (o.on && item == atom_all()) {
        value = kNil;
        for (const Term i : {atom_call_count(), atom_meta_match_spec(), atom_meta(),
                             atom_match_spec(), atom_traced()}) {
            value = cons(p.heap, make_tuple(p.heap, i, value_of(i)), value);
        }
    } else if (o.on) {
        value = value_of(item);
    }
    return is_value(value) ? make_tuple(p.heap, item, value) : badarg(p);
}

Term info_of_event(Process& p, const Session& session, Term event, Term item) {
    const EventPatterns e = event_patterns(session);
    const bool off = event == atoms::send ? e.no_send : e.no_receive;
    const SpecPtr& spec = event == atoms::send ? e.send : e.receive;
    if (item != atom_match_spec()) {
        return badarg(p);
    }
    return make_tuple(p.heap, item,
                      off               ? atoms::false_
                      : spec == nullptr ? atoms::true_
                                        : copy_spec(p, spec));
}

// Of a process or a port.
template <typename T>
Term info_of_target(Process& p, const Session& session, T& target, Term item) {
    const State* s = tracing::state_of(target, session.number);
    const Term tracer = s != nullptr ? tracer_term(p.heap, s->tracer, target.id) : kNil;
    if (s != nullptr && is_nil(tracer)) {
        clear_flags(target, *s);
    }
    return info_of_flags(p, item, is_nil(tracer) ? 0 : s->flags, tracer);
}

Term info_of(Process& p, const Session& session, Term of, Term item) {
    if (of == atoms::send || of == atoms::receive) {
        return info_of_event(p, session, of, item);
    }
    if (is_tuple_of(of, 3)) {
        return info_of_function(p, session, of, item);
    }
    if (is_tuple(of)) {
        return badarg(p);
    }
    if (is_local_pid(of)) {
        if (item != atom_flags() && item != atom_tracer()) {
            return badarg(p);
        }
        Process* target = process_table::lookup(of);
        return target != nullptr ? info_of_target(p, session, *target, item) : atoms::undefined;
    }
    if (is_local_port(of)) {
        const std::shared_ptr<tracing::TracedPort> port = port::traced(of);
        return port != nullptr ? info_of_target(p, session, *port, item) : atoms::undefined;
    }
    Who who;
    if (parse_who(of, &who) && who.fresh && !who.existing) {
        const State s = new_flags(who.processes ? New::processes : New::ports, session.number);
        const Term tracer = tracer_term(p.heap, s.tracer, atoms::undefined);
        return info_of_flags(p, item, is_nil(tracer) ? 0 : s.flags, tracer);
    }
    return badarg_cause(p, atoms::badopt);
}

// module, args: of the function that is called, for on_load is looked up by the holder of the
// permission.
Term info(Process& p, const Session& session, Term of, Term item, Term module,
          std::initializer_list<Term> args) {
    if (of != atom_on_load()) {
        return info_of(p, session, of, item);
    }
    Term wait = kNonValue;
    if (!has_code_permission(p, function_name(p, module, "trace_info"), args, &wait)) {
        return wait;
    }
    const Term result = info_of_on_load(p, session, item);
    code_permission::release();
    return result;
}

Term erlang_trace_info_2(Process& p, const Term* a) {
    return info(p, *session_of(0), a[0], a[1], atoms::erlang, {a[0], a[1]});
}

// ---- sessions -----------------------------------------------------------------------------------

// Whether a session has to do with something; `known` false: there is no such thing.
bool is_about(const Session& s, Term what, bool* known) {
    if (what == atom_any()) {
        return true;
    }
    if (what == atoms::send || what == atoms::receive) {
        const EventPatterns e = event_patterns(s);
        return !(what == atoms::send ? e.no_send : e.no_receive);
    }
    if (what == atom_on_load()) {
        return false;
    }
    if (is_tuple_of(what, 3)) {
        const Action* local = nullptr;
        const Action* global = nullptr;
        *known =
            actions_of(s.number, tuple_element(what, 0), tuple_element(what, 1),
                       static_cast<uint32_t>(small_value(tuple_element(what, 2))), &local, &global);
        return (local != nullptr && !local->none()) || (global != nullptr && !global->none());
    }
    if (is_local_pid(what)) {
        const Process* target = process_table::lookup(what);
        *known = target != nullptr;
        return target != nullptr && tracing::state_of(*target, s.number) != nullptr;
    }
    if (is_local_port(what)) {
        const std::shared_ptr<tracing::TracedPort> port = port::traced(what);
        *known = port != nullptr;
        return port != nullptr && tracing::state_of(*port, s.number) != nullptr;
    }
    Who who;
    return parse_who(what, &who) &&
           ((who.processes && new_flags(New::processes, s.number).flags != 0) ||
            (who.ports && new_flags(New::ports, s.number).flags != 0));
}
bool may_be_asked(Term what) {
    if (is_tuple_of(what, 3)) {
        const Term arity = tuple_element(what, 2);
        return is_atom(tuple_element(what, 0)) && is_atom(tuple_element(what, 1)) &&
               is_small(arity) && small_value(arity) >= 0 && small_value(arity) <= 255;
    }
    Who who;
    return what == atom_any() || what == atoms::send || what == atoms::receive ||
           what == atom_on_load() || is_local_pid(what) || is_local_port(what) ||
           (parse_who(what, &who) && who.fresh && !who.existing);
}

// {session, [weak handles]}
Term sessions_of(Process& p, Term what) {
    if (!may_be_asked(what)) {
        return badarg(p);
    }
    bool known = true;
    const std::vector<SessionPtr> all = all_sessions();
    Term list = kNil;
    for (auto s = all.rbegin(); s != all.rend() && known; ++s) {
        if (!is_saver((*s)->tracer) && is_about(**s, what, &known)) {
            list = cons(p.heap, weak_handle(p.heap, **s), list);
        }
    }
    if (!known && (is_local_pid(what) || is_local_port(what))) {
        return atoms::undefined;
    }
    return make_tuple(p.heap, atom_session(), known ? list : atoms::undefined);
}

Term erts_internal_trace_info_3(Process& p, const Term* a) {
    if (a[0] == atom_any()) {
        return a[2] == atom_session() ? sessions_of(p, a[1]) : badarg(p);
    }
    const SessionPtr session = session_of_handle(a[0]);
    return session != nullptr
               ? info(p, *session, a[1], a[2], atoms::erts_internal, {a[0], a[1], a[2]})
               : badarg_cause(p, atom_session());
}

// trace_session_create(Name, Tracer, Options)
Term erts_internal_trace_session_create_3(Process& p, const Term* a) {
    Tracer tracer;
    bool is_there = false;
    if (is_tuple_of(a[1], 2)) {
        is_there = parse_module_tracer(tuple_element(a[1], 0), tuple_element(a[1], 1), &tracer);
    } else if (is_local_pid(a[1]) || (is_local_port(a[1]) && tracing::tracer_exists(a[1]))) {
        tracer = Tracer(a[1]);
        is_there = true;
    }
    if (!is_atom(a[0]) || !(is_there || a[1] == atoms::undefined) || !is_nil(a[2])) {
        return badarg(p);
    }
    return make_handle(p, *create_session(a[0], tracer));
}

template <typename T>
void forget_flags(T& p, void* session) {
    clear_flags(p, *static_cast<const uint32_t*>(session));
}

Term erts_internal_trace_session_destroy_1(Process& p, const Term* a) {
    const SessionPtr session = session_of_handle(a[0]);
    if (session == nullptr) {
        const bool was_one = is_tuple_of(a[0], 2) && is_magic_ref(tuple_element(a[0], 0));
        return was_one ? atoms::false_ : badarg(p);
    }
    // All breakpoints are looked through.
    if (this_scheduler() != nullptr && this_scheduler()->number != 0) {
        static const Export* const on_dirty = bif_export("minivm", "trace_session_destroy", 1);
        return trap(p, on_dirty, {a[0]});
    }
    Term wait = kNonValue;
    if (!has_code_permission(p, function_name(p, atoms::erts_internal, "trace_session_destroy"),
                             {a[0]}, &wait)) {
        return wait;
    }
    if (!end_session(session->number)) {
        code_permission::release();
        return atoms::false_;
    }
    uint32_t number = session->number;
    {
        const thread_progress::DelaySection section;
        set_new_flags(New::processes, number, false, ~uint32_t{0}, nullptr);
        set_new_flags(New::ports, number, false, ~uint32_t{0}, nullptr);
        process_table::for_each(forget_flags<Process>, &number);
        for_each_port(forget_flags<tracing::TracedPort>, &number);
    }
    session->patterns = Patterns{};
    Change change(number, session->tracer);
    change.remove_all();
    code_change::ForProcess* op = new_code_operation(p);
    change.apply(op);
    return await_code_change(p, op, atoms::true_);
}

// ---- trace_delivered/1 --------------------------------------------------------------------------

struct Delivered {
    Term asker;
    Term tracee;  // a local pid, or `all`
    RefId ref;
};

void tell_delivered(void* data) {
    const std::unique_ptr<Delivered> d(static_cast<Delivered*>(data));
    Heap h;
    Term* words = h.alloc(kRefWords);
    const Term ref = put_ref(words, d->ref);
    send_message_to_pid(d->asker, make_tuple(h, atom_trace_delivered(), d->tracee, ref));
    h.clear();
}

// An event is pushed on its tracer's queue where it happens, by a thread that makes no progress
// from its look at who traces until that is done (or that delays progress, where it takes no part).
// So after thread progress all that happened before has been pushed, and also what the flags of
// before the last change still told.
Term erlang_trace_delivered_1(Process& p, const Term* a) {
    if (a[0] != atom_all() && !is_local_pid(a[0])) {
        return badarg(p);
    }
    const RefId ref = new_ref_id(p);
    thread_progress::later(tell_delivered, new Delivered{p.id, a[0], ref});
    return put_ref(p.heap.alloc(kRefWords), ref);
}

// minivm:trace_frames(N): the most trace frames on one stack from now on; the former number.
Term minivm_trace_frames_1(Process& p, const Term* a) {
    uint64_t n;
    if (!get_uint64(a[0], &n) || n == 0 || n > tracing::kMostFrames) {
        return badarg(p);
    }
    // relaxed: a number that each call looks at anew.
    return make_small(
        tracing::g_max_frames.exchange(static_cast<uint32_t>(n), std::memory_order_relaxed));
}

// The recorder takes all: what erlang:trace/3 asks a tracer's module before it uses it.
Term flight_recorder_enabled_3(Process&, const Term*) {
    return atoms::trace;
}

// As the option `timestamp` of a tracer's module says it; the non-value: it says nothing known.
Term time_of(Heap& h, Term kind) {
    const std::string_view name = atom_table::text(kind);
    if (name == "timestamp" || name == "cpu_timestamp") {
        return clock::now(h);
    }
    if (name != "monotonic" && name != "strict_monotonic") {
        return kNonValue;
    }
    const Term now = make_integer(h, clock::monotonic_ns());
    return name == "monotonic" ? now : make_tuple(h, now, clock::unique_integer(h, true, false));
}

// What stands for a process or port that is a tracer.
Term erl_tracer_enabled_3(Process&, const Term* a) {
    if (!tracing::tracer_exists(a[1])) {
        return a[0] == atoms::trace_status ? atoms::remove : atoms::discard;
    }
    return a[1] == a[2] ? atoms::discard : atoms::trace;
}

// erl_tracer:trace(Tag, Tracer, Tracee, Term, Options): what the tracer gets, for modules that pass events on to a
// process. A tracer that is a port gets it as the driver that it belongs to wants it, which none has here.
Term erl_tracer_trace_5(Process& p, const Term* a) {
    if (!is_local_pid(a[1])) {
        return atoms::ok;
    }
    const Term options = is_map(a[4]) ? a[4] : map::empty(p.heap);
    const auto option = [&](Term name) { return map::get(options, name); };
    std::vector<Term> event{atoms::trace, a[2], a[0], a[3]};
    if (const Term extra = option(atoms::extra); is_value(extra)) {
        event.push_back(extra);
    } else if (a[0] == atoms::seq_trace) {
        event = {a[0], a[2], a[3]};
    }
    for (const Term name : {atoms::match_spec_result, atoms::scheduler_id}) {
        if (const Term value = option(name); is_value(value)) {
            event.push_back(value);
        }
    }
    if (const Term kind = option(atoms::timestamp); is_value(kind)) {
        const Term now = time_of(p.heap, kind);
        if (!is_value(now)) {
            return atoms::ok;
        }
        event.push_back(now);
        event[0] = event[0] == atoms::trace ? atoms::trace_ts : event[0];
    }
    Term* const t = p.heap.alloc(1 + event.size());
    t[0] = Term{make_header(Kind::tuple, event.size())};
    std::copy(event.begin(), event.end(), t + 1);
    send_message_to_pid(a[1], make_boxed(t));
    return atoms::ok;
}

std::vector<BifDef> g_bifs = {
    {"erl_tracer", "enabled", 3, erl_tracer_enabled_3, kBifPlain, nullptr},
    {"erl_tracer", "trace", 5, erl_tracer_trace_5, kBifPlain, nullptr},
    {"flight_recorder", "enabled", 3, flight_recorder_enabled_3, kBifPlain, nullptr},
    {"erts_internal", "trace", 3, erts_internal_trace_3, kBifPlain, nullptr},
    {"erts_internal", "trace_pattern", 3, erts_internal_trace_pattern_3, kBifPlain, nullptr},
    {"minivm", "trace_pattern", 3, erts_internal_trace_pattern_3, kBifDirtyCpu | kBifHidden,
     nullptr},
    {"erts_internal", "trace", 4, erts_internal_trace_4, kBifPlain, nullptr},
    {"erts_internal", "trace_pattern", 4, erts_internal_trace_pattern_4, kBifPlain, nullptr},
    {"minivm", "trace_pattern", 4, erts_internal_trace_pattern_4, kBifDirtyCpu | kBifHidden,
     nullptr},
    {"erts_debug", "breakpoint", 2, erts_debug_breakpoint_2, kBifDirtyCpu, nullptr},
    {"minivm", "trace_matching", 4, minivm_trace_matching_4, kBifDirtyCpu, nullptr},
    {"erts_internal", "trace_info", 3, erts_internal_trace_info_3, kBifPlain, nullptr},
    {"erts_internal", "trace_session_create", 3, erts_internal_trace_session_create_3, kBifPlain,
     nullptr},
    {"erts_internal", "trace_session_destroy", 1, erts_internal_trace_session_destroy_1, kBifPlain,
     nullptr},
    {"minivm", "trace_session_destroy", 1, erts_internal_trace_session_destroy_1,
     kBifDirtyCpu | kBifHidden, nullptr},
    {"erlang", "trace_info", 2, erlang_trace_info_2, kBifPlain, nullptr},
    {"minivm", "trace_frames", 1, minivm_trace_frames_1, kBifPlain, nullptr},
    {"erlang", "trace_delivered", 1, erlang_trace_delivered_1, kBifPlain, nullptr},
};

}  // namespace

void add_bifs() {
    bif_registry::add(&g_bifs);
}

}  // namespace minivm::trace
