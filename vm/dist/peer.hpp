// A peer: another node, with the state of the connection to it, the queue of packets to send, and the links, monitors
// and spawn requests between processes here and there (its ties).
//
// Invariants
//   (1) The queue contains the packets of one process in the order in which it sent them; one thread at a time gives
//       the queue to the controller.
//   (2) A tie is recorded under the same lock as its control message is queued, and only while the connection exists
//       or is pending. lost() removes all ties under this lock: so it tells each one of the loss, or the process finds
//       no connection.
//   (3) The packets of a connection are handled one after the other, and lost() after the last.
// Locks: no port's lock is taken, and nothing is sent to a process, while a peer's lock is held.
// Threads: any that may hold a Process*.
#pragma once

#include "vm/dist/protocol.hpp"
#include "vm/port/port.hpp"
#include "vm/process/nodes.hpp"
#include "vm/term/this_node.hpp"

#include <atomic>
#include <compare>
#include <condition_variable>
#include <deque>
#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <thread>
#include <unordered_map>
#include <vector>

namespace minivm {
struct SpawnOptions;
}

namespace minivm::dist {

// A process of another node, or a registered name there.
struct Who {
    uint64_t name = 0;  // an atom's raw word; 0: a pid
    uint32_t number = 0;
    uint32_t serial = 0;
    uint32_t creation = 0;
    auto operator<=>(const Who&) const = default;
};

// A reference of another node.
struct ForeignRef {
    Node node{kNonValue, 0};
    std::vector<uint32_t> words;
    bool operator==(const ForeignRef& other) const {
        return node_word(node) == node_word(other.node) && words == other.words;
    }
    bool operator<(const ForeignRef& other) const {
        const uint64_t mine = node_word(node);
        const uint64_t others = node_word(other.node);
        return mine != others ? mine < others : words < other.words;
    }
};

// A process or registered name of the peer that has ties with processes here.
struct Foreign {
    Term id;
    Who who;
    // Linked local pids and ports by their raw words; true: unlinked from here, not acknowledged yet.
    std::map<uint64_t, bool> links;
    // Monitors of it on local processes, by the RefId that the local process has for them.
    struct Watch {
        Term local;
        ForeignRef ref;
    };
    std::map<RefId, Watch, RefLess> watches;
    std::map<ForeignRef, RefId> watch_keys;  // the keys of `watches` by Watch::ref, for demonitor
    uint32_t monitors = 0;   // on it: how many of Peer::monitors
    uint32_t unlinks = 0;    // of it, that local processes have not acknowledged yet
    void watch(RefId key, Term local, const ForeignRef& ref) {
        watches.emplace(key, Watch{local, ref});
        watch_keys.insert_or_assign(ref, key);
    }
    void unwatch(RefId key) {
        const auto watch = watches.find(key);
        const auto of_ref = watch_keys.find(watch->second.ref);
        if (of_ref != watch_keys.end() && of_ref->second == key) {
            watch_keys.erase(of_ref);
        }
        watches.erase(watch);
    }
    bool is_idle() const { return links.empty() && watches.empty() && monitors == 0 && unlinks == 0; }
};

// A monitor of a local process on a foreign one.
struct LocalMonitor {
    Term local;
    uint64_t foreign;
};

// A request of a local process to spawn a process there.
struct Request {
    Term local;
    SpawnRequest wants;
    std::shared_ptr<Heap> tag_heap;  // wants.tag lies there
    bool abandoned = false;
};

class Channel;

struct Peer {
    Peer(Term peer_name, uint32_t peer_index) : name(peer_name), index(peer_index) {}
    const Term name;
    const uint32_t index;

    enum class State : uint8_t { idle, pending, connected };

    std::mutex mutex;
    // -- guarded by the mutex
    State state = State::idle;
    uint32_t connection = 0;  // the number of the connection: counts up when a new one begins
    RefId handle{};           // the reference in the connection's handle, so that programs cannot forge one
    uint64_t flags = 0;       // the capabilities of the other side; while pending: those that every node has
    uint32_t creation = 0;    // of the other side; while connected
    Term controller = kNonValue;  // a port or pid
    std::shared_ptr<Channel> channel;
    std::deque<std::string> out;
    size_t out_bytes = 0;
    bool flushing = false;
    std::thread::id flusher;             // the thread that gives the queue away while `flushing`
    std::condition_variable flushed;     // with the mutex: `flushing` is false again
    Term input_handler = kNonValue;  // besides the controller, the process that may call dist_ctrl_put_data/2
    bool get_size = false;           // dist_ctrl_get_data/1 also returns the size
    bool wants_data = false;        // the controller, a process, gets `dist_data` when `out` has packets
    std::vector<Term> waiting;      // processes to wake when `out` has room, or the connection is lost
    std::map<Who, uint64_t> ids;
    std::unordered_map<uint64_t, Foreign> foreigns;  // by the data of the immediate
    std::map<RefId, LocalMonitor, RefLess> monitors;
    std::map<RefId, Request, RefLess> requests;
    std::map<uint64_t, uint32_t> watchers;  // by raw pid: how many calls of monitor_node/2 are in force

