#include "tools/output_file.hpp"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>

namespace minivm::tools {

bool OutputFile::open(const std::string& path) {
    if (path.empty()) {
        return true;
    }
    path_ = path;
    // 0600: a recording is for its user alone.
    const int fd = ::open(path.c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_NOFOLLOW | O_CLOEXEC, 0600);
    if (fd < 0) {
        error_ = errno == ELOOP ? path + ": is a symbolic link; it is not followed"
                                : path + ": cannot be written: " + std::strerror(errno);
        return false;
    }
    file_ = fdopen(fd, "w");
    is_own_ = true;
    return true;
}

bool OutputFile::fail() {
    if (errno == EPIPE) {
        broken_pipe_ = true;
    }
    if (error_.empty()) {
        error_ = (path_.empty() ? std::string("standard output") : path_) +
                 ": cannot be written: " + std::strerror(errno);
    }
    return false;
}

bool OutputFile::write(std::string_view bytes) {
    return std::fwrite(bytes.data(), 1, bytes.size(), file_) == bytes.size() || fail();
}

bool OutputFile::close() {
    if (file_ == nullptr) {
        return error_.empty();
    }
    std::FILE* const file = file_;
    file_ = nullptr;
    const bool good = (is_own_ ? std::fclose(file) : std::fflush(file)) == 0;
    return (good || fail()) && error_.empty();
}

}  // namespace minivm::tools
