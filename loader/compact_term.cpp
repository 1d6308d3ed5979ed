#include "loader/compact_term.hpp"

#include "vm/term/bignum.hpp"

#include <algorithm>
#include <vector>

namespace minivm::loader {

namespace {

// Bytes of the longest integer worth reading: erlc writes those of more than 128 bits as literals.
constexpr uint64_t kMaxNumberBytes = 1 << 16;

CompactResult read_byte_count(ByteReader& in, uint8_t length_code, size_t* count) {
    if (length_code < 7) {
        *count = length_code + 2u;
        return CompactResult::ok;
    }
    // The count is itself a tagged number, always of a short form: reading it takes no recursion.
    uint8_t head;
    if (!in.u8(&head)) {
        return CompactResult::truncated;
    }
    uint64_t n;
    if ((head & 0x08) == 0) {
        n = head >> 4;
    } else if ((head & 0x10) == 0) {
        uint8_t low;
        if (!in.u8(&low)) {
            return CompactResult::truncated;
        }
        n = static_cast<uint64_t>(head >> 5) << 8 | low;
    } else {
        n = 0;
        const uint8_t* bytes;
        const size_t length = (head >> 5) + 2u;
        if ((head >> 5) == 7) {
            return CompactResult::too_large;
        }
        if (!in.bytes(length, &bytes)) {
            return CompactResult::truncated;
        }
        for (size_t i = 0; i < length; ++i) {
            if (n > kMaxNumberBytes) {
                return CompactResult::too_large;
            }
            n = n << 8 | bytes[i];
        }
    }
    if ((head & 7) != 0 || n > kMaxNumberBytes) {
        return CompactResult::too_large;
    }
    *count = n + 9;
    return CompactResult::ok;
}

}  // namespace

CompactResult read_compact(ByteReader& in, CompactNumber* out) {
    uint8_t head;
    if (!in.u8(&head)) {
        return CompactResult::truncated;
    }
    *out = CompactNumber{};
    out->tag = static_cast<CompactTag>(head & 7);
    if ((head & 0x08) == 0) {
        out->value = head >> 4;
        return CompactResult::ok;
    }
    if ((head & 0x10) == 0) {
        uint8_t low;
        if (!in.u8(&low)) {
            return CompactResult::truncated;
        }
        out->value = (head >> 5) << 8 | low;
        return CompactResult::ok;
    }
    size_t count;
    if (const CompactResult r = read_byte_count(in, head >> 5, &count); r != CompactResult::ok) {
        return r;
    }
    const uint8_t* bytes;
    if (!in.bytes(count, &bytes)) {
        return CompactResult::truncated;
    }
    out->bytes = bytes;
    out->byte_count = count;
    if (count > 8) {
        out->is_big = true;
        return out->tag == CompactTag::i ? CompactResult::ok : CompactResult::too_large;
    }
    uint64_t v = 0;
    for (size_t i = 0; i < count; ++i) {
        v = v << 8 | bytes[i];
    }
    if (out->tag == CompactTag::i) {
        const int shift = static_cast<int>(64 - 8 * count);
        out->value = static_cast<int64_t>(v << shift) >> shift;
        return CompactResult::ok;
    }
    out->value = static_cast<int64_t>(v);
    return out->value < 0 ? CompactResult::too_large : CompactResult::ok;
}

Term integer_term(Heap& heap, const CompactNumber& n) {
    if (!n.is_big && fits_small(n.value)) {
        return make_small(n.value);
    }
    std::vector<uint8_t> magnitude(n.bytes, n.bytes + n.byte_count);
    std::reverse(magnitude.begin(), magnitude.end());
    const bool negative = (magnitude.back() & 0x80) != 0;
    if (negative) {
        unsigned carry = 1;
        for (uint8_t& byte : magnitude) {
            carry += static_cast<uint8_t>(~byte);
            byte = static_cast<uint8_t>(carry);
            carry >>= 8;
        }
    }
    return bignum::from_magnitude(heap, negative, magnitude.data(), magnitude.size());
}

}  // namespace minivm::loader
