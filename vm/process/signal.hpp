// Sending signals, and handling those that have arrived.
//
// Guarantees
//   (1) Signals from one process to another arrive in the order sent, messages included.
//   (2) A signal to a process that has ended (or ends before handling it) is answered as if the process
//       had never existed: monitors and links get noproc, requests learn that it is gone.
// Threads: sending from any thread (one that is no scheduler enters a delay section here); handling
// on the receiver's scheduler.
#pragma once

#include "vm/process/extra.hpp"
#include "vm/process/process.hpp"

namespace minivm {

namespace seq_trace {
struct Token;
}

// Any signal but a message by pid or name without a token.
struct ControlSignal : Signal {
    RefId ref{};
    Term name = kNonValue;
    uint64_t number = 0;
    bool linked = false;      // exit: over a link; else by exit/2
    bool between_slices = false;  // rpc: run() needs the process scheduled out, its registers saved
    bool priority = false;    // alias_message, exit to an alias: the sender gave the option `priority`
    bool no_quirk = false;    // exit: `normal` from the process itself does nothing (exit_signal/2 of OTP 29)
    // rpc: run() is called on the receiver's scheduler; gone() where the receiver turns out to have ended. Either
    // answers with reply(). Both null: withdrawn and answered from outside (process/dirty_hold.hpp).
    void (*run)(Process& p, ControlSignal& s) = nullptr;
    void (*gone)(ControlSignal& s) = nullptr;
    seq_trace::Token* token = nullptr;  // owned, if has_token
};

// Mailbox::outer points to it once the process has ended.
extern Signal g_closed_mark;
inline Signal* closed_mark() { return &g_closed_mark; }

ControlSignal* new_signal(SignalKind kind, Term from);
// A message signal whose term is a copy of `message`.
Signal* new_message(Term message);
void free_signal(Signal* s);
// Copies the term of a message again, by the present rule for literals.
void replace_message_term(Signal& s);
// Moves the fragments of h into the signal.
void take_fragments(Signal& s, Heap& h);

// Gives the signal to the process. False: it has ended, and the caller still owns the signal.
bool push_signal(Process& to, Signal* s);
// After an exit signal has been pushed: p may be in a dirty function for as long as that takes, and a signal that ends p
// should not wait so long.
void end_if_dirty(Process& p);
// push_signal() for a message, with its record.
bool push_message(Process& to, Signal* s);
// The same by pid; refuses the signal if there is no such process. Takes it over.
void send_signal(Term to_pid, Signal* s);
// Answers a signal that no process handles (guarantee 2) and frees it.
void refuse_signal(Term to_pid, Signal* s);

// Copies the message to the process, if there is one of that pid. The token, if any, goes with it.
void send_message_to_pid(Term pid, Term message);
void send_message_to_pid(Term pid, Term message, seq_trace::Token* token);
// erlang:send/3 with the option `priority`. p null: the sender is on another node.
void send_priority_message(Process* p, Term alias, Term message);
// Sends to a pid, name, alias or {Name, Node} without an error, for a timer: no process is the sender.
void deliver_message(Term to, Term message);
// {Ref, Result} to pid.
void reply(Term pid, RefId ref, Term result);
// The same as an answer to a request; nothing if that wants none (its ref is 0).
void reply(const ControlSignal& request, Term result);

// {'EXIT', from, reason} as a signal to pid.
void send_exit(Term from, Term pid, Term reason, bool linked, seq_trace::Token* token = nullptr);
// exit/2: `to` is a pid, or an alias that must be active when the signal arrives.
struct ExitOptions {
    bool priority = false;
    bool no_quirk = false;
};
void send_exit_by_hand(Process& sender, Term to, Term reason, ExitOptions options);
// {'DOWN', ref, process or port, object, reason}. type_port: `name`, which is not registered, was to be a port's.
void send_down(Term from, Term watcher, RefId ref, Term name, Term reason,
               bool type_port = false);

// Takes the signals that have arrived: messages go to the inner queue, other signals are handled. Stops when one
// ends the process (Process::exit_signal).
void handle_signals(Process& p);
// Runs the requests that waited for the end of the slice. Between slices.
void handle_deferred(Process& p);
// True if a signal has arrived that has not been handled.
bool has_signals(const Process& p);
// True if one of these is an exit signal that will end p. On the thread that owns or holds p.
bool will_exit(const Process& p);
// Handles the signals up to the one that ends p, which will_exit() has found, and sets Process::exit_signal;
// close_mailbox() gets the later ones. For a process that is held (process/dirty_hold.hpp): because its function may
// go on, only its links and monitors change.
void handle_signals_of_held(Process& p);

// Closes the mailbox, refuses the signals in it and drops the messages. At the process's end.
void close_mailbox(Process& p);
// Frees all signals without an answer: when the VM stops.
void drop_mailbox(Process& p);

// Ends `times` suspensions of pid.
void send_resume(Term from, Term pid, uint64_t times);

// ---- the BIFs of these names, with checked arguments -------------------------------------------------

void link_process(Process& p, Term pid, bool priority = false);
void unlink_process(Process& p, Term pid);
// The target is a pid or port, or a name with the pid or port that has it (the non-value: not registered).
void monitor_process(Process& p, RefId ref, Term pid, Term name, Term tag, bool port = false,
                     bool priority = false);
// True if the monitor was there.
bool demonitor_process(Process& p, RefId ref);
// Removes the message of a monitor from the queue: {_, Ref, _, _, _}. True if there was one.
bool flush_down_message(Process& p, RefId ref);
bool remove_alias(Process& p, RefId ref);

// An alias's reference contains the place of its process in the process table.
RefId new_alias_id(Process& p);
constexpr bool is_alias_id(RefId id) { return (id.high >> 31) != 0; }
// The process that may have this alias: it decides when the signal arrives. Null: none. Valid as for
// process_table::lookup().
Process* process_of_alias(RefId id);

}  // namespace minivm
