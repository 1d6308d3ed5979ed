#include "vm/port/driver.hpp"

#include "vm/port/inet/tcp.hpp"
#include "vm/port/inet/udp.hpp"
#include "vm/port/ram_file.hpp"
#include "vm/port/terminal_port.hpp"
#include "vm/port/trace_file.hpp"
#include "vm/port/trace_ip.hpp"

#include <cerrno>
#include <string_view>

namespace minivm::port {

namespace {

struct Row {
    bool (*is_command)(const std::string& command);
    std::shared_ptr<Driver> (*open)(const std::string& command);
};
// The name of a driver that OTP has and this VM lacks: opening it fails, and sh does not get it as a command.
bool is_missing_driver(const std::string& command) {
    const std::string_view name = std::string_view(command).substr(0, command.find(' '));
    return name == "sctp_inet";
}

constexpr Row kDrivers[] = {
    {TraceFile::is_command, [](const std::string& c) -> std::shared_ptr<Driver> { return TraceFile::open(c); }},
    {TraceIp::is_command, [](const std::string& c) -> std::shared_ptr<Driver> { return TraceIp::open(c); }},
    {RamFile::is_command, [](const std::string&) -> std::shared_ptr<Driver> { return std::make_shared<RamFile>(); }},
    {[](const std::string& c) { return c == "tcp_inet"; },
     [](const std::string&) -> std::shared_ptr<Driver> { return std::make_shared<inet::TcpSocket>(); }},
    {[](const std::string& c) { return c == "udp_inet"; },
     [](const std::string&) -> std::shared_ptr<Driver> { return std::make_shared<inet::UdpSocket>(); }},
    {TerminalPort::is_command, TerminalPort::open},
    {is_missing_driver, [](const std::string&) -> std::shared_ptr<Driver> { return nullptr; }},
};

}  // namespace

std::shared_ptr<Driver> open_driver(const std::string& command, bool* is_one) {
    for (const Row& row : kDrivers) {
        if (row.is_command(command)) {
            *is_one = true;
            errno = 0;
            return row.open(command);
        }
    }
    *is_one = false;
    return nullptr;
}

}  // namespace minivm::port
