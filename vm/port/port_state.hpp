// A port, for what is in this folder.
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
        draining,  // closed for everybody, but bytes still wait to be written
        ended
    };

    explicit Port(uint32_t port_number)
        : number(port_number), id(make_local_port(port_number)), traced(id) {}
    ~Port() { data.clear(); }

    const uint32_t number;
    const Term id;
    OpenOptions options;  // fixed, but for the files and the framing's state

    std::mutex mutex;
    tracing::TracedPort traced;  // told of under the mutex

    // -- guarded by the mutex
    State state = State::open;
    bool told = false;  // everybody knows that it has ended
    bool leaves_owner = false;  // its end is no exit signal to the owner, who was told of it otherwise
    Term owner = kNonValue;
    std::set<uint64_t> links;  // raw words of pids
    MonitorsBy monitored_by;
    uint64_t monitors_seen = 0;  // the number of the last MonitoredBy
    std::list<std::string> queue;  // to be written
    size_t queue_offset = 0;        // written of the first
    size_t queued = 0;              // bytes
    bool watching_output = false;
    bool watching_input = false;
    bool busy = false;
    std::vector<Term> waiting;  // processes to wake when it is not busy any more
    bool input_ended = false;
    bool child_has_ended = false;
    int child_status = 0;
    uint64_t input = 0;
    uint64_t output = 0;
    std::shared_ptr<PacketSink> sink;  // null: what comes goes to the owner
    Heap data;  // of port_set_data
    Term data_term = kNonValue;
    Term end_reason = kNonValue;  // draining: an atom

    // -- guarded by the registry's lock
    Term registered_name = kNonValue;
};

using PortPtr = std::shared_ptr<Port>;

// ---- port_io.cpp: all with the port's mutex, but tell()

// relaxed throughout: numbers to show.
extern std::atomic<uint64_t> g_input;
extern std::atomic<uint64_t> g_output;

void trace_event(Port& p, tracing::Flag flag, Term tag, Term what, Term extra = kNonValue);
// {From, close}, or with an argument {From, {Tag, Argument}}.
void trace_received(Port& p, Term from, Term tag, Term argument = kNonValue);
// port_control/3, told as a turn of the port: what Driver::control() says. False without a driver.
bool control_driver(Port& p, Process& caller, uint32_t command, const std::string& bytes, std::string* answer, Term* reason);
void trace_command(Port& p, Term from, const std::string& bytes);
// A message of the port as it is.
void tell_message(Port& p, Term to, Term message);
// {Port, Content} to the owner.
void tell(const Port& p, Term to, Heap& h, Term content);
void stop_output(Port& p);
void stop_input(Port& p);
void wake_waiting(Port& p);
// Writes what the file takes now. The reason why the port must end, or the non-value.
Term write_queue(Port& p);
// Likewise.
Term output(Port& p, Term from, std::string* bytes);
// The input is at its end and, if its status is asked for, the program has ended: the reason why
// the port must end, or the non-value.
Term input_finished(Port& p);
// Likewise.
Term read_input(Port& p);

// What the port does for somebody, or (0) because a file is ready: it has no turns of its own.
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
    // With `exclusive` the process does not count as running while the port does something for it.
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
