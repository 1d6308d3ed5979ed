// What happens to a process, a probe for each kind of event. It tells the recording, tracing, sequential tracing and
// system_monitor/2; where nobody watches (process/watchers.hpp) it costs one test beside the record.
//
// Who becomes runnable, which system_profile/2 is told, is told under a lock over the change of state: that stays with
// the change (system_profile::Turn). Calls of functions are told by breakpoints (trace/).
//
// Threads: the process's own scheduler, where nothing else is said.
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
// p sends to whatever `to` is. Call it after the receiver has been looked for and before it can have got the message;
// also of what is no receiver, as in OTP. The token is to go with the message. receiver: the pid or the alias that
// gets the message with the token, the non-value if nobody does. Null: none.
inline seq_trace::Token* sends(Process& p, Term to, Term receiver, Term message) {
    return watchers::any(p, watchers::kTraced | watchers::kToken) ? sends_watched(p, to, receiver, message) : nullptr;
}
// The message s is on its way to the process. On any thread.
void sent(const Process& to, Signal& s);
// A signal that may become a message, so that its receive has something to come from. On any thread.
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
// Its end begins; it can still be found. process_life.cpp calls ended() when that is nearly over, and gone() behind
// all that others see of it.
void exited(Process& p, Term reason);
void ended(Process& p);
void gone(Process& p);

void procs_watched(Process& p, Term tag, Term what);
// {trace, Pid, Tag, What} for the flag `procs`: links, names and their kin. On any thread.
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

// A slice of p, from its beginning. at_once: the record of the slice before has just been written, its time will do.
class Slice {
  public:
    Slice(Process& p, int64_t reductions, bool at_once);
    // Beyond so many ticks of the recorder's clock it was a long one.
    void ended(int64_t used, records::Word how, bool process_ended, uint64_t long_ticks) const;

  private:
    Process& p_;
    const void* const in_;
    const uint32_t subject_;
    const bool monitored_;
    uint64_t began_ticks_ = 0;
    uint64_t began_ns_ = 0;
};

// p comes in once more, to end: its tracer saw it go out last.
void scheduled_in(Process& p);

}  // namespace minivm::probe
