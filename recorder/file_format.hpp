// The layout of a recorder file, which is also the layout of the recorder's memory.
//
//     0                    header, first copy      what never changes: sizes, clock, where the rings are
//     kHeaderBytes         header, second copy     one bad page cannot take both
//     live_offset          live state              clock anchors, crash state, owners of rings
//     crash_offset         crash report            text that a fault handler leaves
//     controls_offset      ring controls           one RingControl a ring
//     blocks_offset        side tables             first record of each 4 KiB of each ring
//     dictionary_offset    dictionary              append-only
//     rings_offset         the rings: ring_entry() says where each is
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
inline constexpr uint32_t kFormatVersion = 4;
inline constexpr uint32_t kByteOrderMark = 0x0102'0304;
inline constexpr uint64_t kHeaderBytes = 16 * 1024;
inline constexpr unsigned kMaxGroups = 1360;  // threads with rings of their own at a time
// Rings for rare records, which all threads take in turn. Several of a kind, so that a thread which
// is preempted while it holds one keeps no other thread from recording. Failures have rings of their
// own, so that no other event evicts any of them, however many events there are.
struct RareRings {
    unsigned first;
    unsigned count;
};
inline constexpr RareRings kFirstFailures{0, 1};  // the failures that a storm begins with
inline constexpr RareRings kFailures{1, 4};       // all others
inline constexpr RareRings kRare{5, 2};           // other events, within their rate
inline constexpr RareRings kRareMany{7, 3};       // other events beyond it
inline constexpr unsigned kRareRings = kRareMany.first + kRareMany.count;
// Rings of no thread: the one shared by threads without rings, then those for rare records.
inline constexpr unsigned kCommonRings = 1 + kRareRings;
inline constexpr unsigned kMaxRings = kMaxGroups * kThreadRings + kCommonRings;
inline constexpr uint32_t kLeastOwnerEntries = 512;
inline constexpr uint32_t kMaxOwnerEntries = 8192;
inline constexpr uint64_t kMaxFileBytes = uint64_t{64} << 30;  // a ring's slots fit 32 bits
inline constexpr uint64_t kCrashReportBytes = 16 * 1024;
inline constexpr uint16_t kSharedGroup = 0xffff;
inline constexpr uint16_t kRareGroup = 0xfffe;
constexpr bool is_common_group(unsigned group) {
    return group >= kRareGroup;
}
static_assert(kMaxGroups < kRareGroup);

// Slots of the rings, each a power of two and a multiple of a page.
struct RingSizes {
    uint32_t large[kThreadRings];  // of a busy thread, by class
    uint32_t small;                // each of another thread's
    uint32_t spare;                // of one that comes when the pool grows
    uint32_t shared;
    uint32_t rare;
};

struct RingEntry {
    uint64_t offset;
    uint64_t blocks_offset;
    uint32_t size_slots;
    uint16_t group;  // the rings of a thread form a group
    RingClass ring_class;
};

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
    uint64_t rings_offset;
    uint32_t process_id;
    uint32_t ring_count;
    uint32_t group_count;
    uint32_t machine;       // 1 x86-64, 2 aarch64
    uint32_t large_groups;  // the first of these: groups of busy threads
    uint32_t first_groups;  // there from the start; LiveState::groups_ready says how many are now
    uint32_t owner_entries;
    RingSizes sizes;
    char build_id[48];  // of the program that wrote, hexadecimal; empty if it has none
    char program[64];
    char subject_format[24];  // how a subject without a name is shown; one or two %u
};
static_assert(sizeof(FileHeader) <= kHeaderBytes && sizeof(FileHeader) % 8 == 0);

