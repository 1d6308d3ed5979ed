#include "vm/util/md5.hpp"

#include <bit>
#include <cstring>

namespace minivm {

namespace {

// floor(2^32 * |sin(i + 1)|), as the RFC tabulates it.
constexpr uint32_t kSines[64] = {
    0xD76AA478, 0xE8C7B756, 0x242070DB, 0xC1BDCEEE, 0xF57C0FAF, 0x4787C62A, 0xA8304613, 0xFD469501,
    0x698098D8, 0x8B44F7AF, 0xFFFF5BB1, 0x895CD7BE, 0x6B901122, 0xFD987193, 0xA679438E, 0x49B40821,
    0xF61E2562, 0xC040B340, 0x265E5A51, 0xE9B6C7AA, 0xD62F105D, 0x02441453, 0xD8A1E681, 0xE7D3FBC8,
    0x21E1CDE6, 0xC33707D6, 0xF4D50D87, 0x455A14ED, 0xA9E3E905, 0xFCEFA3F8, 0x676F02D9, 0x8D2A4C8A,
    0xFFFA3942, 0x8771F681, 0x6D9D6122, 0xFDE5380C, 0xA4BEEA44, 0x4BDECFA9, 0xF6BB4B60, 0xBEBFBC70,
    0x289B7EC6, 0xEAA127FA, 0xD4EF3085, 0x04881D05, 0xD9D4D039, 0xE6DB99E5, 0x1FA27CF8, 0xC4AC5665,
    0xF4292244, 0x432AFF97, 0xAB9423A7, 0xFC93A039, 0x655B59C3, 0x8F0CCC92, 0xFFEFF47D, 0x85845DD1,
    0x6FA87E4F, 0xFE2CE6E0, 0xA3014314, 0x4E0811A1, 0xF7537E82, 0xBD3AF235, 0x2AD7D2BB, 0xEB86D391};
constexpr uint8_t kRotations[4][4] = {
    {7, 12, 17, 22}, {5, 9, 14, 20}, {4, 11, 16, 23}, {6, 10, 15, 21}};

void digest_block(uint32_t state[4], const uint8_t* block) {
    uint32_t words[16];
    std::memcpy(words, block, sizeof words);  // little endian, as the machines we run on
    uint32_t a = state[0], b = state[1], c = state[2], d = state[3];
    for (int i = 0; i < 64; ++i) {
        uint32_t mixed;
        int word;
        switch (i / 16) {
            case 0:
                mixed = (b & c) | (~b & d);
                word = i;
                break;
            case 1:
                mixed = (d & b) | (~d & c);
                word = (5 * i + 1) & 15;
                break;
            case 2:
                mixed = b ^ c ^ d;
                word = (3 * i + 5) & 15;
                break;
            default:
                mixed = c ^ (b | ~d);
                word = (7 * i) & 15;
                break;
        }
        const uint32_t sum = a + mixed + kSines[i] + words[word];
        a = d;
        d = c;
        c = b;
        b += std::rotl(sum, kRotations[i / 16][i & 3]);
    }
    state[0] += a;
    state[1] += b;
    state[2] += c;
    state[3] += d;
}

}  // namespace

void Md5::update(const void* bytes, size_t size) {
    const auto* p = static_cast<const uint8_t*>(bytes);
    const size_t held = byte_count & 63;
    byte_count += size;
    if (held != 0) {
        const size_t room = 64 - held;
        if (size < room) {
            if (size != 0) {
                std::memcpy(block + held, p, size);
            }
            return;
        }
        std::memcpy(block + held, p, room);
        digest_block(state, block);
        p += room;
        size -= room;
    }
    for (; size >= 64; p += 64, size -= 64) {
        digest_block(state, p);
    }
    if (size != 0) {
        std::memcpy(block, p, size);
    }
}

void Md5::final(uint8_t digest[16]) {
    const uint64_t bits = byte_count * 8;
    static constexpr uint8_t kPadding[64] = {0x80};
    const size_t held = byte_count & 63;
    update(kPadding, (held < 56 ? 56 : 120) - held);
    update(&bits, 8);
    std::memcpy(digest, state, 16);
}

}  // namespace minivm
