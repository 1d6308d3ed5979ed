// Another node, as this one knows it: whether there is a connection, what waits to be sent over it, and which
// processes are tied to processes there.
//
// Invariants
//   (1) What a process sends to a node is put into its queue in the order in which the process did; one thread at a
//       time gives the queue to the controller.
//   (2) A tie (a link, a monitor, a request to spawn) is put down under the lock under which its control message goes
//       into the queue, and only while a connection is there or under way. lost() takes all of them out under the same
//       lock: so each is either told of the loss, or finds none.
//   (3) The packets of a connection are handled one after the other, and its loss behind the last.
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

// A reference that another node made: its words.
struct ForeignRef {
    Node node{kNonValue, 0};
    std::vector<uint32_t> words;
    bool operator==(const ForeignRef& other) const {
        return node_word(node) == node_word(other.node) && words == other.words;
    }
};

struct Foreign {
    Term id;
    Who who;
    // Local pids and ports by their raw words; true: an unlink is under way, its acknowledgement has not come.
    std::map<uint64_t, bool> links;
    // Those there that watch somebody here, by the key that the one who is watched has for it.
    struct Watch {
        Term local;
        ForeignRef ref;
    };
    std::map<RefId, Watch, RefLess> watches;
    uint32_t monitors = 0;   // of Peer::monitors
    uint32_t unlinks = 0;    // of theirs, that somebody here has yet to acknowledge
    bool is_idle() const { return links.empty() && watches.empty() && monitors == 0 && unlinks == 0; }
};

// One that somebody here has set.
struct LocalMonitor {
    Term local;
    uint64_t foreign;
};

// A request to spawn there.
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
    uint32_t connection = 0;  // which one: counts up when a new one begins
    RefId handle{};           // in the handle of the connection, so that nobody makes one up
    uint64_t flags = 0;       // what the other side can; while pending: what any can
    uint32_t creation = 0;
    Term controller = kNonValue;  // a port or pid
    std::shared_ptr<Channel> channel;
    std::deque<std::string> out;
    size_t out_bytes = 0;
    bool flushing = false;
    std::thread::id flusher;             // who it is while `flushing`
    std::condition_variable flushed;     // with the mutex: `flushing` is false again
    Term input_handler = kNonValue;  // the process that may give what came, besides the controller
    bool get_size = false;           // dist_ctrl_get_data/1 tells it
    bool wants_data = false;        // the controller, a process, is to be told when there is some
    std::vector<Term> waiting;      // processes to wake when there is room, or the connection is lost
    std::map<Who, uint64_t> ids;
    std::unordered_map<uint64_t, Foreign> foreigns;  // by the data of the immediate
    std::map<RefId, LocalMonitor, RefLess> monitors;
    std::map<RefId, Request, RefLess> requests;
    std::map<uint64_t, uint32_t> watchers;  // by raw pid: monitor_node/2, how often

    // relaxed throughout: numbers to compare with themselves later.
    std::atomic<uint64_t> packets_in{0};
    std::atomic<uint64_t> packets_out{0};

    Foreign& foreign(const Who& who);
    Foreign* find(const Who& who);
    void drop_if_idle(uint64_t id);
};

// Takes the packets of a connection, from a port or from dist_ctrl_put_data/2.
class Channel : public port::PacketSink, public std::enable_shared_from_this<Channel> {
public:
    Channel(Peer& peer, uint32_t connection, Term controller)
        : peer_(peer), connection_(connection), controller_(controller) {}
    void packet(const uint8_t* bytes, size_t n) override;
    void deliver() override;
    void ended(Term reason) override;
    // Nothing more comes; lost() follows behind what has come. May be asked with the peer's lock.
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
    bool is_broken_ = false;  // what comes is no use any more
    Term reason_ = kNonValue;
};

// The peer of that name, made if there is none.
Peer& peer(Term name);
// Null: none of that name has ever been asked for.
Peer* find_peer(Term name);
std::vector<Peer*> peers();
// That of a foreign.
Peer* peer_of(Term foreign);

// A connection is there or under way after it: one is asked for of net_kernel if need be. False: this node is not
// alive. With the peer's lock, which is given up meanwhile if *ask is to be told to net_kernel: see ask_for_connection().
bool begin_connection(Peer& p, bool* ask);
// {auto_connect, Node, Handle} to net_kernel. Without the lock.
void ask_for_connection(Peer& p);
// A new number for a connection that begins; with the lock.
void begin_pending(Peer& p);
// {ConnectionId, Reference}. With the lock.
Term handle_term(Heap& h, const Peer& p);
// The peer whose connection has this handle; null: no handle, or of a connection that is no more.
Peer* peer_of_handle(Term handle);

// Takes the control message, with its payload behind it, if it is still this connection. With the lock; flush() later.
void put(Peer& p, std::string packet);
// Gives what waits to the controller. Without the lock.
void flush(Peer& p);
// The same, but for a process that has its turn at the end of that: what it sends meanwhile goes together.
void flush_soon(Peer& p);
// The same before the controller, which still takes packets, ends; what another thread has taken to give is given too.
void flush_last(Peer& p);
// Connected: this is its controller. With the lock.
void connected(Peer& p, Term controller, uint64_t flags, uint32_t creation);
// Everybody who is tied to somebody there is told. reason: for the messages of nodes that go down.
// False: it was another connection, or none, or not one of `which`.
enum class Lost : uint8_t { any, pending };
bool lost(Peer& p, uint32_t connection, Term reason, Lost which = Lost::any);

// ---- terms -------------------------------------------------------------------------------------------------------

inline Term op(Op o) { return make_small(static_cast<int64_t>(o)); }
// "p", the control message, the payload if it is a value.
std::string packet_of(Term control, Term payload = kNonValue);
// The pid, or the name alone.
Term put_who(Heap& h, const Peer& p, const Who& who);
Term put_foreign_ref(Heap& h, const ForeignRef& ref);
// Of an external pid.
Who who_of(Term pid);

// One control message with its payload, from p. False: nothing that a node would send.
bool handle_packet(Channel& c, const uint8_t* bytes, size_t n);

// The options of a process that another node asks for; what they are the BIFs know. False: not those of spawn_opt.
extern bool (*g_parse_spawn_options)(Term list, SpawnOptions* out);
// The port or process that carries a connection ends.
void end_controller(Term controller, Term reason);

// Exit and down signals to somebody here, from there.
// foreign: the non-value for exit/2. from: the pid.
void tell_exit(Term local, Term foreign, Term from, Term reason, bool linked);
// An unlink of somebody here is acknowledged as far as it ever will be.
void forget_link(Term local, Term foreign);
void tell_down(Term local, RefId ref, Term foreign, Term object, Term reason);

}  // namespace minivm::dist
