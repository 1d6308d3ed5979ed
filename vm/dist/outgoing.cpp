// Messages and signals of local processes to other nodes.
#include "vm/dist/peer.hpp"

#include "vm/process/extra.hpp"
#include "vm/process/node_life.hpp"
#include "vm/process/outcome.hpp"
#include "vm/process/probe.hpp"
#include "vm/process/process.hpp"
#include "vm/process/scheduling.hpp"
#include "vm/process/signal.hpp"
#include "vm/term/arguments.hpp"
#include "vm/term/external_ids.hpp"

#include <algorithm>

namespace minivm::dist {

std::atomic<size_t> g_busy_limit{size_t{1} << 20};

namespace {

// The peer of a target; null: the target has no node, or belongs to this node or to an earlier incarnation of it.
Peer* peer_of_target(Term to) {
    const Term node = node_of(to);
    return is_value(node) && node != this_node_name() && node != atoms::nonode_at_nohost ? &peer(node) : nullptr;
}

// The current capabilities of the other side, on which the form of a message depends.
uint64_t flags_of(Peer& p) {
    const std::lock_guard lock(p.mutex);
    return p.flags;
}

// Queues the packet that `pack` makes, with the lock held, if the connection exists or is pending; an idle peer becomes
// pending if `connect` says so. False: there is no connection.
template <typename Pack>
bool put_over(Peer& p, bool connect, Pack pack) {
    bool ask = false;
    {
        const std::lock_guard lock(p.mutex);
        if (p.state == Peer::State::idle && (!connect || !begin_connection(p, &ask))) {
            return false;
        }
        put(p, pack());
    }
    if (ask) {
        ask_for_connection(p);
    }
    flush_soon(p);
    return true;
}

// Consumes reductions for so many encoded bytes.
void pay(Process& p, size_t bytes) { consume(p, static_cast<int64_t>(bytes / 64)); }

}  // namespace

Term node_of(Term to) {
    if (is_kind(to, Kind::ext_pid) || is_kind(to, Kind::ext_ref) || is_kind(to, Kind::ext_port)) {
        return boxed_ptr(to)[1];
    }
    return is_tuple_of(to, 2) && is_atom(tuple_element(to, 1)) ? tuple_element(to, 1) : kNonValue;
}

// ---- messages ----------------------------------------------------------------------------------------------------

namespace {

// from: a pid, or the non-value.
std::string message_packet(uint64_t flags, Term from, Term to, Term message) {
    Heap h;
    Term control;
    if (is_tuple(to)) {
        const Term sender = is_value(from) ? from : atoms::undefined;
        const Term name = tuple_element(to, 0);
        control = make_tuple(h, op(Op::reg_send), sender, atoms::empty, name);
    } else if (is_kind(to, Kind::ext_ref)) {
        control = make_tuple(h, op(Op::alias_send), from, to);
    } else if ((flags & kSendSender) != 0 && is_value(from)) {
        control = make_tuple(h, op(Op::send_sender), from, to);
    } else {
        control = make_tuple(h, op(Op::send), atoms::empty, to);
    }
    return packet_of(control, message);
}

// Whether the peer is busy. Then p is registered to be woken, unless nosuspend.
bool waits(Peer& peer, const Process& p, bool nosuspend) {
    Term controller;
    {
        const std::lock_guard lock(peer.mutex);
        // relaxed: a limit that changes may be either.
        if (peer.state != Peer::State::idle && peer.out_bytes >= g_busy_limit.load(std::memory_order_relaxed)) {
            if (!nosuspend) {
                peer.waiting.push_back(p.id);
            }
            return true;
        }
        controller = peer.controller;
    }
    if (!is_value(controller) || !is_local_port(controller) || !port::is_busy(controller)) {
        return false;
    }
    if (!nosuspend) {
        port::wait_until_free(controller, p.id);
    }
    return true;
}

}  // namespace

Sent send(Process& p, Term to, Term message, SendOptions options) {
    Peer* const peer = peer_of_target(to);
    if (peer == nullptr || is_kind(to, Kind::ext_port)) {
        return Sent::done;
    }
    const bool may_wait = p.extra == nullptr || !p.extra->async_dist;
    if (may_wait && waits(*peer, p, options.nosuspend)) {
        return options.nosuspend ? Sent::suspends : Sent::waits;
    }
    const uint64_t flags = flags_of(*peer);
    if (is_kind(to, Kind::ext_ref) && (flags & kAlias) == 0 && flags != 0) {
        return Sent::done;
    }
    std::string packet = message_packet(flags, p.id, to, message);
    pay(p, packet.size());
    const bool sent = put_over(*peer, !options.noconnect, [&] { return std::move(packet); });
    if (sent) {
        probe::sends(p, to, kNonValue, message);
    }
    return sent || !options.noconnect ? Sent::done : Sent::no_connection;
}

void send_anyway(Term to, Term message) {
    if (Peer* const peer = peer_of_target(to)) {
        if (!is_kind(to, Kind::ext_ref) && !is_kind(to, Kind::ext_port)) {
            put_over(*peer, true, [&] { return message_packet(0, kNonValue, to, message); });
        }
    }
}

// ---- links and monitors ------------------------------------------------------------------------------------------

Term link(Process& p, Term pid) {
    Peer* const peer = peer_of_target(pid);
    Term id = kNonValue;
    if (peer != nullptr) {
        put_over(*peer, true, [&] {
            Foreign& f = peer->foreign(who_of(pid));
            id = f.id;
            f.links[p.id.raw] = false;
            Heap h;
            return packet_of(make_tuple(h, op(Op::link), p.id, pid));
        });
    }
    return id;
}

Term known(Term pid) {
    Peer* const peer = is_kind(pid, Kind::ext_pid) ? find_peer(boxed_ptr(pid)[1]) : nullptr;
    if (peer == nullptr) {
        return kNonValue;
    }
    const std::lock_guard lock(peer->mutex);
    const Foreign* const f = peer->find(who_of(pid));
    return f != nullptr ? f->id : kNonValue;
}

Term monitor(Process& p, RefId ref, Term target) {
    Peer* const peer = peer_of_target(target);
    Term id = kNonValue;
    if (peer != nullptr) {
        put_over(*peer, true, [&] {
            const bool named = is_tuple(target);
            Foreign& f = peer->foreign(named ? Who{tuple_element(target, 0).raw, 0, 0, 0} : who_of(target));
            id = f.id;
            f.monitors++;
            peer->monitors.emplace(ref, LocalMonitor{p.id, imm_data(f.id)});
            Heap h;
            return packet_of(make_tuple(h, op(Op::monitor_p), p.id, named ? tuple_element(target, 0) : target,
                                        put_ref(h.alloc(kRefWords), ref)));
        });
    }
    return id;
}

void exit(Process& p, Term pid, Term reason) {
    Peer* const peer = peer_of_target(pid);
    if (peer == nullptr || !is_kind(pid, Kind::ext_pid)) {
        return;
    }
    Heap h;
    std::string packet = packet_with_reason(flags_of(*peer), h, Op::payload_exit2, Op::exit2, reason, p.id, pid);
    pay(p, packet.size());
    put_over(*peer, true, [&] { return std::move(packet); });
}

void group_leader(Term leader, Term pid) {
    if (Peer* const peer = peer_of_target(pid)) {
        put_over(*peer, true, [&] {
            Heap h;
            return packet_of(make_tuple(h, op(Op::group_leader), leader, pid));
        });
    }
}

namespace {

// The packet for a signal to a foreign process; updates the ties. Empty: nothing to send. With the lock.
std::string packet_of_signal(Peer& p, Foreign& f, const ControlSignal& s, Heap& h) {
    const Term who = put_who(h, p, f.who);
    switch (s.kind) {
        case SignalKind::link:
            f.links[s.from.raw] = false;
            return packet_of(make_tuple(h, op(Op::link), s.from, who));
        case SignalKind::unlink: {
            const auto link = f.links.find(s.from.raw);
            if (link == f.links.end()) {
                return {};
            }
            if ((p.flags & kUnlinkId) == 0) {  // the other side does not acknowledge: the link is gone at once
                f.links.erase(link);
                return packet_of(make_tuple(h, op(Op::unlink), s.from, who));
            }
            link->second = true;
            return packet_of(make_tuple(h, op(Op::unlink_id), make_unsigned(h, s.number), s.from, who));
        }
        case SignalKind::unlink_ack:
            f.unlinks -= f.unlinks > 0 ? 1 : 0;
            return s.number == 0 ? std::string()
                                 : packet_of(make_tuple(h, op(Op::unlink_id_ack), make_unsigned(h, s.number), s.from, who));
        case SignalKind::exit: {
            const auto link = f.links.find(s.from.raw);
            if (s.linked && (link == f.links.end() || link->second)) {
                return {};
            }
            if (s.linked) {
                f.links.erase(link);
            }
            const Term reason = tuple_element(s.term, 2);
            return packet_with_reason(p.flags, h, Op::payload_exit, Op::exit, reason, s.from, who);
        }
        case SignalKind::demonitor: {
            if (p.monitors.erase(s.ref) == 0) {
                return {};
            }
            f.monitors--;
            return packet_of(make_tuple(h, op(Op::demonitor_p), s.from, who, put_ref(h.alloc(kRefWords), s.ref)));
        }
        case SignalKind::monitor_down: {
            const auto watch = f.watches.find(s.ref);
            if (watch == f.watches.end()) {
                return {};
            }
            const Term ref = put_external_ref(h, watch->second.ref.node, watch->second.ref.words);
            // {'DOWN', Ref, process, Object, Reason}
            const Term object = tuple_element(s.term, 3);
            const Term from = is_tuple(object) ? tuple_element(object, 0) : object;
            const Term reason = tuple_element(s.term, 4);
            f.unwatch(s.ref);
            return packet_with_reason(p.flags, h, Op::payload_monitor_p_exit, Op::monitor_p_exit, reason, from, who,
                                      ref);
        }
        default:
            return {};
    }
}

}  // namespace

void signal(Term foreign, Signal* signal) {
    auto* const s = static_cast<ControlSignal*>(signal);
    Peer* const p = peer_of(foreign);
    bool is_unacknowledged = s->kind == SignalKind::unlink;  // also if the connection is lost
    if (p != nullptr) {
        Heap h;
        {
            const std::lock_guard lock(p->mutex);
            const auto it = p->foreigns.find(imm_data(foreign));
            if (it != p->foreigns.end()) {
                std::string packet = packet_of_signal(*p, it->second, *s, h);
                is_unacknowledged = is_unacknowledged && !it->second.links.contains(s->from.raw);
                if (!packet.empty()) {
                    put(*p, std::move(packet));
                }
                p->drop_if_idle(imm_data(foreign));
            }
        }
        flush_soon(*p);
    }
    if (is_unacknowledged) {
        forget_link(s->from, foreign);
    }
    free_signal(s);
}

// ---- spawning ----------------------------------------------------------------------------------------------------

bool spawn(Process& p, RefId ref, Term node, Term mfa, Term options, const SpawnRequest& wanted) {
    if (node == this_node_name() || node == atoms::nonode_at_nohost) {
        return false;
    }
    Peer& to = peer(node);
    Request request;
    request.local = p.id;
    request.wants = wanted;
    request.tag_heap = std::shared_ptr<Heap>(new Heap, [](Heap* h) {
        h->clear();
        delete h;
    });
    request.wants.tag = copy_term(wanted.tag, *request.tag_heap, false);
    if (is_value(wanted.monitor_tag)) {
        request.wants.monitor_tag = copy_term(wanted.monitor_tag, *request.tag_heap, false);
    }
    Heap h;
    const Term arguments = tuple_element(mfa, 2);
    const Term function =
        make_tuple(h, tuple_element(mfa, 0), tuple_element(mfa, 1), make_small(list_length(arguments)));
    std::string packet = packet_of(make_tuple(h, op(Op::spawn_request), put_ref(h.alloc(kRefWords), ref), p.id,
                                              p.group_leader, function, options),
                                   arguments);
    pay(p, packet.size());
    return put_over(to, true, [&] {
        to.requests.emplace(ref, std::move(request));
        return std::move(packet);
    });
}

bool abandon(Process& p, RefId ref) {
    for (Peer* to : peers()) {
        const std::lock_guard lock(to->mutex);
        const auto it = to->requests.find(ref);
        if (it != to->requests.end() && it->second.local == p.id) {
            const bool was = it->second.abandoned;
            it->second.abandoned = true;
            return !was;
        }
    }
    return false;
}

// ---- nodes -------------------------------------------------------------------------------------------------------

Term controllers(Heap& h) {
    Term list = kNil;
    for (Peer* p : peers()) {
        const std::lock_guard lock(p->mutex);
        if (p->state == Peer::State::connected) {
            list = cons(h, make_tuple(h, p->name, p->controller), list);
        }
    }
    return list;
}

bool watch(Process& p, Term node, bool on, bool connect) {
    Peer& to = peer(node);
    bool ask = false;
    extra_of(p).watches_peers = true;
    {
        const std::lock_guard lock(to.mutex);
        if (!on) {
            const auto it = to.watchers.find(p.id.raw);
            if (it != to.watchers.end() && --it->second == 0) {
                to.watchers.erase(it);
            }
            return true;
        }
        if (to.state == Peer::State::idle && (!connect || !begin_connection(to, &ask))) {
            return false;
        }
        to.watchers[p.id.raw]++;
    }
    if (ask) {
        ask_for_connection(to);
    }
    return true;
}

}  // namespace minivm::dist
