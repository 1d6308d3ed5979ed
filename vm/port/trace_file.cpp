#include "vm/port/trace_file.hpp"

#include <fcntl.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <cstdio>

namespace minivm::port {
namespace {

constexpr size_t kBuffered = 8192;
constexpr char kCommand[] = "trace_file_drv ";

int64_t now_ms() {
    return std::chrono::duration_cast<std::chrono::milliseconds>(
               std::chrono::steady_clock::now().time_since_epoch())
        .count();
}

}  // namespace

bool TraceFile::is_command(const std::string& command) {
    return command.starts_with(kCommand);
}

// trace_file_drv [w SIZE COUNT TIME LENGTH ] n NAME[TAIL]: LENGTH is the length of NAME.
std::unique_ptr<TraceFile> TraceFile::open(const std::string& command) {
    std::unique_ptr<TraceFile> file(new TraceFile);
    size_t at = sizeof(kCommand) - 1;
    unsigned length = 0;
    if (command.compare(at, 2, "w ") == 0) {
        // As wide as in OTP: a number such as -1, which sscanf() accepts, still leaves room for count_ + 1.
        unsigned size = 0;
        unsigned count = 0;
        unsigned time = 0;
        int used = 0;
        if (std::sscanf(command.c_str() + at, "w %u %u %u %u %n", &size, &count, &time,
                        &length, &used) != 4 ||
            count == 0) {
            errno = 0;
            return nullptr;
        }
        file->size_ = size;
        file->count_ = count;
        file->time_ms_ = time;
        at += static_cast<size_t>(used);
    }
    if (command.compare(at, 2, "n ") != 0 || command.size() - at - 2 < length) {
        errno = 0;
        return nullptr;
    }
    file->name_ = command.substr(at + 2);
    if (file->count_ != 0) {
        file->tail_ = file->name_.substr(length);
        file->name_.resize(length);
    }
    file->left_ = file->count_;
    return file->open_file(0) ? std::move(file) : nullptr;
}

TraceFile::~TraceFile() {
    catch_up();
    flush();
    if (fd_ >= 0) {
        ::close(fd_);
    }
}

std::string TraceFile::name_of(uint64_t number) const {
    return count_ == 0 ? name_ : name_ + std::to_string(number) + tail_;
}

bool TraceFile::open_file(uint64_t number) {
    const int fd = ::open(name_of(number).c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0666);
    if (fd < 0) {
        return false;
    }
    if (fd_ >= 0) {
        ::close(fd_);
    }
    fd_ = fd;
    number_ = number;
    written_ = 0;
    opened_ms_ = now_ms();
    return true;
}

bool TraceFile::control(Port&, Process&, uint32_t command, const std::string&, std::string* answer, Term*) {
    *answer = std::string(1, '\0');  // means done
    return command == 'f' && flush();
}

bool TraceFile::flush() {
    size_t done = 0;
    while (done < buffer_.size()) {
        const ssize_t n = ::write(fd_, buffer_.data() + done, buffer_.size() - done);
        if (n < 0 && errno != EINTR) {
            buffer_.clear();
            return false;
        }
        done += n > 0 ? static_cast<size_t>(n) : 0;
    }
    buffer_.clear();
    return true;
}

// The files use count_ + 1 numbers in turn: the number after the newest file's has no file.
bool TraceFile::next_file() {
    if (!flush()) {
        return false;
    }
    left_ -= left_ > 0 ? 1 : 0;
    if (left_ == 0) {
        ::unlink(name_of(oldest_).c_str());
        oldest_ = (oldest_ + 1) % (count_ + 1);
    }
    return open_file((number_ + 1) % (count_ + 1));
}

bool TraceFile::catch_up() {
    if (time_ms_ == 0 || count_ == 0) {
        return true;
    }
    const int64_t began_ms = opened_ms_;
    const auto passed = static_cast<uint64_t>(now_ms() - began_ms) / time_ms_;
    for (uint64_t i = 0; i < std::min(passed, 2 * (count_ + 1)); ++i) {
        if (!next_file()) {
            return false;
        }
    }
    opened_ms_ = began_ms + static_cast<int64_t>(passed * time_ms_);
    return true;
}

int TraceFile::command(const std::string& bytes, std::optional<DriverAnswer>*) {
    return write(bytes) ? 0 : errno;
}

bool TraceFile::write(const std::string& term) {
    if (!catch_up()) {
        return false;
    }
    const auto size = static_cast<uint32_t>(term.size());
    buffer_ += '\0';
    for (int shift = 24; shift >= 0; shift -= 8) {
        buffer_ += static_cast<char>(size >> shift);
    }
    buffer_ += term;
    written_ += 5 + term.size();
    if (count_ != 0 && time_ms_ == 0 && written_ >= size_) {
        return next_file();
    }
    return buffer_.size() < kBuffered || flush();
}

}  // namespace minivm::port
