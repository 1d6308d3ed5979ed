#include "vm/port/ram_file.hpp"

#include "vm/process/posix.hpp"
#include "vm/term/atom_table.hpp"

#include <algorithm>
#include <cerrno>
#include <new>
#include <utility>

namespace minivm::port {
namespace {

enum Command : uint8_t {
    kOpen = 1,
    kRead = 2,
    kSeek = 3,
    kWrite = 4,
    kSync = 9,
    kTruncate = 14,
    kReadAt = 17,
    kWriteAt = 18,
    kSyncData = 19,
    kGet = 30,
    kSize = 37,
    kAdvise = 38,
    kAllocate = 39
};
enum Kind : char { kOk = 0, kError = 1, kData = 2, kNumber = 3 };
enum Mode : uint32_t { kForReading = 1, kForWriting = 2 };
enum Whence : int64_t { kSet = 0, kCurrent = 1, kEnd = 2 };

// Removes and returns the next number; 0 if there is none.
int64_t take_number(std::string_view* arguments) {
    if (arguments->size() < 4) {
        arguments->remove_prefix(arguments->size());
        return 0;
    }
    uint32_t n = 0;
    for (int i = 0; i < 4; ++i) {
        n = n << 8 | static_cast<uint8_t>((*arguments)[static_cast<size_t>(i)]);
    }
    arguments->remove_prefix(4);
    return static_cast<int32_t>(n);
}

void add_number(std::string* to, int64_t n) {
    for (int shift = 24; shift >= 0; shift -= 8) {
        *to += static_cast<char>(n >> shift);
    }
}

void answer_number(int64_t n, DriverAnswer* answer) {
    answer->head = kNumber;
    add_number(&answer->head, n);
}

}  // namespace

bool RamFile::is_command(const std::string& command) {
    return command == "ram_file_drv" || command.starts_with("ram_file_drv ");
}

int RamFile::write(std::string_view bytes, int64_t at) {
    if ((mode_ & kForWriting) == 0) {
        return EBADF;
    }
    if (at < 0) {
        return EINVAL;
    }
    const size_t end = static_cast<size_t>(at) + bytes.size();
    if (end > bytes_.size()) {
        bytes_.resize(end);  // a hole reads as zeros
    }
    bytes_.replace(static_cast<size_t>(at), bytes.size(), bytes);
    return 0;
}

int RamFile::read(int64_t at, int64_t count, DriverAnswer* answer) const {
    if ((mode_ & kForReading) == 0) {
        return EBADF;
    }
    if (at < 0 || count < 0) {
        return EINVAL;
    }
    const size_t begin = std::min(static_cast<size_t>(at), bytes_.size());
    answer->has_data = true;
    answer->data = bytes_.substr(begin, static_cast<size_t>(count));
    answer->head = kData;
    add_number(&answer->head, static_cast<int64_t>(answer->data.size()));
    return 0;
}

int RamFile::seek(int64_t offset, int64_t from) {
    if (mode_ == 0) {
        return EBADF;
    }
    if (from != kSet && from != kCurrent && from != kEnd) {
        return EINVAL;
    }
    const int64_t to = offset + (from == kCurrent ? position_
                                 : from == kEnd   ? static_cast<int64_t>(bytes_.size())
                                                  : 0);
    if (to < 0) {
        return EINVAL;
    }
    position_ = to;
    return 0;
}

int RamFile::execute(uint8_t what, std::string_view arguments, DriverAnswer* answer) {
    answer->head = kOk;
    switch (what) {
        case kOpen:
            mode_ = static_cast<uint32_t>(take_number(&arguments));
            bytes_ = arguments;
            position_ = 0;
            answer_number(0, answer);
            return 0;
        case kRead: {
            const int error = read(position_, take_number(&arguments), answer);
            position_ += static_cast<int64_t>(answer->data.size());
            return error;
        }
        case kReadAt: {
            const int64_t at = take_number(&arguments);
            return read(at, take_number(&arguments), answer);
        }
        case kWrite:
        case kWriteAt: {
            const int64_t at = what == kWrite ? position_ : take_number(&arguments);
            const int error = write(arguments, at);
            position_ += error == 0 && what == kWrite ? static_cast<int64_t>(arguments.size()) : 0;
            answer_number(static_cast<int64_t>(arguments.size()), answer);
            return error;
        }
        case kSeek: {
            const int64_t offset = take_number(&arguments);
            const int error = seek(offset, take_number(&arguments));
            answer_number(position_, answer);
            return error;
        }
        case kTruncate:
            if ((mode_ & kForWriting) == 0) {
                return EACCES;
            }
            bytes_.resize(static_cast<size_t>(position_));
            return 0;
        case kGet:
            answer->has_data = true;
            answer->data = bytes_;
            answer->head = kData;
            add_number(&answer->head, static_cast<int64_t>(bytes_.size()));
            return 0;
        case kSize:
            answer_number(static_cast<int64_t>(bytes_.size()), answer);
            return 0;
        case kSync:
        case kSyncData:
        case kAdvise:
        case kAllocate:  // a file in memory needs none of these
            return mode_ == 0 ? EBADF : 0;
        default:
            return kNoCommand;
    }
}

int RamFile::command(const std::string& bytes, std::optional<DriverAnswer>* answer) {
    if (bytes.empty()) {
        return 0;
    }
    DriverAnswer said;
    int error = 0;
    try {
        error = execute(static_cast<uint8_t>(bytes[0]), std::string_view(bytes).substr(1), &said);
    } catch (const std::bad_alloc&) {
        error = ENOMEM;
    }
    if (error == kNoCommand) {
        return 0;
    }
    if (error != 0) {
        said = {std::string(1, kError), false, {}};
        said.head += atom_table::text(posix_error_atom(error));
    }
    *answer = std::move(said);
    return 0;
}

}  // namespace minivm::port
