// Reading a recorder file: of a process that is gone, of one that still writes, or damaged.
//
// A Snapshot copies what can be read at one moment and never writes. Each slot that was ever
// reserved in a ring is accounted for, as decoded, overwritten, in progress or lost; nothing is
// guessed, and bytes that do not prove what they are give no record.
//
// Threads: a Snapshot belongs to one thread; any number of them may be taken at a time.
#pragma once

#include "recorder/file_format.hpp"

#include <algorithm>
#include <cstdint>
#include <map>
#include <span>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

namespace minivm::recorder {

class Mapping;

// A record inside a Snapshot, which must outlive it.
struct Record {
    uint64_t ticks = 0;
    // Not less than that of any earlier record of the ring: what records are merged by.
    uint64_t order_ticks = 0;
    const uint64_t* words = nullptr;
    uint16_t event_id = 0;  // as event(); here so that a merge need not touch the words
    // In a ring that threads take in turn; kSharedGroup and 0 where it is not known.
    uint16_t writer_group = kSharedGroup;
    uint32_t writer_thread = 0;

    uint64_t position() const { return word0_position(words[0]); }
    unsigned slots() const { return word0_slots(words[0]); }
    unsigned flags() const { return word0_flags(words[0]); }
    bool is_nested() const { return (flags() & kFlagNested) != 0; }
    uint16_t event() const { return word2_event(words[2]); }
    uint32_t subject() const { return word2_subject(words[2]); }
    unsigned place() const { return word2_place(words[2]); }
    // Words that may be read with argument(): a damaged record, or one that was cut, may claim more.
    unsigned arguments() const {
        return std::min(word2_arguments(words[2]), slots() * kWordsPerSlot - kHeadWords);
    }
    uint64_t argument(unsigned i) const { return words[kHeadWords + i]; }
};

// What became of everything that was ever written to a ring. In slots the account is exact at any
// time:
//     reserved = decoded + overwritten + in_progress + lost
// and in records when nobody writes:
//     begun = decoded + in_progress + overwritten and lost ones;  written = begun + dropped
// (in the shared ring begun may lack the records in progress of writers that were killed)
struct Ledger {
    uint64_t reserved_slots = 0;
    uint64_t decoded_slots = 0;
    uint64_t overwritten_slots = 0;
    uint64_t in_progress_slots = 0;
    uint64_t lost_slots =
        0;  // damage, or reserved by a writer that died or dropped its record then
    uint64_t begun_records = 0;
    uint64_t decoded_records = 0;
    uint64_t in_progress_records = 0;
    uint64_t dropped_nesting = 0;
    uint64_t dropped_lap = 0;
    uint64_t dropped_busy = 0;
    uint64_t abandoned_records = 0;
    uint64_t abandoned_slots = 0;

    uint64_t dropped_records() const {
        return dropped_nesting + dropped_lap + dropped_busy + abandoned_records;
    }
    // Records that were written and are not here, by the counter of the ring.
    uint64_t missing_records() const {
        const uint64_t here = decoded_records + in_progress_records;
        return begun_records > here ? begun_records - here : 0;
    }
};

struct LostRegion {
    uint64_t from = 0;  // positions, in slots
    uint64_t to = 0;
};

struct RingContents {
    unsigned index = 0;
    unsigned group = 0;  // kSharedGroup: the ring of threads without rings; kRareGroup: one for rare records
    RingClass ring_class = RingClass::calls;
    uint64_t size_slots = 0;
    bool control_was_bad = false;  // the counters are damaged, the end was found by the records
    Ledger ledger;
    std::vector<LostRegion> lost;
    std::vector<Record> records;  // in the order of their positions
    // Position of the first record that is being written, or the end. A follower of the recording takes
    // what lies in front of it, and the rest next time.
    uint64_t complete_until = 0;
};

struct Owner {
    unsigned group = 0;
    uint32_t thread_id = 0;
    uint64_t start_position[kThreadRings] = {};
    uint64_t start_ticks = 0;
    std::string name;
};

// Where the program records an event.
struct Place {
    unsigned number = 0;  // as in Record::place()
    std::string file;
    unsigned line = 0;
    std::string function;

    bool operator==(const Place&) const = default;
};

struct EventSchema {
    std::string name;
    Category category = Category::user;
    std::string kinds;
    std::vector<std::string> argument_names;
    std::string format;
    std::vector<Place> places;  // by number, file and line
};

class Dictionary {
public:
    Dictionary() = default;
    Dictionary(Dictionary&&) = default;
    Dictionary& operator=(Dictionary&&) = default;

    // Takes the bytes of the dictionary area; entries that are damaged are counted and skipped.
    // Those that are whole and yet do not say what their kind has to say are in problems() as well.
    void read(const Atomics::Word* words, uint64_t bytes);

