// Ports: programs and files that take part as if they were processes.
//
// A port has no turn of its own. Whoever has something for it (a process, the poller's thread)
// takes its lock and does it at once; everything is short, and no file operation blocks. So what
// one process asks of a port happens in the order asked, and what a port sends arrives in the order
// in which it came.
//
// Invariants
//   (1) Messages that data causes are sent under the lock. Nothing is sent under the lock that could
//       be answered at once: links and everything an ending causes go out after it is given up.
//   (2) A port is in the table exactly as long as it is open or draining; end() takes it out before
//       anybody is told.
//   (3) Ports are told apart by numbers that are never used again.
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

// Takes the packets of a port in the place of its owner: those of a connection to another node.
class PacketSink {
public:
    virtual ~PacketSink() = default;
    // One that has come, with the port's lock: nothing may be done but keep it.
    virtual void packet(const uint8_t* bytes, size_t n) = 0;
    // The port ends for everybody, with its lock or without.
    virtual void ended(Term reason) = 0;
    // Something of the kind has happened: without the lock.
    virtual void deliver() = 0;
};

struct OpenOptions {
    std::string name;
    Framing framing;
    bool binary = false;  // data goes to the owner as binaries; else as lists
    bool eof = false;     // the end of the input is told, and does not end the port
    bool exit_status = false;
    bool parallelism = false;
    size_t busy_above = 8192;  // bytes that wait to be written; 0: never busy
    size_t free_below = 4096;
    // Input rests after each read that gave something, until resume_input(): a peer that sends more
    // than its owner takes fills its own pipe, not our memory.
    bool one_read = false;
    size_t longest_packet = 0;  // bytes; what is longer ends the port; 0: no limit
    // The files, and whether they are ours to close and do not block.
    int from = -1;
    int to = -1;
    bool own_files = true;
    int pid = 0;
    // The program could not be loaded: this is what it ended with.
    int start_error = 0;
    std::shared_ptr<Driver> driver;  // instead of files
};

// A new port that belongs to `owner` and is linked to it. The non-value: errno tells (0: too many
// ports); the files are closed then.
Term open(Process& owner, OpenOptions options);
// The same by anybody: a process that has ended since gets a port that ends at once.
Term open_for(Term owner, OpenOptions options);

std::vector<Term> all();
uint32_t count();
extern uint32_t g_limit;  // how many there can be; set before the machine starts

// ---- what processes do; the result of each is said as OTP's erts_internal functions say it ------

// port_control/3: *answer gets the bytes that it gives. False: no port, or one that has no such command.
bool control(Process& p, Term id, uint32_t command, const std::string& bytes, std::string* answer, bool* as_binary);
bool is_busy(Term id);
// From here on the sink gets the packets, and the port is busy from so many bytes on. False: no port, or none whose
// driver has packets, or it has a sink.
bool divert(Term id, std::shared_ptr<PacketSink> sink, size_t busy_above);
// What goes out of a port that has a sink, however busy it is.
void send_packets(Term id, std::deque<std::string>* packets);
// The port ends with this reason.
void kill(Term id, Term reason);
// port_command/3 with `force`: no pipe of a program, which is never overfilled.
bool takes_force(Term id);
// Wakes the process as soon as the port is not busy.
void wait_until_free(Term id, Term wake);
bool close(Term id, Term from);
enum class ConnectBy : uint8_t { function, message };
bool connect(Term id, Term owner, Term from, ConnectBy how);
// For ports that read once (OpenOptions::one_read).
bool resume_input(Term id);
bool set_data(Term id, Term data);
// The non-value: no port.
Term get_data(Term id, Heap& h);

// What port_info tells.
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

// What is traced of it; null: no port.
std::shared_ptr<tracing::TracedPort> traced(Term id);
// It got the name, or lost it.
void trace_name(Term id, Term tag, Term name);

// ---- called by the poller -----------------------------------------------------------------------

void ready(uint32_t number, Ready what);
// The driver's turn: something has happened to its socket (poller::watch_socket()); a time has come (wake_at()).
void ready_socket(uint32_t number, uint32_t events);
void timeout(uint32_t number);
void child_ended(uint32_t number, int status);

// Bytes through all ports so far.
uint64_t total_input();
uint64_t total_output();


}  // namespace minivm::port
