// Memory for a recorder file: the fixed part, and each ring with its first page mapped again behind
// its end.
//
// A record is at most 256 bytes, so one repeated page is enough that none has to wrap.
#pragma once

#include "recorder/file_format.hpp"

#include <cstdint>
#include <string>

namespace minivm::recorder {

class Mapping {
public:
    Mapping() = default;
    Mapping(const Mapping&) = delete;
    Mapping& operator=(const Mapping&) = delete;
    ~Mapping() { release(); }

    // Maps the file that `header` describes: its fixed part and the rings of the first `groups` groups;
    // for the other rings it reserves address space. Returns an empty string or what failed.
    std::string map(int fd, const FileHeader& header, unsigned groups, bool writable, bool touch);
    // Maps the rings of the groups from `from` up to `to` as well.
    bool map_rings(int fd, const FileHeader& header, unsigned from, unsigned to, bool writable,
                   bool touch);
    void release();
    // Leaves the memory mapped for good.
    void abandon() { base_ = nullptr; }

    unsigned char* at(uint64_t offset) const { return base_ + offset; }
    LiveState* live(const FileHeader& header) const {
        return reinterpret_cast<LiveState*>(at(header.live_offset));
    }
    Control* control(const FileHeader& header, unsigned ring) const {
        return reinterpret_cast<Control*>(at(header.controls_offset)) + ring;
    }
    Ring ring(const FileHeader& header, unsigned index) const;

private:
    bool place(int fd, uint64_t to, uint64_t bytes, uint64_t offset, bool writable, bool touch);
    bool map_ring(int fd, const FileHeader& header, unsigned index, bool writable, bool touch);

    unsigned char* base_ = nullptr;
    uint64_t bytes_ = 0;
    uint64_t rings_begin_ = 0;  // offset of the first ring, in the file and in memory
    uint32_t page_bytes_ = 0;
};

}  // namespace minivm::recorder
