// MD5 (RFC 1321): module checksums and erlang:md5/1, md5_init, md5_update, md5_final.
// Not for anything that needs a safe hash.
// Threads: a context has one owner.
#pragma once

#include <cstddef>
#include <cstdint>

namespace minivm {

// Plain data, so that a context can be kept in a binary and copied (erlang:md5_update/2).
struct Md5 {
    uint32_t state[4] = {0x67452301, 0xEFCDAB89, 0x98BADCFE, 0x10325476};
    uint64_t byte_count = 0;
    uint8_t block[64] = {};  // the bytes that do not fill a block yet

    void update(const void* bytes, size_t size);
    // The digest of all that was given; the context is used up.
    void final(uint8_t digest[16]);
};

}  // namespace minivm
