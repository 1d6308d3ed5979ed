// The machine's network interfaces and the names of services.
#include "vm/port/inet/socket.hpp"

#include <arpa/inet.h>
#include <ifaddrs.h>
#include <net/if.h>
#include <netdb.h>
#include <netinet/in.h>
#include <netpacket/packet.h>
#include <sys/ioctl.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <memory>
#include <vector>

namespace minivm::port::inet {

namespace {

constexpr struct {
    unsigned system;
    uint32_t shown;
} kFlags[] = {{IFF_UP, 0x0001},          {IFF_BROADCAST, 0x0002}, {IFF_LOOPBACK, 0x0004},
              {IFF_POINTOPOINT, 0x0008}, {IFF_RUNNING, 0x0010},   {IFF_MULTICAST, 0x0020}};
// The bits of a request that clear a flag.
constexpr struct {
    unsigned system;
    uint32_t shown;
} kCleared[] = {{IFF_UP, 0x0100}, {IFF_BROADCAST, 0x0200}, {IFF_POINTOPOINT, 0x0800}};

uint32_t shown_flags(unsigned flags) {
    uint32_t shown = 0;
    for (const auto& f : kFlags) {
        shown |= (flags & f.system) != 0 ? f.shown : 0;
    }
    return shown;
}

void put_address(InterfaceOption option, const sockaddr* address, std::string* out) {
    std::string ip;
    if (address != nullptr && write_ip(address, &ip)) {
        put8(out, option);
        *out += ip;
    }
}

std::string service_text(Reader* in) {
    const size_t n = in->u8();
    const char* bytes = in->bytes(n);
    return bytes == nullptr ? std::string() : std::string(bytes, n);
}

// [error | Name]
void fail(std::string* out, const char* name) {
    (out->assign(1, kError)) += name;
}

bool read_name(Reader* in, ifreq* request) {
    const size_t n = in->u8();
    const char* bytes = in->bytes(n);
    if (bytes == nullptr) {
        return false;
    }
    std::memset(request, 0, sizeof(*request));
    std::memcpy(request->ifr_name, bytes, std::min(n, sizeof(request->ifr_name) - 1));
    return true;
}

}  // namespace

void get_service_by_name(Reader in, std::string* out) {
    const std::string name = service_text(&in);
    const std::string protocol = service_text(&in);
    if (!in.ok()) {
        return fail(out, "einval");
    }
    servent entry{};
    servent* found = nullptr;
    char room[4096];
    getservbyname_r(name.c_str(), protocol.c_str(), &entry, room, sizeof(room), &found);
    if (found == nullptr) {
        return fail(out, "einval");
    }
    out->assign(1, kOk);
    put16(out, ntohs(static_cast<uint16_t>(entry.s_port)));
}

void get_service_by_port(Reader in, std::string* out) {
    const uint16_t port = htons(in.u16());
    const std::string protocol = service_text(&in);
    if (!in.ok()) {
        return fail(out, "einval");
    }
    servent entry{};
    servent* found = nullptr;
    char room[4096];
    getservbyport_r(port, protocol.c_str(), &entry, room, sizeof(room), &found);
    if (found == nullptr) {
        return fail(out, "einval");
    }
    (out->assign(1, kOk)) += entry.s_name;
}

int get_interfaces(std::string* out) {
    ifaddrs* first = nullptr;
    if (getifaddrs(&first) != 0) {
        return errno;
    }
    const std::unique_ptr<ifaddrs, decltype(&freeifaddrs)> list(first, &freeifaddrs);
    std::vector<std::string> names;
    for (const ifaddrs* i = first; i != nullptr; i = i->ifa_next) {
        if (i->ifa_addr != nullptr && i->ifa_addr->sa_family == AF_INET &&
            std::find(names.begin(), names.end(), i->ifa_name) == names.end()) {
            names.emplace_back(i->ifa_name);
            *out += i->ifa_name;
            out->push_back('\0');
        }
    }
    return 0;
}

int get_addresses(std::string* out) {
    ifaddrs* first = nullptr;
    if (getifaddrs(&first) != 0) {
        return errno;
    }
    const std::unique_ptr<ifaddrs, decltype(&freeifaddrs)> list(first, &freeifaddrs);
    for (const ifaddrs* i = first; i != nullptr; i = i->ifa_next) {
        *out += i->ifa_name;
        out->push_back('\0');
        put8(out, kInterfaceFlags);
        put32(out, shown_flags(i->ifa_flags));
        if (i->ifa_addr != nullptr && i->ifa_addr->sa_family == AF_PACKET) {
            const auto* link = reinterpret_cast<const sockaddr_ll*>(i->ifa_addr);
            put8(out, kInterfaceHardware);
            put16(out, link->sll_halen);
            out->append(reinterpret_cast<const char*>(link->sll_addr), link->sll_halen);
        } else {
            put_address(kInterfaceAddress, i->ifa_addr, out);
            put_address(kInterfaceNetmask, i->ifa_netmask, out);
            if ((i->ifa_flags & IFF_POINTOPOINT) != 0) {
                put_address(kInterfaceDestination, i->ifa_dstaddr, out);
            } else if ((i->ifa_flags & IFF_BROADCAST) != 0) {
                put_address(kInterfaceBroadcast, i->ifa_broadaddr, out);
            }
        }
        out->push_back('\0');
    }
    return 0;
}

void get_interface(int fd, Reader in, std::string* out) {
    ifreq request;
    if (!read_name(&in, &request)) {
        return fail(out, "einval");
    }
    while (in.left() > 0) {
        const auto option = static_cast<InterfaceOption>(in.u8());
        switch (option) {
            case kInterfaceAddress:
                if (ioctl(fd, SIOCGIFADDR, &request) == 0) {
                    put_address(option, &request.ifr_addr, out);
                }
                break;
            case kInterfaceBroadcast:
                if (ioctl(fd, SIOCGIFBRDADDR, &request) == 0) {
                    put_address(option, &request.ifr_broadaddr, out);
                }
                break;
            case kInterfaceDestination:
                if (ioctl(fd, SIOCGIFDSTADDR, &request) == 0) {
                    put_address(option, &request.ifr_dstaddr, out);
                }
                break;
            case kInterfaceNetmask:
                if (ioctl(fd, SIOCGIFNETMASK, &request) == 0) {
                    put_address(option, &request.ifr_netmask, out);
                }
                break;
            case kInterfaceMtu:
                if (ioctl(fd, SIOCGIFMTU, &request) == 0) {
                    put8(out, option);
                    put32(out, static_cast<uint32_t>(request.ifr_mtu));
                }
                break;
            case kInterfaceFlags:
                put8(out, option);
                put32(out, ioctl(fd, SIOCGIFFLAGS, &request) == 0
                               ? shown_flags(static_cast<unsigned short>(request.ifr_flags))
                               : 0);
                break;
            case kInterfaceHardware:
                if (ioctl(fd, SIOCGIFHWADDR, &request) == 0) {
                    constexpr size_t kBytes = 6;
                    put8(out, option);
                    put16(out, kBytes);
                    out->append(request.ifr_hwaddr.sa_data, kBytes);
                }
                break;
            default:
                return fail(out, "einval");
        }
    }
}

int set_interface(int fd, Reader in) {
    ifreq request;
    if (!read_name(&in, &request)) {
        return EINVAL;
    }
    const auto set_address = [&](unsigned long how) {
        const uint8_t family = in.u8();
        const char* ip = in.bytes(4);
        if (family != kInet || ip == nullptr) {
            return EINVAL;
        }
        sockaddr_in address{};
        address.sin_family = AF_INET;
        std::memcpy(&address.sin_addr, ip, 4);
        std::memcpy(&request.ifr_addr, &address, sizeof(address));
        ioctl(fd, how, &request);  // as in OTP, an error of the kernel is ignored
        return 0;
    };
    while (in.left() > 0) {
        int error = 0;
        switch (in.u8()) {
            case kInterfaceAddress:
                error = set_address(SIOCSIFADDR);
                break;
            case kInterfaceBroadcast:
                error = set_address(SIOCSIFBRDADDR);
                break;
            case kInterfaceDestination:
                error = set_address(SIOCSIFDSTADDR);
                break;
            case kInterfaceNetmask:
                error = set_address(SIOCSIFNETMASK);
                break;
            case kInterfaceMtu:
                request.ifr_mtu = in.i32();
                error = in.ok() ? 0 : EINVAL;
                if (error == 0) {
                    ioctl(fd, SIOCSIFMTU, &request);
                }
                break;
            case kInterfaceFlags: {
                const auto wanted = static_cast<uint32_t>(in.i32());
                if (!in.ok() || ioctl(fd, SIOCGIFFLAGS, &request) != 0) {
                    error = in.ok() ? errno : EINVAL;
                    break;
                }
                unsigned flags = static_cast<unsigned short>(request.ifr_flags);
                for (const auto& f : kFlags) {
                    flags |= (wanted & f.shown) != 0 ? f.system : 0;
                }
                for (const auto& f : kCleared) {
                    flags &= (wanted & f.shown) != 0 ? ~f.system : ~0u;
                }
                request.ifr_flags = static_cast<short>(flags);
                ioctl(fd, SIOCSIFFLAGS, &request);
                break;
            }
            case kInterfaceHardware: {
                const size_t n = in.u16();
                const char* bytes = in.bytes(n);
                if (bytes == nullptr || n > sizeof(request.ifr_hwaddr.sa_data)) {
                    error = EINVAL;
                    break;
                }
                std::memcpy(request.ifr_hwaddr.sa_data, bytes, n);
                request.ifr_hwaddr.sa_family = AF_UNIX;
                ioctl(fd, SIOCSIFHWADDR, &request);
                break;
            }
            default:
                error = EINVAL;
        }
        if (error != 0) {
            return error;
        }
    }
    return 0;
}

}  // namespace minivm::port::inet
