// Thread progress, the code that the VM runs, on the model of memory: for what else is modelled
// under it. The protocol of thread progress itself has a test with a policy of its own.
#pragma once

#include "tests/support/model/atomics.hpp"
#include "vm/progress/thread_progress_core.hpp"

namespace minivm::model {

struct ProgressPolicy : Atomics {
    static void instruction_barrier() {}
};
struct Participant : thread_progress::Slot<ProgressPolicy> {};
template <int kThreads, uint64_t kSteps = 2>
using Progress = thread_progress::Core<ProgressPolicy, Participant, kThreads, kSteps>;

// What a thing is that one gives back and others may still use.
constexpr int kAlive = 1, kFreed = 2;

}  // namespace minivm::model
