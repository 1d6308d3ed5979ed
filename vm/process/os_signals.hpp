// Signals of the operating system: what os:set_signal/2 asks for each of them, and what to do with
// one that has come.
//
// All threads block them (blocked_set()), and one waits for them (tools/run.cpp). So no call of the
// system is interrupted and no code runs in a signal handler; a signal's default action is carried
// out by that thread. SIGABRT is not among them: a fault report belongs to it. Nor is SIGSTOP,
// which nobody can have. Threads: any, unless said.
#pragma once

#include "vm/term/term.hpp"

#include <signal.h>

namespace minivm::os_signals {

// own: what the VM does itself, until a program asks for something else.
enum class Action : uint8_t { own, by_default, ignore, handle };

// To be called before there are other threads: what is ignored when the program starts stays so.
sigset_t blocked_set();

// False: `name` is no signal that os:set_signal/2 knows.
bool set_action(Term name, Action action);
Action action_of(int signal);

// {notify, Name} to erl_signal_server; false if there is none, as before OTP's kernel is up.
bool notify(int signal);

// Where SIGWINCH and SIGCONT are told as "w" and "c" while they have no action: the end of a pipe, which is closed by the
// next call; -1: nowhere.
void set_terminal_pipe(int descriptor);
void tell_terminal(int signal);

// The signal's default action, on the thread that waits for signals.
void act_by_default(int signal);

}  // namespace minivm::os_signals
