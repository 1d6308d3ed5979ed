// The driver `tty_sl`: the terminal of OTP 25's shell. What is typed comes as data of the port, byte by byte; what is
// written goes through the line that is being edited (terminal_line.hpp).
//
// A command is a byte that says what is to be done, as in OTP's user_drv.erl, and its argument: text in UTF-8, or a
// number of characters in 16 bits.
// Threads: whoever holds the port's lock.
#pragma once

#include "vm/port/driver.hpp"
#include "vm/port/terminal_line.hpp"

#include <memory>
#include <string>

namespace minivm::port {

class TerminalPort final : public Driver {
public:
    static bool is_command(const std::string& command);
    // Null: standard input and output are no terminal, or none that can move its cursor; or there is one already.
    static std::shared_ptr<Driver> open(const std::string& command);
    ~TerminalPort() override;

    int input_file() const override;
    int output_file() const override;
    Term output(Port& p, Term from, std::string* bytes) override;
    bool control(Port& p, Process& caller, uint32_t command, const std::string& bytes, std::string* answer,
                 Term* reason) override;

private:
    TerminalPort() = default;

    TerminalLine line_;
};

}  // namespace minivm::port
