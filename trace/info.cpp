// The BIFs that tell what is traced: trace_info/2, and the sessions that trace something.
#include "trace/pattern.hpp"
#include "trace/session.hpp"
#include "trace/trace.hpp"
#include "trace/tracer.hpp"
#include "trace/who.hpp"
#include "vm/bif/code/code_operation.hpp"
#include "vm/code/code_index.hpp"
#include "vm/code/permission.hpp"
#include "vm/instr/bif_def.hpp"
#include "vm/port/port.hpp"
#include "vm/process/outcome.hpp"
#include "vm/process/process_table.hpp"
#include "vm/process/report.hpp"
#include "vm/process/system_monitor.hpp"
#include "vm/term/arguments.hpp"
#include "vm/term/local_atoms.hpp"
#include "vm/util/otp_release.hpp"

namespace minivm::trace {
namespace {

LOCAL_ATOM(atom_any, "any")
LOCAL_ATOM(atom_meta_match_spec, "meta_match_spec")
LOCAL_ATOM(atom_system, "system")
LOCAL_ATOM(atom_traced, "traced")

// ---- trace_info/2 -------------------------------------------------------------------------------

// tracer: the term to show; [] if there is none.
Term info_of_flags(Process& p, Term item, uint32_t flags, Term tracer) {
    if (item == atoms::flags) {
        return make_tuple(p.heap, item, flag_list(p.heap, flags));
    }
    if (item == atoms::tracer) {
        return make_tuple(p.heap, item, tracer);
    }
    return badarg(p);
}

Term copy_spec(Process& p, const SpecPtr& spec) {
    return spec == nullptr ? kNil : copy_term(spec->term, p.heap, false);
}

// A session's actions in a function; false: there is no such function.
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
    return t == atom_traced() || t == atoms::match_spec || t == atoms::meta ||
           t == atom_meta_match_spec() || t == atoms::call_count || t == atoms::call_time ||
           t == atoms::call_memory || t == atoms::all;
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
            return calls_local ? atoms::local : calls_global ? atoms::global : atoms::false_;
        }
        if (i == atoms::match_spec) {
            return calls_local                         ? copy_spec(p, a.call_spec)
                   : calls_global && global != nullptr ? copy_spec(p, global->call_spec)
                   : calls_global                      ? copy_spec(p, a.call_spec)
                                                       : atoms::false_;
        }
        if (i == atoms::meta) {
            const Action::Others& meta = a.others();
            // relaxed: a call that finds the tracer gone at the same time counts as before or after this.
            return a.meta && !meta.meta_tracer_gone->load(std::memory_order_relaxed)
                       ? shown_tracer(h, meta.meta_tracer)
                   : by_release::at_least(29) && !a.meta ? atoms::false_
                                                         : kNil;
        }
        if (i == atom_meta_match_spec()) {
            return a.meta ? copy_spec(p, a.others().meta_spec) : atoms::false_;
        }
        if (i == atoms::call_count) {
            return a.count ? make_unsigned(h, a.others().counted->sum()) : atoms::false_;
        }
        if (i == atoms::call_time) {
            return a.time ? time_rows(h, *a.others().times) : atoms::false_;
        }
        if (i == atoms::call_memory) {
            return a.memory ? memory_rows(h, *a.others().words) : atoms::false_;
        }
        return kNonValue;
    };
    if (by_release::at_least(29) && !is_function_item(item)) {
        return badarg(p);
    }
    // Up to OTP 28 for any item.
    if (!known) {
        return make_tuple(h, item, atoms::undefined);
    }
    if (!calls_local && !calls_global && a.none()) {
        return make_tuple(h, item, atoms::false_);
    }
    if (item == atoms::all) {
        Term list = kNil;
        for (const Term i :
             {atoms::call_count, atoms::call_time, atoms::call_memory, atom_meta_match_spec(),
              atoms::meta, atoms::match_spec, atom_traced()}) {
            // OTP 25 does not list call_memory.
            if (i != atoms::call_memory || session.number != 0 || by_release::at_least(26)) {
                const Term value = value_of(i);
                const bool gone = i == atoms::meta && is_nil(value);
                list = cons(h, make_tuple(h, i, gone ? atoms::false_ : value), list);
            }
        }
        return make_tuple(h, item, list);
    }
    const Term value = value_of(item);
    return is_value(value) ? make_tuple(h, item, value) : badarg(p);
}

// The pattern for functions of new code. The caller has the code modification permission.
Term info_of_on_load(Process& p, const Session& session, Term item) {
    const OnLoad& o = session.patterns.on_load;
    const auto value_of = [&](Term i) -> Term {
        if (i == atom_traced()) {
            return o.is_global() ? atoms::global : o.local ? atoms::local : atoms::false_;
        }
        if (i == atoms::match_spec) {
            return o.is_global() || o.local ? copy_spec(p, o.spec) : atoms::false_;
        }
        if (i == atoms::meta) {
            return o.meta && !is_nil(o.meta_tracer.term())
                       ? tracer_term(p.heap, o.meta_tracer, atoms::undefined)
                       : atoms::false_;
        }
        if (i == atom_meta_match_spec()) {
            return o.meta ? copy_spec(p, o.meta_spec) : atoms::false_;
        }
        return i == atoms::call_count    ? make_bool(o.count)
               : i == atoms::call_time   ? make_bool(o.time)
               : i == atoms::call_memory ? make_bool(o.memory)
                                         : kNonValue;
    };
    Term value = atoms::false_;
    if (o.on && item == atoms::all) {
        value = kNil;
        for (const Term i : {atoms::call_count, atom_meta_match_spec(), atoms::meta,
                             atoms::match_spec, atom_traced()}) {
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
    if (item != atoms::match_spec) {
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
    if (of == atom_system() && by_release::at_least(28)) {
        return item == atoms::all ? make_tuple(p.heap, of, system_monitor::options_of(
                                                                   p.heap, system_monitor::settings(session.number)))
                                  : badarg(p);
    }
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
        if (item != atoms::flags && item != atoms::tracer) {
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

// module, args: of the BIF, which for on_load is called again when it has waited for the
// permission.
Term info(Process& p, const Session& session, Term of, Term item, Term module,
          std::initializer_list<Term> args) {
    if (of != atoms::on_load) {
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

// Whether a session traces something; *known = false: there is no such thing.
bool is_about(const Session& s, Term what, bool* known) {
    if (what == atom_any()) {
        return true;
    }
    if (what == atoms::send || what == atoms::receive) {
        const EventPatterns e = event_patterns(s);
        return !(what == atoms::send ? e.no_send : e.no_receive);
    }
    if (what == atoms::on_load) {
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
           what == atoms::on_load || is_local_pid(what) || is_local_port(what) ||
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
    return make_tuple(p.heap, atoms::session, known ? list : atoms::undefined);
}

Term erts_internal_trace_info_3(Process& p, const Term* a) {
    if (a[0] == atom_any()) {
        return a[2] == atoms::session ? sessions_of(p, a[1]) : badarg(p);
    }
    const SessionPtr session = session_of_handle(a[0]);
    return session != nullptr
               ? info(p, *session, a[1], a[2], atoms::erts_internal, {a[0], a[1], a[2]})
               : badarg_cause(p, atoms::session);
}

std::vector<BifDef> g_info_bifs = {
    {"erts_internal", "trace_info", 3, erts_internal_trace_info_3, kBifPlain, nullptr},
    {"erlang", "trace_info", 2, erlang_trace_info_2, kBifPlain, nullptr},
};

}  // namespace

void add_info_bifs() {
    bif_registry::add(&g_info_bifs);
}

}  // namespace minivm::trace
