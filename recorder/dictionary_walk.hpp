// Going through the dictionary of a recording, at rest or being appended to. Not for users.
#pragma once

#include "recorder/file_format.hpp"

#include <cstring>
#include <string_view>

namespace minivm::recorder {

// Calls entry(kind, key, text) for each complete entry between two positions in words. It passes over
// anything else, an unfinished entry included: the next entry proves itself by its checksum. Returns
// how many bytes were written and belong to no complete entry.
template <class Entry>
uint64_t walk_dictionary(const Atomics::Word* words, uint64_t from, uint64_t to, Entry&& entry) {
    uint64_t damaged_bytes = 0;
    char text[kMaxDictionaryText + 8];
    for (uint64_t at = from; at + 2 <= to;) {
        // acquire: a complete head means complete text. Pairs with the release in append_entry().
        const uint64_t head = words[at].load(std::memory_order_acquire);
        const auto length = static_cast<unsigned>(head & 0xffff);
        const uint64_t size = 2 + round_up(length, 8) / 8;
        const bool complete = ((head >> 24) & 0xff) == 1;
        if (head == 0) {
            at += 1;  // never written
            continue;
        }
        if (length > kMaxDictionaryText || at + size > to || !complete) {
            at += 1;
            damaged_bytes += 8;
            continue;
        }
        const uint64_t key = Atomics::load_payload(words[at + 1]);
        for (uint64_t i = 0; i < size - 2; i++) {
            const uint64_t word = Atomics::load_payload(words[at + 2 + i]);
            std::memcpy(text + 8 * i, &word, 8);
        }
        const auto kind = static_cast<DictionaryKind>((head >> 16) & 0xff);
        const uint32_t sum =
            checksum32(text, length, checksum32(&key, sizeof key)) ^ static_cast<uint32_t>(kind);
        if (sum != static_cast<uint32_t>(head >> 32)) {
            at += 1;
            damaged_bytes += 8;
            continue;
        }
        entry(kind, key, std::string_view(text, length));
        at += size;
    }
    return damaged_bytes;
}

}  // namespace minivm::recorder
