#include "tools/attach.hpp"

#include "loader/code_path.hpp"
#include "tools/client.hpp"
#include "tools/control_socket.hpp"

#include <spdlog/spdlog.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include <climits>
#include <csignal>
#include <cstdint>
#include <cstdlib>

namespace minivm::tools {

namespace {

// Nobody to talk to, as opposed to a command that failed.
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

// Connects and greets. 0, or the exit status.
int open_client(const std::string& socket, const char* command, const Client::Manner& manner,
                Client* client) {
    std::signal(SIGPIPE, SIG_IGN);
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
    g_client = client;
    struct sigaction action {};
    action.sa_handler = on_interrupt;
    action.sa_flags = SA_RESTART;
    sigaction(SIGINT, &action, nullptr);
    return 0;
}

// The exit status, of an answer after which nothing more is to be done.
int last_status(const std::string& socket, const char* command, const Client::Answer& answer) {
    if (answer.kind == Client::Answer::Kind::broken) {
        spdlog::error("{}: {}: {}", command, socket, answer.text);
        return kNoVm;
    }
    if (!answer.text.empty()) {
        spdlog::error("{}: {}: {}", command, socket, answer.text);
    }
    return answer.status;
}

}  // namespace

int attach_command(const AttachOptions& options) {
    Client client;
    Client::Manner manner;
    if (const int status = open_client(options.socket, "attach", manner, &client); status != 0) {
        return status;
    }
    PipeLines input(STDIN_FILENO);
    for (const std::string& text : options.commands) {
        g_interrupts = 0;
        const Client::Answer answer = client.command(text, true, &input);
        if (answer.kind != Client::Answer::Kind::done || answer.status != 0) {
            return last_status(options.socket, "attach", answer);
        }
    }
    if (!options.commands.empty()) {
        return 0;
    }
    int worst = 0;
    bool goes_on = false;
    for (;;) {
        std::string line;
        const bool is_line = input.next(client.prompt(), &line);
        if (!is_line && !goes_on) {
            return worst;
        }
        g_interrupts = 0;
        const Client::Answer answer = client.command(line, !is_line, &input);
        if (answer.kind == Client::Answer::Kind::left ||
            answer.kind == Client::Answer::Kind::broken) {
            const int status = last_status(options.socket, "attach", answer);
            return status != 0 ? status : worst;
        }
        goes_on = answer.kind == Client::Answer::Kind::more;
        if (!goes_on && answer.status != 0) {
            worst = answer.status;
        }
        if (!is_line) {
            return worst;
        }
    }
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
            spdlog::error("load: {}: with it the files are more than the {} MiB that one step takes",
                          file, kMaxFrameBytes >> 20);
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
