// Control messages, which go with a message besides its bytes (cmsg(3)), and ioctl(2) of devices (netdevice(7)).
#include "vm/nif/sockets/socket.hpp"

#include "vm/process/posix.hpp"
#include "vm/term/binary.hpp"
#include "vm/util/otp_release.hpp"

#include <linux/errqueue.h>
#include <linux/icmp.h>
#include <linux/icmpv6.h>
#include <sys/ioctl.h>
#include <sys/time.h>

#include <algorithm>
#include <cstring>

#ifndef SIOCATMARK
#define SIOCATMARK 0x8905
#endif

namespace minivm::nif::sockets {

// ---- control messages -------------------------------------------------------------------------------------------

namespace {

enum class Content : uint8_t {
    bytes,        // no value, only data
    integer,
    octet,
    timeval,
    timespec,
    service,
    packet_info,
    packet_info6,
    address,
    error,
};

struct Control {
    int level;
    int type;
    const char* name;
    Content content;
    bool sent;  // a program may give its value as a term
};

constexpr Control kControls[] = {
    {SOL_SOCKET, SCM_CREDENTIALS, "credentials", Content::bytes, false},
    {SOL_SOCKET, SCM_RIGHTS, "rights", Content::bytes, false},
    {SOL_SOCKET, SCM_TIMESTAMP, "timestamp", Content::timeval, true},
    {SOL_SOCKET, SO_TIMESTAMPNS, "timestampns", Content::timespec, true},
    {SOL_IP, IP_TOS, "tos", Content::service, true},
    {SOL_IP, IP_TTL, "ttl", Content::integer, true},
    {SOL_IP, IP_RECVTTL, "recvttl", Content::octet, false},
    {SOL_IP, IP_PKTINFO, "pktinfo", Content::packet_info, false},
    {SOL_IP, IP_ORIGDSTADDR, "origdstaddr", Content::address, false},
    {SOL_IP, IP_RECVTOS, "recvtos", Content::service, false},
    {SOL_IP, IP_RECVERR, "recverr", Content::error, false},
    {SOL_IPV6, IPV6_PKTINFO, "pktinfo", Content::packet_info6, false},
    {SOL_IPV6, IPV6_HOPLIMIT, "hoplimit", Content::integer, true},
    {SOL_IPV6, IPV6_TCLASS, "tclass", Content::integer, true},
    {SOL_IPV6, IPV6_RECVTCLASS, "recvtclass", Content::integer, false},
    {SOL_IPV6, IPV6_RECVERR, "recverr", Content::error, false},
    {SOL_IPV6, 11, "flowinfo", Content::integer, false},  // linux/in6.h: IPV6_FLOWINFO
};

// Reads a T from bytes of the system or a peer. False: there are too few.
template <typename T>
bool take(const void* data, size_t size, T* out) {
    if (size < sizeof *out) {
        return false;
    }
    std::memcpy(out, data, sizeof *out);
    return true;
}

// ---- errors that the network reports: ip(7), IP_RECVERR

constexpr Named kOrigins[] = {{"none", SO_EE_ORIGIN_NONE},       {"local", SO_EE_ORIGIN_LOCAL},
                              {"icmp", SO_EE_ORIGIN_ICMP},       {"icmp6", SO_EE_ORIGIN_ICMP6},
                              {"txstatus", SO_EE_ORIGIN_TXSTATUS}, {"zerocopy", SO_EE_ORIGIN_ZEROCOPY},
                              {"txtime", SO_EE_ORIGIN_TXTIME}};
constexpr Named kUnreachable[] = {{"net_unreach", ICMP_NET_UNREACH},   {"host_unreach", ICMP_HOST_UNREACH},
                                  {"port_unreach", ICMP_PORT_UNREACH}, {"frag_needed", ICMP_FRAG_NEEDED},
                                  {"net_unknown", ICMP_NET_UNKNOWN},   {"host_unknown", ICMP_HOST_UNKNOWN}};
constexpr Named kUnreachable6[] = {
    {"noroute", ICMPV6_NOROUTE},           {"adm_prohibited", ICMPV6_ADM_PROHIBITED},
    {"not_neighbour", ICMPV6_NOT_NEIGHBOUR}, {"addr_unreach", ICMPV6_ADDR_UNREACH},
    {"port_unreach", ICMPV6_PORT_UNREACH}, {"policy_fail", ICMPV6_POLICY_FAIL},
    {"reject_route", ICMPV6_REJECT_ROUTE}};
constexpr Named kIcmpTypes[] = {{"dest_unreach", ICMP_DEST_UNREACH}, {"time_exceeded", ICMP_TIME_EXCEEDED}};
constexpr Named kIcmp6Types[] = {{"dest_unreach", ICMPV6_DEST_UNREACH},
                             {"pkt_toobig", ICMPV6_PKT_TOOBIG},
                             {"time_exceeded", ICMPV6_TIME_EXCEED}};

Term named(std::span<const Named> names, int number) {
    for (const Named& n : names) {
        if (n.number == number) {
            return atom(n.name);
        }
    }
    return make_small(number);
}

Term error_term(Env* env, const sock_extended_err& e, const char* behind, size_t size) {
    const bool icmp = e.ee_origin == SO_EE_ORIGIN_ICMP;
    const bool icmp6 = e.ee_origin == SO_EE_ORIGIN_ICMP6;
    const Term type = icmp ? named(kIcmpTypes, e.ee_type) : icmp6 ? named(kIcmp6Types, e.ee_type) : make_small(e.ee_type);
    const Term code = icmp && e.ee_type == ICMP_DEST_UNREACH      ? named(kUnreachable, e.ee_code)
                      : icmp6 && e.ee_type == ICMPV6_DEST_UNREACH ? named(kUnreachable6, e.ee_code)
                                                                  : make_small(e.ee_code);
    const Term map = make_map(env, {{"error", posix_error_atom(static_cast<int>(e.ee_errno))},
                                    {"origin", named(kOrigins, e.ee_origin)},
                                    {"type", type},
                                    {"code", code},
                                    {"info", make_small(static_cast<int>(e.ee_info))},
                                    {"data", make_small(static_cast<int>(e.ee_data))}});
    if (size == 0) {
        return map;
    }
    SocketAddress offender;
    offender.size = static_cast<socklen_t>(std::min(size, sizeof offender.storage));
    std::memcpy(&offender.storage, behind, offender.size);
    return map::put(heap_of(env), map, atom("offender"), address_term(env, offender));
}

// kNonValue: the message has no value, only its bytes.
Term content_term(Env* env, Content content, const char* data, size_t size) {
    Heap& h = heap_of(env);
    switch (content) {
        case Content::integer: {
            int value = 0;
            return take(data, size, &value) ? make_small(value) : kNonValue;
        }
        case Content::octet: {
            uint8_t value = 0;
            return take(data, size, &value) ? make_small(value) : kNonValue;
        }
        case Content::timeval: {
            timeval value{};
            return take(data, size, &value)
                       ? make_map(env, {{"sec", make_integer(h, value.tv_sec)}, {"usec", make_integer(h, value.tv_usec)}})
                       : kNonValue;
        }
        case Content::timespec: {
            timespec value{};
            return take(data, size, &value)
                       ? make_map(env, {{"sec", make_integer(h, value.tv_sec)}, {"nsec", make_integer(h, value.tv_nsec)}})
                       : kNonValue;
        }
        case Content::service: {
            uint8_t value = 0;
            return take(data, size, &value) ? type_of_service_term(env, value) : kNonValue;
        }
        case Content::packet_info: {
            in_pktinfo value{};
            return take(data, size, &value) ? make_map(env, {{"ifindex", make_small(value.ipi_ifindex)},
                                                             {"spec_dst", ipv4_term(env, value.ipi_spec_dst)},
                                                             {"addr", ipv4_term(env, value.ipi_addr)}})
                                            : kNonValue;
        }
        case Content::packet_info6: {
            in6_pktinfo value{};
            return take(data, size, &value)
                       ? make_map(env, {{"addr", ipv6_term(env, value.ipi6_addr)},
                                        {"ifindex", make_small(static_cast<int>(value.ipi6_ifindex))}})
                       : kNonValue;
        }
        case Content::address: {
            SocketAddress address;
            address.size = static_cast<socklen_t>(std::min(size, sizeof address.storage));
            std::memcpy(&address.storage, data, address.size);
            return address.size != 0 ? address_term(env, address) : kNonValue;
        }
        case Content::error: {
            sock_extended_err value{};
            return take(data, size, &value) ? error_term(env, value, data + sizeof value, size - sizeof value) : kNonValue;
        }
        case Content::bytes:
            break;
    }
    return kNonValue;
}

const Control* find_control(int level, int type) {
    const auto* const at = std::find_if(std::begin(kControls), std::end(kControls),
                                        [&](const Control& c) { return c.level == level && c.type == type; });
    return at != std::end(kControls) ? at : nullptr;
}
const Control* find_control(int level, Term name) {
    const auto* const at = std::find_if(std::begin(kControls), std::end(kControls), [&](const Control& c) {
        return c.level == level && atom(c.name) == name;
    });
    return at != std::end(kControls) ? at : nullptr;
}

Term control_term(Env* env, const cmsghdr& c, const char* data, size_t size) {
    Heap& h = heap_of(env);
    const Control* const known = find_control(c.cmsg_level, c.cmsg_type);
    Term map = make_map(env, {{"level", level_term(env, c.cmsg_level)},
                              {"type", known != nullptr ? atom(known->name) : make_small(c.cmsg_type)},
                              {"data", make_binary(h, data, size)}});
    const Term value = known != nullptr ? content_term(env, known->content, data, size) : kNonValue;
    return is_value(value) ? map::put(h, map, atom("value"), value) : map;
}

}  // namespace

Term control_terms(Env* env, void* data, size_t size) {
    std::vector<Term> terms;
    msghdr h{};
    h.msg_control = data;
    h.msg_controllen = size;
    const char* const end = static_cast<const char*>(data) + size;
    for (cmsghdr* c = CMSG_FIRSTHDR(&h); c != nullptr; c = CMSG_NXTHDR(&h, c)) {
        const char* const bytes = reinterpret_cast<const char*>(CMSG_DATA(c));
        if (c->cmsg_len < CMSG_LEN(0) || reinterpret_cast<const char*>(c) + c->cmsg_len > end) {
            terms.push_back(atom("bad_data"));
            break;
        }
        terms.push_back(control_term(env, *c, bytes, c->cmsg_len - CMSG_LEN(0)));
    }
    Term list = kNil;
    for (auto t = terms.rbegin(); t != terms.rend(); ++t) {
        list = cons(heap_of(env), *t, list);
    }
    return list;
}

namespace {

template <typename T>
std::string bytes_of(const T& value) {
    return {reinterpret_cast<const char*>(&value), sizeof value};
}

// The bytes of a value that a program gives as a term. False: it is no such value.
bool get_content(const Control& c, Term t, std::string* out) {
    int64_t seconds = 0;
    int64_t part = 0;
    int number = 0;
    switch (c.content) {
        case Content::integer:
            if (!get_int(t, &number)) {
                return false;
            }
            *out = bytes_of(number);
            return true;
        case Content::service:
            if (!get_type_of_service(t, &number)) {
                return false;
            }
            *out = bytes_of(number);
            return true;
        case Content::timeval:
            if (!get_int64(field(t, "sec"), &seconds) || !get_int64(field(t, "usec"), &part)) {
                return false;
            }
            *out = bytes_of(timeval{seconds, part});
            return true;
        case Content::timespec:
            if (!get_int64(field(t, "sec"), &seconds) || !get_int64(field(t, "nsec"), &part)) {
                return false;
            }
            *out = bytes_of(timespec{seconds, part});
            return true;
        default:
            return false;
    }
}

bool get_data(Term t, std::string* out) {
    Bytes bytes;
    int number = 0;
    bool flag = false;
    if (is_binary(t) && get_bytes(t, &bytes)) {
        out->assign(reinterpret_cast<const char*>(bytes.data), bytes.size);
        return true;
    }
    if (get_boolean(t, &flag)) {
        number = flag ? 1 : 0;
    } else if (!get_int(t, &number)) {
        return false;
    }
    *out = bytes_of(number);
    return true;
}

bool append_control(Term t, std::vector<char>* out, size_t limit) {
    const Term level_name = field(t, "level");
    const Term type_name = field(t, "type");
    const Term data = field(t, "data");
    const Term value = field(t, "value");
    int level = 0;
    int type = 0;
    std::string bytes;
    if (!is_value(level_name) || !is_value(type_name) || !get_level(level_name, &level) ||
        is_value(data) == is_value(value)) {
        return false;
    }
    const Control* const known = is_atom(type_name) ? find_control(level, type_name) : nullptr;
    if (is_value(value)) {
        if (known == nullptr || !known->sent || !get_content(*known, value, &bytes)) {
            return false;
        }
        type = known->type;
    } else {
        if (known != nullptr) {
            type = known->type;
        } else if (!get_int(type_name, &type)) {
            return false;
        }
        if (!get_data(data, &bytes)) {
            return false;
        }
    }
    const size_t at = out->size();
    const size_t room = CMSG_SPACE(bytes.size());
    if (at + room > limit) {
        return false;
    }
    out->resize(at + room, 0);
    cmsghdr header{};
    header.cmsg_len = CMSG_LEN(bytes.size());
    header.cmsg_level = level;
    header.cmsg_type = type;
    std::memcpy(out->data() + at, &header, sizeof header);
    std::memcpy(out->data() + at + CMSG_LEN(0), bytes.data(), bytes.size());
    return true;
}

}  // namespace

bool get_control(Term list, std::vector<char>* out, size_t limit) {
    for (; is_cons(list); list = tail(list)) {
        if (!append_control(head(list), out, limit)) {
            return false;
        }
    }
    return is_nil(list);
}

// ---- devices ----------------------------------------------------------------------------------------------------

namespace {

enum class Asks : uint8_t { list, number, flag, name, index, flags, address, hardware, mtu, map, queue };

struct Request {
    const char* name;
    unsigned long code;
    Asks what;
    int arguments;
};

constexpr Request kRequests[] = {
    {"gifconf", SIOCGIFCONF, Asks::list, 0},
    {"nread", FIONREAD, Asks::number, 0},
    {"atmark", SIOCATMARK, Asks::flag, 0},
    {"gifname", SIOCGIFNAME, Asks::name, 1},
    {"gifindex", SIOCGIFINDEX, Asks::index, 1},
    {"gifflags", SIOCGIFFLAGS, Asks::flags, 1},
    {"gifaddr", SIOCGIFADDR, Asks::address, 1},
    {"gifdstaddr", SIOCGIFDSTADDR, Asks::address, 1},
    {"gifbrdaddr", SIOCGIFBRDADDR, Asks::address, 1},
    {"gifnetmask", SIOCGIFNETMASK, Asks::address, 1},
    {"gifmtu", SIOCGIFMTU, Asks::mtu, 1},
    {"gifhwaddr", SIOCGIFHWADDR, Asks::hardware, 1},
    {"gifmap", SIOCGIFMAP, Asks::map, 1},
    {"giftxqlen", SIOCGIFTXQLEN, Asks::queue, 1},
    {"sifflags", SIOCSIFFLAGS, Asks::flags, 2},
    {"sifaddr", SIOCSIFADDR, Asks::address, 2},
    {"sifdstaddr", SIOCSIFDSTADDR, Asks::address, 2},
    {"sifbrdaddr", SIOCSIFBRDADDR, Asks::address, 2},
    {"sifnetmask", SIOCSIFNETMASK, Asks::address, 2},
    {"sifmtu", SIOCSIFMTU, Asks::mtu, 2},
    {"siftxqlen", SIOCSIFTXQLEN, Asks::queue, 2},
    {"sifhwaddr", SIOCSIFHWADDR, Asks::hardware, 2},
};
// Whether socket:supports(ioctl_requests) names the request; the others work all the same.
bool is_told(const Request& r) {
    const bool later = r.code == FIONREAD || r.code == SIOCATMARK;  // since OTP 26
    return r.code != SIOCSIFNETMASK && r.code != SIOCSIFHWADDR && (!later || otp_release().number >= 26);
}

Term address_of(Env* env, const sockaddr& a) {
    SocketAddress copy;  // zeros for families with longer addresses
    std::memcpy(&copy.storage, &a, sizeof a);
    return address_term(env, copy.get(), 0);
}

Word list_interfaces(Env* env, const Socket& s) {
    Heap& h = heap_of(env);
    std::vector<ifreq> all(16);
    ifconf ask{};
    do {
        all.resize(all.size() * 2);
        ask.ifc_len = static_cast<int>(all.size() * sizeof(ifreq));
        ask.ifc_req = all.data();
        if (ioctl(s.fd, SIOCGIFCONF, &ask) != 0) {
            return errno_error(env, errno);
        }
    } while (static_cast<size_t>(ask.ifc_len) == all.size() * sizeof(ifreq));  // there may be more
    Term list = kNil;
    for (size_t i = static_cast<size_t>(ask.ifc_len) / sizeof(ifreq); i-- > 0;) {
        const Term name = make_string(h, all[i].ifr_name, strnlen(all[i].ifr_name, IFNAMSIZ));
        list = cons(h, make_map(env, {{"name", name}, {"addr", address_of(env, all[i].ifr_addr)}}), list);
    }
    return ok(env, list);
}

Word told(Env* env, Asks what, const ifreq& r) {
    Heap& h = heap_of(env);
    switch (what) {
        case Asks::index:
            return ok(env, make_small(r.ifr_ifindex));
        case Asks::flags:
            return ok(env, flags_term(env, interface_flags(), r.ifr_flags));
        case Asks::address:
            return ok(env, address_of(env, r.ifr_addr));
        case Asks::hardware:
            return ok(env, hardware_address_term(env, r.ifr_hwaddr));
        case Asks::mtu:
            return ok(env, make_small(r.ifr_mtu));
        case Asks::queue:
            return ok(env, make_small(r.ifr_qlen));
        case Asks::map:
            return ok(env, make_map(env, {{"mem_start", make_unsigned(h, r.ifr_map.mem_start)},
                                          {"mem_end", make_unsigned(h, r.ifr_map.mem_end)},
                                          {"base_addr", make_small(r.ifr_map.base_addr)},
                                          {"irq", make_small(r.ifr_map.irq)},
                                          {"dma", make_small(r.ifr_map.dma)},
                                          {"port", make_small(r.ifr_map.port)}}));
        case Asks::name:
            return ok(env, make_string(h, r.ifr_name, strnlen(r.ifr_name, IFNAMSIZ)));
        default:
            return error(env, "enotsup");
    }
}

// Null, or the name of the invalid argument; "" for badarg.
const char* get_change(Env*, const Socket& s, Asks what, Term value, ifreq* r) {
    SocketAddress address;
    int number = 0;
    switch (what) {
        case Asks::address:
            if (!get_address(value, &address)) {
                return "sockaddr";
            }
            std::memcpy(&r->ifr_addr, &address.storage, sizeof r->ifr_addr);
            return nullptr;
        case Asks::hardware:
            if (!get_hardware_address(value, &address)) {
                return "hwaddr";
            }
            std::memcpy(&r->ifr_hwaddr, &address.storage, sizeof r->ifr_hwaddr);
            return nullptr;
        case Asks::mtu:
            if (!get_int(value, &number)) {
                return "mtu";
            }
            r->ifr_mtu = number;
            return nullptr;
        case Asks::queue:
            if (!get_int(value, &number)) {
                return "txqlen";
            }
            r->ifr_qlen = number;
            return nullptr;
        default:
            static_cast<void>(s);
            return "";
    }
}

Word change_flags(Env* env, const Socket& s, Term changes, ifreq* r) {
    if (!is_map(changes)) {
        return raise_badarg(env);
    }
    if (ioctl(s.fd, SIOCGIFFLAGS, r) != 0) {
        return errno_error(env, errno);
    }
    std::vector<std::pair<Term, Term>> pairs;
    map::Iterator it(changes);
    for (Term key, value; it.next(&key, &value);) {
        pairs.emplace_back(key, value);
    }
    int flags = r->ifr_flags;
    for (const auto& [key, value] : pairs) {
        int flag = 0;
        if (!get_int(key, &flag)) {
            return raise_badarg(env);
        }
        flags = value == atoms::true_ ? flags | flag : flags & ~flag;
    }
    r->ifr_flags = static_cast<short>(flags);
    return ioctl(s.fd, SIOCSIFFLAGS, r) != 0 ? errno_error(env, errno) : atoms::ok.raw;
}

Word ask_device(Env* env, const Socket& s, const Request& q, int argc, const Word* a) {
    ifreq r{};
    if (q.arguments == 0) {
        int value = 0;
        if (q.what == Asks::list) {
            return list_interfaces(env, s);
        }
        if (ioctl(s.fd, q.code, &value) != 0) {
            return errno_error(env, errno);
        }
        return ok(env, q.what == Asks::flag ? boolean(value != 0) : make_small(value));
    }
    if (q.what == Asks::name) {
        int index = 0;
        if (!get_int(Term{a[2]}, &index)) {
            return raise_badarg(env);
        }
        r.ifr_ifindex = index;
    } else {
        std::string name;
        if (!get_string(Term{a[2]}, &name)) {
            return raise_badarg(env);
        }
        std::memcpy(r.ifr_name, name.data(), std::min<size_t>(strnlen(name.c_str(), name.size()), IFNAMSIZ - 1));
    }
    if (argc == 4) {
        if (q.what == Asks::flags) {
            return change_flags(env, s, Term{a[3]}, &r);
        }
        if (const char* const wrong = get_change(env, s, q.what, Term{a[3]}, &r)) {
            return *wrong == 0 ? raise_badarg(env) : invalid(env, wrong);
        }
    }
    if (ioctl(s.fd, q.code, &r) != 0) {
        return errno_error(env, errno);
    }
    return argc == 4 ? atoms::ok.raw : told(env, q.what, r);
}

}  // namespace

Term request_terms(Env* env) {
    Heap& h = heap_of(env);
    Term list = kNil;
    for (const Request& r : kRequests) {
        if (is_told(r)) {
            list = cons(h, make_tuple(h, atom(r.name), make_small(static_cast<int64_t>(r.code))), list);
        }
    }
    return list;
}

Word control_device(Env* env, int argc, const Word* a) {
    Socket* const s = socket_of(env, a[0]);
    int64_t code = 0;
    if (s == nullptr || !get_int64(Term{a[1]}, &code) || code < 0) {
        return raise_badarg(env);
    }
    const std::lock_guard lock(s->read_lock);
    if (!s->reads_open()) {
        return closed(env);
    }
    for (const Request& r : kRequests) {
        if (r.code == static_cast<unsigned long>(code) && r.arguments == argc - 2) {
            return ask_device(env, *s, r, argc, a);
        }
    }
    return error(env, "enotsup");
}

}  // namespace minivm::nif::sockets
