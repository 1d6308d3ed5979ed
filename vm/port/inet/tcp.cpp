#include "vm/port/inet/tcp.hpp"

#include "vm/port/port_state.hpp"
#include "vm/process/posix.hpp"
#include "vm/process/process_record.hpp"
#include "vm/process/process_table.hpp"
#include "vm/process/timer_wheel.hpp"
#include "vm/progress/thread_progress.hpp"
#include "vm/term/binary.hpp"
#include "vm/term/local_atoms.hpp"

#include <fcntl.h>
#include <poll.h>
#include <sys/epoll.h>
#include <sys/sendfile.h>
#include <sys/uio.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>

namespace minivm::port::inet {

LOCAL_ATOM(atom_tcp, "tcp")
LOCAL_ATOM(atom_tcp_closed, "tcp_closed")
LOCAL_ATOM(atom_tcp_error, "tcp_error")
LOCAL_ATOM(atom_tcp_passive, "tcp_passive")
LOCAL_ATOM(atom_empty_out_q, "empty_out_q")
LOCAL_ATOM(atom_sendfile, "sendfile")
LOCAL_ATOM(atom_http, "http")

constexpr size_t kLongestReceive = 64 * 1024 * 1024;
constexpr size_t kLongestRead = 1024 * 1024;
constexpr int kReadsInTurn = 16;
constexpr int kStallMs = 5000;  // nothing was taken for so long: it is given up at the VM's end

TcpSocket::~TcpSocket() {
    busy_heap_.clear();
    delete queue_;
    if (file_ != nullptr) {
        ::close(file_->fd);
        delete file_;
    }
}

Term TcpSocket::passive_tag() const {
    return atom_tcp_passive();
}

// ---- who waits ----------------------------------------------------------------------------------

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
    h.clear();
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
        return;  // told of something that came before
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

void TcpSocket::accept(Request& r) {
    const auto timeout_ms = static_cast<uint32_t>(r.in.i32());
    if (state_ != State::listening || !r.in.ok() || r.in.left() != 0) {
        return r.error(EINVAL);
    }
    // Those that ended while they waited: nothing tells of that.
    std::erase_if(acceptors_, [](const Waiting& w) {
        const thread_progress::DelaySection section;
        return process_table::lookup(w.pid) == nullptr;
    });
    acceptors_.push_back(waiting(r, timeout_ms));
    const uint64_t due_ms = acceptors_.back().due_ms;
    *r.reason = accept_ready(r.port, &r.caller);
    if (!acceptors_.empty() && due_ms != 0) {
        if (timeout_ms == 0 && acceptors_.back().pid == r.caller.id) {
            answer_error(r.port, acceptors_.back(), atoms::timeout);
            acceptors_.pop_back();
        } else {
            wake_at(r.port, due_ms);
        }
    }
}

Term TcpSocket::accept_ready(Port& p, Process* self) {
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
    return kNonValue;
}

bool TcpSocket::give_accepted(Port& p, int fd, const Waiting& to, Process* self) {
    auto socket = std::make_shared<TcpSocket>();
    TcpSocket& s = *socket;
    s.set_up(fd);
    s.state_ = State::connected;
    s.family_ = family_;
    s.multipath_ = multipath_;
    s.binary_ = binary_;
    s.deliver_term_ = deliver_term_;
    s.exit_on_close_ = exit_on_close_;
    s.format_ = format_;
    s.format_code_ = format_code_;
    s.limits_ = limits_;
    s.header_ = header_;
    s.buffer_ = buffer_;
    s.buffer_set_ = buffer_set_;
    s.high_ = high_;
    s.low_ = low_;
    s.send_timeout_ = send_timeout_;
    s.send_timeout_close_ = send_timeout_close_;
    s.show_reset_ = show_reset_;
    s.linger_zero_ = linger_zero_;
    OpenOptions options;
    options.name = p.options.name;
    options.driver = std::move(socket);
    const Term id = self != nullptr && self->id == to.pid ? port::open(*self, std::move(options))
                                                          : port::open_for(to.pid, std::move(options));
    if (!is_value(id)) {
        return false;
    }
    Heap h;
    answer(p, to, make_tuple(h, atoms::ok, id));
    h.clear();
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
            shut(r.port);
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
            *value = 1;
            return true;
        case kNonBlockingSend:
            *value = 0;
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
        // Whoever waited for a packet does not get it any more: it goes to the owner.
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

// ---- reading ------------------------------------------------------------------------------------

packets::Format TcpSocket::format_now() const {
    if (in_headers_ && format_ == packets::Format::http) {
        return packets::Format::http_header;
    }
    if (in_headers_ && format_ == packets::Format::http_bin) {
        return packets::Format::http_header_bin;
    }
    return format_;
}

void TcpSocket::drop_input() {
    in_.clear();
    in_.shrink_to_fit();
    in_at_ = 0;
}

bool TcpSocket::wants_input() const {
    return is_connected() && !ignored_ && (receiver_ || (active_ != kPassive && !end_told_));
}

// content: of a packet that is a term of its own; else the data.
void TcpSocket::give_term(Port& p, Term content, bool is_packet, Heap& h) {
    if (receiver_) {
        const std::optional<Waiting> w = receiver_;
        receiver_.reset();
        answer(p, w, make_tuple(h, atoms::ok, content));
        return;
    }
    if (is_packet) {
        const bool is_tls = format_ == packets::Format::ssl_tls;
        send_message_to_pid(p.owner, is_tls ? content : make_tuple(h, atom_http(), p.id, content));
    } else if (deliver_term_) {
        send_message_to_pid(p.owner, make_tuple(h, atom_tcp(), p.id, content));
    } else {
        send_message_to_pid(p.owner, make_tuple(h, p.id, make_tuple(h, atoms::data, content)));
    }
    count_message(p);
}

void TcpSocket::give_data(Port& p, const void* bytes, size_t n) {
    Heap h;
    p.input += n;
    // As data of the port it is a list, unless both the port and the socket say `binary`.
    const bool as_list = !receiver_ && !deliver_term_ && !p.options.binary;
    give_term(p, as_list ? make_string(h, static_cast<const char*>(bytes), n) : data_term(h, bytes, n), false, h);
    h.clear();
}

Term TcpSocket::give(Port& p, bool* given, size_t* more) {
    *given = false;
    *more = 1;
    const size_t have = in_.size() - in_at_;
    const auto* data = reinterpret_cast<const uint8_t*>(in_.data()) + in_at_;
    if (have == 0) {
        *more = receiver_ ? std::max<size_t>(receive_size_, 1) : 1;
        return kNonValue;
    }
    size_t used = have;
    if (format_ == packets::Format::raw) {
        if (receiver_ && receive_size_ != 0) {
            if (have < receive_size_) {
                *more = receive_size_ - have;
                return kNonValue;
            }
            used = receive_size_;
        }
        give_data(p, data, used);
    } else {
        const packets::Format format = format_now();
        packets::Limits limits = limits_;
        limits.line = buffer_;
        const int64_t length = packets::find_length(format, data, have, limits);
        if (length == packets::kInvalid) {
            return read_failed(p, EMSGSIZE);
        }
        if (length == packets::kMore || static_cast<size_t>(length) > have) {
            *more = length == packets::kMore ? 1 : static_cast<size_t>(length) - have;
            return kNonValue;
        }
        used = static_cast<size_t>(length);
        if (packets::is_made(format)) {
            Heap h;
            Term t = packets::made(h, format, data, used);
            if (format == packets::Format::ssl_tls) {
                t = make_tuple(h, tuple_element(t, 0), p.id, tuple_element(t, 2), tuple_element(t, 3),
                               tuple_element(t, 4));
            } else {
                const bool is_end = t == packets::end_of_headers();
                const bool is_wrong = is_tuple_of(t, 2);
                in_headers_ = is_wrong ? in_headers_ : !is_end;
            }
            p.input += used;
            give_term(p, t, true, h);
            h.clear();
        } else {
            const packets::Part part = packets::body(format, data, used);
            give_data(p, data + part.first, part.end - part.first);
        }
    }
    *given = true;
    in_at_ += used;
    if (in_at_ == in_.size()) {
        in_.clear();
        in_at_ = 0;
        if (in_.capacity() > 4096) {
            in_.shrink_to_fit();
        }
    }
    return kNonValue;
}

Term TcpSocket::read(Port& p) {
    static thread_local std::vector<uint8_t> scratch;
    for (int reads = 0; wants_input();) {
        bool given = false;
        size_t more = 0;
        const Term reason = give(p, &given, &more);
        if (is_value(reason) || !wants_input()) {
            return reason;
        }
        if (given) {
            continue;
        }
        if (!readable_ && watched_) {
            return kNonValue;
        }
        if (++reads > kReadsInTurn) {
            wake_at(p, monotonic_ms());  // others have their turn
            return kNonValue;
        }
        const bool exact = format_ == packets::Format::raw && receiver_ && receive_size_ != 0;
        const size_t wanted = std::min(kLongestRead, exact ? more : std::max<size_t>(more, buffer_));
        if (scratch.size() < wanted) {
            scratch.resize(wanted);
        }
        const ssize_t n = recv(fd_, scratch.data(), wanted, 0);
        if (n < 0) {
            if (errno == EINTR) {
                continue;
            }
            if (errno == EAGAIN) {
                readable_ = false;
                if (watch(p)) {
                    return kNonValue;
                }
            }
            return errno == ECONNRESET && !show_reset_ ? peer_closed(p) : read_failed(p, errno);
        }
        if (n == 0) {
            return peer_closed(p);
        }
        const auto got = static_cast<size_t>(n);
        count_input(got);
        // As many as asked for: there may be more. The end is no byte that could be missing.
        readable_ = got == wanted || hung_up_ || !watched_;
        if (in_.empty() && format_ == packets::Format::raw && (!receiver_ || receive_size_ == 0 || receive_size_ == got)) {
            give_data(p, scratch.data(), got);
        } else {
            if (in_at_ > 0) {
                in_.erase(0, in_at_);
                in_at_ = 0;
            }
            if (in_.capacity() - in_.size() < got) {
                in_.reserve(std::max(in_.size() + got, std::min(in_.size() + more, kLongestReceive)));
            }
            in_.append(reinterpret_cast<const char*>(scratch.data()), got);
        }
    }
    return kNonValue;
}

void TcpSocket::tell_closed(Port& p, int error) {
    Heap h;
    if (error != 0) {
        send_message_to_pid(p.owner, make_tuple(h, atom_tcp_error(), p.id, posix_error_atom(error)));
    }
    send_message_to_pid(p.owner, make_tuple(h, atom_tcp_closed(), p.id));
    h.clear();
}

Term TcpSocket::peer_closed(Port& p) {
    // What the next send is told.
    closed_for_send_ = !busy_ && file_ == nullptr;
    drop_input();
    if (busy_) {
        Heap h;
        not_busy(p, make_tuple(h, atoms::error, atoms::closed));
        h.clear();
    }
    if (active_ != kPassive) {
        end_told_ = true;
        tell_closed(p, 0);
        return exit_on_close_ ? end_by_peer(p) : kNonValue;
    }
    if (exit_on_close_) {
        drop_output(p);
        shut(p);
    }
    answer_error(p, receiver_, atoms::closed);
    receiver_.reset();
    return kNonValue;
}

Term TcpSocket::read_failed(Port& p, int error) {
    drop_input();
    if (busy_) {
        Heap h;
        not_busy(p, make_tuple(h, atoms::error, atoms::closed));
        h.clear();
    }
    if (active_ != kPassive) {
        end_told_ = true;
        tell_closed(p, error);
        if (exit_on_close_) {
            return end_by_peer(p);
        }
        drop_output(p);
        shut(p);
        return kNonValue;
    }
    if (exit_on_close_) {
        drop_output(p);
        shut(p);
    }
    answer_error(p, receiver_, posix_error_atom(error));
    receiver_.reset();
    return kNonValue;
}

// ---- writing ------------------------------------------------------------------------------------

void TcpSocket::enqueue(std::string bytes, size_t first) {
    if (first == bytes.size()) {
        return;
    }
    if (queue_ == nullptr) {
        queue_ = new std::deque<std::string>;
    }
    queued_ += bytes.size() - first;
    if (queue_->empty()) {
        queue_offset_ = first;
        queue_->push_back(std::move(bytes));
    } else {
        queue_->push_back(first == 0 ? std::move(bytes) : bytes.substr(first));
    }
}

void TcpSocket::drop_output(Port& p) {
    delete queue_;
    queue_ = nullptr;
    queue_offset_ = queued_ = 0;
    if (file_ != nullptr) {
        Heap h;
        send_message_to_pid(file_->pid,
                            make_tuple(h, atom_sendfile(), p.id, make_tuple(h, atoms::error, atoms::closed)));
        h.clear();
        ::close(file_->fd);
        delete file_;
        file_ = nullptr;
    }
    want_output(p, false);
}

void TcpSocket::not_busy(Port& p, Term result) {
    busy_ = false;
    busy_due_ms_ = 0;
    const Term caller = busy_caller_;
    busy_caller_ = kNonValue;
    reply(p, caller, result, busy_reference_);
    busy_reference_ = kNonValue;
    busy_heap_.clear();
    wake_waiting(p);
}

Term TcpSocket::output(Port& p, Term from, std::string* bytes) {
    Heap h;
    size_t first = 0;
    const Term reference = take_reference(h, *bytes, &first);
    const auto say = [&](Term result) {
        reply(p, from, result, reference);
        h.clear();
        return kNonValue;
    };
    if (!is_connected()) {
        Term why = posix_error_atom(ENOTCONN);
        if (closed_for_send_) {
            closed_for_send_ = false;
            why = was_reset_ ? posix_error_atom(ECONNRESET) : atoms::closed;
        }
        return say(make_tuple(h, atoms::error, why));
    }
    if (shut_later_ >= 0) {
        const Term reason = write_failed(p, EPIPE, from, reference);
        h.clear();
        return reason;
    }
    const size_t n = bytes->size() - first;
    std::string header;
    if (format_ == packets::Format::head1 || format_ == packets::Format::head2 ||
        format_ == packets::Format::head4) {
        put(&header, n, format_ == packets::Format::head1 ? 1 : format_ == packets::Format::head2 ? 2 : 4);
    }
    count_output(n + header.size());
    if (unsent() > 0) {
        enqueue(std::move(header), 0);
        enqueue(std::move(*bytes), first);
        if (queued_ >= high_) {
            if (send_timeout_ == 0) {
                return say(make_tuple(h, atoms::error, atoms::timeout));
            }
            if (busy_) {
                reply(p, busy_caller_, atoms::ok, busy_reference_);
                busy_heap_.clear();
            }
            busy_ = p.busy = true;
            busy_caller_ = from;
            busy_reference_ = is_value(reference) ? copy_term(reference, busy_heap_, false) : kNonValue;
            h.clear();
            if (send_timeout_ > 0) {
                busy_due_ms_ = monotonic_ms() + static_cast<uint64_t>(send_timeout_) + 1;
                wake_at(p, busy_due_ms_);
            }
            return kNonValue;
        }
        return say(atoms::ok);
    }
    if (n + header.size() == 0) {
        return say(atoms::ok);
    }
    size_t written = 0;
    if (delay_send_ && !ignored_) {
        wake_at(p, monotonic_ms());
    } else if (!ignored_) {
        iovec parts[2] = {{header.data(), header.size()}, {bytes->data() + first, n}};
        msghdr message{};
        message.msg_iov = header.empty() ? parts + 1 : parts;
        message.msg_iovlen = header.empty() ? 1 : 2;
        const ssize_t sent = sendmsg(fd_, &message, MSG_NOSIGNAL);
        if (sent < 0 && errno != EAGAIN && errno != EINTR) {
            const Term reason = write_failed(p, errno, from, reference);
            h.clear();
            return reason;
        }
        written = sent < 0 ? 0 : static_cast<size_t>(sent);
    }
    if (written < n + header.size()) {
        const size_t of_header = std::min(written, header.size());
        enqueue(std::move(header), of_header);
        enqueue(std::move(*bytes), first + written - of_header);
        if (!ignored_ && !delay_send_) {
            want_output(p, true);
        }
    }
    return say(atoms::ok);
}

bool TcpSocket::write_queue(size_t limit, int* error) {
    while (limit > 0 && queued_ > 0) {
        iovec parts[64];
        size_t count = 0;
        size_t skip = queue_offset_;
        size_t total = 0;
        for (std::string& s : *queue_) {
            const size_t n = std::min(s.size() - skip, limit - total);
            parts[count++] = {s.data() + skip, n};
            total += n;
            skip = 0;
            if (count == std::size(parts) || total == limit) {
                break;
            }
        }
        msghdr message{};
        message.msg_iov = parts;
        message.msg_iovlen = count;
        const ssize_t sent = sendmsg(fd_, &message, MSG_NOSIGNAL);
        if (sent < 0) {
            if (errno == EINTR) {
                continue;
            }
            *error = errno;
            return false;
        }
        auto n = static_cast<size_t>(sent);
        queued_ -= n;
        limit -= n;
        if (file_ != nullptr) {
            file_->before -= std::min(file_->before, n);
        }
        while (n > 0) {
            const size_t rest = queue_->front().size() - queue_offset_;
            if (n < rest) {
                queue_offset_ += n;
                break;
            }
            n -= rest;
            queue_->pop_front();
            queue_offset_ = 0;
        }
    }
    return true;
}

bool TcpSocket::write_file(Port& p, int* error) {
    constexpr int64_t kPiece = 0x7FFFF000;
    while (file_->left > 0) {
        off_t at = file_->at;
        const ssize_t sent = sendfile(fd_, file_->fd, &at, static_cast<size_t>(std::min(file_->left, kPiece)));
        if (sent < 0) {
            if (errno == EINTR) {
                continue;
            }
            *error = errno;
            return false;
        }
        if (sent == 0) {
            break;  // the file is at its end
        }
        file_->at += sent;
        file_->left -= sent;
        file_->sent += sent;
        count_output(static_cast<size_t>(sent));
    }
    Heap h;
    const auto total = static_cast<uint64_t>(file_->sent);
    const Term low = make_unsigned(h, total & 0xFFFFFFFF);
    const Term result = make_tuple(h, atoms::ok, low, make_unsigned(h, total >> 32));
    send_message_to_pid(file_->pid, make_tuple(h, atom_sendfile(), p.id, result));
    h.clear();
    ::close(file_->fd);
    delete file_;
    file_ = nullptr;
    return true;
}

void TcpSocket::written(Port& p) {
    if (busy_ && queued_ <= low_) {
        not_busy(p, atoms::ok);
    }
    if (unsent() > 0) {
        return;
    }
    delete queue_;
    queue_ = nullptr;
    queue_offset_ = 0;
    want_output(p, false);
    Heap h;
    for (const Term pid : wait_for_empty_) {
        send_message_to_pid(pid, make_tuple(h, atom_empty_out_q(), p.id));
    }
    h.clear();
    wait_for_empty_.clear();
    if (shut_later_ >= 0) {
        ::shutdown(fd_, shut_later_);
        shut_later_ = -1;
    }
}

Term TcpSocket::write(Port& p) {
    int error = 0;
    bool ok = true;
    if (file_ != nullptr) {
        ok = write_queue(file_->before, &error) && write_file(p, &error);
        if (!ok && error != EAGAIN && file_ != nullptr && file_->before == 0) {
            Heap h;
            send_message_to_pid(file_->pid, make_tuple(h, atom_sendfile(), p.id,
                                                       make_tuple(h, atoms::error, posix_error_atom(error))));
            h.clear();
            ::close(file_->fd);
            delete file_;
            file_ = nullptr;
            if (error == EINVAL || error == EIO) {  // the file's own trouble
                ok = true;
            }
        }
    }
    ok = ok && write_queue(SIZE_MAX, &error);
    if (!ok && error != EAGAIN) {
        return write_failed(p, error, kNonValue, kNonValue);
    }
    if (!ok) {
        want_output(p, true);
    }
    written(p);
    return kNonValue;
}

Term TcpSocket::write_failed(Port& p, int error, Term caller, Term reference) {
    const bool show = error == ECONNRESET && show_reset_;
    const Term why = show ? posix_error_atom(error) : atoms::closed;
    Heap h;
    const Term result = make_tuple(h, atoms::error, why);
    const bool answered = is_value(caller) || busy_;
    if (busy_) {
        not_busy(p, result);
    }
    if (active_ != kPassive) {
        end_told_ = true;
        tell_closed(p, show ? error : 0);
        reply(p, caller, result, reference);
        h.clear();
        drop_output(p);
        if (exit_on_close_) {
            return end_by_peer(p);
        }
        shut(p);
        return kNonValue;
    }
    drop_output(p);
    drop_input();
    answer_all(p, atoms::closed);
    shut(p);
    reply(p, caller, result, reference);
    h.clear();
    closed_for_send_ = !answered;
    was_reset_ = show;
    closed_for_receive_ = true;
    return kNonValue;
}

void TcpSocket::send_file(Request& r) {
    int fd = -1;
    const char* handle = r.in.bytes(sizeof(fd));
    const auto at = static_cast<int64_t>(r.in.u64());
    const auto length = static_cast<int64_t>(r.in.u64());
    if (!r.in.ok() || r.in.left() != 0 || at < 0 || length < 0) {
        return r.error(EINVAL);
    }
    if (!is_connected()) {
        return r.error(ENOTCONN);
    }
    if (file_ != nullptr) {
        return r.error(EINVAL);
    }
    std::memcpy(&fd, handle, sizeof(fd));
    const int own = fcntl(fd, F_DUPFD_CLOEXEC, 0);
    if (own < 0) {
        return r.error(errno);
    }
    file_ = new File{own, at, length, 0, queued_, r.caller.id};
    r.ok();
    *r.reason = write(r.port);
}

// ---- turns --------------------------------------------------------------------------------------

Term TcpSocket::ready(Port& p, uint32_t events) {
    constexpr uint32_t kEnd = EPOLLRDHUP | EPOLLHUP | EPOLLERR;
    if (state_ == State::connecting) {
        connect_done(p);
    }
    if (state_ == State::listening) {
        readable_ = true;
        return accept_ready(p, nullptr);
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
        shut(p);  // what comes of it later is nobody's
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
        Heap h;
        not_busy(p, make_tuple(h, atoms::error, atoms::timeout));
        h.clear();
        if (send_timeout_close_) {
            answer_all(p, atoms::closed);
            drop_output(p);
            shut(p);
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
        Heap h;
        not_busy(p, make_tuple(h, atoms::error, atoms::closed));
        h.clear();
    }
}

void TcpSocket::close(Port& p) {
    answer_all(p, atoms::closed);
    if (busy_) {
        Heap h;
        not_busy(p, make_tuple(h, atoms::error, atoms::closed));
        h.clear();
    }
    drop_output(p);
    shut(p);
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
