// A value with structure as an argument of a record: a bounded copy, shown when a file is read.
//
//     uint64_t room[16];
//     ValueWriter value(room, 16);
//     value.put(ValueTag::tuple, 2); value.integer(1); value.put(ValueTag::subject, 80);  // {1,<0.80.0>}
//     recorder::record(EventId::send_message, to, flow, words, value.get());
//
// The copy is a sequence of words, each with its kind in the low four bits; containers are followed
// by their elements. What does not fit is left out and shown as "...": a reader shows any words and
// never reads beyond them. Nothing is allocated, so it may be made in a signal handler.
#pragma once

#include <bit>
#include <cstdint>
#include <cstring>
#include <string_view>

namespace minivm::recorder {

enum class ValueTag : uint8_t {
    integer,   // 60 bits, signed
    atom,      // id of define_atom()
    subject,   // as define_subject()
    nil,       // []
    tuple,     // number of elements; they follow
    list,      // elements follow up to list_end or list_tail
    list_end,
    list_tail, // one more value follows: [a|b]
    float64,   // the next word
    bytes,     // shown bytes (8 bits) | total bits (52); the bytes follow
    text,      // shown bytes (8 bits) | 1: in quotes, 2: cut; the bytes follow
    reference, // two words follow
    map,       // number of pairs; key and value of each follow
    function,  // id of define_function()
    more,      // the container goes on, the copy does not
    hidden,    // must not be shown
};
inline constexpr unsigned kValueTagBits = 4;

constexpr uint64_t pack_value(ValueTag tag, uint64_t payload = 0) {
    return (payload << kValueTagBits) | static_cast<uint64_t>(tag);
}
constexpr ValueTag value_tag(uint64_t word) {
    return static_cast<ValueTag>(word & ((1u << kValueTagBits) - 1));
}
constexpr uint64_t value_payload(uint64_t word) { return word >> kValueTagBits; }
constexpr bool fits_value_integer(int64_t i) {
    return i >= -(int64_t{1} << 59) && i < (int64_t{1} << 59);
}

// What record() takes for an argument of kind v, e or g.
struct Value {
    const uint64_t* words = nullptr;
    unsigned count = 0;

    std::string_view bytes() const {
        return {reinterpret_cast<const char*>(words), size_t{count} * 8};
    }
};

// Collects words; the last word of the room, at least one, is for `more`. Each call is false if there
// was no room: the copy is then complete as it is and takes nothing else.
class ValueWriter {
public:
    ValueWriter(uint64_t* words, unsigned room) : words_(words), room_(room) {}

    bool put(ValueTag tag, uint64_t payload = 0) { return reserve(1) && add(pack_value(tag, payload)); }
    bool integer(int64_t value) { return put(ValueTag::integer, static_cast<uint64_t>(value)); }
    bool float64(double value) {
        return reserve(2) && add(pack_value(ValueTag::float64)) && add(std::bit_cast<uint64_t>(value));
    }
    bool reference(uint64_t low, uint64_t high) {
        return reserve(3) && add(pack_value(ValueTag::reference)) && add(low) && add(high);
    }
    bool bytes(const void* data, uint64_t total_bits, unsigned shown) {
        return blob(ValueTag::bytes, total_bits, data, total_bits, shown);
    }
    // quoted: shown as a string, "...".
    bool text(std::string_view text, bool quoted, bool cut) {
        const auto shown = static_cast<unsigned>(text.size() < kMaxBlob ? text.size() : kMaxBlob);
        const uint64_t flags = (quoted ? 1u : 0u) | (cut || shown < text.size() ? 2u : 0u);
        return blob(ValueTag::text, flags, text.data(), text.size() * 8, shown);
    }
    // A word that is no value by itself: the format's id of kind e.
    bool raw(uint64_t word) { return reserve(1) && add(word); }

    bool is_full() const { return full_; }
    unsigned count() const { return count_; }
    Value get() const { return {words_, count_}; }

private:
    static constexpr unsigned kMaxBlob = 255;

    bool reserve(unsigned words) {
        if (full_) {
            return false;
        }
        if (count_ + words + 1 > room_) {
            add(pack_value(ValueTag::more));
            full_ = true;
            return false;
        }
        return true;
    }
    bool add(uint64_t word) {
        words_[count_++] = word;
        return true;
    }
    bool blob(ValueTag tag, uint64_t info, const void* data, uint64_t total_bits, unsigned shown) {
        const auto* from = static_cast<const unsigned char*>(data);
        uint64_t available = (total_bits + 7) / 8;
        unsigned n = shown < kMaxBlob ? shown : kMaxBlob;
        n = n < available ? n : static_cast<unsigned>(available);
        const unsigned space = full_ || room_ < count_ + 2 ? 0 : (room_ - count_ - 2) * 8;
        if (tag == ValueTag::text && n > space) {
            info |= 2;
        }
        n = n < space ? n : space;
        if (n == 0 && available != 0) {
            return reserve(room_ + 1);  // not even a part of it fits
        }
        if (!reserve(1 + (n + 7) / 8)) {
            return false;
        }
        add(pack_value(tag, uint64_t{n} | (info << 8)));
        for (unsigned i = 0; i < n; i += 8) {
            static_assert(std::endian::native == std::endian::little);  // the first byte is the lowest
            uint64_t word = 0;
            if (n - i >= sizeof word) [[likely]] {
                std::memcpy(&word, from + i, sizeof word);
            } else {
                std::memcpy(&word, from + i, n - i);
            }
            add(word);
        }
        return true;
    }

    uint64_t* words_;
    unsigned room_;
    unsigned count_ = 0;
    bool full_ = false;
};

}  // namespace minivm::recorder
