#include "vm/process/os_signals.hpp"

#include "vm/process/registry.hpp"
#include "vm/process/signal.hpp"
#include "vm/term/atom_table.hpp"
#include "vm/term/heap.hpp"
#include "vm/util/otp_release.hpp"

#include <unistd.h>

#include <array>
#include <atomic>
#include <mutex>

namespace minivm::os_signals {

namespace {

struct Known {
    const char* name;
    int number;
    int since = 0;  // the first OTP release that knows it
};
constexpr Known kKnown[] = {{"sighup", SIGHUP},   {"sigquit", SIGQUIT}, {"sigabrt", SIGABRT},
                            {"sigalrm", SIGALRM}, {"sigterm", SIGTERM}, {"sigusr1", SIGUSR1},
                            {"sigusr2", SIGUSR2}, {"sigchld", SIGCHLD}, {"sigstop", SIGSTOP},
                            {"sigtstp", SIGTSTP}, {"sigwinch", SIGWINCH, 28},
                            {"sigcont", SIGCONT, 28}};

std::array<std::atomic<Action>, NSIG> g_actions{};

}  // namespace

sigset_t blocked_set() {
    sigset_t set;
    sigemptyset(&set);
    sigaddset(&set, SIGINT);
    for (const Known& k : kKnown) {
        if (k.number == SIGABRT || k.number == SIGSTOP) {
            continue;
        }
        sigaddset(&set, k.number);
        // A signal that is blocked is queued even if it is ignored.
        struct sigaction inherited {};
        if (sigaction(k.number, nullptr, &inherited) == 0 && inherited.sa_handler == SIG_IGN) {
            // relaxed: there is no other thread yet.
            g_actions[static_cast<size_t>(k.number)].store(Action::ignore,
                                                           std::memory_order_relaxed);
        }
    }
    return set;
}

bool set_action(Term name, Action action) {
    for (const Known& k : kKnown) {
        if (atom_table::text(name) == k.name && by_release::at_least(k.since)) {
            // relaxed: nothing else is read because of it; a signal that comes meanwhile may get the old
            // or the new action. Its partner is action_of() on the thread that waits for signals.
            g_actions[static_cast<size_t>(k.number)].store(action, std::memory_order_relaxed);
            return true;
        }
    }
    return false;
}

Action action_of(int signal) {
    // relaxed: as in set_action(), its partner.
    return g_actions[static_cast<size_t>(signal)].load(std::memory_order_relaxed);
}

bool notify(int signal) {
    static const Term server = atom_table::intern("erl_signal_server");
    static const Term word = atom_table::intern("notify");
    if (!is_value(registry::whereis(server))) {
        return false;
    }
    for (const Known& k : kKnown) {
        if (k.number == signal) {
            Heap h;
            deliver_message(server, make_tuple(h, word, atom_table::intern(k.name)));
        }
    }
    return true;
}

namespace {
std::mutex g_pipe_lock;
int g_pipe = -1;
}  // namespace

void set_terminal_pipe(int descriptor) {
    const std::lock_guard lock(g_pipe_lock);
    if (g_pipe >= 0) {
        close(g_pipe);
    }
    g_pipe = descriptor;
}

void tell_terminal(int signal) {
    const std::lock_guard lock(g_pipe_lock);
    if (g_pipe >= 0) {
        // If the pipe is full its reader has enough to read.
        [[maybe_unused]] const ssize_t n = write(g_pipe, signal == SIGWINCH ? "w" : "c", 1);
    }
}

void act_by_default(int signal) {
    struct sigaction action {};
    action.sa_handler = SIG_DFL;
    sigaction(signal, &action, nullptr);
    sigset_t one;
    sigemptyset(&one);
    sigaddset(&one, signal);
    kill(getpid(), signal);
    // All other threads block it, so this thread gets it, which ends or stops the program.
    pthread_sigmask(SIG_UNBLOCK, &one, nullptr);
    pthread_sigmask(SIG_BLOCK, &one, nullptr);
}

}  // namespace minivm::os_signals
