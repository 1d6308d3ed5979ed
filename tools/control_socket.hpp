// The socket by which clients talk to a VM, for both sides: which paths are allowed, who may be at
// the other end, and the frames that go over it (docs/protocols/outside.md).
//
// A socket lies in a directory of mode 0700 that belongs to the user; neither it nor the directory
// may be a link. Both sides ask the kernel for the user at the other end, and talk to no other user.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

namespace minivm::tools {

// ---- the VM's side ------------------------------------------------------------------------------

// A socket that clients can connect to. Removed from the file system when it is closed in good
// order.
class Listener {
public:
    Listener() = default;
    Listener(const Listener&) = delete;
    Listener& operator=(const Listener&) = delete;
    ~Listener() { close(); }

    // Makes the directory, if only it is missing, and the socket. Takes over a socket that a dead VM has
    // left. False: *error says what is in the way.
    bool open(const std::string& path, std::string* error);
    void close();
    // For poll(); does not block.
    int fd() const { return fd_; }
    const std::string& path() const { return path_; }

private:
    int fd_ = -1;
    std::string path_;  // absolute: the program may change its directory
    uint64_t device_ = 0;
    uint64_t inode_ = 0;
};

// ---- the client's side --------------------------------------------------------------------------

// A connection to the VM that listens at `path`, or -1: *error says why there is none.
int connect_to_vm(const std::string& path, std::string* error);

// ---- both ---------------------------------------------------------------------------------------

// The user at the other end; false: the kernel does not say.
bool peer_user(int fd, uint32_t* uid);

inline constexpr uint32_t kProtocolVersion = 1;
inline constexpr size_t kMaxFrameBytes = size_t{64} << 20;

// A frame: four bytes for the length of what follows (most significant first), a letter that says
// what it is, the rest.
std::string frame(char kind, std::string_view content);
// Four bytes, most significant first.
void append_number(std::string* to, uint32_t number);

}  // namespace minivm::tools
