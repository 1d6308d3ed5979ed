// BIFs about processes: spawning, links, monitors, aliases, names, flags, sending, the dictionary.
//
// What another process must answer is asked by a signal; the caller then waits in
// erts_internal:await_result/1 for {Ref, Result}.
#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <string>
#include <vector>

#include "recorder/recorder.hpp"
#include "vm/bif/bif.hpp"
#include "vm/bif/code_operation.hpp"
#include "vm/bif/max_heap.hpp"
#include "vm/code/code_change.hpp"
#include "vm/code/export.hpp"
#include "vm/heap/gc.hpp"
#include "vm/port/port.hpp"
#include "vm/process/dirty_hold.hpp"
#include "vm/process/engine_hooks.hpp"
#include "vm/process/kernel_start.hpp"
#include "vm/process/process_life.hpp"
#include "vm/process/process_record.hpp"
#include "vm/process/process_table.hpp"
#include "vm/process/registry.hpp"
#include "vm/process/report.hpp"
#include "vm/process/seq_trace.hpp"
#include "vm/process/signal.hpp"
#include "vm/process/state.hpp"
#include "vm/process/tracing.hpp"
#include "vm/sched/scheduler_thread.hpp"
#include "vm/term/compare.hpp"
#include "vm/term/local_atoms.hpp"
#include "vm/term/map.hpp"
#include "vm/util/otp_release.hpp"

