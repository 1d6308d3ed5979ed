#include "recorder/mapping.hpp"

#include <sys/mman.h>

#include <cerrno>
#include <cstring>

namespace minivm::recorder {

std::string Mapping::map(int fd, const FileHeader& header, unsigned groups, bool writable,
                         bool touch) {
    page_bytes_ = header.page_bytes;
    rings_begin_ = header.rings_offset;
    bytes_ = header.file_bytes + uint64_t{header.ring_count} * page_bytes_;
    const auto failed = [](const char* what) {
        return std::string(what) + ": " + std::strerror(errno);
    };
    // One reservation, so that the pieces below lie where slot() expects them.
    void* const space =
        mmap(nullptr, bytes_, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    if (space == MAP_FAILED) {
        return failed("reserving address space");
    }
    base_ = static_cast<unsigned char*>(space);
    if (!place(fd, 0, rings_begin_, 0, writable, touch)) {
        const std::string error = failed("mapping the header");
        release();
        return error;
    }
    for (unsigned i = 0; i < ready_rings(groups); i++) {
        if (!map_ring(fd, header, i, writable, touch)) {
            const std::string error = failed("mapping a ring");
            release();
            return error;
        }
    }
    return {};
}

bool Mapping::map_rings(int fd, const FileHeader& header, unsigned from, unsigned to, bool writable,
                        bool touch) {
    for (unsigned i = ready_rings(from); i < ready_rings(to); i++) {
        if (!map_ring(fd, header, i, writable, touch)) {
            return false;
        }
    }
    return true;
}

bool Mapping::place(int fd, uint64_t to, uint64_t bytes, uint64_t offset, bool writable,
                    bool touch) {
    return mmap(base_ + to, bytes, writable ? PROT_READ | PROT_WRITE : PROT_READ,
                MAP_SHARED | MAP_FIXED | (touch ? MAP_POPULATE : 0), fd,
                static_cast<off_t>(offset)) != MAP_FAILED;
}

bool Mapping::map_ring(int fd, const FileHeader& header, unsigned index, bool writable,
                       bool touch) {
    const RingEntry entry = ring_entry(header, index);
    const uint64_t bytes = uint64_t{entry.size_slots} * kSlotBytes;
    const uint64_t to = entry.offset + uint64_t{index} * page_bytes_;
    return place(fd, to, bytes, entry.offset, writable, touch) &&
           place(fd, to + bytes, page_bytes_, entry.offset, writable, touch);
}

void Mapping::release() {
    if (base_ != nullptr) {
        munmap(base_, bytes_);
        base_ = nullptr;
    }
}

Ring Mapping::ring(const FileHeader& header, unsigned index) const {
    const RingEntry entry = ring_entry(header, index);
    Ring ring;
    ring.words =
        reinterpret_cast<Atomics::Word*>(base_ + entry.offset + uint64_t{index} * page_bytes_);
    ring.blocks = reinterpret_cast<Atomics::Word*>(base_ + entry.blocks_offset);
    ring.control = control(header, index);
    ring.size_slots = entry.size_slots;
    return ring;
}

}  // namespace minivm::recorder
