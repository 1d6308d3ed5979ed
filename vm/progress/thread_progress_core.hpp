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
// Let the step from tag + 1 to tag + 2 be A3'. It read every t.published in A2' as tag + 1 or
// asleep.
//   * t published tag + 1: its Q1 read tag + 1. If Q3 came before L1 in the order of the fences, L2
//     would have found at least tag + 1, but it found tag. So Q3 comes after L1, and what t reads
//     after Q3 is not older than what was written before L1: it cannot find what was unlinked.
//   * t was asleep at A2': when it wakes it stores t.published (W1), passes a full barrier (W2), then
//     reads. If W2 came before A2', A2' would have found W1. And A2' comes after L1, for A1' found
//     tag + 1 and L2 only tag, A3 and A2 being in the one order. So W2 and t's reads come after L1
//     too.
// And what t read before: t's reads come before Q2 (or W1, or the stores of sleep(), leave() and
// join() that A2 may find instead), which are releases; A2' acquires it, A3' releases, and whoever
// runs f has acquired A3' through its load of the epoch. So freeing in f happens after those reads.
//
// What was written before L1 is seen after Q3 or W2 by the order of fences, not happens-before: no
// word is handed from one to the other. So what is published by thread progress alone (the
// generations of code, halves of breakpoints) has to be words that are written whole.
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

