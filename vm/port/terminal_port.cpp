#include "vm/port/terminal_port.hpp"

#include "vm/port/port_state.hpp"
#include "vm/process/posix.hpp"
#include "vm/process/terminal.hpp"
#include "vm/util/environment.hpp"

#include <langinfo.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <cerrno>
#include <clocale>
#include <cstdlib>
#include <cstring>

namespace minivm::port {

namespace {

constexpr uint32_t kTerminalBase = 0x018B0900;  // added to each request, so that requests of other drivers differ
enum TerminalRequest : uint32_t { kWindowSize = 100, kIsUnicode = 101, kSetUnicode = 102 };
enum TerminalCommand : uint8_t { kPut = 0, kMove = 1, kInsert = 2, kDelete = 3, kBeep = 4, kPutAndAnswer = 5 };

// There is one terminal. relaxed: a new port needs nothing from the former one except the terminal's modes, which the
// kernel keeps.
std::atomic<bool> g_is_open{false};

// The flags of OTP's driver: -c turns the terminal's own line editing off, -e its echo. (-s, signals, is not used.)
bool has_flag(const std::string& command, char flag) {
    return command.find(std::string(" -") + flag) != std::string::npos;
}

bool is_smart() {
    const std::string term = environment_variable("TERM").value_or("");
    return !term.empty() && term != "dumb" && term != "unknown";
}

int number16(const std::string& bytes) {
    return bytes.size() < 3 ? 0
                            : static_cast<int16_t>(static_cast<uint8_t>(bytes[1]) << 8 | static_cast<uint8_t>(bytes[2]));
}

}  // namespace

bool TerminalPort::is_command(const std::string& command) {
    return command == "tty_sl" || command.starts_with("tty_sl ");
}

std::shared_ptr<Driver> TerminalPort::open(const std::string& command) {
    termios usual;
    errno = 0;
    if (!is_smart() || isatty(STDOUT_FILENO) == 0 || tcgetattr(STDIN_FILENO, &usual) != 0) {
        errno = 0;
        return nullptr;
    }
    // relaxed: see above.
    if (g_is_open.exchange(true, std::memory_order_relaxed)) {
        errno = 0;
        return nullptr;
    }
    std::shared_ptr<TerminalPort> port(new TerminalPort);
    termios modes = usual;
    modes.c_iflag &= ~static_cast<tcflag_t>(ISTRIP);
    if (has_flag(command, 'c')) {
        modes.c_iflag &= ~static_cast<tcflag_t>(ICRNL);
        modes.c_lflag &= ~static_cast<tcflag_t>(ICANON);
        modes.c_oflag &= ~static_cast<tcflag_t>(OPOST);
        modes.c_cc[VMIN] = 1;
        modes.c_cc[VTIME] = 0;
    }
    if (has_flag(command, 'e')) {
        modes.c_lflag &= ~static_cast<tcflag_t>(ECHO);
    }
    terminal::will_change(STDIN_FILENO, usual);
    terminal::set_modes(STDIN_FILENO, modes);
    std::setlocale(LC_CTYPE, "");
    port->line_.set_unicode(std::strcmp(nl_langinfo(CODESET), "UTF-8") == 0);
    return port;
}

TerminalPort::~TerminalPort() {
    terminal::restore();
    // relaxed: see above.
    g_is_open.store(false, std::memory_order_relaxed);
}

int TerminalPort::input_file() const {
    return STDIN_FILENO;
}
int TerminalPort::output_file() const {
    return STDOUT_FILENO;
}

static winsize window() {
    winsize size{};
    ioctl(STDOUT_FILENO, TIOCGWINSZ, &size);
    return {size.ws_row > 0 ? size.ws_row : uint16_t{24}, size.ws_col > 0 ? size.ws_col : uint16_t{80}, 0, 0};
}

Term TerminalPort::output(Port& p, Term, std::string* bytes) {
    if (bytes->empty()) {
        return kNonValue;
    }
    line_.set_width(window().ws_col);
    const std::string_view text = std::string_view(*bytes).substr(1);
    std::string out;
    switch (static_cast<uint8_t>((*bytes)[0])) {
        case kPut:
        case kPutAndAnswer:
            out = line_.put(text);
            break;
        case kMove:
            out = line_.move(number16(*bytes));
            break;
        case kInsert:
            out = line_.insert(text);
            break;
        case kDelete:
            out = line_.erase(number16(*bytes));
            break;
        case kBeep:
            out = "\a";
            break;
        default:
            return kNonValue;
    }
    const size_t n = out.size();
    if (n > 0) {
        p.queue.push_back(std::move(out));
        p.queued += n;
    }
    const Term reason = p.watching_output ? kNonValue : write_queue(p);
    p.busy = p.busy || (p.options.busy_above != 0 && p.queued >= p.options.busy_above);
    if ((*bytes)[0] == kPutAndAnswer) {
        Heap h;
        tell(p, p.owner, h, atoms::ok);
    }
    return reason;
}

bool TerminalPort::control(Port&, Process&, uint32_t command, const std::string& bytes, std::string* answer, Term*) {
    switch (command - kTerminalBase) {
        case kWindowSize: {
            const winsize size = window();
            const uint32_t shown[] = {size.ws_col, size.ws_row};
            answer->assign(reinterpret_cast<const char*>(shown), sizeof(shown));
            return true;
        }
        case kIsUnicode:
            answer->assign(1, line_.unicode() ? 1 : 0);
            return true;
        case kSetUnicode:
            if (bytes.size() != 1) {
                return false;
            }
            answer->assign(1, line_.unicode() ? 1 : 0);  // the old value
            line_.set_unicode(bytes[0] != 0);
            return true;
        default:
            return false;
    }
}

}  // namespace minivm::port
