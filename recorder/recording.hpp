// The recording in progress: what recorder.cpp writes to and recording.cpp sets up. Not for users.
#pragma once

#include "recorder/file_format.hpp"
#include "recorder/recorder.hpp"

#include <atomic>
#include <cstdint>
#include <string_view>

namespace minivm::recorder {
class Mapping;
}

namespace minivm::recorder::detail {

inline constexpr uint32_t kNoGroup = UINT32_MAX;

// The rings that a thread has in one recording.
struct ThreadRings {
    Ring rings[kRingClassCount];
    uint32_t group = kNoGroup;
    uint32_t recording = 0;  // the number of the recording they belong to
};

// Recordings beside the one of init(); see start_recording().
inline constexpr unsigned kMostMore = 3;

struct ThreadState : ThreadRings {
    uint64_t subject_bits = 0;  // the subject where word 2 has it
    uint64_t coarse_ticks = 0;  // of the last record with a fresh time stamp
    ThreadRings more[kMostMore];
    bool attaching = false;  // to one of those: a handler that comes meanwhile leaves them alone
    bool wants_large = false;
    char name[32] = {};
};

// Of the calling thread.
ThreadState& thread_state();

// What keeps a record from being written the quick way; 0 nearly always.
enum Mode : uint32_t { kMonotonicClock = 1, kMoreRecordings = 2 };
inline constinit std::atomic<uint32_t> g_mode{0};
// The ring of threads without rings; null while nothing is recorded.
inline constinit std::atomic<const Ring*> g_shared_ring{nullptr};
// What the recording of init() takes; the sites' mask is the union of this and those below.
inline constinit std::atomic<uint32_t> g_main_categories{0};
// Of each event, as sites declare them.
inline constinit std::atomic<uint8_t> g_event_category[UINT16_MAX + 1] = {};

// One more recording. Its writers come and go under `users`, which is how stop_recording() knows
// when its memory may go:
//     writer: users + 1 (seq_cst); number, 0 or not (seq_cst); write; users - 1 (release)
//     stop:   number = 0 (seq_cst); wait until users is 0 (acquire); unmap
// In the one order of all seq_cst operations either the writer's look at `number` comes behind the
// stop's store, and it writes nothing, or its users + 1 comes in front of the stop's look at
// `users`, which then waits. A writer's handlers count for themselves, so nesting is nothing
// special.
struct Recording;
struct alignas(64) More {
    std::atomic<uint32_t> categories{0};
    std::atomic<uint32_t> number{0};  // 0: none
    std::atomic<uint64_t> users{0};
    Recording* recording = nullptr;
    Ring shared_ring;
};
inline constinit More g_more[kMostMore];

// The calling thread's rings in the recording of that number, which `users` holds; null if it has
// none there.
ThreadRings* rings_in(unsigned index, uint32_t number);

// What the recording of init() takes from now on. Sites may see it late.
void set_main_categories(uint32_t mask);

// The memory and header of the recording in progress; false if there is none.
bool own_recording(const Mapping*& mapping, const FileHeader*& header);

// Appends an entry; false if it found no room or nothing is being recorded.
bool append_dictionary(DictionaryKind kind, uint64_t key, std::string_view text);

}  // namespace minivm::recorder::detail
