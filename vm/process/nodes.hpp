// What processes need of other nodes (vm/dist): to send there, to be linked and monitored over the connection.
//
// A process of another node, or a name there, that takes part in a link or a monitor is known here by an
// immediate, for as long as the connection lasts: links, monitors and signals hold that as they hold a pid or a
// port. It has the form of a local port with a number that no port has, and never gets into a term: term_of()
// gives the pid. What cannot reach the other node comes back as `noconnection`.
// Threads: any that may hold a Process*, unless said.
#pragma once

#include "vm/process/ports.hpp"

#include <atomic>

namespace minivm::dist {

constexpr uint64_t kForeignBit = uint64_t{1} << 57;
constexpr bool is_foreign(Term t) { return is_local_port(t) && (imm_data(t) & kForeignBit) != 0; }
// The pid, or {Name, Node}; what is not foreign is itself. The non-value: the connection is lost.
Term term_of(Heap& h, Term t);

// Links, monitors, exits to a foreign process. Takes the signal over.
void signal(Term foreign, Signal* s);

// Bytes that may wait for a connection before who sends over it does: +zdbbl.
extern std::atomic<size_t> g_busy_limit;

// ---- what the BIFs do for p; the target is a pid, a reference or {Name, Node} of another node --------------------

enum class Sent : uint8_t {
    done,
    waits,         // nothing was sent: p is noted, to be woken, and has to wait before it tries again
    suspends,      // as `waits`, but p asked not to wait: nothing was noted
    no_connection  // p asked that none be made
};
struct SendOptions {
    bool nosuspend = false;
    bool noconnect = false;
    bool priority = false;
};
Sent send(Process& p, Term to, Term message, SendOptions options);
// A message of nobody, which waits for nothing: of a timer.
void send_anyway(Term to, Term message);
// {Pid or name's node} of a target; the non-value: it is none of another node.
Term node_of(Term to);

// The foreign that p is linked to, watches; the non-value: there is no connection, and none can be.
Term link(Process& p, Term pid);
Term monitor(Process& p, RefId ref, Term target);
void unlink_unknown(Process& p, Term pid);
// The foreign of a pid that p may be linked to; the non-value: none.
Term known(Term pid);
void exit(Process& p, Term pid, Term reason);
void group_leader(Process& p, Term leader, Term pid);

struct SpawnRequest {
    bool link = false;
    bool monitor = false;
    bool link_priority = false;
    bool replies_ok = true;      // what is told of it: {Tag, Ref, ok, Pid}
    bool replies_error = true;   // {Tag, Ref, error, Why}
    Term tag = kNonValue;
    Term monitor_tag = kNonValue;
    uint8_t monitor_alias = 0;
    bool monitor_priority = false;
};
// mfa: {M, F, Args}; options: those the other node is to see. False: there is no connection, and none can be.
bool spawn(Process& p, RefId ref, Term node, Term mfa, Term options, const SpawnRequest& request);
// True: a request of p with this reference is under way; its process will be ended, and nothing told of it.
bool abandon(Process& p, RefId ref);

// [{Node, Controller}] of those that are connected.
Term controllers(Heap& h);
// {nodedown, Node} once for each call, when the connection is lost.
// False: there is no connection, and none is to be made.
bool watch(Process& p, Term node, bool on, bool connect);

}  // namespace minivm::dist
