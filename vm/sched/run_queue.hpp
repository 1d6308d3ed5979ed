// The run queue of one scheduler: processes by priority, first in, first out.
//
// max before high before normal and low; a low process gets one turn for kLowSkip turns of a normal one, as in OTP.
// Threads: any. Its own scheduler and those that steal take one short lock. Other threads, and a scheduler that
// hands a process to another one, post it without a lock: a thread that loses the processor while it holds the
// lock would make the scheduler wait. length() takes no lock.
#pragma once

#include <atomic>
#include <cstdint>
#include <mutex>

#include "vm/process/process.hpp"
#include "vm/util/lock.hpp"

namespace minivm {

// How processes of normal and low priority share a queue: a low process gets one turn for kLowSkip turns of a normal
// one, however many there are of either. OTP keeps both in one list, and passes over a low process kLowSkip times.
// Threads: under the lock of the queue.
class LowShare {
  public:
    static constexpr uint64_t kLowSkip = 8;

    // Whether a low process is next, where so many of either wait. At least one must wait.
    bool is_turn_of_low(uint64_t normal, uint64_t low) {
        if (normal == 0 || low == 0) {
            credit_ = 0;
            return normal == 0;
        }
        if (credit_ >= kLowSkip * normal) {
            credit_ -= kLowSkip * normal;
            return true;
        }
        credit_ += low;
        return false;
    }

  private:
    uint64_t credit_ = 0;  // turns that are due to low processes, times kLowSkip * normal
};

class RunQueue {
  public:
    // Its own scheduler only.
    void push(Process* p);
    // Any thread, which then wakes the scheduler.
    void post(Process* p);
    Process* pop();
    // Takes a process that is not bound to the scheduler. Its own scheduler only, which gives the process away.
    Process* pop_unbound();
    // If p waits here at a less urgent priority, moves it to the list of `to` and sets Process::raised.
    // Looks at no more than kRaiseLooks processes of a priority.
    static constexpr int kRaiseLooks = 4096;
    bool raise(Process& p, Priority to);
    // A random process (of any priority): for stress tests by seed.
    Process* pop_random(uint64_t random);
    // Moves up to half of the processes, at most `limit`, to the end of `to`, and returns one more, or
    // null if fewer than `at_least` can move. Most urgent first; bound processes stay.
    Process* steal(RunQueue& to, uint32_t at_least, uint32_t limit);

    // All processes that were posted since the last look count as one.
    uint32_t length() const {
        // seq_cst: a scheduler that falls asleep announces it, then reads this; a thread that pushes or posts
        // writes this, then looks for sleepers. At least one sees the other's store. posted_ is read first: the
        // thread that moves posted processes writes length_ before it clears posted_.
        const uint32_t posted = posted_.load(std::memory_order_seq_cst) != nullptr;
        return length_.load(std::memory_order_seq_cst) + posted;
    }

    // Processes of one priority. Only about right, like movable().
    uint32_t length_of(Priority priority) const {
        // relaxed: even_out() asks, and looks again soon.
        return lists_[static_cast<int>(priority)].length.load(std::memory_order_relaxed);
    }
    // How often its scheduler has taken a process of this priority or a less urgent one. If processes of the priority
    // wait and this does not grow, more urgent ones take all turns. Normal and low count as one. Its scheduler only.
    uint64_t turns_from(Priority priority) const {
        uint64_t n = turns_[static_cast<int>(Priority::normal)] + turns_[static_cast<int>(Priority::low)];
        n += priority <= Priority::high ? turns_[static_cast<int>(Priority::high)] : 0;
        return n + (priority == Priority::max ? turns_[static_cast<int>(Priority::max)] : 0);
    }
    // Takes out up to n processes of that priority that are not bound, those that have waited longest: a chain by
    // next_in_queue, which the caller puts into another queue. Null: none, or another thread has the lock. Any thread.
    Process* take(Priority priority, uint32_t n);

    // How many processes another scheduler could take. Only about right while it changes: the scheduler that
    // has pushed is awake and looks at the queue again.
    uint32_t movable() const {
        const uint32_t n = length();
        // relaxed: see above.
        const uint32_t bound = bound_.load(std::memory_order_relaxed);
        return n > bound ? n - bound : 0;
    }

    // How often its scheduler has taken a process. Any thread.
    uint64_t pops() const {
        // relaxed: a thief compares two looks at it; an error only moves a process.
        return pops_.load(std::memory_order_relaxed);
    }

  private:
    struct List {
        Process* first = nullptr;
        Process* last = nullptr;
        std::atomic<uint32_t> length{0};  // written under the lock
        void append(Process* p);
        // `before` is the process in front of p; null: p is the first.
        void remove(Process* p, Process* before);
    };
    void push_locked(Process* p);
    // Takes out p, which is after `before` in that list.
    Process* take_locked(List& list, Process* p, Process* before);
    // Moves the posted processes to the ends of the lists.
    void take_posted_locked();
    Process* pop_locked();
    Process* pop_from(int priority);
    Process* pop_unbound_locked();
    // If p is bound, one bound process more or less.
    void count_bound(const Process& p, uint32_t change) {
        if (p.bound_to != 0) {
            // relaxed: under the lock.
            bound_.store(bound_.load(std::memory_order_relaxed) + change,
                         std::memory_order_relaxed);
        }
    }

    CountedMutex mutex_{LockKind::run_queue};
    List lists_[4];
    LowShare low_share_;
    uint64_t turns_[4] = {};  // pops of each list, by its own scheduler
    // How many of the processes here are bound; written under the lock, before length_.
    std::atomic<uint32_t> bound_{0};
    std::atomic<uint32_t> length_{0};  // without the posted ones; written under the lock
    std::atomic<uint64_t> pops_{0};    // written under the lock
    alignas(64) std::atomic<Process*> posted_{nullptr};  // by next_in_queue, the newest first
};

}  // namespace minivm
