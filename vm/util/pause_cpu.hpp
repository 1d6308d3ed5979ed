// What a thread executes while it polls for a change: the other hardware threads of its core get on, and the
// loop does not end with a pipeline full of stale reads.
#pragma once

namespace minivm {

inline void pause_cpu() {
#if defined(__x86_64__)
    __builtin_ia32_pause();
#elif defined(__aarch64__)
    asm volatile("yield");
#endif
}

}  // namespace minivm