    // relaxed throughout: net_kernel compares a number with its own later value.
    std::atomic<uint64_t> packets_in{0};
    std::atomic<uint64_t> packets_out{0};

    Foreign& foreign(const Who& who);
    Foreign* find(const Who& who);
    void drop_if_idle(uint64_t id);
};

// Receives the packets of a connection, from a port or from dist_ctrl_put_data/2.
class Channel : public port::PacketSink, public std::enable_shared_from_this<Channel> {
public:
    Channel(Peer& peer, uint32_t connection, Term controller)
        : peer_(peer), connection_(connection), controller_(controller) {}
    void packet(const uint8_t* bytes, size_t n) override;
    void deliver() override;
    void ended(Term reason) override;
    // No more packets come; lost() follows after the ones that came. May be called with the peer's lock.
    bool has_ended();

    Peer& peer() const { return peer_; }
    uint32_t connection() const { return connection_; }

private:
    Peer& peer_;
    const uint32_t connection_;
    const Term controller_;
    std::mutex mutex_;
    std::deque<std::string> in_;
    bool handling_ = false;
    bool has_ended_ = false;
    bool is_broken_ = false;  // an invalid packet came, or the connection was lost: drop further packets
    Term reason_ = kNonValue;
};

// The peer of this name, created if there is none.
Peer& peer(Term name);
// Null: peer() has never been called with this name.
Peer* find_peer(Term name);
std::vector<Peer*> peers();
// The peer of a foreign.
Peer* peer_of(Term foreign);
// The node of this name with the creation that it announced; the name is the non-value: it is not connected.
Node connected_node(Term name);

// Makes an idle peer pending. False: this node is not alive. With the peer's lock. *ask: the caller has to call
// ask_for_connection() after it has released the lock.
bool begin_connection(Peer& p, bool* ask);
// Sends {auto_connect, Node, Handle} to net_kernel. Without the lock.
void ask_for_connection(Peer& p);
// Begins a connection with a new number; with the lock.
void begin_pending(Peer& p);
// The handle {ConnectionId, Reference}. With the lock.
Term handle_term(Heap& h, const Peer& p);
// The peer whose connection has this handle; null: not a handle, or the connection is lost.
Peer* peer_of_handle(Term handle);

// Queues a control message with its payload, if this node is still alive. With the lock; flush() has to follow.
void put(Peer& p, std::string packet);
// Gives the queue to the controller. Without the lock.
void flush(Peer& p);
// The same; in the turn of a process at the end of the turn, so that the packets of a turn are sent together.
void flush_soon(Peer& p);
// The same before the controller, which still takes packets, ends; waits for another thread that flushes.
void flush_last(Peer& p);
// The pending connection to a node of this creation is set up, with this controller. With the lock.
void connected(Peer& p, Term controller, uint64_t flags, uint32_t creation);
// Ends the connection and tells all ties of the loss. reason: for the nodedown messages of net_kernel:monitor_nodes/2.
// False: the connection is another one, or idle, or not of the kind `which`.
enum class Lost : uint8_t { any, pending };
bool lost(Peer& p, uint32_t connection, Term reason, Lost which = Lost::any);

// ---- terms -------------------------------------------------------------------------------------------------------

inline Term op(Op o) { return make_small(static_cast<int64_t>(o)); }
// A packet: 'p', the control message, and the payload if it is a value.
std::string packet_of(Term control, Term payload = kNonValue);
// A packet with a reason for a side with these flags: `payload_op` and the reason as payload if it announces that, else
// `plain_op` and the reason as the last element of the control message.
template <typename... Terms>
std::string packet_with_reason(uint64_t flags, Heap& h, Op payload_op, Op plain_op, Term reason, Terms... terms) {
    return (flags & kExitPayload) != 0 ? packet_of(make_tuple(h, op(payload_op), terms...), reason)
                                       : packet_of(make_tuple(h, op(plain_op), terms..., reason));
}
// The pid, or the name as an atom.
Term put_who(Heap& h, const Peer& p, const Who& who);
// The Who of an external pid.
Who who_of(Term pid);

// Handles one packet of the peer. False: malformed, or a control message that no node sends.
bool handle_packet(Channel& c, const uint8_t* bytes, size_t n);

// Parses the options of a spawn_request; set by the BIFs of spawn_opt. False: they are not options of spawn_opt.
extern bool (*g_parse_spawn_options)(Term list, SpawnOptions* out);
// Ends the port or process that carries a connection.
void end_controller(Term controller, Term reason);

// Send exit and down signals of a foreign process to a local one.
// foreign: the non-value for exit/2. from: the pid.
void tell_exit(Term local, Term foreign, Term from, Term reason, bool linked);
// Removes the link of a local process that has unlinked; no acknowledgement will come.
void forget_link(Term local, Term foreign);
void tell_down(Term local, RefId ref, Term foreign, Term object, Term reason);

}  // namespace minivm::dist
