// Thread progress: when has every scheduler let go of the shared structures that it was reading?
//
// A number, the epoch, grows by one when every participating thread has published its present value.
// A thread publishes at points where it holds no pointer into shared structures (between two
// processes); a sleeping thread counts as having published. What was unlinked while the epoch was e is
// unreachable for every thread once the epoch is e + 2. No thread ever waits: work that must wait for
// progress is handed to later().
//
// Why two steps: the step from e to e + 1 may rest on publications of e from before the unlinking. A
// thread can publish e + 1 only after that step, hence after the unlinking thread read e, and the step
// to e + 2 waits for every thread to do so. The argument per access: thread_progress_core.hpp.
//
// Guarantees
//   (1) f of later(f) runs after every thread that was awake when later() was called has passed a
//       quiescent point, and every thread that was asleep sees, when it wakes, all that was written
//       before the call.
//   (2) f runs in quiescent() or sleep() of a participant, or, if all are asleep, in later() of a thread
//       that is not awake; never inside later() of a thread that is awake.
//   (3) As long as the awake threads pass quiescent points, deferred work gets done; the last thread to
//       fall asleep runs what is left.
// Threads: each function says which threads may call it.
#pragma once

#include <atomic>
#include <cstdint>

namespace minivm::thread_progress {

// Schedulers, as many dirty ones of each kind, and other threads that enter a DelaySection: those of
// clients and of native functions.
constexpr int kMaxSchedulers = 1024;
constexpr int kMaxThreads = 3 * kMaxSchedulers + 1024;

// A participating thread; one thread owns it.
struct Participant;

// Makes the calling thread a participant, asleep. Any thread; null if there are kMaxThreads already.
Participant* join();
// Ends the participation; the others get its deferred work. The owner, asleep.
void leave(Participant* t);

// From here the owner may read shared structures. The owner, asleep.
void wake(Participant* t);
// The owner reads nothing shared until wake(). Runs what deferred work it can. The owner, awake.
void sleep(Participant* t);
// The owner holds no pointer into shared structures right now. Runs deferred work that is due. Cheap
// when the epoch has not moved. Returns true if the epoch had moved. The owner, awake.
bool quiescent(Participant* t);

// Runs f(data) when every thread has made progress. Any thread; one that is not awake may run f itself,
// so it must hold no lock that deferred work takes.
using Work = void (*)(void* data);
void later(Work f, void* data);
// The same for a participant that is awake: takes no lock.
void later(Participant* t, Work f, void* data);

// Call it after changing machine code: each participant executes an instruction barrier when it is next
// quiescent or wakes, so before f of any later() that comes after this call. Any thread.
void want_instruction_barrier();

// A thread that does not participate (dirty schedulers, I/O) reads shared structures only inside a
// DelaySection. It has to be short: the VM frees nothing while it lasts. In a participant that is awake
// it does nothing. Its end may run deferred work, as sleep() does.
class DelaySection {
  public:
    DelaySection();
    ~DelaySection();
    DelaySection(const DelaySection&) = delete;
    DelaySection& operator=(const DelaySection&) = delete;

  private:
    Participant* entered_;
};

// Runs all deferred work at once. Only when no other thread participates any more: at the VM's end.
void run_all();
// For tests and statistics. Any thread.
uint64_t epoch();
uint64_t instruction_barriers();  // executed by all threads so far

}  // namespace minivm::thread_progress
