// The BIFs that change traces. OTP's erl_erts_errors explains what they raise.
//
// Those of sessions (erts_internal:trace/4 and so on, which OTP 27's module `trace` calls) do for a
// session what erlang:trace/3 and its like do for session 0.
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
#include "vm/process/clock.hpp"
#include "vm/process/outcome.hpp"
#include "vm/process/process_table.hpp"
#include "vm/process/report.hpp"
#include "vm/process/signal.hpp"
#include "vm/process/system_monitor.hpp"
#include "vm/progress/thread_progress.hpp"
#include "vm/sched/scheduler.hpp"
#include "vm/term/arguments.hpp"
#include "vm/term/local_atoms.hpp"
#include "vm/term/map.hpp"
#include "vm/util/otp_release.hpp"

#include <optional>

namespace minivm::trace {
namespace {

LOCAL_ATOM(atom_legacy, "legacy")
LOCAL_ATOM(atom_pause, "pause")
LOCAL_ATOM(atom_restart, "restart")
LOCAL_ATOM(atom_trace_delivered, "trace_delivered")

// ---- trace/3 ------------------------------------------------------------------------------------

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
    const Tracer* tracer;  // null: as it is
    int64_t count = 0;
};
template <typename T>
void set_one(T& p, void* context) {
    auto& a = *static_cast<SettingAll*>(context);
    if (set_flags(p, a.session, a.on, a.flags, a.tracer) == Set::done) {
        a.count++;
    }
}

// trace/3 for a session; a: who, how, flags.
Term set_trace(Process& p, const Session& session, const Term* a) {
    uint32_t flags = 0;
    bool cpu_time = false;
    Tracer tracer;
    bool named = false;  // if so, up to OTP 26 flags are cleared only where it is the tracer
    Term list = a[2];
    for (; is_cons(list); list = tail(list)) {
        const Term f = head(list);
        if (!session.has_tracer() && is_tuple(f) && parse_tracer(f, atoms::tracer, &tracer)) {
            // Whether a process has ended is found out by the first event.
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
    // cpu_timestamp is for all or nobody.
    if (!is_bool(a[1]) || (cpu_time && a[0] != atoms::all)) {
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
        // relaxed: an event at the same time as the change has the one or the other.
        tracing::g_cpu_timestamps.store(on, std::memory_order_relaxed);
    }
    who.processes = who.processes && (flags & kProcessFlags) != 0;
    who.ports = who.ports && (flags & kPortFlags) != 0;
    SettingAll setting{session.number, on, flags, by};
    if (who.existing && who.processes) {
        process_table::for_each(set_one<Process>, &setting);
    }
    if (who.existing && who.ports) {
        for_each_port(set_one<tracing::TracedPort>, &setting);
    }
    if (who.fresh && who.processes) {
        set_new_flags(New::processes, session.number, on, flags & kProcessFlags, by);
    }
    if (who.fresh && who.ports) {
        set_new_flags(New::ports, session.number, on, flags & kPortFlags, by);
    }
    return make_small(setting.count);
}

Term erts_internal_trace_3(Process& p, const Term* a) {
    return set_trace(p, *session_of(0), a);
}
Term erts_internal_trace_4(Process& p, const Term* a) {
    const SessionPtr session = session_of_handle(a[0]);
    return session != nullptr ? set_trace(p, *session, a + 1) : badarg_cause(p, atoms::session);
}

// ---- trace_pattern/3 ----------------------------------------------------------------------------

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
    // Behind a '_' only '_' may follow.
    return (which->module != atoms::underscore ||
            (which->function == atoms::underscore && which->arity < 0)) &&
           (which->function != atoms::underscore || which->arity < 0);
}

bool parse_flags(Process& p, const Session& session, Term list, Request* r) {
    for (; is_cons(list); list = tail(list)) {
        const Term f = head(list);
        if (f == atoms::global) {
            r->global = true;
        } else if (f == atoms::local) {
            r->local = true;
        } else if (f == atoms::meta) {
            r->meta = true;
            if (!is_tracer(r->meta_tracer.term())) {  // else {meta, Tracer} has named another
                r->meta_tracer = session.has_tracer() ? session.tracer : Tracer(p.id);
            }
        } else if (!session.has_tracer() && parse_tracer(f, atoms::meta, &r->meta_tracer) &&
                   (!is_local_port(r->meta_tracer.term()) ||
                    tracing::tracer_exists(r->meta_tracer.term()))) {
            r->meta = true;
        } else if (f == atoms::call_count) {
            r->count = true;
        } else if (f == atoms::call_time) {
            r->time = true;
        } else if (f == atoms::call_memory) {
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

// Whether flags of the action `trace` name a tracer, which they may in session 0 only.
bool names_tracer(Term flags) {
    for (; is_cons(flags); flags = tail(flags)) {
        if (is_tuple(head(flags)) && tuple_arity(head(flags)) >= 2 &&
            tuple_element(head(flags), 0) == atoms::tracer) {
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

// Where both the specification and the flags are wrong, the error names one of them: from OTP 27 on, the flags.
bool looks_at_flags_first() {
    return by_release::at_least(27);
}

Term set_event_pattern(Process& p, Session& session, const Term* a) {
    const bool off = a[1] == atoms::false_;
    const auto dialect =
        a[0] == atoms::send ? match_spec::Dialect::sent : match_spec::Dialect::received;
    SpecPtr spec;
    Request r;
    const bool flags_are_good = parse_flags(p, session, a[2], &r);
    if (!flags_are_good && looks_at_flags_first()) {
        return badarg_cause(p, atoms::badopt);
    }
    if (!off && !is_counter_state(a[1]) && !make_spec_for(session, a[1], &spec, dialect)) {
        return badarg_cause(p, atoms::match_spec);
    }
    if (!flags_are_good) {
        return badarg_cause(p, atoms::badopt);
    }
    // Patterns for messages know no flags and no counters.
    if (!is_nil(a[2]) || is_counter_state(a[1])) {
        return badarg_cause(p, atoms::none);
    }
    change_event_patterns(session, [&](EventPatterns& e) {
        if (a[0] == atoms::send) {
            e.no_send = off;
            e.send = spec;
        } else {
            e.no_receive = off;
            e.receive = spec;
        }
    });
    return make_small(1);
}

// Parses a request but for its functions. False: the exception is set.
bool parse_request(Process& p, const Session& session, const Term* a, Request* out) {
    Request& r = *out;
    const bool flags_are_good = parse_flags(p, session, a[2], &r);
    if (!flags_are_good && looks_at_flags_first()) {
        badarg_cause(p, atoms::badopt);
        return false;
    }
    if (a[1] == atoms::false_) {
        r.on = false;
    } else if (is_counter_state(a[1])) {
        // For kinds other than counters this means `true`.
        r.restart = a[1] == atom_restart();
        r.pause = !r.restart;
    } else if (!make_spec_for(session, a[1], &r.spec, match_spec::Dialect::call)) {
        badarg_cause(p, atoms::match_spec);
        return false;
    }
    if (!flags_are_good) {
        badarg_cause(p, atoms::badopt);
        return false;
    }
    if (r.counters() && r.spec != nullptr && !r.local && !r.meta) {
        badarg_cause(p, atoms::call_count);  // counters take no specification
        return false;
    }
    return true;
}

// Called by the permission holder. True: the session ended before; the permission is released, the exception set.
bool has_ended(Process& p, const Session& session) {
    if (session_of(session.number) != nullptr) {
        return false;
    }
    code_permission::release();
    badarg_cause(p, atoms::session);
    return true;
}

// Called by the permission holder; the change releases the permission.
Term apply_and_await(Process& p, Session& session, const Request& r) {
    Change change(session.number, session.tracer);
    const int64_t count = apply_request(session, r, &change);
    code_change::ForProcess* op = new_code_operation(p);
    change.apply(op);
    return await_code_change(p, op, make_small(count));
}

// trace_pattern/3 for a session; a: which, specification, flags. handle: the session's; the non-value for session 0.
Term set_pattern(Process& p, const SessionPtr& session, Term handle, const Term* a) {
    if (a[0] == atoms::send || a[0] == atoms::receive) {
        return set_event_pattern(p, *session, a);
    }
    Request r;
    if (!parse_request(p, *session, a, &r)) {
        return kNonValue;
    }
    if (a[0] != atoms::on_load && !parse_functions(a[0], &r.which)) {
        return badarg_cause(p, atoms::none);
    }
    const bool own = is_value(handle);
    // Breakpoints in the code of one function take no time to speak of; staging entries does, and so do many
    // functions.
    const bool is_short = r.which.arity >= 0 && !r.global && a[0] != atoms::on_load;
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
    if (has_ended(p, *session)) {
        return kNonValue;
    }
    if (a[0] == atoms::on_load) {
        session->patterns.on_load.change(r);
        code_permission::release();
        return make_small(0);
    }
    return apply_and_await(p, *session, r);
}

// minivm:trace_matching(Session, {Module, Function, Arity | '_'}, Specification, Flags): as trace:function/4, but
// the names may have * and ?, and modules that are loaded later are traced as well.
Term minivm_trace_matching_4(Process& p, const Term* a) {
    const SessionPtr session = session_of_handle(a[0]);
    if (session == nullptr) {
        return badarg_cause(p, atoms::session);
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
    if (has_ended(p, *session)) {
        return kNonValue;
    }
    return apply_and_await(p, *session, r);
}

// For OTP's debugger: calls go to breakpoint/3 of the error handler instead.
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
                              : badarg_cause(p, atoms::session);
}

// ---- sessions -----------------------------------------------------------------------------------

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
    // On a dirty scheduler: it goes through all breakpoints.
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
    system_monitor::set(number, {});
    session->patterns = Patterns{};
    Change change(number, session->tracer);
    change.remove_all();
    code_change::ForProcess* op = new_code_operation(p);
    change.apply(op);
    return await_code_change(p, op, atoms::true_);
}

// ---- system_monitor ---------------------------------------------------------------------------------

// The number of a session, 0 for `legacy`; none: the handle is not one of a session.
std::optional<uint32_t> number_of_session(Term handle, SessionPtr* session) {
    if (handle == atom_legacy()) {
        return 0;
    }
    *session = session_of_handle(handle);
    return *session != nullptr ? std::optional<uint32_t>((*session)->number) : std::nullopt;
}

Term erts_internal_system_monitor_1(Process& p, const Term* a) {
    SessionPtr session;
    const std::optional<uint32_t> number = number_of_session(a[0], &session);
    return number ? system_monitor::monitor_of(p.heap, system_monitor::settings(*number)) : badarg(p);
}

// (Session, session, Options): changes what the session's tracer, a process, is told. Of a session without a tracer,
// such as that of erlang:system_monitor(): (legacy, Pid, Options) sets all that Pid is told; returns what was set.
Term erts_internal_system_monitor_3(Process& p, const Term* a) {
    SessionPtr session;
    const std::optional<uint32_t> number = number_of_session(a[0], &session);
    if (!number) {
        return badarg(p);
    }
    const bool has_tracer = session != nullptr && session->has_tracer();
    system_monitor::Settings s;
    Term list = a[2];
    if (has_tracer) {
        s = system_monitor::settings(*number);
        s.pid = session->tracer.term();
        if (!is_local_pid(s.pid) || a[1] != atoms::session) {
            return badarg(p);
        }
    } else if (a[1] == atoms::undefined || is_nil(list)) {
        list = kNil;
    } else if (!is_local_pid(a[1]) || process_table::lookup(a[1]) == nullptr) {
        return badarg(p);
    } else {
        s.pid = a[1];
    }
    for (; is_cons(list); list = tail(list)) {
        if (!system_monitor::change(head(list), &s)) {
            return badarg(p);
        }
    }
    if (!is_nil(list)) {
        return badarg(p);
    }
    const Term old = has_tracer ? atoms::ok : system_monitor::monitor_of(p.heap, system_monitor::settings(*number));
    system_monitor::set(*number, s);
    return old;
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
}

// An event is pushed on its tracer's queue where it happens, by a thread that makes no progress between
// reading the State and the push (or that delays progress, where it takes no part). So after
// thread progress all events from before the call have been pushed, and also those that the flags
// from before the last change still caused.
Term erlang_trace_delivered_1(Process& p, const Term* a) {
    if (a[0] != atoms::all && !is_local_pid(a[0])) {
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
    // relaxed: a setting that each call reads.
    return make_small(
        tracing::g_max_frames.exchange(static_cast<uint32_t>(n), std::memory_order_relaxed));
}

// enabled/3 of the tracer module flight_recorder: it takes all events.
Term flight_recorder_enabled_3(Process&, const Term*) {
    return atoms::trace;
}

// The time, of the kind that the option `timestamp` of a tracer module names; the non-value: no known kind.
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

// enabled/3 of the tracer module that stands for a process or port.
Term erl_tracer_enabled_3(Process&, const Term* a) {
    if (!tracing::tracer_exists(a[1])) {
        return a[0] == atoms::trace_status ? atoms::remove : atoms::discard;
    }
    return a[1] == a[2] ? atoms::discard : atoms::trace;
}

// erl_tracer:trace(Tag, Tracer, Tracee, Term, Options): sends the event to the tracer, for modules that pass events
// on to a process. OTP passes it to a port's driver in the driver's own form, which no driver has here.
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
    {"erts_internal", "trace_session_create", 3, erts_internal_trace_session_create_3, kBifPlain,
     nullptr},
    {"erts_internal", "trace_session_destroy", 1, erts_internal_trace_session_destroy_1, kBifPlain,
     nullptr},
    {"minivm", "trace_session_destroy", 1, erts_internal_trace_session_destroy_1,
     kBifDirtyCpu | kBifHidden, nullptr},
    {"erts_internal", "system_monitor", 1, erts_internal_system_monitor_1, kBifPlain, nullptr},
    {"erts_internal", "system_monitor", 3, erts_internal_system_monitor_3, kBifPlain, nullptr},
    {"minivm", "trace_frames", 1, minivm_trace_frames_1, kBifPlain, nullptr},
    {"erlang", "trace_delivered", 1, erlang_trace_delivered_1, kBifPlain, nullptr},
};

}  // namespace

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

bool is_arity(Term t) {
    return is_small(t) && small_value(t) >= 0 && small_value(t) <= 255;
}

void add_bifs() {
    bif_registry::add(&g_bifs);
    add_info_bifs();
}

}  // namespace minivm::trace
