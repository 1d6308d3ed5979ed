// What a port has in place of a program or files: a driver that runs in the VM, which the command of open_port/2 names.
//
// A new one is a class and a row in driver.cpp.
// Threads: whoever holds the port's lock. Nothing may block for long.
#pragma once

#include <memory>
#include <optional>
#include <string>

namespace minivm::port {

// Bytes that are sent to the owner as data of the port: `head` byte by byte, and if there is any, `data` as the port
// gives data.
struct DriverAnswer {
    std::string head;
    bool has_data = false;
    std::string data;
};

class Driver {
public:
    Driver() = default;
    Driver(const Driver&) = delete;
    Driver& operator=(const Driver&) = delete;
    virtual ~Driver() = default;
    // What a process sends. An errno: the port ends with it; else 0.
    virtual int command(const std::string& bytes, std::optional<DriverAnswer>* answer) = 0;
    // port_control(Port, $f, []); false: it has nothing to write out, or cannot.
    virtual bool flush() { return false; }
};

// The driver that the command names. Null and errno: it cannot be started (0: its arguments are none); null, and
// *is_one is false: it names none.
std::shared_ptr<Driver> open_driver(const std::string& command, bool* is_one);

}  // namespace minivm::port
