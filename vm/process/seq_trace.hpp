// Sequential tracing: a token that goes from process to process with the messages, and the events that the
// system tracer gets about them. Programs use it by OTP's `seq_trace`.
//
// A process without a token pays a test of Process::watchers where it sends, and of the message
// where it receives. Tokens are immutable once another process or message has them; resetting all of them
// increments a generation number, and tokens of older generations are void.
// Threads: a process's token is its owner's; a token in a message is the message's.
#pragma once

#include "vm/process/watchers.hpp"

namespace minivm {

struct Export;
struct Signal;
struct SpawnOptions;

namespace seq_trace {

enum Flag : uint32_t {  // as in a token's first element
    kSend = 1,
    kReceive = 2,
    kPrint = 4,
    kTimestamp = 8,
    kStrictMonotonicTimestamp = 16,
    kMonotonicTimestamp = 32
};

struct Token {
    std::atomic<uint32_t> refs{1};
    uint32_t flags = 0;
    uint32_t generation = 0;
    int64_t serial = 0;
    int64_t lastcnt = 0;
    Term from = kNonValue;  // a pid
    Term label = make_small(0);
    Heap heap;  // holds the label
};
void release(Token* t);

// On p's scheduler, like all of these functions, or on the thread that makes or ends p.
inline bool has_token(const Process& p) {
    // relaxed: only the owner changes this bit.
    return (p.watchers.load(std::memory_order_relaxed) & watchers::kToken) != 0;
}

// The token of p, or null.
const Token* token_of(const Process& p);
// {Flags, Label, Serial, From, Lastcnt}, or [].
Term token_term(const Process& p, Heap& h);

// seq_trace:set_token/2 for BIFs and match specifications: returns the former value; the non-value: bad arguments.
Term set(Process& p, Term component, Term value, Heap& h);
// {Component, Value}; the non-value: there is no such component.
Term get(const Process& p, Term component, Heap& h);
// False: p has no token, or not this label (if it is a value).
bool print(Process& p, Term label, Term message);

// p sends a message, an exit signal: counts, tells the system tracer, and returns the token to send with it; null:
// none.
Token* sending(Process& p, Term to, Term message);
Token* sending_exit(Process& p, Term from, Term to, Term reason);
// The message takes the token over, if there is one. It must be a ControlSignal then.
void attach(Signal& s, Token* t);
// The token of the reply that the parent gets from a child that does not run yet; null: none.
Token* replying(Process& child, const Process& parent, Term reply);
// A message leaves p's queue. Call it if the message or p has a token.
void received(Process& p, const Signal& s);
// A child begins with its parent's token; the system tracer gets a request and a reply for both ends.
void spawning(Process& parent, Process& child, const Export& entry, Term args,
              const SpawnOptions& o);

// The system tracer: a process, a port or {Module, State}; `false`: none.
Term system_tracer(Heap& h);
// False: `tracer` cannot be one.
bool set_system_tracer(Term tracer, Heap& h, Term* old);
void reset_all();

}  // namespace seq_trace
}  // namespace minivm
