#include "tools/repl.hpp"

#include "tools/attach.hpp"
#include "tools/client.hpp"
#include "tools/outside.hpp"
#include "tools/run.hpp"

#include <spdlog/spdlog.h>

#include <fcntl.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <csignal>
#include <cstring>

namespace minivm::tools {

namespace {

int wait_for(pid_t vm) {
    int status = 0;
    while (waitpid(vm, &status, 0) < 0 && errno == EINTR) {
    }
    return WIFSIGNALED(status) ? 128 + WTERMSIG(status) : WEXITSTATUS(status);
}

}  // namespace

int repl_command(RunOptions& options) {
    int ends[2];
    if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends) != 0) {
        spdlog::error("repl: no connection between prompt and VM: {}", std::strerror(errno));
        return 1;
    }
    const pid_t vm = fork();
    if (vm < 0) {
        spdlog::error("repl: the VM could not be started: {}", std::strerror(errno));
        return 1;
    }
    if (vm == 0) {
        ::close(ends[0]);
        // What the terminal gives is the prompt's.
        const int nothing = open("/dev/null", O_RDONLY | O_CLOEXEC);
        if (nothing >= 0) {
            dup2(nothing, STDIN_FILENO);
        }
        outside::add_client(ends[1]);
        options.is_repl = true;
        return run_command(options);
    }
    ::close(ends[1]);
    std::string error;
    int status = 0;
    bool ended = false;
    {
        Client client;
        if (!client.greet(ends[0], own_manner(false), &error)) {
            // The VM has said why it did not start.
            const int told = wait_for(vm);
            return told != 0 ? told : 1;
        }
        take_interrupts(client);
        status = converse(client, "the VM", nullptr, {}, &ended);
    }
    std::signal(SIGINT, SIG_DFL);
    const int vm_status = wait_for(vm);
    return ended || vm_status != 0 ? vm_status : status;
}

}  // namespace minivm::tools
