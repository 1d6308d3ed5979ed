// An engine whose processes are C++ functions, for tests of schedulers and signals without bytecode.
//
// A body is called once a slice and says why it stops; what it must remember lies in its object.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>

#include "vm/code/engine.hpp"
#include "vm/process/process.hpp"
#include "vm/sched/scheduler.hpp"

namespace minivm::test {

// What a process does in one slice.
using Body = std::function<Stop(Process& p)>;

// Starts a process with this body. parent null: from the test's thread.
Term start(Process* parent, Body body);
Term start(Process* parent, Body body, bool link, bool monitor, RefId* monitor_ref = nullptr);

// The process ends with this reason (class exit).
Stop exit_with(Process& p, Term reason);
Stop exit_normally(Process& p);

// A machine that runs on the fake engine and is stopped by finish().
class Machine {
  public:
    explicit Machine(int schedulers, uint64_t seed = 0, bool one_reduction = false);
    ~Machine();
    // Waits until somebody calls vm::halt(); its status.
    int wait();

  private:
    bool waited_ = false;
};

}  // namespace minivm::test
