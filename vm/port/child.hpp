// Starting a program for a port.
// Threads: any; blocks until the program has been loaded.
#pragma once

#include <sys/types.h>

#include <string>
#include <vector>

namespace minivm::port {

struct ChildOptions {
    std::string file;                      // a path; /bin/sh for commands
    std::vector<std::string> arguments;    // the first is what the program sees as its own name
    std::vector<std::string> environment;  // NAME=VALUE
    std::string directory;                 // empty: ours
    bool read = true;                      // we read what it writes
    bool write = true;                     // it reads what we write
    bool standard_files = true;            // over its files 0 and 1; else 3 and 4
    bool errors_too = false;               // its file 2 is where its file 1 is
};

struct Child {
    pid_t pid = 0;  // 0: it could not be started; start_error says why
    int start_error = 0;
    int from = -1;  // our ends; not blocking
    int to = -1;
};

// False: there are no pipes or processes left (errno). A program that cannot be loaded is no
// failure here: it is as if it had ended at once, with the status Child::start_error.
bool start_child(const ChildOptions& options, Child* out);

// Whether start_child() has started it and the SIGCHLD that it sends is the VM's own: also for a while
// after forget_child(), as the signal may come later than whoever waits for the program.
bool is_child(pid_t pid);
void forget_child(pid_t pid);

}  // namespace minivm::port
