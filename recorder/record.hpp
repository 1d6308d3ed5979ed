// What one record looks like in a ring.
//
// A ring is an array of 32-byte slots; a record takes 1 to 8 of them and is never split:
//
//           63    57 56 55 54     52 51                    0
//   word 0 | flags  | C| B| slots-1 | position              |  C committed, B busy; position in slots
//   word 1 | time stamp, in ticks of the file's clock       |
//   word 2 | subject (32) | arguments (8) | place (6) | ring (2) | event (16) |
//   word 3 | first argument                                 |  end of a one-slot record
//   word 4.. further arguments, then the bytes of text arguments
//
// Word 0 names the position it was written for, so a slot that was never written, or that belongs
// to an earlier or later lap of the ring, cannot be taken for the record one looks for. Nothing
// here points into the program: a record can be read when the program is gone.
#pragma once

#include <cstdint>

namespace minivm::recorder {

inline constexpr unsigned kWordsPerSlot = 4;
inline constexpr unsigned kSlotBytes = kWordsPerSlot * 8;
inline constexpr unsigned kMaxSlots = 8;
inline constexpr unsigned kMaxRecordWords = kMaxSlots * kWordsPerSlot;
inline constexpr unsigned kHeadWords = 3;  // before the first argument
inline constexpr unsigned kMaxPayloadWords = kMaxRecordWords - kHeadWords;
// An argument that names a function has its id in the low bits; the bits above are the event's own.
inline constexpr unsigned kFunctionBits = 48;
constexpr uint64_t function_of(uint64_t argument) {
    return argument & ((uint64_t{1} << kFunctionBits) - 1);
}

inline constexpr unsigned kPositionBits = 52;
inline constexpr uint64_t kPositionMask = (uint64_t{1} << kPositionBits) - 1;
inline constexpr uint64_t kBusy = uint64_t{1} << 55;
inline constexpr uint64_t kCommitted = uint64_t{1} << 56;
inline constexpr unsigned kSlotCountShift = kPositionBits;  // three bits: slots - 1
inline constexpr unsigned kFlagShift = 57;

// Flags of word 0, seven bits.
enum RecordFlag : unsigned {
    kFlagNested = 1,     // written by a signal handler while another record of the ring was open
    kFlagCoarse = 2,     // the time stamp is that of an earlier record of the thread
    kFlagTruncated = 4,  // a text argument was cut
    kFlagWriter = 8,     // the last word of its slots says who wrote it and those that follow
};

constexpr uint64_t pack_word0(uint64_t position, unsigned slots, unsigned flags, uint64_t state) {
    return (position & kPositionMask) | (uint64_t{slots - 1} << kSlotCountShift) | state |
           (uint64_t{flags} << kFlagShift);
}
constexpr uint64_t word0_position(uint64_t word) {
    return word & kPositionMask;
}
constexpr unsigned word0_slots(uint64_t word) {
    return static_cast<unsigned>((word >> kSlotCountShift) & 7) + 1;
}
constexpr unsigned word0_flags(uint64_t word) {
    return static_cast<unsigned>(word >> kFlagShift);
}
constexpr bool word0_is_committed(uint64_t word) {
    return (word & (kBusy | kCommitted)) == kCommitted;
}
constexpr bool word0_is_busy(uint64_t word) {
    return (word & (kBusy | kCommitted)) == kBusy;
}

// The number of the place (recorder/place.hpp) that wrote a record; 0: the record does not say.
inline constexpr unsigned kMaxPlace = 63;

// The low half of word 2, a constant at most sites.
constexpr uint64_t pack_event(uint16_t event, unsigned ring_class, unsigned arguments,
                              unsigned place = 0) {
    return uint64_t{event} | (uint64_t{ring_class & 3} << 16) |
           (uint64_t{place & kMaxPlace} << 18) | (uint64_t{arguments & 0xff} << 24);
}
constexpr uint16_t word2_event(uint64_t word) {
    return static_cast<uint16_t>(word);
}
constexpr unsigned word2_ring(uint64_t word) {
    return static_cast<unsigned>((word >> 16) & 3);
}
constexpr unsigned word2_place(uint64_t word) {
    return static_cast<unsigned>((word >> 18) & kMaxPlace);
}
constexpr unsigned word2_arguments(uint64_t word) {
    return static_cast<unsigned>((word >> 24) & 0xff);
}
constexpr uint32_t word2_subject(uint64_t word) {
    return static_cast<uint32_t>(word >> 32);
}

// A text argument is a word that says where its bytes lie in the same record.
constexpr uint64_t pack_text(unsigned byte_offset, unsigned length) {
    return uint64_t{byte_offset} | (uint64_t{length} << 16);
}
constexpr unsigned text_offset(uint64_t word) {
    return static_cast<unsigned>(word & 0xffff);
}
constexpr unsigned text_length(uint64_t word) {
    return static_cast<unsigned>((word >> 16) & 0xffff);
}

// In rings that threads take in turn: the writer's group of rings (all bits: it has none) and its
// thread id.
constexpr uint64_t pack_writer(uint32_t group, uint32_t thread) {
    return uint64_t{group & 0xffff} | (uint64_t{thread} << 32);
}
constexpr unsigned writer_group(uint64_t word) {
    return static_cast<unsigned>(word & 0xffff);
}
constexpr uint32_t writer_thread(uint64_t word) {
    return static_cast<uint32_t>(word >> 32);
}

constexpr unsigned slots_for_words(unsigned words) {
    return (words + kWordsPerSlot - 1) / kWordsPerSlot;
}

static_assert(pack_word0(5, 8, 0x7f, kCommitted) >> 63 == 1);
static_assert(word0_slots(pack_word0(5, 8, 0x7f, kCommitted)) == 8);
static_assert(word2_place(pack_event(0xffff, 3, 0xff, kMaxPlace)) == kMaxPlace);
static_assert(word2_ring(pack_event(0xffff, 2, 0xff, kMaxPlace)) == 2);
static_assert(word0_flags(pack_word0(kPositionMask, 8, 0x55, kBusy)) == 0x55);

}  // namespace minivm::recorder
