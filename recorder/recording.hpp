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
    Ring rings[kRingClassCount];  // the one for rare records stays empty: see put_rarely()
    uint32_t group = kNoGroup;
    uint32_t recording = 0;  // the number of the recording they belong to
};

// Recordings beside the one of init(); see start_recording().
inline constexpr unsigned kMostMore = 3;

// The rings of a recording that belong to no thread.
//
// A writer of rare records takes a ring that is free, writes by the protocol as its only owner, and
// puts it back:
//     taken: 0 -> 1 (acquire); write; taken = 0 (release)
// Each owner sees all that the owners before it wrote, so the ring has one history, as if one thread
// had written it, and readers need to know nothing of this. A writer that finds all rings taken, such
// as a signal handler in the middle of such a write, uses another ring and does not wait.
struct CommonRings {
    struct alignas(64) Rare {
        std::atomic<uint32_t> taken{0};
        bool writer_is_known = false;  // in a Batch: its first record has been written
        // In the ring for the first failures: the position where it is full, and how much the rings of
        // the other failures held when it was last written; see take_for_failure().
        uint64_t full_at = 0;
        uint64_t others_then = 0;
        Ring ring;
    };
    // One for each event (modulo), so that a frequent event does not use up the rate of others.
    static constexpr unsigned kRates = 256;

    Ring shared;
    Rare rare[kRareRings];
    // When the slots that were used up to now will have been earned; see pace_of().
    std::atomic<uint64_t> earned_at[kRates] = {};
    uint64_t ticks_per_slot = 0;
    uint64_t most_ahead = 0;  // ticks
    Atomics::Word* over_rate = nullptr;
};

struct ThreadState : ThreadRings {
    uint64_t subject_bits = 0;  // the subject where word 2 has it
    uint64_t coarse_ticks = 0;  // of the last record with a fresh time stamp
    ThreadRings more[kMostMore];
    // Rings that the open Batch holds, in the recording of init() and in the others.
    CommonRings::Rare* batch = nullptr;
    CommonRings::Rare* more_batch[kMostMore] = {};
    bool in_batch = false;
    uint32_t rare_turn = 0;              // which of the rare rings is tried first
    uint32_t thread_id = 0;              // of the system
    uint32_t next_flow = 0;              // a multiple of kFlowRun: none are left
    bool attaching = false;  // rings_in() fills `more`: a signal handler leaves it alone meanwhile
    bool wants_large = false;
    char name[32] = {};
};

// A thread takes flow numbers in runs, so that threads do not meet at each number.
inline constexpr uint32_t kFlowRun = 4096;
inline constinit std::atomic<uint32_t> g_flow_runs{0};

// Of the calling thread.
ThreadState& thread_state();

// Reasons for the slow path of all records; 0 nearly always.
enum Mode : uint32_t { kMonotonicClock = 1, kMoreRecordings = 2 };
inline constinit std::atomic<uint32_t> g_mode{0};
// A thread writes this many records to one ring before it goes on to the next, so that all fill evenly.
inline constexpr uint32_t kRareTurn = 64;
// Null while nothing is recorded.
inline constinit std::atomic<CommonRings*> g_common{nullptr};
// The categories of the recording of init(); g_mask is the union of these and those of g_more.
inline constinit std::atomic<uint32_t> g_main_categories{0};
// The category of each event, by its id.
inline constinit std::atomic<uint8_t> g_event_category[UINT16_MAX + 1] = {};

// One more recording. Its writers come and go under `users`, which is how stop_recording() knows
// when its memory may go:
//     writer: users + 1 (seq_cst); number, 0 or not (seq_cst); write; users - 1 (release)
//     stop:   number = 0 (seq_cst); wait until users is 0 (seq_cst); unmap
// In the one order of all seq_cst operations either the writer's load of `number` comes behind the
// stop's store, and the writer writes nothing, or its users + 1 comes in front of the stop's load of
// `users`, and the stop waits. A signal handler counts itself, so nesting is nothing special. A Batch is
// one writer for as long as it holds a ring of the recording.
struct Recording;
struct alignas(64) More {
    std::atomic<uint32_t> categories{0};
    std::atomic<uint32_t> number{0};  // 0: none
    std::atomic<uint64_t> users{0};
    Recording* recording = nullptr;
    CommonRings* common = nullptr;
};
inline constinit More g_more[kMostMore];

// The calling thread's rings in the recording of that number, which the caller's count in `users`
// keeps mapped; null if it has none there.
ThreadRings* rings_in(unsigned index, uint32_t number);

// Sets the categories of the recording of init(). Sites may see it late.
void set_main_categories(uint32_t mask);

// The memory and header of the recording in progress; false if there is none.
bool own_recording(const Mapping*& mapping, const FileHeader*& header);

// Appends an entry; false if it found no room or nothing is being recorded.
bool append_dictionary(DictionaryKind kind, uint64_t key, std::string_view text);

}  // namespace minivm::recorder::detail
