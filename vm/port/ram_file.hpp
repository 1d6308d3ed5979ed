// The driver `ram_file_drv`: a file in memory, which OTP's file:open/2 makes of a binary or a string
// (option `ram`), for example in erl_tar.
//
// A command is a byte that names the operation, and its arguments as in OTP's ram_file.erl; numbers
// have 32 bits, the most significant byte first.
//
// Threads: the one that holds the port's lock.
#pragma once

#include "vm/port/driver.hpp"

#include <cstdint>
#include <string>
#include <string_view>

namespace minivm::port {

class RamFile final : public CommandDriver {
public:
    static bool is_command(const std::string& command);

    // The answer's head is a byte (Kind), then a number or the name of an error; its data is what a command has read.
    // An unknown command has no answer, as in OTP.
    int command(const std::string& bytes, std::optional<DriverAnswer>* answer) override;

private:
    // The results are an errno, or 0. kNoCommand: the command is unknown.
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
