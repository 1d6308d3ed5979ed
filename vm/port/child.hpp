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
    std::string directory;                 // empty: the VM's
    bool read = true;                      // the VM reads what the program writes
    bool write = true;                     // the program reads what the VM writes
    bool standard_files = true;            // the program's files are 0 and 1; else 3 and 4
    bool errors_too = false;               // the program's file 2 is the pipe that the VM reads
};

struct Child {
    pid_t pid = 0;  // 0: the program could not be loaded; start_error says why
    int start_error = 0;
    int from = -1;  // the VM's ends of the pipes; not blocking
    int to = -1;
};

// False: out of pipes or processes (errno). A program that cannot be loaded is no failure here: the
// port treats it as one that ended at once with the status Child::start_error.
bool start_child(const ChildOptions& options, Child* out);

// Whether start_child() has started this program, so that its SIGCHLD is the VM's own. True also for a
// while after forget_child(), as waitpid() may return before the signal comes.
bool is_child(pid_t pid);
void forget_child(pid_t pid);

}  // namespace minivm::port
