// A driver runs in the VM and stands in a port for a program or files. The command of open_port/2 names the driver.
//
// A new driver is a class and a row in driver.cpp.
// Threads: the one that holds the port's lock. No function may block for long.
#pragma once

#include "vm/term/term.hpp"

#include <cstdint>
#include <deque>
#include <memory>
#include <optional>
#include <string>

namespace minivm {
struct Process;
}

namespace minivm::port {

struct Port;

class Driver {
public:
    Driver() = default;
    Driver(const Driver&) = delete;
    Driver& operator=(const Driver&) = delete;
    virtual ~Driver() = default;

    // A result of type Term is the reason why the port must end, or the non-value.
    //
    // Takes what the process `from` sends; the non-value: the sender is unknown. May move the bytes away.
    virtual Term output(Port& p, Term from, std::string* bytes) = 0;
    // The port has got its number. An errno: it cannot be opened; else 0.
    virtual int opened(Port&) { return 0; }
    // port_control(Port, command, bytes): *answer is the result, *reason as above. False: badarg.
    virtual bool control(Port&, Process&, uint32_t /*command*/, const std::string& /*bytes*/,
                         std::string* /*answer*/, Term* /*reason*/) {
        return false;
    }
    // The result of port_control/3 is a binary, not a list.
    virtual bool answers_binaries() const { return false; }
    // Files that the port reads for the driver, and writes its queue to; the port does not close them. -1: none.
    virtual int input_file() const { return -1; }
    virtual int output_file() const { return -1; }
    // port_command/3 accepts `force`: the driver also queues bytes that it gets while the port is busy.
    virtual bool takes_force() const { return false; }
    // The port's sink gets the input from now on; the port is busy from so many bytes on. False: no packets here.
    virtual bool divert(size_t /*busy_above*/) { return false; }
    // After divert(): sends packets, which come without their length headers. May move them away.
    virtual Term send_packets(Port&, std::deque<std::string>* /*packets*/) { return kNonValue; }
    // The driver's socket is ready, see poller::watch_socket().
    virtual Term ready(Port&, uint32_t /*events*/);
    // The time of poller::wake_at() has come.
    virtual Term timeout(Port&);
    // The port ends for everybody; while there are unsent() bytes it drains, and ready() writes them.
    virtual void closing(Port&) {}
    virtual size_t unsent() const { return 0; }
    // The port ends and releases the driver.
    virtual void close(Port&) {}
    // Blocks until the unsent bytes are written, or cannot be.
    virtual void write_out(Port&) {}
};

// An answer that the owner gets as data of the port: `head` as a list of bytes, whose tail is `data`, if there is any,
// as a list or a binary.
struct DriverAnswer {
    std::string head;
    bool has_data = false;
    std::string data;
};

// A driver that executes a command and answers at once.
class CommandDriver : public Driver {
public:
    Term output(Port& p, Term from, std::string* bytes) final;

protected:
    // Executes what a process sends. An errno: the port ends with it; else 0.
    virtual int command(const std::string& bytes, std::optional<DriverAnswer>* answer) = 0;
};

// The driver that the command names. Null: *is_one is false if the command names no driver; else the driver cannot be
// started, and errno tells why (0: its arguments are wrong).
std::shared_ptr<Driver> open_driver(const std::string& command, bool* is_one);

}  // namespace minivm::port