namespace minivm {

namespace {

LOCAL_ATOM(atom_registered_name, "registered_name")
LOCAL_ATOM(atom_error_only, "error_only")
LOCAL_ATOM(atom_success_only, "success_only")
LOCAL_ATOM(atom_reply_tag, "reply_tag")
LOCAL_ATOM(atom_include_shared, "include_shared_binaries")
LOCAL_ATOM(atom_this, "this")
LOCAL_ATOM(atom_known, "known")
LOCAL_ATOM(atom_visible, "visible")
LOCAL_ATOM(atom_hidden, "hidden")
LOCAL_ATOM(atom_connection_id, "connection_id")
LOCAL_ATOM(atom_node_type, "node_type")
LOCAL_ATOM(atom_unless_suspending, "unless_suspending")
LOCAL_ATOM(atom_asynchronous, "asynchronous")
LOCAL_ATOM(atom_major, "major")
LOCAL_ATOM(atom_minor, "minor")
LOCAL_ATOM(atom_notalive, "notalive")
LOCAL_ATOM(atom_inherit, "inherit")
LOCAL_ATOM(atom_copy_literals, "copy_literals")
LOCAL_ATOM(atom_system_task_test, "system_task_test")
LOCAL_ATOM(atom_check_process_code, "check_process_code")

Term make_ref_term(Heap& h, RefId id) { return put_ref(h.alloc(kRefWords), id); }

// The caller goes on when {Ref, Result} has come, with Result as the BIF's result.
Term await(Process& p, RefId ref) {
    static const Export* await_result = bif_export("erts_internal", "await_result", 1);
    return trap(p, await_result, {make_ref_term(p.heap, ref)});
}

// Handles what has arrived; true if it ended the process.
bool handle_now(Process& p, Term* result) {
    if (has_signals(p)) {
        handle_signals(p);
    }
    if (p.exit_signal == nullptr) {
        return false;
    }
    p.outcome = BifOutcome::exited;
    *result = kNonValue;
    return true;
}

ControlSignal* new_request(Process& p, RefId ref, void (*run)(Process&, ControlSignal&),
                           void (*gone)(ControlSignal&)) {
    ControlSignal* s = new_signal(SignalKind::rpc, p.id);
    s->ref = ref;
    s->run = run;
    s->gone = gone;
    return s;
}

// ---- spawning -------------------------------------------------------------------------------------

bool parse_priority(Term t, Priority* out) {
    if (t == atoms::normal) {
        *out = Priority::normal;
    } else if (t == atoms::low) {
        *out = Priority::low;
    } else if (t == atoms::high) {
        *out = Priority::high;
    } else if (t == atoms::max) {
        *out = Priority::max;
    } else {
        return false;
    }
    return true;
}

Term priority_atom(Priority priority) {
    switch (priority) {
        case Priority::max:
            return atoms::max;
        case Priority::high:
            return atoms::high;
        case Priority::low:
            return atoms::low;
        case Priority::normal:
            break;
    }
    return atoms::normal;
}

struct MaxHeap {
    uint64_t words = 0;
    bool kill = true;
    bool log = true;
    bool shared = false;
};

bool parse_max_heap(Term t, MaxHeap* out) {
    uint64_t n;
    if (is_integer(t)) {
        if (!get_uint64(t, &n) || (n != 0 && n < 233)) {
            return false;
        }
        out->words = n;
        return true;
    }
    if (!is_map(t)) {
        return false;
    }
    const Term size = map::get(t, atoms::size);
    if (!is_value(size) || !get_uint64(size, &n) || (n != 0 && n < 233)) {
        return false;
    }
    out->words = n;
    const auto flag = [t](Term key, bool* value) {
        const Term v = map::get(t, key);
        if (!is_value(v)) {
            return true;
        }
        *value = v == atoms::true_;
        return is_bool(v);
    };
    return flag(atoms::kill, &out->kill) && flag(atoms::error_logger, &out->log) &&
           flag(atom_include_shared(), &out->shared);
}

}  // namespace

Term max_heap_term(Heap& h, uint64_t words, bool kill, bool log, bool shared) {
    Term keys[4] = {atoms::error_logger, atoms::kill, atoms::size, atom_include_shared()};
    Term values[4] = {make_bool(log), make_bool(kill), make_unsigned(h, words), make_bool(shared)};
    return map::from_pairs(h, keys, values, by_release::at_least(26) ? 4 : 3);
}

namespace {

bool parse_alias_kind(Term t, uint8_t* out) {
    if (t == atoms::explicit_unalias) {
        *out = static_cast<uint8_t>(AliasKind::explicit_unalias);
    } else if (t == atoms::demonitor) {
        *out = static_cast<uint8_t>(AliasKind::demonitor);
    } else if (t == atoms::reply_demonitor) {
        *out = static_cast<uint8_t>(AliasKind::reply_demonitor);
    } else {
        return false;
    }
    return true;
}

// [], [priority]
bool takes_priority_only(Term list, bool* priority) {
    for (; is_cons(list) && head(list) == atoms::priority; list = tail(list)) {
        *priority = true;
    }
    return is_nil(list);
}

// [{alias, Kind}, {tag, Term}, priority]
bool parse_monitor_options(Term list, uint8_t* alias, Term* tag, bool* priority) {
    for (; is_cons(list); list = tail(list)) {
        const Term o = head(list);
        if (o == atoms::priority && by_release::at_least(28)) {
            *priority = true;
            continue;
        }
        if (!is_tuple_of(o, 2)) {
            return false;
        }
        if (tuple_element(o, 0) == atoms::tag) {
            *tag = tuple_element(o, 1);
        } else if (tuple_element(o, 0) != atoms::alias ||
                   !parse_alias_kind(tuple_element(o, 1), alias)) {
            return false;
        }
    }
    return is_nil(list);
}

enum class Reply : uint8_t { yes, no, error_only, success_only };

// What spawn_request takes beside the options of spawn_opt.
struct RequestOptions {
    Reply reply = Reply::yes;
    Term tag = atoms::spawn_reply;
};

bool parse_spawn_option(Term o, SpawnOptions* out, RequestOptions* request) {
    if (o == atoms::link) {
        out->link = true;
        return true;
    }
    if (o == atoms::monitor) {
        out->monitor = true;
        return true;
    }
    if (!is_tuple_of(o, 2)) {
        return false;
    }
    const Term name = tuple_element(o, 0);
    const Term value = tuple_element(o, 1);
    if (name == atoms::monitor) {
        out->monitor = true;
        return parse_monitor_options(value, &out->monitor_alias, &out->monitor_tag,
                                     &out->monitor_priority);
    }
    if (name == atoms::link && by_release::at_least(28)) {
        out->link = true;
        return takes_priority_only(value, &out->link_priority);
    }
    if (name == atoms::priority) {
        return parse_priority(value, &out->priority);
    }
    if (name == atoms::message_queue_data) {
        out->message_queue_off_heap = value == atoms::off_heap;
        return value == atoms::off_heap || value == atoms::on_heap;
    }
    if (name == atoms::max_heap_size) {
        MaxHeap max;
        if (!parse_max_heap(value, &max)) {
            return false;
        }
        out->has_max_heap = true;
        out->max_heap_words = max.words;
        out->max_heap_kill = max.kill;
        out->max_heap_log = max.log;
        return true;
    }
    if (name == atoms::async_dist && by_release::at_least(26)) {
        out->async_dist = value == atoms::true_;
        return is_bool(value);
    }
    if (request != nullptr && name == atoms::reply) {
        if (value == atoms::yes) {
            request->reply = Reply::yes;
        } else if (value == atoms::no) {
            request->reply = Reply::no;
        } else if (value == atom_error_only()) {
            request->reply = Reply::error_only;
        } else if (value == atom_success_only()) {
            request->reply = Reply::success_only;
        } else {
            return false;
        }
        return true;
    }
    if (request != nullptr && name == atom_reply_tag()) {
        request->tag = value;
        return true;
    }
    if (!is_small(value) || small_value(value) < 0) {
        return false;
    }
    const uint64_t n = static_cast<uint64_t>(small_value(value));
    const uint32_t clamped = static_cast<uint32_t>(std::min<uint64_t>(n, 0xFFFFFFFF));
    if (name == atoms::scheduler) {
        out->bound_to = clamped;
        return n <= static_cast<uint64_t>(vm::scheduler_count());
    }
    if (name == atoms::min_heap_size) {
        out->min_heap_words = clamped == 0 ? 1 : clamped;
    } else if (name == atoms::min_bin_vheap_size) {
        out->min_bin_vheap_words = clamped == 0 ? 1 : clamped;
    } else if (name == atoms::fullsweep_after) {
        out->has_fullsweep_after = true;
        out->fullsweep_after = clamped & 0xFFFF;  // OTP keeps 16 bits
    } else {
        return false;
    }
    return true;
}

bool parse_spawn_options(Term list, SpawnOptions* out, RequestOptions* request) {
    for (; is_cons(list); list = tail(list)) {
        if (!parse_spawn_option(head(list), out, request)) {
            return false;
        }
    }
    return is_nil(list);
}

// Of a proper list. All of it is read: where the reply goes may stand behind what is wrong.
bool parse_request_options(Term list, SpawnOptions* out, RequestOptions* request) {
    bool good = true;
    for (; is_cons(list); list = tail(list)) {
        good &= parse_spawn_option(head(list), out, request);
    }
    return good;
}

// {Tag, Ref, error, Why}, unless the request wants no such reply.
void reply_to_request(Process& p, const RequestOptions& request, RefId ref, Term why) {
    if (request.reply == Reply::yes || request.reply == Reply::error_only) {
        Heap h;
        const Term tag = copy_term(request.tag, h, true);
        send_message_to_pid(p.id, make_tuple(h, tag, make_ref_term(h, ref), atoms::error, why));
        h.clear();
    }
}

constexpr int64_t kMaxArguments = 255;

bool check_mfa(const Term* a) {
    return is_atom(a[0]) && is_atom(a[1]) && list_length(a[2]) >= 0;
}

Term spawn_mfa(Process& p, const Term* a, SpawnOptions& o) {
    consume(p, 100);
    const int64_t arity = list_length(a[2]);
    if (arity <= kMaxArguments) {
        return spawn(&p, export_table::get(a[0], a[1], static_cast<uint32_t>(arity)), a[2], o);
    }
    // No function has so many: the process fails as apply/3 does.
    static const Export* apply = export_table::get(atoms::erlang, atoms::apply, 3);
    Term cells[6];
    const Term args =
        put_cons(cells, a[0], put_cons(cells + 2, a[1], put_cons(cells + 4, a[2], kNil)));
    return spawn(&p, apply, args, o);
}

Term too_many_processes(Process& p) {
    report_text(p, ReportLevel::error, "Too many processes\n");
    return system_limit(p);
}

Term do_spawn(Process& p, const Term* a, SpawnOptions& o) {
    const Term pid = spawn_mfa(p, a, o);
    return is_value(pid) ? pid : too_many_processes(p);
}

Term erlang_spawn_3(Process& p, const Term* a) {
    if (!check_mfa(a)) {
        return badarg(p);
    }
    SpawnOptions o;
    return do_spawn(p, a, o);
}

Term erlang_spawn_link_3(Process& p, const Term* a) {
    if (!check_mfa(a)) {
        return badarg(p);
    }
    SpawnOptions o;
    o.link = true;
    Term cell[2];
    o.option_list = put_cons(cell, atoms::link, kNil);
    return do_spawn(p, a, o);
}

Term erlang_spawn_opt_4(Process& p, const Term* a) {
    SpawnOptions o;
    if (!check_mfa(a)) {
        return badarg(p);
    }
    if (!parse_spawn_options(a[3], &o, nullptr)) {
        return badarg_cause(p, atoms::badopt);
    }
    o.option_list = a[3];
    const Term pid = do_spawn(p, a, o);
    if (!is_value(pid) || !o.monitor) {
        return pid;
    }
    return make_tuple(p.heap, pid, make_ref_term(p.heap, o.monitor_ref));
}

Term erts_internal_spawn_request_4(Process& p, const Term* a) {
    SpawnOptions o;
    RequestOptions request;
    if (!check_mfa(a) || list_length(a[3]) < 0) {
        return atoms::badarg;
    }
    if (!parse_request_options(a[3], &o, &request)) {
        const RefId bad = new_ref_id(p);
        reply_to_request(p, request, bad, atoms::badopt);
        return make_ref_term(p.heap, bad);
    }
    if (o.monitor && o.monitor_alias != 0) {
        o.monitor_ref = new_alias_id(p);
    } else {
        o.monitor_ref = new_ref_id(p);
    }
    const RefId ref = o.monitor_ref;
    // The reply must be in the queue before anything the child can cause.
    o.context = &request;
    o.option_list = a[3];
    o.reply_tag = request.tag;
    o.replies = true;
    o.before_start = [](Process& parent, Process& child, SpawnOptions& options, void* context) {
        const auto& r = *static_cast<RequestOptions*>(context);
        if (r.reply == Reply::yes || r.reply == Reply::success_only) {
            Heap h;
            const Term tag = copy_term(r.tag, h, true);
            const Term reply =
                make_tuple(h, tag, make_ref_term(h, options.monitor_ref), atoms::ok, child.id);
            send_message_to_pid(parent.id, reply, seq_trace::replying(child, parent, reply));
            h.clear();
        }
    };
    const Term pid = spawn_mfa(p, a, o);
    if (!is_value(pid)) {
        report_text(p, ReportLevel::error, "Too many processes\n");
        reply_to_request(p, request, ref, atoms::system_limit);
    }
    return make_ref_term(p.heap, ref);
}

// erts_internal:dist_spawn_request(Node, {M, F, A}, Options, spawn_request | spawn_opt): this node is
// not alive, so there is no connection to any other.
Term erts_internal_dist_spawn_request_4(Process& p, const Term* a) {
    SpawnOptions o;
    RequestOptions request;
    if (!is_atom(a[0]) || !is_tuple_of(a[1], 3) || !check_mfa(tuple_elements(a[1])) ||
        list_length(a[2]) < 0) {
        return atoms::badarg;
    }
    const bool parsed = parse_request_options(a[2], &o, &request);
    const RefId ref = new_ref_id(p);
    if (request.reply == Reply::yes || request.reply == Reply::error_only ||
        a[3] == atoms::spawn_opt) {
        Heap h;
        const Term tag =
            a[3] == atoms::spawn_opt ? atoms::spawn_reply : copy_term(request.tag, h, true);
        send_message_to_pid(p.id, make_tuple(h, tag, make_ref_term(h, ref), atoms::error,
                                             parsed ? atoms::noconnection : atoms::badopt));
        h.clear();
    }
    const Term r = make_ref_term(p.heap, ref);
    return a[3] == atoms::spawn_opt ? make_tuple(p.heap, r, make_bool(o.monitor)) : r;
}

// A local spawn is never pending: there is nothing to abandon.
Term erlang_spawn_request_abandon_1(Process& p, const Term* a) {
    return is_reference(a[0]) ? atoms::false_ : badarg(p);
}

Term erts_internal_spawn_system_process_3(Process& p, const Term* a) {
    if (!check_mfa(a)) {
        return badarg(p);
    }
    SpawnOptions o;
    o.system_process = true;
    o.priority = Priority::high;
    return do_spawn(p, a, o);
}

Term erts_internal_is_system_process_1(Process& p, const Term* a) {
    if (!is_local_pid(a[0])) {
        return badarg(p);
    }
    // Decided before the process started, so any thread may look.
    Process* q = process_table::lookup(a[0]);
    return make_bool(q != nullptr && q->system_process);
}

// ---- exit, links, monitors, aliases -----------------------------------------------------------------

// From OTP 28 on also to an alias, with the option `priority`. The non-value: the exception is raised, or the
// signal is for us.
Term send_exit_signal(Process& p, const Term* a, ExitOptions options) {
    const bool is_to_alias = is_reference(a[0]);
    if (!is_to_alias && !is_pid(a[0]) && !is_port(a[0])) {
        return badarg(p);
    }
    if (is_to_alias ? is_local_ref(a[0]) : is_immediate(a[0])) {
        send_exit_by_hand(p, a[0], a[1], options);
        Term result;
        if ((a[0] == p.id || is_to_alias) && handle_now(p, &result)) {
            return result;
        }
    }
    return atoms::true_;
}
Term exit_signal_with(Process& p, const Term* a, bool no_quirk) {
    ExitOptions options;
    options.no_quirk = no_quirk;
    return takes_priority_only(a[2], &options.priority) ? send_exit_signal(p, a, options)
                                                        : badarg_cause(p, atoms::badopt);
}
Term erlang_exit_3(Process& p, const Term* a) { return exit_signal_with(p, a, false); }
Term erlang_exit_signal_3(Process& p, const Term* a) { return exit_signal_with(p, a, true); }

Term erlang_exit_2(Process& p, const Term* a) {
    if (is_reference(a[0]) && by_release::at_least(28)) {
        return send_exit_signal(p, a, {});
    }
    if (is_pid(a[0]) || is_port(a[0])) {
        if (is_immediate(a[0])) {
            send_exit(p.id, a[0], a[1], false);
            Term result;
            if (a[0] == p.id && handle_now(p, &result)) {
                return result;
            }
        }
        return atoms::true_;
    }
    return badarg(p);
}

Term erlang_exit_signal_2(Process& p, const Term* a) {
    return by_release::at_least(29) ? send_exit_signal(p, a, {.priority = false, .no_quirk = true})
                                    : erlang_exit_2(p, a);
}

Term link_to(Process& p, const Term* a, bool priority) {
    if (is_local_pid(a[0])) {
        if (a[0] != p.id && process_table::lookup(a[0]) == nullptr && !p.trap_exit) {
            return error(p, atoms::noproc);
        }
        link_process(p, a[0], priority);
        return atoms::true_;
    }
    if (is_local_port(a[0])) {
        if (!port::exists(a[0]) && !p.trap_exit) {
            return error(p, atoms::noproc);
        }
        link_process(p, a[0], priority);
        return atoms::true_;
    }
    if (is_kind(a[0], Kind::ext_pid)) {
        send_exit(a[0], p.id, atoms::noconnection, false);
        return atoms::true_;
    }
    return badarg(p);
}

Term erlang_link_1(Process& p, const Term* a) { return link_to(p, a, false); }
Term erlang_link_2(Process& p, const Term* a) {
    bool priority = false;
    return takes_priority_only(a[1], &priority) ? link_to(p, a, priority)
                                                : badarg_cause(p, atoms::badopt);
}

Term erlang_unlink_1(Process& p, const Term* a) {
    if (is_local_pid(a[0]) || is_local_port(a[0])) {
        // An exit signal that is already here took effect before.
        Term result;
        if (handle_now(p, &result)) {
            return result;
        }
        unlink_process(p, a[0]);
        return atoms::true_;
    }
    return is_pid(a[0]) || is_port(a[0]) ? atoms::true_ : badarg(p);
}

// {Tag, Ref, Type, Object, Reason} to ourselves, through the queue like any other.
Term down_at_once(Process& p, Term tag, RefId ref, Term type, Term object, Term reason) {
    Heap h;
    const Term t = is_value(tag) ? copy_term(tag, h, true) : atoms::DOWN;
    send_message_to_pid(p.id, make_tuple(h, t, make_ref_term(h, ref), type,
                                         copy_term(object, h, true), reason));
    h.clear();
    return make_ref_term(p.heap, ref);
}

// Of a port, or of a name with its node.
bool is_of_other_node(Term item) {
    if (is_kind(item, Kind::ext_port)) {
        return boxed_ptr(item)[1] != atoms::nonode_at_nohost;
    }
    return is_tuple_of(item, 2) && tuple_element(item, 1) != atoms::nonode_at_nohost;
}

Term do_monitor(Process& p, Term type, Term item, uint8_t alias, Term tag, bool priority) {
    const RefId ref = alias != 0 ? new_alias_id(p) : new_ref_id(p);
    const bool is_name = is_atom(item) || (is_tuple_of(item, 2) && is_atom(tuple_element(item, 0)) &&
                                           is_atom(tuple_element(item, 1)));
    if (type == atoms::process) {
        if (!is_pid(item) && !is_name) {
            return badarg(p);
        }
    } else if (type == atoms::port) {
        if ((!is_port(item) && !is_name) || is_of_other_node(item)) {
            return badarg(p);  // ports are watched on their own node alone
        }
    } else if (type == atoms::time_offset) {
        if (item != atoms::clock_service) {
            return badarg(p);
        }
    } else {
        return badarg_cause(p, atoms::badtype);
    }
    if (alias != 0) {
        extra_of(p).aliases[ref].kind = static_cast<AliasKind>(alias);
    }
    if (type == atoms::time_offset) {
        // The offset never changes, so no message ever comes.
        Monitor m;
        m.tag = tag;
        m.time_offset = true;
        extra_of(p).monitors.emplace(ref, m);
        return make_ref_term(p.heap, ref);
    }
    Term node = atoms::nonode_at_nohost;
    Term name = kNonValue;
    if (is_name) {
        name = is_atom(item) ? item : tuple_element(item, 0);
        if (!is_atom(item)) {
            node = tuple_element(item, 1);
        }
    }
    const bool external = is_kind(item, Kind::ext_pid) || is_kind(item, Kind::ext_port);
    if (external && boxed_ptr(item)[1] == atoms::nonode_at_nohost) {
        return down_at_once(p, tag, ref, type, item, atoms::noproc);  // of this node's life before
    }
    if (external || node != atoms::nonode_at_nohost) {
        return down_at_once(p, tag, ref, type, item, atoms::noconnection);
    }
    const bool port = type == atoms::port;
    Term target = item;
    if (is_name) {
        target = registry::whereis(name);
        if (is_value(target) && is_local_port(target) != port) {
            target = kNonValue;  // the name of one of the other sort
        }
    }
    monitor_process(p, ref, target, name, tag, port, priority);
    return make_ref_term(p.heap, ref);
}

Term erlang_monitor_2(Process& p, const Term* a) { return do_monitor(p, a[0], a[1], 0, kNonValue, false); }

Term erlang_monitor_3(Process& p, const Term* a) {
    uint8_t alias = 0;
    Term tag = kNonValue;
    bool priority = false;
    if (!parse_monitor_options(a[2], &alias, &tag, &priority)) {
        return badarg_cause(p, atoms::badopt);
    }
    return do_monitor(p, a[0], a[1], alias, tag, priority);
}

bool do_demonitor(Process& p, Term ref) {
    if (!is_local_ref(ref)) {
        return false;
    }
    const RefId id = ref_id(ref);
    if (p.extra != nullptr) {
        const auto alias = p.extra->aliases.find(id);
        if (alias != p.extra->aliases.end() && (alias->second.kind == AliasKind::demonitor ||
                                                alias->second.kind == AliasKind::reply_demonitor)) {
            p.extra->aliases.erase(alias);
        }
    }
    return demonitor_process(p, id);
}

Term erlang_demonitor_1(Process& p, const Term* a) {
    if (!is_reference(a[0])) {
        return badarg(p);
    }
    do_demonitor(p, a[0]);
    return atoms::true_;
}

Term erlang_demonitor_2(Process& p, const Term* a) {
    bool flush = false;
    bool info = false;
    Term list = a[1];
    for (; is_cons(list); list = tail(list)) {
        if (head(list) == atoms::flush) {
            flush = true;
        } else if (head(list) == atoms::info) {
            info = true;
        } else {
            return badarg(p);
        }
    }
    if (!is_nil(list) || !is_reference(a[0])) {
        return badarg(p);
    }
    Term result;
    if (handle_now(p, &result)) {
        return result;
    }
    const bool was_there = do_demonitor(p, a[0]);
    if (flush && !was_there && is_local_ref(a[0])) {
        flush_down_message(p, ref_id(a[0]));
    }
    return make_bool(!info || was_there);
}

Term erlang_alias_1(Process& p, const Term* a) {
    AliasKind kind = AliasKind::explicit_unalias;
    bool priority = false;
    Term list = a[0];
    for (; is_cons(list); list = tail(list)) {
        if (head(list) == atoms::reply) {
            kind = AliasKind::reply;
        } else if (head(list) == atoms::explicit_unalias) {
            kind = AliasKind::explicit_unalias;
        } else if (head(list) == atoms::priority && by_release::at_least(28)) {
            priority = true;
        } else {
            return badarg(p);
        }
    }
    if (!is_nil(list)) {
        return badarg(p);
    }
    const RefId id = new_alias_id(p);
    extra_of(p).aliases[id] = Alias{kind, priority};
    return make_ref_term(p.heap, id);
}

Term erlang_unalias_1(Process& p, const Term* a) {
    if (!is_reference(a[0])) {
        return badarg(p);
    }
    if (!is_local_ref(a[0])) {
        return atoms::false_;
    }
    // A reply that is already here was sent to an active alias.
    Term result;
    if (handle_now(p, &result)) {
        return result;
    }
    return make_bool(remove_alias(p, ref_id(a[0])));
}

// ---- sending -----------------------------------------------------------------------------------------

Term erlang_send_2(Process& p, const Term* a) { return send_message(p, a[0], a[1]); }

Term erlang_send_3(Process& p, const Term* a) {
    bool nosuspend = false;
    bool noconnect = false;
    bool priority = false;
    Term list = a[2];
    for (; is_cons(list); list = tail(list)) {
        if (head(list) == atoms::priority && by_release::at_least(28)) {
            priority = true;
            continue;
        }
        nosuspend = nosuspend || head(list) == atoms::nosuspend;
        noconnect = noconnect || head(list) == atoms::noconnect;
        if (head(list) != atoms::nosuspend && head(list) != atoms::noconnect) {
            return badarg_cause(p, atoms::badopt);
        }
    }
    if (!is_nil(list)) {
        return badarg_cause(p, atoms::badopt);
    }
    if (priority && is_local_ref(a[0])) {
        send_priority_message(p, a[0], a[1]);
        return atoms::ok;
    }
    const Term port = is_atom(a[0]) ? registry::whereis(a[0]) : a[0];
    if (is_local_port(port)) {
        port::waited(p);
        if (port::is_busy(port)) {
            if (nosuspend) {
                return atoms::nosuspend;
            }
            static const Export* again = bif_export("erlang", "send", 3);
            port::wait_until_free(port, p.id);
            return port::wait(p, port, again, {a[0], a[1], a[2]});
        }
        // Whoever makes it busy now: what is sent is taken all the same.
        if (port::exists(port)) {
            trace_send(p, port, a[1]);
        }
        port::message(&p, port, a[1], true);
        return atoms::ok;
    }
    if (!is_value(send_message(p, a[0], a[1]))) {
        return kNonValue;
    }
    const bool is_elsewhere =
        is_tuple(a[0]) && tuple_element(a[0], 1) != atoms::nonode_at_nohost;
    return noconnect && is_elsewhere ? atoms::noconnect : atoms::ok;
}

// ---- names ----------------------------------------------------------------------------------------------

// A process gets or loses its name.
static void trace_name(Term pid, Term tag, Term name) {
    if (is_local_port(pid)) {
        port::trace_name(pid, tag, name);
    }
    Process* named = is_local_pid(pid) ? process_table::lookup(pid) : nullptr;
    if (named != nullptr && tracing::is_traced(*named, tracing::kProcs)) {
        tracing::g_hooks->procs(*named, tag, name);
    }
}

Term erlang_register_2(Process& p, const Term* a) {
    if (!is_atom(a[0]) || a[0] == atoms::undefined ||
        !(is_local_pid(a[1]) || is_local_port(a[1]))) {
        return badarg_cause(p, atoms::none);
    }
    switch (registry::register_name(a[0], a[1])) {
        case registry::Registered::yes:
            trace_name(a[1], atoms::register_, a[0]);
            return atoms::true_;
        case registry::Registered::has_name:
            return badarg_cause(p, atom_registered_name());
        case registry::Registered::no:
            break;
    }
    return badarg_cause(p, atoms::none);
}

Term erlang_unregister_1(Process& p, const Term* a) {
    const Term pid = is_atom(a[0]) ? registry::whereis(a[0]) : kNonValue;
    if (!is_value(pid) || !registry::unregister_name(a[0])) {
        return badarg(p);
    }
    trace_name(pid, atoms::unregister, a[0]);
    return atoms::true_;
}

// minivm:kernel(available | starting | up): starting, by the caller.
Term minivm_kernel_1(Process& p, const Term* a) {
    if (a[0] == atom_table::intern("available")) {
        kernel_start::make_available();
    } else if (a[0] == atom_table::intern("starting")) {
        kernel_start::begin(p.id);
    } else if (a[0] == atom_table::intern("up")) {
        kernel_start::end();
    } else {
        return badarg(p);
    }
    return atoms::ok;
}

Term erlang_whereis_1(Process& p, const Term* a) {
    if (!is_atom(a[0])) {
        return badarg(p);
    }
    const Term pid = registry::whereis(a[0]);
    if (is_value(pid)) {
        return pid;
    }
    if (MINIVM_UNLIKELY(kernel_start::must_wait(p.id, a[0]))) {
        static const Export* on_demand = export_table::get(atom_table::intern("minivm_kernel"),
                                                           atom_table::intern("whereis"), 1);
        return trap(p, on_demand, {a[0]});
    }
    return atoms::undefined;
}

Term erlang_registered_0(Process& p, const Term*) {
    Term list = kNil;
    for (const Term name : registry::registered()) {
        list = cons(p.heap, name, list);
    }
    return list;
}

// ---- the dictionary --------------------------------------------------------------------------------------

Term or_undefined(Term t) { return is_value(t) ? t : atoms::undefined; }

Term erlang_get_1(Process& p, const Term* a) {
    return p.extra == nullptr ? atoms::undefined : or_undefined(p.extra->dictionary.get(a[0]));
}

Term erlang_put_2(Process& p, const Term* a) {
    return or_undefined(extra_of(p).dictionary.put(a[0], a[1]));
}

Term erlang_erase_1(Process& p, const Term* a) {
    return p.extra == nullptr ? atoms::undefined : or_undefined(p.extra->dictionary.erase(a[0]));
}

Term dictionary_list(Process& p) {
    Term list = kNil;
    if (p.extra != nullptr) {
        const auto& pairs = p.extra->dictionary.pairs();
        for (const Dictionary::Pair& pair : pairs) {
            list = cons(p.heap, make_tuple(p.heap, pair.key, pair.value), list);
        }
        consume(p, static_cast<int64_t>(pairs.size() / 10));
    }
    return list;
}

Term erlang_get_0(Process& p, const Term*) { return dictionary_list(p); }

Term erlang_erase_0(Process& p, const Term*) {
    const Term list = dictionary_list(p);
    if (p.extra != nullptr) {
        p.extra->dictionary.clear();
    }
    return list;
}

Term erlang_get_keys_0(Process& p, const Term*) {
    Term list = kNil;
    if (p.extra != nullptr) {
        for (const Dictionary::Pair& pair : p.extra->dictionary.pairs()) {
            list = cons(p.heap, pair.key, list);
        }
    }
    return list;
}

Term erlang_get_keys_1(Process& p, const Term* a) {
    Term list = kNil;
    if (p.extra != nullptr) {
        for (const Dictionary::Pair& pair : p.extra->dictionary.pairs()) {
            if (exact_equal(pair.value, a[0])) {
                list = cons(p.heap, pair.key, list);
            }
        }
    }
    return list;
}

// ---- group leader, being alive -------------------------------------------------------------------------------

Term erlang_self_0(Process& p, const Term*) { return p.id; }

Term erlang_group_leader_0(Process& p, const Term*) { return p.group_leader; }

void set_group_leader(Process& p, Term leader) {
    p.group_leader = is_pointer(leader) ? copy_term(leader, p.heap, true) : leader;
}

// A process in a dirty function may be there for long: it gets it from here. asked: null, or the reference of the request
// that was sent. False: it must be asked, or it answers.
bool lead_from_outside(const Process& p, Term leader, Term pid, const RefId* asked) {
    Process* const q = process_table::lookup(pid);
    if (q == nullptr || is_pointer(leader)) {
        return false;
    }
    const dirty::Hold hold(*q);
    if (!hold || q->is_exiting() || will_exit(*q) || (asked != nullptr && !hold.withdraw(p.id, *asked))) {
        return false;
    }
    q->group_leader = leader;
    return true;
}

// minivm:end_dirty(Pid), of a process that is made for it: see end_dirty_process().
Term minivm_end_dirty_1(Process&, const Term* a) {
    if (Process* const q = process_table::lookup(a[0])) {
        end_dirty_process(*q);
    }
    return atoms::ok;
}

// erts_internal:group_leader(Leader, Pid): false asks for the call with a reference.
Term erts_internal_group_leader_2(Process& p, const Term* a) {
    if (!is_pid(a[0]) || !is_pid(a[1])) {
        return atoms::badarg;
    }
    if (a[1] == p.id) {
        set_group_leader(p, a[0]);
        return atoms::true_;
    }
    return is_local_pid(a[1]) ? make_bool(lead_from_outside(p, a[0], a[1], nullptr)) : atoms::true_;
}

Term erts_internal_group_leader_3(Process& p, const Term* a) {
    if (!is_pid(a[0]) || !is_local_pid(a[1]) || !is_local_ref(a[2])) {
        return badarg(p);
    }
    ControlSignal* s = new_request(
        p, ref_id(a[2]),
        [](Process& target, ControlSignal& request) {
            set_group_leader(target, request.term);
            reply(request, atoms::true_);
        },
        [](ControlSignal& request) { reply(request, atoms::badarg); });
    Heap h;
    s->term = copy_term(a[0], h, true);
    take_fragments(*s, h);
    send_signal(a[1], s);
    const RefId asked = ref_id(a[2]);
    if (lead_from_outside(p, a[0], a[1], &asked)) {
        send_message_to_pid(p.id, make_tuple(p.heap, a[2], atoms::true_));
    }
    return atoms::ok;
}

void ask_alive(Process& p, Term pid, RefId ref) {
    send_signal(pid, new_request(
                         p, ref, [](Process&, ControlSignal& r) { reply(r, atoms::true_); },
                         [](ControlSignal& r) { reply(r, atoms::false_); }));
}

// One in a dirty function may be there for long: it is looked at from here. asked: null, or the request that
// was sent. The non-value: it must be asked, or it answers.
Term alive_from_outside(Process& p, Term pid, const RefId* asked) {
    Process* const q = process_table::lookup(pid);
    if (q == nullptr) {
        return kNonValue;
    }
    const dirty::Hold hold(*q);
    // The one dirty function that changes links, which will_exit() reads; it is a short one.
    static const Export* const open_port = bif_export("erts_internal", "open_port", 2);
    if (!hold || q->dirty_bif->exp == open_port ||
        (asked != nullptr && !hold.withdraw(p.id, *asked))) {
        return kNonValue;
    }
    return make_bool(!q->is_exiting() && !will_exit(*q));
}

Term erlang_is_process_alive_1(Process& p, const Term* a) {
    if (!is_local_pid(a[0])) {
        return badarg(p);
    }
    if (a[0] == p.id) {
        return atoms::true_;
    }
    // Not even signals from us can be on their way to a process that is not there.
    if (process_table::lookup(a[0]) == nullptr) {
        return atoms::false_;
    }
    if (const Term alive = alive_from_outside(p, a[0], nullptr); is_value(alive)) {
        return alive;
    }
    // What we have sent it before (an exit signal, say) must take effect first: so we ask it.
    const RefId ref = new_ref_id(p);
    ask_alive(p, a[0], ref);
    if (const Term alive = alive_from_outside(p, a[0], &ref); is_value(alive)) {
        return alive;
    }
    return await(p, ref);
}

Term erts_internal_is_process_alive_2(Process& p, const Term* a) {
    if (!is_local_pid(a[0]) || !is_local_ref(a[1])) {
        return badarg(p);
    }
    const RefId ref = ref_id(a[1]);
    Term alive = alive_from_outside(p, a[0], nullptr);
    if (!is_value(alive)) {
        ask_alive(p, a[0], ref);
        alive = alive_from_outside(p, a[0], &ref);
    }
    if (is_value(alive)) {
        reply(p.id, ref, alive);
    }
    return atoms::ok;
}

Term erlang_processes_0(Process& p, const Term*) {
    std::vector<Term> pids;
    pids.reserve(process_table::count() + 16);
    process_table::for_each(
        [](Process& q, void* context) {
            static_cast<std::vector<Term>*>(context)->push_back(q.id);
        },
        &pids);
    std::sort(pids.begin(), pids.end(), [](Term x, Term y) { return x.raw > y.raw; });
    Term list = kNil;
    for (const Term pid : pids) {
        list = cons(p.heap, pid, list);
    }
    consume(p, static_cast<int64_t>(pids.size() / 10));
    return list;
}

// {Position, Pids} of those that exist now, then `none`. The position goes into the next call.
// What comes in one piece here: behind it there is nothing.
Term erts_internal_processes_next_1(Process& p, const Term* a) {
    if (a[0] == make_small(0)) {
        return make_tuple(p.heap, make_small(1), erlang_processes_0(p, nullptr));
    }
    return is_small(a[0]) && small_value(a[0]) > 0 && small_value(a[0]) <= process_table::kMaxProcesses
               ? atoms::none
               : badarg(p);
}

// ---- flags ----------------------------------------------------------------------------------------------------

// How many calls it saves.
uint32_t saved_calls(const Process& p) {
    return p.extra != nullptr && p.extra->saved_calls != nullptr ? p.extra->saved_calls->most : 0;
}

Term erlang_process_flag_2(Process& p, const Term* a) {
    const Term flag = a[0];
    const Term value = a[1];
    uint32_t n;
    if (flag == atoms::trap_exit) {
        if (!is_bool(value)) {
            return badarg(p);
        }
        // Exit signals that are here already were sent to a process with the old flag.
        Term result;
        if (handle_now(p, &result)) {
            return result;
        }
        const Term old = make_bool(p.trap_exit);
        p.trap_exit = value == atoms::true_;
        return old;
    }
    if (flag == atoms::priority) {
        const Term old = priority_atom(p.priority);
        Priority now;
        if (!parse_priority(value, &now)) {
            return badarg(p);
        }
        // relaxed: see raise_receiver().
        std::atomic_ref<Priority>(p.priority).store(now, std::memory_order_relaxed);
        return old;
    }
    if (flag == atoms::min_heap_size) {
        const Term old = make_small(p.min_heap_words);
        if (!small_in(value, 0, 0x7FFFFFFF, &n)) {
            return badarg(p);
        }
        p.min_heap_words = static_cast<uint32_t>(next_heap_size(std::max<uint32_t>(n, 12)));
        return old;
    }
    if (flag == atoms::fullsweep_after) {
        const Term old = make_small(p.fullsweep_after);
        if (!small_in(value, 0, 0x7FFFFFFF, &n)) {
            return badarg(p);
        }
        p.fullsweep_after = n & 0xFFFF;  // OTP keeps 16 bits
        return old;
    }
    if (flag == atoms::message_queue_data) {
        if (value != atoms::on_heap && value != atoms::off_heap) {
            return badarg(p);
        }
        const Term old = p.message_queue_off_heap ? atoms::off_heap : atoms::on_heap;
        p.message_queue_off_heap = value == atoms::off_heap;
        return old;
    }
    if (flag == atoms::error_handler) {
        if (!is_atom(value)) {
            return badarg(p);
        }
        ProcessExtra& extra = extra_of(p);
        const Term old = is_value(extra.error_handler) ? extra.error_handler : atoms::error_handler;
        extra.error_handler = value;
        return old;
    }
    if (flag == atoms::min_bin_vheap_size) {
        ProcessExtra& extra = extra_of(p);
        const Term old = make_small(extra.min_bin_vheap_words);
        if (!small_in(value, 0, 0x7FFFFFFF, &n)) {
            return badarg(p);
        }
        extra.min_bin_vheap_words = n;
        return old;
    }
    if (flag == atoms::max_heap_size) {
        MaxHeap max;
        if (!parse_max_heap(value, &max)) {
            return badarg(p);
        }
        ProcessExtra& extra = extra_of(p);
        const Term old = max_heap_term(p.heap, extra.max_heap_words, extra.max_heap_kill,
                                       extra.max_heap_log, extra.max_heap_shared);
        extra.max_heap_words = max.words;
        extra.max_heap_kill = max.kill;
        extra.max_heap_log = max.log;
        extra.max_heap_shared = max.shared;
        return old;
    }
    if (flag == atoms::sensitive || (flag == atoms::async_dist && by_release::at_least(26))) {
        if (!is_bool(value)) {
            return badarg(p);
        }
        ProcessExtra& extra = extra_of(p);
        bool& place = flag == atoms::sensitive ? extra.sensitive : extra.async_dist;
        const Term old = make_bool(place);
        place = value == atoms::true_;
        if (flag == atoms::sensitive) {
            // relaxed: see records::is_sensitive().
            if (place) {
                p.state.fetch_or(process_state::kSensitive, std::memory_order_relaxed);
            } else {
                // relaxed: as above.
                p.state.fetch_and(~process_state::kSensitive, std::memory_order_relaxed);
            }
        }
        return old;
    }
    if (flag == atoms::save_calls) {
        if (!small_in(value, 0, 10000, &n)) {
            return badarg_cause(p, atoms::none);
        }
        Term answer = make_small(saved_calls(p));
        if (n != 0 && !tracing::g_hooks->begin_saving(p, function_name(p, atoms::erlang, "process_flag"), {flag, value},
                                                      &answer)) {
            return answer;
        }
        tracing::g_hooks->set_saving(p, n);
        return answer;
    }
    if (flag == atoms::scheduler) {
        if (!small_in(value, 0, static_cast<uint32_t>(vm::scheduler_count()), &n)) {
            return badarg(p);
        }
        const Term old = make_small(p.bound_to);
        if (n == p.bound_to) {
            return old;
        }
        // It goes on where it belongs now.
        p.bound_to = n;
        static const Export* back = bif_export("minivm", "return", 1);
        return yield(p, back, {old});
    }
    if (flag == atoms::monitor_nodes ||
        (is_tuple_of(flag, 2) && tuple_element(flag, 0) == atoms::monitor_nodes)) {
        // Nodes never come or go here.
        if (!is_bool(value)) {
            return badarg(p);
        }
        ProcessExtra& extra = extra_of(p);
        const Term old = make_small(extra.monitor_nodes);
        if (value == atoms::true_) {
            extra.monitor_nodes++;
        } else {
            extra.monitor_nodes = 0;
        }
        return old;
    }
    return badarg_cause(p, atoms::badopt);
}

// erts_internal:process_flag(Pid, save_calls, N)
Term erts_internal_process_flag_3(Process& p, const Term* a) {
    uint32_t n;
    if (!is_local_pid(a[0]) || process_table::lookup(a[0]) == nullptr) {
        return atoms::badtype;
    }
    if (a[1] != atoms::save_calls) {
        return atoms::badarg;
    }
    if (!small_in(a[2], 0, 10000, &n)) {
        return atoms::badarg;
    }
    if (a[0] == p.id) {
        return erlang_process_flag_2(p, a + 1);
    }
    const Term pid = a[0];  // a wait puts what it is for in the place of the arguments
    const RefId ref = new_ref_id(p);
    Term answer = make_ref_term(p.heap, ref);
    if (n != 0 &&
        !tracing::g_hooks->begin_saving(p, function_name(p, atom_table::intern("erts_internal"), "process_flag"),
                                        {a[0], a[1], a[2]}, &answer)) {
        return answer;
    }
    ControlSignal* s = new_request(
        p, ref,
        [](Process& target, ControlSignal& request) {
            const Term old = make_small(saved_calls(target));
            tracing::g_hooks->set_saving(target, static_cast<uint32_t>(request.number));
            reply(request, old);
        },
        [](ControlSignal& request) {
            if (request.number != 0) {
                tracing::g_hooks->end_saving();
            }
            reply(request, atoms::badarg);
        });
    s->number = n;
    send_signal(pid, s);
    return answer;
}

// ---- suspending ---------------------------------------------------------------------------------------------------

// The answer: true, or badarg if the process is gone; a message of the asker's own if it gave one.
void suspend_here(Process& target, ControlSignal& request) {
    target.suspended++;
    // relaxed: for information only; the scheduler looks at `suspended`.
    target.state.fetch_or(process_state::kSuspended, std::memory_order_relaxed);
    target.reductions = 0;  // it is to give up its slice soon
    MINIVM_EVENT_COARSE(sched_suspend, records::subject(target.id),
                        records::subject_or_none(request.from));
    if (is_value(request.term)) {
        send_message_to_pid(request.from, request.term);
    } else {
        reply(request, atoms::true_);
    }
}

Term erts_internal_suspend_process_2(Process& p, const Term* a) {
    bool unless_suspending = false;
    bool asynchronous = false;
    Term answer = kNonValue;
    Term list = a[1];
    for (; is_cons(list); list = tail(list)) {
        const Term o = head(list);
        if (o == atom_unless_suspending()) {
            unless_suspending = true;
        } else if (o == atom_asynchronous()) {
            asynchronous = true;
        } else if (is_tuple_of(o, 2) && tuple_element(o, 0) == atom_asynchronous()) {
            asynchronous = true;
            answer = tuple_element(o, 1);
        } else {
            return atoms::badopt;
        }
    }
    if (!is_nil(list)) {
        return atoms::badopt;
    }
    if (!is_local_pid(a[0]) || a[0] == p.id) {
        return atoms::badarg;
    }
    if (process_table::lookup(a[0]) == nullptr && !asynchronous) {
        return atoms::badarg;
    }
    uint32_t& times = extra_of(p).suspending[a[0].raw];
    if (unless_suspending && times > 0) {
        return atoms::false_;
    }
    times++;
    const RefId ref = asynchronous ? RefId{} : new_ref_id(p);
    ControlSignal* s = new_request(p, ref, suspend_here, [](ControlSignal& request) {
        reply(request, atoms::badarg);
    });
    if (is_value(answer)) {
        Heap h;
        s->term = make_tuple(h, copy_term(answer, h, true), atoms::suspended);
        take_fragments(*s, h);
    }
    send_signal(a[0], s);
    return asynchronous ? atoms::true_ : make_ref_term(p.heap, ref);
}

Term erlang_resume_process_1(Process& p, const Term* a) {
    if (!is_local_pid(a[0]) || p.extra == nullptr) {
        return badarg(p);
    }
    const auto it = p.extra->suspending.find(a[0].raw);
    if (it == p.extra->suspending.end()) {
        return badarg(p);
    }
    if (--it->second == 0) {
        p.extra->suspending.erase(it);
    }
    send_resume(p.id, a[0], 1);
    return atoms::true_;
}

// ---- collecting, code, yielding --------------------------------------------------------------------------------------

void force_collection(Process& p, bool major) {
    p.force_gc = true;
    if (major) {
        // The next collection is a full one; it sets the count back.
        p.gc_minor_since_full = p.fullsweep_after;
    }
}

Term erts_internal_garbage_collect_1(Process& p, const Term* a) {
    if (a[0] != atom_major() && a[0] != atom_minor()) {
        return badarg(p);
    }
    force_collection(p, a[0] == atom_major());
    return atoms::true_;
}

Term check_code(const Process& target, Term module) {
    const ModuleInstance* instance = code_change::checked_instance(module);
    return make_bool(instance != nullptr && code_change::runs_in(target, *instance));
}

void answer_system_task(Term requester, Term request, Term result) {
    Heap h;
    send_message_to_pid(requester, make_tuple(h, tuple_element(request, 0), tuple_element(request, 1),
                                              result));
    h.clear();
}

// A process about to run, or in a receive: what it is asked in request_system_task.
void system_task_here(Process& target, ControlSignal& request) {
    const Term what = tuple_element(request.term, 0);
    Term result = atoms::true_;
    if (what == atoms::garbage_collect) {
        const bool major = tuple_arity(request.term) < 3 ||
                           tuple_element(request.term, 2) != atom_minor();
        force_collection(target, major);
        if (!target.in_engine) {
            // Its registers are saved.
            collect_gc(target, 0, target.saved_x, target.live_x, major);
        }
    } else if (what == atom_check_process_code()) {
        result = check_code(target, tuple_element(request.term, 2));
    }
    answer_system_task(request.from, request.term, result);
}

// A process in a dirty function, or about to, is looked at from here: it may be there for as long as it
// likes. Code that is being purged is entered by nobody any more, so what is not on its stack now will not
// be when it comes back. asked: null, or the request that was sent. The non-value: it must be asked, or it answers.
Term check_code_from_outside(Term requester, Term target, Term module, const RefId* asked) {
    Process* const q = process_table::lookup(target);
    if (q == nullptr) {
        return kNonValue;
    }
    const dirty::Hold hold(*q);
    return hold && (asked == nullptr || hold.withdraw(requester, *asked)) ? check_code(*q, module)
                                                                          : kNonValue;
}

Term request_system_task(Process& p, Term requester, Term target, Term priority, Term request) {
    Priority unused;
    if (!is_local_pid(requester) || !is_local_pid(target) ||
        (priority != atom_inherit() && !parse_priority(priority, &unused)) || !is_tuple(request) ||
        tuple_arity(request) < 2 || tuple_arity(request) > 3) {
        return badarg(p);
    }
    const Term what = tuple_element(request, 0);
    if (what != atoms::garbage_collect && what != atom_check_process_code() &&
        what != atom_copy_literals() && what != atom_system_task_test()) {
        return badarg(p);
    }
    if (what == atom_check_process_code() &&
        (tuple_arity(request) != 3 || !is_atom(tuple_element(request, 2)))) {
        return badarg(p);
    }
    const bool checks = what == atom_check_process_code();
    if (checks) {
        const Term result = check_code_from_outside(requester, target, tuple_element(request, 2), nullptr);
        if (is_value(result)) {
            answer_system_task(requester, request, result);
            return atoms::ok;
        }
    }
    const RefId ref = new_ref_id(p);
    ControlSignal* s = new_request(p, ref, system_task_here, [](ControlSignal& r) {
        answer_system_task(r.from, r.term, atoms::false_);
    });
    s->from = requester;
    Heap h;
    s->term = copy_term(request, h, true);
    take_fragments(*s, h);
    send_signal(target, s);
    if (checks) {
        const Term result = check_code_from_outside(requester, target, tuple_element(request, 2), &ref);
        if (is_value(result)) {
            answer_system_task(requester, request, result);
        }
    }
    return atoms::ok;
}

Term erts_internal_request_system_task_3(Process& p, const Term* a) {
    return request_system_task(p, p.id, a[0], a[1], a[2]);
}

Term erts_internal_request_system_task_4(Process& p, const Term* a) {
    return request_system_task(p, a[0], a[1], a[2], a[3]);
}

Term erlang_bump_reductions_1(Process& p, const Term* a) {
    if (!is_integer(a[0]) || (is_big(a[0]) && big_is_negative(a[0])) ||
        (is_small(a[0]) && small_value(a[0]) < 1)) {
        return badarg(p);
    }
    const int64_t n = is_small(a[0]) ? std::min<int64_t>(small_value(a[0]), kSliceReductions)
                                     : kSliceReductions;
    consume(p, n);
    return atoms::true_;
}

Term minivm_return_1(Process&, const Term* a) { return a[0]; }

Term erlang_yield_0(Process& p, const Term*) {
    static const Export* back = bif_export("minivm", "return", 1);
    return yield(p, back, {atoms::true_});
}

Term erlang_hibernate_3(Process& p, const Term* a) {
    if (!check_mfa(a)) {
        return badarg(p);
    }
    const int64_t arity = list_length(a[2]);
    if (arity > kMaxArguments) {
        return system_limit(p);
    }
    const Export* e = export_table::get(a[0], a[1], static_cast<uint32_t>(arity));
    Term* x = p.x;
    Term rest = a[2];
    for (int64_t i = 0; i < arity; ++i) {
        x[i] = head(rest);
        rest = tail(rest);
    }
    p.trap_export = e;
    if (p.trace_local != nullptr) {
        tracing::g_hooks->dropped_stack(p);
    }
    p.outcome = BifOutcome::hibernate;
    return kNonValue;
}

// It waits for a message, and the stack stays.
Term erlang_hibernate_0(Process& p, const Term*) {
    static const Export* back = bif_export("minivm", "return", 1);
    if (has_signals(p)) {
        handle_signals(p);
        if (p.exit_signal != nullptr) {
            p.outcome = BifOutcome::exited;
            return kNonValue;
        }
    }
    if (p.mailbox.first != nullptr) {
        return atoms::ok;
    }
    trap_wait(p, back, {atoms::ok});
    p.outcome = BifOutcome::hibernate_here;
    return kNonValue;
}

// ---- nodes: this one is not alive --------------------------------------------------------------------------------------

Term erlang_node_0(Process&, const Term*) { return atoms::nonode_at_nohost; }

Term erlang_node_1(Process& p, const Term* a) {
    if (is_local_pid(a[0]) || is_local_port(a[0]) || is_local_ref(a[0])) {
        return atoms::nonode_at_nohost;
    }
    if (is_pid(a[0]) || is_port(a[0]) || is_reference(a[0])) {
        return boxed_ptr(a[0])[1];
    }
    return badarg(p);
}

// Adds what nodes/1,2 takes: bit 0 this node is among them. False: no such kind.
bool node_kind(Term kind, bool* with_self) {
    if (kind == atom_this() || kind == atom_known()) {
        *with_self = true;
        return true;
    }
    return kind == atom_visible() || kind == atom_hidden() || kind == atoms::connected;
}

bool node_kinds(Term t, bool* with_self) {
    if (is_atom(t)) {
        return node_kind(t, with_self);
    }
    for (; is_cons(t); t = tail(t)) {
        if (!node_kind(head(t), with_self)) {
            return false;
        }
    }
    return is_nil(t);
}

Term erlang_nodes_0(Process&, const Term*) { return kNil; }

Term erlang_nodes_1(Process& p, const Term* a) {
    bool with_self = false;
    if (!node_kinds(a[0], &with_self)) {
        return badarg(p);
    }
    return with_self ? cons(p.heap, atoms::nonode_at_nohost, kNil) : kNil;
}

Term erlang_nodes_2(Process& p, const Term* a) {
    bool with_self = false;
    if (!node_kinds(a[0], &with_self) || !is_map(a[1])) {
        return badarg(p);
    }
    bool id = false;
    bool type = false;
    map::Iterator it(a[1]);
    Term key;
    Term value;
    while (it.next(&key, &value)) {
        if (!is_bool(value) || (key != atom_connection_id() && key != atom_node_type())) {
            return badarg(p);
        }
        (key == atom_connection_id() ? id : type) = value == atoms::true_;
    }
    if (!with_self) {
        return kNil;
    }
    Term info = map::empty(p.heap);
    if (id) {
        info = map::put(p.heap, info, atom_connection_id(), atoms::undefined);
    }
    if (type) {
        info = map::put(p.heap, info, atom_node_type(), atom_this());
    }
    return cons(p.heap, make_tuple(p.heap, atoms::nonode_at_nohost, info), kNil);
}

Term erlang_monitor_node_2(Process& p, const Term* a) {
    if (!is_atom(a[0]) || !is_bool(a[1])) {
        return badarg(p);
    }
    // The own node never goes down.
    return a[0] == atoms::nonode_at_nohost ? atoms::true_ : error(p, atom_notalive());
}

Term erlang_monitor_node_3(Process& p, const Term* a) { return erlang_monitor_node_2(p, a); }

// Whether the node of a pid takes Unicode in the I/O protocol: this one does, others are not connected.
Term net_kernel_dflag_unicode_io_1(Process& p, const Term* a) {
    return is_pid(a[0]) ? make_bool(is_local_pid(a[0])) : badarg(p);
}

Term erlang_make_ref_0(Process& p, const Term*) { return make_ref_term(p.heap, new_ref_id(p)); }

Term erts_internal_get_creation_0(Process&, const Term*) { return make_small(0); }

Term erts_internal_no_aux_work_threads_0(Process&, const Term*) {
    return make_small(vm::scheduler_count() + 1);
}

Term erts_internal_is_process_executing_dirty_1(Process& p, const Term* a) {
    if (!is_local_pid(a[0])) {
        return badarg(p);
    }
    Process* q = process_table::lookup(a[0]);
    // relaxed: it may change at any time.
    return make_bool(q != nullptr && (q->state.load(std::memory_order_relaxed) &
                                      (process_state::kDirty | process_state::kRunning)) ==
                                         (process_state::kDirty | process_state::kRunning));
}

}  // namespace

MINIVM_BIF_TABLE(processes) = {
    {"erlang", "self", 0, erlang_self_0, kBifGuard, nullptr},
    {"erlang", "spawn", 3, erlang_spawn_3, kBifPlain, nullptr},
    {"erlang", "spawn_link", 3, erlang_spawn_link_3, kBifPlain, nullptr},
    {"erlang", "spawn_opt", 4, erlang_spawn_opt_4, kBifPlain, nullptr},
    {"erts_internal", "spawn_request", 4, erts_internal_spawn_request_4, kBifPlain, nullptr},
    {"erts_internal", "dist_spawn_request", 4, erts_internal_dist_spawn_request_4, kBifPlain, nullptr},
    {"erlang", "spawn_request_abandon", 1, erlang_spawn_request_abandon_1, kBifPlain, nullptr},
    {"erts_internal", "spawn_system_process", 3, erts_internal_spawn_system_process_3, kBifPlain, nullptr},
    {"erts_internal", "is_system_process", 1, erts_internal_is_system_process_1, kBifPlain, nullptr},
    {"erlang", "exit", 2, erlang_exit_2, kBifPlain, nullptr},
    {"erts_internal", "processes_next", 1, erts_internal_processes_next_1, kBifPlain, nullptr},
    {"erlang", "exit", 3, erlang_exit_3, kBifPlain, nullptr},
    {"erlang", "exit_signal", 2, erlang_exit_signal_2, kBifPlain, nullptr},
    {"erlang", "exit_signal", 3, erlang_exit_signal_3, kBifPlain, nullptr},
    {"erlang", "link", 1, erlang_link_1, kBifPlain, nullptr},
    {"erlang", "link", 2, erlang_link_2, kBifPlain, nullptr},
    {"erlang", "unlink", 1, erlang_unlink_1, kBifPlain, nullptr},
    {"erlang", "monitor", 2, erlang_monitor_2, kBifPlain, nullptr},
    {"erlang", "monitor", 3, erlang_monitor_3, kBifPlain, nullptr},
    {"erlang", "demonitor", 1, erlang_demonitor_1, kBifPlain, nullptr},
    {"erlang", "demonitor", 2, erlang_demonitor_2, kBifPlain, nullptr},
    {"erlang", "alias", 1, erlang_alias_1, kBifPlain, nullptr},
    {"erlang", "unalias", 1, erlang_unalias_1, kBifPlain, nullptr},
    {"erlang", "send", 2, erlang_send_2, kBifPlain, nullptr},
    {"erlang", "!", 2, erlang_send_2, kBifPlain, nullptr},
    {"erlang", "send", 3, erlang_send_3, kBifPlain, nullptr},
    {"erlang", "register", 2, erlang_register_2, kBifPlain, nullptr},
    {"erlang", "unregister", 1, erlang_unregister_1, kBifPlain, nullptr},
    {"erlang", "whereis", 1, erlang_whereis_1, kBifPlain, nullptr},
    {"minivm", "kernel", 1, minivm_kernel_1, kBifPlain, nullptr},
    {"erlang", "registered", 0, erlang_registered_0, kBifPlain, nullptr},
    {"erlang", "get", 0, erlang_get_0, kBifPlain, nullptr},
    {"erlang", "get", 1, erlang_get_1, kBifPlain, nullptr},
    {"erlang", "put", 2, erlang_put_2, kBifPlain, nullptr},
    {"erlang", "erase", 0, erlang_erase_0, kBifPlain, nullptr},
    {"erlang", "erase", 1, erlang_erase_1, kBifPlain, nullptr},
    {"erlang", "get_keys", 0, erlang_get_keys_0, kBifPlain, nullptr},
    {"erlang", "get_keys", 1, erlang_get_keys_1, kBifPlain, nullptr},
    {"erlang", "group_leader", 0, erlang_group_leader_0, kBifPlain, nullptr},
    {"erts_internal", "group_leader", 2, erts_internal_group_leader_2, kBifPlain, nullptr},
    {"erts_internal", "group_leader", 3, erts_internal_group_leader_3, kBifPlain, nullptr},
    {"erlang", "is_process_alive", 1, erlang_is_process_alive_1, kBifPlain, nullptr},
    {"erts_internal", "is_process_alive", 2, erts_internal_is_process_alive_2, kBifPlain, nullptr},
    {"erlang", "processes", 0, erlang_processes_0, kBifPlain, nullptr},
    {"erlang", "process_flag", 2, erlang_process_flag_2, kBifPlain, nullptr},
    {"erts_internal", "process_flag", 3, erts_internal_process_flag_3, kBifPlain, nullptr},
    {"erts_internal", "suspend_process", 2, erts_internal_suspend_process_2, kBifPlain, nullptr},
    {"erlang", "resume_process", 1, erlang_resume_process_1, kBifPlain, nullptr},
    {"erts_internal", "garbage_collect", 1, erts_internal_garbage_collect_1, kBifPlain, nullptr},
    {"erts_internal", "request_system_task", 3, erts_internal_request_system_task_3, kBifPlain, nullptr},
    {"erts_internal", "request_system_task", 4, erts_internal_request_system_task_4, kBifPlain, nullptr},
    {"erlang", "bump_reductions", 1, erlang_bump_reductions_1, kBifPlain, nullptr},
    {"minivm", "return", 1, minivm_return_1, kBifHidden, nullptr},
    {"minivm", "end_dirty", 1, minivm_end_dirty_1, kBifHidden, nullptr},
    {"erlang", "yield", 0, erlang_yield_0, kBifPlain, nullptr},
    {"erlang", "hibernate", 0, erlang_hibernate_0, kBifPlain, nullptr},
    {"erlang", "hibernate", 3, erlang_hibernate_3, kBifPlain, nullptr},
    {"erlang", "node", 0, erlang_node_0, kBifGuard, nullptr},
    {"erlang", "node", 1, erlang_node_1, kBifGuard, nullptr},
    {"erlang", "nodes", 0, erlang_nodes_0, kBifPlain, nullptr},
    {"erlang", "nodes", 1, erlang_nodes_1, kBifPlain, nullptr},
    {"erlang", "nodes", 2, erlang_nodes_2, kBifPlain, nullptr},
    {"erlang", "monitor_node", 2, erlang_monitor_node_2, kBifPlain, nullptr},
    {"erlang", "monitor_node", 3, erlang_monitor_node_3, kBifPlain, nullptr},
    {"net_kernel", "dflag_unicode_io", 1, net_kernel_dflag_unicode_io_1, kBifPlain, nullptr},
    {"erlang", "make_ref", 0, erlang_make_ref_0, kBifPlain, nullptr},
    {"erts_internal", "get_creation", 0, erts_internal_get_creation_0, kBifPlain, nullptr},
    {"erts_internal", "no_aux_work_threads", 0, erts_internal_no_aux_work_threads_0, kBifPlain, nullptr},
    {"erts_internal", "is_process_executing_dirty", 1, erts_internal_is_process_executing_dirty_1, kBifPlain, nullptr},
};

}  // namespace minivm
