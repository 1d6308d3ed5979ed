// BIFs for what processes send each other: exit signals, links, monitors, aliases, messages.
#include "vm/bif/bif.hpp"
#include "vm/bif/processes/options.hpp"
#include "vm/bif/processes/requests.hpp"
#include "vm/port/port.hpp"
#include "vm/process/engine_calls.hpp"
#include "vm/process/node_life.hpp"
#include "vm/process/nodes.hpp"
#include "vm/process/probe.hpp"
#include "vm/process/process_table.hpp"
#include "vm/process/registry.hpp"
#include "vm/process/scheduling.hpp"
#include "vm/process/signal.hpp"
#include "vm/term/this_node.hpp"
#include "vm/util/otp_release.hpp"

namespace minivm {

namespace {

// ---- exit, links, monitors, aliases --------------------------------------------------------------------

// To a pid or port, from OTP 28 on also to an alias, perhaps with `priority`. The non-value: an exception is
// raised, or the signal ends the caller.
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
    } else if (is_kind(a[0], Kind::ext_pid)) {
        dist::exit(p, a[0], a[1]);
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
    return is_reference(a[0]) && !by_release::at_least(28) ? badarg(p) : send_exit_signal(p, a, {});
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
        const Term foreign = dist::link(p, a[0]);
        if (is_value(foreign)) {
            Link& link = extra_of(p).links[foreign.raw];
            link.unlinking = 0;
            link.priority = priority;
            probe::procs(p, atoms::link, a[0]);
        } else {
            const bool is_own = boxed_ptr(a[0])[1] == this_node_name();  // of an earlier creation of this node
            send_exit(a[0], p.id, is_own && node_life::is_alive() ? atoms::noproc : atoms::noconnection, false);
        }
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
        // An exit signal that has arrived takes effect before the unlink.
        Term result;
        if (handle_now(p, &result)) {
            return result;
        }
        unlink_process(p, a[0]);
        return atoms::true_;
    }
    if (const Term foreign = dist::known(a[0]); is_value(foreign)) {
        Term result;
        if (handle_now(p, &result)) {
            return result;
        }
        unlink_process(p, foreign);
        return atoms::true_;
    }
    return is_pid(a[0]) || is_port(a[0]) ? atoms::true_ : badarg(p);
}

// Sends {Tag, Ref, Type, Object, Reason} to the caller, through its queue like any other message.
Term down_at_once(Process& p, Term tag, RefId ref, Term type, Term object, Term reason) {
    Heap h;
    const Term t = is_value(tag) ? copy_term(tag, h, true) : atoms::DOWN;
    send_message_to_pid(p.id, make_tuple(h, t, make_ref_term(h, ref), type,
                                         copy_term(object, h, true), reason));
    return make_ref_term(p.heap, ref);
}

// Whether a port, or a name with its node, is of another node.
bool is_of_other_node(Term item) {
    if (is_kind(item, Kind::ext_port)) {
        return boxed_ptr(item)[1] != this_node_name();
    }
    return is_tuple_of(item, 2) && tuple_element(item, 1) != this_node_name();
}

Term do_monitor(Process& p, Term type, Term item, uint8_t alias, Term tag, bool priority) {
    const RefId ref = alias != 0 ? new_alias_id(p) : new_ref_id(p);
    const bool is_name = is_atom(item) || (is_tuple_of(item, 2) && is_atom(tuple_element(item, 0)) &&
                                           is_atom(tuple_element(item, 1)));
    if (type == atoms::process) {
        if (!is_pid(item) && !is_name) {
            return badarg(p);
        }
        if (is_name && !is_atom(item) && tuple_element(item, 1) != atoms::nonode_at_nohost &&
            !node_life::is_alive()) {
            return badarg(p);  // a node without a name knows no other
        }
    } else if (type == atoms::port) {
        if ((!is_port(item) && !is_name) || is_of_other_node(item)) {
            return badarg(p);  // ports can only be monitored on their own node
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
    Term node = this_node_name();
    Term name = kNonValue;
    if (is_name) {
        name = is_atom(item) ? item : tuple_element(item, 0);
        if (!is_atom(item)) {
            node = tuple_element(item, 1);
        }
    }
    const bool external = is_kind(item, Kind::ext_pid) || is_kind(item, Kind::ext_port);
    if (external && boxed_ptr(item)[1] == this_node_name()) {
        return down_at_once(p, tag, ref, type, item, atoms::noproc);  // of an earlier creation of this node
    }
    if (external || node != this_node_name()) {
        const Term foreign = type == atoms::process ? dist::monitor(p, ref, item) : kNonValue;
        if (is_value(foreign)) {
            Monitor m;
            m.target = foreign;
            m.tag = tag;
            m.priority = priority;
            extra_of(p).monitors.emplace(ref, m);
            return make_ref_term(p.heap, ref);
        }
        return down_at_once(p, tag, ref, type, item, atoms::noconnection);
    }
    const bool port = type == atoms::port;
    Term target = item;
    if (is_name) {
        target = registry::whereis(name);
        if (is_value(target) && is_local_port(target) != port) {
            target = kNonValue;  // a port has the name of a process, or the other way round
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

// A reference of this node, also of an earlier creation, of which there is no monitor.
bool is_of_this_node(Term ref) {
    return is_local_ref(ref) || (is_kind(ref, Kind::ext_ref) && boxed_ptr(ref)[1] == this_node_name());
}

Term erlang_demonitor_1(Process& p, const Term* a) {
    if (!is_of_this_node(a[0])) {
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
    if (!is_nil(list) || !is_of_this_node(a[0])) {
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
    // As in OTP, a message to the alias that the process has not taken over yet is dropped.
    return make_bool(remove_alias(p, ref_id(a[0])));
}

// ---- sending -------------------------------------------------------------------------------------------

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
    const Term node = dist::node_of(a[0]);
    if (is_value(node) && node != this_node_name() && (!is_tuple(a[0]) || is_atom(tuple_element(a[0], 0)))) {
        static const Export* again = bif_export("erlang", "send", 3);
        switch (dist::send(p, a[0], a[1], {.nosuspend = nosuspend, .noconnect = noconnect})) {
            case dist::Sent::waits:
                return trap_wait(p, again, {a[0], a[1], a[2]});
            case dist::Sent::suspends:
                return atoms::nosuspend;
            case dist::Sent::no_connection:
                return atoms::noconnect;
            case dist::Sent::done:
                return atoms::ok;
        }
    }
    if (priority && is_local_ref(a[0])) {
        send_priority_message(&p, a[0], a[1]);
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
        // If the port becomes busy now, it takes the message all the same.
        if (port::exists(port)) {
            probe::sends(p, port, kNonValue, a[1]);
        }
        port::message(&p, port, a[1], true);
        return atoms::ok;
    }
    if (!is_value(send_message(p, a[0], a[1]))) {
        return kNonValue;
    }
    return atoms::ok;
}

}  // namespace

MINIVM_BIF_TABLE(signals) = {
    {"erlang", "exit", 2, erlang_exit_2, kBifPlain, nullptr},
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
};

}  // namespace minivm
