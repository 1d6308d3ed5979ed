// What this process knows of a recording that it writes. Only what sets recordings up and names things looks in here.
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
    // Groups whose memory is there.
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

// That of init(), or null. shutdown() takes it away from threads that have not ended, dirty ones that are in a system
// call: who may be one of them asks recording_now(), once.
extern Recording* g_recording;
inline Recording* recording_now() {
    // acquire: pairs with shutdown(), which frees nothing while a thread is attached.
    return std::atomic_ref(g_recording).load(std::memory_order_acquire);
}

// ---- recording_file.cpp

// Offsets and sizes of everything; false with the least size that would do.
bool lay_out(FileHeader& header, const Options& options, uint64_t& least_bytes);
// The GNU build id of the program, so that a reader can find the matching symbols.
void set_build_id(FileHeader& header);
// Makes the file and maps it, or memory without one. What is wrong, or nothing.
std::string open_memory(Recording& recording, const Options& options);

// ---- names.cpp

// The places of the program's own records.
void append_places();

}  // namespace minivm::recorder::detail
