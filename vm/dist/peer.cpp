#include "vm/dist/peer.hpp"

#include "vm/external/external_term.hpp"
#include "vm/process/extra.hpp"
#include "vm/process/node_life.hpp"
#include "vm/process/process.hpp"
#include "vm/process/process_life.hpp"
#include "vm/process/registry.hpp"
#include "vm/process/scheduling.hpp"
#include "vm/process/signal.hpp"
#include "vm/process/state.hpp"
#include "vm/progress/thread_progress.hpp"
#include "vm/term/external_ids.hpp"
#include "vm/term/local_atoms.hpp"

#include <chrono>
#include <shared_mutex>

namespace minivm::dist {

namespace {

LOCAL_ATOM(atom_auto_connect, "auto_connect")
LOCAL_ATOM(atom_dist_data, "dist_data")
LOCAL_ATOM(atom_net_kernel_terminated, "net_kernel_terminated")

// All peers ever: they are never freed, as the atoms of their names are not.
std::shared_mutex g_mutex;
std::deque<Peer> g_peers;
std::unordered_map<uint64_t, Peer*> g_by_name;
std::atomic<uint64_t> g_next_foreign{1};

// The data of a foreign: the mark kForeignBit, the peer's index, and a number that no foreign had before.
constexpr int kPeerShift = 37;
constexpr uint64_t kMaxPeers = uint64_t{1} << 20;
// In the reference of a handle, above the peer's index.
constexpr uint32_t kHandleMark = uint32_t{1} << 29;

}  // namespace

Capabilities capabilities() {
    uint64_t mandatory = kExtendedReferences | kFunTags | kExtendedPidsPorts | kUtf8Atoms | kNewFunTags |
                         kBigCreation | kNewFloats | kMapTag | kExportPtrTag | kBitBinaries | kHandshake23;
    if (by_release::at_least(26)) {
        mandatory |= kV4Nc | kUnlinkId;
    }
    uint64_t all = mandatory | kDistMonitor | kDistMonitorName | kSpawn | kAlias | kUnlinkId | kUnicodeIo |
                   kSmallAtomTags | kSendSender | kBigSeqtraceLabels | kExitPayload | kV4Nc;
    if (by_release::at_least(25)) {
        all |= kMandatory25Digest;
    }
    return {all, mandatory, kDistHdrAtomCache | kHiddenAtomCache | kFragments | kAtomCache, kDistHdrAtomCache};
}

// ---- the table of peers ------------------------------------------------------------------------------------------

Peer* find_peer(Term name) {
    const std::shared_lock lock(g_mutex);
    const auto it = g_by_name.find(name.raw);
    return it != g_by_name.end() ? it->second : nullptr;
}

Peer& peer(Term name) {
    if (Peer* const p = find_peer(name)) {
        return *p;
    }
    const std::unique_lock lock(g_mutex);
    const auto it = g_by_name.find(name.raw);
    if (it != g_by_name.end()) {
        return *it->second;
    }
    MINIVM_CHECK(g_peers.size() < kMaxPeers);
    Peer& p = g_peers.emplace_back(name, static_cast<uint32_t>(g_peers.size()));
    g_by_name.emplace(name.raw, &p);
    return p;
}

std::vector<Peer*> peers() {
    const std::shared_lock lock(g_mutex);
    std::vector<Peer*> all;
    all.reserve(g_peers.size());
    for (Peer& p : g_peers) {
        all.push_back(&p);
    }
    return all;
}

static Peer* peer_at(uint64_t index) {
    const std::shared_lock lock(g_mutex);
    return index < g_peers.size() ? &g_peers[index] : nullptr;
}

Peer* peer_of(Term foreign) { return peer_at((imm_data(foreign) & (kForeignBit - 1)) >> kPeerShift); }

Node connected_node(Term name) {
    if (Peer* const p = find_peer(name)) {
        const std::lock_guard lock(p->mutex);
        if (p->state == Peer::State::connected) {
            return {name, p->creation};
        }
    }
    return {kNonValue, 0};
}

// ---- foreigns ----------------------------------------------------------------------------------------------------

Foreign* Peer::find(const Who& who) {
    const auto it = ids.find(who);
    return it != ids.end() ? &foreigns.at(it->second) : nullptr;
}

Foreign& Peer::foreign(const Who& who) {
    if (Foreign* const f = find(who)) {
        return *f;
    }
    // relaxed: the number only has to be unique.
    const uint64_t number = g_next_foreign.fetch_add(1, std::memory_order_relaxed);
    const uint64_t id = kForeignBit | uint64_t{index} << kPeerShift | (number & ((uint64_t{1} << kPeerShift) - 1));
    Foreign& f = foreigns[id];
    f.id = make_local_port(id);
    f.who = who;
    ids.emplace(who, id);
    return f;
}

void Peer::drop_if_idle(uint64_t id) {
    const auto it = foreigns.find(id);
    if (it != foreigns.end() && it->second.is_idle()) {
        ids.erase(it->second.who);
        foreigns.erase(it);
    }
}

// ---- terms -------------------------------------------------------------------------------------------------------

Who who_of(Term pid) {
    const Term* p = boxed_ptr(pid);
    return {0, static_cast<uint32_t>(p[2].raw), static_cast<uint32_t>(p[3].raw), static_cast<uint32_t>(p[4].raw)};
}

Term put_who(Heap& h, const Peer& p, const Who& who) {
    return who.name != 0 ? Term{who.name} : put_external_pid(h, {p.name, who.creation}, who.number, who.serial);
}

Term term_of(Heap& h, Term t) {
    if (!is_foreign(t)) {
        return t;
    }
    Peer* const p = peer_of(t);
    if (p == nullptr) {
        return kNonValue;
    }
    const std::lock_guard lock(p->mutex);
    const auto it = p->foreigns.find(imm_data(t));
    if (it == p->foreigns.end()) {
        return kNonValue;
    }
    const Term who = put_who(h, *p, it->second.who);
    return is_atom(who) ? make_tuple(h, who, p->name) : who;
}

std::string packet_of(Term control, Term payload) {
    external::EncodeOptions options;
    options.minor_version = 2;  // every node takes atoms as UTF-8
    std::string packet(1, kPassThrough);
    external::append(control, options, &packet);
    if (is_value(payload)) {
        external::append(payload, options, &packet);
    }
    return packet;
}

// ---- connections -------------------------------------------------------------------------------------------------

namespace {

// At the end of p: removes its calls of monitor_node/2; if p made this node alive (net_kernel), ends all connections.
void process_ends(Process& p) {
    if (p.extra != nullptr && p.extra->watches_peers) {
        for (Peer* peer : peers()) {
            const std::lock_guard lock(peer->mutex);
            peer->watchers.erase(p.id.raw);
        }
    }
    // relaxed: see end_for_others() in process_life.cpp.
    if ((p.state.load(std::memory_order_relaxed) & process_state::kOwnsNode) == 0) {
        return;
    }
    for (Peer* peer : peers()) {
        Term controller;
        uint32_t connection;
        {
            const std::lock_guard lock(peer->mutex);
            controller = peer->controller;
            connection = peer->connection;
        }
        if (is_value(controller)) {
            end_controller(controller, atom_net_kernel_terminated());
        } else {
            lost(*peer, connection, atom_net_kernel_terminated());
        }
    }
}

}  // namespace

void begin_pending(Peer& p) {
    static std::once_flag once;
    std::call_once(once, [] { at_process_exit(process_ends); });
    p.state = Peer::State::pending;
    p.connection++;
    // No scheduler makes references of this form (see kWatchKey in incoming.cpp), so it differs from all others.
    p.handle = {p.connection, kHandleMark | p.index};
    p.flags = capabilities().mandatory | kUnlinkId | kSpawn | kAlias | kDistMonitor | kDistMonitorName;
}

bool begin_connection(Peer& p, bool* ask) {
    *ask = false;
    if (p.state == Peer::State::idle) {
        if (!node_life::is_alive()) {
            return false;
        }
        begin_pending(p);
        *ask = true;
    }
    return true;
}

Term handle_term(Heap& h, const Peer& p) {
    return make_tuple(h, make_small(p.connection), put_ref(h.alloc(kRefWords), p.handle));
}

Peer* peer_of_handle(Term handle) {
    if (!is_tuple_of(handle, 2) || !is_local_ref(tuple_element(handle, 1))) {
        return nullptr;
    }
    const RefId id = ref_id(tuple_element(handle, 1));
    Peer* const p = peer_at(id.high & (kHandleMark - 1));
    if (p == nullptr) {
        return nullptr;
    }
    const std::lock_guard lock(p->mutex);
    const bool is_it = p->handle == id && p->state != Peer::State::idle &&
                       tuple_element(handle, 0) == make_small(p->connection);
    return is_it ? p : nullptr;
}

void ask_for_connection(Peer& p) {
    const Term net_kernel = registry::whereis(atom_table::intern("net_kernel"));
    Heap h;
    Term message;
    uint32_t connection;
    {
        const std::lock_guard lock(p.mutex);
        connection = p.connection;
        message = make_tuple(h, atom_auto_connect(), p.name, handle_term(h, p));
    }
    if (is_value(net_kernel)) {
        send_message_to_pid(net_kernel, message);
    } else {
        lost(p, connection, atoms::noconnection, Lost::pending);
    }
}

void put(Peer& p, std::string packet) {
    // A node that ends loses its name before its connections. A packet made after that contains pids of nonode@nohost,
    // which the other side refuses. If the name still exists, it also existed when the packet was made.
    if (!node_life::is_alive()) {
        return;
    }
    p.out_bytes += packet.size();
    p.out.push_back(std::move(packet));
}

namespace {

// A queue of more bytes is not put off until the end of the turn: the other side can begin to work on it.
constexpr size_t kMostPutOff = 64 * 1024;

}  // namespace

void flush_soon(Peer& p) {
    Scheduler* const s = this_scheduler();
    if (s == nullptr || s->number == 0 || !s->in_turn) {
        flush(p);
        return;
    }
    {
        const std::lock_guard lock(p.mutex);
        if (p.out_bytes <= kMostPutOff && (s->after_turn == nullptr || s->after_turn_data == &p)) {
            s->after_turn = [](void* data) { flush(*static_cast<Peer*>(data)); };
            s->after_turn_data = &p;
            return;
        }
    }
    flush(p);
}

void flush(Peer& p) {
    for (;;) {
        std::deque<std::string> packets;
        Term to;
        {
            const std::lock_guard lock(p.mutex);
            if (p.state != Peer::State::connected || p.flushing || p.out.empty()) {
                return;
            }
            if (is_local_pid(p.controller)) {
                if (!p.wants_data) {
                    return;
                }
                p.wants_data = false;
                to = p.controller;
            } else {
                packets.swap(p.out);
                p.out_bytes = 0;
                p.flushing = true;
                p.flusher = std::this_thread::get_id();
                to = p.controller;
            }
        }
        if (is_local_pid(to)) {
            send_message_to_pid(to, atom_dist_data());
            return;
        }
        p.packets_out.fetch_add(packets.size(), std::memory_order_relaxed);  // relaxed: see Peer
        port::send_packets(to, &packets);
        std::vector<Term> waiting;
        {
            const std::lock_guard lock(p.mutex);
            p.flushing = false;
            waiting.swap(p.waiting);
        }
        p.flushed.notify_all();
        for (const Term pid : waiting) {
            wake_up_pid(pid);
        }
    }
}

void flush_last(Peer& p) {
    flush(p);
    // Another thread may have been preempted while it had the packets; it waits for nothing but the port's lock. If the
    // flusher is this thread, its packets have ended the port, and waiting would be for itself.
    constexpr std::chrono::milliseconds kAtMost{100};
    std::unique_lock lock(p.mutex);
    p.flushed.wait_for(lock, kAtMost, [&p] { return !p.flushing || p.flusher == std::this_thread::get_id(); });
}

void connected(Peer& p, Term controller, uint64_t flags, uint32_t creation) {
    p.state = Peer::State::connected;
    p.controller = p.input_handler = controller;
    p.get_size = p.wants_data = false;
    p.flags = flags;
    p.creation = creation;
    p.channel = std::make_shared<Channel>(p, p.connection, controller);
}

void tell_exit(Term local, Term foreign, Term from, Term reason, bool linked) {
    thread_progress::DelaySection section;  // the copies share literals: no thread progress from copying to sending
    ControlSignal* s = new_signal(SignalKind::exit, foreign);
    s->linked = linked;
    Heap h;
    s->term = make_tuple(h, atoms::EXIT, copy_term(from, h, true), copy_term(reason, h, true));
    take_fragments(*s, h);
    s->from_process = true;
    send_signal(local, s);
}

void tell_down(Term local, RefId ref, Term foreign, Term object, Term reason) {
    thread_progress::DelaySection section;  // as above
    ControlSignal* s = new_signal(SignalKind::monitor_down, foreign);
    s->ref = ref;
    Heap h;
    s->term = make_tuple(h, atoms::DOWN, put_ref(h.alloc(kRefWords), ref), atoms::process,
                         copy_term(object, h, true), copy_term(reason, h, true));
    take_fragments(*s, h);
    send_signal(local, s);
}

void forget_link(Term local, Term foreign) {
    ControlSignal* s = new_signal(SignalKind::rpc, foreign);
    s->run = [](Process& q, ControlSignal& self) {
        if (q.extra != nullptr) {
            q.extra->links.erase(self.from.raw);
        }
    };
    send_signal(local, s);
}

namespace {

// The ties of a lost connection, and the processes that wait for it.
struct Ties {
    std::unordered_map<uint64_t, Foreign> foreigns;
    std::map<RefId, LocalMonitor, RefLess> monitors;
    std::map<RefId, Request, RefLess> requests;
    std::map<uint64_t, uint32_t> watchers;
    std::vector<Term> waiting;
};

void tell_of_loss(const Peer& p, Ties& ties) {
    for (const auto& [id, f] : ties.foreigns) {
        Heap h;
        const Term who = put_who(h, p, f.who);
        for (const auto& [local, unlinking] : f.links) {
            if (unlinking) {
                forget_link(Term{local}, f.id);  // no acknowledgement will come
            } else {
                tell_exit(Term{local}, f.id, who, atoms::noconnection, true);
            }
        }
        for (const auto& [key, watch] : f.watches) {
            ControlSignal* s = new_signal(SignalKind::demonitor, f.id);
            s->ref = key;
            send_signal(watch.local, s);
        }
    }
    for (const auto& [ref, monitor] : ties.monitors) {
        const auto f = ties.foreigns.find(monitor.foreign);
        Heap h;
        const Term who = f != ties.foreigns.end() ? put_who(h, p, f->second.who) : atoms::undefined;
        tell_down(monitor.local, ref, make_local_port(monitor.foreign),
                  is_atom(who) ? make_tuple(h, who, p.name) : who, atoms::noconnection);
    }
    for (const auto& [ref, request] : ties.requests) {
        if (request.wants.replies_error && !request.abandoned) {
            Heap h;
            send_message_to_pid(request.local, make_tuple(h, request.wants.tag, put_ref(h.alloc(kRefWords), ref),
                                                          atoms::error, atoms::noconnection));
        }
    }
    for (const auto& [pid, times] : ties.watchers) {
        Heap h;
        for (uint32_t i = 0; i < times; i++) {
            send_message_to_pid(Term{pid}, make_tuple(h, atoms::nodedown, p.name));
        }
    }
}

}  // namespace

bool lost(Peer& p, uint32_t connection, Term reason, Lost which) {
    Ties ties;
    bool was_connected;
    bool visible;
    {
        const std::lock_guard lock(p.mutex);
        if (p.connection != connection || p.state == Peer::State::idle ||
            (which == Lost::pending && p.state != Peer::State::pending)) {
            return false;
        }
        was_connected = p.state == Peer::State::connected;
        visible = (p.flags & kPublished) != 0;
        p.state = Peer::State::idle;
        p.controller = p.input_handler = kNonValue;
        p.channel.reset();
        p.out.clear();
        p.out_bytes = 0;
        p.wants_data = false;
        p.ids.clear();
        ties.foreigns.swap(p.foreigns);
        ties.monitors.swap(p.monitors);
        ties.requests.swap(p.requests);
        ties.watchers.swap(p.watchers);
        ties.waiting.swap(p.waiting);
    }
    tell_of_loss(p, ties);
    if (was_connected) {
        static const Term closed = atom_table::intern("connection_closed");
        node_life::tell_of_node(p.name, connection, visible, reason == atoms::normal ? closed : reason);
    }
    // After all messages of the loss: a process that is woken may begin the next connection.
    for (const Term pid : ties.waiting) {
        wake_up_pid(pid);
    }
    return true;
}

}  // namespace minivm::dist
