// The state of a port, private to this folder.
#pragma once

#include "vm/port/driver.hpp"
#include "vm/port/port.hpp"
#include "vm/process/signal.hpp"
#include "vm/process/state.hpp"
#include "vm/process/system_profile.hpp"
#include "vm/process/tracing.hpp"

#include <atomic>
#include <list>
#include <memory>
#include <mutex>
#include <set>
#include <string>
#include <vector>

namespace minivm::port {

struct Port {
    enum class State : uint8_t {
        open,
        draining,  // closed for everybody, but some bytes are not written yet
        ended
    };

    explicit Port(uint32_t port_number)
        : number(port_number), id(make_local_port(port_number)), traced(id) {}
    ~Port() { data.clear(); }

    const uint32_t number;
    const Term id;
    OpenOptions options;  // constant after opening, except the files, the driver and the framing's state

    std::mutex mutex;
    tracing::TracedPort traced;  // events are sent under the mutex

    // -- guarded by the mutex
    State state = State::open;
    bool told = false;  // draining: tell_of_end() informs everybody; end() does not call it again
    bool leaves_owner = false;  // the owner gets no exit signal: a message has told it of the end
    Term owner = kNonValue;
    std::set<uint64_t> links;  // raw words of pids
    MonitorsBy monitored_by;
    uint64_t monitors_seen = 0;  // the number of the last MonitoredBy
    std::list<std::string> queue;  // bytes to write
    size_t queue_offset = 0;        // bytes of the first string that are written
    size_t queued = 0;              // bytes in the queue that are not written
    bool watching_output = false;
    bool watching_input = false;
    bool busy = false;
    std::vector<Term> waiting;  // processes to wake when the port is no longer busy
    bool input_ended = false;
    bool child_has_ended = false;
    int child_status = 0;
    uint64_t input = 0;
    uint64_t output = 0;
    std::shared_ptr<PacketSink> sink;  // null: the owner gets the packets
    // Ports that this one's turn accepted and that have to end after its unlock: not open, or the owner is gone.
    std::vector<std::shared_ptr<Port>> strays;
    Heap data;  // contains data_term, the term of port_set_data/2
    Term data_term = kNonValue;
    Term end_reason = kNonValue;  // draining: an immediate

    // -- guarded by the registry's lock
    Term registered_name = kNonValue;
};

using PortPtr = std::shared_ptr<Port>;

// The port in the table; null: none. Without its lock.
PortPtr find(Term id);

// ---- port_io.cpp: all with the port's mutex, except tell()

// Bytes through all ports. relaxed throughout: statistics, which order nothing.
extern std::atomic<uint64_t> g_input;
extern std::atomic<uint64_t> g_output;

void trace_event(Port& p, tracing::Flag flag, Term tag, Term what, Term extra = kNonValue);
// Traces a received {From, Tag}, or with an argument {From, {Tag, Argument}}.
void trace_received(Port& p, Term from, Term tag, Term argument = kNonValue);
// port_control/3, traced as a turn of the port: the result of Driver::control(). False without a driver.
bool control_driver(Port& p, Process& caller, uint32_t command, const std::string& bytes, std::string* answer, Term* reason);
void trace_command(Port& p, Term from, const std::string& bytes);
// Sends this message and traces it.
void tell_message(Port& p, Term to, Term message);
// Sends {Port, Content} to the process, untraced.
void tell(const Port& p, Term to, Heap& h, Term content);
void stop_output(Port& p);
void stop_input(Port& p);
void wake_waiting(Port& p);
// Writes as much as the file accepts now. Result: the reason why the port must end, or the non-value.
Term write_queue(Port& p);
// Writes or queues the bytes of a command, and takes them. Result: likewise.
Term output(Port& p, Term from, std::string* bytes);
// At the end of the input: sends the exit status (once the program has ended, if the owner asked for
// it), the last line and eof. Result: likewise.
Term input_finished(Port& p);
// Reads once and gives the pieces to the owner. Result: likewise.
Term read_input(Port& p);

// Traces and profiles one piece of work as a turn of the port; what: the request, or 0 if a file is ready.
class TracedTurn {
public:
    TracedTurn(Port& p, Term what) : p_(p), what_(what) {
        profile(true);
        tell(atoms::in);
    }
    TracedTurn(const TracedTurn&) = delete;
    TracedTurn& operator=(const TracedTurn&) = delete;
    ~TracedTurn() {
        if (p_.state != Port::State::ended) {
            tell(atoms::out);
        }
        profile(false);
    }

private:
    // With `exclusive` the process does not count as running while the port works for it.
    void profile(bool active) {
        if (active && system_profile::wants(system_profile::kExclusive)) {
            system_profile::caller_turn(false);
        }
        if (system_profile::wants(system_profile::kRunnablePorts)) {
            system_profile::port_turn(p_.id, active);
        }
        if (!active && system_profile::wants(system_profile::kExclusive)) {
            system_profile::caller_turn(true);
        }
    }
    void tell(Term tag) { trace_event(p_, tracing::kRunningPorts, tag, what_); }
    Port& p_;
    const Term what_;
};

}  // namespace minivm::port
