// The run queue of one scheduler: processes by priority, first in, first out.
//
// max before high before normal and low; low takes its turn once in kLowSkip times that normal ones
// wait, as in OTP.
// Threads: any. Its own scheduler and those that steal take one short lock; who is no scheduler, or hands a
// process to another one, posts it without a lock: a thread that loses the processor while it holds the lock
// makes the scheduler wait. length() takes none.
#pragma once

#include <atomic>
#include <cstdint>
#include <mutex>

#include "vm/process/process.hpp"
#include "vm/util/lock.hpp"

namespace minivm {

class RunQueue {
  public:
    static constexpr int kLowSkip = 8;

    // By its own scheduler.
    void push(Process* p);
    // Any thread, which then wakes the scheduler.
    void post(Process* p);
    Process* pop();
    // One that is not bound to the scheduler. By its own scheduler, which gives it away.
    Process* pop_unbound();
    // If p waits here among the less urgent, it comes among those of `to`, marked Process::raised.
    // Looks at no more than kRaiseLooks processes of a priority.
    static constexpr int kRaiseLooks = 4096;
    bool raise(Process& p, Priority to);
    // A process at random (of any priority): for stress by seed.
    Process* pop_random(uint64_t random);
    // Moves up to half of the processes, at most `limit`, to the end of `to`, and returns one more, or
    // null if fewer than `at_least` are here. Most urgent first; what is bound to a scheduler stays.
    Process* steal(RunQueue& to, uint32_t at_least, uint32_t limit);

    // All that was posted since the last look counts as one.
    uint32_t length() const {
        // seq_cst: a scheduler that falls asleep announces it, then reads this; who pushes or posts writes
        // this, then looks for sleepers. One of the two sees the other. The posted ones first: who moves
        // them writes length_ before they are gone from there.
        const uint32_t posted = posted_.load(std::memory_order_seq_cst) != nullptr;
        return length_.load(std::memory_order_seq_cst) + posted;
    }

    // Those of one priority. Only about right, as movable().
    uint32_t length_of(Priority priority) const {
        // relaxed: who asks evens out the load, and looks again soon.
        return lists_[static_cast<int>(priority)].length.load(std::memory_order_relaxed);
    }
    // Takes out up to n processes of that priority, those that have waited longest: a chain by next_in_queue.
    Process* take(Priority priority, uint32_t n);

    // How many another scheduler could take. Only about right while it changes: whoever has pushed is
    // awake and looks at the queue again.
    uint32_t movable() const {
        const uint32_t n = length();
        // relaxed: see above.
        const uint32_t bound = bound_.load(std::memory_order_relaxed);
        return n > bound ? n - bound : 0;
    }

    // How often its scheduler has taken a process. Any thread.
    uint64_t pops() const {
        // relaxed: a thief compares two looks at it; if it misjudges a process merely moves.
        return pops_.load(std::memory_order_relaxed);
    }

  private:
    struct List {
        Process* first = nullptr;
        Process* last = nullptr;
        std::atomic<uint32_t> length{0};  // written under the lock
        void append(Process* p);
        // `before` is the one in front of p; null: p is the first.
        void remove(Process* p, Process* before);
    };
    void push_locked(Process* p);
    // Takes out p, which is behind `before` in that list.
    Process* take_locked(List& list, Process* p, Process* before);
    // What was posted goes to the ends of the lists.
    void take_posted_locked();
    Process* pop_locked();
    Process* pop_from(int priority);
    Process* pop_unbound_locked();
    // One bound process more or less.
    void count_bound(const Process& p, uint32_t change) {
        if (p.bound_to != 0) {
            // relaxed: under the lock.
            bound_.store(bound_.load(std::memory_order_relaxed) + change,
                         std::memory_order_relaxed);
        }
    }

    CountedMutex mutex_{LockKind::run_queue};
    List lists_[4];
    int low_skipped_ = 0;
    // Of all that are here, those that are bound; written under the lock, before length_.
    std::atomic<uint32_t> bound_{0};
    std::atomic<uint32_t> length_{0};  // written under the lock
    std::atomic<uint64_t> pops_{0};    // likewise
    alignas(64) std::atomic<Process*> posted_{nullptr};  // by next_in_queue, the newest first
};

}  // namespace minivm
