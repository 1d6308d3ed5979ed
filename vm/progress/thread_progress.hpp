// Thread progress: when has every scheduler left what it might have been reading?
//
// A number, the epoch, grows by one when every participating thread has published its present value.
// A thread publishes at points where it holds no pointer into shared structures (between two
// processes); a sleeping thread counts as having published. What was unlinked while the epoch was e is
// unreachable for everybody once the epoch is e + 2. Nobody ever waits: work that needs the
// reassurance is handed to later().
//
// Why two steps: a thread may have published e + 1 just before the unlinking, if the epoch moved to
// e + 1 between the unlinking thread's look at it and now; everybody's publication of e + 1 and then of
// e + 2's predecessor lies after the unlinking. The argument per access: thread_progress_core.hpp.
//
// Guarantees
//   (1) f of later(f) runs after every thread that was awake when later() was called has passed a
//       quiescent point, and every thread that was asleep sees, when it wakes, all that was written
//       before the call.
//   (2) f runs on some participating thread at a quiescent point, never inside later() of a thread that
//       is awake.
//   (3) As long as one thread participates or all sleep, deferred work gets done: the last thread to
//       fall asleep runs it.
// Threads: each function says who may call it.
#pragma once

#include <atomic>
#include <cstdint>

namespace minivm::thread_progress {

// Schedulers, as many dirty ones, and other threads that enter a DelaySection: those of dirty io, of
// clients, of native functions.
constexpr int kMaxSchedulers = 1024;
constexpr int kMaxThreads = 2 * kMaxSchedulers + 256;

// A thread that takes part; the owner is one thread.
struct Participant;

// Makes the calling thread a participant, asleep. Any thread; null if kMaxThreads are there.
Participant* join();
// Ends it; its deferred work goes to the others. The owner, asleep.
void leave(Participant* t);

// From here the owner may read shared structures. The owner, asleep.
void wake(Participant* t);
// The owner reads nothing shared until wake(). Runs what deferred work it can.
void sleep(Participant* t);
// The owner holds no pointer into shared structures right now. Runs deferred work that is due. Cheap
// when the epoch has not moved. Returns true if it had.
bool quiescent(Participant* t);

// Runs f(data) when every thread has made progress. Any thread.
using Work = void (*)(void* data);
void later(Work f, void* data);
// The same by a participant that is awake: no lock.
void later(Participant* t, Work f, void* data);

// Machine code has been changed: each participant executes an instruction barrier when it is next
// quiescent or wakes, so before f of any later() that comes after this call. Any thread.
void want_instruction_barrier();

// A thread that takes no part (dirty schedulers, I/O) reads shared structures only inside one of
// these. Short: nothing is freed while it lasts. Participants that are awake need none; it does
// nothing there.
class DelaySection {
  public:
    DelaySection();
    ~DelaySection();
    DelaySection(const DelaySection&) = delete;
    DelaySection& operator=(const DelaySection&) = delete;

  private:
    Participant* entered_;
};

// Runs all deferred work at once. Only when no other thread participates any more: at the end.
void run_all();
// For tests and statistics. Any thread.
uint64_t epoch();
uint64_t instruction_barriers();  // executed by all

}  // namespace minivm::thread_progress
