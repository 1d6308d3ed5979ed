// BIFs for this node's name and for other nodes: which are connected, and what net_kernel needs to connect them.
#include "vm/bif/bif.hpp"
#include "vm/bif/processes/requests.hpp"
#include "vm/dist/peer.hpp"
#include "vm/process/exception.hpp"
#include "vm/process/extra.hpp"
#include "vm/process/node_life.hpp"
#include "vm/process/nodes.hpp"
#include "vm/process/process_life.hpp"
#include "vm/process/registry.hpp"
#include "vm/process/scheduling.hpp"
#include "vm/process/signal.hpp"
#include "vm/term/binary.hpp"
#include "vm/term/local_atoms.hpp"
#include "vm/term/map.hpp"
#include "vm/util/otp_release.hpp"

#include <algorithm>

namespace minivm {

namespace {

LOCAL_ATOM(atom_allow_passive_connect, "allow_passive_connect")
LOCAL_ATOM(atom_dist_ctrlr, "dist_ctrlr")
LOCAL_ATOM(atom_erts_dflags, "erts_dflags")
LOCAL_ATOM(atom_get_size, "get_size")
LOCAL_ATOM(atom_known, "known")
LOCAL_ATOM(atom_message, "message")
LOCAL_ATOM(atom_connection_closed, "connection_closed")
LOCAL_ATOM(atom_notalive, "notalive")
LOCAL_ATOM(atom_this, "this")

// ---- this node ---------------------------------------------------------------------------------------------------

Term erlang_node_0(Process&, const Term*) { return this_node_name(); }

Term erlang_node_1(Process& p, const Term* a) {
    if (is_local_pid(a[0]) || is_local_port(a[0]) || is_local_ref(a[0])) {
        return this_node_name();
    }
    if (is_pid(a[0]) || is_port(a[0]) || is_reference(a[0])) {
        return boxed_ptr(a[0])[1];
    }
    return badarg(p);
}

Term erlang_is_alive_0(Process&, const Term*) { return make_bool(node_life::is_alive()); }

Term erts_internal_get_creation_0(Process&, const Term*) {
    const uint32_t creation = this_node().creation;
    return creation == 0 ? atoms::undefined : make_small(creation);
}

bool is_uint32(Term t) { return is_small(t) && small_value(t) >= 0 && small_value(t) <= UINT32_MAX; }

Term erlang_setnode_2(Process& p, const Term* a) {
    const bool valid = node_life::is_node_name(a[0]) && a[0] != atoms::nonode_at_nohost && is_uint32(a[1]);
    return valid && node_life::begin(a[0], static_cast<uint32_t>(small_value(a[1]))) ? atoms::true_ : badarg(p);
}

// ---- other nodes -------------------------------------------------------------------------------------------------

enum Kinds : unsigned { kThis = 1, kVisible = 2, kHidden = 4, kKnown = 8 };

// Adds the bits of a kind that nodes/1,2 takes. False: no such kind.
bool node_kind(Term kind, unsigned* kinds) {
    const std::pair<Term, unsigned> known[] = {{atom_this(), kThis},
                                               {atoms::visible, kVisible},
                                               {atoms::hidden, kHidden},
                                               {atoms::connected, kVisible | kHidden},
                                               {atom_known(), kThis | kVisible | kHidden | kKnown}};
    for (const auto& [name, bits] : known) {
        if (kind == name) {
            *kinds |= bits;
            return true;
        }
    }
    return false;
}

bool node_kinds(Term t, unsigned* kinds) {
    if (is_atom(t)) {
        return node_kind(t, kinds);
    }
    for (; is_cons(t); t = tail(t)) {
        if (!node_kind(head(t), kinds)) {
            return false;
        }
    }
    return is_nil(t);
}

struct NodeInfo {
    Term name;
    Term type;
    Term connection;
};

std::vector<NodeInfo> nodes_of(unsigned kinds) {
    std::vector<NodeInfo> found;
    for (dist::Peer* p : dist::peers()) {
        const std::lock_guard lock(p->mutex);
        const bool is_connected = p->state == dist::Peer::State::connected;
        const bool is_visible = (p->flags & dist::kPublished) != 0;
        if (is_connected ? (kinds & (is_visible ? kVisible : kHidden)) != 0 : (kinds & kKnown) != 0) {
            found.push_back({p->name, !is_connected ? atom_known() : is_visible ? atoms::visible : atoms::hidden,
                             is_connected ? make_small(p->connection) : atoms::undefined});
        }
    }
    if ((kinds & kThis) != 0) {
        found.push_back({this_node_name(), atom_this(), atoms::undefined});
    }
    return found;
}

Term node_list(Process& p, unsigned kinds) {
    Term list = kNil;
    for (const NodeInfo& node : nodes_of(kinds)) {
        list = cons(p.heap, node.name, list);
    }
    return list;
}

Term erlang_nodes_0(Process& p, const Term*) { return node_list(p, kVisible); }

Term erlang_nodes_1(Process& p, const Term* a) {
    unsigned kinds = 0;
    return node_kinds(a[0], &kinds) ? node_list(p, kinds) : badarg(p);
}

Term erlang_nodes_2(Process& p, const Term* a) {
    unsigned kinds = 0;
    if (!node_kinds(a[0], &kinds) || !is_map(a[1])) {
        return badarg(p);
    }
    bool id = false;
    bool type = false;
    map::Iterator it(a[1]);
    Term key;
    Term value;
    while (it.next(&key, &value)) {
        if (!is_bool(value) || (key != atoms::connection_id && key != atoms::node_type)) {
            return badarg(p);
        }
        (key == atoms::connection_id ? id : type) = value == atoms::true_;
    }
    Term list = kNil;
    for (const NodeInfo& node : nodes_of(kinds)) {
        Term info = map::empty(p.heap);
        if (id) {
            info = map::put(p.heap, info, atoms::connection_id, node.connection);
        }
        if (type) {
            info = map::put(p.heap, info, atoms::node_type, node.type);
        }
        list = cons(p.heap, make_tuple(p.heap, node.name, info), list);
    }
    return list;
}

Term monitor_node(Process& p, Term node, Term on, bool connect) {
    if (!is_atom(node)) {
        return badarg(p);
    }
    if (node != atoms::nonode_at_nohost && !node_life::is_alive()) {
        return error(p, atom_notalive());
    }
    if (!is_bool(on)) {
        return badarg(p);
    }
    if (node == this_node_name()) {
        return atoms::true_;  // the own node never goes down
    }
    if (!dist::watch(p, node, on == atoms::true_, connect)) {
        Heap h;
        send_message_to_pid(p.id, make_tuple(h, atoms::nodedown, node));
    }
    return atoms::true_;
}

Term erlang_monitor_node_2(Process& p, const Term* a) { return monitor_node(p, a[0], a[1], true); }

Term erlang_monitor_node_3(Process& p, const Term* a) {
    Term list = a[2];
    for (; is_cons(list); list = tail(list)) {
        if (head(list) != atom_allow_passive_connect()) {
            return badarg_cause(p, atoms::badopt);
        }
    }
    return is_nil(list) ? monitor_node(p, a[0], a[1], true) : badarg_cause(p, atoms::badopt);
}

// Whether the node of a pid takes Unicode in the I/O protocol.
Term net_kernel_dflag_unicode_io_1(Process& p, const Term* a) {
    if (!is_pid(a[0])) {
        return badarg(p);
    }
    dist::Peer* const peer = is_local_pid(a[0]) ? nullptr : dist::find_peer(boxed_ptr(a[0])[1]);
    if (peer == nullptr) {
        return make_bool(is_local_pid(a[0]));
    }
    const std::lock_guard lock(peer->mutex);
    return make_bool((peer->flags & dist::kUnicodeIo) != 0);
}

// ---- connections, for net_kernel and their controllers -----------------------------------------------------------

Term erts_internal_get_dflags_0(Process& p, const Term*) {
    const dist::Capabilities c = dist::capabilities();
    const auto number = [&p](uint64_t v) { return make_unsigned(p.heap, v); };
    return make_tuple(p.heap, atom_erts_dflags(), number(c.all), number(c.mandatory), number(c.all),
                      number(c.rejectable), number(c.strict_order));
}

Term erts_internal_new_connection_1(Process& p, const Term* a) {
    if (!node_life::is_node_name(a[0]) || a[0] == this_node_name()) {
        return badarg(p);
    }
    dist::Peer& peer = dist::peer(a[0]);
    {
        const std::lock_guard lock(peer.mutex);
        if (peer.channel == nullptr || !peer.channel->has_ended()) {
            if (peer.state == dist::Peer::State::idle) {
                dist::begin_pending(peer);
            }
            return dist::handle_term(p.heap, peer);
        }
        if (std::find(peer.waiting.begin(), peer.waiting.end(), p.id) == peer.waiting.end()) {
            peer.waiting.push_back(p.id);  // once, though a message wakes it as well
        }
    }
    // net_kernel knows that the old connection has ended, but its last packets are still being handled: a handle now
    // would be the old one's, which nobody could connect or abort. lost() wakes this process.
    static const Export* const again = bif_export("erts_internal", "new_connection", 1);
    return trap_wait(p, again, {a[0]});
}

// True: the handle's connection has ended, or is none.
Term erts_internal_abort_pending_connection_2(Process& p, const Term* a) {
    dist::Peer* const peer = is_atom(a[0]) ? dist::find_peer(a[0]) : nullptr;
    if (peer == nullptr || !is_tuple_of(a[1], 2) || !is_small(tuple_element(a[1], 0))) {
        return badarg(p);
    }
    uint32_t connection;
    {
        const std::lock_guard lock(peer->mutex);
        connection = peer->connection;
        if (tuple_element(a[1], 0) != make_small(connection)) {
            return atoms::true_;
        }
        if (peer->state == dist::Peer::State::connected) {
            return atoms::false_;
        }
    }
    if (dist::lost(*peer, connection, atom_connection_closed(), dist::Lost::pending)) {
        return atoms::true_;
    }
    // Another thread has ended the connection or completed it meanwhile.
    const std::lock_guard lock(peer->mutex);
    return make_bool(peer->connection != connection || peer->state != dist::Peer::State::connected);
}

// The connection that a port or process is to carry.
struct Setup {
    Term node;
    Term controller;
    Term by;
    uint64_t flags;
    uint32_t creation;  // of the node
};

// The handle, in h; the non-value: no connection is pending, or the controller cannot carry it.
Term set_up(const Setup& s, Heap& h) {
    const Term net_kernel = registry::whereis(atom_table::intern("net_kernel"));
    dist::Peer& peer = dist::peer(s.node);
    std::shared_ptr<dist::Channel> channel;
    Term handle;
    if (!is_value(net_kernel) || !node_life::is_alive()) {
        return kNonValue;
    }
    {
        const std::lock_guard lock(peer.mutex);
        if (peer.state != dist::Peer::State::pending) {
            return kNonValue;
        }
        dist::connected(peer, s.controller, s.flags, s.creation);
        channel = peer.channel;
        handle = dist::handle_term(h, peer);
    }
    // relaxed: while the limit changes, the old one is as good as the new one.
    if (is_local_port(s.controller) &&
        !port::divert(s.controller, channel, dist::g_busy_limit.load(std::memory_order_relaxed))) {
        dist::lost(peer, channel->connection(), atom_connection_closed());
        return kNonValue;
    }
    Heap message;
    send_message_to_pid(net_kernel, make_tuple(message, atom_dist_ctrlr(), s.controller, s.node, s.by));
    node_life::tell_of_node(s.node, channel->connection(), (s.flags & dist::kPublished) != 0, kNonValue);
    channel->deliver();
    dist::flush(peer);
    return handle;
}

// Ends the connection that an ending process carries.
void controller_ends(Process& p) {
    if (p.extra == nullptr || p.extra->channel == nullptr) {
        return;
    }
    const Term reason = p.exit_signal != nullptr ? p.exit_signal->term : uncaught_exit_reason(p);
    p.extra->channel->ended(is_atom(reason) ? reason : atom_connection_closed());
    p.extra->channel->deliver();
    p.extra->channel.reset();
}

void take_channel(Process& p, const Setup& s) {
    static std::once_flag once;
    std::call_once(once, [] { at_process_exit(controller_ends); });
    dist::Peer& peer = dist::peer(s.node);
    const std::lock_guard lock(peer.mutex);
    if (peer.controller == p.id) {
        extra_of(p).channel = peer.channel;
    }
}

Term erts_internal_create_dist_channel_3(Process& p, const Term* a) {
    Setup s{a[0], a[1], p.id, 0, 0};
    if (!node_life::is_node_name(a[0]) || a[0] == this_node_name() || !(is_local_port(a[1]) || is_local_pid(a[1])) ||
        !is_tuple_of(a[2], 2) || !get_uint64(tuple_element(a[2], 0), &s.flags) || !is_uint32(tuple_element(a[2], 1)) ||
        (~s.flags & dist::capabilities().mandatory) != 0) {
        return atoms::badarg;
    }
    s.creation = static_cast<uint32_t>(small_value(tuple_element(a[2], 1)));
    if (is_local_port(a[1]) || a[1] == p.id) {
        const Term handle = set_up(s, p.heap);
        if (!is_value(handle)) {
            return atoms::badarg;
        }
        if (a[1] == p.id) {
            take_channel(p, s);
        }
        return make_tuple(p.heap, atoms::ok, handle);
    }
    // The process that is to carry the connection sets it up.
    const RefId ref = new_ref_id(p);
    ControlSignal* signal = new_signal(SignalKind::rpc, p.id);
    Heap h;
    signal->ref = ref;
    signal->term = make_tuple(h, a[0], make_unsigned(h, s.flags), make_small(s.creation));
    take_fragments(*signal, h);
    signal->run = [](Process& q, ControlSignal& self) {
        Setup here{tuple_element(self.term, 0), q.id, self.from, 0,
                   static_cast<uint32_t>(small_value(tuple_element(self.term, 2)))};
        get_uint64(tuple_element(self.term, 1), &here.flags);
        Heap answer;
        const Term handle = set_up(here, answer);
        if (is_value(handle)) {
            take_channel(q, here);
        }
        reply(self.from, self.ref, is_value(handle) ? handle : atoms::badarg);
    };
    signal->gone = [](ControlSignal& self) { reply(self.from, self.ref, atoms::badarg); };
    send_signal(a[1], signal);
    return make_tuple(p.heap, atom_message(), make_ref_term(p.heap, ref));
}

Term erlang_dist_get_stat_1(Process& p, const Term* a) {
    dist::Peer* const peer = dist::peer_of_handle(a[0]);
    if (peer == nullptr) {
        return badarg(p);
    }
    const std::lock_guard lock(peer->mutex);
    // relaxed: net_kernel compares the numbers with later ones of the same counter.
    return make_tuple(p.heap, atoms::ok, make_unsigned(p.heap, peer->packets_in.load(std::memory_order_relaxed)),
                      make_unsigned(p.heap, peer->packets_out.load(std::memory_order_relaxed)),
                      make_unsigned(p.heap, peer->out_bytes));
}

// ---- processes that carry a connection ---------------------------------------------------------------------------

// The peer whose connection the process carries; null, with an exception: it carries none, or another.
dist::Peer* carried(Process& p, Term handle) {
    if (p.extra == nullptr || p.extra->channel == nullptr) {
        error(p, atom_table::intern("notsup"));
        return nullptr;
    }
    dist::Peer* const peer = dist::peer_of_handle(handle);
    if (peer == nullptr || peer != &p.extra->channel->peer()) {
        badarg(p);
        return nullptr;
    }
    return peer;
}

Term erlang_dist_ctrl_input_handler_2(Process& p, const Term* a) {
    dist::Peer* const peer = carried(p, a[0]);
    if (peer == nullptr) {
        return kNonValue;
    }
    if (!is_local_pid(a[1])) {
        return badarg(p);
    }
    const std::lock_guard lock(peer->mutex);
    peer->input_handler = a[1];
    return atoms::ok;
}

Term erlang_dist_ctrl_put_data_2(Process& p, const Term* a) {
    dist::Peer* const peer = dist::peer_of_handle(a[0]);
    std::shared_ptr<dist::Channel> channel;
    if (peer != nullptr) {
        const std::lock_guard lock(peer->mutex);
        if (peer->input_handler == p.id || peer->controller == p.id) {
            channel = peer->channel;
        }
    }
    std::string bytes;
    if (channel == nullptr || !iolist_to_bytes(a[1], &bytes)) {
        return badarg(p);
    }
    consume(p, static_cast<int64_t>(bytes.size() / 64));
    channel->packet(reinterpret_cast<const uint8_t*>(bytes.data()), bytes.size());
    channel->deliver();
    return atoms::ok;
}

Term erlang_dist_ctrl_get_data_1(Process& p, const Term* a) {
    dist::Peer* const peer = carried(p, a[0]);
    if (peer == nullptr) {
        return kNonValue;
    }
    std::string packet;
    std::vector<Term> waiting;
    bool with_size = false;
    {
        const std::lock_guard lock(peer->mutex);
        if (peer->out.empty()) {
            return atoms::none;
        }
        packet = std::move(peer->out.front());
        peer->out.pop_front();
        peer->out_bytes -= packet.size();
        waiting.swap(peer->waiting);
        with_size = peer->get_size;
    }
    peer->packets_out.fetch_add(1, std::memory_order_relaxed);  // relaxed: see Peer
    for (const Term pid : waiting) {
        wake_up_pid(pid);
    }
    const Term data = cons(p.heap, make_binary(p.heap, packet.data(), packet.size()), kNil);
    return with_size ? make_tuple(p.heap, make_small(static_cast<int64_t>(packet.size())), data) : data;
}

Term erlang_dist_ctrl_get_data_notification_1(Process& p, const Term* a) {
    dist::Peer* const peer = carried(p, a[0]);
    if (peer == nullptr) {
        return kNonValue;
    }
    {
        const std::lock_guard lock(peer->mutex);
        peer->wants_data = true;
    }
    dist::flush(*peer);
    return atoms::ok;
}

Term get_size_option(Process& p, const Term* a, Term value) {
    dist::Peer* const peer = carried(p, a[0]);
    if (peer == nullptr) {
        return kNonValue;
    }
    if (a[1] != atom_get_size() || (is_value(value) && !is_bool(value))) {
        return badarg(p);
    }
    const std::lock_guard lock(peer->mutex);
    const Term old = make_bool(peer->get_size);
    if (is_value(value)) {
        peer->get_size = value == atoms::true_;
    }
    return old;
}

Term erlang_dist_ctrl_get_opt_2(Process& p, const Term* a) { return get_size_option(p, a, kNonValue); }

Term erlang_dist_ctrl_set_opt_3(Process& p, const Term* a) { return get_size_option(p, a, a[2]); }

}  // namespace

MINIVM_BIF_TABLE(nodes) = {
    {"erlang", "node", 0, erlang_node_0, kBifGuard, nullptr},
    {"erlang", "node", 1, erlang_node_1, kBifGuard, nullptr},
    {"erlang", "is_alive", 0, erlang_is_alive_0, kBifPlain, nullptr},
    {"erlang", "nodes", 0, erlang_nodes_0, kBifPlain, nullptr},
    {"erlang", "nodes", 1, erlang_nodes_1, kBifPlain, nullptr},
    {"erlang", "nodes", 2, erlang_nodes_2, kBifPlain, nullptr},
    {"erlang", "monitor_node", 2, erlang_monitor_node_2, kBifPlain, nullptr},
    {"erlang", "monitor_node", 3, erlang_monitor_node_3, kBifPlain, nullptr},
    {"erlang", "setnode", 2, erlang_setnode_2, kBifPlain, nullptr},
    {"net_kernel", "dflag_unicode_io", 1, net_kernel_dflag_unicode_io_1, kBifPlain, nullptr},
    {"erts_internal", "get_creation", 0, erts_internal_get_creation_0, kBifPlain, nullptr},
    {"erts_internal", "get_dflags", 0, erts_internal_get_dflags_0, kBifPlain, nullptr},
    {"erts_internal", "new_connection", 1, erts_internal_new_connection_1, kBifPlain, nullptr},
    {"erts_internal", "abort_pending_connection", 2, erts_internal_abort_pending_connection_2, kBifPlain, nullptr},
    {"erts_internal", "create_dist_channel", 3, erts_internal_create_dist_channel_3, kBifPlain, nullptr},
    {"erlang", "dist_get_stat", 1, erlang_dist_get_stat_1, kBifPlain, nullptr},
    {"erlang", "dist_ctrl_input_handler", 2, erlang_dist_ctrl_input_handler_2, kBifPlain, nullptr},
    {"erlang", "dist_ctrl_put_data", 2, erlang_dist_ctrl_put_data_2, kBifPlain, nullptr},
    {"erlang", "dist_ctrl_get_data", 1, erlang_dist_ctrl_get_data_1, kBifPlain, nullptr},
    {"erlang", "dist_ctrl_get_data_notification", 1, erlang_dist_ctrl_get_data_notification_1, kBifPlain, nullptr},
    {"erlang", "dist_ctrl_get_opt", 2, erlang_dist_ctrl_get_opt_2, kBifPlain, nullptr},
    {"erlang", "dist_ctrl_set_opt", 3, erlang_dist_ctrl_set_opt_3, kBifPlain, nullptr},
};

}  // namespace minivm
