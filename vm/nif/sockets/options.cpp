// Options of sockets: socket:setopt/3, getopt/2 and their native forms.
//
// A table says how the value of each option looks as a term. An option without a number is known but not supported,
// which socket:supports(options) tells.
#include "vm/nif/sockets/socket.hpp"

#include "vm/term/binary.hpp"
#include "vm/util/otp_release.hpp"

#include <netinet/tcp.h>
#include <netinet/udp.h>

#include <algorithm>
#include <cstring>

namespace minivm::nif::sockets {

namespace {

// How the value of an option is written as a term.
enum class Form : uint8_t {
    none,  // not supported
    boolean,
    integer,
    natural,       // 32 bits
    device,        // a name of at most IFNAMSIZ bytes
    congestion,    // a name of at most 16
    linger,        // #{onoff, linger} or abort
    discovery,     // MTU discovery: want, dont, do, probe or a number
    membership,    // #{multiaddr, interface}
    membership6,
    source,        // #{multiaddr, interface, sourceaddr}
    filter,        // #{multiaddr, interface, mode, slist}
    address,       // an IPv4 address
    service,       // IP_TOS
    hops,          // 0 to 255, or default
    family,        // the family to change to: IPV6_ADDRFORM
    domain,
    type,
    protocol,
    controls,      // control messages
};
enum Access : uint8_t { kGet = 1, kSet = 2, kBoth = 3 };

struct Option {
    const char* name;
    int level;
    int number = 0;
    Form form = Form::none;
    Access access = kBoth;
    int since = 25;        // the release from which on it is known
    int works_since = 25;  // the release from which on it is supported
};

#ifndef IP_NODEFRAG
#define IP_NODEFRAG 22
#endif

constexpr Option kOptions[] = {
    {"acceptconn", SOL_SOCKET, SO_ACCEPTCONN, Form::boolean},
    {"acceptfilter", SOL_SOCKET},
    {"bindtodevice", SOL_SOCKET, SO_BINDTODEVICE, Form::device},
    {"broadcast", SOL_SOCKET, SO_BROADCAST, Form::boolean},
    {"bsp_state", SOL_SOCKET, 0, Form::none, kBoth, 26},
    {"busy_poll", SOL_SOCKET},
    {"debug", SOL_SOCKET, SO_DEBUG, Form::integer},
    {"domain", SOL_SOCKET, SO_DOMAIN, Form::domain, kGet},
    {"dontroute", SOL_SOCKET, SO_DONTROUTE, Form::boolean},
    {"error", SOL_SOCKET},
    {"exclusiveaddruse", SOL_SOCKET, 0, Form::none, kBoth, 26},
    {"keepalive", SOL_SOCKET, SO_KEEPALIVE, Form::boolean},
    {"linger", SOL_SOCKET, SO_LINGER, Form::linger},
    {"mark", SOL_SOCKET},
    {"maxdg", SOL_SOCKET, 0, Form::none, kBoth, 26},
    {"max_msg_size", SOL_SOCKET, 0, Form::none, kBoth, 26},
    {"oobinline", SOL_SOCKET, SO_OOBINLINE, Form::boolean},
    {"passcred", SOL_SOCKET, SO_PASSCRED, Form::boolean},
    {"peek_off", SOL_SOCKET, SO_PEEK_OFF, Form::integer},
    {"peercred", SOL_SOCKET},
    {"priority", SOL_SOCKET, SO_PRIORITY, Form::integer},
    {"protocol", SOL_SOCKET, SO_PROTOCOL, Form::protocol, kGet},
    {"rcvbuf", SOL_SOCKET, SO_RCVBUF, Form::integer},
    {"rcvbufforce", SOL_SOCKET},
    {"rcvlowat", SOL_SOCKET, SO_RCVLOWAT, Form::integer},
    {"rcvtimeo", SOL_SOCKET},
    {"reuseaddr", SOL_SOCKET, SO_REUSEADDR, Form::boolean},
    {"reuseport", SOL_SOCKET, SO_REUSEPORT, Form::boolean},
    {"rxq_ovfl", SOL_SOCKET},
    {"setfib", SOL_SOCKET},
    {"sndbuf", SOL_SOCKET, SO_SNDBUF, Form::integer},
    {"sndbufforce", SOL_SOCKET},
    {"sndlowat", SOL_SOCKET, SO_SNDLOWAT, Form::integer},
    {"sndtimeo", SOL_SOCKET},
    {"timestamp", SOL_SOCKET, SO_TIMESTAMP, Form::boolean},
    {"timestampns", SOL_SOCKET, SO_TIMESTAMPNS, Form::boolean, kBoth, 28, 28},
    {"type", SOL_SOCKET, SO_TYPE, Form::type, kGet},

    {"add_membership", SOL_IP, IP_ADD_MEMBERSHIP, Form::membership, kSet},
    {"add_source_membership", SOL_IP, IP_ADD_SOURCE_MEMBERSHIP, Form::source, kSet},
    {"block_source", SOL_IP, IP_BLOCK_SOURCE, Form::source, kSet},
    {"dontfrag", SOL_IP},
    {"drop_membership", SOL_IP, IP_DROP_MEMBERSHIP, Form::membership, kSet},
    {"drop_source_membership", SOL_IP, IP_DROP_SOURCE_MEMBERSHIP, Form::source, kSet},
    {"freebind", SOL_IP, IP_FREEBIND, Form::boolean},
    {"hdrincl", SOL_IP, IP_HDRINCL, Form::boolean},
    {"minttl", SOL_IP, IP_MINTTL, Form::integer},
    {"msfilter", SOL_IP, IP_MSFILTER, Form::filter, kSet},
    {"mtu", SOL_IP, IP_MTU, Form::integer, kGet},
    {"mtu_discover", SOL_IP, IP_MTU_DISCOVER, Form::discovery},
    {"multicast_all", SOL_IP, IP_MULTICAST_ALL, Form::boolean},
    {"multicast_if", SOL_IP, IP_MULTICAST_IF, Form::address},
    {"multicast_loop", SOL_IP, IP_MULTICAST_LOOP, Form::boolean},
    {"multicast_ttl", SOL_IP, IP_MULTICAST_TTL, Form::integer},
    {"nodefrag", SOL_IP, IP_NODEFRAG, Form::boolean},
    {"options", SOL_IP},
    {"pktinfo", SOL_IP, IP_PKTINFO, Form::boolean},
    {"pktoptions", SOL_IP, IP_PKTOPTIONS, Form::controls, kGet},
    {"recvdstaddr", SOL_IP},
    {"recverr", SOL_IP, IP_RECVERR, Form::boolean},
    {"recvif", SOL_IP},
    {"recvopts", SOL_IP, IP_RECVOPTS, Form::boolean},
    {"recvorigdstaddr", SOL_IP, IP_RECVORIGDSTADDR, Form::boolean},
    {"recvtos", SOL_IP, IP_RECVTOS, Form::boolean},
    {"recvttl", SOL_IP, IP_RECVTTL, Form::boolean},
    {"retopts", SOL_IP, IP_RETOPTS, Form::boolean},
    {"router_alert", SOL_IP, IP_ROUTER_ALERT, Form::integer},
    {"sendsrcaddr", SOL_IP},
    {"tos", SOL_IP, IP_TOS, Form::service},
    {"transparent", SOL_IP, IP_TRANSPARENT, Form::boolean},
    {"ttl", SOL_IP, IP_TTL, Form::integer},
    {"unblock_source", SOL_IP, IP_UNBLOCK_SOURCE, Form::source, kSet},

    {"addrform", SOL_IPV6, IPV6_ADDRFORM, Form::family, kSet},
    {"add_membership", SOL_IPV6, IPV6_ADD_MEMBERSHIP, Form::membership6, kSet},
    {"authhdr", SOL_IPV6, IPV6_AUTHHDR, Form::boolean},
    {"auth_level", SOL_IPV6},
    {"checksum", SOL_IPV6},
    {"drop_membership", SOL_IPV6, IPV6_DROP_MEMBERSHIP, Form::membership6, kSet},
    {"dstopts", SOL_IPV6, IPV6_DSTOPTS, Form::boolean},
    {"esp_network_level", SOL_IPV6},
    {"esp_trans_level", SOL_IPV6},
    {"faith", SOL_IPV6},
    {"flowinfo", SOL_IPV6, 11, Form::boolean},  // linux/in6.h: IPV6_FLOWINFO
    {"hoplimit", SOL_IPV6, IPV6_HOPLIMIT, Form::boolean},
    {"hopopts", SOL_IPV6, IPV6_HOPOPTS, Form::boolean},
    {"ipcomp_level", SOL_IPV6},
    {"join_group", SOL_IPV6},
    {"leave_group", SOL_IPV6},
    {"mtu", SOL_IPV6, IPV6_MTU, Form::integer},
    {"mtu_discover", SOL_IPV6, IPV6_MTU_DISCOVER, Form::discovery},
    {"multicast_hops", SOL_IPV6, IPV6_MULTICAST_HOPS, Form::hops},
    {"multicast_if", SOL_IPV6, IPV6_MULTICAST_IF, Form::integer},
    {"multicast_loop", SOL_IPV6, IPV6_MULTICAST_LOOP, Form::boolean},
    {"portrange", SOL_IPV6},
    {"pktoptions", SOL_IPV6},
    {"recverr", SOL_IPV6, IPV6_RECVERR, Form::boolean},
    {"recvhoplimit", SOL_IPV6, IPV6_RECVHOPLIMIT, Form::boolean},
    {"recvpktinfo", SOL_IPV6, IPV6_RECVPKTINFO, Form::boolean},
    {"recvtclass", SOL_IPV6, IPV6_RECVTCLASS, Form::boolean},
    {"router_alert", SOL_IPV6, IPV6_ROUTER_ALERT, Form::integer},
    {"rthdr", SOL_IPV6, IPV6_RTHDR, Form::boolean},
    {"tclass", SOL_IPV6, IPV6_TCLASS, Form::integer},
    {"unicast_hops", SOL_IPV6, IPV6_UNICAST_HOPS, Form::hops},
    {"use_min_mtu", SOL_IPV6},
    {"v6only", SOL_IPV6, IPV6_V6ONLY, Form::boolean},

    {"congestion", IPPROTO_TCP, TCP_CONGESTION, Form::congestion},
    {"cork", IPPROTO_TCP, TCP_CORK, Form::boolean},
    {"info", IPPROTO_TCP},
    {"keepcnt", IPPROTO_TCP, TCP_KEEPCNT, Form::integer, kBoth, 25, 26},
    {"keepidle", IPPROTO_TCP, TCP_KEEPIDLE, Form::integer, kBoth, 25, 26},
    {"keepintvl", IPPROTO_TCP, TCP_KEEPINTVL, Form::integer, kBoth, 25, 26},
    {"maxseg", IPPROTO_TCP, TCP_MAXSEG, Form::integer},
    {"md5sig", IPPROTO_TCP},
    {"nodelay", IPPROTO_TCP, TCP_NODELAY, Form::boolean},
    {"noopt", IPPROTO_TCP},
    {"nopush", IPPROTO_TCP},
    {"syncnt", IPPROTO_TCP},
    {"user_timeout", IPPROTO_TCP, TCP_USER_TIMEOUT, Form::natural, kBoth, 25, 26},

    {"cork", IPPROTO_UDP, UDP_CORK, Form::boolean},
};

bool is_known(const Option& o) { return o.since <= otp_release().number; }
bool is_supported(const Option& o) { return o.form != Form::none && o.works_since <= otp_release().number; }

const Option* find_option(int level, int number, Access access) {
    for (const Option& o : kOptions) {
        if (o.level == level && o.number == number && is_known(o) && is_supported(o)) {
            return (o.access & access) != 0 ? &o : nullptr;
        }
    }
    return nullptr;
}

constexpr Named kDiscovery[] = {
    {"want", IP_PMTUDISC_WANT}, {"dont", IP_PMTUDISC_DONT}, {"do", IP_PMTUDISC_DO}, {"probe", IP_PMTUDISC_PROBE}};
constexpr size_t kCongestionName = 16;  // TCP_CA_NAME_MAX

// ---- setting ----------------------------------------------------------------------------------------------------

using Value = std::vector<char>;

template <typename T>
bool put(Value* out, const T& value) {
    const char* const bytes = reinterpret_cast<const char*>(&value);
    out->assign(bytes, bytes + sizeof value);
    return true;
}

bool put_name(Value* out, Term t, size_t most) {
    std::string text;
    Bytes bytes;
    if (is_binary(t) && get_bytes(t, &bytes)) {
        text.assign(reinterpret_cast<const char*>(bytes.data), bytes.size);
        text.resize(std::min(strnlen(text.c_str(), text.size()), most - 1));
    } else if (!get_string(t, &text) || text.size() > most - 1) {
        return false;
    }
    out->assign(text.begin(), text.end());
    return true;
}

bool put_linger(Value* out, Term t) {
    linger value{};
    bool on = true;
    if (t == atom("abort")) {
        value.l_onoff = 1;
        return put(out, value);
    }
    if (!get_boolean(field(t, "onoff"), &on) || !get_int(field(t, "linger"), &value.l_linger) || value.l_linger < 0) {
        return false;
    }
    value.l_onoff = on ? 1 : 0;
    return put(out, value);
}

bool put_discovery(Value* out, Term t) {
    for (const Named& n : kDiscovery) {
        if (atom(n.name) == t) {
            return put(out, n.number);
        }
    }
    int number = 0;
    return get_int(t, &number) && put(out, number);
}

bool put_filter(Value* out, Term t) {
    if (t == atom("null")) {
        return true;
    }
    in_addr group{};
    in_addr interface{};
    const Term mode = field(t, "mode");
    const Term sources = field(t, "slist");
    if (!get_ipv4(field(t, "multiaddr"), &group) || !get_ipv4(field(t, "interface"), &interface) ||
        !is_value(sources) || (mode != atom("include") && mode != atom("exclude"))) {
        return false;
    }
    std::vector<in_addr> list;
    Term rest = sources;
    for (; is_cons(rest); rest = tail(rest)) {
        in_addr source{};
        if (!get_ipv4(head(rest), &source)) {
            return false;
        }
        list.push_back(source);
    }
    if (!is_nil(rest)) {
        return false;
    }
    ip_msfilter filter{};
    filter.imsf_multiaddr = group;
    filter.imsf_interface = interface;
    filter.imsf_fmode = mode == atom("include") ? MCAST_INCLUDE : MCAST_EXCLUDE;
    filter.imsf_numsrc = static_cast<uint32_t>(list.size());
    out->assign(IP_MSFILTER_SIZE(list.size()), 0);
    std::memcpy(out->data(), &filter, IP_MSFILTER_SIZE(0));
    std::memcpy(out->data() + IP_MSFILTER_SIZE(0), list.data(), list.size() * sizeof(in_addr));
    return true;
}

// False: t is no value of this option.
bool put_value(Value* out, Form form, Term t) {
    bool flag = false;
    int number = 0;
    unsigned natural = 0;
    switch (form) {
        case Form::boolean:
            return get_boolean(t, &flag) && put(out, flag ? 1 : 0);
        case Form::integer:
            return get_int(t, &number) && put(out, number);
        case Form::natural:
            return get_unsigned(t, &natural) && put(out, natural);
        case Form::device:
            return put_name(out, t, IFNAMSIZ);
        case Form::congestion:
            return put_name(out, t, kCongestionName + 1);
        case Form::linger:
            return put_linger(out, t);
        case Form::discovery:
            return put_discovery(out, t);
        case Form::membership: {
            ip_mreq value{};
            return get_ipv4(field(t, "multiaddr"), &value.imr_multiaddr) &&
                   get_ipv4(field(t, "interface"), &value.imr_interface) && put(out, value);
        }
        case Form::membership6: {
            ipv6_mreq value{};
            return get_ipv6(field(t, "multiaddr"), &value.ipv6mr_multiaddr) &&
                   get_unsigned(field(t, "interface"), &value.ipv6mr_interface) && put(out, value);
        }
        case Form::source: {
            ip_mreq_source value{};
            return get_ipv4(field(t, "multiaddr"), &value.imr_multiaddr) &&
                   get_ipv4(field(t, "interface"), &value.imr_interface) &&
                   get_ipv4(field(t, "sourceaddr"), &value.imr_sourceaddr) && put(out, value);
        }
        case Form::filter:
            return put_filter(out, t);
        case Form::address: {
            in_addr value{};
            return get_ipv4(t, &value) && put(out, value);
        }
        case Form::service:
            return get_type_of_service(t, &number) && put(out, number);
        case Form::hops:
            if (t == atom("default")) {
                return put(out, -1);
            }
            return get_int(t, &number) && number >= 0 && number <= 255 && put(out, number);
        case Form::family:
            return get_family(t, &number) != 0 && put(out, number);
        case Form::none:
        case Form::domain:
        case Form::type:
        case Form::protocol:
        case Form::controls:
            break;
    }
    return false;
}

// Under the write lock. On Linux setting the type of service changes the priority, and the other way round: the one
// that was not asked for gets its old value back.
Word set_at(Env* env, Socket& s, int level, int number, const void* value, size_t size) {
    int priority = 0;
    int service = 0;
    socklen_t size_of_priority = sizeof priority;
    socklen_t size_of_service = sizeof service;
    const bool has_priority = getsockopt(s.fd, SOL_SOCKET, SO_PRIORITY, &priority, &size_of_priority) == 0;
    const bool has_service = getsockopt(s.fd, SOL_IP, IP_TOS, &service, &size_of_service) == 0;
    if (setsockopt(s.fd, level, number, value, static_cast<socklen_t>(size)) != 0) {
        return errno_error(env, errno);
    }
    const bool sets_priority = level == SOL_SOCKET && number == SO_PRIORITY;
    const bool sets_service = level == SOL_IP && number == IP_TOS;
    if (!sets_priority) {
        if (!sets_service && has_service && setsockopt(s.fd, SOL_IP, IP_TOS, &service, size_of_service) != 0) {
            return errno_error(env, errno);
        }
        if (has_priority && setsockopt(s.fd, SOL_SOCKET, SO_PRIORITY, &priority, size_of_priority) != 0 &&
            errno != EPERM) {
            return errno_error(env, errno);
        }
    }
    return atoms::ok.raw;
}

Word set_plain(Env* env, Socket& s, int level, int number, Term t) {
    const std::lock_guard lock(s.write_lock);
    if (!s.writes_open()) {
        return closed(env);
    }
    const Option* const o = find_option(level, number, kSet);
    Value value;
    if (o == nullptr) {
        return invalid(env, "socket_option");
    }
    if (!put_value(&value, o->form, t)) {
        return invalid(env, "value");
    }
    return set_at(env, s, level, number, value.data(), value.size());
}

Word set_native(Env* env, Socket& s, int level, int number, Term t) {
    const std::lock_guard lock(s.write_lock);
    if (!s.writes_open()) {
        return closed(env);
    }
    Bytes bytes;
    int value = 0;
    bool flag = false;
    if (is_binary(t) && get_bytes(t, &bytes)) {
        return set_at(env, s, level, number, bytes.data, bytes.size);
    }
    if (get_boolean(t, &flag)) {
        value = flag ? 1 : 0;
    } else if (!get_int(t, &value)) {
        return error_invalid(env, "value");
    }
    return set_at(env, s, level, number, &value, sizeof value);
}

// ---- options of OTP itself --------------------------------------------------------------------------------------

enum OwnOption : int {
    kDebug = 1001,
    kWrapMessages = 1002,
    kControllingProcess = 1003,
    kBuffer = 1004,
    kReceiveControl = 1006,
    kSendControl = 1007,
    kDescriptor = 1008,
    kMeta = 1009,
    kUseRegistry = 1010,
    kReadAgain = 1011,
    kDomain = 1999,
};

// A positive size, or default.
bool get_size(Term t, size_t otherwise, size_t* out) {
    int64_t value = 0;
    if (t == atom("default")) {
        *out = otherwise;
        return true;
    }
    if (!get_int64(t, &value) || value <= 0) {
        return false;
    }
    *out = static_cast<size_t>(value);
    return true;
}

bool set_buffer(Socket& s, Term t) {
    constexpr size_t kDefault = 8 * 1024;
    unsigned count = 0;
    size_t size = 0;
    if (!get_size(t, kDefault, &size) &&
        (!is_tuple(t) || tuple_arity(t) != 2 || !get_unsigned(tuple_element(t, 0), &count) || count == 0 ||
         !get_size(tuple_element(t, 1), kDefault, &size))) {
        return false;
    }
    s.buffer_count = count;
    s.buffer_size = size;
    return true;
}

Word set_owner(Env* env, Socket& s, Term pid) {
    if (s.owner != env->process->id) {
        return error_invalid(env, "not_owner");
    }
    if (!is_local_pid(pid)) {
        return invalid(env, "value");
    }
    if (s.owner_watched) {
        unwatch(s, s.owner_monitor);
    }
    s.owner = pid;
    s.owner_watched = watch(s, pid, &s.owner_monitor);
    if (!s.owner_watched) {  // it has ended
        s.owner = kNonValue;
        close_for(env, s);
    }
    return atoms::ok.raw;
}

Word set_own(Env* env, Socket& s, int number, const Word socket, Term t) {
    const std::scoped_lock lock(s.read_lock, s.write_lock);
    bool known = true;
    if (!s.writes_open()) {
        return closed(env);
    }
    switch (number) {
        case kDebug:
            known = get_boolean(t, &s.debug);
            break;
        case kWrapMessages:
            known = get_boolean(t, &s.wrap_messages);
            break;
        case kControllingProcess:
            return set_owner(env, s, t);
        case kBuffer:
            known = set_buffer(s, t);
            break;
        case kReceiveControl:
            known = get_size(t, 1024, &s.control_size);
            break;
        case kSendControl:
            known = get_size(t, 1024, &s.send_control_size);
            break;
        case kMeta:
            if (s.owner != env->process->id) {
                return error_invalid(env, "not_owner");
            }
            s.meta.set(t);
            break;
        case kUseRegistry:
            known = t == atoms::true_;  // a socket cannot leave the registry
            if (known && !s.registered) {
                s.registered = true;
                tell_registry(env, Term{socket}, "add");
            }
            break;
        case kReadAgain:
            known = get_boolean(t, &s.select_read);
            break;
        default:
            return raise_invalid(env, make_tuple(heap_of(env), atom("otp_socket_option"), make_small(number)));
    }
    return known ? atoms::ok.raw : invalid(env, "value");
}

Word get_own(Env* env, Socket& s, int number) {
    Heap& h = heap_of(env);
    const std::scoped_lock lock(s.read_lock, s.write_lock);
    if (number == kUseRegistry) {
        return ok(env, boolean(s.registered));
    }
    if (!s.reads_open()) {
        return closed(env);
    }
    switch (number) {
        case kDebug:
            return ok(env, boolean(s.debug));
        case kWrapMessages:
            return ok(env, boolean(s.wrap_messages));
        case kControllingProcess:
            return ok(env, is_value(s.owner) ? s.owner : atoms::undefined);
        case kBuffer: {
            const Term size = make_unsigned(h, s.buffer_size);
            return ok(env, s.buffer_count == 0 ? size : make_tuple(h, make_small(s.buffer_count), size));
        }
        case kReceiveControl:
            return ok(env, make_unsigned(h, s.control_size));
        case kSendControl:
            return ok(env, make_unsigned(h, s.send_control_size));
        case kDescriptor:
            return ok(env, make_small(s.fd));
        case kMeta:
            return ok(env, s.meta.copy_to(h));
        case kReadAgain:
            return ok(env, boolean(s.select_read));
        case kDomain:
            return ok(env, family_term(env, s.domain));
        default:
            return raise_invalid(env, make_tuple(h, atom("otp_socket_option"), make_small(number)));
    }
}

// ---- getting ----------------------------------------------------------------------------------------------------

constexpr size_t kLargestOption = size_t{1} << 20;

// The value as the system gives it, in at most `size` bytes.
bool ask(Socket& s, int level, int number, size_t size, Value* out) {
    auto room = static_cast<socklen_t>(std::min(size, kLargestOption));
    out->assign(room, 0);
    if (getsockopt(s.fd, level, number, out->data(), &room) != 0) {
        return false;
    }
    out->resize(room);
    return true;
}

template <typename T>
T value_as(const Value& v) {
    T t{};
    std::memcpy(&t, v.data(), std::min(v.size(), sizeof t));
    return t;
}

size_t size_of_form(const Socket& s, Form form) {
    switch (form) {
        case Form::linger:
            return sizeof(linger);
        case Form::device:
            return IFNAMSIZ + 1;
        case Form::congestion:
            return kCongestionName + 1;
        case Form::controls:
            return s.control_size;
        default:
            return sizeof(int);
    }
}

Term value_term(Env* env, const Socket& s, Form form, Value& v) {
    Heap& h = heap_of(env);
    const int number = value_as<int>(v);
    switch (form) {
        case Form::boolean:
            return boolean(number != 0);
        case Form::natural:
            return make_small(value_as<unsigned>(v));
        case Form::device:
            return make_string(h, v.data(), v.size());
        case Form::congestion:
            // The last of the zeros after the name goes, the others stay, as on erl.
            return make_string(h, v.data(), !v.empty() && v.back() == 0 ? v.size() - 1 : v.size());
        case Form::linger: {
            const auto l = value_as<linger>(v);
            return make_map(env, {{"onoff", boolean(l.l_onoff != 0)}, {"linger", make_small(l.l_linger)}});
        }
        case Form::discovery:
            for (const Named& n : kDiscovery) {
                if (n.number == number) {
                    return atom(n.name);
                }
            }
            return make_small(number);
        case Form::address:
            return ipv4_term(env, value_as<in_addr>(v));
        case Form::service:
            return type_of_service_term(env, number);
        case Form::domain:
            return family_term(env, number);
        case Form::type:
            return type_term(env, number);
        case Form::protocol:
            return number == 0 && s.domain == AF_UNIX ? atom("default") : make_small(number);
        case Form::controls:
            return control_terms(env, v.data(), v.size());
        default:
            return make_small(number);
    }
}

Word get_plain(Env* env, Socket& s, int level, int number) {
    const std::lock_guard lock(s.read_lock);
    if (!s.reads_open()) {
        return closed(env);
    }
    const Option* const o = find_option(level, number, kGet);
    Value value;
    if (o == nullptr) {
        return invalid(env, "socket_option");
    }
    if (!ask(s, level, number, size_of_form(s, o->form), &value)) {
        return errno_error(env, errno);
    }
    return ok(env, value_term(env, s, o->form, value));
}

// what: integer, boolean, a size, or a binary that the system reads as the initial value.
Word get_native(Env* env, Socket& s, int level, int number, Term what) {
    const std::lock_guard lock(s.read_lock);
    if (!s.reads_open()) {
        return closed(env);
    }
    Value value;
    Bytes before;
    int size = 0;
    if (what == atom("integer") || what == atom("boolean")) {
        if (!ask(s, level, number, sizeof(int), &value)) {
            return errno_error(env, errno);
        }
        return ok(env, value_term(env, s, what == atom("integer") ? Form::integer : Form::boolean, value));
    }
    if (get_int(what, &size) && size >= 0) {
        if (size == 0) {  // no room at all: the system's own error
            return getsockopt(s.fd, level, number, nullptr, nullptr) != 0 ? errno_error(env, errno) : atoms::ok.raw;
        }
        if (!ask(s, level, number, static_cast<size_t>(size), &value)) {
            return errno_error(env, errno);
        }
    } else if (is_binary(what) && get_bytes(what, &before)) {
        auto room = static_cast<socklen_t>(std::min(before.size, kLargestOption));
        value.assign(before.data, before.data + room);
        if (getsockopt(s.fd, level, number, value.data(), &room) != 0) {
            return errno_error(env, errno);
        }
        value.resize(room);
    } else {
        return invalid(env, "value");
    }
    return ok(env, make_binary(heap_of(env), value.data(), value.size()));
}

}  // namespace

Word set_option(Env* env, int, const Word* a) {
    static const Term otp = atom("otp");
    Socket* const s = socket_of(env, a[0]);
    int native = 0;
    int number = 0;
    int level = 0;
    if (s == nullptr || !get_int(Term{a[4]}, &native)) {
        return raise_badarg(env);
    }
    if (!get_int(Term{a[2]}, &number)) {
        return bad_integer(env, Term{a[2]});
    }
    if (Term{a[1]} == otp) {
        return native == 0 ? set_own(env, *s, number, a[0], Term{a[3]}) : raise_badarg(env);
    }
    if (!get_level(Term{a[1]}, &level)) {
        return bad_integer(env, Term{a[1]});
    }
    return native == 0 ? set_plain(env, *s, level, number, Term{a[3]}) : set_native(env, *s, level, number, Term{a[3]});
}

Word get_option(Env* env, int argc, const Word* a) {
    static const Term otp = atom("otp");
    Socket* const s = socket_of(env, a[0]);
    int number = 0;
    int level = 0;
    if (s == nullptr) {
        return raise_badarg(env);
    }
    if (!get_int(Term{a[2]}, &number)) {
        return bad_integer(env, Term{a[2]});
    }
    if (Term{a[1]} == otp && argc == 3) {
        return get_own(env, *s, number);
    }
    if (!get_level(Term{a[1]}, &level)) {
        return bad_integer(env, Term{a[1]});
    }
    // With four arguments always native; with five the fourth is `native`, or says that there is a value, which only
    // options of SCTP take.
    if (argc == 4 || (argc == 5 && Term{a[3]} == atom("native"))) {
        return get_native(env, *s, level, number, Term{a[argc - 1]});
    }
    return get_plain(env, *s, level, number);
}

Term option_terms(Env* env, bool with_names) {
    static constexpr Named kLevels[] = {
        {"socket", SOL_SOCKET}, {"ip", SOL_IP}, {"ipv6", SOL_IPV6}, {"tcp", IPPROTO_TCP}, {"udp", IPPROTO_UDP}};
    Heap& h = heap_of(env);
    Term levels = kNil;
    for (const Named& level : kLevels) {
        Term list = kNil;
        for (const Option& o : kOptions) {
            if (o.level == level.number && is_known(o)) {
                list = cons(h, is_supported(o) ? make_tuple(h, atom(o.name), make_small(o.number)) : atom(o.name), list);
            }
        }
        const Term key = level.number == SOL_SOCKET ? atom("socket") : make_small(level.number);
        levels = cons(h, with_names ? make_tuple(h, atom(level.name), make_small(level.number), list)
                                    : make_tuple(h, key, list), levels);
    }
    return levels;
}

}  // namespace minivm::nif::sockets
