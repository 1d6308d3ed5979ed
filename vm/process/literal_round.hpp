// The steps of a round (see literal_release.hpp), and the waits between them. What a step does to terms and processes, and the
// atomics, are parameters, so that tests/vm/code/literal_release_model_test.cpp runs this very code on a model of weak memory,
// in all schedules.
#pragma once

#include <atomic>
#include <cstdint>
#include <mutex>

#include "vm/util/lock.hpp"

namespace minivm::literal_release {

// Of thread progress.
enum class Wait : uint8_t { before_asking, between_parts, after_answers, before_freeing };

// Self is the class that inherits from this one. It has
//   void set_released(bool)      steps 1 and 5: begins and ends the rule that copies of terms copy these literals as well
//   bool ask_some()              step 3: asks some processes, with count_request() before each; false: no process is left
//   void free_areas()            step 5, after which the next round may begin
//   void later(Wait, void (*f)(void*), void* data)     thread_progress::later()
// One thread at a time calls the first three.
template <class A, class Self>
class LiteralRound {
public:
    // The areas are marked.
    void begin() {
        self().set_released(true);
        // relaxed: thread progress comes before another thread looks at it.
        open_.store(1, std::memory_order_relaxed);
        self().later(Wait::before_asking, ask, this);
    }
    void count_request() {
        // relaxed: our own one in the count keeps it from reaching zero.
        open_.fetch_add(1, std::memory_order_relaxed);
    }
    // A process refers to none of the areas any more, or is gone.
    void answered() {
        // acq_rel: the last answer comes after everything that all processes did with the literals.
        if (open_.fetch_sub(1, std::memory_order_acq_rel) != 1) {
            return;
        }
        {
            // keep() comes before its process leaves the process table, so before the last answer: we see it here.
            const std::lock_guard lock(mutex_);
            waits_for_keepers_ = keepers_ != 0;
            if (waits_for_keepers_) {
                return;
            }
        }
        self().later(Wait::after_answers, stop_copying, this);
    }

    void keep() {
        const std::lock_guard lock(mutex_);
        ++keepers_;
    }
    void give_up() {
        bool is_last = false;
        {
            const std::lock_guard lock(mutex_);
            --keepers_;
            is_last = keepers_ == 0 && waits_for_keepers_;
            waits_for_keepers_ = waits_for_keepers_ && !is_last;
        }
        if (is_last) {
            self().later(Wait::after_answers, stop_copying, this);
        }
    }
    // When no process and no dirty function is left.
    void forget_keepers() {
        const std::lock_guard lock(mutex_);
        keepers_ = 0;
        waits_for_keepers_ = false;
    }

private:
    Self& self() { return static_cast<Self&>(*this); }
    static LiteralRound& of(void* data) { return *static_cast<LiteralRound*>(data); }
    // 3, some processes at a time.
    static void ask(void* data) {
        if (of(data).self().ask_some()) {
            of(data).self().later(Wait::between_parts, ask, data);
        } else {
            of(data).answered();
        }
    }
    // 4: a process that was ending when it answered, or was not found any more, has sent its exit reason by now.
    static void stop_copying(void* data) {
        of(data).self().set_released(false);
        of(data).self().later(Wait::before_freeing, [](void* round) { of(round).self().free_areas(); }, data);
    }

    // Processes that have not answered, plus one while ask() has not asked all.
    typename A::template Atomic<uint64_t> open_{0};
    typename A::Mutex mutex_{LockKind::literal_release};
    uint32_t keepers_ = 0;            // keep() without give_up(); under the mutex
    bool waits_for_keepers_ = false;  // all processes have answered; under the mutex
};

}  // namespace minivm::literal_release
