// OTP's kernel application on demand (tools/boot/minivm_kernel.erl): which processes wait for its start.
//
// If a process looks up a name that the kernel registers (or reads a table that it makes) and that does not exist
// yet, it makes the kernel start and waits until it is up. The processes of the start itself (the starter and all
// processes spawned by them meanwhile) do not wait.
// Threads: any.
#pragma once

#include <atomic>

#include "vm/term/term.hpp"

namespace minivm::kernel_start {

// none: there is no kernel to start, as in a test without a boot.
enum class State : uint8_t { none, available, starting, up };
extern std::atomic<State> g_state;

void make_available();
void begin(Term starter);
void end();

// Whether `pid`, which has not found `name`, has to call minivm_kernel and wait.
bool must_wait(Term pid, Term name);

void inherit_slow(Term parent, Term child);
// `parent` spawns `child`, which does not run yet.
inline void inherit(Term parent, Term child) {
    // acquire: a process of the start sees that it has begun. Pairs with begin().
    if (MINIVM_UNLIKELY(g_state.load(std::memory_order_acquire) == State::starting)) {
        inherit_slow(parent, child);
    }
}

}  // namespace minivm::kernel_start
