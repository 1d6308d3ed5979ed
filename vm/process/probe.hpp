// A probe for each kind of event of a process. It reports the event to the recorder, tracing, sequential tracing and
// system_monitor/2; without watchers (process/watchers.hpp) it costs one test besides the record.
//
// Not here: system_profile/2 gets changes of state under a lock that is held over the change (system_profile::Turn),
// and breakpoints report calls of functions (trace/).
//
// Threads: the process's own scheduler, if nothing else is said.
#pragma once

#include "vm/process/process_record.hpp"
#include "vm/process/seq_trace.hpp"
#include "vm/process/watchers.hpp"

namespace minivm {
struct GcResult;
}

namespace minivm::probe {

// ---- what is sent -----------------------------------------------------------------------------------------------

seq_trace::Token* sends_watched(Process& p, Term to, Term receiver, Term message);
// p sends to `to`. Call it after looking up the receiver and before the receiver can get the message; also if `to` is
// no valid receiver, as in OTP. Returns the token to send with the message, or null. receiver: the pid or alias that
// gets the message with the token; the non-value: none.
inline seq_trace::Token* sends(Process& p, Term to, Term receiver, Term message) {
    return watchers::any(p, watchers::kTraced | watchers::kToken) ? sends_watched(p, to, receiver, message) : nullptr;
}
// The message s is on its way to the process. On any thread.
void sent(const Process& to, Signal& s);
// The signal s may become a message: gives it a flow, so that the record of its receive has an origin. On any thread.
void signalled(Term to, records::Word kind, Signal& s);

// ---- what is received -------------------------------------------------------------------------------------------

// The message s is in the queue of p.
void arrived(Process& p, const Signal& s);
// p has taken it out of its queue by a receive.
void took(Process& p, const Signal& s);
void timed_out(Process& p);

// ---- its life ---------------------------------------------------------------------------------------------------

// parent: null for the first process.
void spawned(Process* parent, Process& p, const Export& entry, Term args, const SpawnOptions& options);
// exited(): its end begins. ended(): just before the process leaves the process table. gone(): after everything that
// other processes see of the end. process_life.cpp calls them.
void exited(Process& p, Term reason);
void ended(Process& p);
void gone(Process& p);

void procs_watched(Process& p, Term tag, Term what);
// {trace, Pid, Tag, What} for the flag `procs`: links, names and the like. On any thread.
inline void procs(Process& p, Term tag, Term what) {
    if (watchers::any(p, watchers::kTraced)) {
        procs_watched(p, tag, what);
    }
}

// ---- its time and memory ----------------------------------------------------------------------------------------

// A collection of p, from its beginning.
class Collection {
  public:
    Collection(Process& p, bool major, size_t need_words);
    void ended(const GcResult& result) const;

  private:
    Process& p_;
    const bool major_;
    const bool traced_;
    const bool monitored_;
    uint64_t began_ticks_ = 0;
    uint64_t began_ns_ = 0;
};

// A slice of p, from its beginning. at_once: the last slice's record has just been written; its time is used.
class Slice {
  public:
    Slice(Process& p, int64_t reductions, bool at_once);
    // A slice of more than long_ticks of the recorder's clock gets a record of its own.
    void ended(int64_t used, records::Word how, bool process_ended, uint64_t long_ticks) const;

  private:
    Process& p_;
    const void* const in_;
    const uint32_t subject_;
    const bool monitored_;
    uint64_t began_ticks_ = 0;
    uint64_t began_ns_ = 0;
};

// p is scheduled in once more, to end, because the last event that its tracer got was `out`.
void scheduled_in(Process& p);

}  // namespace minivm::probe
