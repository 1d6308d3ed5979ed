#include "recorder/reader.hpp"

#include "recorder/dictionary_walk.hpp"
#include "recorder/mapping.hpp"
#include "recorder/recording.hpp"

#include <fcntl.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <charconv>
#include <csignal>
#include <cstring>
#include <memory>
#include <string>
#include <system_error>
#include <tuple>
#include <utility>

namespace minivm::recorder {

namespace {

uint64_t get(const Atomics::Word& word) {
    // relaxed: one value by itself.
    return word.load(std::memory_order_relaxed);
}

}  // namespace

// ---- Header

namespace {

std::string other_version(uint32_t version) {
    const bool is_older = version < kFormatVersion;
    return "a recording of format version " + std::to_string(version) + ", written by " +
           (is_older ? "an older" : "a newer") + " program; this one reads version " +
           std::to_string(kFormatVersion) + " alone: read it with a program as " +
           (is_older ? "old" : "new");
}

}  // namespace

bool Snapshot::take_header(std::span<const unsigned char> first,
                           std::span<const unsigned char> second, uint64_t file_bytes,
                           std::string& error) {
    const auto load = [](std::span<const unsigned char> bytes, FileHeader& out) {
        if (bytes.size() < sizeof out) {
            return false;
        }
        std::memcpy(&out, bytes.data(), sizeof out);
        FileHeader copy = out;
        copy.checksum = 0;
        return out.magic == kMagic && out.checksum == checksum64(&copy, sizeof copy);
    };
    FileHeader candidate{};
    first_header_was_bad_ = !load(first, candidate);
    if (first_header_was_bad_ && !load(second, candidate)) {
        uint64_t magic = 0;
        uint32_t version = 0;
        uint32_t order = 0;
        if (first.size() >= 16) {
            std::memcpy(&magic, first.data(), 8);
            std::memcpy(&version, first.data() + 8, 4);
            std::memcpy(&order, first.data() + 12, 4);
        }
        if (magic == kMagic && version != kFormatVersion) {
            error = other_version(version);
        } else if (magic == kMagic) {
            error = "both copies of the header are damaged";
        } else if (magic == __builtin_bswap64(kMagic)) {
            error = "written by a machine of the other byte order";
        } else if (magic == 0) {
            error =
                "no header: its writer died before the recording began, or it is not a recorder "
                "file";
        } else {
            error = "not a recorder file";
        }
        return false;
    }
    // The checksum holds, yet nothing below may depend on the writer's good will.
    if (candidate.version != kFormatVersion) {
        error = other_version(candidate.version);
        return false;
    }
    if (candidate.byte_order != kByteOrderMark) {
        error = "written by a machine of the other byte order";
        return false;
    }
    const uint64_t total = candidate.file_bytes;
    const uint64_t page = candidate.page_bytes;
    const auto inside = [total](uint64_t offset, uint64_t bytes) {
        return offset % 8 == 0 && offset <= total && bytes <= total - offset;
    };
    // The fixed parts lie in front of the rings, which a reader maps elsewhere.
    const auto in_front = [&](uint64_t offset, uint64_t bytes) {
        return inside(offset, bytes) && offset + bytes <= candidate.rings_offset;
    };
    const auto ring_size_is_good = [page](uint64_t slots) {
        return slots >= kSlotsPerBlock && std::has_single_bit(slots) &&
               slots * kSlotBytes % page == 0;
    };
    const RingSizes& sizes = candidate.sizes;
    bool good = total <= (uint64_t{1} << 40) && page >= 4096 && page <= (1u << 20) &&
                std::has_single_bit(page) && candidate.group_count <= kMaxGroups &&
                candidate.large_groups <= candidate.first_groups &&
                candidate.first_groups <= candidate.group_count &&
                std::all_of(std::begin(sizes.large), std::end(sizes.large), ring_size_is_good) &&
                ring_size_is_good(sizes.small) && ring_size_is_good(sizes.spare) &&
                ring_size_is_good(sizes.shared) && ring_size_is_good(sizes.rare) &&
                candidate.owner_entries >= 1 && candidate.owner_entries <= kMaxOwnerEntries &&
                candidate.ring_count == ready_rings(candidate.group_count) &&
                candidate.clock_kind <= static_cast<uint32_t>(ClockKind::cntvct) &&
                candidate.ticks_per_second != 0 && candidate.live_offset % 128 == 0 &&
                candidate.controls_offset % 128 == 0 &&
                in_front(candidate.crash_offset, kCrashReportBytes) &&
                in_front(candidate.live_offset, live_bytes(candidate.owner_entries)) &&
                in_front(candidate.controls_offset, candidate.ring_count * sizeof(Control)) &&
                in_front(candidate.dictionary_offset, candidate.dictionary_bytes);
    // The rings have their whole part of the file, and their side tables lie in front of it.
    good = good && candidate.rings_offset % page == 0 &&
           ring_entry(candidate, candidate.ring_count).offset == total &&
           in_front(candidate.blocks_offset, (total - candidate.rings_offset) /
                                                 (kSlotsPerBlock * kSlotBytes) * sizeof(uint64_t));
    if (!good) {
        error = "the header contradicts itself";
        return false;
    }
    if (file_bytes < candidate.rings_offset) {
        error = "cut off after " + std::to_string(file_bytes) + " of " + std::to_string(total) +
                " bytes, before its first ring";
        return false;
    }
    is_truncated_ = file_bytes < total;
    available_bytes_ = file_bytes;
    header_ = candidate;
    header_.subject_format[sizeof header_.subject_format - 1] = '\0';
    header_.program[sizeof header_.program - 1] = '\0';
    header_.build_id[sizeof header_.build_id - 1] = '\0';
    return true;
}

// Groups whose rings are there: the pool may have grown.
unsigned Snapshot::ready_groups(const LiveState& live) const {
    // acquire: their part of the file is there. Pairs with grow().
    const uint64_t groups = live.groups_ready.load(std::memory_order_acquire);
    return static_cast<unsigned>(
        std::clamp<uint64_t>(groups, header_.first_groups, header_.group_count));
}

// Two anchors far apart give the frequency to a part in a million or better.
void Snapshot::measure_ticks(const ClockAnchor& anchor) {
    const uint64_t ns = anchor.monotonic_ns - header_.start.monotonic_ns;
    const uint64_t ticks = anchor.ticks - header_.start.ticks;
    if (ns >= 10'000'000 && ticks != 0) {
        ns_per_tick_ = static_cast<double>(ns) / static_cast<double>(ticks);
    }
}

void Snapshot::read_live(const LiveState& live) {
    // acquire: not older than the words read below. Pairs with the stores of the fault handler.
    const uint64_t state = live.crash_state.load(std::memory_order_acquire);
    crash_state_ = state <= 3 ? static_cast<CrashState>(state) : CrashState::running;
    crash_signal_ = get(live.crash_signal);
    crash_thread_ = get(live.crash_thread);
    crash_ticks_ = get(live.crash_ticks);
    dictionary_used_ = std::min<uint64_t>(get(live.dictionary_used), header_.dictionary_bytes);
    dictionary_refused_ = get(live.dictionary_refused);
    last_anchor_ = header_.start;
    for (int attempt = 0; attempt < 100; attempt++) {
        // acquire: the words of that anchor. Pairs with store_anchor().
        const uint64_t before = live.anchor_sequence.load(std::memory_order_acquire);
        const ClockAnchor anchor{Atomics::load_payload(live.anchor_ticks),
                                 Atomics::load_payload(live.anchor_monotonic_ns),
                                 Atomics::load_payload(live.anchor_wall_ns)};
        Atomics::fence(
            std::memory_order_acquire);  // acquire: pairs with the fence in store_anchor()
        if (before % 2 == 0 && get(live.anchor_sequence) == before) {
            if (anchor.ticks >= header_.start.ticks &&
                anchor.monotonic_ns >= header_.start.monotonic_ns) {
                last_anchor_ = anchor;
            }
            break;
        }
    }
    ns_per_tick_ = 1e9 / static_cast<double>(header_.ticks_per_second);
    measure_ticks(last_anchor_);

    const uint64_t count = get(live.owner_count);
    over_rate_ = get(live.over_rate);
    owners_of_group_.resize(header_.group_count);
    const uint64_t most = header_.owner_entries;
    const uint64_t first = count > most ? count - most : 0;
    for (uint64_t i = first; i < count && i - first < most; i++) {
        const OwnerEntry& entry = live.owners()[i % most];
        // acquire: the entry's words. Pairs with note_owner().
        if (entry.sequence.load(std::memory_order_acquire) != i + 1) {
            continue;
        }
        Owner owner;
        const uint64_t group_and_thread = Atomics::load_payload(entry.group_and_thread);
        owner.group = static_cast<unsigned>(group_and_thread & 0xffff);
        owner.thread_id = static_cast<uint32_t>(group_and_thread >> 32);
        for (unsigned c = 0; c < kThreadRings; c++) {
            owner.start_position[c] = Atomics::load_payload(entry.start_position[c]);
        }
        owner.start_ticks = Atomics::load_payload(entry.start_ticks);
        char name[sizeof entry.name + 1] = {};
        for (unsigned w = 0; w < 4; w++) {
            const uint64_t word = Atomics::load_payload(entry.name[w]);
            std::memcpy(name + 8 * w, &word, 8);
        }
        owner.name = name;
        Atomics::fence(std::memory_order_acquire);  // acquire: pairs with the fence in note_owner()
        if (get(entry.sequence) == i + 1 && owner.group < header_.group_count) {
            owners_of_group_[owner.group].push_back(static_cast<uint32_t>(owners_.size()));
            owners_.push_back(std::move(owner));
        }
    }
}

void Snapshot::read_crash_report(const LiveState& live, const unsigned char* text) {
    // acquire: the bytes in front of it are there. Pairs with append_crash_report().
    const uint64_t bytes = live.crash_report_bytes.load(std::memory_order_acquire);
    crash_report_.assign(reinterpret_cast<const char*>(text), std::min(bytes, kCrashReportBytes));
}

// ---- Rings

namespace {

// Where the chain of records that starts at `position` first leaves its 4 KiB block; 0 if it breaks
// off.
uint64_t follow_to_block_end(const Ring& ring, uint64_t position, uint64_t end) {
    const uint64_t block = position / kSlotsPerBlock;
    while (position < end && position / kSlotsPerBlock == block) {
        const uint64_t head = get(ring.slot(position)[0]);
        if (word0_position(head) != (position & kPositionMask) ||
            (head & (kBusy | kCommitted)) == 0) {
            return 0;
        }
        position += word0_slots(head);
    }
    return position;
}

// Whether a record may start at `position` although no record leads up to it: the side table must not
// contradict.
bool is_plausible_start(const Ring& ring, uint64_t position, uint64_t end) {
    const auto entry_of = [&ring](uint64_t at) {
        return get(ring.blocks[(at & (ring.size_slots - 1)) / kSlotsPerBlock]);
    };
    const uint64_t own = entry_of(position);
    if (own / kSlotsPerBlock == position / kSlotsPerBlock && position < own) {
        return false;  // in front of the first record of its block
    }
    const uint64_t next = follow_to_block_end(ring, position, end);
    if (next == 0 || next >= end) {
        return true;  // the chain proves nothing either way; word 0 names this very position
    }
    const uint64_t known = entry_of(next);
    return known / kSlotsPerBlock != next / kSlotsPerBlock || known == next;
}

}  // namespace

// A writer that has taken slots and not marked them yet, for a page fault stood in its way or it
// was taken off the processor just there, is in progress as well: a follower that went past its
// record would never see it. Slots that hold nothing count as lost only when they are known to stay
// empty:
//   - a ring of one thread: the thread has committed a record behind them that is not a handler's
//     inside another one, so no write of before is open. We saw that commit (acquire), and whatever
//     came before it is seen by the next scan, which decides;
//   - the shared ring: as many records are counted, written or dropped, as have been reserved. The
//     counters are looked at first, so all of that had happened before this scan.
void Snapshot::read_live_ring(unsigned index, const Ring& ring, uint64_t from) {
    const bool is_shared = index == shared_ring_index(header_);
    uint64_t settled = 0;  // slots in front of it that are empty stay empty
    for (;;) {
        RingContents contents = scan_ring(index, ring, from);
        Ledger& ledger = contents.ledger;
        const auto unmarked =
            std::find_if(contents.lost.begin(), contents.lost.end(),
                         [&](const LostRegion& region) { return region.from >= settled; });
        if (unmarked == contents.lost.end()) {
            rings_.push_back(std::move(contents));
            return;
        }
        uint64_t finished = 0;
        if (is_shared) {
            const uint64_t counted = ledger.begun_records + ledger.dropped_busy;
            finished = counted * kSharedSlots == ledger.reserved_slots ? ledger.reserved_slots : 0;
        } else {
            const auto outermost =
                std::find_if(contents.records.rbegin(), contents.records.rend(),
                             [](const Record& record) { return !record.is_nested(); });
            finished = outermost == contents.records.rend() ? 0 : outermost->position();
        }
        if (finished > unmarked->from) {
            settled = finished;
            continue;
        }
        contents.complete_until = std::min(contents.complete_until, unmarked->from);
        for (auto region = unmarked; region != contents.lost.end(); ++region) {
            const uint64_t slots = region->to - region->from;
            ledger.lost_slots -= slots;
            ledger.in_progress_slots += slots;
            ledger.in_progress_records += is_shared ? slots / kSharedSlots : 1;
        }
        contents.lost.erase(unmarked, contents.lost.end());
        rings_.push_back(std::move(contents));
        return;
    }
}

RingContents Snapshot::scan_ring(unsigned index, const Ring& ring, uint64_t from) {
    RingContents contents;
    contents.index = index;
    const RingEntry entry = ring_entry(header_, index);
    contents.group = entry.group;
    contents.ring_class = entry.ring_class;
    contents.size_slots = ring.size_slots;
    Ledger& ledger = contents.ledger;
    const Control& control = *ring.control;
    // acquire: the window holds, or has held, each record that is counted. Pairs with count() and
    // count_shared().
    ledger.begun_records = control.records.load(std::memory_order_acquire);
    ledger.dropped_nesting = get(control.dropped_nesting);
    ledger.dropped_lap = get(control.dropped_lap);
    ledger.dropped_busy = control.dropped_busy.load(std::memory_order_acquire);  // as above
    ledger.abandoned_records = get(control.abandoned_records);
    ledger.abandoned_slots = get(control.abandoned_slots);
    // acquire: the window is not older than the counters above. Each record proves itself by word
    // 0, so the partner is the commit of each in write_record().
    const uint64_t end = control.reserve.load(std::memory_order_acquire);
    ledger.reserved_slots = end;
    const uint64_t size = ring.size_slots;
    uint64_t position = end > size ? end - size : 0;
    // The window may begin inside a record whose first slot is gone already.
    uint64_t partial_until = position == 0 ? 0 : position + kMaxSlots - 1;
    ledger.overwritten_slots = position;
    bool in_step = position == 0;  // a record is known to start at `position`
    if (from >= position && from <= end && from != 0) {
        position = from;
        partial_until = 0;
        in_step = true;
    }
    contents.complete_until = end;

    std::vector<uint64_t>& words = words_[index];
    words.clear();
    words.reserve((end - position) * kWordsPerSlot);  // so that pointers into it stay
    const auto lose = [&](uint64_t slots) {
        ledger.lost_slots += slots;
        if (!contents.lost.empty() && contents.lost.back().to == position) {
            contents.lost.back().to += slots;
        } else {
            contents.lost.push_back({position, position + slots});
        }
    };
    uint64_t newest = 0;
    constexpr uint64_t kNobody = pack_writer(kSharedGroup, 0);
    uint64_t writer = kNobody;
    uint64_t buffer[kMaxRecordWords];
    while (position < end) {
        const ReadOutcome outcome = read_record<Atomics>(ring, position, buffer);
        if (outcome.result == ReadResult::overwritten) {
            // The writer is faster than we: go on where its window begins now.
            // acquire: as for the first load; the partner is the same.
            const uint64_t now_end = control.reserve.load(std::memory_order_acquire);
            const uint64_t now_begin = now_end > size ? now_end - size : 0;
            const uint64_t to = std::min(end, std::max(position + 1, now_begin));
            ledger.overwritten_slots += to - position;
            position = to;
            partial_until = position + kMaxSlots - 1;
            in_step = false;
            continue;
        }
        const bool found = outcome.result != ReadResult::absent &&
                           is_in_file(index, position, outcome.slots) &&
                           (in_step || is_plausible_start(ring, position, end));
        if (!found || position + outcome.slots > end) {
            if (position < partial_until && !in_step) {
                ledger.overwritten_slots++;
            } else {
                lose(1);
                writer = kNobody;
                in_step = false;
                partial_until = 0;
            }
            position++;
            continue;
        }
        in_step = true;
        if (outcome.result == ReadResult::in_progress) {
            contents.complete_until = std::min(contents.complete_until, position);
            ledger.in_progress_slots += outcome.slots;
            ledger.in_progress_records++;
            position += outcome.slots;
            continue;
        }
        const size_t at = words.size();
        words.insert(words.end(), buffer, buffer + outcome.slots * kWordsPerSlot);
        newest = std::max(newest, buffer[1]);
        if ((word0_flags(buffer[0]) & kFlagWriter) != 0) {
            writer = buffer[outcome.slots * kWordsPerSlot - 1];
        }
        contents.records.push_back({buffer[1], newest, words.data() + at, word2_event(buffer[2]),
                                    static_cast<uint16_t>(writer_group(writer)),
                                    writer_thread(writer)});
        ledger.decoded_slots += outcome.slots;
        ledger.decoded_records++;
        position += outcome.slots;
    }
    drop_records_with_lost_tails(contents);
    return contents;
}

// Whether a record lies in the part of a cut-off file that is there.
bool Snapshot::is_in_file(unsigned index, uint64_t position, unsigned slots) const {
    const RingEntry ring = ring_entry(header_, index);
    const uint64_t slot = position & (ring.size_slots - 1);
    const uint64_t last = std::min<uint64_t>(slot + slots, ring.size_slots);
    return !is_truncated_ || ring.offset + last * kSlotBytes <= available_bytes_;
}

// A record has no checksum: when the whole 4 KiB block behind its end is lost, the part of it in
// that block is not to be believed either.
void Snapshot::drop_records_with_lost_tails(RingContents& contents) {
    Ledger& ledger = contents.ledger;
    for (LostRegion& region : contents.lost) {
        const uint64_t block = region.from / kSlotsPerBlock;
        if (region.to / kSlotsPerBlock == block) {
            continue;
        }
        const uint64_t from = region.from & kPositionMask;
        const auto at = std::lower_bound(contents.records.begin(), contents.records.end(), from,
                                         [](const Record& record, uint64_t end) {
                                             return record.position() + record.slots() < end;
                                         });
        if (at == contents.records.end() || at->position() + at->slots() != from ||
            from % kSlotsPerBlock == 0 || from % kSlotsPerBlock >= at->slots()) {
            continue;  // it ends in front of the block or begins in it
        }
        const unsigned slots = at->slots();
        region.from -= slots;
        ledger.lost_slots += slots;
        ledger.decoded_slots -= slots;
        ledger.decoded_records--;
        contents.records.erase(at);
    }
}

// ---- Snapshot

namespace {

// A file in private memory, each ring followed by a copy of its first page.
class MemoryImage {
public:
    MemoryImage(std::span<const unsigned char> bytes, const FileHeader& header) : header_(header) {
        const uint64_t page = header.page_bytes;
        fixed_bytes_ = header.rings_offset;
        words_.resize((header.file_bytes + header.ring_count * page) / 8 + 16);
        // LiveState and Control want 128-byte alignment.
        auto address = reinterpret_cast<uintptr_t>(words_.data());
        base_ = reinterpret_cast<unsigned char*>(round_up(address, 128));
        const auto copy = [&](uint64_t to, uint64_t offset, uint64_t count) {
            if (offset < bytes.size()) {
                std::memcpy(base_ + to, bytes.data() + offset,
                            std::min(count, bytes.size() - offset));
            }
        };
        copy(0, 0, fixed_bytes_);
        for (unsigned i = 0; i < header.ring_count; i++) {
            const RingEntry entry = ring_entry(header, i);
            const uint64_t size = uint64_t{entry.size_slots} * kSlotBytes;
            const uint64_t to = entry.offset + i * page;
            copy(to, entry.offset, size);
            std::memcpy(base_ + to + size, base_ + to, page);
        }
    }
    const LiveState& live() const {
        return *reinterpret_cast<const LiveState*>(base_ + header_.live_offset);
    }
    const unsigned char* at(uint64_t offset) const { return base_ + offset; }
    const Atomics::Word* dictionary() const {
        return reinterpret_cast<const Atomics::Word*>(base_ + header_.dictionary_offset);
    }
    Ring ring(unsigned i) const {
        const RingEntry entry = ring_entry(header_, i);
        Ring ring;
        ring.words = reinterpret_cast<Atomics::Word*>(base_ + entry.offset +
                                                      uint64_t{i} * header_.page_bytes);
        ring.blocks = reinterpret_cast<Atomics::Word*>(base_ + entry.blocks_offset);
        ring.control = reinterpret_cast<Control*>(base_ + header_.controls_offset) + i;
        ring.size_slots = entry.size_slots;
        return ring;
    }

private:
    const FileHeader& header_;
    std::vector<uint64_t> words_;
    unsigned char* base_ = nullptr;
    uint64_t fixed_bytes_ = 0;
};

// If the control words of a ring are damaged, its records still tell how far it was written:
// returns that position, or the one of the control word if nothing speaks against it. Only for
// rings at rest.
uint64_t end_by_records(const Ring& ring) {
    const uint64_t reserve = get(ring.control->reserve);
    uint64_t end = 0;
    for (uint64_t slot = 0; slot < ring.size_slots; slot++) {
        const uint64_t head = get(ring.slot(slot)[0]);
        const uint64_t position = word0_position(head);
        const uint64_t next = position + word0_slots(head);
        if (!word0_is_committed(head) || (position & (ring.size_slots - 1)) != slot ||
            next <= end) {
            continue;
        }
        // One word alone may be an argument that looks like a head: the record in front or behind
        // must agree. `next == reserve` is agreement too.
        const uint64_t after = get(ring.slot(next)[0]);
        bool agrees =
            next == reserve || (word0_is_committed(after) && word0_position(after) == next);
        for (unsigned back = 1; !agrees && back <= kMaxSlots && back <= position; back++) {
            const uint64_t before = get(ring.slot(position - back)[0]);
            agrees = word0_is_committed(before) && word0_position(before) == position - back &&
                     word0_slots(before) == back;
        }
        end = agrees ? next : end;
    }
    // A few slots may be reserved behind the last committed record: open or abandoned ones.
    const bool believable = reserve >= end && reserve - end <= ring.size_slots;
    return believable ? reserve : end;
}

}  // namespace

bool Snapshot::read_bytes(std::span<const unsigned char> bytes, std::string& error) {
    *this = Snapshot();
    const auto part = [&](uint64_t offset) {
        return offset < bytes.size() ? bytes.subspan(offset) : std::span<const unsigned char>();
    };
    if (bytes.size() < 64) {
        error = bytes.empty() ? "empty" : "too short for a recorder file";
        return false;
    }
    if (!take_header(part(0), part(kHeaderBytes), bytes.size(), error)) {
        return false;
    }
    // A header may promise more bytes than there are, and the missing ones are filled with zeros: only
    // so many of them.
    if (header_.file_bytes > bytes.size() * 64 + (uint64_t{64} << 20)) {
        error = "cut off after " + std::to_string(bytes.size()) + " of " +
                std::to_string(header_.file_bytes) + " bytes";
        return false;
    }
    const MemoryImage image(bytes, header_);
    read_live(image.live());
    read_crash_report(image.live(), image.at(header_.crash_offset));
    // All of it, whatever the counter says: entries prove themselves.
    dictionary_.read(image.dictionary(), header_.dictionary_bytes);
    words_.resize(header_.ring_count);
    for (unsigned i = 0; i < header_.ring_count; i++) {
        const Ring ring = image.ring(i);
        const uint64_t end = end_by_records(ring);
        const bool repaired = end != get(ring.control->reserve);
        // relaxed: private memory.
        ring.control->reserve.store(end, std::memory_order_relaxed);
        rings_.push_back(scan_ring(i, ring, 0));
        rings_.back().control_was_bad = repaired;
    }
    return true;
}

// What explains the records, which must have been read before: a name is defined before the first
// record that mentions it.
void Snapshot::read_names(const Mapping& mapping) {
    const LiveState& live = *mapping.live(header_);
    read_live(live);
    read_crash_report(live, mapping.at(header_.crash_offset));
    dictionary_.read(reinterpret_cast<const Atomics::Word*>(mapping.at(header_.dictionary_offset)),
                     dictionary_used_);
}

bool Snapshot::begin_own(const Mapping*& mapping, std::string& error) {
    *this = Snapshot();
    const FileHeader* header = nullptr;
    if (!detail::own_recording(mapping, header)) {
        error = "nothing is being recorded";
        return false;
    }
    header_ = *header;
    writer_is_alive_ = true;
    words_.resize(header_.ring_count);
    return true;
}

bool Snapshot::read_own_behind(RingClass ring_class, std::span<const uint64_t> from,
                               std::string& error) {
    const Mapping* mapping = nullptr;
    if (!begin_own(mapping, error)) {
        return false;
    }
    const unsigned groups = ready_groups(*mapping->live(header_));
    bool any = false;
    for (unsigned i = 0; i < ready_rings(groups); i++) {
        if (ring_entry(header_, i).ring_class == ring_class || i == shared_ring_index(header_)) {
            read_live_ring(i, mapping->ring(header_, i), i < from.size() ? from[i] : 0);
            any |= !rings_.back().records.empty();
        }
    }
    // Behind the records, whose names are defined before they are written.
    read_live(*mapping->live(header_));
    measure_ticks(read_anchor(best_clock()));  // so that times agree with the monotonic clock's
    if (any) {
        dictionary_.read(
            reinterpret_cast<const Atomics::Word*>(mapping->at(header_.dictionary_offset)),
            dictionary_used_);
    }
    return true;
}

bool Snapshot::read_own(std::string& error) {
    const Mapping* mapping = nullptr;
    if (!begin_own(mapping, error)) {
        return false;
    }
    const unsigned groups = ready_groups(*mapping->live(header_));
    for (unsigned i = 0; i < ready_rings(groups); i++) {
        read_live_ring(i, mapping->ring(header_, i), 0);
    }
    read_names(*mapping);
    measure_ticks(read_anchor(best_clock()));
    return true;
}

bool Snapshot::read_file(const std::string& path, std::string& error) {
    *this = Snapshot();
    const auto fail = [&](const std::string& what) {
        error = path + ": " + what;
        return false;
    };
    const int fd = open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK);
    if (fd < 0) {
        return fail(std::strerror(errno));
    }
    struct Closer {
        int fd;
        ~Closer() { close(fd); }
    } const closer{fd};
    struct stat info {};
    if (fstat(fd, &info) != 0) {
        return fail(std::strerror(errno));
    }
    if (!S_ISREG(info.st_mode)) {
        return fail("not a regular file");
    }
    const auto bytes = static_cast<uint64_t>(info.st_size);
    const auto read_at = [fd](void* to, uint64_t count, uint64_t offset) {
        auto* out = static_cast<unsigned char*>(to);
        while (count > 0) {
            const ssize_t got = pread(fd, out, count, static_cast<off_t>(offset));
            if (got <= 0) {
                if (got < 0 && errno == EINTR) {
                    continue;
                }
                return got == 0;  // shorter than it was: the rest stays zero
            }
            out += got;
            offset += static_cast<uint64_t>(got);
            count -= static_cast<uint64_t>(got);
        }
        return true;
    };
    std::vector<unsigned char> head(std::min<uint64_t>(bytes, 2 * kHeaderBytes));
    if (!read_at(head.data(), head.size(), 0)) {
        return fail(std::strerror(errno));
    }
    const std::span<const unsigned char> all(head);
    if (head.size() < 64) {
        return fail(head.empty() ? "empty" : "too short for a recorder file");
    }
    std::string why;
    if (!take_header(all, all.subspan(std::min<size_t>(all.size(), kHeaderBytes)), bytes, why)) {
        return fail(why);
    }
    // A writer keeps its file locked. Where the lock does not show, as over a network, a process with
    // its id means that it may be alive.
    bool is_alive = flock(fd, LOCK_SH | LOCK_NB) != 0 && errno == EWOULDBLOCK;
    const bool is_locked = is_alive;
    is_alive =
        is_alive || (header_.process_id != 0 &&
                     (kill(static_cast<pid_t>(header_.process_id), 0) == 0 || errno == EPERM));
    writer_is_alive_ = is_locked;
    if (is_alive && !is_truncated_ && header_.page_bytes % sysconf(_SC_PAGESIZE) == 0) {
        // Perhaps being written: the words must be read in the protocol's order, so in place.
        Mapping mapping;
        why = mapping.map(fd, header_, header_.first_groups, false, false);
        if (!why.empty()) {
            return fail(why);
        }
        const unsigned groups = ready_groups(*mapping.live(header_));
        if (!mapping.map_rings(fd, header_, header_.first_groups, groups, false, false)) {
            return fail(std::string("mapping a ring: ") + std::strerror(errno));
        }
        words_.resize(header_.ring_count);
        for (unsigned i = 0; i < ready_rings(groups); i++) {
            if (is_locked) {
                read_live_ring(i, mapping.ring(header_, i), 0);
            } else {
                rings_.push_back(scan_ring(i, mapping.ring(header_, i), 0));
            }
        }
        read_names(mapping);
        return true;
    }
    std::vector<unsigned char> content(bytes);
    if (!read_at(content.data(), bytes, 0)) {
        return fail(std::strerror(errno));
    }
    if (!read_bytes(content, why)) {
        return fail(why);
    }
    return true;
}

