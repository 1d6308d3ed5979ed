#include "tools/client.hpp"

#include "tools/control_socket.hpp"

#include <climits>

#include <poll.h>
#include <sys/eventfd.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <cerrno>
#include <cstdint>
#include <cstring>

namespace minivm::tools {

namespace {

// How long a VM may take to say hello: it may be busy, but not dead.
constexpr int kGreetingMs = 15000;

// Set while a frame is being sent: an interrupt must not get between its bytes.
std::atomic<bool> g_sending{false};
std::atomic<bool> g_interrupt_waits{false};

constexpr const char* kNoVmOfOurs = "what answers there is no VM of this kind";

uint32_t number_at(std::string_view bytes, size_t at) {
    uint32_t n = 0;
    for (size_t i = at; i < at + 4 && i < bytes.size(); ++i) {
        n = n << 8 | static_cast<uint8_t>(bytes[i]);
    }
    return n;
}

bool send_all(int fd, std::string_view bytes) {
    while (!bytes.empty()) {
        const ssize_t n = ::send(fd, bytes.data(), bytes.size(), MSG_NOSIGNAL);
        if (n < 0 && errno != EINTR) {
            return false;
        }
        bytes.remove_prefix(n > 0 ? static_cast<size_t>(n) : 0);
    }
    return true;
}

// What an 'X' frame says: its status and a reason.
Client::Answer goodbye(std::string_view content) {
    Client::Answer answer;
    answer.kind = Client::Answer::Kind::left;
    answer.status = content.empty() ? 0 : static_cast<uint8_t>(content[0]);
    answer.text = content.substr(std::min<size_t>(1, content.size()));
    return answer;
}

}  // namespace

bool PipeLines::next(const std::string&, std::string* line) {
    for (;;) {
        const size_t end = buffer_.find('\n');
        if (end != std::string::npos) {
            line->assign(buffer_, 0, end + 1);
            buffer_.erase(0, end + 1);
            return true;
        }
        if (ended_) {
            line->swap(buffer_);
            buffer_.clear();
            return !line->empty();
        }
        while (!client_.attend(fd_, {})) {
        }
        char bytes[4096];
        const ssize_t n = read(fd_, bytes, sizeof bytes);
        if (n > 0) {
            buffer_.append(bytes, static_cast<size_t>(n));
        } else if (n == 0 || errno != EINTR) {
            ended_ = true;
        }
    }
}

Client::~Client() {
    if (fd_ >= 0) {
        ::close(fd_);
    }
    if (interrupted_ >= 0) {
        ::close(interrupted_);
    }
}

bool Client::greet(int fd, const Manner& manner, std::string* error) {
    fd_ = fd;
    interrupted_ = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
    std::string hello;
    append_number(&hello, kProtocolVersion);
    append_number(&hello, manner.columns);
    hello.push_back(static_cast<char>((manner.is_terminal ? 1 : 0) | (manner.has_colours ? 2 : 0)));
    char directory[PATH_MAX];
    hello += getcwd(directory, sizeof directory) != nullptr ? directory : "/";
    // A VM that refuses us says so before it hangs up, so its answer counts, and not whether we could
    // send.
    is_terminal_ = manner.is_terminal;
    red_errors_ = manner.has_colours && isatty(STDERR_FILENO) != 0;
    send('H', hello);
    for (;;) {
        char kind = 0;
        std::string content;
        if (!receive(&kind, &content, error, kGreetingMs)) {
            return false;
        }
        if (kind == 'X') {
            *error = goodbye(content).text;
            return false;
        }
        if (kind == 'H') {
            if (content.size() < 4) {
                *error = kNoVmOfOurs;
                return false;
            }
            if (number_at(content, 0) != kProtocolVersion) {
                *error = "the VM speaks version " + std::to_string(number_at(content, 0)) +
                         " of the protocol, and this program version " +
                         std::to_string(kProtocolVersion);
                return false;
            }
            greeting_ = content.substr(4);
        }
        if (kind == 'D') {
            prompt_ = content.substr(std::min<size_t>(1, content.size()));
            return true;
        }
    }
}

bool Client::send(char kind, std::string_view content) {
    // seq_cst: with the handler on this very thread, order in the program is all that counts.
    g_sending.store(true);
    const bool ok = send_all(fd_, frame(kind, content));
    // seq_cst: as above.
    g_sending.store(false);
    if (g_interrupt_waits.exchange(false)) {
        send_all(fd_, frame('I', {}));
    }
    return ok;
}

void Client::interrupt() {
    const uint64_t one = 1;
    [[maybe_unused]] const ssize_t n = write(interrupted_, &one, sizeof one);
    // seq_cst: see send().
    if (g_sending.load()) {
        g_interrupt_waits.store(true);
        return;
    }
    static constexpr char kFrame[] = {0, 0, 0, 1, 'I'};
    static_cast<void>(::send(fd_, kFrame, sizeof kFrame, MSG_NOSIGNAL | MSG_DONTWAIT));
}

bool Client::is_bad_length() const {
    const size_t length = received_.size() < 4 ? 1 : number_at(received_, 0);
    return length == 0 || length > kMaxFrameBytes;
}

bool Client::take(char* kind, std::string* content) {
    if (received_.size() < 5 || is_bad_length()) {
        return false;
    }
    const size_t length = number_at(received_, 0);
    if (received_.size() < 4 + length) {
        return false;
    }
    *kind = received_[4];
    content->assign(received_, 5, length - 1);
    received_.erase(0, 4 + length);
    return true;
}

bool Client::receive(char* kind, std::string* content, std::string* error, int timeout_ms) {
    while (!take(kind, content)) {
        if (is_bad_length()) {
            *error = kNoVmOfOurs;
            return false;
        }
        pollfd readable{fd_, POLLIN, 0};
        const int ready = poll(&readable, 1, timeout_ms);
        if (ready < 0 && errno == EINTR) {
            continue;
        }
        if (ready == 0) {
            *error = "the VM does not answer";
            return false;
        }
        char bytes[65536];
        const ssize_t n = recv(fd_, bytes, sizeof bytes, 0);
        if (n > 0) {
            received_.append(bytes, static_cast<size_t>(n));
        } else if (n == 0 || errno != EINTR) {
            *error = "the VM has closed the connection";
            return false;
        }
    }
    return true;
}

void Client::take_interrupt() {
    uint64_t count = 0;
    [[maybe_unused]] const ssize_t n = read(interrupted_, &count, sizeof count);
}

bool Client::attend(int file, std::string_view before) {
    // A signal may come at any time, also while no poll() runs: so an eventfd tells of it.
    pollfd files[3] = {{file, POLLIN, 0}, {fd_, POLLIN, 0}, {interrupted_, POLLIN, 0}};
    // Frames that came while the last command ran have been received already.
    bool shown = false;
    for (;;) {
        while (!received_.empty()) {
            char kind = 0;
            std::string content;
            if (!take(&kind, &content)) {
                break;
            }
            if (kind == 'O' || kind == 'E') {
                show(STDOUT_FILENO, shown ? "" : before);
                kind == 'O' ? show(STDOUT_FILENO, content) : show_error(content);
                shown = true;
            } else if (kind == 'X') {
                goodbye_ = content;
            } else if (kind == 'T') {
                is_completing_ = false;
            }
        }
        if (shown) {
            errno = 0;
            return false;
        }
        if (poll(files, 3, -1) < 0) {
            continue;
        }
        if (files[2].revents != 0) {
            take_interrupt();
            errno = EINTR;
            return false;
        }
        if (files[1].revents != 0) {
            char bytes[65536];
            const ssize_t n = recv(fd_, bytes, sizeof bytes, MSG_DONTWAIT);
            if (n > 0) {
                received_.append(bytes, static_cast<size_t>(n));
                continue;
            }
            files[1].fd = -1;  // gone; the next command will say so
        }
        if (files[0].revents != 0) {
            return true;
        }
    }
}

void Client::show(int stream, std::string_view text) {
    const size_t newline = text.rfind('\n');
    if (newline == text.npos) {
        line_ += text;
    } else {
        line_ = text.substr(newline + 1);
    }
    while (!text.empty() && !output_gone_) {
        const ssize_t n = write(stream, text.data(), text.size());
        if (n < 0 && errno != EINTR) {
            // A closed standard error is no reason to end.
            output_gone_ = stream == STDOUT_FILENO;
            return;
        }
        text.remove_prefix(n > 0 ? static_cast<size_t>(n) : 0);
    }
}

void Client::show_error(std::string_view text) {
    if (!red_errors_ || !text.ends_with('\n')) {
        show(STDERR_FILENO, text);
        return;
    }
    text.remove_suffix(1);
    show(STDERR_FILENO, "\033[31m" + std::string(text) + "\033[0m\n");
}

Client::Answer Client::command(std::string_view text, bool is_whole, Lines* input) {
    std::string content(1, is_whole ? 1 : 0);
    content += text;
    return ask('C', content, input);
}

Client::Answer Client::ask(char kind, std::string_view content, Lines* input) {
    if (content.size() >= kMaxFrameBytes) {
        Answer answer;
        answer.kind = Answer::Kind::done;
        answer.prompt = prompt_;
        show(STDERR_FILENO,
             "too long: a command has at most " + std::to_string(kMaxFrameBytes >> 20) + " MiB\n");
        return answer;
    }
    send(kind, content);
    const Answer answer = wait(input);
    take_interrupt();  // it was for the command
    return answer;
}

Client::Answer Client::wait(Lines* input) {
    Answer answer;
    if (!goodbye_.empty()) {
        return goodbye(goodbye_);
    }
    for (;;) {
        char kind = 0;
        std::string content;
        if (!receive(&kind, &content, &answer.text, -1)) {
            return answer;
        }
        switch (kind) {
            case 'O':
                show(STDOUT_FILENO, content);
                break;
            case 'E':
                show_error(content);
                break;
            case 'R': {
                std::string line;
                const std::string prompt = line_;
                if (is_terminal_ && !prompt.empty()) {
                    // The reader of the line shows the prompt once more.
                    std::fputs("\r\033[K", stdout);
                    std::fflush(stdout);
                }
                const bool is_line = input != nullptr && input->next(prompt, &line);
                line_.clear();
                send('A', (is_line ? "\1" : std::string(1, '\0')) + line);
                break;
            }
            case 'D':
                answer.kind = Answer::Kind::done;
                answer.status = content.empty() ? 1 : static_cast<uint8_t>(content[0]);
                prompt_ = content.substr(std::min<size_t>(1, content.size()));
                answer.prompt = prompt_;
                return answer;
            case 'N':
                answer.kind = Answer::Kind::more;
                answer.prompt = content;
                return answer;
            case 'X':
                return goodbye(content);
            case 'T':
                is_completing_ = false;  // it comes too late
                break;
            default:
                break;  // of a later version: not for us
        }
        if (output_gone_) {
            // A reader that closes our output wants no more of it, as head(1) does with any program.
            answer.kind = Answer::Kind::left;
            answer.status = 0;
            return answer;
        }
    }
}

// The content of the next 'T' frame. False: it takes too long, or the VM has gone.
bool Client::next_completion(std::string* content) {
    std::string error;
    char kind = 0;
    while (goodbye_.empty() && receive(&kind, content, &error, kGreetingMs)) {
        switch (kind) {
            case 'T':
                is_completing_ = false;
                return true;
            case 'O':
                show(STDOUT_FILENO, *content);
                break;
            case 'E':
                show_error(*content);
                break;
            case 'X':
                goodbye_ = *content;
                break;
            default:
                break;  // of a later version: not for us
        }
    }
    return false;
}

bool Client::complete(std::string_view text, std::string* common, std::string* choices) {
    std::string content;
    // A VM completes one line at a time. An answer that came too late for its line belongs to nobody.
    if (is_completing_ && !next_completion(&content)) {
        return false;
    }
    if (!goodbye_.empty() || !send('T', text)) {
        return false;
    }
    is_completing_ = true;
    if (!next_completion(&content) || content.size() < 4) {
        return false;
    }
    const size_t n = number_at(content, 0);
    *common = content.substr(4, n);
    *choices = content.size() > 4 + n ? content.substr(4 + n) : "";
    return true;
}

}  // namespace minivm::tools
