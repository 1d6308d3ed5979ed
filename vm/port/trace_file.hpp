// What OTP's dbg writes traces to: the driver `trace_file_drv`, one file or several in turn.
//
// Each trace is a byte 0, its size in four bytes, and the term in the external format.
// Threads: whoever holds the port's lock.
#pragma once

#include "vm/port/driver.hpp"

#include <cstdint>
#include <memory>
#include <string>

namespace minivm::port {

class TraceFile final : public CommandDriver {
public:
    // Null: the command is not one for it, or the file cannot be opened (errno tells; 0: the
    // former).
    static std::unique_ptr<TraceFile> open(const std::string& command);
    static bool is_command(const std::string& command);
    ~TraceFile() override;

    // A term, without an answer.
    int command(const std::string& bytes, std::optional<DriverAnswer>* answer) override;
    // The command $f: what was written so far is in the file.
    bool control(Port& p, Process& caller, uint32_t command, const std::string& bytes, std::string* answer,
                 Term* reason) override;

private:
    TraceFile() = default;
    std::string name_of(uint64_t number) const;
    bool open_file(uint64_t number);
    bool next_file();
    bool flush();
    bool write(const std::string& term);  // false: errno tells
    bool catch_up();  // as many files on as the time says

    int fd_ = -1;
    std::string buffer_;
    std::string name_, tail_;
    uint64_t size_ = 0;     // of one file: as much begins the next
    uint64_t count_ = 0;    // files; 0: one that grows
    uint64_t time_ms_ = 0;  // of one file, and its size does not matter; 0: by size
    uint64_t number_ = 0;
    uint64_t left_ = 0;  // files to begin until the oldest is deleted
    uint64_t oldest_ = 0;
    uint64_t written_ = 0;
    int64_t opened_ms_ = 0;
};

}  // namespace minivm::port
