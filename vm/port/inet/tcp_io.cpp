// Reading and writing of streams, and the handling of their errors.
#include "vm/port/inet/tcp.hpp"

#include "vm/port/port_state.hpp"
#include "vm/process/posix.hpp"
#include "vm/process/process_record.hpp"
#include "vm/process/timer_wheel.hpp"
#include "vm/term/binary.hpp"
#include "vm/term/local_atoms.hpp"

#include <fcntl.h>
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
LOCAL_ATOM(atom_empty_out_q, "empty_out_q")
LOCAL_ATOM(atom_sendfile, "sendfile")
LOCAL_ATOM(atom_http, "http")

constexpr size_t kLongestRead = 1024 * 1024;
constexpr int kReadsInTurn = 16;

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

// content: the data as a list or binary; is_packet: a packet that is a term of its own (HTTP, TLS).
void TcpSocket::give_term(Port& p, Term content, bool is_packet, Heap& h) {
    if (receiver_) {
        const std::optional<Waiting> w = receiver_;
        receiver_.reset();
        answer(p, w, make_tuple(h, atoms::ok, content));
        return;
    }
    if (is_packet) {
        const bool is_tls = format_ == packets::Format::ssl_tls;
        tell_message(p, p.owner, is_tls ? content : make_tuple(h, atom_http(), p.id, content));
    } else if (deliver_term_) {
        tell_message(p, p.owner, make_tuple(h, atom_tcp(), p.id, content));
    } else {
        tell_message(p, p.owner, make_tuple(h, p.id, make_tuple(h, atoms::data, content)));
    }
    count_message(p);
}

bool TcpSocket::divert(size_t busy_above) {
    if (format_ != packets::Format::head4) {
        return false;
    }
    high_ = busy_above;
    low_ = busy_above / 2;
    buffer_ = std::max<uint32_t>(buffer_, 64 * 1024);  // so that one read gets many packets
    return true;
}

void TcpSocket::give_data(Port& p, const void* bytes, size_t n) {
    p.input += n;
    if (p.sink != nullptr && !receiver_) {
        p.sink->packet(static_cast<const uint8_t*>(bytes), n);
        return;
    }
    Heap h;
    // {Port, {data, Data}} contains a list unless both the port and the socket have the option `binary`.
    const bool as_list = !receiver_ && !deliver_term_ && !p.options.binary;
    give_term(p, as_list ? make_string(h, static_cast<const char*>(bytes), n) : data_term(h, bytes, n), false, h);
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
            wake_at(p, monotonic_ms());  // goes on in timeout(), after the other ports
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
        // After a full read there may be more bytes; after the poller reported the end, that end is still to be read.
        readable_ = got == wanted || hung_up_ || !watched_;
        if (in_.empty() && format_ == packets::Format::raw && (!receiver_ || receive_size_ == 0 || receive_size_ == got)) {
            give_data(p, scratch.data(), got);
        } else {
            if (in_at_ > 0) {
                in_.erase(0, in_at_);
                in_at_ = 0;
            }
            in_.append(reinterpret_cast<const char*>(scratch.data()), got);
        }
    }
    return kNonValue;
}

void TcpSocket::tell_closed(Port& p, int error) {
    Heap h;
    if (error != 0) {
        tell_message(p, p.owner, make_tuple(h, atom_tcp_error(), p.id, posix_error_atom(error)));
    }
    tell_message(p, p.owner, make_tuple(h, atom_tcp_closed(), p.id));
}

Term TcpSocket::peer_closed(Port& p) {
    // The next send gets `closed`.
    closed_for_send_ = !busy_ && file_ == nullptr;
    drop_input();
    if (p.sink != nullptr) {
        p.sink->ended(atoms::normal);  // before the owner learns of it, and ends the port with a reason of its own
    }
    if (busy_) {
        not_busy_error(p, atoms::closed);
    }
    if (active_ != kPassive) {
        end_told_ = true;
        tell_closed(p, 0);
        return exit_on_close_ ? end_by_peer(p) : kNonValue;
    }
    if (exit_on_close_) {
        drop_output(p);
        shut();
    }
    answer_error(p, receiver_, atoms::closed);
    receiver_.reset();
    return kNonValue;
}

