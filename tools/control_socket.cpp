#include "tools/control_socket.hpp"

#include "tools/private_directory.hpp"

#include <climits>

#include <fcntl.h>
#include <poll.h>
#include <sys/file.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>

namespace minivm::tools {

namespace {

constexpr size_t kLongestPath = sizeof(sockaddr_un::sun_path) - 1;
constexpr int kBacklog = 64;
// How long a client waits while the queue of a listening VM is full.
constexpr int kConnectTries = 100;
constexpr int kConnectPauseMs = 50;

std::string because(const std::string& path) {
    return path + ": " + std::strerror(errno);
}

bool check_length(const std::string& path, std::string* error) {
    if (path.empty()) {
        *error = "the name of the socket is empty";
        return false;
    }
    if (path.size() > kLongestPath) {
        *error = path + ": is " + std::to_string(path.size()) +
                 " bytes long, and a socket's path has at most " + std::to_string(kLongestPath);
        return false;
    }
    return true;
}

sockaddr_un address_of(const std::string& path) {
    sockaddr_un address{};
    address.sun_family = AF_UNIX;
    std::memcpy(address.sun_path, path.data(), path.size());
    return address;
}

enum class Connected : uint8_t { yes, refused, busy, failed };

Connected try_connect(int fd, const std::string& path) {
    const sockaddr_un address = address_of(path);
    for (;;) {
        if (connect(fd, reinterpret_cast<const sockaddr*>(&address), sizeof address) == 0) {
            return Connected::yes;
        }
        if (errno == EINTR) {
            continue;
        }
        return errno == ECONNREFUSED ? Connected::refused
               : errno == EAGAIN     ? Connected::busy
                                     : Connected::failed;
    }
}

std::string user_text(uint32_t uid) {
    return "user " + std::to_string(uid);
}

// What is at the path, if it is there: a socket of ours, or *error.
enum class Found : uint8_t { nothing, socket, wrong };
Found look_at(const std::string& path, std::string* error) {
    struct stat info {};
    if (lstat(path.c_str(), &info) != 0) {
        if (errno == ENOENT) {
            return Found::nothing;
        }
        *error = because(path);
        return Found::wrong;
    }
    if (S_ISLNK(info.st_mode)) {
        *error = path + ": is a symbolic link, which is not followed";
    } else if (!S_ISSOCK(info.st_mode)) {
        *error = path + ": is there already and is no socket";
    } else if (info.st_uid != geteuid()) {
        *error = path + ": belongs to " + user_text(info.st_uid) + ", and you are " +
                 user_text(geteuid());
    } else {
        return Found::socket;
    }
    return Found::wrong;
}

std::string directory_of(const std::string& path) {
    const size_t slash = path.rfind('/');
    return slash == std::string::npos ? "." : slash == 0 ? "/" : path.substr(0, slash);
}

// Removes a stale socket from the path. False: *error says what is in the way.
bool make_room(const std::string& path, std::string* error) {
    switch (look_at(path, error)) {
        case Found::wrong:
            return false;
        case Found::nothing:
            return true;
        case Found::socket:
            break;
    }
    const int probe = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
    if (probe < 0) {
        *error = because(path);
        return false;
    }
    const Connected answer = try_connect(probe, path);
    ucred peer{};
    socklen_t size = sizeof peer;
    const bool known = getsockopt(probe, SOL_SOCKET, SO_PEERCRED, &peer, &size) == 0;
    ::close(probe);
    if (answer == Connected::yes || answer == Connected::busy) {
        *error = path + ": another VM listens there" +
                 (known && peer.pid > 0 ? " (process " + std::to_string(peer.pid) + ")" : "");
        return false;
    }
    if (answer != Connected::refused || unlink(path.c_str()) != 0) {
        *error = because(path);
        return false;
    }
    return true;
}

}  // namespace

bool Listener::open(const std::string& path, std::string* error) {
    if (!check_length(path, error)) {
        return false;
    }
    const std::string directory = directory_of(path);
    if (!own_directory(directory, error)) {
        *error = path + ": the socket's directory must be yours alone: " + *error;
        return false;
    }
    // Two VMs that take over a stale socket at the same time would each remove the other's.
    const int lock = ::open(directory.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC | O_NOFOLLOW);
    if (lock < 0 || flock(lock, LOCK_EX) != 0) {
        *error = because(directory);
        if (lock >= 0) {
            ::close(lock);
        }
        return false;
    }
    bool ok = make_room(path, error);
    if (ok) {
        fd_ = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
        const sockaddr_un address = address_of(path);
        const mode_t mask = umask(0177);
        ok =
            fd_ >= 0 && bind(fd_, reinterpret_cast<const sockaddr*>(&address), sizeof address) == 0;
        umask(mask);
        struct stat info {};
        ok = ok && listen(fd_, kBacklog) == 0 && lstat(path.c_str(), &info) == 0;
        if (ok) {
            char whole[PATH_MAX];
            path_ = realpath(directory.c_str(), whole) != nullptr
                        ? std::string(whole) + "/" + path.substr(path.rfind('/') + 1)
                        : path;
            device_ = info.st_dev;
            inode_ = info.st_ino;
        } else {
            *error = because(path);
        }
    }
    ::close(lock);
    if (!ok) {
        close();
    }
    return ok;
}

void Listener::close() {
    if (fd_ < 0) {
        return;
    }
    // Another VM's socket may be there by now: it stays.
    struct stat info {};
    if (!path_.empty() && lstat(path_.c_str(), &info) == 0 && info.st_dev == device_ &&
        info.st_ino == inode_) {
        unlink(path_.c_str());
    }
    ::close(fd_);
    fd_ = -1;
}

int connect_to_vm(const std::string& path, std::string* error) {
    if (!check_length(path, error)) {
        return -1;
    }
    switch (look_at(path, error)) {
        case Found::wrong:
            return -1;
        case Found::nothing:
            *error = path + ": no such socket; does the VM run, with --listen " + path + "?";
            return -1;
        case Found::socket:
            break;
    }
    const int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
    if (fd < 0) {
        *error = because(path);
        return -1;
    }
    Connected answer = Connected::busy;
    for (int i = 0; i < kConnectTries && answer == Connected::busy; ++i) {
        if (i > 0) {
            poll(nullptr, 0, kConnectPauseMs);
        }
        answer = try_connect(fd, path);
    }
    uint32_t uid = 0;
    if (answer == Connected::refused) {
        *error = path + ": nobody listens there any more; its VM has ended";
    } else if (answer == Connected::busy) {
        *error = path + ": the VM takes no connections; too many wait already";
    } else if (answer == Connected::failed || !peer_user(fd, &uid)) {
        *error = because(path);
    } else if (uid != geteuid()) {
        *error = path + ": the VM belongs to " + user_text(uid) + ", and you are " +
                 user_text(geteuid());
    } else {
        fcntl(fd, F_SETFL, 0);
        return fd;
    }
    ::close(fd);
    return -1;
}

bool peer_user(int fd, uint32_t* uid) {
    ucred peer{};
    socklen_t size = sizeof peer;
    if (getsockopt(fd, SOL_SOCKET, SO_PEERCRED, &peer, &size) != 0) {
        return false;
    }
    *uid = peer.uid;
    return true;
}

void append_number(std::string* to, uint32_t number) {
    for (int shift = 24; shift >= 0; shift -= 8) {
        to->push_back(static_cast<char>(number >> shift));
    }
}

std::string frame(char kind, std::string_view content) {
    std::string bytes;
    bytes.reserve(5 + content.size());
    append_number(&bytes, static_cast<uint32_t>(content.size() + 1));
    bytes.push_back(kind);
    bytes += content;
    return bytes;
}

}  // namespace minivm::tools
