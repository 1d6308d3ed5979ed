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

struct ThreadState {
    Ring rings[kRingClassCount];
    uint64_t subject_bits = 0;  // the subject where word 2 has it
    uint64_t coarse_ticks = 0;  // of the last record with a fresh time stamp
    uint32_t group = kNoGroup;
    uint32_t recording = 0;  // which init() the rings belong to
};

// Of the calling thread.
ThreadState& thread_state();

inline constinit std::atomic<uint32_t> g_clock_kind{0};
// The ring of threads without rings; null while nothing is recorded.
inline constinit std::atomic<const Ring*> g_shared_ring{nullptr};

// The memory and header of the recording in progress; false if there is none.
bool own_recording(const Mapping*& mapping, const FileHeader*& header);

// Appends an entry; false if it found no room or nothing is being recorded.
bool append_dictionary(DictionaryKind kind, uint64_t key, std::string_view text);

}  // namespace minivm::recorder::detail
