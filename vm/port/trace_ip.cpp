#include "vm/port/trace_ip.hpp"

#include "vm/port/port_state.hpp"
#include "vm/process/timer_wheel.hpp"
#include "vm/sched/poller.hpp"

#include <netinet/in.h>
#include <sys/socket.h>
#include <unistd.h>

#include <cerrno>
#include <cstdio>
#include <string_view>

namespace minivm::port {
namespace {

constexpr std::string_view kName = "trace_ip_drv";
constexpr int kFillAlways = 2;
constexpr uint64_t kAcceptAgainMs = 100;
constexpr int kMostFlags = 3;

std::string head_of(char kind, size_t n) {
    std::string head(1, kind);
    for (int shift = 24; shift >= 0; shift -= 8) {
        head += static_cast<char>(n >> shift);
    }
    return head;
}

void let_go(int* fd) {
    if (*fd >= 0) {
        poller::forget_socket(*fd);
        ::close(*fd);
    }
    *fd = -1;
}

}  // namespace

bool TraceIp::is_command(const std::string& command) {
    return command == kName || (command.starts_with(kName) && command[kName.size()] == ' ');
}

std::unique_ptr<TraceIp> TraceIp::open(const std::string& command) {
    int port = 0;
    int most = 0;
    int flags = 0;
    if (std::sscanf(command.c_str(), "trace_ip_drv %d %d %d", &port, &most, &flags) != 3 || port < 0 || port > UINT16_MAX ||
        most < 0 || flags < 0 || flags > kMostFlags) {
        errno = EINVAL;
        return nullptr;
    }
    std::unique_ptr<TraceIp> made(new TraceIp);
    made->most_ = static_cast<size_t>(most);
    made->keeps_ = (flags & kFillAlways) != 0;
    made->listener_ = socket(AF_INET, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
    const int on = 1;
    sockaddr_in address{};
    socklen_t size = sizeof address;
    address.sin_family = AF_INET;
    address.sin_addr.s_addr = htonl(INADDR_ANY);
    address.sin_port = htons(static_cast<uint16_t>(port));
    auto* const generic = reinterpret_cast<sockaddr*>(&address);
    if (made->listener_ < 0 || setsockopt(made->listener_, SOL_SOCKET, SO_REUSEADDR, &on, sizeof on) != 0 ||
        bind(made->listener_, generic, size) != 0 || getsockname(made->listener_, generic, &size) != 0 ||
        listen(made->listener_, 1) != 0) {
        made.reset();
        errno = EINVAL;  // as in OTP, for all reasons
        return nullptr;
    }
    made->number_ = ntohs(address.sin_port);
    return made;
}

TraceIp::~TraceIp() {
    let_go(&client_);
    let_go(&listener_);
}

void TraceIp::close(Port&) {
    let_go(&client_);
    let_go(&listener_);
}

int TraceIp::opened(Port& p) {
    return poller::watch_socket(listener_, p.number, false) ? 0 : errno;
}

bool TraceIp::control(Port&, Process&, uint32_t command, const std::string&, std::string* answer, Term*) {
    *answer = {'\0', static_cast<char>(number_ >> 8), static_cast<char>(number_)};
    return command == 'p';
}

Term TraceIp::output(Port&, Term, std::string* bytes) {
    if (client_ >= 0 || keeps_) {
        enqueue(*bytes);
        send_queue();
    }
    return kNonValue;
}

// A full queue gets one more message: the number of the terms that were dropped.
void TraceIp::enqueue(const std::string& term) {
    if (queue_.size() < most_) {
        queue_.push_back({head_of(0, term.size()) + term});
        return;
    }
    if (queue_.size() == most_) {
        queue_.emplace_back();
    }
    Message& last = queue_.back();
    last.bytes = head_of(1, ++last.left_out);
}

void TraceIp::send_queue() {
    while (client_ >= 0 && !queue_.empty()) {
        Message& m = queue_.front();
        const ssize_t n = send(client_, m.bytes.data() + m.sent, m.bytes.size() - m.sent, MSG_NOSIGNAL);
        if (n >= 0) {
            m.sent += static_cast<size_t>(n);
        } else if (errno == EAGAIN) {
            return;  // ready() goes on
        } else if (errno != EINTR) {
            close_client();
            return;
        }
        if (m.sent == m.bytes.size()) {
            queue_.pop_front();
        }
    }
}

void TraceIp::close_client() {
    let_go(&client_);
    if (!keeps_) {
        queue_.clear();
    } else if (!queue_.empty()) {
        queue_.front().sent = 0;  // the next client gets the whole message
    }
}

// Takes the first client and closes the connections of others.
void TraceIp::accept_clients(Port& p) {
    for (;;) {
        int fd = accept4(listener_, nullptr, nullptr, SOCK_NONBLOCK | SOCK_CLOEXEC);
        if (fd < 0) {
            if (errno == EINTR || errno == ECONNABORTED) {
                continue;
            }
            if (errno != EAGAIN) {
                poller::wake_at(p.number, monotonic_ms() + kAcceptAgainMs);  // too few descriptors or memory for now
            }
            return;
        }
        if (client_ >= 0 || !poller::watch_socket(fd, p.number, true)) {
            ::close(fd);
        } else {
            client_ = fd;
        }
    }
}

// Reads and drops what the client sends, to notice its end.
void TraceIp::look_at_client() {
    char ignored[256];
    while (client_ >= 0) {
        const ssize_t n = recv(client_, ignored, sizeof ignored, 0);
        if (n < 0 && errno == EINTR) {
            continue;
        }
        if (n < 0 && errno == EAGAIN) {
            return;
        }
        if (n <= 0) {
            close_client();
        }
    }
}

// The listener or the client is ready, and the poller does not tell which: tries both.
Term TraceIp::ready(Port& p, uint32_t) {
    look_at_client();
    accept_clients(p);
    send_queue();
    return kNonValue;
}

Term TraceIp::timeout(Port& p) { return ready(p, 0); }

}  // namespace minivm::port
