// What a thread executes while it looks again and again for a change: the other threads of its core get
// on, and it leaves the loop without a pipeline full of stale reads.
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
