// An address of a socket, of any family, with its size.
#pragma once

#include <sys/socket.h>

namespace minivm {

struct SocketAddress {
    sockaddr_storage storage{};
    socklen_t size = 0;

    sockaddr* get() { return reinterpret_cast<sockaddr*>(&storage); }
    const sockaddr* get() const { return reinterpret_cast<const sockaddr*>(&storage); }
    // Where the system writes the size of an address that it puts here; before, the room there is.
    socklen_t* room() {
        size = sizeof(storage);
        return &size;
    }
    template <typename T>
    T* as() {
        static_assert(sizeof(T) <= sizeof(sockaddr_storage));
        return reinterpret_cast<T*>(&storage);
    }
};

}  // namespace minivm
