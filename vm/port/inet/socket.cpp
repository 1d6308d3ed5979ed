#include "vm/port/inet/socket.hpp"

#include "vm/external/external_term.hpp"
#include "vm/port/port_state.hpp"
#include "vm/process/posix.hpp"
#include "vm/process/process_record.hpp"
#include "vm/process/timer_wheel.hpp"
#include "vm/sched/poller.hpp"
#include "vm/term/binary.hpp"
#include "vm/term/local_atoms.hpp"
#include "vm/util/otp_release.hpp"

#include <fcntl.h>
#include <netinet/in.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <climits>
#include <cmath>

namespace minivm::port::inet {

LOCAL_ATOM(atom_inet_async, "inet_async")
LOCAL_ATOM(atom_inet_reply, "inet_reply")

constexpr char kNotOpen[] = "exbadport";

// The last port that uses the descriptor closes it, after it left the poller's set: its number may be reused at once.
static void close_descriptor(int fd, bool watched) {
    if (let_go_of_socket(fd)) {
        if (watched) {
            poller::forget_socket(fd);
        }
        ::close(fd);
    }
}

Socket::Socket(int type) : type_(type), buffer_(by_release::default_socket_buffer()) {}
Socket::~Socket() {
    // Still open: the port could not be opened.
    if (fd_ >= 0) {
        close_descriptor(fd_, watched_);
    }
}

void Socket::Request::error(int number) const {
    error(std::string(atom_table::text(posix_error_atom(number))).c_str());
}

// ---- life ---------------------------------------------------------------------------------------

void Socket::set_up(int fd) {
    fcntl(fd, F_SETFL, fcntl(fd, F_GETFL) | O_NONBLOCK);
    fd_ = fd;
    watched_ = wants_output_ = false;
    readable_ = true;
    hold_socket(fd);
}

bool Socket::watch(Port& p) {
    watched_ = watched_ || poller::watch_socket(fd_, p.number, wants_output_);
    return watched_;
}

void Socket::shut() {
    if (fd_ >= 0) {
        close_descriptor(fd_, watched_);
    }
    fd_ = -1;
    watched_ = wants_output_ = readable_ = false;
    state_ = State::closed;
}

void Socket::close(Port&) {
    shut();
}

Term Socket::end_by_peer(Port& p) {
    p.leaves_owner = true;
    return atoms::normal;
}

void Socket::want_output(Port& p, bool wanted) {
    if (wanted != wants_output_ && fd_ >= 0) {
        wants_output_ = wanted;
        if (watched_) {
            poller::want_output(fd_, p.number, wanted);
        } else if (wanted) {
            watch(p);
        }
    }
}

void Socket::wake_at(Port& p, uint64_t due_ms) {
    if (armed_ms_ == 0 || due_ms < armed_ms_) {
        armed_ms_ = due_ms;
        poller::wake_at(p.number, due_ms);
    }
}

// ---- telling ------------------------------------------------------------------------------------

void Socket::send_async(Port& p, Term to, uint16_t number, Term result) {
    Heap h;
    tell_message(p, to, make_tuple(h, atom_inet_async(), p.id, make_small(number), result));
}

void Socket::reply(Port& p, Term to, Term result, Term reference) {
    if (!is_value(to)) {
        return;
    }
    Heap h;
    tell_message(p, to, is_value(reference) ? make_tuple(h, atom_inet_reply(), p.id, result, reference)
                                                : make_tuple(h, atom_inet_reply(), p.id, result));
}

Term Socket::take_reference(Heap& h, const std::string& bytes, size_t* first) {
    // The size in two bytes, then a term in the external format for this VM alone (131, kLocalExt).
    *first = 0;
    if (!by_release::socket_sends_have_references() || bytes.size() < 4) {
        return kNonValue;
    }
    const size_t size = static_cast<uint8_t>(bytes[0]) << 8 | static_cast<uint8_t>(bytes[1]);
    if (size + 2 > bytes.size() || static_cast<uint8_t>(bytes[2]) != 131 || bytes[3] != 'y') {
        return kNonValue;
    }
    size_t used = 0;
    const auto* term = reinterpret_cast<const uint8_t*>(bytes.data()) + 2;
    const Term reference = external::decode(h, term, size, external::DecodeOptions{}, &used);
    if (!is_value(reference) || !is_reference(reference) || used != size) {
        return kNonValue;
    }
    *first = 2 + size;
    return reference;
}

Term Socket::data_term(Heap& h, const void* bytes, size_t n) const {
    const auto* b = static_cast<const char*>(bytes);
    if (!binary_ || header_ > n) {
        return make_string(h, b, n);
    }
    const size_t listed = header_;
    Term t = make_binary(h, b + listed, n - listed);
    for (size_t i = listed; i-- > 0;) {
        t = cons(h, make_small(static_cast<uint8_t>(b[i])), t);
    }
    return t;
}

void Socket::count_message(Port& p) {
    if (active_ == kActiveOnce) {
        active_ = kPassive;
    } else if (active_ == kActiveTimes && --active_count_ <= 0) {
        active_ = kPassive;
        active_count_ = 0;
        Heap h;
        tell_message(p, p.owner, make_tuple(h, passive_tag(), p.id));
    }
}

// ---- statistics ---------------------------------------------------------------------------------

void Socket::count_input(size_t n) {
    received_bytes_ += n;
    const auto x = static_cast<double>(n);
    const double count = ++received_count_;
    // The average distance of a packet's size from the average before that packet.
    received_deviation_ += (std::fabs(received_average_ - x) - received_deviation_) / count;
    received_average_ += (x - received_average_) / count;
    received_max_ = std::max(received_max_, static_cast<uint32_t>(n));
    // relaxed: a statistic, which orders nothing.
    g_input.fetch_add(n, std::memory_order_relaxed);
}

void Socket::count_output(size_t n) {
    sent_bytes_ += n;
    sent_average_ += (static_cast<double>(n) - sent_average_) / ++sent_count_;
    sent_max_ = std::max(sent_max_, static_cast<uint32_t>(n));
    // relaxed: a statistic, which orders nothing.
    g_output.fetch_add(n, std::memory_order_relaxed);
}

void Socket::statistics(Request& r) const {
    r.ok();
    while (r.in.left() > 0) {
        const uint8_t what = r.in.u8();
        put8(r.out, what);
        switch (what) {
            case kReceivedCount:
                put32(r.out, received_count_);
                break;
            case kReceivedMax:
                put32(r.out, received_max_);
                break;
            case kReceivedAverage:
                put32(r.out, static_cast<uint32_t>(received_average_));
                break;
            case kReceivedDeviation:
                put32(r.out, static_cast<uint32_t>(received_deviation_));
                break;
            case kSentCount:
                put32(r.out, sent_count_);
                break;
            case kSentMax:
                put32(r.out, sent_max_);
                break;
            case kSentAverage:
                put32(r.out, static_cast<uint32_t>(sent_average_));
                break;
            case kSendPending:
                put32(r.out, unsent());
                break;
            case kReceivedBytes:
                put64(r.out, received_bytes_);
                break;
            case kSentBytes:
                put64(r.out, sent_bytes_);
                break;
            default:
                r.error(EINVAL);
                return;
        }
    }
}

void Socket::subscribe(Request& r) {
    r.ok();
    while (r.in.left() > 0) {
        const uint8_t what = r.in.u8();
        if (what != kSubscribeEmptyQueue) {
            r.error(EINVAL);
            return;
        }
        const size_t waits = unsent();
        if (waits > 0) {
            wait_for_empty_.push_back(r.caller.id);
        }
        put8(r.out, what);
        put32(r.out, waits);
    }
}

// ---- requests -----------------------------------------------------------------------------------

bool Socket::control(Port& p, Process& caller, uint32_t command, const std::string& bytes, std::string* answer,
                     Term* reason) {
    Request r{p, caller, Reader(bytes), answer, reason};
    const uint32_t request = command - kRequestBase;
    return own_request(request, r) || common_request(request, r);
}

static int family_of(uint8_t code) {
    return code == kInet ? AF_INET : code == kInet6 ? AF_INET6 : code == kLocal ? AF_UNIX : -1;
}

void Socket::open(Request& r) {
    const int family = family_of(r.in.u8());
    const uint8_t type = r.in.u8();
    const uint8_t protocol = r.in.left() > 0 ? r.in.u8() : 0;
    if (!r.in.ok() || r.in.left() != 0) {
        return r.error(EINVAL);
    }
    if (family < 0) {
        return r.error("eafnosupport");
    }
    if (type != (type_ == SOCK_STREAM ? kStream : kDatagram)) {
        return r.error(EINVAL);
    }
    if (is_open()) {
        return r.error(EALREADY);
    }
    constexpr int kMultipath = 262;  // IPPROTO_MPTCP, which not every C library names
    const int flags = type_ | SOCK_CLOEXEC | SOCK_NONBLOCK;
    const int number = protocol == kMultipathTcp ? kMultipath : 0;
    const int fd = namespace_.has_value() ? socket_in_namespace(*namespace_, family, flags, number)
                                          : ::socket(family, flags, number);
    if (fd < 0) {
        return r.error(errno);
    }
    set_up(fd);
    family_ = family;
    state_ = State::open;
    r.ok();
}

void Socket::open_descriptor(Request& r) {
    const int family = family_of(r.in.u8());
    const uint8_t type = r.in.u8();
    const int fd = r.in.i32();
    if (r.in.left() != 0) {
        r.in.i32();  // whether the socket is bound: the kernel knows
    }
    if (!r.in.ok() || r.in.left() != 0 || type != (type_ == SOCK_STREAM ? kStream : kDatagram)) {
        return r.error(EINVAL);
    }
    if (family < 0) {
        return r.error("eafnosupport");
    }
    int has_type = 0;
    int has_family = 0;
    socklen_t size = sizeof(int);
    if (!is_descriptor_of_program(fd) && !is_held_socket(fd)) {
        return r.error(EBADF);
    }
    if (getsockopt(fd, SOL_SOCKET, SO_TYPE, &has_type, &size) != 0) {
        return r.error(errno);
    }
    size = sizeof(int);
    getsockopt(fd, SOL_SOCKET, SO_DOMAIN, &has_family, &size);
    if (has_type != type_ || has_family != family) {
        return r.error(EINVAL);
    }
    if (is_open()) {
        return r.error(EALREADY);
    }
    set_up(fd);
    family_ = family;
    Address peer;
    int listens = 0;
    size = sizeof(int);
    getsockopt(fd, SOL_SOCKET, SO_ACCEPTCONN, &listens, &size);
    state_ = listens != 0                                    ? State::listening
             : getpeername(fd, peer.get(), peer.room()) == 0 ? State::connected
                                                             : State::open;
    r.ok();
}

void Socket::bind(Request& r) {
    if (state_ != State::open) {
        return r.error(kNotOpen);
    }
    Address address;
    if (const char* error = read_address(&r.in, family_, &address)) {
        return r.error(error);
    }
    if (::bind(fd_, address.get(), address.size) != 0) {
        return r.error(errno);
    }
    if (getsockname(fd_, address.get(), address.room()) != 0) {
        return r.error(errno);
    }
    r.ok();
    put16(r.out, port_of(address));
}

void Socket::name(Request& r, bool peer) const {
    const std::optional<Address>& shown = peer ? shown_peer_ : shown_name_;
    Address address;
    if (peer && !is_connected()) {
        return r.error(ENOTCONN);
    }
    if (shown) {
        address = *shown;
    } else if ((peer ? getpeername : getsockname)(fd_, address.get(), address.room()) != 0) {
        return r.error(fd_ < 0 ? EINVAL : errno);
    }
    r.ok();
    write_address(address, r.out);
}

void Socket::set_shown(Request& r, std::optional<Address>* shown) const {
    shown->reset();
    if (r.in.left() > 0) {
        Address address;
        if (const char* error = read_address(&r.in, family_, &address)) {
            return r.error(error);
        }
        *shown = address;
    }
    r.ok();
}

bool Socket::common_request(uint32_t request, Request& r) {
    const auto of_open_socket = [&] {
        if (!is_open()) {
            r.error(kNotOpen);
        }
        return is_open();
    };
    const auto done = [&](int error) {
        if (error != 0) {
            r.error(error);
        }
    };
    switch (request) {
        case kOpen:
            open(r);
            break;
        case kOpenDescriptor:
            open_descriptor(r);
            break;
        case kBind:
            bind(r);
            break;
        case kName:
            name(r, false);
            break;
        case kPeer:
            name(r, true);
            break;
        case kSetName:
            set_shown(r, &shown_name_);
            break;
        case kSetPeer:
            set_shown(r, &shown_peer_);
            break;
        case kGetLocalAddresses:
        case kGetPeerAddresses:
            if (of_open_socket()) {
                name(r, request == kGetPeerAddresses);
            }
            break;
        case kSetOptions: {
            const Before was{active_, format_};
            Term reason = kNonValue;
            if (!set_options(r.port, r.in, &reason)) {
                r.error(EINVAL);
            } else {
                r.ok();
                *r.reason = is_value(reason) ? reason : options_set(r.port, was);
            }
            break;
        }
        case kGetOptions:
            r.ok();
            if (!get_options(r.in, r.out)) {
                r.error(EINVAL);
            }
            break;
        case kGetStatistics:
            statistics(r);
            break;
        case kSubscribe:
            subscribe(r);
            break;
        case kGetStatus: {
            r.ok();
            put32(r.out, (is_open() ? kIsOpen : 0u) | (is_connected() ? kIsConnected : 0u) |
                             (state_ == State::listening ? kIsListening : 0u) |
                             (state_ == State::connecting ? kIsConnecting : 0u) | own_status());
            break;
        }
        case kGetDescriptor:
            if (!is_open()) {
                r.error(EINVAL);
                break;
            }
            r.ok();
            put32(r.out, static_cast<uint32_t>(fd_));
            break;
        case kGetType:
            if (!is_open()) {
                r.error(EINVAL);
                break;
            }
            r.ok();
            put32(r.out, family_ == AF_INET ? kInet : family_ == AF_INET6 ? kInet6 : kLocal);
            put32(r.out, type_ == SOCK_STREAM ? kStream : kDatagram);
            break;
        case kGetHostname: {
            char host[HOST_NAME_MAX + 1];
            if (r.in.left() != 0) {
                r.error(EINVAL);
            } else if (gethostname(host, sizeof(host)) != 0) {
                r.error(errno);
            } else {
                r.ok();
                *r.out += host;
            }
            break;
        }
        case kGetServiceByName:
            get_service_by_name(r.in, r.out);
            break;
        case kGetServiceByPort:
            get_service_by_port(r.in, r.out);
            break;
        case kGetInterfaces:
            if (of_open_socket()) {
                r.ok();
                done(get_interfaces(r.out));
            }
            break;
        case kGetAddresses:
            if (of_open_socket()) {
                r.ok();
                done(get_addresses(r.out));
            }
            break;
        case kGetInterface:
            if (of_open_socket()) {
                r.ok();
                get_interface(fd_, r.in, r.out);
            }
            break;
        case kSetInterface:
            if (of_open_socket()) {
                r.ok();
                done(set_interface(fd_, r.in));
            }
            break;
        default:
            r.error(kNotOpen);
    }
    return true;
}

}  // namespace minivm::port::inet
