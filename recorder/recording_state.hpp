// What this process knows of a recording that it writes. For the files that set recordings up and name things.
#pragma once

#include "recorder/mapping.hpp"
#include "recorder/recording.hpp"

#include <unistd.h>

#include <atomic>
#include <string>
#include <thread>

namespace minivm::recorder::detail {

struct Recording {
    FileHeader header{};
    Mapping mapping;
    CommonRings common;
    std::string path;
    int fd = -1;
    uint32_t number = 0;
    uint64_t last_tick = 0;
    std::atomic<uint32_t> next_event{kFirstSiteEvent};
    // The worker that makes the pool of rings larger: at most one at a time.
    std::thread worker;
    std::atomic<bool> is_growing{false};
    std::atomic<bool> cannot_grow{false};

    LiveState& live() const { return *mapping.live(header); }
    // Groups whose rings are mapped.
    unsigned ready_groups() const {
        // acquire: their rings are mapped. Pairs with grow().
        return static_cast<unsigned>(live().groups_ready.load(std::memory_order_acquire));
    }
    Ring ring(uint32_t group, unsigned ring_class) const {
        return mapping.ring(header, ring_index(header, group, ring_class));
    }
    ~Recording() {
        if (worker.joinable()) {
            worker.join();
        }
        if (fd >= 0) {
            close(fd);
        }
    }
};

// The recording of init(), or null. shutdown() clears it while threads may still run, such as dirty schedulers in a
// system call: a function that such a thread may call reads it once, with recording_now().
extern Recording* g_recording;
inline Recording* recording_now() {
    // acquire: pairs with shutdown(), which frees nothing while a thread is attached.
    return std::atomic_ref(g_recording).load(std::memory_order_acquire);
}

// ---- recording_file.cpp

// Fills in all offsets and sizes; false, with the least size that would do, if size_bytes is too small.
bool lay_out(FileHeader& header, const Options& options, uint64_t& least_bytes);
// The GNU build id of the program, so that a reader can find the matching symbols.
void set_build_id(FileHeader& header);
// Creates the file, or memory without one, with its size; Mapping maps it. Returns what went wrong, or nothing.
std::string open_memory(Recording& recording, const Options& options);

// ---- names.cpp

// Appends the places of the program's own records to the dictionary.
void append_places();

}  // namespace minivm::recorder::detail
