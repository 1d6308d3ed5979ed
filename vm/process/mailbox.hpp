// Messages and other signals to a process.
//
// Senders push signals on the outer queue from any thread, lock-free. The receiver takes them, oldest
// first, when it examines messages or is scheduled in: it moves messages into its private inner queue
// and handles other signals at once. So signals between two processes keep their order.
#pragma once

#include <atomic>

#include "vm/term/heap.hpp"

namespace minivm {

struct Process;

enum class SignalKind : uint8_t {
    message, exit, link, unlink, unlink_ack, monitor, demonitor, monitor_down, rpc, alias_message
};

// One signal; a message is the common case. The terms are in `fragments` (owned) until the message
// is received. The receiver moves small messages at the front of the queue into its heap when it examines
// them, and any message that is under examination during a collection (fragments is null then).
struct Signal {
    Signal* next = nullptr;
    SignalKind kind = SignalKind::message;
    bool on_heap = false;           // term is in the receiver's own heap: a GC root
    bool from_process = false;      // a process sent it: without a token it clears the receiver's token
    bool has_token = false;         // a ControlSignal with a token of sequential tracing
    uint32_t flow = 0;              // its number in the recording: recorder::new_flow(); 0: none
    Term term = kNonValue;          // the message
    Term from = kNonValue;          // the sender's pid (immediate), for signals that need it
    Fragment* fragments = nullptr;
    Term* off_heap = nullptr;       // off-heap objects in the fragments
    size_t off_heap_bytes = 0;
};

struct Mailbox {
    // -- any thread
    std::atomic<Signal*> outer{nullptr};  // newest first; closed_mark() once the process has ended
    // -- the receiver
    Signal* first = nullptr;       // inner queue, oldest first: messages only
    Signal** last = &first;        // link for the next message
    Signal** save = &first;        // link to the message under examination
    Signal** priority_end = &first;  // link after the last priority message: these come first
    uint32_t length = 0;           // messages in the inner queue
    uint32_t on_heap_count = 0;    // of these, messages with terms in the heap (GC roots)
    static constexpr uint32_t kMostAbsorbed = 64;  // further messages are examined in their fragments
};

// The receive instructions. They run on the process's own scheduler.

// The message under examination; at the end of the inner queue it takes signals from the outer one (and
// handles those that are no messages). The non-value if there is none. The result may point into the
// message's fragments: valid until the next mailbox call or collection.
// Sets Process::in_receive_examine.
Term mailbox_peek(Process& p);
// The message under examination did not match: go to the next.
void mailbox_next(Process& p);
// The message under examination is received: unlink it and attach its fragments to the heap; the
// next examination starts at the front.
void mailbox_remove(Process& p);
// The receive timed out: the next examination starts at the front; receive markers are reset.
void mailbox_timeout(Process& p);

}  // namespace minivm
