// Looking at a process from outside while it is on, or queued for, a dirty scheduler.
//
// A request to a process is a signal in its queue and waits there for as long as the dirty function
// takes. So a process that asks another one
//   (1) looks from outside, and sends no request if that gives the answer;
//   (2) else pushes the request, and
//   (3) looks once more: the other process may have gone dirty meanwhile without seeing the request
//       (go_dirty() in slice.cpp). If the request is still in the queue, the asking process answers it
//       from outside and withdraws it.
#pragma once

#include "vm/term/term.hpp"

namespace minivm {
struct Process;
}

namespace minivm::dirty {

// While a Hold exists and is true, its process stays where it is: waiting for a dirty scheduler, or in
// its dirty function. So pc, frames, registers and dirty_bif, which were saved before, do not change,
// and its queue only grows. Its heap does change: the function may build terms. Meanwhile a dirty
// scheduler that is done with the process waits, and so do other threads that want to hold it; so hold
// it for a short time only. Any thread that may hold a Process*.
class Hold {
public:
    explicit Hold(Process& p);
    Hold(const Hold&) = delete;
    Hold& operator=(const Hold&) = delete;
    ~Hold();
    // False: it is not on a dirty scheduler, or has ended for all other processes (end_dirty_process()).
    explicit operator bool() const { return process_ != nullptr; }

    // True: the latest request with that sender and reference still waited in the queue; now only the caller
    // can answer it.
    bool withdraw(Term from, RefId ref) const;

    // Handles the signals about links and monitors up to the first exit signal; the rest stays in the queue.
    void handle_relations() const;

    // The process has ended: when its dirty function returns (or would begin), finish_left_process() follows.
    void leave();

private:
    Process* process_ = nullptr;
};

}  // namespace minivm::dirty
