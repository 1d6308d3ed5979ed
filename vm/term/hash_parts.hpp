// What OTP's hashes of terms have in common: Bob Jenkins' mix of 1996, over words and over bytes.
// Threads: any; reads only.
#pragma once

#include "vm/term/binary.hpp"

#include <memory>

namespace minivm::hashing {

constexpr uint32_t kGolden = 0x9E3779B9;
// Constants that tell the types apart: multiples of the golden ratio.
constexpr uint32_t golden(uint32_t k) { return kGolden * k; }

[[gnu::always_inline]] constexpr void jenkins_mix(uint32_t& a, uint32_t& b, uint32_t& c) {
    const auto round = [&](unsigned s1, unsigned s2, unsigned s3) {
        a = (a - b - c) ^ (c >> s1);
        b = (b - c - a) ^ (a << s2);
        c = (c - a - b) ^ (b >> s3);
    };
    round(13, 8, 13);
    round(12, 16, 5);
    round(3, 10, 15);
}
[[gnu::always_inline]] constexpr void mix_in(uint32_t& hash, uint32_t x, uint32_t y,
                                             uint32_t constant) {
    uint32_t a = constant + x;
    uint32_t b = constant + y;
    jenkins_mix(a, b, hash);
}

// The hash of any number of bytes; `initial` is the hash of what comes before them.
uint32_t block_hash(const uint8_t* bytes, size_t size, uint32_t initial);

// The whole bytes of a bit string and the bits after them, at any bit offset.
class BitBytes {
public:
    explicit BitBytes(Term t);
    const uint8_t* data() const { return data_; }
    size_t size() const { return size_; }
    unsigned extra_bits() const { return extra_bits_; }
    unsigned extra() const { return data_[size_] >> (8 - extra_bits_); }

private:
    const uint8_t* data_;
    size_t size_;
    unsigned extra_bits_;
    std::unique_ptr<uint8_t[]> copy_;
};

}  // namespace minivm::hashing