// First in, first out. Unlike a std::deque it allocates nothing before it is used: there are a
// thousand slots, of which a handful are.
class DeferredQueue {
public:
    bool empty() const { return first_ == all_.size(); }
    const Deferred& front() const { return all_[first_]; }
    const Deferred* begin() const { return all_.data() + first_; }
    const Deferred* end() const { return all_.data() + all_.size(); }
    void push_back(const Deferred& d) { all_.push_back(d); }
    void pop_front() {
        // What has been taken is dropped when it is half of all: each is moved once on average.
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

// What the protocol knows of a thread that takes part.
template <class A>
struct alignas(64) Slot {
    typename A::template Atomic<uint64_t> published{kVacant};  // the owner writes, advance() reads
    // -- the owner
    DeferredQueue deferred;     // tags ascend
    uint32_t code_version = 0;  // the newest code that it has passed a barrier for
};

// Participant is a Slot<A>. A beside atomics: instruction_barrier(), what the processor has fetched
// and decoded ahead is dropped. kSteps of the epoch have to pass before work is due.
template <class A, class Participant, int kThreads, uint64_t kSteps = 2>
class Core {
public:
    Participant* join() {
        const std::lock_guard lock(mutex_);
        for (int i = 0; i < kThreads; ++i) {
            Participant& t = threads_[i];
            // relaxed: slots are taken and given back under the lock.
            if (t.published.load(std::memory_order_relaxed) == kVacant) {
                t.code_version = 0;  // another thread than before
                // release: asleep is what vacant is to advance(); but A2, which may find this
                // instead of what the former owner has stored, has to acquire his reads all the
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
        // release: for A2 that does not find kAsleep any more.
        t->published.store(kVacant, std::memory_order_release);
    }

    void wake(Participant* t) {
        // release: W1. A2 may find this instead of the kAsleep before it, and has to acquire the
        // reads in front of that all the same; that it finds it is W2's doing. relaxed: the epoch
        // may have moved on; then we publish an older value and only delay the next step.
        t->published.store(epoch_.load(std::memory_order_relaxed), std::memory_order_release);
        // seq_cst: W2, before any read of shared structures.
        A::fence(std::memory_order_seq_cst);
        see_code(t);
    }

    void sleep(Participant* t) {
        // seq_cst: the reads before it are done (A2 acquires it); see also push_common().
        t->published.store(kAsleep, std::memory_order_seq_cst);
        hand_over(t);
        // If all others sleep nobody but us moves the epoch. Work may defer more work: until none
        // is left. seq_cst: see push_common().
        while (common_any_.load(std::memory_order_seq_cst)) {
            if (!advance()) {
                return;  // somebody is awake and will come by here
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
        // relaxed: only whether to look; run_common() looks properly.
        if (MINIVM_UNLIKELY(common_any_.load(std::memory_order_relaxed))) {
            advance();
            run_common();
        }
        return moved;
    }

    // By a participant that is awake.
    void later(Participant* t, Work f, void* data) {
        // seq_cst: L1, after what the caller unlinked; its partners are Q3 and W2.
        A::fence(std::memory_order_seq_cst);
        // relaxed: L2, not before L1.
        t->deferred.push_back({epoch_.load(std::memory_order_relaxed), f, data});
    }
    // By anybody else.
    void later(Work f, void* data) {
        push_common(f, data);
        // Everybody may be asleep by now.
        // relaxed: it finds what we have pushed, or what somebody has made of it since.
        while (common_any_.load(std::memory_order_relaxed) && advance()) {
            run_common();
        }
    }

    void run_all() {
        // seq_cst: not needed for speed here.
        while (common_any_.load(std::memory_order_seq_cst)) {
            MINIVM_CHECK(advance());
            run_common();
        }
    }

    void want_instruction_barrier() {
        // release: who has counted it before the later() that follows will not pass a barrier for
        // it again, and has to find the code changed then. That everybody counts it is the doing of
        // that later()'s fence (L1).
        code_version_.fetch_add(1, std::memory_order_release);
    }
    uint64_t epoch() const {
        // relaxed: a number to show.
        return epoch_.load(std::memory_order_relaxed);
    }

    // For a model, which tells its states apart by it. Whoever else asks holds the lock.
    const DeferredQueue& common() const { return common_; }

private:
    // Behind Q3 or W2: code that was changed before an L1 of an earlier epoch is run as it is now.
    void see_code(Participant* t) {
        // acquire: pairs with want_instruction_barrier(). What was counted before that L1 is found
        // by the fence that we have just passed, as all else.
        const uint32_t version = code_version_.load(std::memory_order_acquire);
        if (MINIVM_UNLIKELY(version != t->code_version)) {
            t->code_version = version;
            A::instruction_barrier();
        }
    }

    int slots_in_use() const {
        // seq_cst: who has joined and woken (W2) in front of this is among them.
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
        // seq_cst: A3; passes on what A2 acquired to whoever reads the new epoch. If it fails,
        // another thread has done the same step.
        epoch_.compare_exchange_strong(e, e + 1, std::memory_order_seq_cst);
        return true;
    }

    void run_due(DeferredQueue& queue) {
        while (!queue.empty()) {
            const Deferred d = queue.front();
            // acquire: A3, hence everybody's reads before their publication.
            if (epoch_.load(std::memory_order_acquire) < d.tag + kSteps) {
                return;
            }
            queue.pop_front();
            d.f(d.data);
        }
    }

    // Takes due work out of the common queue one by one, so that no lock is held while it runs.
    // Where somebody else looks at the queue: on to other work, there will be another chance.
    void run_common() {
        // relaxed: only whether to take the lock; a miss is made good by who pushed.
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
        // pushes stores this and then reads kAsleep in advance(). One of the two sees the other.
        common_any_.store(true, std::memory_order_seq_cst);
    }

    void hand_over(Participant* t) {
        while (!t->deferred.empty()) {
            push_common(t->deferred.front().f, t->deferred.front().data);
            t->deferred.pop_front();
        }
    }

    Participant threads_[kThreads];
    // Slots in use are below this.
    typename A::template Atomic<int> used_{0};
    typename A::template Atomic<uint64_t> epoch_{1};
    // Counts changes of machine code that wait for instruction barriers.
    typename A::template Atomic<uint32_t> code_version_{0};
    typename A::Mutex mutex_{LockKind::progress};  // guards joining, and common_
    DeferredQueue common_;  // work of threads that sleep or take no part; tags ascend
    typename A::template Atomic<bool> common_any_{false};
};

}  // namespace minivm::thread_progress
