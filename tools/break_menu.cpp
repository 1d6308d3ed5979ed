#include "tools/break_menu.hpp"

#include "vm/bif/system/crash_dump.hpp"
#include "vm/process/signal.hpp"
#include "vm/process/terminal.hpp"
#include "vm/progress/thread_progress.hpp"
#include "vm/sched/pause.hpp"
#include "vm/term/atom_table.hpp"
#include "vm/util/otp_release.hpp"

#include <poll.h>
#include <unistd.h>

#include <cerrno>
#include <csignal>
#include <cstdio>
#include <cstdlib>

namespace minivm::tools {

namespace {

constexpr int kPatienceMs = 2000;  // for schedulers that are in long functions
constexpr int kEnd = -1;

// The first byte of what one read of standard input gives, as in OTP: the rest of the line is not for the shell. kEnd:
// there is no more input, or SIGINT has come.
int key() {
    sigset_t interrupt;
    sigemptyset(&interrupt);
    sigaddset(&interrupt, SIGINT);
    for (;;) {
        const timespec at_once{};
        if (sigtimedwait(&interrupt, nullptr, &at_once) == SIGINT) {
            return kEnd;
        }
        pollfd in{STDIN_FILENO, POLLIN, 0};
        constexpr int kLookForSignalsMs = 50;
        if (poll(&in, 1, kLookForSignalsMs) <= 0) {
            continue;
        }
        unsigned char bytes[64];
        const ssize_t n = read(STDIN_FILENO, bytes, sizeof bytes);
        if (n > 0) {
            return bytes[0];
        }
        if (n == 0 || (errno != EAGAIN && errno != EINTR)) {
            return kEnd;
        }
    }
}

void show_choices() {
    if (by_release::at_least(26) && isatty(STDIN_FILENO) != 0 && isatty(STDOUT_FILENO) != 0) {
        std::fputs("\x1b[J", stdout);
    }
    std::fputs("BREAK: (a)bort (A)bort with dump (c)ontinue (p)roc info (i)nfo\r\n"
               "       (l)oaded (v)ersion (k)ill (D)b-tables (d)istribution\r\n",
               stdout);
    std::fflush(stdout);
}

[[noreturn]] void abort_with_dump() {
    std::fputs("Crash dump requested by user", stderr);
    crash_dump::write("Crash dump requested by user");
    terminal::restore();
    std::signal(SIGABRT, SIG_DFL);  // it is no failure of the VM to report
    std::abort();
}

// Waits until all schedulers stand, before the menu looks into processes. The menu itself does not wait for a
// scheduler in a function that does not end.
bool all_stand() {
    if (vm::pause(kPatienceMs)) {
        return true;
    }
    std::fputs("A scheduler is in a function that does not end: nothing can be shown\r\n", stdout);
    return false;
}

// Each process in turn, the youngest first: the program's own are behind those of the boot.
AfterBreak kill_processes() {
    if (!all_stand()) {
        return AfterBreak::go_on;
    }
    std::fputs("\n\nProcess Information\n\n", stdout);
    for (const Term pid : crash_dump::processes_by_age()) {
        std::fputs("--------------------------------------------------\n", stdout);
        crash_dump::write_process_of(stdout, pid);
        std::fputs("(k)ill (n)ext (r)eturn:\n", stdout);
        std::fflush(stdout);
        for (;;) {
            const int answer = key();
            if (answer == kEnd) {
                return AfterBreak::end;
            }
            if (answer == 'r') {
                return AfterBreak::go_on;
            }
            if (answer == 'k') {
                send_exit(pid, pid, atoms::kill, false);
            }
            if (answer == 'k' || answer == 'n') {
                break;
            }
        }
    }
    return AfterBreak::go_on;
}

AfterBreak show(crash_dump::Part part) {
    if (all_stand()) {
        crash_dump::write_part(stdout, part);
    }
    return AfterBreak::go_on;
}

AfterBreak ask() {
    std::fputs("\r\n", stdout);
    show_choices();
    for (;;) {
        const int choice = key();
        switch (choice) {
            case kEnd:
            case 'a':
            case 'q':
            case '*':
                return AfterBreak::end;
            case 'A':
                abort_with_dump();
            case 'c':
            case 'm':
                return AfterBreak::go_on;
            case 'p':
                return show(crash_dump::Part::processes);
            case 'o':
                return show(crash_dump::Part::ports);
            case 'i':
                return show(crash_dump::Part::memory);
            case 'l':
                return show(crash_dump::Part::modules);
            case 'D':
                return show(crash_dump::Part::tables);
            case 'd':
                return show(crash_dump::Part::distribution);
            case 'v':
                std::fprintf(stdout, "Erlang (minivm) emulator version %s\n", otp_release().erts_version.c_str());
                return AfterBreak::go_on;
            case 'k':
                return kill_processes();
            case '\n':
                continue;
            default:
                std::fprintf(stdout, "Invalid option '%c'. Please enter one of the following:\r\n", choice);
                show_choices();
        }
    }
}

}  // namespace

AfterBreak break_menu() {
    (void)vm::pause(0);  // schedulers have until a choice is made: see all_stand()
    const terminal::UsualModes modes;
    AfterBreak after;
    {
        const thread_progress::DelaySection section;  // what is shown stays
        after = ask();
    }
    std::fflush(stdout);
    vm::go_on();
    return after;
}

}  // namespace minivm::tools
