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

    static void fence([[maybe_unused]] std::memory_order order) {
#if defined(__SANITIZE_THREAD__)
        // ThreadSanitizer does not know fences. One atomic addition that all fences share orders more than they do.
        static constinit std::atomic<int> all{0};
        all.fetch_add(0, std::memory_order_seq_cst);  // seq_cst: as above
#else
        std::atomic_thread_fence(order);
#endif
    }
};

}  // namespace minivm
