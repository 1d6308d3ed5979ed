// The layout of a recorder file, which is also the layout of the recorder's memory.
//
//     0                    header, first copy      what never changes: sizes, clock, ring directory
//     kHeaderBytes         header, second copy     one bad page cannot take both
//     live_offset          live state              clock anchors, crash state, owners of rings
//     crash_offset         crash report            text that a fault handler leaves
//     controls_offset      ring controls           one RingControl a ring
//     blocks_offset        side tables             first record of each 4 KiB of each ring
//     dictionary_offset    dictionary              append-only
//     ring[i].offset       the rings
//
// All numbers are in the byte order of the writer, which the header names; a reader of the other
// order refuses the file. Everything a writer changes while others read is a 64-bit word.
#pragma once

#include "recorder/atomics.hpp"
#include "recorder/clock.hpp"
#include "recorder/events.hpp"
#include "recorder/protocol.hpp"

#include <atomic>
#include <cstddef>
#include <cstdint>

namespace minivm::recorder {

using Control = RingControl<Atomics>;
using Ring = RingView<Atomics>;

inline constexpr uint64_t kMagic = 0x5246'4d56'494e'494d;  // "MINIVMFR" in little-endian order
inline constexpr uint32_t kFormatVersion = 2;
inline constexpr uint32_t kByteOrderMark = 0x0102'0304;
inline constexpr uint64_t kHeaderBytes = 16 * 1024;
inline constexpr unsigned kMaxRings = 512;
inline constexpr unsigned kOwnerEntries = 512;
inline constexpr uint64_t kMaxFileBytes = uint64_t{64} << 30;  // a ring's slots fit 32 bits
inline constexpr uint64_t kCrashReportBytes = 16 * 1024;
inline constexpr uint16_t kSharedGroup = 0xffff;

struct RingEntry {
    uint64_t offset;
    uint64_t blocks_offset;
    uint32_t size_slots;
    uint16_t group;  // the three rings of a thread form a group
    uint16_t ring_class;
};
static_assert(sizeof(RingEntry) == 24);

struct FileHeader {
    uint64_t magic;
    uint32_t version;
    uint32_t byte_order;
    uint64_t checksum;  // of the whole header with this word 0
    uint64_t file_bytes;
    uint32_t page_bytes;
    uint32_t clock_kind;
    uint64_t ticks_per_second;  // first estimate
    ClockAnchor start;
    uint64_t live_offset;
    uint64_t crash_offset;
    uint64_t controls_offset;
    uint64_t blocks_offset;
    uint64_t dictionary_offset;
    uint64_t dictionary_bytes;
    uint32_t process_id;
    uint32_t ring_count;
    uint32_t group_count;
    uint32_t machine;       // 1 x86-64, 2 aarch64
    uint32_t first_groups;  // there from the start; LiveState::groups_ready says how many are now
    uint32_t unused;
    char build_id[48];  // of the program that wrote, hexadecimal; empty if it has none
    char program[64];
    char subject_format[24];  // how a subject without a name is shown; one or two %u
    RingEntry rings[kMaxRings];
};
static_assert(sizeof(FileHeader) <= kHeaderBytes);

// Rings lie in the file as they stand in the directory: those of the first groups, the shared one, those of
// the groups that come when the pool grows.
constexpr unsigned shared_ring_index(const FileHeader& header) {
    return header.first_groups * kRingClassCount;
}
constexpr unsigned ring_index(const FileHeader& header, unsigned group, unsigned ring_class) {
    return group * kRingClassCount + ring_class + (group < header.first_groups ? 0 : 1);
}
// Rings of the first so many groups, and the shared one; at least the groups of the start.
constexpr unsigned ready_rings(unsigned groups) {
    return groups * kRingClassCount + 1;
}
// Where their part of the file ends.
constexpr uint64_t ready_bytes(const FileHeader& header, unsigned groups) {
    const RingEntry& last = header.rings[ready_rings(groups) - 1];
    return last.offset + uint64_t{last.size_slots} * kSlotBytes;
}

enum class CrashState : uint64_t { running = 0, closed = 1, crashing = 2, crashed = 3 };

// Which thread had a group of rings from which positions on. Valid if `sequence` is index + 1 in
// the order of attaching; written like a record: 0, the rest, sequence.
struct OwnerEntry {
    Atomics::Word sequence;
    Atomics::Word
        group_and_thread;  // group in the low 16 bits, thread id of the system from bit 32
    Atomics::Word start_position[kRingClassCount];
    Atomics::Word start_ticks;
    Atomics::Word name[4];  // 32 bytes, zero-filled
};

struct alignas(128) LiveState {
    Atomics::Word crash_state;
    Atomics::Word crash_signal;
    Atomics::Word crash_thread;
    Atomics::Word crash_ticks;
    Atomics::Word crash_report_bytes;
    // Latest anchor; written under `anchor_sequence`, odd while it is being written.
    Atomics::Word anchor_sequence;
    Atomics::Word anchor_ticks;
    Atomics::Word anchor_monotonic_ns;
    Atomics::Word anchor_wall_ns;
    Atomics::Word
        dictionary_used;  // bytes reserved; may exceed dictionary_bytes when entries were refused
    Atomics::Word dictionary_refused;  // entries that found no room
    Atomics::Word owner_count;         // attaches so far; entry i is owners[i % kOwnerEntries]
    // State of each group: 0 free, else the system's id of the thread that owns it.
    Atomics::Word group_owner[kMaxRings];
    // Order in which groups were freed; the lowest is taken first.
    Atomics::Word group_freed[kMaxRings];
    Atomics::Word freed_counter;
    Atomics::Word groups_ready;  // groups that threads may take: the pool grows
    OwnerEntry owners[kOwnerEntries];
};

// Dictionary entries follow each other on 8-byte boundaries:
//     word 0   0 until complete; then bytes of text (16) | kind (8) | 1 (8) | checksum (32)
//     word 1   key
//     text, zero-filled to 8 bytes
enum class DictionaryKind : uint8_t {
    event = 1,     // key: event id; text: see describe_event()
    atom = 2,      // key: id; text
    function = 3,  // key: id; text: module '\0' function '\0' arity in decimal
    subject = 4,   // key: subject; text
    string = 5,    // key: id; text
    site = 6,      // key: see pack_site_key(); text: file '\0' line '\0' function
};
inline constexpr unsigned kDictionaryHeadBytes = 16;
inline constexpr unsigned kMaxDictionaryText = 4096;

// A place that records the event, and the number in those records (0: they have none, for it is the
// event's only one). An event may have several.
constexpr uint64_t pack_site_key(uint16_t event, unsigned number) {
    return uint64_t{event} | (uint64_t{number} << 16);
}
constexpr uint16_t site_event(uint64_t key) {
    return static_cast<uint16_t>(key);
}
constexpr uint64_t site_number(uint64_t key) {
    return key >> 16;
}

constexpr uint64_t pack_dictionary_head(DictionaryKind kind, unsigned length, uint32_t checksum) {
    return uint64_t{length} | (uint64_t{static_cast<uint8_t>(kind)} << 16) | (uint64_t{1} << 24) |
           (uint64_t{checksum} << 32);
}

// A short checksum (FNV-1a folded): tells damage from data, nothing more.
uint32_t checksum32(const void* bytes, size_t count, uint32_t seed = 0);
uint64_t checksum64(const void* bytes, size_t count);

constexpr uint64_t round_up(uint64_t value, uint64_t unit) {
    return (value + unit - 1) / unit * unit;
}

}  // namespace minivm::recorder
