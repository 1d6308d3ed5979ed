// Handles the control messages that other nodes send, in the order in which they come.
#include "vm/code/export.hpp"
#include "vm/dist/peer.hpp"
#include "vm/external/external_term.hpp"
#include "vm/process/extra.hpp"
#include "vm/process/process.hpp"
#include "vm/process/process_life.hpp"
#include "vm/process/process_table.hpp"
#include "vm/process/registry.hpp"
#include "vm/process/scheduling.hpp"
#include "vm/process/signal.hpp"
#include "vm/progress/thread_progress.hpp"
#include "vm/term/arguments.hpp"
#include "vm/term/external_ids.hpp"
#include "vm/term/local_atoms.hpp"
#include "vm/term/map.hpp"


namespace minivm::dist {

bool (*g_parse_spawn_options)(Term list, SpawnOptions* out) = nullptr;

namespace {

LOCAL_ATOM(atom_abandoned, "abandoned")

// Keys of foreign monitors on local processes. They have a form that no scheduler's reference has: without the flag of
// an alias, `high` of such a reference is the scheduler's number, which is below 2^11.
constexpr uint32_t kWatchKey = uint32_t{1} << 30;
std::atomic<uint64_t> g_next_key{1};

// A packet while it is handled.
struct Packet {
    Channel& channel;
    Peer& peer;
    Heap& heap;
    Term control;
    Term payload;  // the non-value: there is none
    size_t arity;

