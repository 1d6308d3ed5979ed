#include "vm/port/driver.hpp"

#include "vm/port/ram_file.hpp"
#include "vm/port/trace_file.hpp"

#include <cerrno>

namespace minivm::port {

namespace {

struct Row {
    bool (*is_command)(const std::string& command);
    std::shared_ptr<Driver> (*open)(const std::string& command);
};
constexpr Row kDrivers[] = {
    {TraceFile::is_command, [](const std::string& c) -> std::shared_ptr<Driver> { return TraceFile::open(c); }},
    {RamFile::is_command, [](const std::string&) -> std::shared_ptr<Driver> { return std::make_shared<RamFile>(); }},
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
