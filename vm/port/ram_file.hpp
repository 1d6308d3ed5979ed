// A file in memory: the driver `ram_file_drv`, by which OTP's file:open/2 makes one of a binary or
// a string (`ram`), as erl_tar does.
//
// A command is a byte that says what is to be done, and its arguments as in OTP's ram_file.erl;
// numbers have 32 bits, the most significant byte first.
//
// Threads: whoever holds the port's lock.
#pragma once

#include "vm/port/driver.hpp"

#include <cstdint>
#include <string>
#include <string_view>

namespace minivm::port {

class RamFile final : public CommandDriver {
public:
    static bool is_command(const std::string& command);

    // The answer's head is a byte that says what it is, and the number or the name of an error behind it; its data is what
    // was read, if anything was to be. There is none to what is no command.
    int command(const std::string& bytes, std::optional<DriverAnswer>* answer) override;

private:
    // These answer with an errno, or 0. kNoCommand: there is no such one.
    static constexpr int kNoCommand = -1;
    int execute(uint8_t what, std::string_view arguments, DriverAnswer* answer);
    int write(std::string_view bytes, int64_t at);
    int read(int64_t at, int64_t count, DriverAnswer* answer) const;
    int seek(int64_t offset, int64_t from);

    std::string bytes_;
    int64_t position_ = 0;
    uint32_t mode_ = 0;  // 0: not open yet
};

}  // namespace minivm::port
