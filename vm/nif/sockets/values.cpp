#include "vm/nif/sockets/values.hpp"

#include "vm/process/posix.hpp"
#include "vm/term/binary.hpp"
#include "vm/term/compare.hpp"
#include "vm/util/otp_release.hpp"

#include <net/if_arp.h>
#include <netpacket/packet.h>
#include <sys/un.h>

#include <climits>
#include <cstddef>
#include <cstring>

namespace minivm::nif::sockets {

// ---- results ----------------------------------------------------------------------------------------------------

Word ok(Env* env, Term value) {
    return make_tuple(heap_of(env), atoms::ok, value).raw;
}
Word error(Env* env, Term reason) {
    return make_tuple(heap_of(env), atoms::error, reason).raw;
}
Word error(Env* env, const char* reason) {
    return error(env, atom(reason));
}
Word errno_error(Env* env, int number) {
    return error(env, posix_error_atom(number));
}
Word invalid(Env* env, Term what) {
    return make_tuple(heap_of(env), atom("invalid"), what).raw;
}
Word invalid(Env* env, const char* what) {
    return invalid(env, atom(what));
}
Word error_invalid(Env* env, const char* what) {
    return error(env, Term{invalid(env, what)});
}
Word raise_invalid(Env* env, Term what) {
    return raise(env, Term{invalid(env, what)});
}
Word not_supported(Env* env) {
    return raise(env, atom("notsup"));
}

Term make_map(Env* env, std::initializer_list<std::pair<const char*, Term>> fields) {
    std::vector<Term> keys;
    std::vector<Term> values;
    for (const auto& [name, value] : fields) {
        keys.push_back(atom(name));
        values.push_back(value);
    }
    return map::from_pairs(heap_of(env), keys.data(), values.data(), keys.size());
}

// ---- arguments --------------------------------------------------------------------------------------------------

bool get_int64(Term t, int64_t* out) {
    if (!is_small(t)) {
        return false;  // a bignum is no size, offset or time that anybody means
    }
    *out = small_value(t);
    return true;
}
bool get_int(Term t, int* out) {
    int64_t value = 0;
    if (!get_int64(t, &value) || value < INT_MIN || value > INT_MAX) {
        return false;
    }
    *out = static_cast<int>(value);
    return true;
}
bool get_unsigned(Term t, unsigned* out) {
    int64_t value = 0;
    if (!get_int64(t, &value) || value < 0 || value > UINT_MAX) {
        return false;
    }
    *out = static_cast<unsigned>(value);
    return true;
}
bool get_boolean(Term t, bool* out) {
    if (t != atoms::true_ && t != atoms::false_) {
        return false;
    }
    *out = t == atoms::true_;
    return true;
}
Word bad_integer(Env* env, Term t) {
    return is_integer(t) ? invalid(env, make_tuple(heap_of(env), atom("integer_range"), t)) : raise_badarg(env);
}
Term field(Term t, const char* name) {
    return is_map(t) ? map::get(t, atom(name)) : kNonValue;
}
bool get_string(Term t, std::string* out) {
    std::string text;
    for (; is_cons(t); t = tail(t)) {
        const Term c = head(t);
        if (!is_small(c) || small_value(c) < 0 || small_value(c) > 255) {
            return false;
        }
        text.push_back(static_cast<char>(small_value(c)));
    }
    if (!is_nil(t)) {
        return false;
    }
    *out = std::move(text);
    return true;
}

std::span<const Named> message_flags() {
    static constexpr Named kNames[] = {
        {"cmsg_cloexec", MSG_CMSG_CLOEXEC},
        {"confirm", MSG_CONFIRM},
        {"ctrunc", MSG_CTRUNC},
        {"dontroute", MSG_DONTROUTE},
        {"eor", MSG_EOR},
        {"errqueue", MSG_ERRQUEUE},
        {"more", MSG_MORE},
        {"nosignal", MSG_NOSIGNAL},
        {"oob", MSG_OOB},
        {"peek", MSG_PEEK},
        {"trunc", MSG_TRUNC},
        {"notification", 0},  // of SCTP, since OTP 29
    };
    return std::span(kNames).first(std::size(kNames) - (otp_release().number >= 29 ? 0 : 1));
}
std::span<const Named> interface_flags() {
    static constexpr Named kNames[] = {
        {"up", IFF_UP},
        {"broadcast", IFF_BROADCAST},
        {"debug", IFF_DEBUG},
        {"loopback", IFF_LOOPBACK},
        {"pointopoint", IFF_POINTOPOINT},
        {"notrailers", IFF_NOTRAILERS},
        {"knowsepoch", 0},
        {"running", IFF_RUNNING},
        {"noarp", IFF_NOARP},
        {"promisc", IFF_PROMISC},
        {"allmulti", IFF_ALLMULTI},
        {"master", IFF_MASTER},
        {"oactive", 0},
        {"slave", IFF_SLAVE},
        {"simplex", 0},
        {"multicast", IFF_MULTICAST},
        {"portsel", IFF_PORTSEL},
        {"automedia", IFF_AUTOMEDIA},
        {"dynamic", IFF_DYNAMIC},
        {"lower_up", 0x10000},  // from linux/if.h, which clashes with net/if.h
        {"dormant", 0x20000},
        {"echo", 0x40000},
        // Flags of other systems.
        {"dying", 0},
        {"renaming", 0},
        {"link0", 0},
        {"link1", 0},
        {"link2", 0},
        {"monitor", 0},
        {"ppromisc", 0},
        {"staticarp", 0},
        {"cantconfig", 0},
        {"nogroup", 0},
        {"dhcprunning", 0},
        {"private", 0},
    };
    constexpr size_t kLater = 2;  // at the end of the list: since OTP 26
    return std::span(kNames).first(std::size(kNames) - (otp_release().number >= 26 ? 0 : kLater));
}
Term flags_term(Env* env, std::span<const Named> names, int flags) {
    Heap& h = heap_of(env);
    std::vector<Term> found;
    for (const Named& n : names) {
        if (n.number != 0 && (flags & n.number) == n.number) {
            flags &= ~n.number;
            found.push_back(atom(n.name));
        }
    }
    Term list = flags != 0 ? cons(h, make_small(flags), kNil) : kNil;
    for (auto t = found.rbegin(); t != found.rend(); ++t) {
        list = cons(h, *t, list);
    }
    return list;
}
Term named_terms(Env* env, std::span<const Named> names) {
    Heap& h = heap_of(env);
    Term list = kNil;
    for (const Named& n : names) {
        list = cons(h, make_tuple(h, atom(n.name), make_small(n.number)), list);
    }
    return list;
}

namespace {

constexpr Named kFamilies[] = {{"inet", AF_INET}, {"inet6", AF_INET6}, {"local", AF_UNIX}, {"unspec", AF_UNSPEC}};
constexpr Named kTypes[] = {{"stream", SOCK_STREAM},
                            {"dgram", SOCK_DGRAM},
                            {"raw", SOCK_RAW},
                            {"seqpacket", SOCK_SEQPACKET},
                            {"rdm", SOCK_RDM}};
constexpr Named kHardware[] = {{"netrom", ARPHRD_NETROM},     {"ether", ARPHRD_ETHER},       {"ieee802", ARPHRD_IEEE802},
                               {"dlci", ARPHRD_DLCI},         {"ieee1394", ARPHRD_IEEE1394},
                               {"loopback", ARPHRD_LOOPBACK}, {"rawip", ARPHRD_RAWIP},       {"none", ARPHRD_NONE}};
// sll_hatype of a packet's address; more kinds have names here.
constexpr Named kPacketHardware[] = {{"netrom", ARPHRD_NETROM},   {"eether", ARPHRD_EETHER},
                                     {"ether", ARPHRD_ETHER},     {"ax25", ARPHRD_AX25},
                                     {"pronet", ARPHRD_PRONET},   {"chaos", ARPHRD_CHAOS},
                                     {"ieee802", ARPHRD_IEEE802}, {"arcnet", ARPHRD_ARCNET},
                                     {"appletlk", ARPHRD_APPLETLK}, {"dlci", ARPHRD_DLCI},
                                     {"atm", ARPHRD_ATM},         {"metricom", ARPHRD_METRICOM},
                                     {"ieee1394", ARPHRD_IEEE1394}, {"eui64", ARPHRD_EUI64},
                                     {"infiniband", ARPHRD_INFINIBAND}, {"tunnel", ARPHRD_TUNNEL},
                                     {"tunnel6", ARPHRD_TUNNEL6}, {"loopback", ARPHRD_LOOPBACK},
                                     {"localtlk", ARPHRD_LOCALTLK}, {"none", ARPHRD_NONE},
                                     {"void", ARPHRD_VOID}};
constexpr Named kPacketTypes[] = {{"host", PACKET_HOST},
                                  {"broadcast", PACKET_BROADCAST},
                                  {"multicast", PACKET_MULTICAST},
                                  {"otherhost", PACKET_OTHERHOST},
                                  {"outgoing", PACKET_OUTGOING},
                                  {"loopback", 5},  // linux/if_packet.h: PACKET_LOOPBACK, _USER, _KERNEL
                                  {"user", 6},
                                  {"kernel", 7}};

bool number_of(std::span<const Named> names, Term t, int* out) {
    if (is_atom(t)) {
        for (const Named& n : names) {
            if (atom(n.name) == t) {
                *out = n.number;
                return true;
            }
        }
    }
    return false;
}
Term name_of(std::span<const Named> names, int number) {
    for (const Named& n : names) {
        if (n.number == number) {
            return atom(n.name);
        }
    }
    return make_small(number);
}

}  // namespace

int get_family(Term t, int* out) {
    return number_of(kFamilies, t, out) ? 1 : get_int(t, out) ? -1 : 0;
}
Term family_term(Env*, int family) {
    return name_of(kFamilies, family);
}
bool get_type(Term t, int* out) {
    return number_of(std::span(kTypes).first(4), t, out) || get_int(t, out);  // rdm is an answer, not an argument
}
Term type_term(Env*, int type) {
    return name_of(kTypes, type);
}
bool get_level(Term t, int* out) {
    static const Term socket = atom("socket");
    if (t == socket) {
        *out = SOL_SOCKET;
        return true;
    }
    return get_int(t, out);
}
Term level_term(Env*, int level) {
    return level == SOL_SOCKET ? atom("socket") : make_small(level);
}

// ---- addresses --------------------------------------------------------------------------------------------------

bool get_ipv4(Term t, in_addr* out) {
    static const Term any = atom("any");
    static const Term loopback = atom("loopback");
    static const Term broadcast = atom("broadcast");
    if (is_atom(t)) {
        if (t != any && t != loopback && t != broadcast) {
            return false;
        }
        out->s_addr = htonl(t == any ? INADDR_ANY : t == loopback ? INADDR_LOOPBACK : INADDR_BROADCAST);
        return true;
    }
    if (!is_tuple(t) || tuple_arity(t) != 4) {
        return false;
    }
    uint8_t bytes[4];
    for (size_t i = 0; i < 4; ++i) {
        int byte = 0;
        if (!get_int(tuple_element(t, i), &byte) || byte < 0 || byte > 255) {
            return false;
        }
        bytes[i] = static_cast<uint8_t>(byte);
    }
    std::memcpy(out, bytes, sizeof bytes);
    return true;
}
Term ipv4_term(Env* env, const in_addr& address) {
    uint8_t b[4];
    std::memcpy(b, &address, sizeof b);
    return make_tuple(heap_of(env), make_small(b[0]), make_small(b[1]), make_small(b[2]), make_small(b[3]));
}
bool get_ipv6(Term t, in6_addr* out) {
    static const Term any = atom("any");
    static const Term loopback = atom("loopback");
    if (is_atom(t)) {
        if (t != any && t != loopback) {
            return false;
        }
        *out = t == any ? in6addr_any : in6addr_loopback;
        return true;
    }
    if (!is_tuple(t) || tuple_arity(t) != 8) {
        return false;
    }
    in6_addr address;
    for (size_t i = 0; i < 8; ++i) {
        int part = 0;
        if (!get_int(tuple_element(t, i), &part) || part < 0 || part > 0xFFFF) {
            return false;
        }
        address.s6_addr[2 * i] = static_cast<uint8_t>(part >> 8);
        address.s6_addr[2 * i + 1] = static_cast<uint8_t>(part);
    }
    *out = address;
    return true;
}
Term ipv6_term(Env* env, const in6_addr& address) {
    Term* const p = heap_of(env).alloc(9);
    p[0] = Term{make_header(Kind::tuple, 8)};
    for (size_t i = 0; i < 8; ++i) {
        p[i + 1] = make_small(address.s6_addr[2 * i] << 8 | address.s6_addr[2 * i + 1]);
    }
    return make_boxed(p);
}

namespace {

bool get_port(Term t, in_port_t* out) {
    int port = 0;
    if (!get_int(field(t, "port"), &port)) {
        return false;
    }
    *out = htons(static_cast<uint16_t>(port));
    return true;
}

bool get_inet(Term t, SocketAddress* out) {
    sockaddr_in* const a = out->as<sockaddr_in>();
    a->sin_family = AF_INET;
    out->size = sizeof *a;
    return get_port(t, &a->sin_port) && get_ipv4(field(t, "addr"), &a->sin_addr);
}
bool get_inet6(Term t, SocketAddress* out) {
    sockaddr_in6* const a = out->as<sockaddr_in6>();
    a->sin6_family = AF_INET6;
    out->size = sizeof *a;
    return get_port(t, &a->sin6_port) && get_unsigned(field(t, "flowinfo"), &a->sin6_flowinfo) &&
           get_unsigned(field(t, "scope_id"), &a->sin6_scope_id) && get_ipv6(field(t, "addr"), &a->sin6_addr);
}
bool get_local(Term t, SocketAddress* out) {
    sockaddr_un* const a = out->as<sockaddr_un>();
    Bytes path;
    const Term name = field(t, "path");
    if (!is_value(name) || !is_binary(name) || !get_bytes(name, &path)) {
        return false;
    }
    // A name that begins with a zero byte is abstract, and needs no zero at its end.
    const bool abstract = path.size != 0 && path.data[0] == 0;
    if (path.size + (abstract ? 0 : 1) > sizeof a->sun_path) {
        return false;
    }
    a->sun_family = AF_UNIX;
    std::memcpy(a->sun_path, path.data, path.size);
    out->size = static_cast<socklen_t>(offsetof(sockaddr_un, sun_path) + path.size);
    return true;
}
bool get_native(Term t, int family, SocketAddress* out) {
    Bytes bytes;
    const Term data = field(t, "addr");
    constexpr size_t kData = offsetof(sockaddr, sa_data);
    if (!is_value(data) || !is_binary(data) || !get_bytes(data, &bytes) || bytes.size > sizeof out->storage - kData) {
        return false;
    }
    out->storage.ss_family = static_cast<sa_family_t>(family);
    std::memcpy(reinterpret_cast<char*>(&out->storage) + kData, bytes.data, bytes.size);
    out->size = static_cast<socklen_t>(kData + bytes.size);
    return true;
}

Term native_term(Env* env, const sockaddr* address, socklen_t size, Term family) {
    constexpr size_t kData = offsetof(sockaddr, sa_data);
    return make_map(env, {{"family", family},
                          {"addr", make_binary(heap_of(env), reinterpret_cast<const char*>(address) + kData,
                                               size > kData ? size - kData : 0)}});
}
Term local_term(Env* env, const sockaddr_un& a, socklen_t size) {
    const size_t length = size - offsetof(sockaddr_un, sun_path);
    if (length > 255) {
        return atom("bad_data");
    }
    size_t used = strnlen(a.sun_path, length);
    if (used == 0) {
        used = length;  // an abstract name
    }
    return make_map(env, {{"family", atom("local")}, {"path", make_binary(heap_of(env), a.sun_path, used)}});
}
Term packet_term(Env* env, const sockaddr_ll& a) {
    return make_map(env, {{"family", atom("packet")},
                          {"protocol", make_small(ntohs(a.sll_protocol))},
                          {"ifindex", make_small(a.sll_ifindex)},
                          {"hatype", name_of(kPacketHardware, a.sll_hatype)},
                          {"pkttype", name_of(kPacketTypes, a.sll_pkttype)},
                          {"addr", make_binary(heap_of(env), a.sll_addr, std::min<size_t>(a.sll_halen, sizeof a.sll_addr))}});
}
template <typename T>
T value_of(const sockaddr* address) {
    T a;
    std::memcpy(&a, address, sizeof a);
    return a;
}

}  // namespace

bool get_address(Term t, SocketAddress* out) {
    int family = 0;
    const Term name = field(t, "family");
    *out = {};
    const int kind = is_value(name) ? get_family(name, &family) : 0;
    if (kind == 0) {
        return false;
    }
    if (kind < 0 || family == AF_UNSPEC) {
        return get_native(t, family, out);
    }
    return family == AF_INET ? get_inet(t, out) : family == AF_INET6 ? get_inet6(t, out) : get_local(t, out);
}

Term address_term(Env* env, const sockaddr* address, socklen_t size) {
    if (size > 0 && size < offsetof(sockaddr, sa_data)) {
        return make_binary(heap_of(env), address, size);  // not even a family
    }
    const int family = address->sa_family;
    switch (family) {
        case AF_INET:
            if (size == 0 || size >= offsetof(sockaddr_in, sin_zero)) {
                sockaddr_in a{};
                std::memcpy(&a, address, offsetof(sockaddr_in, sin_zero));
                return make_map(env, {{"family", atom("inet")},
                                      {"port", make_small(ntohs(a.sin_port))},
                                      {"addr", ipv4_term(env, a.sin_addr)}});
            }
            return native_term(env, address, size, atom("inet"));
        case AF_INET6:
            if (size == 0 || size >= sizeof(sockaddr_in6)) {
                const auto a = value_of<sockaddr_in6>(address);
                return make_map(env, {{"family", atom("inet6")},
                                      {"port", make_small(ntohs(a.sin6_port))},
                                      {"addr", ipv6_term(env, a.sin6_addr)},
                                      {"flowinfo", make_small(a.sin6_flowinfo)},
                                      {"scope_id", make_small(a.sin6_scope_id)}});
            }
            return native_term(env, address, size, atom("inet6"));
        case AF_UNIX: {
            sockaddr_un a{};
            std::memcpy(&a, address, size == 0 ? sizeof a : std::min<size_t>(size, sizeof a));
            if (size == 0) {
                size = static_cast<socklen_t>(offsetof(sockaddr_un, sun_path) + strnlen(a.sun_path, sizeof a.sun_path));
            }
            // The system counts a zero after a path, though there may be no room for it.
            return local_term(env, a, std::min<socklen_t>(size, sizeof a));
        }
        case AF_UNSPEC:
            return native_term(env, address, size, atom("unspec"));
        case AF_PACKET:
            if (size == 0 || size >= sizeof(sockaddr_ll)) {
                return packet_term(env, value_of<sockaddr_ll>(address));
            }
            return native_term(env, address, size, atom("packet"));
        default:
            return native_term(env, address, size, make_small(family));
    }
}

Term hardware_address_term(Env* env, const sockaddr& address) {
    return native_term(env, &address, sizeof address, name_of(kHardware, address.sa_family));
}
bool get_hardware_address(Term t, SocketAddress* out) {
    int family = 0;
    *out = {};
    const Term name = field(t, "family");
    return is_value(name) && number_of(kHardware, name, &family) && get_native(t, family, out);
}

}  // namespace minivm::nif::sockets
