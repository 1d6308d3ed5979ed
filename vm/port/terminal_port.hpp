// The driver `tty_sl`: the terminal of OTP 25's shell. The owner gets what the user types as data of the port; output
// goes through the line that the user edits (terminal_line.hpp).
//
// A command is a byte that names the operation, as in OTP's user_drv.erl, and its argument: text in UTF-8, or a number
// of characters in 16 bits.
// Threads: the one that holds the port's lock.
#pragma once

#include "vm/port/driver.hpp"
#include "vm/port/terminal_line.hpp"

#include <memory>
#include <string>

namespace minivm::port {

class TerminalPort final : public Driver {
public:
    static bool is_command(const std::string& command);
    // Null: standard input or output is no terminal, the terminal cannot move its cursor, or a port has it already.
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
