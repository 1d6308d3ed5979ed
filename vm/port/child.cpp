#include "vm/port/child.hpp"

#include <fcntl.h>
#include <spawn.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <csignal>
#include <cstdio>
#include <mutex>

namespace minivm::port {

namespace {

struct Pipe {
    int read = -1;
    int write = -1;

    Pipe() = default;
    Pipe(const Pipe&) = delete;
    Pipe& operator=(const Pipe&) = delete;
    ~Pipe() {
        for (const int fd : {read, write}) {
            if (fd >= 0) {
                close(fd);
            }
        }
    }
    bool open() {
        int fds[2];
        if (pipe2(fds, O_CLOEXEC) != 0) {
            return false;
        }
        read = fds[0];
        write = fds[1];
        // dup2() moves the program's files to their numbers one after the other: no pipe may have a
        // number that another one will get.
        return lift(&read) && lift(&write);
    }

private:
    static bool lift(int* fd) {
        constexpr int kPlaces = 5;
        if (*fd >= kPlaces) {
            return true;
        }
        const int higher = fcntl(*fd, F_DUPFD_CLOEXEC, kPlaces);
        if (higher < 0) {
            return false;
        }
        close(*fd);
        *fd = higher;
        return true;
    }
};

std::vector<char*> pointers(const std::vector<std::string>& texts) {
    std::vector<char*> list;
    list.reserve(texts.size() + 1);
    for (const std::string& t : texts) {
        list.push_back(const_cast<char*>(t.c_str()));  // exec does not write to them
    }
    list.push_back(nullptr);
    return list;
}

// The program gets a session of its own and the default action of all signals, except that SIGPIPE
// stays ignored, as in OTP.
void set_attributes(posix_spawnattr_t* attributes) {
    sigset_t none;
    sigset_t all;
    sigemptyset(&none);
    sigfillset(&all);
    sigdelset(&all, SIGPIPE);
    posix_spawnattr_init(attributes);
    posix_spawnattr_setsigmask(attributes, &none);
    posix_spawnattr_setsigdefault(attributes, &all);
    posix_spawnattr_setflags(
        attributes,
        static_cast<short>(POSIX_SPAWN_SETSIGMASK | POSIX_SPAWN_SETSIGDEF | POSIX_SPAWN_SETSID));
}

int take(int* fd) {
    const int result = *fd;
    *fd = -1;
    fcntl(result, F_SETFL, fcntl(result, F_GETFL) | O_NONBLOCK);
    return result;
}

// start_child() holds it while it starts a program, which may end before its pid is in g_children.
std::mutex g_children_lock;
std::vector<pid_t> g_children;        // guarded by g_children_lock
std::array<pid_t, 64> g_ended{};      // likewise; the last that forget_child() removed
size_t g_ended_count = 0;             // likewise

}  // namespace

bool is_child(pid_t pid) {
    const std::lock_guard lock(g_children_lock);
    return std::find(g_children.begin(), g_children.end(), pid) != g_children.end() ||
           std::find(g_ended.begin(), g_ended.end(), pid) != g_ended.end();
}
void forget_child(pid_t pid) {
    const std::lock_guard lock(g_children_lock);
    std::erase(g_children, pid);
    g_ended[g_ended_count++ % g_ended.size()] = pid;
}

bool start_child(const ChildOptions& o, Child* out) {
    Pipe input;   // the program reads it
    Pipe output;  // the program writes it
    if ((o.write && !input.open()) || (o.read && !output.open())) {
        return false;
    }
    posix_spawn_file_actions_t files;
    posix_spawn_file_actions_init(&files);
    int first_to_close = 3;
    if (o.write) {
        posix_spawn_file_actions_adddup2(&files, input.read, o.standard_files ? 0 : 3);
    }
    if (o.read) {
        posix_spawn_file_actions_adddup2(&files, output.write, o.standard_files ? 1 : 4);
    }
    if (!o.standard_files) {
        first_to_close = 5;
    }
    if (o.errors_too && o.read) {
        posix_spawn_file_actions_adddup2(&files, output.write, 2);
    }
    posix_spawn_file_actions_addclosefrom_np(&files, first_to_close);
    if (!o.directory.empty()) {
        posix_spawn_file_actions_addchdir_np(&files, o.directory.c_str());
    }
    posix_spawnattr_t attributes;
    set_attributes(&attributes);
    const std::vector<char*> arguments = pointers(o.arguments);
    const std::vector<char*> environment = pointers(o.environment);
    pid_t pid = 0;
    int error = 0;
    {
        const std::lock_guard lock(g_children_lock);
        error = posix_spawn(&pid, o.file.c_str(), &files, &attributes, arguments.data(),
                            environment.data());
        if (error == 0) {
            g_children.push_back(pid);
        }
    }
    posix_spawnattr_destroy(&attributes);
    posix_spawn_file_actions_destroy(&files);
    if (error == EAGAIN || error == ENOMEM || error == EMFILE || error == ENFILE) {
        errno = error;
        return false;
    }
    out->pid = error == 0 ? pid : 0;
    out->start_error = error;
    if (error != 0 && !o.directory.empty() && access(o.directory.c_str(), X_OK) != 0) {
        std::fprintf(stderr, "spawn: Could not cd to %s\r\n", o.directory.c_str());
    }
    if (o.write) {
        out->to = take(&input.write);
    }
    if (o.read) {
        out->from = take(&output.read);
    }
    return true;
}

}  // namespace minivm::port
