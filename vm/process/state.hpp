// The state word of a process: who owns it, and whether it has something to do.
//
//   kRunning: a scheduler, or with kDirty a dirty scheduler, owns the process.
//   kQueued: it is in exactly one run queue (or dirty queue, with kDirty), or on its way into it.
//   neither: it sleeps until wake_process() queues it.
//
// Falling asleep and waking (store, then load, on both sides, all seq_cst):
//   waker:   make the reason visible (push a signal, set a bit); set kActive; if the process was in no
//            queue and not running, set kQueued in the same step and put it in a queue
//   owner:   clear kActive; look at all reasons; if there is none, give up kRunning by a
//            compare-exchange that fails if kActive has come back
// So a reason that the owner did not see makes its compare-exchange fail, or finds the process asleep.
#pragma once

#include <cstdint>

#include "vm/code/waiter.hpp"
#include "vm/term/term.hpp"

namespace minivm {

struct Process;

namespace process_state {
constexpr uint32_t kActive = 1;      // something has happened since the owner last looked
constexpr uint32_t kQueued = 2;
constexpr uint32_t kRunning = 4;     // owned by a scheduler or a dirty scheduler
constexpr uint32_t kDirty = 8;       // queued for, or running on, a dirty scheduler
constexpr uint32_t kExiting = 16;    // its end has begun; never cleared
constexpr uint32_t kDead = 32;       // its end is complete; never queued again
constexpr uint32_t kWoken = 64;      // wake_up() was called
constexpr uint32_t kTimedOut = 128;  // the receive timer fired
constexpr uint32_t kSensitive = 1024; // written by the owner only: process_flag(sensitive, true)
constexpr uint32_t kHeld = 2048;     // with kDirty: one thread looks at it, see process/dirty_hold.hpp, or go_dirty() does
constexpr uint32_t kLeft = 4096;     // with kDirty: it has ended, and its dirty function goes on alone
constexpr uint32_t kKept = 8192;     // with kDirty: its native function keeps the library and needs the module no more
constexpr uint32_t kOwnsNode = 16384; // it has made this node alive: see process/node_life.hpp
constexpr uint32_t kOwnsFiles = 32768; // it has opened a file: see process/file_handle.hpp
constexpr uint32_t kEndIsChecked = 65536; // a process is about to call end_dirty_process() for it
constexpr uint32_t kWaiting = 512;   // written by the owner only: its code waits for something
}  // namespace process_state

// Sets `reason` (bits, may be 0) and makes sure that the process looks at it. Any thread that may hold a
// Process* (a scheduler, or inside a delay section).
void wake_process(Process& p, uint32_t reason);

// Ends the wait of trap_wait() / Stop::waiting, as wake_up_pid() does by pid. Any thread.
inline void wake_up(Process& p) { wake_process(p, process_state::kWoken); }

}  // namespace minivm
