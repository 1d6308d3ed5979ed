#include "vm/port/inet/udp.hpp"

#include "vm/port/port_state.hpp"
#include "vm/process/posix.hpp"
#include "vm/process/process_record.hpp"
#include "vm/process/timer_wheel.hpp"
#include "vm/term/binary.hpp"
#include "vm/term/local_atoms.hpp"

#include <netinet/in.h>
#include <sys/socket.h>

#include <algorithm>
#include <cerrno>
#include <cstring>

namespace minivm::port::inet {

LOCAL_ATOM(atom_udp, "udp")
LOCAL_ATOM(atom_udp_passive, "udp_passive")
LOCAL_ATOM(atom_udp_error, "udp_error")

constexpr uint32_t kForever = 0xFFFFFFFF;
constexpr uint64_t kWatchAgainMs = 100;
constexpr size_t kLongestDatagram = 4 * 1024 * 1024;  // local sockets have no limit of 64 KiB

Term UdpSocket::passive_tag() const {
    return atom_udp_passive();
}

bool UdpSocket::own_request(uint32_t request, Request& r) {
    switch (request) {
        case kConnect:
            connect(r);
            break;
        case kReceivePacket:
            receive(r);
            break;
        case kClose:
            answer_error(r.port, atoms::closed);
            shut();
            r.ok();
            break;
        default:
            return false;
    }
    return true;
}

void UdpSocket::connect(Request& r) {
    if (!is_open()) {
        return r.error("exbadport");
    }
    // Also before a connect to another peer: Linux would keep the source address of the first connect.
    const auto dissolve = [this] {
        sockaddr none{};
        none.sa_family = AF_UNSPEC;
        ::connect(fd_, &none, sizeof none);
        peer_.reset();
        state_ = State::open;
    };
    if (r.in.left() == 0) {
        dissolve();
    } else {
        r.in.i32();  // the timeout: connect() does not block here
        Address peer;
        if (const char* error = read_address(&r.in, family_, &peer)) {
            return r.error(error);
        }
        if (is_connected()) {
            dissolve();
        }
        if (::connect(fd_, peer.get(), peer.size) != 0) {
            const int error = errno;
            dissolve();
            return r.error(error);
        }
        peer_ = peer;
        state_ = State::connected;
    }
    const uint16_t number = next_number();
    r.ok();
    put16(r.out, number);
    send_async(r.port, r.caller.id, number, atoms::ok);
}

void UdpSocket::receive(Request& r) {
    const auto timeout_ms = static_cast<uint32_t>(r.in.i32());
    r.in.i32();  // the length: a packet is always given whole
    if (!is_open() || active_ != kPassive || !r.in.ok() || r.in.left() != 0) {
        return r.error(EINVAL);
    }
    if (receiver_) {
        return r.error(EALREADY);
    }
    receiver_ = Waiting{r.caller.id, next_number(), timeout_ms == kForever ? 0 : monotonic_ms() + timeout_ms + 1};
    r.ok();
    put16(r.out, receiver_->number);
    read(r.port);
    if (receiver_ && timeout_ms == 0) {
        answer_error(r.port, atoms::timeout);
    } else if (receiver_ && receiver_->due_ms != 0) {
        wake_at(r.port, receiver_->due_ms);
    }
}

void UdpSocket::answer_error(Port& p, Term reason) {
    if (receiver_) {
        const Waiting w = *receiver_;
        receiver_.reset();
        Heap h;
        send_async(p, w.pid, w.number, make_tuple(h, atoms::error, reason));
    }
}

bool UdpSocket::set_own_option(Port&, uint8_t option, int32_t value) {
    if (option != kReadPackets || value <= 0) {
        return false;
    }
    read_packets_ = value;
    return true;
}

bool UdpSocket::get_own_option(uint8_t option, int32_t* value) const {
    *value = read_packets_;
    return option == kReadPackets;
}

Term UdpSocket::options_set(Port& p, const Before&) {
    read(p);
    return kNonValue;
}

// ---- reading ------------------------------------------------------------------------------------

void UdpSocket::give(Port& p, const Address& from, const msghdr& message, const uint8_t* data, size_t n) {
    Heap h;
    p.input += n;
    Term packet = data_term(h, data, n);
    const Term ancillary = ancillary_ != 0 ? ancillary_terms(h, message) : kNonValue;
    if (!receiver_ && deliver_term_) {
        Term ip;
        Term port;
        address_terms(h, from, &ip, &port);
        tell_message(p, p.owner, is_value(ancillary)
                                         ? make_tuple(h, atom_udp(), p.id, ip, port, ancillary, packet)
                                         : make_tuple(h, atom_udp(), p.id, ip, port, packet));
        count_message(p);
        return;
    }
    // The bytes of the address as a list, whose tail is the packet.
    std::string address;
    write_address(from, &address);
    for (size_t i = address.size(); i-- > 0;) {
        packet = cons(h, make_small(static_cast<uint8_t>(address[i])), packet);
    }
    if (is_value(ancillary)) {
        packet = make_tuple(h, packet, ancillary);
    }
    if (receiver_) {
        const Waiting w = *receiver_;
        receiver_.reset();
        send_async(p, w.pid, w.number, make_tuple(h, atoms::ok, packet));
        return;
    }
    tell_message(p, p.owner, make_tuple(h, p.id, make_tuple(h, atoms::data, packet)));
    count_message(p);
}

void UdpSocket::read(Port& p) {
    static thread_local std::vector<uint8_t> scratch;
    for (int packets = 0; is_open() && (receiver_ || active_ != kPassive);) {
        if (!readable_ && watched_) {
            return;
        }
        if (packets++ >= read_packets_) {
            wake_at(p, monotonic_ms());  // goes on in timeout(), after the other ports
            return;
        }
        const size_t size = std::min<size_t>(buffer_, kLongestDatagram);
        if (scratch.size() < size) {
            scratch.resize(size);
        }
        Address from;
        alignas(cmsghdr) char ancillary[256];
        iovec part{scratch.data(), size};
        msghdr message{};
        message.msg_name = from.get();
        message.msg_namelen = sizeof(from.storage);
        message.msg_iov = &part;
        message.msg_iovlen = 1;
        message.msg_control = ancillary;
        message.msg_controllen = sizeof(ancillary);
        const ssize_t n = recvmsg(fd_, &message, 0);
        if (n < 0) {
            if (errno == EINTR) {
                continue;
            }
            if (errno == EAGAIN) {
                readable_ = false;
                if (!watch(p)) {
                    wake_at(p, monotonic_ms() + kWatchAgainMs);  // the system has no more watches for now
                }
                return;
            }
            const Term reason = posix_error_atom(errno);
            if (active_ == kPassive) {
                answer_error(p, reason);
            } else {
                Heap h;
                tell_message(p, p.owner, make_tuple(h, atom_udp_error(), p.id, reason));
            }
            continue;
        }
        from.size = message.msg_namelen;
        if (from.size == 0 && peer_) {
            from = *peer_;
        } else if (from.size == 0) {
            from.storage.ss_family = AF_UNSPEC;  // a local socket without a name
        }
        count_input(static_cast<size_t>(n));
        give(p, from, message, scratch.data(), static_cast<size_t>(n));
    }
}

Term UdpSocket::ready(Port& p, uint32_t) {
    readable_ = true;
    read(p);
    return kNonValue;
}

Term UdpSocket::timeout(Port& p) {
    armed_ms_ = 0;
    if (receiver_ && receiver_->due_ms != 0) {
        if (receiver_->due_ms <= monotonic_ms()) {
            answer_error(p, atoms::timeout);
        } else {
            wake_at(p, receiver_->due_ms);
        }
    }
    read(p);
    return kNonValue;
}

void UdpSocket::close(Port& p) {
    answer_error(p, atoms::closed);
    shut();
}

// ---- writing ------------------------------------------------------------------------------------

int UdpSocket::send(const Address& to, Reader ancillary, const char* data, size_t n) {
    iovec part{const_cast<char*>(data), n};
    msghdr message{};
    message.msg_iov = &part;
    message.msg_iovlen = 1;
    if (!is_connected()) {
        message.msg_name = const_cast<sockaddr*>(to.get());
        message.msg_namelen = to.size;
    }
    alignas(cmsghdr) char room[256] = {};
    size_t used = 0;
    while (ancillary.left() > 0) {
        const uint8_t option = ancillary.u8();
        const int32_t value = ancillary.i32();
        int level = 0;
        int name = 0;
        bool told = false;
        if (!ancillary.ok() || (option != kTypeOfService && option != kTrafficClass && option != kTtl) ||
            !system_option(option, &level, &name, &told) || used + CMSG_SPACE(sizeof(value)) > sizeof(room)) {
            return EINVAL;
        }
        auto* c = reinterpret_cast<cmsghdr*>(room + used);
        c->cmsg_level = level;
        c->cmsg_type = name;
        c->cmsg_len = CMSG_LEN(sizeof(value));
        std::memcpy(CMSG_DATA(c), &value, sizeof(value));
        used += CMSG_SPACE(sizeof(value));
    }
    if (used > 0) {
        message.msg_control = room;
        message.msg_controllen = used;
    }
    count_output(n);
    ssize_t sent;
    do {
        sent = sendmsg(fd_, &message, MSG_NOSIGNAL);
    } while (sent < 0 && errno == EINTR);
    return sent < 0 ? errno : 0;
}

Term UdpSocket::output(Port& p, Term from, std::string* bytes) {
    Heap h;
    size_t first = 0;
    const Term reference = take_reference(h, *bytes, &first);
    Reader in(bytes->data() + first, bytes->size() - first);
    Address to;
    Term result = kNonValue;
    const char* wrong = is_open() ? read_address(&in, family_, &to) : "einval";
    int error = 0;
    if (wrong == nullptr) {
        const auto size = static_cast<uint32_t>(in.i32());
        const char* ancillary = in.bytes(size);
        error = in.ok() ? send(to, Reader(ancillary, size), in.rest(), in.left()) : EINVAL;
    }
    result = wrong != nullptr ? make_tuple(h, atoms::error, atom_table::intern(wrong))
             : error != 0     ? make_tuple(h, atoms::error, posix_error_atom(error))
                              : atoms::ok;
    reply(p, from, result, reference);
    return kNonValue;
}

}  // namespace minivm::port::inet
