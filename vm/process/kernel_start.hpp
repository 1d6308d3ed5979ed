// OTP's kernel application on demand (tools/boot/minivm_kernel.erl): who has to wait for its start.
//
// A process that looks for a name which the kernel registers (or reads a table that it makes), and which
// nobody has yet, makes it start and waits until it is up. The processes that are part of the start (who begins it and all that they
// spawn meanwhile) find the names as they are.
// Threads: any.
#pragma once

#include <atomic>

#include "vm/term/term.hpp"

namespace minivm::kernel_start {

// none: there is no kernel to start, as in a test that boots nothing.
enum class State : uint8_t { none, available, starting, up };
extern std::atomic<State> g_state;

void make_available();
void begin(Term starter);
void end();

// Whether `pid`, which has found nobody under `name`, is to be sent to minivm_kernel.
bool must_wait(Term pid, Term name);

void inherit_slow(Term parent, Term child);
// `parent` spawns `child`, which does not run yet.
inline void inherit(Term parent, Term child) {
    // acquire: who is part of the start knows that it has begun. Pairs with begin().
    if (MINIVM_UNLIKELY(g_state.load(std::memory_order_acquire) == State::starting)) {
        inherit_slow(parent, child);
    }
}

}  // namespace minivm::kernel_start
