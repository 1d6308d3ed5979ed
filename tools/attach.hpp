// Commands that talk to a VM which runs with --listen. They return the exit status.
#pragma once

#include "tools/client.hpp"

#include <string>
#include <vector>

namespace minivm::tools {

struct AttachOptions {
    std::string socket;
    std::vector<std::string> commands;  // -c; none: from standard input
};
int attach_command(const AttachOptions& options);

// `minivm record`: on, off or filter, and categories.
int record_command(const std::string& socket, std::vector<std::string> words);

// What this process's terminal can show, if standard input and output are one.
Client::Manner own_manner(bool has_commands);
// From now on SIGINT of this process interrupts what the client's VM does.
void take_interrupts(Client& client);
// Runs the prompt: `commands`, or else standard input. Errors are shown with `command` and `name` in
// front. *ended: the VM is gone, or has hung up.
int converse(Client& client, const std::string& name, const char* command,
             const std::vector<std::string>& commands, bool* ended);

struct LoadOptions {
    std::string socket;
    std::vector<std::string> files;
    bool purge = false;  // processes that run old code are ended
};
int load_command(const LoadOptions& options);

}  // namespace minivm::tools
