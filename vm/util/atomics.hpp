// The atomics of the real machine, as the policy of the protocols that are templates on it: tests run the
// same code on a model of weak memory (tests/support/model/atomics.hpp).
#pragma once

#include <atomic>

#include "vm/util/lock.hpp"

namespace minivm {

struct Atomics {
    template <typename T>
    using Atomic = std::atomic<T>;
    using Mutex = CountedMutex;

    static void fence(std::memory_order order) { std::atomic_thread_fence(order); }
};

}  // namespace minivm
