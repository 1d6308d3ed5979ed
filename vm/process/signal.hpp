// Sending signals, and handling those that have arrived.
//
// Guarantees
//   (1) Signals from one process to another arrive in the order sent, messages included.
//   (2) A signal to a process that has ended (or ends before handling it) is answered as if nobody had
//       been there: monitors and links get noproc, requests are told that it is gone.
// Threads: sending from any thread (those that are no schedulers enter a delay section here); handling
// on the receiver's scheduler.
#pragma once

#include "vm/process/extra.hpp"
#include "vm/process/process.hpp"

namespace minivm {

namespace seq_trace {
struct Token;
}

// Any signal but a message from a process.
struct ControlSignal : Signal {
    RefId ref{};
    Term name = kNonValue;
    uint64_t number = 0;
    bool linked = false;      // exit: over a link; else by exit/2
    bool between_slices = false;  // rpc: run() wants the process scheduled out, its registers saved
    bool priority = false;    // alias_message, exit to an alias: asked for with the option `priority`
    bool no_quirk = false;    // exit: `normal` from oneself does nothing (exit_signal/2 of OTP 29)
    // rpc: runs on the receiver's scheduler; gone: where the sender finds that it has ended. Either
    // answers with reply(). Both null: answered otherwise.
    void (*run)(Process& p, ControlSignal& s) = nullptr;
    void (*gone)(ControlSignal& s) = nullptr;
    seq_trace::Token* token = nullptr;  // has_token: owned
};

// What Mailbox::outer holds once its process has ended.
extern Signal g_closed_mark;
inline Signal* closed_mark() { return &g_closed_mark; }

ControlSignal* new_signal(SignalKind kind, Term from);
// A message signal whose term is a copy of `message`.
Signal* new_message(Term message);
void free_signal(Signal* s);
// Copies the term of a message anew, by the rule for literals that holds now.
void replace_message_term(Signal& s);
// Moves what was built in h into the signal.
void take_fragments(Signal& s, Heap& h);

// Gives the signal to the process. False: it has ended, the signal is still the caller's.
bool push_signal(Process& to, Signal* s);
// The same for a message, with its record.
bool push_message(Process& to, Signal* s);
// The same by pid; answers the signal if nobody is there. Takes it over.
void send_signal(Term to_pid, Signal* s);
// What happens to a signal that nobody handles (guarantee 2). Frees it.
void refuse_signal(Term to_pid, Signal* s);

// Copies the message to the process, if there is one of that pid. The token, if any, goes with it.
void send_message_to_pid(Term pid, Term message);
void send_message_to_pid(Term pid, Term message, seq_trace::Token* token);
// With the option `priority`, of erlang:send/3. p null: another node's.
void send_priority_message(Process* p, Term alias, Term message);
// Sends to a pid, name, alias or {Name, Node} without an error: timers. from: for records only.
void deliver_message(Term to, Term message);
// {Ref, Result} to pid.
void reply(Term pid, RefId ref, Term result);
// As reply, to a request: not if it asks for none (its ref is 0).
void reply(const ControlSignal& request, Term result);

// {'EXIT', from, reason} as a signal to pid.
void send_exit(Term from, Term pid, Term reason, bool linked, seq_trace::Token* token = nullptr);
// The same to the process of an alias, if that is active when the signal arrives.
struct ExitOptions {
    bool priority = false;
    bool no_quirk = false;
};
void send_exit_by_hand(Process& sender, Term to, Term reason, ExitOptions options);
// {'DOWN', ref, process or port, object, reason}. type_port: what nobody has is a port's name.
void send_down(Term from, Term watcher, RefId ref, Term name, Term reason,
               bool type_port = false);

// Takes what has arrived: messages go to the inner queue, the others are handled. Stops when one ends
// the process (Process::exit_signal).
void handle_signals(Process& p);
// Runs the requests that waited for the end of the slice. Between slices.
void handle_deferred(Process& p);
// True if a signal has arrived that has not been looked at.
bool has_signals(const Process& p);
// True if among these is an exit signal that will end it. On the thread that owns p.
bool will_exit(const Process& p);
// What has arrived up to the signal that ends p, which will_exit() has found: then Process::exit_signal is set, and
// what came behind is left to close_mailbox(). Of a process that is held (process/dirty_hold.hpp), as its function may
// go on: only its links and monitors change.
void handle_signals_of_held(Process& p);

// Closes the mailbox and answers what is in it; messages are dropped. At the process's end.
void close_mailbox(Process& p);
// Frees all there is in it, unanswered: when the machine stops.
void drop_mailbox(Process& p);

// Takes back `times` suspensions of pid.
void send_resume(Term from, Term pid, uint64_t times);

// ---- what the BIFs of these names do, arguments checked ----------------------------------------------

void link_process(Process& p, Term pid, bool priority = false);
void unlink_process(Process& p, Term pid);
// The target is a pid or port, or a name and the pid or port that has it (the non-value: nobody).
void monitor_process(Process& p, RefId ref, Term pid, Term name, Term tag, bool port = false,
                     bool priority = false);
// True if the monitor was there.
bool demonitor_process(Process& p, RefId ref);
// Takes a message that a monitor left out of the queue: {_, Ref, _, _, _}. True if there was one.
bool flush_down_message(Process& p, RefId ref);
bool remove_alias(Process& p, RefId ref);

// References that are aliases carry the place of their process.
RefId new_alias_id(Process& p);
constexpr bool is_alias_id(RefId id) { return (id.high >> 31) != 0; }
// Where the alias leads, if it is active when the signal arrives; null: to nobody. Valid as of process_table::lookup().
Process* process_of_alias(RefId id);

}  // namespace minivm
