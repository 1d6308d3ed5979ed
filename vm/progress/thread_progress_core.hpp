// Epochs, and the queues of deferred work: the protocol behind thread_progress.hpp.
//
//   quiescent(t):  E := epoch                              (Q1)
//                  if E != t.published:
//                      t.published := E                    (Q2)
//                      full barrier                        (Q3)
//                      advance()
//   advance():     E := epoch                              (A1)
//                  if every t.published is E or kAsleep    (A2)
//                      epoch := E + 1 by compare-exchange  (A3)
//   later(f):      the caller has unlinked something; full barrier   (L1)
//                  tag := epoch                                      (L2)
//   f runs when epoch >= tag + 2.
//
// Claim: when f runs, every thread has passed a Q2/Q3 after L1, or was asleep after L1.
// Let A3' be the step of the epoch from tag + 1 to tag + 2. Its A2' read every t.published as tag + 1
// or asleep.
//   * t published tag + 1: its Q1 read tag + 1. If Q3 came before L1 in the order of the fences, L2
//     would have found at least tag + 1, but it found tag. So Q3 comes after L1, and what t reads
//     after Q3 is not older than what was written before L1: it cannot find what was unlinked.
//   * t was asleep at A2': when it wakes it stores t.published (W1), passes a full barrier (W2), then
//     reads. If W2 came before A2', A2' would have found W1. And A2' comes after L1, for A1' found
//     tag + 1 and L2 only tag, and A2 and A3 are both in the single order of seq_cst operations. So W2
//     and t's reads come after L1 too.
// The reads of t before L1: they come before Q2 (or W1, or the stores of sleep(), leave() and join()
// that A2 may find instead), which are releases; A2' acquires them, A3' releases, and the thread that
// runs f has acquired A3' through its load of the epoch. So freeing in f happens after those reads.
//
// A thread sees after Q3 or W2 what was written before L1 because of the order of the fences, not by
// happens-before: no word passes from one thread to the other. So data that only thread progress
// publishes (the generations of code, halves of breakpoints) must be words that are written whole.
//
// The atomics are a parameter (`A`, vm/util/atomics.hpp), so that
// tests/vm/progress/thread_progress_model_test.cpp runs this very code on a model of weak memory, in
// all schedules.
#pragma once

#include "vm/util/assert.hpp"
#include "vm/util/lock.hpp"

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <mutex>
#include <vector>

namespace minivm::thread_progress {

using Work = void (*)(void* data);

struct Deferred {
    uint64_t tag;
    Work f;
    void* data;
};

// First in, first out. Unlike a std::deque it allocates nothing before its first item: of the more than
// four thousand slots only a handful are used.
class DeferredQueue {
public:
    bool empty() const { return first_ == all_.size(); }
    const Deferred& front() const { return all_[first_]; }
    const Deferred* begin() const { return all_.data() + first_; }
    const Deferred* end() const { return all_.data() + all_.size(); }
    void push_back(const Deferred& d) { all_.push_back(d); }
    void pop_front() {
        // Drops the taken items when they are half of all: an item is moved once on average.
        if (++first_ * 2 >= all_.size()) {
            all_.erase(all_.begin(), all_.begin() + static_cast<ptrdiff_t>(first_));
            first_ = 0;
        }
    }

private:
    std::vector<Deferred> all_;
    size_t first_ = 0;
};

constexpr uint64_t kAsleep = ~uint64_t{0};
constexpr uint64_t kVacant = ~uint64_t{0} - 1;

// What the protocol keeps for each participating thread.
template <class A>
struct alignas(64) Slot {
    typename A::template Atomic<uint64_t> published{kVacant};  // the owner writes, advance() reads
    // -- only the owner reads and writes these
    DeferredQueue deferred;     // tags ascend
    uint32_t code_version = 0;  // of the newest code for which the owner has passed an instruction barrier
};

// Participant is a Slot<A>. Beside atomics A has instruction_barrier(): the processor drops the
// instructions that it has fetched and decoded ahead. Work is due kSteps of the epoch after its tag.
template <class A, class Participant, int kThreads, uint64_t kSteps = 2>
class Core {
public:
    Participant* join() {
        const std::lock_guard lock(mutex_);
        for (int i = 0; i < kThreads; ++i) {
            Participant& t = threads_[i];
            // relaxed: threads take and give back slots under the lock.
            if (t.published.load(std::memory_order_relaxed) == kVacant) {
                t.code_version = 0;  // another thread than before
                // release: advance() treats kAsleep and kVacant alike; but A2 may find this store
                // instead of the former owner's, and must then acquire that owner's reads all the
                // same.
                t.published.store(kAsleep, std::memory_order_release);
                // relaxed: written under the lock only.
                if (i >= used_.load(std::memory_order_relaxed)) {
                    // relaxed: W2 puts it before the used_ that advance() reads, as W1 before A2.
                    used_.store(i + 1, std::memory_order_relaxed);
                }
                return &t;
            }
        }
        return nullptr;
    }

