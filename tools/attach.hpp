// Commands that talk to a VM which runs with --listen. They return the exit status.
#pragma once

#include <string>
#include <vector>

namespace minivm::tools {

struct AttachOptions {
    std::string socket;
    std::vector<std::string> commands;  // -c; none: from standard input
};
int attach_command(const AttachOptions& options);

struct LoadOptions {
    std::string socket;
    std::vector<std::string> files;
    bool purge = false;  // processes that run old code are ended
};
int load_command(const LoadOptions& options);

}  // namespace minivm::tools
