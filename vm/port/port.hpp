// Ports: programs, files and drivers that take part as if they were processes.
//
// A port has no turn of its own. A thread that has work for a port (a process's scheduler, the poller)
// takes the port's lock and does the work at once; each piece is short, and no file operation blocks. So
// a port serves the requests of one process in their order, and its messages arrive in the order in which
// it sent them.
//
// Invariants
//   (1) A port sends the messages that data causes, and links, under its lock. After its unlock it sends the
//       exit and down signals of its end, which the receiver could answer at once.
//   (2) The table contains a port exactly as long as the port is open or draining; links and monitors
//       learn of the end of a port that has nothing left to write after end() removed it.
//   (3) A port's number is unique in the table; open() uses it again after 2^28 others.
// Threads: any.
#pragma once

#include "vm/port/framing.hpp"
#include "vm/process/extra.hpp"
#include "vm/process/ports.hpp"
#include "vm/process/process.hpp"
#include "vm/process/tracing.hpp"
#include "vm/sched/poller.hpp"

#include <cstdint>
#include <deque>
#include <initializer_list>
#include <memory>
#include <string>
#include <vector>

namespace minivm {
struct Signal;
}

namespace minivm::port {

struct Port;

class Driver;

// Receives the packets of a port instead of the owner: a connection to another node.
class PacketSink {
public:
    virtual ~PacketSink() = default;
    // A packet arrived. Called with the port's lock: only store it.
    virtual void packet(const uint8_t* bytes, size_t n) = 0;
    // The port ends for everybody. Called with the port's lock or without.
    virtual void ended(Term reason) = 0;
    // Handles what packet() and ended() stored. Called without the port's lock.
    virtual void deliver() = 0;
};

struct OpenOptions {
    std::string name;
    Framing framing;
    bool binary = false;  // the owner gets data as binaries; else as lists
    bool eof = false;     // the owner gets {Port, eof} at the end of the input, and the port stays open
    bool exit_status = false;
    bool parallelism = false;
    size_t busy_above = 8192;  // bytes that wait to be written; 0: never busy
    size_t free_below = 4096;
    // The port stops reading after each read that gave a piece, until resume_input(): a peer that sends
    // more than the owner takes fills its own pipe, not our memory.
    bool one_read = false;
    size_t longest_packet = 0;  // bytes; a longer packet that needs a second read ends the port; 0: no limit
    // The files. own_files: the port closes them, and they do not block.
    int from = -1;
    int to = -1;
    bool own_files = true;
    int pid = 0;
    // Not 0: the program could not be loaded; its exit status.
    int start_error = 0;
    std::shared_ptr<Driver> driver;  // instead of files
};

// A new port with this owner, linked to it. The non-value: the port could not be opened, its own files
// are closed, and errno tells why (0: too many ports).
Term open(Process& owner, OpenOptions options);
// The same on any thread, with the lock of the listening port. caller: the process whose request the port handles, or
// null. If the owner has ended, the new port ends after the unlock.
Term open_accepted(Port& listener, Process* caller, Term owner, OpenOptions options);

std::vector<Term> all();
uint32_t count();
extern uint32_t g_limit;  // the most ports at a time; set before the machine starts

// ---- what processes do with ports ---------------------------------------------------------------

// port_control/3: *answer gets the bytes of the result. False: no open port, or its driver does not know the command.
bool control(Process& p, Term id, uint32_t command, const std::string& bytes, std::string* answer, bool* as_binary);
bool is_busy(Term id);
// From now on the sink gets the packets, and the port is busy from `busy_above` bytes on. False: no open port, its
// driver has no packets, or it has a sink already.
bool divert(Term id, std::shared_ptr<PacketSink> sink, size_t busy_above);
// Sends packets through a port that has a sink, even if the port is busy. May take the packets.
void send_packets(Term id, std::deque<std::string>* packets);
// Ends the port with this reason.
void kill(Term id, Term reason);
// Whether the port accepts port_command/3 with `force`: a socket does, a program's pipe does not.
bool takes_force(Term id);
// Wakes the process as soon as the port is not busy, or at once if there is no such port.
void wait_until_free(Term id, Term wake);
bool close(Term id, Term from);
enum class ConnectBy : uint8_t { function, message };
bool connect(Term id, Term owner, Term from, ConnectBy how);
// Reads on, for ports with OpenOptions::one_read. False: no open port.
bool resume_input(Term id);
bool set_data(Term id, Term data);
// The non-value: no port.
Term get_data(Term id, Heap& h);

// The result of port_info.
struct Info {
    std::string name;
    std::vector<Term> links;
    std::vector<Term> monitored_by;
    Term connected = kNonValue;
    uint64_t input = 0;
    uint64_t output = 0;
    size_t queued = 0;
    int pid = 0;
    bool parallelism = false;
};
bool info(Term id, Info* out);

// The port's trace flags; null: no port.
std::shared_ptr<tracing::TracedPort> traced(Term id);
// Traces that the port got or lost a registered name; tag: `register`, `unregister`.
void trace_name(Term id, Term tag, Term name);

// ---- called by the poller -----------------------------------------------------------------------

void ready(uint32_t number, Ready what);
// Run the driver: its socket is ready (poller::watch_socket()); the time of poller::wake_at() has come.
void ready_socket(uint32_t number, uint32_t events);
void timeout(uint32_t number);
void child_ended(uint32_t number, int status);

// Bytes through all ports so far.
uint64_t total_input();
uint64_t total_output();


}  // namespace minivm::port
