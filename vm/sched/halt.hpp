// How the VM stops: who requests it, what happens before, and until when.
//
// It takes two steps. plan_halt() sets how the VM will end (the first call decides) and spawns a process, the
// last words, which has pending output written; all other processes go on running meanwhile. That process then
// calls halt(), which stops the schedulers. If it does not do so in time, the thread of run_until_halt() does:
// no Erlang code can keep the VM from ending.
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
    bool flush = true;        // ports write first what they have not written yet
    std::optional<std::string> slogan;  // UTF-8, written to standard error at the very end
    // The time for the last words does not end while an OutputWait exists: a reader is slow.
    bool is_patient = false;
    int words_ms = 5000;      // the time for the last words
    int flush_ms = -1;        // the time for the flush; after it the VM exits with status 255. -1: no limit
};

// `how`, an atom, and `by`, a local pid or the non-value, are for the recorder.
// not_running: the VM does not run yet, so no thread would carry the plan out.
enum class Planned : uint8_t { first, later, not_running };
Planned plan_halt(HaltPlan plan, Term how, Term by);
bool is_halt_planned();

// halt(abort) of the process `by`: ends the VM at once by SIGABRT, with a core dump of the operating system. The
// recording says which process asked for it; it is not reported as a fault.
[[noreturn]] void abort_as_asked(Term by);

// Calls f unless the VM is stopping already or does not run yet; the VM does not stop before f has returned. f must
// not call halt() or plan_halt(). False: not called. For threads other than schedulers.
bool call_while_running(void (*f)(void*), void* context);

// The function without arguments that the process of plan_halt() runs; null: none, and a plan is carried out
// at once. Call it before the VM starts.
void set_last_words(const Export* entry);

// `write` is called on the thread of run_until_halt() when a plan with a slogan has been carried out: the slogan is
// on standard error, and no scheduler runs any more. Call it before the VM starts.
void set_crash_dump(void (*write)(const std::string& slogan));

// The program's own process, whose end is recorded.
void set_main_process(Term pid);

// Exists while a thread waits for a reader of standard output or error. One object on one thread.
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
void threads_have_ended();  // all threads: from here on exit() may destroy static objects
HaltPlan wait_for_halt();   // on the thread of run_until_halt()
void forget_halt();         // before the VM starts
// Writes the slogan if standard error takes it in time.
void print_slogan(const std::optional<std::string>& slogan);

}  // namespace vm
}  // namespace minivm