    void leave(Participant* t) {
        // relaxed: our own slot.
        MINIVM_CHECK(t->published.load(std::memory_order_relaxed) == kAsleep);
        hand_over(t);
        const std::lock_guard lock(mutex_);
        // release: for an A2 that finds this instead of kAsleep.
        t->published.store(kVacant, std::memory_order_release);
    }

    void wake(Participant* t) {
        // release: W1. A2 may find this instead of the kAsleep before it, and must then acquire the
        // reads before that kAsleep all the same; W2 makes sure that A2 finds it. relaxed: the epoch
        // may have moved on; then we publish an older value and only delay the next step.
        t->published.store(epoch_.load(std::memory_order_relaxed), std::memory_order_release);
        // seq_cst: W2; it comes before any read of shared structures.
        A::fence(std::memory_order_seq_cst);
        see_code(t);
    }

    void sleep(Participant* t) {
        // seq_cst: the reads before it are done (A2 acquires it); see also push_common().
        t->published.store(kAsleep, std::memory_order_seq_cst);
        hand_over(t);
        // If all others sleep only we can move the epoch. Work may defer more work, so we go on
        // until none is left. seq_cst: see push_common().
        while (common_any_.load(std::memory_order_seq_cst)) {
            if (!advance()) {
                return;  // another thread is awake and will run the queue
            }
            run_common();
        }
    }

    bool quiescent(Participant* t) {
        // relaxed: Q1.
        const uint64_t e = epoch_.load(std::memory_order_relaxed);
        bool moved = false;
        // relaxed: our own slot.
        if (e != t->published.load(std::memory_order_relaxed)) {
            // release: Q2; our reads so far come before what A2 makes possible.
            t->published.store(e, std::memory_order_release);
            // seq_cst: Q3; what we read from here on we read after every L1 of an earlier epoch.
            A::fence(std::memory_order_seq_cst);
            see_code(t);
            moved = true;
        }
        if (MINIVM_UNLIKELY(!t->deferred.empty())) {
            advance();
            run_due(t->deferred);
        }
        // relaxed: a hint whether to call run_common(), which takes the lock and looks again.
        if (MINIVM_UNLIKELY(common_any_.load(std::memory_order_relaxed))) {
            advance();
            run_common();
        }
        return moved;
    }

    // A participant that is awake calls this one.
    void later(Participant* t, Work f, void* data) {
        // seq_cst: L1, after what the caller unlinked; its partners are Q3 and W2.
        A::fence(std::memory_order_seq_cst);
        // relaxed: L2, not before L1.
        t->deferred.push_back({epoch_.load(std::memory_order_relaxed), f, data});
    }
    // Any other thread calls this one.
    void later(Work f, void* data) {
        push_common(f, data);
        // All participants may be asleep by now, and then nobody else would run it.
        // relaxed: it finds our own store in push_common(), or a later one.
        while (common_any_.load(std::memory_order_relaxed) && advance()) {
            run_common();
        }
    }

    void run_all() {
        // seq_cst: no weaker order is worth an argument here, at the end of the VM.
        while (common_any_.load(std::memory_order_seq_cst)) {
            MINIVM_CHECK(advance());
            run_common();
        }
    }

    void want_instruction_barrier() {
        // release: a thread that reads the new number before the later() that follows passes no
        // second barrier for it, so it must find the code changed at that moment. The fence of that
        // later() (L1) makes sure that every thread reads the new number.
        code_version_.fetch_add(1, std::memory_order_release);
    }
    uint64_t epoch() const {
        // relaxed: a number to show.
        return epoch_.load(std::memory_order_relaxed);
    }