const Owner* Snapshot::owner_of(const RingContents& ring, uint64_t position) const {
    if (is_common_group(ring.group) || ring.group >= owners_of_group_.size()) {
        return nullptr;
    }
    const auto c = static_cast<unsigned>(ring.ring_class);
    const Owner* last = nullptr;
    for (const uint32_t i : owners_of_group_[ring.group]) {
        if (owners_[i].start_position[c] <= position) {
            last = &owners_[i];
        }
    }
    return last;
}

const Owner* Snapshot::owner_of(const RingContents& ring, const Record& record) const {
    if (ring.group != kRareGroup) {
        return owner_of(ring, record.position());
    }
    const unsigned group = record.writer_group;
    if (group >= owners_of_group_.size()) {
        return nullptr;
    }
    const Owner* last = nullptr;
    for (const uint32_t i : owners_of_group_[group]) {
        // By the thread as well: a group may have changed hands with clocks that differ.
        if (owners_[i].thread_id == record.writer_thread &&
            (last == nullptr || owners_[i].start_ticks <= record.ticks)) {
            last = &owners_[i];
        }
    }
    return last;
}

int64_t Snapshot::since_start_ns(uint64_t ticks) const {
    const auto distance = static_cast<int64_t>(ticks - header_.start.ticks);
    // A damaged stamp may be anything; 100 years either way is enough.
    const double limit = 3.2e18;
    return static_cast<int64_t>(
        std::clamp(static_cast<double>(distance) * ns_per_tick_, -limit, limit));
}

uint64_t Snapshot::wall_ns(uint64_t ticks) const {
    return header_.start.wall_ns + static_cast<uint64_t>(since_start_ns(ticks));
}

Ledger Snapshot::totals() const {
    Ledger sum;
    for (const RingContents& ring : rings_) {
        const Ledger& l = ring.ledger;
        sum.reserved_slots += l.reserved_slots;
        sum.decoded_slots += l.decoded_slots;
        sum.overwritten_slots += l.overwritten_slots;
        sum.in_progress_slots += l.in_progress_slots;
        sum.lost_slots += l.lost_slots;
        sum.begun_records += l.begun_records;
        sum.decoded_records += l.decoded_records;
        sum.in_progress_records += l.in_progress_records;
        sum.dropped_nesting += l.dropped_nesting;
        sum.dropped_lap += l.dropped_lap;
        sum.dropped_busy += l.dropped_busy;
        sum.abandoned_records += l.abandoned_records;
        sum.abandoned_slots += l.abandoned_slots;
    }
    return sum;
}

}  // namespace minivm::recorder
