// Reading and writing of a port, and its messages to the owner and the tracer.
#include "vm/port/port_state.hpp"

#include "vm/process/posix.hpp"
#include "vm/sched/services.hpp"
#include "vm/term/binary.hpp"
#include "vm/term/local_atoms.hpp"

#include <poll.h>
#include <sys/uio.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <climits>

namespace minivm::port {

std::atomic<uint64_t> g_input{0};
std::atomic<uint64_t> g_output{0};

LOCAL_ATOM(atom_control, "control")
LOCAL_ATOM(atom_eol, "eol")
LOCAL_ATOM(atom_noeol, "noeol")

constexpr size_t kReadBytes = 64 * 1024;

// ---- tracing ------------------------------------------------------------------------

void trace_event(Port& p, tracing::Flag flag, Term tag, Term what, Term extra) {
    if (tracing::is_traced(p.traced, flag)) {
        tracing::g_hooks->port_event(p.traced, flag, tag, what, extra);
    }
}
void trace_received(Port& p, Term from, Term tag, Term argument) {
    if (tracing::is_traced(p.traced, tracing::kReceive)) {
        Heap h;
        const Term what = is_value(argument) ? make_tuple(h, tag, argument) : tag;
        trace_event(p, tracing::kReceive, atoms::receive, make_tuple(h, from, what));
    }
}
void trace_command(Port& p, Term from, const std::string& bytes) {
    if (is_value(from) && tracing::is_traced(p.traced, tracing::kReceive)) {
        Heap h;
        trace_received(p, from, atoms::command, make_binary(h, bytes.data(), bytes.size()));
    }
}

bool control_driver(Port& p, Process& caller, uint32_t command, const std::string& bytes, std::string* answer, Term* reason) {
    const TracedTurn turn(p, atom_control());
    if (tracing::is_traced(p.traced, tracing::kReceive)) {
        Heap h;
        trace_received(p, caller.id, atom_control(),
                       make_tuple(h, make_unsigned(h, command), make_binary(h, bytes.data(), bytes.size())));
    }
    // The pointer keeps a driver alive that ends its port in control().
    const std::shared_ptr<Driver> driver = p.options.driver;
    const bool done = driver != nullptr && driver->control(p, caller, command, bytes, answer, reason);
    if (done && tracing::is_traced(p.traced, tracing::kSend)) {
        Heap h;
        const Term data = make_binary(h, answer->data(), answer->size());
        trace_event(p, tracing::kSend, atoms::send, make_tuple(h, p.id, make_tuple(h, atom_control(), data)), caller.id);
    }
    return done;
}

// ---- messages to the owner ----------------------------------------------------------------------

void tell_message(Port& p, Term to, Term message) {
    trace_event(p, tracing::kSend, atoms::send, message, to);
    send_message_to_pid(to, message);
}
void tell(const Port& p, Term to, Heap& h, Term content) {
    if (is_value(to)) {
        send_message_to_pid(to, make_tuple(h, p.id, content));
    }
}
// Sends {Port, Content} to the owner and traces it.
static void tell_traced(Port& p, Heap& h, Term content) {
    if (tracing::is_traced(p.traced, tracing::kSend)) {
        trace_event(p, tracing::kSend, atoms::send, make_tuple(h, p.id, content), p.owner);
    }
    tell(p, p.owner, h, content);
}

static void tell_data(Port& p, const Framing::Piece& piece) {
    Heap h;
    Term bytes = p.options.binary
                     ? make_binary(h, piece.data, piece.size)
                     : make_string(h, reinterpret_cast<const char*>(piece.data), piece.size);
    if (p.options.framing.mode() == Framing::Mode::line) {
        bytes = make_tuple(h, piece.eol ? atom_eol() : atom_noeol(), bytes);
    }
    tell_traced(p, h, make_tuple(h, atoms::data, bytes));
}

// Sends {Port, {data, [Byte... | Data]}} to the owner.
static void tell_answer(Port& p, const DriverAnswer& answer) {
    Heap h;
    const auto* data = reinterpret_cast<const uint8_t*>(answer.data.data());
    Term bytes = !answer.has_data   ? kNil
                 : p.options.binary ? make_binary(h, data, answer.data.size())
                                    : make_string(h, answer.data.data(), answer.data.size());
    for (auto c = answer.head.rbegin(); c != answer.head.rend(); ++c) {
        bytes = cons(h, make_small(static_cast<uint8_t>(*c)), bytes);
    }
    tell_traced(p, h, make_tuple(h, atoms::data, bytes));
}

Term CommandDriver::output(Port& p, Term, std::string* bytes) {
    std::optional<DriverAnswer> answer;
    const int error = command(*bytes, &answer);
    if (answer) {
        tell_answer(p, *answer);
    }
    return error != 0 ? posix_error_atom(error) : kNonValue;
}
Term Driver::ready(Port&, uint32_t) {
    return kNonValue;
}
Term Driver::timeout(Port&) {
    return kNonValue;
}

void stop_output(Port& p) {
    if (p.watching_output) {
        poller::forget(p.options.to, Ready::output);
        p.watching_output = false;
    }
}

void stop_input(Port& p) {
    if (p.watching_input) {
        poller::forget(p.options.from, Ready::input);
        p.watching_input = false;
    }
}

void wake_waiting(Port& p) {
    p.busy = false;
    for (const Term pid : p.waiting) {
        wake_up_pid(pid);
    }
    p.waiting.clear();
}

// ---- output -------------------------------------------------------------------------------------

// A file that is not the port's own may block: poll() says whether it is writable, and then at most PIPE_BUF
// bytes are written, which a writable pipe accepts without blocking.
static ssize_t write_some(const Port& p) {
    if (!p.options.own_files) {
        pollfd writable{p.options.to, POLLOUT, 0};
        if (poll(&writable, 1, 0) == 0) {
            errno = EAGAIN;
            return -1;
        }
        const std::string& first = p.queue.front();
        return write(p.options.to, first.data() + p.queue_offset,
                     std::min<size_t>(first.size() - p.queue_offset, PIPE_BUF));
    }
    iovec parts[16];
    int n = 0;
    size_t skip = p.queue_offset;
    for (const std::string& s : p.queue) {
        parts[n].iov_base = const_cast<char*>(s.data()) + skip;
        parts[n].iov_len = s.size() - skip;
        skip = 0;
        if (++n == 16) {
            break;
        }
    }
    return writev(p.options.to, parts, n);
}

Term write_queue(Port& p) {
    while (p.queued > 0) {
        const ssize_t written = write_some(p);
        if (written < 0) {
            if (errno == EINTR) {
                continue;
            }
            if (errno == EAGAIN) {
                break;
            }
            return posix_error_atom(errno);
        }
        size_t n = static_cast<size_t>(written);
        p.queued -= n;
        while (n > 0) {
            const size_t rest = p.queue.front().size() - p.queue_offset;
            if (n < rest) {
                p.queue_offset += n;
                break;
            }
            n -= rest;
            p.queue.pop_front();
            p.queue_offset = 0;
        }
    }
    if (p.queued == 0) {
        p.queue.clear();
        stop_output(p);
    } else if (!p.watching_output) {
        p.watching_output = poller::watch(p.options.to, p.number, Ready::output);
        if (!p.watching_output) {
            return posix_error_atom(errno);
        }
    }
    if (p.busy && p.queued <= p.options.free_below) {
        wake_waiting(p);
    }
    return kNonValue;
}

Term output(Port& p, Term from, std::string* bytes) {
    const size_t n = bytes->size();
    const unsigned header = p.options.framing.header_bytes();
    if ((header == 1 && n > 0xFF) || (header == 2 && n > 0xFFFF) ||
        (header == 4 && n > 0xFFFFFFFF)) {
        return atoms::einval;
    }
    p.output += n;
    if (p.options.driver != nullptr) {
        return p.options.driver->output(p, from, bytes);
    }
    // relaxed: a statistic, which orders nothing.
    g_output.fetch_add(n, std::memory_order_relaxed);
    if (p.options.to < 0) {
        return kNonValue;  // opened for input only
    }
    if (header != 0) {
        std::string length(header, '\0');
        for (unsigned i = 0; i < header; ++i) {
            length[i] = static_cast<char>(n >> 8 * (header - 1 - i));
        }
        p.queue.push_back(std::move(length));
        p.queued += header;
    }
    if (n > 0) {
        p.queue.push_back(std::move(*bytes));
        p.queued += n;
    }
    // If the poller watches the output, older bytes are queued and go first; ready() writes.
    if (!p.watching_output) {
        const Term reason = write_queue(p);
        if (is_value(reason)) {
            return reason;
        }
    }
    if (p.options.busy_above != 0 && p.queued >= p.options.busy_above) {
        p.busy = true;
    }
    return kNonValue;
}

// ---- input --------------------------------------------------------------------------------------

Term input_finished(Port& p) {
    if (p.options.exit_status) {
        if (!p.child_has_ended) {
            return kNonValue;
        }
        const int status = WIFSIGNALED(p.child_status) ? 128 + WTERMSIG(p.child_status)
                                                       : WEXITSTATUS(p.child_status);
        Heap h;
        tell_traced(p, h, make_tuple(h, atoms::exit_status, make_small(status)));
    }
    // An unfinished line is sent after the status, as in OTP.
    for (Framing::Piece piece; p.options.framing.last(&piece);) {
        tell_data(p, piece);
    }
    if (p.options.eof) {
        Heap h;
        tell_traced(p, h, atoms::eof);
        return kNonValue;
    }
    return atoms::normal;
}

// A file that is not the port's own may block, and another reader may have taken the bytes since the poller reported
// them: the menu of ^C, or a program at the same terminal. read() would block with the port's lock, which writers need.
static ssize_t read_some(const Port& p, uint8_t* buffer, size_t size) {
    pollfd readable{p.options.from, POLLIN, 0};
    if (!p.options.own_files && poll(&readable, 1, 0) == 0) {
        errno = EAGAIN;
        return -1;
    }
    return read(p.options.from, buffer, size);
}

Term read_input(Port& p) {
    // One buffer: only the poller thread reads files, for all ports.
    static uint8_t buffer[kReadBytes];
    const ssize_t n = read_some(p, buffer, sizeof(buffer));
    Framing& framing = p.options.framing;
    Framing::Piece piece;
    if (n < 0) {
        return errno == EAGAIN || errno == EINTR ? kNonValue : posix_error_atom(errno);
    }
    if (n == 0) {
        stop_input(p);
        p.input_ended = true;
        return input_finished(p);
    }
    const auto bytes = static_cast<size_t>(n);
    p.input += bytes;
    // relaxed: a statistic, which orders nothing.
    g_input.fetch_add(bytes, std::memory_order_relaxed);
    framing.feed(buffer, bytes);
    bool given = false;
    while (framing.next(&piece)) {
        tell_data(p, piece);
        given = true;
    }
    if (p.options.longest_packet != 0 && framing.announced() > p.options.longest_packet) {
        return posix_error_atom(EMSGSIZE);
    }
    if (given && p.options.one_read) {
        stop_input(p);
    }
    return kNonValue;
}

}  // namespace minivm::port