    const EventSchema* event(uint16_t id) const;
    const std::string* atom(uint64_t id) const { return find(atoms_, id); }
    const std::string* function(uint64_t id) const { return find(functions_, function_of(id)); }
    const std::string* subject(uint64_t id) const { return find(subjects_, id); }
    // All subjects that have had the name, in no order; entries are NAME or NAME<...>.
    std::vector<uint32_t> subjects_named(std::string_view name) const;
    const std::string* string(uint64_t id) const { return find(strings_, id); }
    const std::map<uint16_t, EventSchema>& events() const { return events_; }
    uint64_t entries() const { return entries_; }
    uint64_t damaged_bytes() const { return damaged_bytes_; }
    // What is wrong with which entry; the first kMostProblems of them.
    const std::vector<std::string>& problems() const { return problems_; }
    uint64_t bad_entries() const { return bad_entries_; }
    static constexpr size_t kMostProblems = 20;

private:
    using Names = std::unordered_map<uint64_t, std::string>;
    static const std::string* find(const Names& names, uint64_t id) {
        if (names.empty()) {
            return nullptr;
        }
        const auto at = names.find(id);
        return at == names.end() ? nullptr : &at->second;
    }
    void add(DictionaryKind kind, uint64_t key, std::string_view text);
    void add_place(uint64_t key, std::string_view text);
    void join_places();
    void refuse(std::string what);

    std::map<uint16_t, EventSchema> events_;
    std::map<uint16_t, std::vector<Place>> places_;  // while reading
    std::vector<const EventSchema*> event_index_;
    Names atoms_;
    Names functions_;
    Names subjects_;
    Names strings_;
    uint64_t entries_ = 0;
    uint64_t damaged_bytes_ = 0;
    uint64_t bad_entries_ = 0;
    std::vector<std::string> problems_;
};

class Snapshot {
public:
    Snapshot() = default;
    Snapshot(Snapshot&&) = default;
    Snapshot& operator=(Snapshot&&) = default;

    // Reads the file. On failure `error` says what is wrong with which file, and nothing was read.
    bool read_file(const std::string& path, std::string& error);
    // The bytes of a file, of any origin.
    bool read_bytes(std::span<const unsigned char> bytes, std::string& error);
    // What this process records now.
    bool read_own(std::string& error);
    // The same for the rings of one class and the shared one only: in each the records from a position on
    // (`from`, by the ring's index; all of them where it has none), and the dictionary if there are any.
    // Positions are starts of records. Ledgers are right but for the slots that are left out.
    bool read_own_behind(RingClass ring_class, std::span<const uint64_t> from, std::string& error);

    const FileHeader& header() const { return header_; }
    const Dictionary& dictionary() const { return dictionary_; }
    const std::vector<RingContents>& rings() const { return rings_; }
    const std::vector<Owner>& owners() const { return owners_; }
    // The thread that wrote at that position of the ring; null if it is not known any more.
    const Owner* owner_of(const RingContents& ring, uint64_t position) const;
    // The same of a record, also of one in a ring that threads take in turn.
    const Owner* owner_of(const RingContents& ring, const Record& record) const;

    CrashState crash_state() const { return crash_state_; }
    uint64_t crash_signal() const { return crash_signal_; }
    uint64_t crash_thread() const { return crash_thread_; }
    uint64_t crash_ticks() const { return crash_ticks_; }
    // What the fault handler left; empty if there was no fault.
    const std::string& crash_report() const { return crash_report_; }
    uint64_t dictionary_refused() const { return dictionary_refused_; }
    // Records of the rare class that came faster than their event's rate.
    uint64_t over_rate() const { return over_rate_; }
    bool first_header_was_bad() const { return first_header_was_bad_; }
    bool is_truncated() const { return is_truncated_; }
    // The file's writer holds it open: what is missing of the end may still come.
    bool writer_is_alive() const { return writer_is_alive_; }

    // Nanoseconds since 1970, and since the recording began.
    uint64_t wall_ns(uint64_t ticks) const;
    int64_t since_start_ns(uint64_t ticks) const;
    Ledger totals() const;

private:
    bool take_header(std::span<const unsigned char> first, std::span<const unsigned char> second,
                     uint64_t file_bytes, std::string& error);
    unsigned ready_groups(const LiveState& live) const;
    void measure_ticks(const ClockAnchor& anchor);
    void read_live(const LiveState& live);
    void read_crash_report(const LiveState& live, const unsigned char* text);
    void read_names(const Mapping& mapping);
    bool begin_own(const Mapping*& mapping, std::string& error);
    void read_live_ring(unsigned index, const Ring& ring, uint64_t from);
    RingContents scan_ring(unsigned index, const Ring& ring, uint64_t from);
    bool is_in_file(unsigned index, uint64_t position, unsigned slots) const;
    static void drop_records_with_lost_tails(RingContents& contents);

    FileHeader header_{};
    Dictionary dictionary_;
    std::vector<RingContents> rings_;
    std::vector<std::vector<uint64_t>> words_;  // of each ring's records
    std::vector<Owner> owners_;
    std::vector<std::vector<uint32_t>> owners_of_group_;  // in the order of attaching
    uint64_t over_rate_ = 0;
    ClockAnchor last_anchor_{};
    uint64_t available_bytes_ = 0;
    uint64_t dictionary_used_ = 0;
    uint64_t dictionary_refused_ = 0;
    CrashState crash_state_ = CrashState::running;
    uint64_t crash_signal_ = 0;
    uint64_t crash_thread_ = 0;
    uint64_t crash_ticks_ = 0;
    std::string crash_report_;
    bool first_header_was_bad_ = false;
    bool is_truncated_ = false;
    bool writer_is_alive_ = false;
    double ns_per_tick_ = 1.0;
};

}  // namespace minivm::recorder
