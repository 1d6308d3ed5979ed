// What vm/process needs of other nodes (vm/dist): sending there, links and monitors over the connection.
//
// A process of another node, or a name there, that is in a link or a monitor is represented here by an
// immediate, a foreign, for as long as the connection lasts: links, monitors and signals hold it like a pid or a
// port. It has the form of a local port with a number that no port has, and never gets into a term: term_of()
// gives the pid. Links and monitors that cannot reach the other node end with `noconnection`.
// Threads: any that may hold a Process*, unless said.
#pragma once

#include "vm/process/ports.hpp"

#include <atomic>

namespace minivm::dist {

constexpr uint64_t kForeignBit = uint64_t{1} << 57;
constexpr bool is_foreign(Term t) { return is_local_port(t) && (imm_data(t) & kForeignBit) != 0; }
// The pid, or {Name, Node}, of a foreign; another term itself. The non-value: the connection is lost.
Term term_of(Heap& h, Term t);

// Sends a link, monitor or exit signal to a foreign process. Takes the signal over.
void signal(Term foreign, Signal* s);

// Bytes that may wait for a connection before senders are suspended: +zdbbl.
extern std::atomic<size_t> g_busy_limit;

// ---- for BIFs of p; the target is a pid, a reference or {Name, Node} of another node -----------------------------

enum class Sent : uint8_t {
    done,
    waits,         // nothing was sent: the connection will wake p, which waits and then tries again
    suspends,      // as `waits`, but p has the option nosuspend: nothing will wake it
    no_connection  // there is none, and p has the option noconnect
};
struct SendOptions {
    bool nosuspend = false;
    bool noconnect = false;
};
Sent send(Process& p, Term to, Term message, SendOptions options);
// Sends a timer's message, which has no sending process, without waiting.
void send_anyway(Term to, Term message);
// The node of a target; the non-value: it is not on another node.
Term node_of(Term to);

// Return the foreign that p is linked to, or monitors; the non-value: there is no connection, and none can be made.
Term link(Process& p, Term pid);
Term monitor(Process& p, RefId ref, Term target);
// The foreign of a pid that p may be linked to; the non-value: none.
Term known(Term pid);
void exit(Process& p, Term pid, Term reason);
void group_leader(Term leader, Term pid);

struct SpawnRequest {
    bool link = false;
    bool monitor = false;
    bool link_priority = false;
    bool replies_ok = true;      // p gets {Tag, Ref, ok, Pid}
    bool replies_error = true;   // p gets {Tag, Ref, error, Why}
    Term tag = kNonValue;
    Term monitor_tag = kNonValue;
    uint8_t monitor_alias = 0;
    bool monitor_priority = false;
};
// mfa: {M, F, Args}; options: those for the other node. False: there is no connection, and none can be made.
bool spawn(Process& p, RefId ref, Term node, Term mfa, Term options, const SpawnRequest& request);
// True: a request of p with this reference is under way; its process will be ended without a reply.
bool abandon(Process& p, RefId ref);

// [{Node, Controller}] of the connected nodes.
Term controllers(Heap& h);
// monitor_node/3: {nodedown, Node} once for each call with `on`, when the connection is lost.
// False: there is no connection, and `connect` is false.
bool watch(Process& p, Term node, bool on, bool connect);

}  // namespace minivm::dist
