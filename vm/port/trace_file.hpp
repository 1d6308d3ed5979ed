// The driver `trace_file_drv`, with which OTP's dbg writes traces to one file or to several in turn.
//
// Each trace is a byte 0, its size in four bytes, and the term in the external format.
// Threads: the one that holds the port's lock.
#pragma once

#include "vm/port/driver.hpp"

#include <cstdint>
#include <memory>
#include <string>

namespace minivm::port {

class TraceFile final : public CommandDriver {
public:
    // Null: the arguments of the command are wrong (errno is 0), or the file cannot be opened (errno).
    static std::unique_ptr<TraceFile> open(const std::string& command);
    static bool is_command(const std::string& command);
    ~TraceFile() override;

    // Writes a term in the external format; has no answer.
    int command(const std::string& bytes, std::optional<DriverAnswer>* answer) override;
    // The command $f: writes the buffer to the file.
    bool control(Port& p, Process& caller, uint32_t command, const std::string& bytes, std::string* answer,
                 Term* reason) override;

private:
    TraceFile() = default;
    std::string name_of(uint64_t number) const;
    bool open_file(uint64_t number);
    bool next_file();
    bool flush();
    bool write(const std::string& term);  // false: errno tells
    bool catch_up();  // begins as many new files as time_ms_ demands by now

    int fd_ = -1;
    std::string buffer_;
    std::string name_, tail_;
    uint64_t size_ = 0;     // bytes in a file after which the next one begins
    uint64_t count_ = 0;    // files; 0: one that grows
    uint64_t time_ms_ = 0;  // after which the next file begins, whatever the size; 0: by size
    uint64_t number_ = 0;
    uint64_t left_ = 0;  // new files until each one deletes the oldest
    uint64_t oldest_ = 0;
    uint64_t written_ = 0;
    int64_t opened_ms_ = 0;
};

}  // namespace minivm::port
