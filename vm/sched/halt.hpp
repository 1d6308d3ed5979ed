// How the machine stops: who says so, what is done before, and until when.
//
// It takes two steps. plan_halt() says how it will end (the first who says it decides) and spawns a process
// that has the last words written; all others go on running meanwhile. That process then calls halt(),
// which stops the schedulers. Where it does not come to that in time, the thread of run_until_halt() does:
// no Erlang code can keep the machine from ending.
// Threads: any, unless said.
#pragma once

#include <atomic>
#include <optional>
#include <string>

#include "vm/sched/scheduler.hpp"
#include "vm/term/term.hpp"

namespace minivm {

struct Export;

namespace vm {

struct HaltPlan {
    int status = 0;
    bool flush = true;        // what ports have not written yet is written
    std::optional<std::string> slogan;  // UTF-8, for standard error, as the last of all
    // The time for the last words does not end while a reader of standard output or error keeps it waiting.
    bool is_patient = false;
    int words_ms = 5000;      // that time
    int flush_ms = -1;        // the time for the flush, beyond which the status is 255; -1: any
};

// `how`, an atom, and `by`, a local pid or the non-value, are for the recorder.
// not_running: the machine does not run yet, and nobody will carry the plan out.
enum class Planned : uint8_t { first, later, not_running };
Planned plan_halt(HaltPlan plan, Term how, Term by);
bool is_halt_planned();

// halt(abort) of a process: the end here and now by SIGABRT, with the dump of memory that the system makes of it. The
// recording says who has asked for it; it is no fault to be reported.
[[noreturn]] void abort_as_asked(Term by);

// Calls f unless the machine stops already, or does not run yet; it does not stop before f has returned, which
// must not call halt() or plan_halt(). False: not called. For threads that are no schedulers.
bool call_while_running(void (*f)(void*), void* context);

// The function without arguments that the process of plan_halt() runs; null: there is none, and a plan is
// carried out at once. Before the machine starts.
void set_last_words(const Export* entry);

// Called on the thread of run_until_halt() when a plan with a slogan has been carried out: the slogan is on standard
// error, and no scheduler runs any more. Before the machine starts.
void set_crash_dump(void (*write)(const std::string& slogan));

// The program's own process, which is recorded when it ends.
void set_main_process(Term pid);

// While somebody waits for a reader of standard output or error. One object on one thread.
class OutputWait {
  public:
    OutputWait();
    ~OutputWait();
    OutputWait(const OutputWait&) = delete;
    OutputWait& operator=(const OutputWait&) = delete;
};

// ---- for the scheduler ----------------------------------------------------------------------------

extern std::atomic<bool> g_halting;

void allow_halt();          // the schedulers have been started
void threads_have_ended();  // all of them: from here on exit() destroys what is static
HaltPlan wait_for_halt();   // on the thread of run_until_halt()
void forget_halt();         // before the machine starts
// Writes it, if somebody takes it.
void print_slogan(const std::optional<std::string>& slogan);

}  // namespace vm
}  // namespace minivm
