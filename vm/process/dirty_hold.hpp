// Looking at a process from outside while a dirty scheduler has it, or is to get it.
//
// What a process is asked is a request in its queue, which waits for as long as the dirty function
// takes. So who asks
//   (1) looks from outside, and need not ask if that tells;
//   (2) else pushes the request, and
//   (3) looks once more: the process may have gone dirty meanwhile without seeing the request
//       (go_dirty() in scheduler.cpp). One that is still in the queue is answered from outside,
//       and withdrawn.
#pragma once

#include "vm/term/term.hpp"

namespace minivm {
struct Process;
}

namespace minivm::dirty {

// While one of these is there and true, its process stays where it is: waiting for a dirty
// scheduler, or in its dirty function. So pc, frames, registers and dirty_bif, which were saved
// before, do not change, and its queue only grows; its heap does, for the function may build terms.
// A dirty scheduler that is done with the process waits meanwhile, and others who want to hold it,
// so what is done here is short. Any thread that may hold a Process*.
class Hold {
public:
    explicit Hold(Process& p);
    Hold(const Hold&) = delete;
    Hold& operator=(const Hold&) = delete;
    ~Hold();
    // False: it is not with a dirty scheduler, or has ended for everybody else (end_dirty_process()).
    explicit operator bool() const { return process_ != nullptr; }

    // Whether the latest request with that sender and reference still waits in the queue. If so,
    // nobody will answer it but the caller.
    bool withdraw(Term from, RefId ref) const;

    // What has arrived of links and monitors is handled, up to the first exit signal; the rest stays in the queue.
    void handle_relations() const;

    // The process has ended: when its dirty function returns (or would begin), finish_left_process() follows.
    void leave();

private:
    Process* process_ = nullptr;
};

}  // namespace minivm::dirty
