// Options of sockets: the kernel's options are rows of a table, the others are fields of the Socket.
#include "vm/port/inet/socket.hpp"

#include "vm/port/port_state.hpp"
#include "vm/term/local_atoms.hpp"

#include <net/if.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <sys/socket.h>

#include <algorithm>
#include <climits>
#include <cstring>

namespace minivm::port::inet {

namespace {

// `told`: an error of the kernel is an error of setopts; OTP ignores the errors of the other options.
struct SystemOption {
    uint8_t option;
    int level;
    int name;
    bool told;
};
constexpr SystemOption kSystemOptions[] = {
    {kReuseAddress, SOL_SOCKET, SO_REUSEADDR, false},
    {kReusePort, SOL_SOCKET, SO_REUSEPORT, false},
    {kReusePortBalanced, SOL_SOCKET, SO_REUSEPORT, false},  // on Linux SO_REUSEPORT balances the load
    {kKeepAlive, SOL_SOCKET, SO_KEEPALIVE, false},
    {kDontRoute, SOL_SOCKET, SO_DONTROUTE, false},
    {kBroadcast, SOL_SOCKET, SO_BROADCAST, false},
    {kOutOfBandInline, SOL_SOCKET, SO_OOBINLINE, false},
    {kSendBuffer, SOL_SOCKET, SO_SNDBUF, false},
    {kReceiveBuffer, SOL_SOCKET, SO_RCVBUF, false},
    {kPriority, SOL_SOCKET, SO_PRIORITY, true},
    {kTypeOfService, IPPROTO_IP, IP_TOS, true},
    {kTrafficClass, IPPROTO_IPV6, IPV6_TCLASS, true},
    {kTtl, IPPROTO_IP, IP_TTL, true},
    {kReceiveTos, IPPROTO_IP, IP_RECVTOS, true},
    {kReceiveTrafficClass, IPPROTO_IPV6, IPV6_RECVTCLASS, true},
    {kReceiveTtl, IPPROTO_IP, IP_RECVTTL, true},
    {kNoDelay, IPPROTO_TCP, TCP_NODELAY, false},
    {kNoPush, IPPROTO_TCP, TCP_CORK, false},
    {kMulticastTtl, IPPROTO_IP, IP_MULTICAST_TTL, false},
    {kMulticastLoop, IPPROTO_IP, IP_MULTICAST_LOOP, false},
    {kV6Only, IPPROTO_IPV6, IPV6_V6ONLY, true},
    {kKeepCount, IPPROTO_TCP, TCP_KEEPCNT, true},
    {kKeepIdle, IPPROTO_TCP, TCP_KEEPIDLE, true},
    {kKeepInterval, IPPROTO_TCP, TCP_KEEPINTVL, true},
    {kUserTimeout, IPPROTO_TCP, TCP_USER_TIMEOUT, true},
};

constexpr uint32_t ancillary_bit(uint8_t option) {
    return option == kReceiveTos            ? 1
           : option == kReceiveTrafficClass ? 2
           : option == kReceiveTtl          ? 4
                                            : 0;
}

// The formats of packets in the order of prim_inet's numbers.
constexpr packets::Format kFormats[] = {
    packets::Format::raw,      packets::Format::head1,       packets::Format::head2,
    packets::Format::head4,    packets::Format::asn1,        packets::Format::sunrm,
    packets::Format::cdr,      packets::Format::fcgi,        packets::Format::line,
    packets::Format::tpkt,     packets::Format::http,        packets::Format::http_header,
    packets::Format::ssl_tls,  packets::Format::http_bin,    packets::Format::http_header_bin};

constexpr int64_t kLeastQueue = 1;  // bytes: the least value of high_msgq_watermark and low_msgq_watermark
constexpr size_t kMostBytes = 64 * 1024;

bool is_stream_option(uint8_t option) {
    return option == kHighWatermark || option == kLowWatermark || option == kSendTimeout ||
           option == kSendTimeoutClose || option == kDelaySend || option == kShowReset || option == kReadAhead;
}

// Joins or leaves a multicast group. False: the arguments are malformed; as in OTP, an error of the kernel is ignored.
bool set_membership(int fd, int family, bool adds, Reader* in, int32_t kind) {
    if (kind == kInet && family == AF_INET) {
        ip_mreqn group{};
        group.imr_ifindex = in->i32();
        const uint32_t address = htonl(static_cast<uint32_t>(in->i32()));
        group.imr_multiaddr.s_addr = address;
        group.imr_address.s_addr = htonl(static_cast<uint32_t>(in->i32()));
        setsockopt(fd, IPPROTO_IP, adds ? IP_ADD_MEMBERSHIP : IP_DROP_MEMBERSHIP, &group, sizeof(group));
        return in->ok();
    }
    if (kind == kInet6 && family == AF_INET6) {
        ipv6_mreq group{};
        group.ipv6mr_interface = static_cast<unsigned>(in->i32());
        const char* address = in->bytes(16);
        if (address == nullptr) {
            return false;
        }
        std::memcpy(&group.ipv6mr_multiaddr, address, 16);
        setsockopt(fd, IPPROTO_IPV6, adds ? IPV6_ADD_MEMBERSHIP : IPV6_DROP_MEMBERSHIP, &group, sizeof(group));
        return true;
    }
    return false;
}

}  // namespace

bool Socket::system_option(uint8_t option, int* level, int* name, bool* told) const {
    for (const SystemOption& o : kSystemOptions) {
        if (o.option == option) {
            *level = o.level;
            *name = o.name;
            *told = o.told;
            return true;
        }
    }
    return false;
}

bool Socket::set_options(Port& p, Reader in, Term* reason) {
    while (in.left() >= 5) {
        const uint8_t option = in.u8();
        const int32_t value = in.i32();
        int level = 0;
        int name = 0;
        bool told = false;
        if (system_option(option, &level, &name, &told)) {
            if (option == kReceiveBuffer && !buffer_set_) {
                constexpr int32_t kLongestDatagram = 1 << 16;
                const int32_t wanted =
                    type_ == SOCK_DGRAM && value > kLongestDatagram ? kLongestDatagram : value;
                if (wanted > static_cast<int32_t>(buffer_) || wanted != value) {
                    buffer_ = static_cast<uint32_t>(wanted);
                }
            }
            const int set = setsockopt(fd_, level, name, &value, sizeof(value));
            if (set != 0 && told && !(level == IPPROTO_TCP && type_ == SOCK_DGRAM)) {
                return false;
            }
            if (set == 0 && ancillary_bit(option) != 0) {
                ancillary_ = value != 0 ? ancillary_ | ancillary_bit(option) : ancillary_ & ~ancillary_bit(option);
            }
            continue;
        }
        switch (option) {
            case kHeader:
                header_ = static_cast<uint32_t>(value);
                break;
            case kMode:
                binary_ = value != 0;
                break;
            case kDeliver:
                deliver_term_ = value != 0;
                break;
            case kBuffer:
                buffer_ = static_cast<uint32_t>(std::max(value, 1));
                buffer_set_ = true;
                break;
            case kActive:
                if (value < 0 || value > kActiveTimes) {
                    return false;
                }
                active_ = static_cast<Activity>(value);
                if (active_ == kActiveTimes) {
                    const int32_t count = active_count_ + static_cast<int16_t>(in.u16());
                    if (count > INT16_MAX || count < INT16_MIN) {
                        return false;
                    }
                    active_count_ = std::max(count, 0);
                    if (active_count_ == 0) {
                        active_count_ = 1;
                        count_message(p);
                    }
                } else {
                    active_count_ = 0;
                }
                if (active_ != kPassive && state_ == State::closed) {
                    *reason = activated_when_closed(p);
                    if (is_value(*reason)) {
                        return true;
                    }
                }
                break;
            case kPacket:
                if (value < 0 || static_cast<size_t>(value) >= std::size(kFormats)) {
                    return false;
                }
                format_code_ = static_cast<uint32_t>(value);
                format_ = kFormats[value];
                break;
            case kPacketSize:
                limits_.packet = static_cast<uint32_t>(value);
                break;
            case kLineDelimiter:
                limits_.delimiter = static_cast<uint8_t>(value);
                break;
            case kExitOnClose:
                exit_on_close_ = value != 0;
                break;
            case kHighQueueWatermark:  // no queue of requests exists here; getopts shows the limits
                if (value < kLeastQueue) {
                    return false;
                }
                queue_limits_ = {std::min<int32_t>(queue_limits_.low, value), value};
                break;
            case kLowQueueWatermark:
                if (value < kLeastQueue) {
                    return false;
                }
                queue_limits_ = {value, std::max<int32_t>(queue_limits_.high, value)};
                break;
            case kDebug:
                debug_ = value != 0;
                break;
            case kExclusiveAddress:  // these two have no effect on Linux and TCP or UDP
            case kNonBlockingSend:
                break;
            case kNamespace:
                if (const char* bytes = in.bytes(static_cast<uint32_t>(value))) {
                    namespace_.emplace(bytes, static_cast<size_t>(value));
                } else {
                    return false;
                }
                break;
            case kBindToDevice: {
                char device[IFNAMSIZ] = {};
                const char* bytes = in.bytes(static_cast<uint32_t>(value));
                if (bytes == nullptr || static_cast<size_t>(value) >= sizeof(device)) {
                    return false;
                }
                std::memcpy(device, bytes, static_cast<size_t>(value));
                if (setsockopt(fd_, SOL_SOCKET, SO_BINDTODEVICE, device, sizeof(device)) != 0) {
                    return false;
                }
                break;
            }
            case kRaw: {
                const int32_t raw_name = in.i32();
                const auto size = static_cast<uint32_t>(in.i32());
                const char* bytes = in.bytes(size);
                if (!in.ok() || setsockopt(fd_, value, raw_name, bytes, size) != 0) {
                    return false;
                }
                break;
            }
            case kLinger: {
                const linger l{value, in.i32()};
                if (!in.ok()) {
                    return false;
                }
                setsockopt(fd_, SOL_SOCKET, SO_LINGER, &l, sizeof(l));
                set_own_option(p, kLinger, value != 0 && l.l_linger == 0 ? 1 : 0);
                break;
            }
            case kMulticastInterface:
                if (family_ == AF_INET) {
                    const in_addr address{htonl(static_cast<uint32_t>(value))};
                    setsockopt(fd_, IPPROTO_IP, IP_MULTICAST_IF, &address, sizeof(address));
                } else if (family_ == AF_INET6) {
                    setsockopt(fd_, IPPROTO_IPV6, IPV6_MULTICAST_IF, &value, sizeof(value));
                } else {
                    return false;
                }
                break;
            case kAddMembership:
            case kDropMembership:
                if (!set_membership(fd_, family_, option == kAddMembership, &in, value)) {
                    return false;
                }
                break;
            default:
                if (!set_own_option(p, option, value) && !is_stream_option(option) &&
                    (option != kReadPackets || type_ == SOCK_DGRAM)) {
                    return false;
                }
        }
        if (!in.ok()) {
            return false;
        }
    }
    return true;
}

bool Socket::get_options(Reader in, std::string* out) const {
    while (in.left() > 0) {
        const uint8_t option = in.u8();
        const auto give = [&](int64_t value) {
            put8(out, option);
            put32(out, static_cast<uint32_t>(value));
        };
        int level = 0;
        int name = 0;
        bool told = false;
        int32_t value = 0;
        if (system_option(option, &level, &name, &told)) {
            socklen_t size = sizeof(value);
            if (getsockopt(fd_, level, name, &value, &size) == 0) {
                give(size == 1 ? *reinterpret_cast<const uint8_t*>(&value) : value);
            } else if (option == kPriority || option == kTypeOfService ||
                       (option == kNoPush && type_ == SOCK_STREAM)) {
                // prim_inet's accept reads these options of any listening socket, to set them for the new socket.
                give(0);
            }
            continue;
        }
        switch (option) {
            case kHeader:
                give(header_);
                break;
            case kMode:
                give(binary_ ? 1 : 0);
                break;
            case kDeliver:
                give(deliver_term_ ? 1 : 0);
                break;
            case kBuffer:
                give(buffer_);
                break;
            case kActive:
                give(active_);
                if (active_ == kActiveTimes) {
                    put16(out, static_cast<uint32_t>(active_count_));
                }
                break;
            case kPacket:
                give(format_code_);
                break;
            case kPacketSize:
                give(static_cast<int64_t>(limits_.packet));
                break;
            case kExitOnClose:
                give(exit_on_close_ ? 1 : 0);
                break;
            case kHighQueueWatermark:
                give(queue_limits_.high);
                break;
            case kLowQueueWatermark:
                give(queue_limits_.low);
                break;
            case kDebug:
                give(debug_ ? 1 : 0);
                break;
            case kNamespace:
                if (namespace_.has_value()) {
                    give(static_cast<int64_t>(namespace_->size()));
                    *out += *namespace_;
                }
                break;
            case kBindToDevice: {
                char device[IFNAMSIZ] = {};
                socklen_t size = sizeof(device);
                if (getsockopt(fd_, SOL_SOCKET, SO_BINDTODEVICE, device, &size) == 0) {
                    give(static_cast<int64_t>(strnlen(device, sizeof(device))));
                    *out += std::string(device, strnlen(device, sizeof(device)));
                }
                break;
            }
            case kRaw: {
                const int32_t raw_level = in.i32();
                const int32_t raw_name = in.i32();
                const bool has_data = in.u8() != 0;
                const auto size = static_cast<uint32_t>(in.i32());
                if (!in.ok() || size > kMostBytes) {
                    return false;
                }
                std::string data(size, '\0');
                if (has_data) {
                    const char* bytes = in.bytes(size);
                    if (bytes == nullptr) {
                        return false;
                    }
                    data.assign(bytes, size);
                }
                auto got = static_cast<socklen_t>(size);
                if (getsockopt(fd_, raw_level, raw_name, data.data(), &got) == 0) {
                    put8(out, option);
                    put32(out, static_cast<uint32_t>(raw_level));
                    put32(out, static_cast<uint32_t>(raw_name));
                    put32(out, got);
                    out->append(data, 0, got);
                }
                break;
            }
            case kLinger: {
                linger l{};
                socklen_t size = sizeof(l);
                if (getsockopt(fd_, SOL_SOCKET, SO_LINGER, &l, &size) == 0) {
                    give(l.l_onoff);
                    put32(out, static_cast<uint32_t>(l.l_linger));
                } else {
                    give(0);
                    put32(out, 0);
                }
                break;
            }
            case kMulticastInterface: {
                uint32_t address = 0;
                socklen_t size = sizeof(address);
                const bool is_v6 = family_ == AF_INET6;
                if (getsockopt(fd_, is_v6 ? IPPROTO_IPV6 : IPPROTO_IP, is_v6 ? IPV6_MULTICAST_IF : IP_MULTICAST_IF,
                               &address, &size) == 0) {
                    give(is_v6 ? address : ntohl(address));
                    put32(out, is_v6 ? kInet6 : kInet);
                }
                break;
            }
            case kPacketOptions:
                if (const std::optional<std::string> options = packet_options()) {
                    give(static_cast<int64_t>(options->size()));
                    *out += *options;
                }
                break;
            default:
                if (get_own_option(option, &value)) {
                    give(value);
                } else if (option == kExclusiveAddress || option == kNonBlockingSend) {
                    give(0);
                } else if (!is_stream_option(option) && option != kReadPackets) {
                    return false;
                }
        }
        if (!in.ok()) {
            return false;
        }
    }
    return true;
}

// The ancillary data of a stream's last segment, as options with their values.
std::optional<std::string> Socket::packet_options() const {
    std::string out;
    alignas(cmsghdr) char room[256];
    socklen_t size = sizeof(room);
    const bool is_v6 = family_ == AF_INET6;
    if (getsockopt(fd_, is_v6 ? IPPROTO_IPV6 : IPPROTO_IP, is_v6 ? IPV6_2292PKTOPTIONS : IP_PKTOPTIONS, room, &size) !=
        0) {
        return std::nullopt;
    }
    msghdr message{};
    message.msg_control = room;
    message.msg_controllen = size;
    for (const cmsghdr* c = CMSG_FIRSTHDR(&message); c != nullptr; c = CMSG_NXTHDR(&message, const_cast<cmsghdr*>(c))) {
        const bool one_byte = c->cmsg_len == CMSG_LEN(1);
        int32_t value = *CMSG_DATA(c);
        if (!one_byte) {
            std::memcpy(&value, CMSG_DATA(c), std::min<size_t>(sizeof(value), c->cmsg_len - CMSG_LEN(0)));
        }
        const uint8_t option = c->cmsg_level == IPPROTO_IP && c->cmsg_type == IP_TOS          ? kTypeOfService
                               : c->cmsg_level == IPPROTO_IP && c->cmsg_type == IP_TTL        ? kTtl
                               : c->cmsg_level == IPPROTO_IPV6 && c->cmsg_type == IPV6_TCLASS ? kTrafficClass
                                                                                              : 255;
        if (option != 255) {
            put8(&out, option);
            put32(&out, static_cast<uint32_t>(value));
        }
    }
    return out;
}

LOCAL_ATOM(atom_tos, "tos")
LOCAL_ATOM(atom_ttl, "ttl")
LOCAL_ATOM(atom_tclass, "tclass")

Term ancillary_terms(Heap& h, const msghdr& message) {
    std::vector<Term> terms;
    for (const cmsghdr* c = CMSG_FIRSTHDR(&message); c != nullptr;
         c = CMSG_NXTHDR(const_cast<msghdr*>(&message), const_cast<cmsghdr*>(c))) {
        int32_t value = *CMSG_DATA(c);
        if (c->cmsg_len != CMSG_LEN(1)) {
            std::memcpy(&value, CMSG_DATA(c), std::min<size_t>(sizeof(value), c->cmsg_len - CMSG_LEN(0)));
        }
        const Term name = c->cmsg_level == IPPROTO_IP && c->cmsg_type == IP_TOS          ? atom_tos()
                          : c->cmsg_level == IPPROTO_IP && c->cmsg_type == IP_TTL        ? atom_ttl()
                          : c->cmsg_level == IPPROTO_IPV6 && c->cmsg_type == IPV6_TCLASS ? atom_tclass()
                                                                                         : kNonValue;
        if (is_value(name)) {
            terms.push_back(make_tuple(h, name, make_small(value)));
        }
    }
    Term list = kNil;
    for (size_t i = terms.size(); i-- > 0;) {
        list = cons(h, terms[i], list);
    }
    return list;
}

}  // namespace minivm::port::inet