    Term at(size_t i) const { return tuple_element(control, i); }
    bool is_current() const { return peer.connection == channel.connection() && peer.state != Peer::State::idle; }
};

bool is_foreign_pid(Term t) { return is_kind(t, Kind::ext_pid); }

// Whether t is a pid of the sending node: it may not act for processes of other nodes.
bool is_of_peer(const Packet& p, Term t) { return is_foreign_pid(t) && boxed_ptr(t)[1] == p.peer.name; }

bool take_ref(Term t, ForeignRef* out) {
    if (!is_kind(t, Kind::ext_ref)) {
        return false;
    }
    const Term* object = boxed_ptr(t);
    out->node = {object[1], static_cast<uint32_t>(object[2].raw)};
    const auto* words = reinterpret_cast<const uint32_t*>(object + 4);
    out->words.assign(words, words + object[3].raw);
    return true;
}

// Sends an answer, unless the connection is no longer the packet's.
void answer(const Packet& p, std::string packet) {
    {
        const std::lock_guard lock(p.peer.mutex);
        if (!p.is_current()) {
            return;
        }
        put(p.peer, std::move(packet));
    }
    flush(p.peer);
}

// The same with a reason.
template <typename... Terms>
void answer_with_reason(const Packet& p, Op payload_op, Op plain_op, Term reason, Terms... terms) {
    uint64_t flags = 0;
    {
        const std::lock_guard lock(p.peer.mutex);
        flags = p.peer.flags;
    }
    answer(p, packet_with_reason(flags, p.heap, payload_op, plain_op, reason, terms...));
}

// Calls act() with the lock and the foreign of `from`, created if there is none. Result: the foreign's id; the
// non-value: the connection is no longer the packet's.
template <typename Act>
Term with_foreign(Packet& p, Term from, Act act) {
    const std::lock_guard lock(p.peer.mutex);
    if (!p.is_current()) {
        return kNonValue;
    }
    Foreign& f = p.peer.foreign(who_of(from));
    act(f);
    return f.id;
}

// The same for a known foreign only; drops it if act() leaves it without ties. The non-value also: act() is false.
template <typename Act>
Term with_known(Packet& p, Term from, Act act) {
    const std::lock_guard lock(p.peer.mutex);
    Foreign* const f = p.is_current() ? p.peer.find(who_of(from)) : nullptr;
    if (f == nullptr || !act(*f)) {
        return kNonValue;
    }
    const Term id = f->id;
    p.peer.drop_if_idle(imm_data(id));
    return id;
}

// ---- messages ----------------------------------------------------------------------------------------------------

// Moves the payload to the process, without a copy.
void give(Packet& p, Term pid) {
    thread_progress::DelaySection section;
    Process* const to = process_table::lookup(pid);
    if (to == nullptr) {
        return;
    }
    Signal* s = new_message(kNil);
    s->term = p.payload;
    s->from_process = true;
    take_fragments(*s, p.heap);
    if (!push_message(*to, s)) {
        free_signal(s);
    }
}

bool send_to_pid(Packet& p, Term to) {
    if (!is_value(p.payload)) {
        return false;
    }
    if (is_local_pid(to)) {
        give(p, to);
    } else if (is_local_port(to) || is_local_ref(to)) {
        deliver_message(to, p.payload);
    }
    return true;  // else it belongs to an earlier incarnation of this node: dropped
}

bool send_to_name(Packet& p, Term name) {
    if (!is_value(p.payload) || !is_atom(name)) {
        return false;
    }
    const Term to = registry::whereis(name);
    return !is_value(to) || send_to_pid(p, to);
}

bool alias_send(Packet& p, Term alias, bool priority) {
    if (!is_value(p.payload) || !is_reference(alias)) {
        return false;
    }
    if (is_local_ref(alias)) {
        if (priority) {
            send_priority_message(nullptr, alias, p.payload);
        } else {
            deliver_message(alias, p.payload);
        }
    }
    return true;
}

// ---- links -------------------------------------------------------------------------------------------------------

bool link(Packet& p, Term from, Term to) {
    if (!is_of_peer(p, from) || !is_pid(to)) {
        return false;
    }
    if (!is_local_pid(to)) {  // of an earlier incarnation of this node
        answer_with_reason(p, Op::payload_exit, Op::exit, atoms::noproc, to, from);
        return true;
    }
    // A link whose unlink from here is not acknowledged stays unlinked.
    const Term id = with_foreign(p, from, [to](Foreign& f) { f.links.try_emplace(to.raw, false); });
    if (is_value(id)) {
        send_signal(to, new_signal(SignalKind::link, id));
    }
    return true;
}

bool unlink(Packet& p, Term number, Term from, Term to) {
    uint64_t id_number = 0;
    if (!is_of_peer(p, from) || !is_pid(to) || !get_uint64(number, &id_number)) {
        return false;
    }
    if (!is_local_pid(to)) {
        if (id_number != 0) {
            answer(p, packet_of(make_tuple(p.heap, op(Op::unlink_id_ack), number, to, from)));
        }
        return true;
    }
    const Term id = with_foreign(p, from, [to](Foreign& f) {
        f.unlinks++;  // dist::signal() counts it down when it sends the acknowledgement
        const auto link = f.links.find(to.raw);
        if (link != f.links.end() && !link->second) {
            f.links.erase(link);
        }
    });
    if (is_value(id)) {
        ControlSignal* s = new_signal(SignalKind::unlink, id);
        s->number = id_number;
        send_signal(to, s);
    }
    return true;
}

bool unlink_acknowledged(Packet& p, Term number, Term from, Term to) {
    uint64_t id_number = 0;
    if (!is_of_peer(p, from) || !is_pid(to) || !get_uint64(number, &id_number)) {
        return false;
    }
    const Term id = with_known(p, from, [to](Foreign& f) {
        const auto link = f.links.find(to.raw);
        if (link != f.links.end() && link->second) {
            f.links.erase(link);
        }
        return true;
    });
    if (is_value(id) && is_local_pid(to)) {
        ControlSignal* s = new_signal(SignalKind::unlink_ack, id);
        s->number = id_number;
        send_signal(to, s);
    }
    return true;
}

// linked: the exit signal of a link; else of exit/2.
bool exit(Packet& p, Term from, Term to, Term reason, bool linked) {
    if (!is_value(reason) || !is_of_peer(p, from) || !(is_pid(to) || is_port(to))) {
        return false;
    }
    if (!is_local_pid(to) && !is_local_port(to)) {
        return true;
    }
    Term id = kNonValue;  // stays so for exit/2, which needs no foreign
    if (linked) {
        id = with_known(p, from, [to](Foreign& f) {
            const auto link = f.links.find(to.raw);
            const bool counts = link != f.links.end() && !link->second;
            if (counts) {
                f.links.erase(link);
            }
            return counts;
        });
        if (!is_value(id)) {
            return true;
        }
    }
    tell_exit(to, id, from, reason, linked);
    return true;
}

// ---- monitors ----------------------------------------------------------------------------------------------------

bool monitor(Packet& p, Term from, Term what, Term ref) {
    ForeignRef foreign_ref;
    if (!is_of_peer(p, from) || !(is_pid(what) || is_atom(what)) || !take_ref(ref, &foreign_ref)) {
        return false;
    }
    const Term local = is_atom(what) ? registry::whereis(what) : what;
    if (!is_value(local) || !is_local_pid(local)) {
        answer_with_reason(p, Op::payload_monitor_p_exit, Op::monitor_p_exit, atoms::noproc, what, from, ref);
        return true;
    }
    // relaxed: the key only has to be unique.
    const RefId key{g_next_key.fetch_add(1, std::memory_order_relaxed), kWatchKey};
    const Term id = with_foreign(p, from, [&](Foreign& f) { f.watch(key, local, foreign_ref); });
    if (is_value(id)) {
        ControlSignal* s = new_signal(SignalKind::monitor, id);
        s->ref = key;
        s->name = is_atom(what) ? what : kNonValue;
        send_signal(local, s);
    }
    return true;
}

bool demonitor(Packet& p, Term from, Term ref) {
    ForeignRef foreign_ref;
    if (!is_of_peer(p, from) || !take_ref(ref, &foreign_ref)) {
        return false;
    }
    Term local = kNonValue;
    RefId key{};
    const Term id = with_known(p, from, [&](Foreign& f) {
        const auto it = f.watch_keys.find(foreign_ref);
        if (it == f.watch_keys.end()) {
            return false;
        }
        key = it->second;
        local = f.watches.at(key).local;
        f.unwatch(key);
        return true;
    });
    if (is_value(id)) {
        ControlSignal* s = new_signal(SignalKind::demonitor, id);
        s->ref = key;
        send_signal(local, s);
    }
    return true;
}

// A foreign process on which a local one has a monitor has ended.
bool down(Packet& p, Term what, Term to, Term ref, Term reason) {
    if (!is_value(reason) || !is_reference(ref) || !(is_atom(what) || is_pid(what))) {
        return false;
    }
    if (!is_local_ref(ref) || !is_local_pid(to)) {
        return true;
    }
    const RefId id = ref_id(ref);
    Term local;
    Term foreign;
    Term object;
    {
        const std::lock_guard lock(p.peer.mutex);
        const auto it = p.is_current() ? p.peer.monitors.find(id) : p.peer.monitors.end();
        if (it == p.peer.monitors.end()) {
            return true;
        }
        local = it->second.local;
        foreign = make_local_port(it->second.foreign);
        p.peer.monitors.erase(it);
        Foreign& f = p.peer.foreigns.at(imm_data(foreign));
        object = put_who(p.heap, p.peer, f.who);
        f.monitors--;
        p.peer.drop_if_idle(imm_data(foreign));
    }
    tell_down(local, id, foreign, is_atom(object) ? make_tuple(p.heap, object, p.peer.name) : object, reason);
    return true;
}

// ---- group leader ------------------------------------------------------------------------------------------------

bool group_leader(Term leader, Term to) {
    if (!is_pid(leader) || !is_pid(to)) {
        return false;
    }
    if (is_local_pid(to)) {
        thread_progress::DelaySection section;
        ControlSignal* s = new_signal(SignalKind::rpc, kNonValue);
        Heap h;
        s->term = copy_term(leader, h, true);
        take_fragments(*s, h);
        s->run = [](Process& q, ControlSignal& self) {
            q.group_leader = is_pointer(self.term) ? copy_term(self.term, q.heap, true) : self.term;
        };
        send_signal(to, s);
    }
    return true;
}

// ---- spawning ----------------------------------------------------------------------------------------------------

// A spawn request of the peer: tie() links and monitors the new process before it runs.
struct Asked {
    Packet& packet;
    Term from;
    ForeignRef ref;
    bool link;
    bool monitor;
    Term cut = kNonValue;  // the foreign to which tie() linked the process though the connection was lost
};

std::string spawn_reply_packet(const Asked& asked, Term result) {
    Heap h;
    const int64_t made = is_atom(result) ? 0 : (asked.link ? kLinked : 0) | (asked.monitor ? kMonitored : 0);
    return packet_of(make_tuple(h, op(Op::spawn_reply), put_external_ref(h, asked.ref.node, asked.ref.words),
                                asked.from, make_small(made), result));
}

void tie(Process*, Process& child, SpawnOptions&, void* context) {
    auto& asked = *static_cast<Asked*>(context);
    const std::lock_guard lock(asked.packet.peer.mutex);
    Foreign& f = asked.packet.peer.foreign(who_of(asked.from));
    if (!asked.packet.is_current()) {
        if (asked.link) {
            extra_of(child).links.try_emplace(f.id.raw);
            asked.cut = f.id;
        }
        asked.packet.peer.drop_if_idle(imm_data(f.id));
        return;
    }
    if (asked.link) {
        f.links.try_emplace(child.id.raw, false);
        extra_of(child).links.try_emplace(f.id.raw);
    }
    if (asked.monitor) {
        // relaxed: as above.
        const RefId key{g_next_key.fetch_add(1, std::memory_order_relaxed), kWatchKey};
        f.watch(key, child.id, asked.ref);
        ProcessExtra& extra = extra_of(child);
        extra.monitored_by[key] = MonitoredBy{f.id, kNonValue, ++extra.monitors_seen};
    }
    asked.packet.peer.drop_if_idle(imm_data(f.id));
    // Queued before any packet of the child.
    put(asked.packet.peer, spawn_reply_packet(asked, child.id));
}

// The export entry of {M, F, Arity}; null: malformed, or the list has not that many arguments.
const Export* called(Term mfa, Term arguments) {
    if (!is_tuple_of(mfa, 3) || !is_atom(tuple_element(mfa, 0)) || !is_atom(tuple_element(mfa, 1)) ||
        !is_small(tuple_element(mfa, 2))) {
        return nullptr;
    }
    const int64_t arity = list_length(arguments);
    if (arity < 0 || arity > 255 || arity != small_value(tuple_element(mfa, 2))) {
        return nullptr;
    }
    return export_table::get(tuple_element(mfa, 0), tuple_element(mfa, 1), static_cast<uint32_t>(arity));
}

bool spawn_request(Packet& p, Term ref, Term from, Term leader, Term mfa, Term options) {
    Asked asked{p, from, {}, false, false, kNonValue};
    const Export* const entry = is_value(p.payload) ? called(mfa, p.payload) : nullptr;
    if (entry == nullptr || !is_of_peer(p, from) || !is_pid(leader) || list_length(options) < 0 ||
        !take_ref(ref, &asked.ref)) {
        return false;
    }
    SpawnOptions o;
    Term failure = kNonValue;
    if (!g_parse_spawn_options(options, &o)) {
        failure = atoms::badopt;
    } else {
        asked.link = o.link;
        asked.monitor = o.monitor;
        o.link = o.monitor = false;
        o.before_start = tie;
        o.context = &asked;
        o.group_leader = leader;
        const thread_progress::DelaySection section;
        const Term pid = minivm::spawn(nullptr, entry, p.payload, o);
        failure = is_value(pid) ? kNonValue : atoms::system_limit;
        if (is_value(asked.cut)) {
            tell_exit(pid, asked.cut, from, atoms::noconnection, true);
        }
    }
    if (is_value(failure)) {
        const std::lock_guard lock(p.peer.mutex);
        if (p.is_current()) {
            put(p.peer, spawn_reply_packet(asked, failure));
        }
    }
    flush(p.peer);
    return true;
}

// Runs in the requesting process: links it to and monitors the new process, whose foreign is s.from. Fields of the
// signal that have other names hold the request: `linked`, `priority` (the link's), `ref` (the monitor's; 0: none),
// `number` (its alias), `term` (its tag), `no_quirk` (its priority); `name` is the requester, for gone().
void tie_to_spawned(Process& q, ControlSignal& s) {
    ProcessExtra& extra = extra_of(q);
    if (s.linked) {
        Link& link = extra.links[s.from.raw];
        link.unlinking = 0;
        link.priority = s.priority;
    }
    if (s.ref != RefId{}) {
        const auto alias = static_cast<AliasKind>(s.number);
        if (alias != AliasKind::none) {
            extra.aliases[s.ref].kind = alias;
        }
        Monitor m;
        m.target = s.from;
        m.tag = is_value(s.term) ? copy_term(s.term, q.heap, true) : kNonValue;
        m.priority = s.no_quirk;
        extra.monitors.emplace(s.ref, m);
    }
}

bool spawn_reply(Packet& p, Term ref, Term to, Term made, Term result) {
    if (!is_reference(ref) || !is_small(made) || !(is_of_peer(p, result) || is_atom(result))) {
        return false;
    }
    if (!is_local_ref(ref) || !is_local_pid(to)) {
        return true;
    }
    const RefId id = ref_id(ref);
    Request request;
    Foreign foreign;
    const bool is_pid_result = is_foreign_pid(result);
    {
        const std::lock_guard lock(p.peer.mutex);
        const auto it = p.is_current() ? p.peer.requests.find(id) : p.peer.requests.end();
        if (it == p.peer.requests.end()) {
            return true;
        }
        request = std::move(it->second);
        p.peer.requests.erase(it);
        to = request.local;  // not the pid that the other side claims
        if (is_pid_result && !request.abandoned) {
            Foreign& f = p.peer.foreign(who_of(result));
            if (request.wants.link && (small_value(made) & kLinked) != 0) {
                f.links.try_emplace(to.raw, false);
            }
            if (request.wants.monitor && (small_value(made) & kMonitored) != 0) {
                p.peer.monitors.emplace(id, LocalMonitor{to, imm_data(f.id)});
                f.monitors++;
            }
            foreign.id = f.id;
            p.peer.drop_if_idle(imm_data(f.id));
        }
    }
    if (request.abandoned) {
        if (is_pid_result && (small_value(made) & kLinked) != 0) {
            answer_with_reason(p, Op::payload_exit, Op::exit, atom_abandoned(), to, result);
        }
        return true;
    }
    if (is_pid_result && (request.wants.link || request.wants.monitor)) {
        ControlSignal* s = new_signal(SignalKind::rpc, foreign.id);
        s->run = tie_to_spawned;
        s->gone = [](ControlSignal& self) {
            if (self.linked) {
                send_exit(self.name, self.from, atoms::noproc, true);
            }
            if (self.ref != RefId{}) {
                ControlSignal* signal = new_signal(SignalKind::demonitor, self.name);
                signal->ref = self.ref;
                send_signal(self.from, signal);
            }
        };
        s->name = to;
        s->linked = request.wants.link && (small_value(made) & kLinked) != 0;
        s->priority = request.wants.link_priority;
        if (request.wants.monitor && (small_value(made) & kMonitored) != 0) {
            s->ref = id;
            s->number = request.wants.monitor_alias;
            if (is_value(request.wants.monitor_tag)) {
                Heap tag;
                s->term = copy_term(request.wants.monitor_tag, tag, true);
                take_fragments(*s, tag);
            }
            s->no_quirk = request.wants.monitor_priority;
        }
        send_signal(to, s);
    }
    const bool told = is_pid_result ? request.wants.replies_ok : request.wants.replies_error;
    if (told) {
        Heap h;
        send_message_to_pid(to, make_tuple(h, request.wants.tag, put_ref(h.alloc(kRefWords), id),
                                           is_pid_result ? atoms::ok : atoms::error, result));
    }
    return true;
}

// ---- the table of control messages -------------------------------------------------------------------------------

// A row handles control messages with this number and arity (the number included).
struct Handler {
    Op op;
    size_t arity;
    bool has_payload;
    bool (*handle)(Packet& p);
};
constexpr Handler kHandlers[] = {
    {Op::link, 3, false, [](Packet& p) { return link(p, p.at(1), p.at(2)); }},
    {Op::send, 3, true, [](Packet& p) { return send_to_pid(p, p.at(2)); }},
    {Op::send_tt, 4, true, [](Packet& p) { return send_to_pid(p, p.at(2)); }},
    {Op::send_sender, 3, true, [](Packet& p) { return send_to_pid(p, p.at(2)); }},
    {Op::send_sender_tt, 4, true, [](Packet& p) { return send_to_pid(p, p.at(2)); }},
    {Op::reg_send, 4, true, [](Packet& p) { return send_to_name(p, p.at(3)); }},
    {Op::reg_send_tt, 5, true, [](Packet& p) { return send_to_name(p, p.at(3)); }},
    {Op::alias_send, 3, true, [](Packet& p) { return alias_send(p, p.at(2), false); }},
    {Op::alias_send_tt, 4, true, [](Packet& p) { return alias_send(p, p.at(2), false); }},
    {Op::exit, 4, false, [](Packet& p) { return exit(p, p.at(1), p.at(2), p.at(3), true); }},
    {Op::exit_tt, 5, false, [](Packet& p) { return exit(p, p.at(1), p.at(2), p.at(4), true); }},
    {Op::payload_exit, 3, true, [](Packet& p) { return exit(p, p.at(1), p.at(2), p.payload, true); }},
    {Op::payload_exit_tt, 4, true, [](Packet& p) { return exit(p, p.at(1), p.at(2), p.payload, true); }},
    {Op::exit2, 4, false, [](Packet& p) { return exit(p, p.at(1), p.at(2), p.at(3), false); }},
    {Op::exit2_tt, 5, false, [](Packet& p) { return exit(p, p.at(1), p.at(2), p.at(4), false); }},
    {Op::payload_exit2, 3, true, [](Packet& p) { return exit(p, p.at(1), p.at(2), p.payload, false); }},
    {Op::payload_exit2_tt, 4, true, [](Packet& p) { return exit(p, p.at(1), p.at(2), p.payload, false); }},
    {Op::unlink, 3, false, [](Packet& p) { return unlink(p, make_small(0), p.at(1), p.at(2)); }},
    {Op::unlink_id, 4, false, [](Packet& p) { return unlink(p, p.at(1), p.at(2), p.at(3)); }},
    {Op::unlink_id_ack, 4, false, [](Packet& p) { return unlink_acknowledged(p, p.at(1), p.at(2), p.at(3)); }},
    {Op::group_leader, 3, false, [](Packet& p) { return group_leader(p.at(1), p.at(2)); }},
    {Op::monitor_p, 4, false, [](Packet& p) { return monitor(p, p.at(1), p.at(2), p.at(3)); }},
    {Op::demonitor_p, 4, false, [](Packet& p) { return demonitor(p, p.at(1), p.at(3)); }},
    {Op::monitor_p_exit, 5, false, [](Packet& p) { return down(p, p.at(1), p.at(2), p.at(3), p.at(4)); }},
    {Op::payload_monitor_p_exit, 4, true, [](Packet& p) { return down(p, p.at(1), p.at(2), p.at(3), p.payload); }},
    {Op::spawn_request, 6, true,
     [](Packet& p) { return spawn_request(p, p.at(1), p.at(2), p.at(3), p.at(4), p.at(5)); }},
    {Op::spawn_request_tt, 7, true,
     [](Packet& p) { return spawn_request(p, p.at(1), p.at(2), p.at(3), p.at(4), p.at(5)); }},
    {Op::spawn_reply, 5, false, [](Packet& p) { return spawn_reply(p, p.at(1), p.at(2), p.at(3), p.at(4)); }},
    {Op::spawn_reply_tt, 6, false, [](Packet& p) { return spawn_reply(p, p.at(1), p.at(2), p.at(3), p.at(4)); }},
};

void report_invalid(const Peer& peer) {
    static constexpr char kFormat[] = "Got invalid data on the distribution channel from ~p~n";
    Heap h;
    const Term format = make_string(h, kFormat, sizeof(kFormat) - 1);
    const Term args = cons(h, peer.name, kNil);
    deliver_message(atoms::logger, make_tuple(h, atoms::log, atoms::error, format, args, map::empty(h)));
}

bool handle(Packet& p) {
    if (!is_small(p.at(0))) {
        return false;
    }
    for (const Handler& handler : kHandlers) {
        if (small_value(p.at(0)) == static_cast<int64_t>(handler.op)) {
            return p.arity == handler.arity && handler.has_payload == is_value(p.payload) && handler.handle(p);
        }
    }
    return false;
}

}  // namespace

void end_controller(Term controller, Term reason) {
    if (is_local_port(controller)) {
        port::kill(controller, reason);
    } else if (is_local_pid(controller)) {
        send_exit(controller, controller, atoms::kill, false);
    }
}

bool handle_packet(Channel& c, const uint8_t* bytes, size_t n) {
    if (n == 0) {
        return true;  // a tick
    }
    Heap h;
    Packet p{c, c.peer(), h, kNonValue, kNonValue, 0};
    bool good = false;
    size_t used = 0;
    if (bytes[0] == static_cast<uint8_t>(kPassThrough)) {
        p.control = external::decode(h, bytes + 1, n - 1, {}, &used);
    }
    if (is_value(p.control) && is_tuple(p.control)) {
        p.arity = tuple_arity(p.control);
        const size_t rest = n - 1 - used;
        good = p.arity > 0;
        if (good && rest > 0) {
            size_t of_payload = 0;
            p.payload = external::decode(h, bytes + 1 + used, rest, {}, &of_payload);
            good = is_value(p.payload) && of_payload == rest;
        }
        good = good && handle(p);
    }
    if (!good) {
        report_invalid(c.peer());
    }
    return good;
}

// ---- the channel -------------------------------------------------------------------------------------------------

void Channel::packet(const uint8_t* bytes, size_t n) {
    peer_.packets_in.fetch_add(1, std::memory_order_relaxed);  // relaxed: see Peer
    const std::lock_guard lock(mutex_);
    if (!is_broken_) {
        in_.emplace_back(reinterpret_cast<const char*>(bytes), n);
    }
}

void Channel::ended(Term reason) {
    const std::lock_guard lock(mutex_);
    if (!has_ended_) {
        has_ended_ = true;
        reason_ = reason;
    }
}

bool Channel::has_ended() {
    const std::lock_guard lock(mutex_);
    return has_ended_;
}

void Channel::deliver() {
    const auto self = shared_from_this();
    for (;;) {
        std::deque<std::string> packets;
        bool is_end = false;
        {
            const std::lock_guard lock(mutex_);
            if (handling_ || (in_.empty() && !has_ended_)) {
                return;
            }
            is_end = in_.empty();
            packets.swap(in_);
            handling_ = true;
        }
        if (is_end) {
            flush_last(peer_);  // packets that wait for the end of a turn, such as a last answer before a restart
            lost(peer_, connection_, reason_);
            return;  // this was the last call: handling_ stays true
        }
        bool good = true;
        for (const std::string& packet : packets) {
            if (!handle_packet(*this, reinterpret_cast<const uint8_t*>(packet.data()), packet.size())) {
                good = false;
                break;
            }
        }
        if (good) {
            // Packets of a connection that is lost here had no effect: end the controller, so that the peer learns it.
            const std::lock_guard lock(peer_.mutex);
            good = peer_.connection == connection_ && peer_.state == Peer::State::connected;
        }
        {
            const std::lock_guard lock(mutex_);
            handling_ = false;
            if (!good) {
                is_broken_ = true;
                in_.clear();
            }
        }
        if (!good) {
            end_controller(controller_, atoms::killed);
        }
    }
}

}  // namespace minivm::dist
