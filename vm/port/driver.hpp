// What a port has in place of a program or files: a driver that runs in the VM, which the command of open_port/2 names.
//
// A new one is a class and a row in driver.cpp.
// Threads: whoever holds the port's lock. Nothing may block for long.
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

    // Each of these may give the reason why the port must end; the non-value: it need not.
    //
    // What a process sends; `from` is it, or the non-value. The bytes may be taken.
    virtual Term output(Port& p, Term from, std::string* bytes) = 0;
    // The port has its number. An errno: it cannot be opened; else 0.
    virtual int opened(Port&) { return 0; }
    // port_control(Port, command, bytes): the bytes of *answer are what it gives, *reason is as above. False: badarg.
    virtual bool control(Port&, Process&, uint32_t /*command*/, const std::string& /*bytes*/,
                         std::string* /*answer*/, Term* /*reason*/) {
        return false;
    }
    // What port_control/3 gives is a binary and no list.
    virtual bool answers_binaries() const { return false; }
    // Files that the port itself reads for it, and writes its queue to; they are not its own to close. -1: none.
    virtual int input_file() const { return -1; }
    virtual int output_file() const { return -1; }
    // port_command/3 takes `force`: what it gets while the port is busy is kept as well.
    virtual bool takes_force() const { return false; }
    // What comes goes to the port's sink from here on; it is busy from so many bytes on. False: it has no packets.
    virtual bool divert(size_t /*busy_above*/) { return false; }
    // Once it has been diverted: packets that go out, without what marks their ends. They may be taken.
    virtual Term send_packets(Port&, std::deque<std::string>* /*packets*/) { return kNonValue; }
    // Its socket is ready, see poller::watch_socket().
    virtual Term ready(Port&, uint32_t /*events*/);
    // The time of poller::wake_at() has come.
    virtual Term timeout(Port&);
    // The port ends for everybody, but unsent() bytes may wait; ready() goes on while there are any.
    virtual void closing(Port&) {}
    virtual size_t unsent() const { return 0; }
    // The port is let go of.
    virtual void close(Port&) {}
    // Blocks until what waits is written, or cannot be.
    virtual void write_out(Port&) {}
};

// Bytes that are sent to the owner as data of the port: `head` byte by byte, and if there is any, `data` as the port
// gives data.
struct DriverAnswer {
    std::string head;
    bool has_data = false;
    std::string data;
};

// One that takes commands and answers at once.
class CommandDriver : public Driver {
public:
    Term output(Port& p, Term from, std::string* bytes) final;

protected:
    // What a process sends. An errno: the port ends with it; else 0.
    virtual int command(const std::string& bytes, std::optional<DriverAnswer>* answer) = 0;
};

// The driver that the command names. Null and errno: it cannot be started (0: its arguments are none); null, and
// *is_one is false: it names none.
std::shared_ptr<Driver> open_driver(const std::string& command, bool* is_one);

}  // namespace minivm::port
