#include "tools/attach.hpp"

#include "loader/code_path.hpp"
#include "tools/client.hpp"
#include "tools/control_socket.hpp"
#include "tools/line_editor.hpp"

#include <climits>
#include <spdlog/spdlog.h>

#include <sys/ioctl.h>
#include <unistd.h>

#include <csignal>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <memory>

namespace minivm::tools {

namespace {

// The exit status where there is no VM to talk to, as opposed to a command that failed.
constexpr int kNoVm = 2;

Client* g_client = nullptr;
volatile std::sig_atomic_t g_interrupts = 0;

// The first asks the VM to give up the command, the third ends a client whose VM does not.
void on_interrupt(int) {
    g_interrupts = g_interrupts + 1;
    if (g_interrupts > 2) {
        _exit(128 + SIGINT);
    }
    g_client->interrupt();
}

bool is_terminal() {
    return isatty(STDIN_FILENO) != 0 && isatty(STDOUT_FILENO) != 0;
}

// Connects and greets. 0, or the exit status.
int open_client(const std::string& socket, const char* command, const Client::Manner& manner,
                Client* client) {
    std::string error;
    const int fd = connect_to_vm(socket, &error);
    if (fd < 0) {
        spdlog::error("{}: {}", command, error);
        return kNoVm;
    }
    if (!client->greet(fd, manner, &error)) {
        spdlog::error("{}: {}: {}", command, socket, error);
        return kNoVm;
    }
    take_interrupts(*client);
    return 0;
}

// Shows an answer after which nothing more is to be done; returns the exit status.
int last_status(const std::string& socket, const char* command, const Client::Answer& answer) {
    if (command == nullptr) {
        return answer.status;  // the VM is part of this program, and its end speaks for itself
    }
    if (!answer.text.empty()) {
        spdlog::error("{}: {}: {}", command, socket, answer.text);
    }
    return answer.kind == Client::Answer::Kind::broken ? kNoVm : answer.status;
}

}  // namespace

int converse(Client& client, const std::string& name, const char* command,
             const std::vector<std::string>& commands, bool* ended) {
    PipeLines pipe(STDIN_FILENO, client);
    std::unique_ptr<Lines> terminal;
    if (commands.empty() && is_terminal()) {
        terminal = terminal_lines(client);
        std::printf("%s; :help lists the commands\n", client.greeting().c_str());
        std::fflush(stdout);
    }
    Lines& input = terminal != nullptr ? *terminal : pipe;
    const auto last = [&](const Client::Answer& answer) {
        *ended = answer.kind == Client::Answer::Kind::broken;
        return last_status(name, command, answer);
    };
    for (const std::string& text : commands) {
        g_interrupts = 0;
        const Client::Answer answer = client.command(text, true, &input);
        if (answer.kind != Client::Answer::Kind::done || answer.status != 0) {
            return last(answer);
        }
    }
    if (!commands.empty()) {
        return 0;
    }
    int worst = 0;
    bool goes_on = false;
    std::string prompt = client.prompt();
    for (;;) {
        std::string line;
        const bool is_line = input.next(prompt, &line);
        if (!is_line && !goes_on) {
            return worst;
        }
        g_interrupts = 0;
        const Client::Answer answer = client.command(line, !is_line, &input);
        if (answer.kind == Client::Answer::Kind::left ||
            answer.kind == Client::Answer::Kind::broken) {
            const int status = last(answer);
            return status != 0 ? status : worst;
        }
        goes_on = answer.kind == Client::Answer::Kind::more;
        prompt = answer.prompt;
        // What goes wrong at a terminal has been seen.
        if (!goes_on && answer.status != 0 && terminal == nullptr) {
            worst = answer.status;
        }
        if (!is_line) {
            return worst;
        }
    }
}

Client::Manner own_manner(bool has_commands) {
    Client::Manner manner;
    manner.is_terminal = !has_commands && is_terminal();
    // https://no-color.org: set and not empty.
    const char* const refused = std::getenv("NO_COLOR");
    const char* const kind = std::getenv("TERM");
    manner.has_colours = manner.is_terminal && (refused == nullptr || *refused == '\0') &&
                         kind != nullptr && std::string_view(kind) != "dumb";
    winsize size{};
    if (ioctl(STDOUT_FILENO, TIOCGWINSZ, &size) == 0 && size.ws_col > 0) {
        manner.columns = size.ws_col;
    }
    return manner;
}

void take_interrupts(Client& client) {
    std::signal(SIGPIPE, SIG_IGN);
    g_client = &client;
    struct sigaction action {};
    action.sa_handler = on_interrupt;
    sigaction(SIGINT, &action, nullptr);
}

int attach_command(const AttachOptions& options) {
    Client client;
    if (const int status =
            open_client(options.socket, "attach", own_manner(!options.commands.empty()), &client);
        status != 0) {
        return status;
    }
    bool ended = false;
    return converse(client, options.socket, "attach", options.commands, &ended);
}

int record_command(const std::string& socket, std::vector<std::string> words) {
    if (words.size() > 1 && (words[0] == "start" || words[0] == "stop")) {
        // Relative to our folder, not to the VM's.
        words[1] = std::filesystem::absolute(words[1]).lexically_normal();
    }
    Client client;
    if (const int status = open_client(socket, "record", {}, &client); status != 0) {
        return status;
    }
    std::string content;
    for (const std::string& word : words) {
        content += (content.empty() ? "" : std::string(1, '\0')) + word;
    }
    return last_status(socket, "record", client.ask('L', content, nullptr));
}

int load_command(const LoadOptions& options) {
    std::string content;
    content.push_back(options.purge ? 1 : 0);
    append_number(&content, static_cast<uint32_t>(options.files.size()));
    for (const std::string& file : options.files) {
        std::vector<uint8_t> bytes;
        std::string error;
        if (!loader::read_file(file, &bytes, &error)) {
            spdlog::error("load: {}", error);
            return 1;
        }
        char whole[PATH_MAX];
        const std::string name = realpath(file.c_str(), whole) != nullptr ? whole : file;
        append_number(&content, static_cast<uint32_t>(name.size()));
        content += name;
        append_number(&content, static_cast<uint32_t>(bytes.size()));
        content.append(reinterpret_cast<const char*>(bytes.data()), bytes.size());
        if (content.size() >= kMaxFrameBytes) {
            spdlog::error(
                "load: {}: with it the files are more than the {} MiB that one step takes", file,
                kMaxFrameBytes >> 20);
            return 1;
        }
    }
    Client client;
    if (const int status = open_client(options.socket, "load", {}, &client); status != 0) {
        return status;
    }
    return last_status(options.socket, "load", client.ask('M', content, nullptr));
}

}  // namespace minivm::tools
