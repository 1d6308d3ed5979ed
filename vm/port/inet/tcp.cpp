#include "vm/port/inet/tcp.hpp"

#include "vm/port/port_state.hpp"
#include "vm/process/posix.hpp"
#include "vm/process/process_record.hpp"
#include "vm/process/process_table.hpp"
#include "vm/process/timer_wheel.hpp"
#include "vm/progress/thread_progress.hpp"
#include "vm/term/local_atoms.hpp"

#include <fcntl.h>
#include <poll.h>
#include <sys/epoll.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>

namespace minivm::port::inet {

LOCAL_ATOM(atom_tcp_passive, "tcp_passive")

constexpr int kStallMs = 5000;  // write_out() gives up when the peer has accepted nothing for so long

TcpSocket::~TcpSocket() {
    busy_heap_.clear();
}
TcpSocket::File::~File() {
    ::close(fd);
}

Term TcpSocket::passive_tag() const {
    return atom_tcp_passive();
}

// ---- processes that wait ------------------------------------------------------------------------

TcpSocket::Waiting TcpSocket::waiting(Request& r, uint32_t timeout_ms) {
    Waiting w;
    w.pid = r.caller.id;
    w.number = next_number();
    w.due_ms = timeout_ms == kForever ? 0 : monotonic_ms() + timeout_ms + 1;
    r.ok();
    put16(r.out, w.number);
    return w;
}

void TcpSocket::answer(Port& p, const std::optional<Waiting>& w, Term result) {
    if (w) {
        send_async(p, w->pid, w->number, result);
    }
}

void TcpSocket::answer_error(Port& p, const std::optional<Waiting>& w, Term reason) {
    Heap h;
    answer(p, w, make_tuple(h, atoms::error, reason));
}

void TcpSocket::answer_all(Port& p, Term reason) {
    answer_error(p, receiver_, reason);
    receiver_.reset();
    answer_error(p, connector_, reason);
    connector_.reset();
    for (const Waiting& w : acceptors_) {
        answer_error(p, w, reason);
    }
    acceptors_.clear();
}

// ---- opening ------------------------------------------------------------------------------------

void TcpSocket::connect(Request& r) {
    const auto timeout_ms = static_cast<uint32_t>(r.in.i32());
    if (!is_open() || state_ == State::listening) {
        return r.error("exbadport");
    }
    if (is_connected()) {
        return r.error(EISCONN);
    }
    if (state_ == State::connecting) {
        return r.error(EINVAL);
    }
    Address peer;
    if (const char* error = read_address(&r.in, family_, &peer)) {
        return r.error(error);
    }
    if (::connect(fd_, peer.get(), peer.size) == 0) {
        const Waiting w = waiting(r, kForever);
        state_ = State::connected;
        answer(r.port, w, atoms::ok);
        *r.reason = read(r.port);
        return;
    }
    if (errno != EINPROGRESS) {
        return r.error(errno);
    }
    state_ = State::connecting;
    connector_ = waiting(r, timeout_ms);
    if (connector_->due_ms != 0) {
        wake_at(r.port, connector_->due_ms);
    }
    want_output(r.port, true);
}

void TcpSocket::connect_done(Port& p) {
    int error = 0;
    socklen_t size = sizeof(error);
    getsockopt(fd_, SOL_SOCKET, SO_ERROR, &error, &size);
    Address peer;
    if (error == 0 && getpeername(fd_, peer.get(), peer.room()) != 0) {
        return;  // not connected yet: the poller has reported an older event
    }
    want_output(p, false);
    const std::optional<Waiting> w = connector_;
    connector_.reset();
    if (error != 0) {
        state_ = State::open;
        answer_error(p, w, posix_error_atom(error));
        return;
    }
    state_ = State::connected;
    hung_up_ = false;
    readable_ = true;
    answer(p, w, atoms::ok);
}

void TcpSocket::listen(Request& r) {
    if (!is_open()) {
        return r.error("exbadport");
    }
    const int backlog = static_cast<int16_t>(r.in.u16());
    if (!r.in.ok() || r.in.left() != 0) {
        return r.error(EINVAL);
    }
    if (::listen(fd_, backlog) != 0) {
        return r.error(errno);
    }
    state_ = State::listening;
    readable_ = true;
    r.ok();
}

void TcpSocket::forget_dead_acceptors() {
    const thread_progress::DelaySection section;
    std::erase_if(acceptors_, [](const Waiting& w) { return process_table::lookup(w.pid) == nullptr; });
}

uint32_t TcpSocket::own_status() {
    forget_dead_acceptors();
    return (busy_ ? kIsBusy : 0u) | (acceptors_.empty() ? 0u : kIsAccepting);
}

void TcpSocket::accept(Request& r) {
    const auto timeout_ms = static_cast<uint32_t>(r.in.i32());
    if (state_ != State::listening || !r.in.ok() || r.in.left() != 0) {
        return r.error(EINVAL);
    }
    forget_dead_acceptors();
    acceptors_.push_back(waiting(r, timeout_ms));
    const uint64_t due_ms = acceptors_.back().due_ms;
    accept_ready(r.port, &r.caller);
    if (!acceptors_.empty() && due_ms != 0) {
        if (timeout_ms == 0 && acceptors_.back().pid == r.caller.id) {
            answer_error(r.port, acceptors_.back(), atoms::timeout);
            acceptors_.pop_back();
        } else {
            wake_at(r.port, due_ms);
        }
    }
}

void TcpSocket::accept_ready(Port& p, Process* self) {
    while (readable_ && !acceptors_.empty()) {
        const Waiting first = acceptors_.front();
        if (self == nullptr || self->id != first.pid) {
            const thread_progress::DelaySection section;
            if (process_table::lookup(first.pid) == nullptr) {
                acceptors_.erase(acceptors_.begin());
                continue;
            }
        }
        const int fd = accept4(fd_, nullptr, nullptr, SOCK_CLOEXEC | SOCK_NONBLOCK);
        if (fd < 0 && (errno == EINTR || errno == ECONNABORTED)) {
            continue;
        }
        if (fd < 0 && errno == EAGAIN) {
            readable_ = false;
            if (watch(p)) {
                break;
            }
        }
        const int error = fd < 0 ? errno : 0;
        acceptors_.erase(acceptors_.begin());
        if (fd < 0 || !give_accepted(p, fd, first, self)) {
            answer_error(p, first, fd < 0 ? posix_error_atom(error) : errno == 0 ? atoms::system_limit : posix_error_atom(errno));
        }
    }
}

bool TcpSocket::give_accepted(Port& p, int fd, const Waiting& to, Process* self) {
    auto socket = std::make_shared<TcpSocket>();
    TcpSocket& s = *socket;
    s.set_up(fd);
    s.state_ = State::connected;
    s.family_ = family_;
    s.binary_ = binary_;
    s.deliver_term_ = deliver_term_;
    s.exit_on_close_ = exit_on_close_;
    s.format_ = format_;
    s.format_code_ = format_code_;
    s.limits_ = limits_;
    s.queue_limits_ = queue_limits_;
    s.header_ = header_;
    s.buffer_ = buffer_;
    s.buffer_set_ = buffer_set_;
    s.high_ = high_;
    s.low_ = low_;
    s.send_timeout_ = send_timeout_;
    s.send_timeout_close_ = send_timeout_close_;
    s.show_reset_ = show_reset_;
    s.read_ahead_ = read_ahead_;
    s.linger_zero_ = linger_zero_;
    OpenOptions options;
    options.name = p.options.name;
    options.driver = std::move(socket);
    const Term id = port::open_accepted(p, self, to.pid, std::move(options));
    if (!is_value(id)) {
        return false;
    }
    Heap h;
    answer(p, to, make_tuple(h, atoms::ok, id));
    return true;
}

// ---- requests -----------------------------------------------------------------------------------

bool TcpSocket::own_request(uint32_t request, Request& r) {
    switch (request) {
        case kConnect:
            connect(r);
            break;
        case kListen:
            listen(r);
            break;
        case kAccept:
            accept(r);
            break;
        case kReceive:
            receive(r);
            break;
        case kPutBack:
            put_back(r);
            break;
        case kShutdown:
            shut_down(r);
            break;
        case kSendFile:
            send_file(r);
            break;
        case kIgnore:
            ignore(r);
            break;
        case kClose:
            answer_all(r.port, atoms::closed);
            drop_output(r.port);
            shut();
            r.ok();
            break;
        default:
            return false;
    }
    return true;
}

void TcpSocket::receive(Request& r) {
    const auto timeout_ms = static_cast<uint32_t>(r.in.i32());
    const int32_t size = r.in.i32();
    if (!is_connected()) {
        if (closed_for_receive_) {
            closed_for_receive_ = closed_for_send_ = false;
            const bool reset = was_reset_;
            was_reset_ = false;
            return r.error(reset ? "econnreset" : "closed");
        }
        return r.error(ENOTCONN);
    }
    if (active_ != kPassive || !r.in.ok() || r.in.left() != 0 || (format_ != packets::Format::raw && size != 0) ||
        size < 0) {
        return r.error(EINVAL);
    }
    if (static_cast<size_t>(size) > kLongestReceive) {
        return r.error(ENOMEM);
    }
    if (receiver_) {
        return r.error(EALREADY);
    }
    receiver_ = waiting(r, timeout_ms);
    receive_size_ = static_cast<size_t>(size);
    if (!ignored_) {
        *r.reason = read(r.port);
    }
    if (receiver_ && timeout_ms == 0) {
        answer_error(r.port, receiver_, atoms::timeout);
        receiver_.reset();
    } else if (receiver_ && receiver_->due_ms != 0) {
        wake_at(r.port, receiver_->due_ms);
    }
}

void TcpSocket::put_back(Request& r) {
    if (!is_connected()) {
        return r.error(ENOTCONN);
    }
    in_.erase(0, in_at_);
    in_at_ = 0;
    in_.insert(0, r.in.rest(), r.in.left());
    r.ok();
    if (active_ != kPassive) {
        *r.reason = read(r.port);
    }
}

void TcpSocket::shut_down(Request& r) {
    if (!is_connected()) {
        return r.error(ENOTCONN);
    }
    const uint8_t how = r.in.u8();
    if (!r.in.ok() || r.in.left() != 0 || how > 2) {
        return r.error(EINVAL);
    }
    constexpr int kHow[] = {SHUT_RD, SHUT_WR, SHUT_RDWR};
    if (kHow[how] != SHUT_RD && unsent() > 0) {
        shut_later_ = kHow[how];
        return r.ok();
    }
    if (::shutdown(fd_, kHow[how]) != 0) {
        return r.error(errno);
    }
    r.ok();
}

void TcpSocket::ignore(Request& r) {
    const bool wanted = r.in.u8() == 1;
    if (!is_connected()) {
        return r.error(ENOTCONN);
    }
    if (!r.in.ok() || wanted == ignored_) {
        return r.error(EINVAL);
    }
    ignored_ = wanted;
    r.ok();
    if (!wanted) {
        readable_ = true;
        *r.reason = queued_ > 0 ? write(r.port) : kNonValue;
        if (!is_value(*r.reason)) {
            *r.reason = read(r.port);
        }
    } else {
        want_output(r.port, false);
    }
}

bool TcpSocket::set_own_option(Port&, uint8_t option, int32_t value) {
    switch (option) {
        case kHighWatermark:
            high_ = static_cast<size_t>(std::max(value, 0));
            low_ = std::min(low_, high_);
            return true;
        case kLowWatermark:
            low_ = static_cast<size_t>(std::max(value, 0));
            high_ = std::max(low_, high_);
            return true;
        case kReadAhead:
            read_ahead_ = value != 0;
            return true;
        case kSendTimeout:
            send_timeout_ = value;
            return true;
        case kSendTimeoutClose:
            send_timeout_close_ = value != 0;
            return true;
        case kDelaySend:
            delay_send_ = value != 0;
            return true;
        case kShowReset:
            show_reset_ = value != 0;
            return true;
        case kLinger:
            linger_zero_ = value != 0;
            return true;
        default:
            return false;
    }
}

bool TcpSocket::get_own_option(uint8_t option, int32_t* value) const {
    switch (option) {
        case kHighWatermark:
            *value = static_cast<int32_t>(high_);
            return true;
        case kLowWatermark:
            *value = static_cast<int32_t>(low_);
            return true;
        case kSendTimeout:
            *value = send_timeout_;
            return true;
        case kSendTimeoutClose:
            *value = send_timeout_close_ ? 1 : 0;
            return true;
        case kDelaySend:
            *value = delay_send_ ? 1 : 0;
            return true;
        case kShowReset:
            *value = show_reset_ ? 1 : 0;
            return true;
        case kReadAhead:
            *value = read_ahead_ ? 1 : 0;
            return true;
        default:
            return false;
    }
}

Term TcpSocket::options_set(Port& p, const Before& was) {
    if (format_ != was.format) {
        in_headers_ = false;
    }
    if (!is_connected() || active_ == kPassive || ignored_) {
        return kNonValue;
    }
    if (was.active == kPassive) {
        end_told_ = false;
    }
    return read(p);
}

Term TcpSocket::activated_when_closed(Port& p) {
    if (closed_for_receive_ || closed_for_send_) {
        tell_closed(p, was_reset_ ? ECONNRESET : 0);
        was_reset_ = false;
        return exit_on_close_ ? end_by_peer(p) : kNonValue;
    }
    if (family_ == 0) {
        return kNonValue;  // not opened yet
    }
    tell_closed(p, 0);
    return exit_on_close_ ? end_by_peer(p) : kNonValue;
}

// ---- turns --------------------------------------------------------------------------------------

Term TcpSocket::ready(Port& p, uint32_t events) {
    constexpr uint32_t kEnd = EPOLLRDHUP | EPOLLHUP | EPOLLERR;
    if (state_ == State::connecting) {
        connect_done(p);
    }
    if (state_ == State::listening) {
        readable_ = true;
        accept_ready(p, nullptr);
        return kNonValue;
    }
    if (!is_connected()) {
        return kNonValue;
    }
    if ((events & kEnd) != 0) {
        hung_up_ = true;
    }
    if ((events & (EPOLLIN | kEnd)) != 0) {
        readable_ = true;
    }
    if (unsent() > 0 && wants_output_ && (events & (EPOLLOUT | EPOLLHUP | EPOLLERR)) != 0) {
        const Term reason = write(p);
        if (is_value(reason)) {
            return reason;
        }
    }
    return read(p);
}

Term TcpSocket::timeout(Port& p) {
    armed_ms_ = 0;
    const uint64_t now = monotonic_ms();
    uint64_t next = 0;
    const auto is_due = [&](uint64_t due_ms) {
        if (due_ms != 0 && due_ms > now) {
            next = next == 0 ? due_ms : std::min(next, due_ms);
        }
        return due_ms != 0 && due_ms <= now;
    };
    if (connector_ && is_due(connector_->due_ms)) {
        const std::optional<Waiting> w = connector_;
        connector_.reset();
        shut();  // as in OTP: the attempt cannot be taken up again
        answer_error(p, w, atoms::timeout);
    }
    if (receiver_ && is_due(receiver_->due_ms)) {
        const std::optional<Waiting> w = receiver_;
        receiver_.reset();
        answer_error(p, w, atoms::timeout);
    }
    std::vector<Waiting> late;
    std::erase_if(acceptors_, [&](const Waiting& w) {
        if (is_due(w.due_ms)) {
            late.push_back(w);
            return true;
        }
        return false;
    });
    for (const Waiting& w : late) {
        answer_error(p, w, atoms::timeout);
    }
    if (busy_ && is_due(busy_due_ms_)) {
        not_busy_error(p, atoms::timeout);
        if (send_timeout_close_) {
            answer_all(p, atoms::closed);
            drop_output(p);
            shut();
        }
    }
    if (next != 0) {
        wake_at(p, next);
    }
    if (is_connected() && unsent() > 0 && !wants_output_ && !ignored_) {
        const Term reason = write(p);
        if (is_value(reason)) {
            return reason;
        }
    }
    return read(p);
}

void TcpSocket::closing(Port& p) {
    answer_all(p, atoms::closed);
    active_ = kPassive;
    if (linger_zero_ || !is_connected()) {
        drop_output(p);
    }
    if (busy_) {
        not_busy_error(p, atoms::closed);
    }
}

void TcpSocket::close(Port& p) {
    answer_all(p, atoms::closed);
    if (busy_) {
        not_busy_error(p, atoms::closed);
    }
    drop_output(p);
    shut();
}

void TcpSocket::write_out(Port& p) {
    while (is_connected() && unsent() > 0 && !ignored_) {
        pollfd writable{fd_, POLLOUT, 0};
        if (poll(&writable, 1, kStallMs) == 0 || is_value(write(p))) {
            break;
        }
    }
}

}  // namespace minivm::port::inet
