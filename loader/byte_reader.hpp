// A cursor over bytes that come from outside. Every read says whether there was enough.
// Threads: plain data, one owner.
#pragma once

#include <cstddef>
#include <cstdint>

namespace minivm::loader {

class ByteReader {
public:
    ByteReader(const uint8_t* data, size_t size) : data_(data), size_(size) {}

    size_t offset() const { return offset_; }
    size_t left() const { return size_ - offset_; }
    bool at_end() const { return offset_ == size_; }

    bool u8(uint8_t* out) {
        if (left() < 1) {
            return false;
        }
        *out = data_[offset_++];
        return true;
    }
    bool u16(uint16_t* out) {
        uint64_t v;
        if (!big_endian(2, &v)) {
            return false;
        }
        *out = static_cast<uint16_t>(v);
        return true;
    }
    bool u32(uint32_t* out) {
        uint64_t v;
        if (!big_endian(4, &v)) {
            return false;
        }
        *out = static_cast<uint32_t>(v);
        return true;
    }
    bool u64(uint64_t* out) { return big_endian(8, out); }
    bool bytes(size_t count, const uint8_t** out) {
        if (left() < count) {
            return false;
        }
        *out = data_ + offset_;
        offset_ += count;
        return true;
    }

private:
    bool big_endian(size_t count, uint64_t* out) {
        if (left() < count) {
            return false;
        }
        uint64_t v = 0;
        for (size_t i = 0; i < count; ++i) {
            v = v << 8 | data_[offset_ + i];
        }
        offset_ += count;
        *out = v;
        return true;
    }

    const uint8_t* data_;
    size_t size_;
    size_t offset_ = 0;
};

}  // namespace minivm::loader