Term TcpSocket::read_failed(Port& p, int error) {
    drop_input();
    if (busy_) {
        not_busy_error(p, atoms::closed);
    }
    if (active_ != kPassive) {
        end_told_ = true;
        tell_closed(p, error);
        if (exit_on_close_) {
            return end_by_peer(p);
        }
        drop_output(p);
        shut();
        return kNonValue;
    }
    if (exit_on_close_) {
        drop_output(p);
        shut();
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
    queued_ += bytes.size() - first;
    if (queue_.empty()) {
        queue_offset_ = first;
        queue_.push_back(std::move(bytes));
    } else {
        queue_.push_back(first == 0 ? std::move(bytes) : bytes.substr(first));
    }
}

// Closes the file before it sends the message: the receiver may count the open files.
void TcpSocket::file_is_done(Port& p, Term result) {
    const Term pid = file_->pid;
    file_.reset();
    Heap h;
    tell_message(p, pid, make_tuple(h, atom_sendfile(), p.id, result));
}

void TcpSocket::drop_output(Port& p) {
    queue_.clear();
    queue_offset_ = queued_ = 0;
    tell_empty(p);
    if (file_ != nullptr) {
        Heap h;
        file_is_done(p, make_tuple(h, atoms::error, atoms::closed));
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

void TcpSocket::not_busy_error(Port& p, Term reason) {
    Heap h;
    not_busy(p, make_tuple(h, atoms::error, reason));
}

Term TcpSocket::output(Port& p, Term from, std::string* bytes) {
    Heap h;
    size_t first = 0;
    const Term reference = take_reference(h, *bytes, &first);
    const auto say = [&](Term result) {
        reply(p, from, result, reference);
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
        return write_failed(p, EPIPE, from, reference);
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
            return write_failed(p, errno, from, reference);
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

Term TcpSocket::send_packets(Port& p, std::deque<std::string>* packets) {
    constexpr size_t kSmall = 4096;  // bytes; packets up to this size are copied together into one piece
    if (!is_connected() || ignored_) {
        return kNonValue;
    }
    if (shut_later_ >= 0) {
        return write_failed(p, EPIPE, kNonValue, kNonValue);
    }
    const bool waits = unsent() > 0;
    std::string pieces;
    for (std::string& packet : *packets) {
        put(&pieces, packet.size(), 4);
        count_output(packet.size() + 4);
        p.output += packet.size() + 4;
        if (packet.size() <= kSmall) {
            pieces += packet;
        } else {
            enqueue(std::move(pieces), 0);
            pieces.clear();
            enqueue(std::move(packet), 0);
        }
    }
    enqueue(std::move(pieces), 0);
    const Term reason = waits ? kNonValue : write(p);
    if (!is_value(reason) && queued_ >= high_) {
        busy_ = p.busy = true;
    }
    return reason;
}

bool TcpSocket::write_queue(size_t limit, int* error) {
    while (limit > 0 && queued_ > 0) {
        iovec parts[64];
        size_t count = 0;
        size_t skip = queue_offset_;
        size_t total = 0;
        for (std::string& s : queue_) {
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
            const size_t rest = queue_.front().size() - queue_offset_;
            if (n < rest) {
                queue_offset_ += n;
                break;
            }
            n -= rest;
            queue_.pop_front();
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
            break;  // the end of the file
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
    file_is_done(p, result);
    return true;
}

void TcpSocket::tell_empty(Port& p) {
    Heap h;
    for (const Term pid : wait_for_empty_) {
        tell_message(p, pid, make_tuple(h, atom_empty_out_q(), p.id));
    }
    wait_for_empty_.clear();
}

void TcpSocket::written(Port& p) {
    if (busy_ && queued_ <= low_) {
        not_busy(p, atoms::ok);
    }
    if (unsent() > 0) {
        return;
    }
    queue_offset_ = 0;
    want_output(p, false);
    tell_empty(p);
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
            const bool gone = error == ECONNRESET || error == ENOTCONN || error == EPIPE;
            const Term why = gone ? atoms::closed : posix_error_atom(error);
            file_is_done(p, make_tuple(h, atoms::error, why));
            if (error == EINVAL || error == EIO) {  // an error of the file, not of the socket
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
        drop_output(p);
        if (exit_on_close_) {
            return end_by_peer(p);
        }
        shut();
        return kNonValue;
    }
    drop_output(p);
    drop_input();
    answer_all(p, atoms::closed);
    shut();
    reply(p, caller, result, reference);
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
    file_.reset(new File{own, at, length, 0, queued_, r.caller.id});
    r.ok();
    *r.reason = write(r.port);
}

}  // namespace minivm::port::inet