    // For the model, which distinguishes its states by it. Other callers must hold the lock.
    const DeferredQueue& common() const { return common_; }

private:
    // Called after Q3 or W2: makes this thread run code as it was changed before an L1 of an earlier epoch.
    void see_code(Participant* t) {
        // acquire: pairs with want_instruction_barrier(). The fence that we have just passed makes
        // us find, like all other writes, the increments before that L1.
        const uint32_t version = code_version_.load(std::memory_order_acquire);
        if (MINIVM_UNLIKELY(version != t->code_version)) {
            t->code_version = version;
            A::instruction_barrier();
        }
    }

    int slots_in_use() const {
        // seq_cst: includes every thread that has joined and woken (W2) before this load.
        return used_.load(std::memory_order_seq_cst);
    }

    // True if the epoch moved on.
    bool advance() {
        // acquire: A1.
        uint64_t e = epoch_.load(std::memory_order_acquire);
        const int used = slots_in_use();
        for (int i = 0; i < used; ++i) {
            // seq_cst: A2. Acquires the reads that the thread did before it published (Q2).
            const uint64_t p = threads_[i].published.load(std::memory_order_seq_cst);
            if (p != e && p != kAsleep && p != kVacant) {
                return false;
            }
        }
        // seq_cst: A3; passes what A2 acquired on to every thread that reads the new epoch. If it
        // fails, another thread has done the same step.
        epoch_.compare_exchange_strong(e, e + 1, std::memory_order_seq_cst);
        return true;
    }

    void run_due(DeferredQueue& queue) {
        while (!queue.empty()) {
            const Deferred d = queue.front();
            // acquire: pairs with A3, hence with all threads' reads before they published.
            if (epoch_.load(std::memory_order_acquire) < d.tag + kSteps) {
                return;
            }
            queue.pop_front();
            d.f(d.data);
        }
    }

    // Takes due work out of the common queue one by one, so that it holds no lock while the work runs.
    // If another thread has the lock, returns: the caller goes on and will come here again.
    void run_common() {
        // relaxed: a hint whether to take the lock; if it misses a push, the pushing thread goes on.
        while (common_any_.load(std::memory_order_relaxed)) {
            Deferred d;
            {
                const std::unique_lock lock(mutex_, std::try_to_lock);
                if (!lock.owns_lock()) {
                    return;
                }
                // acquire: as in run_due().
                if (common_.empty() ||
                    epoch_.load(std::memory_order_acquire) < common_.front().tag + kSteps) {
                    return;
                }
                d = common_.front();
                common_.pop_front();
                // relaxed: the queue itself is under the lock.
                common_any_.store(!common_.empty(), std::memory_order_relaxed);
            }
            d.f(d.data);
        }
    }

    void push_common(Work f, void* data) {
        // seq_cst: L1, after what the caller unlinked; its partners are Q3 and W2.
        A::fence(std::memory_order_seq_cst);
        const std::lock_guard lock(mutex_);
        // relaxed: L2, not before L1. Read under the lock, so tags in the queue ascend.
        common_.push_back({epoch_.load(std::memory_order_relaxed), f, data});
        // seq_cst: a thread that falls asleep stores kAsleep and then reads this; the thread that
        // pushes stores this and then reads kAsleep in advance(). At least one sees the other's store.
        common_any_.store(true, std::memory_order_seq_cst);
    }

    void hand_over(Participant* t) {
        while (!t->deferred.empty()) {
            push_common(t->deferred.front().f, t->deferred.front().data);
            t->deferred.pop_front();
        }
    }

    Participant threads_[kThreads];
    // Every slot in use has an index below this.
    typename A::template Atomic<int> used_{0};
    typename A::template Atomic<uint64_t> epoch_{1};
    // Counts changes of machine code that wait for instruction barriers.
    typename A::template Atomic<uint32_t> code_version_{0};
    typename A::Mutex mutex_{LockKind::progress};  // guards joining, and common_
    DeferredQueue common_;  // work of threads that sleep or take no part; tags ascend
    typename A::template Atomic<bool> common_any_{false};
};

}  // namespace minivm::thread_progress
