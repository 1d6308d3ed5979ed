// Records that prove themselves: their arguments follow from a serial number, so that a torn, stale
// or invented record is seen by itself.
#pragma once

#include "recorder/format.hpp"
#include "recorder/reader.hpp"
#include "recorder/recorder.hpp"

#include <array>
#include <cstdint>
#include <cstring>
#include <string>

namespace recorder_test {

inline uint64_t mix(uint64_t x) {
    x ^= x >> 33;
    x *= 0xff51afd7ed558ccdu;
    x ^= x >> 33;
    x *= 0xc4ceb9fe1a85ec53u;
    return x ^ (x >> 33);
}

// The letters (serial + 7 * i) mod 26 for i = 0..., which are one row of letters begun at different
// places: 15 is the inverse of 7.
inline constexpr auto kLetters = [] {
    std::array<char, 26 + 160> row{};
    for (unsigned i = 0; i < row.size(); i++) {
        row[i] = static_cast<char>('a' + i * 7 % 26);
    }
    return row;
}();
inline const char* letters(uint64_t serial) {
    return kLetters.data() + serial % 26 * 15 % 26;
}

// One slot, two slots, or three to eight, by the serial.
inline void record_pattern(uint64_t serial) {
    using namespace minivm::recorder;
    switch (serial % 4) {
        case 0:
            record(EventId::sched_wake, serial, mix(serial));
            break;
        case 1:
            record(EventId::trace_call_words, serial, mix(serial), mix(serial + 1),
                   mix(serial + 2));
            break;
        case 2:
            record(EventId::span_end, (mix(serial & 0xffffffff) << 32) | (serial & 0xffffffff));
            break;
        default:
            record(EventId::trace_call, serial,
                   std::string_view(letters(serial), 8 + serial % 150));
            break;
    }
}

// Whether a record is one that record_pattern() wrote, whole. Others are accepted.
inline bool is_whole(const minivm::recorder::Record& r) {
    using namespace minivm::recorder;
    switch (static_cast<EventId>(r.event())) {
        case EventId::sched_wake:
            return r.slots() == 2 && r.argument(1) == mix(r.argument(0));
        case EventId::trace_call_words: {
            const uint64_t serial = r.argument(0);
            return r.slots() == 2 && r.argument(1) == mix(serial) &&
                   r.argument(2) == mix(serial + 1) && r.argument(3) == mix(serial + 2);
        }
        case EventId::span_end:
            return r.argument(0) >> 32 == (mix(r.argument(0) & 0xffffffff) & 0xffffffff);
        case EventId::trace_call: {
            const uint64_t serial = r.argument(0);
            const uint64_t where = r.argument(1);
            const size_t length = text_length(where);
            const size_t wanted = 8 + serial % 150;
            const bool cut = (r.flags() & kFlagTruncated) != 0;
            if (length > wanted || (length < wanted && !cut) || text_offset(where) != 16) {
                return false;
            }
            if (16 + length > (r.slots() * kWordsPerSlot - kHeadWords) * 8) {
                // Without its text: in the ring of all threads, written by one that has its own in
                // another recording.
                return cut;
            }
            const char* text = reinterpret_cast<const char*>(r.words + kHeadWords) + 16;
            return std::memcmp(text, letters(serial), length) == 0;
        }
        default:
            return true;
    }
}

// Checks every record and the account of every ring. Returns what is wrong, or an empty string.
inline std::string check_snapshot(const minivm::recorder::Snapshot& snapshot, bool at_rest) {
    using namespace minivm::recorder;
    for (const RingContents& ring : snapshot.rings()) {
        const Ledger& l = ring.ledger;
        const std::string where = " in ring " + std::to_string(ring.index);
        if (l.reserved_slots !=
            l.decoded_slots + l.overwritten_slots + l.in_progress_slots + l.lost_slots) {
            return "the slots do not add up" + where;
        }
        uint64_t slots = 0;
        uint64_t position = 0;
        for (const Record& record : ring.records) {
            if (!is_whole(record)) {
                return "a record is torn" + where + " at " + std::to_string(record.position());
            }
            if (record.position() < position) {
                return "records overlap" + where;
            }
            position = record.position() + record.slots();
            slots += record.slots();
        }
        if (slots != l.decoded_slots || ring.records.size() != l.decoded_records) {
            return "the count of decoded records is wrong" + where;
        }
        // A writer of the shared ring counts its record after it has claimed the cell: one that
        // was killed in between left a record in progress that was never counted.
        const uint64_t uncounted = ring.group == kSharedGroup ? l.in_progress_records : 0;
        if (at_rest && l.begun_records + uncounted < l.decoded_records + l.in_progress_records) {
            return "more records than were begun" + where;
        }
    }
    return {};
}

}  // namespace recorder_test
