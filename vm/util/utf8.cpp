#include "vm/util/utf8.hpp"

namespace minivm {

unsigned utf8_encode(uint32_t c, uint8_t* out) {
    const auto tail = [](uint32_t bits) { return static_cast<uint8_t>(0x80 | (bits & 0x3F)); };
    if (c < 0x80) {
        out[0] = static_cast<uint8_t>(c);
        return 1;
    }
    if (c < 0x800) {
        out[0] = static_cast<uint8_t>(0xC0 | c >> 6);
        out[1] = tail(c);
        return 2;
    }
    if (c < 0x10000) {
        out[0] = static_cast<uint8_t>(0xE0 | c >> 12);
        out[1] = tail(c >> 6);
        out[2] = tail(c);
        return 3;
    }
    out[0] = static_cast<uint8_t>(0xF0 | c >> 18);
    out[1] = tail(c >> 12);
    out[2] = tail(c >> 6);
    out[3] = tail(c);
    return 4;
}

void append_utf8(uint32_t c, std::string* out) {
    uint8_t bytes[4];
    out->append(bytes, bytes + utf8_encode(c, bytes));
}

size_t utf8_of_latin1(std::string_view latin1, char* out) {
    size_t n = 0;
    for (const char c : latin1) {
        n += utf8_encode(static_cast<uint8_t>(c), reinterpret_cast<uint8_t*>(out + n));
    }
    return n;
}

unsigned utf8_decode(const uint8_t* p, size_t n, uint32_t* c, bool* more) {
    *more = false;
    const uint8_t lead = p[0];
    if (lead < 0x80) {
        *c = lead;
        return 1;
    }
    if (lead < 0xC2 || lead > 0xF4) {
        return 0;
    }
    const unsigned length = lead < 0xE0 ? 2 : lead < 0xF0 ? 3 : 4;
    uint32_t v = lead & (0x7Fu >> length);
    for (unsigned i = 1; i < length; i++) {
        if (i == n) {
            *more = true;
            return 0;
        }
        if ((p[i] & 0xC0) != 0x80) {
            return 0;
        }
        // The second byte decides about overlong forms, surrogates and what is above the last
        // character.
        if (i == 1 && ((lead == 0xE0 && p[1] < 0xA0) || (lead == 0xED && p[1] > 0x9F) ||
                       (lead == 0xF0 && p[1] < 0x90) || (lead == 0xF4 && p[1] > 0x8F))) {
            return 0;
        }
        v = v << 6 | (p[i] & 0x3F);
    }
    *c = v;
    return length;
}

}  // namespace minivm