// Rings lie one behind the other in this order: those of the first groups, the common ones, those
// of the groups that come when the pool grows.
constexpr unsigned shared_ring_index(const FileHeader& header) {
    return header.first_groups * kThreadRings;
}
constexpr unsigned rare_ring_index(const FileHeader& header, unsigned i) {
    return shared_ring_index(header) + 1 + i;
}
constexpr unsigned ring_index(const FileHeader& header, unsigned group, unsigned ring_class) {
    return group * kThreadRings + ring_class + (group < header.first_groups ? 0 : kCommonRings);
}
// How many rings the first `groups` groups and the common rings are; at least first_groups of them.
constexpr unsigned ready_rings(unsigned groups) {
    return groups * kThreadRings + kCommonRings;
}
// The ring of that index, below ring_count; for ring_count itself, the offset is the end of the file.
constexpr RingEntry ring_entry(const FileHeader& header, unsigned index) {
    const RingSizes& sizes = header.sizes;
    const unsigned large_rings = header.large_groups * kThreadRings;
    const unsigned first_rings = header.first_groups * kThreadRings;
    const unsigned shared = first_rings;
    const uint64_t large_slots = uint64_t{sizes.large[0]} + sizes.large[1] + sizes.large[2];
    RingEntry entry{};
    uint64_t slots = 0;  // in front of it
    if (index < first_rings) {
        entry.group = static_cast<uint16_t>(index / kThreadRings);
        entry.ring_class = static_cast<RingClass>(index % kThreadRings);
        if (index < large_rings) {
            slots = entry.group * large_slots;
            for (unsigned c = 0; c < index % kThreadRings; c++) {
                slots += sizes.large[c];
            }
            entry.size_slots = sizes.large[index % kThreadRings];
        } else {
            slots = header.large_groups * large_slots + uint64_t{index - large_rings} * sizes.small;
            entry.size_slots = sizes.small;
        }
    } else {
        slots =
            header.large_groups * large_slots + uint64_t{first_rings - large_rings} * sizes.small;
        if (index == shared) {
            entry.group = kSharedGroup;
            entry.ring_class = RingClass::lifecycle;
            entry.size_slots = sizes.shared;
        } else if (index < shared + kCommonRings) {
            entry.group = kRareGroup;
            entry.ring_class = RingClass::rare;
            entry.size_slots = sizes.rare;
            slots += sizes.shared + uint64_t{index - shared - 1} * sizes.rare;
        } else {
            const unsigned place = index - kCommonRings;
            entry.group = static_cast<uint16_t>(place / kThreadRings);
            entry.ring_class = static_cast<RingClass>(place % kThreadRings);
            entry.size_slots = sizes.spare;
            slots += sizes.shared + uint64_t{kRareRings} * sizes.rare +
                     uint64_t{place - first_rings} * sizes.spare;
        }
    }
    entry.offset = header.rings_offset + slots * kSlotBytes;
    entry.blocks_offset = header.blocks_offset + slots / kSlotsPerBlock * sizeof(uint64_t);
    return entry;
}
// The offset where the rings of the first `groups` groups, and the common ones, end.
constexpr uint64_t ready_bytes(const FileHeader& header, unsigned groups) {
    return ring_entry(header, ready_rings(groups)).offset;
}

enum class CrashState : uint64_t { running = 0, closed = 1, crashing = 2, crashed = 3 };

// Which thread had a group of rings from which positions on. Valid if `sequence` is index + 1 in
// the order of attaching; written like a record: 0, the rest, sequence.
struct OwnerEntry {
    Atomics::Word sequence;
    Atomics::Word
        group_and_thread;  // group in the low 16 bits, thread id of the system from bit 32
    Atomics::Word start_position[kThreadRings];
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
    Atomics::Word owner_count;         // attaches so far; entry i is owners()[i % owner_entries]
    // State of each group: 0 free, else the system's id of the thread that owns it.
    Atomics::Word group_owner[kMaxGroups];
    // Order in which groups were freed; the lowest is taken first.
    Atomics::Word group_freed[kMaxGroups];
    Atomics::Word freed_counter;
    Atomics::Word groups_ready;  // groups that threads may take: the pool grows
    // Records of the rare class that came faster than their event's rate.
    Atomics::Word over_rate;

    // FileHeader::owner_entries of them follow.
    OwnerEntry* owners() { return reinterpret_cast<OwnerEntry*>(this + 1); }
    const OwnerEntry* owners() const { return reinterpret_cast<const OwnerEntry*>(this + 1); }
};
constexpr uint64_t live_bytes(uint64_t owner_entries) {
    return sizeof(LiveState) + owner_entries * sizeof(OwnerEntry);
}

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

// The key of a place: the event that it records, and the number in those records (0: they have none,
// for it is the event's only place). An event may have several places.
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
