#include "vm/port/inet/address.hpp"

#include "vm/term/atom_table.hpp"
#include "vm/term/binary.hpp"
#include "vm/term/local_atoms.hpp"

#include <netinet/in.h>
#include <sys/un.h>

#include <algorithm>
#include <cstddef>
#include <cstring>

namespace minivm::port::inet {

LOCAL_ATOM(atom_local, "local")
LOCAL_ATOM(atom_unspec, "unspec")

constexpr char kBadFamily[] = "eafnosupport";
constexpr char kBadValue[] = "einval";

static const char* read_local(Reader* in, Address* out) {
    sockaddr_un un{};
    un.sun_family = AF_UNIX;
    const size_t n = in->u8();
    const char* path = in->bytes(n);
    if (path == nullptr || n > sizeof(un.sun_path)) {
        return kBadValue;
    }
    std::memcpy(un.sun_path, path, n);
    // A path ends with a zero byte; an abstract name, which begins with one, and an empty name do not.
    out->size = static_cast<socklen_t>(offsetof(sockaddr_un, sun_path) + n);
    if (n > 0 && path[0] != '\0' && n < sizeof(un.sun_path)) {
        ++out->size;
    }
    std::memcpy(&out->storage, &un, sizeof(un));
    return nullptr;
}

const char* read_address(Reader* in, int family, Address* out) {
    const uint8_t kind = in->u8();
    if (kind == kLocal) {
        return family == AF_UNIX ? read_local(in, out) : kBadFamily;
    }
    const uint16_t port = htons(in->u16());
    const bool of_any = kind == kAny || kind == kLoopback;
    if (family == AF_INET && (kind == kInet || of_any)) {
        sockaddr_in v4{};
        v4.sin_family = AF_INET;
        v4.sin_port = port;
        v4.sin_addr.s_addr = htonl(kind == kAny ? INADDR_ANY : INADDR_LOOPBACK);
        if (const char* ip = kind == kInet ? in->bytes(4) : nullptr) {
            std::memcpy(&v4.sin_addr, ip, 4);
        }
        std::memcpy(&out->storage, &v4, sizeof(v4));
        out->size = sizeof(v4);
    } else if (family == AF_INET6 && (kind == kInet6 || of_any)) {
        sockaddr_in6 v6{};
        v6.sin6_family = AF_INET6;
        v6.sin6_port = port;
        v6.sin6_addr = kind == kAny ? in6addr_any : in6addr_loopback;
        if (const char* ip = kind == kInet6 ? in->bytes(16) : nullptr) {
            std::memcpy(&v6.sin6_addr, ip, 16);
            v6.sin6_flowinfo = static_cast<uint32_t>(in->i32());
            v6.sin6_scope_id = static_cast<uint32_t>(in->i32());
        }
        std::memcpy(&out->storage, &v6, sizeof(v6));
        out->size = sizeof(v6);
    } else {
        return in->ok() && (kind == kInet || kind == kInet6 || of_any) ? kBadFamily : kBadValue;
    }
    return in->ok() ? nullptr : kBadValue;
}

static const sockaddr_in& v4_of(const sockaddr* a) {
    return *reinterpret_cast<const sockaddr_in*>(a);
}
static const sockaddr_in6& v6_of(const sockaddr* a) {
    return *reinterpret_cast<const sockaddr_in6*>(a);
}

// The path or abstract name of an address of AF_UNIX.
static std::string path_of(const Address& a) {
    const auto* un = reinterpret_cast<const sockaddr_un*>(&a.storage);
    constexpr size_t kBefore = offsetof(sockaddr_un, sun_path);
    if (a.size <= kBefore) {
        return {};
    }
    const size_t n = std::min(a.size - kBefore, sizeof(un->sun_path));
    return un->sun_path[0] == '\0' ? std::string(un->sun_path, n) : std::string(un->sun_path, strnlen(un->sun_path, n));
}

bool write_ip(const sockaddr* address, std::string* out) {
    if (address->sa_family == AF_INET) {
        put8(out, kInet);
        out->append(reinterpret_cast<const char*>(&v4_of(address).sin_addr), 4);
        return true;
    }
    if (address->sa_family == AF_INET6) {
        put8(out, kInet6);
        out->append(reinterpret_cast<const char*>(&v6_of(address).sin6_addr), 16);
        return true;
    }
    return false;
}

void write_address(const Address& a, std::string* out) {
    const auto family = a.get()->sa_family;
    if (family == AF_UNIX) {
        const std::string path = path_of(a);
        put8(out, kLocal);
        put8(out, path.size());
        *out += path;
        return;
    }
    std::string ip;
    if (!write_ip(a.get(), &ip)) {
        put8(out, family == AF_UNSPEC ? kUnspecified : kUndefined);
        return;
    }
    out->push_back(ip[0]);
    put16(out, port_of(a));
    out->append(ip, 1);
}

unsigned port_of(const Address& a) {
    const sockaddr* p = a.get();
    return p->sa_family == AF_INET    ? ntohs(v4_of(p).sin_port)
           : p->sa_family == AF_INET6 ? ntohs(v6_of(p).sin6_port)
                                      : 0;
}

void address_terms(Heap& h, const Address& a, Term* ip, Term* port) {
    const sockaddr* p = a.get();
    *port = make_small(port_of(a));
    if (p->sa_family == AF_INET) {
        const auto* b = reinterpret_cast<const uint8_t*>(&v4_of(p).sin_addr);
        *ip = make_tuple(h, make_small(b[0]), make_small(b[1]), make_small(b[2]), make_small(b[3]));
    } else if (p->sa_family == AF_INET6) {
        const auto* b = reinterpret_cast<const uint8_t*>(&v6_of(p).sin6_addr);
        const auto part = [b](int i) { return make_small(b[2 * i] << 8 | b[2 * i + 1]); };
        *ip = make_tuple(h, part(0), part(1), part(2), part(3), part(4), part(5), part(6), part(7));
    } else if (p->sa_family == AF_UNIX) {
        const std::string path = path_of(a);
        *ip = make_tuple(h, atom_local(), make_binary(h, path.data(), path.size()));
    } else {
        *ip = make_tuple(h, atom_unspec(), make_binary(h, "", 0));
    }
}

}  // namespace minivm::port::inet
