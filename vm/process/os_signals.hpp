// Signals of the operating system: the action that os:set_signal/2 sets for each of them, and carrying it
// out.
//
// All threads block them (blocked_set()), and one waits for them (tools/run.cpp). So no system call is
// interrupted and no code runs in a signal handler; that thread carries out a signal's default action.
// SIGABRT is not among them: it makes a fault report. Nor is SIGSTOP, which cannot be blocked.
// Threads: any, unless said.
#pragma once

#include "vm/term/term.hpp"

#include <signal.h>

namespace minivm::os_signals {

// own: what the VM does itself, until a program sets another action.
enum class Action : uint8_t { own, by_default, ignore, handle };

// Call it before there are other threads. Signals that are ignored when the program starts stay ignored.
sigset_t blocked_set();

// False: `name` is no signal that os:set_signal/2 knows.
bool set_action(Term name, Action action);
Action action_of(int signal);

// {notify, Name} to erl_signal_server; false if there is none, as before OTP's kernel is up.
bool notify(int signal);

// The end of a pipe to which tell_terminal() writes "w" for SIGWINCH and "c" for SIGCONT while these have no action;
// the next call closes it. -1: none.
void set_terminal_pipe(int descriptor);
void tell_terminal(int signal);

// The signal's default action, on the thread that waits for signals.
void act_by_default(int signal);

}  // namespace minivm::os_signals
