// UTF-8 (RFC 3629), written and read a character at a time.
// Threads: no state.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

namespace minivm {

constexpr bool is_unicode(uint64_t c) {
    return c < 0xD800 || (c > 0xDFFF && c <= 0x10FFFF);
}
// Writes c, at most 0x10FFFF, and says how many bytes it took. A surrogate is written as its number
// would be: where there must be none, ask is_unicode() before.
unsigned utf8_encode(uint32_t c, uint8_t* out);
void append_utf8(uint32_t c, std::string* out);
// Writes at most twice as many bytes as there are; their number.
size_t utf8_of_latin1(std::string_view latin1, char* out);
// Reads the character at p, of n > 0 bytes at most; its length. 0: it is not well formed, and `more`
// tells whether it could be with more bytes.
unsigned utf8_decode(const uint8_t* p, size_t n, uint32_t* c, bool* more);

}  // namespace minivm
