// Reading: what was written comes back, damage costs what it must and no more, and any bytes are
// survived.
#include "recorder/reader.hpp"

#include "recorder/export.hpp"
#include "recorder/mapping.hpp"
#include "recorder/merge.hpp"
#include "recorder/recording.hpp"
#include "recorder/site.hpp"
#include "tests/recorder/pattern.hpp"

#include <catch2/catch.hpp>

#include <unistd.h>

#include <atomic>
#include <cstddef>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <map>
#include <random>
#include <set>
#include <thread>
#include <vector>

using namespace minivm::recorder;
using recorder_test::check_snapshot;
using recorder_test::mix;
using recorder_test::record_pattern;

namespace {

using Bytes = std::vector<unsigned char>;

// The bytes of a recording of `count` records made by one thread.
Bytes recorded_bytes(uint64_t count, uint64_t size_bytes = 400 * 1024) {
    const std::string path =
        std::filesystem::temp_directory_path() / ("recorder_reader_" + std::to_string(getpid()));
    Options options;
    options.spare_threads = 0;
    options.path = path;
    options.keep_old = 0;
    options.size_bytes = size_bytes;
    options.large_threads = 1;
    options.small_threads = 1;
    REQUIRE(init(options).ok);
    REQUIRE(attach_thread("main", RingSize::large));
    define_atom(1, "an_atom");
    define_function(2, "lists", "map", 2);
    define_string(3, "a string");
    define_subject(4, "a subject");
    for (uint64_t i = 0; i < count; i++) {
        record_pattern(i);
    }
    shutdown();
    std::ifstream file(path, std::ios::binary);
    const Bytes bytes((std::istreambuf_iterator<char>(file)), std::istreambuf_iterator<char>());
    file.close();
    std::filesystem::remove(path);
    return bytes;
}

FileHeader header_of(const Bytes& bytes) {
    FileHeader header;
    std::memcpy(&header, bytes.data(), sizeof header);
    return header;
}

void set_header(Bytes& bytes, FileHeader header) {
    header.checksum = 0;
    header.checksum = checksum64(&header, sizeof header);
    std::memcpy(bytes.data(), &header, sizeof header);
    std::memcpy(bytes.data() + kHeaderBytes, &header, sizeof header);
}

// Serials of the sched_wake records, which are in the scheduling ring.
std::set<uint64_t> wakes(const Snapshot& snapshot) {
    std::set<uint64_t> serials;
    for (const RingContents& ring : snapshot.rings()) {
        for (const Record& record : ring.records) {
            if (static_cast<EventId>(record.event()) == EventId::sched_wake) {
                serials.insert(record.argument(0));
            }
        }
    }
    return serials;
}

// Reads and writes everything out, which must neither crash nor take forever.
bool exercise(const Bytes& bytes) {
    Snapshot snapshot;
    std::string error;
    if (!snapshot.read_bytes(bytes, error)) {
        REQUIRE_FALSE(error.empty());
        return false;
    }
    REQUIRE(check_snapshot(snapshot, false) == "");
    StringSink text;
    REQUIRE(export_text(snapshot, {}, text).ok);
    StringSink json;
    REQUIRE(export_json(snapshot, {}, json).ok);
    StringSink perfetto;
    REQUIRE(export_perfetto(snapshot, {}, perfetto).ok);
    return true;
}

}  // namespace

TEST_CASE("a recording that fits comes back whole and in order") {
    const Bytes bytes = recorded_bytes(400);
    Snapshot snapshot;
    std::string error;
    REQUIRE(snapshot.read_bytes(bytes, error));
    REQUIRE(check_snapshot(snapshot, true) == "");
    const Ledger sum = snapshot.totals();
    CHECK(sum.begun_records == 402);  // with thread_start and thread_end
    CHECK(sum.decoded_records == 402);
    CHECK(sum.missing_records() == 0);
    CHECK(sum.lost_slots == 0);
    CHECK(snapshot.crash_state() == CrashState::closed);
    CHECK_FALSE(snapshot.is_truncated());
    CHECK(*snapshot.dictionary().atom(1) == "an_atom");
    CHECK(*snapshot.dictionary().function(2) == "lists:map/2");
    CHECK(*snapshot.dictionary().string(3) == "a string");
    CHECK(*snapshot.dictionary().subject(4) == "a subject");
    CHECK(snapshot.dictionary().event(static_cast<uint16_t>(EventId::spawn))->name == "spawn");
    CHECK(snapshot.dictionary().damaged_bytes() == 0);
    REQUIRE(snapshot.owners().size() == 1);
    CHECK(snapshot.owners()[0].name == "main");
    CHECK(wakes(snapshot).size() == 100);
    // The clock: the recording took a moment, not a day.
    for (const RingContents& ring : snapshot.rings()) {
        for (const Record& record : ring.records) {
            REQUIRE(snapshot.since_start_ns(record.ticks) >= 0);
            REQUIRE(snapshot.since_start_ns(record.ticks) < 10'000'000'000);
        }
    }
}

TEST_CASE("overwritten records are counted exactly and the newest are all there") {
    const Bytes bytes = recorded_bytes(200'000);
    Snapshot snapshot;
    std::string error;
    REQUIRE(snapshot.read_bytes(bytes, error));
    REQUIRE(check_snapshot(snapshot, true) == "");
    const Ledger sum = snapshot.totals();
    CHECK(sum.begun_records == 200'002);
    CHECK(sum.decoded_records + sum.missing_records() == 200'002);
    CHECK(sum.lost_slots == 0);
    CHECK(sum.missing_records() > 100'000);
    for (const RingContents& ring : snapshot.rings()) {
        if (ring.ledger.reserved_slots > ring.size_slots) {
            // At most the tail of one record is unused at the old end.
            CHECK(ring.ledger.decoded_slots + kMaxSlots > ring.size_slots);
        }
    }
    const std::set<uint64_t> serials = wakes(snapshot);
    REQUIRE(serials.size() > 100);
    CHECK(*serials.rbegin() == 199'996);
    CHECK((*serials.rbegin() - *serials.begin()) / 4 + 1 == serials.size());
}

TEST_CASE("a bad page costs its own records and one more") {
    const Bytes good = recorded_bytes(200'000);
    const FileHeader header = header_of(good);
    std::string error;
    Snapshot whole;
    REQUIRE(whole.read_bytes(good, error));
    std::mt19937_64 random(1 + Catch::rngSeed());
    for (const auto ring_class : {RingClass::scheduling, RingClass::calls}) {
        const auto r = static_cast<unsigned>(ring_class);
        const RingContents& intact = whole.rings()[r];
        const uint64_t pages = uint64_t{intact.size_slots} * kSlotBytes / 4096;
        for (uint64_t page = 0; page < pages; page += 3) {
            Bytes bad = good;
            for (size_t i = 0; i < 4096; i++) {
                bad[ring_entry(header, r).offset + page * 4096 + i] =
                    static_cast<unsigned char>(random());
            }
            Snapshot snapshot;
            REQUIRE(snapshot.read_bytes(bad, error));
            REQUIRE(check_snapshot(snapshot, true) == "");
            // Every record that does not touch the page, and does not run into it, is still there.
            std::set<uint64_t> expected;
            uint64_t touching = 0;
            for (const Record& record : intact.records) {
                const uint64_t first = record.position() & (intact.size_slots - 1);
                const uint64_t last =
                    (record.position() + record.slots() - 1) & (intact.size_slots - 1);
                const bool touches =
                    first / kSlotsPerBlock == page || last / kSlotsPerBlock == page;
                touching += touches ? 1 : 0;
                if (!touches) {
                    expected.insert(record.position());
                }
            }
            uint64_t found = 0;
            for (const Record& record : snapshot.rings()[r].records) {
                found += expected.count(record.position());
            }
            INFO("ring " << r << ", page " << page << ", touching " << touching);
            CHECK(found == expected.size());
            CHECK(snapshot.rings()[r].records.size() <= intact.records.size());
        }
    }
}

TEST_CASE("each damaged part of a file is survived, reported, and costs only itself") {
    const Bytes good = recorded_bytes(2'000);
    const FileHeader header = header_of(good);
    std::string error;
    const auto wipe = [](Bytes& bytes, uint64_t from, uint64_t count, unsigned char with) {
        std::fill(bytes.begin() + static_cast<std::ptrdiff_t>(from),
                  bytes.begin() + static_cast<std::ptrdiff_t>(from + count), with);
    };
    Snapshot whole;
    REQUIRE(whole.read_bytes(good, error));
    SECTION("the first header") {
        Bytes bytes = good;
        wipe(bytes, 0, kHeaderBytes, 0xee);
        Snapshot snapshot;
        REQUIRE(snapshot.read_bytes(bytes, error));
        CHECK(snapshot.first_header_was_bad());
        CHECK(snapshot.totals().decoded_records == whole.totals().decoded_records);
    }
    SECTION("both headers") {
        Bytes bytes = good;
        wipe(bytes, 100, 2 * kHeaderBytes - 100, 0xee);
        Snapshot snapshot;
        REQUIRE_FALSE(snapshot.read_bytes(bytes, error));
        CHECK(error == "both copies of the header are damaged");
    }
    SECTION("the counters of the rings") {
        for (const int with : {0x00, 0xff, 0x5a}) {
            Bytes bytes = good;
            wipe(bytes, header.controls_offset, header.ring_count * sizeof(Control),
                 static_cast<unsigned char>(with));
            Snapshot snapshot;
            REQUIRE(snapshot.read_bytes(bytes, error));
            REQUIRE(check_snapshot(snapshot, false) == "");
            CHECK(snapshot.totals().decoded_records == whole.totals().decoded_records);
            CHECK(snapshot.rings()[1].control_was_bad);
        }
    }
    SECTION("the side tables") {
        for (const int with : {0x00, 0xff, 0x5a}) {
            Bytes bytes = good;
            wipe(bytes, header.blocks_offset, header.dictionary_offset - header.blocks_offset,
                 static_cast<unsigned char>(with));
            Snapshot snapshot;
            REQUIRE(snapshot.read_bytes(bytes, error));
            CHECK(snapshot.totals().decoded_records == whole.totals().decoded_records);
        }
    }
    SECTION("the live state") {
        Bytes bytes = good;
        wipe(bytes, header.live_offset, sizeof(LiveState), 0xff);
        Snapshot snapshot;
        REQUIRE(snapshot.read_bytes(bytes, error));
        CHECK(snapshot.totals().decoded_records == whole.totals().decoded_records);
        CHECK(snapshot.dictionary().entries() == whole.dictionary().entries());
    }
    SECTION("an entry of the dictionary") {
        Bytes bytes = good;
        bytes[header.dictionary_offset + 100] ^= 1;
        Snapshot snapshot;
        REQUIRE(snapshot.read_bytes(bytes, error));
        CHECK(snapshot.dictionary().entries() + 1 == whole.dictionary().entries());
        CHECK(snapshot.dictionary().damaged_bytes() > 0);
        CHECK(exercise(bytes));
    }
}

TEST_CASE("a file cut off anywhere is read as far as it goes or refused with a reason") {
    const Bytes good = recorded_bytes(3'000, 260 * 1024);
    std::vector<size_t> lengths;
    for (size_t i = 0; i < 200; i++) {
        lengths.push_back(i);
    }
    for (size_t i = 200; i < good.size(); i += 1021) {
        lengths.push_back(i);
    }
    unsigned read = 0;
    for (const size_t length : lengths) {
        Snapshot snapshot;
        std::string error;
        const Bytes bytes(good.begin(), good.begin() + static_cast<std::ptrdiff_t>(length));
        if (snapshot.read_bytes(bytes, error)) {
            REQUIRE(snapshot.is_truncated());
            REQUIRE(check_snapshot(snapshot, false) == "");
            read++;
        } else {
            REQUIRE_FALSE(error.empty());
        }
    }
    CHECK(read > 50);
}

TEST_CASE("random damage gives no crash and no invented record", "[one_thread]") {
    const Bytes good = recorded_bytes(5'000, 260 * 1024);
    const FileHeader header = header_of(good);
    std::mt19937_64 random(GENERATE(1, 2, 3) + Catch::rngSeed());
    unsigned read = 0;
    for (int round = 0; round < 60; round++) {
        Bytes bytes = good;
        const uint64_t kind = random() % 5;
        const size_t at = random() % bytes.size();
        if (kind == 0) {  // bits
            for (int i = 0; i < 200; i++) {
                bytes[random() % bytes.size()] ^= static_cast<unsigned char>(1u << (random() % 8));
            }
        } else if (kind == 1) {  // a page of noise
            const size_t begin = at / 4096 * 4096;
            for (size_t i = begin; i < std::min(begin + 4096, bytes.size()); i++) {
                bytes[i] = static_cast<unsigned char>(random());
            }
        } else if (kind == 2) {  // a stale page: one from elsewhere
            const size_t from = random() % bytes.size() / 4096 * 4096;
            const size_t to = at / 4096 * 4096;
            if (from + 4096 <= bytes.size() && to + 4096 <= bytes.size()) {
                std::memmove(bytes.data() + to, bytes.data() + from, 4096);
            }
        } else if (kind == 3) {  // a header that holds its checksum and lies
            FileHeader lying = header;
            auto* raw = reinterpret_cast<unsigned char*>(&lying);
            const size_t where = 24 + random() % (sizeof(FileHeader) - 24);
            raw[where] = static_cast<unsigned char>(random());
            set_header(bytes, lying);
        } else {  // words of the controls and the live state
            const size_t where =
                header.live_offset +
                random() % (header.dictionary_offset - header.live_offset - 8) / 8 * 8;
            const uint64_t word = random() >> (random() % 64);
            std::memcpy(bytes.data() + where, &word, 8);
        }
        // Payload damage is not the decoder's to see: of the records only the lengths and order
        // hold.
        Snapshot snapshot;
        std::string error;
        if (!snapshot.read_bytes(bytes, error)) {
            REQUIRE_FALSE(error.empty());
            continue;
        }
        read++;
        for (const RingContents& ring : snapshot.rings()) {
            const Ledger& l = ring.ledger;
            REQUIRE(l.reserved_slots ==
                    l.decoded_slots + l.overwritten_slots + l.in_progress_slots + l.lost_slots);
            REQUIRE(l.decoded_slots <= ring.size_slots);
            uint64_t position = 0;
            for (const Record& record : ring.records) {
                REQUIRE(record.position() >= position);
                position = record.position() + record.slots();
            }
        }
        StringSink text;
        REQUIRE(export_text(snapshot, {}, text).ok);
        StringSink json;
        REQUIRE(export_json(snapshot, {}, json).ok);
        StringSink perfetto;
        REQUIRE(export_perfetto(snapshot, {}, perfetto).ok);
        StringSink terms;
        REQUIRE(export_terms(snapshot, {}, terms).ok);
    }
    CHECK(read > 20);
}

TEST_CASE("a receive stands behind its send whatever the clocks say") {
    const std::string path =
        std::filesystem::temp_directory_path() / ("recorder_merge_" + std::to_string(getpid()));
    Options options;
    options.spare_threads = 0;
    options.path = path;
    options.keep_old = 0;
    options.size_bytes = 1 << 20;
    options.large_threads = 0;
    options.small_threads = 2;
    REQUIRE(init(options).ok);
    constexpr uint64_t kMessages = 500;
    REQUIRE(attach_thread("sender"));
    for (uint64_t i = 0; i < kMessages; i++) {
        record(EventId::send, 2, 1000 + i, 10);
        record(EventId::signal_sent, 2, 1, 100'000 + i);
    }
    detach_thread();
    REQUIRE(attach_thread("receiver"));
    for (uint64_t i = 0; i < kMessages; i++) {
        record(EventId::receive, 1, 1000 + i, 0);
        record(EventId::signal_handled, 1, 1, 100'000 + i);
    }
    shutdown();
    std::ifstream file(path, std::ios::binary);
    Bytes bytes((std::istreambuf_iterator<char>(file)), std::istreambuf_iterator<char>());
    file.close();
    std::filesystem::remove(path);

    // The receiver's clock goes ten seconds behind: every stamp of its ring is moved back.
    Snapshot plain;
    std::string error;
    REQUIRE(plain.read_bytes(bytes, error));
    const FileHeader header = header_of(bytes);
    const uint64_t shift = header.ticks_per_second * 10;
    for (const RingContents& ring : plain.rings()) {
        for (const Record& record : ring.records) {
            const auto event = static_cast<EventId>(record.event());
            if (event == EventId::receive || event == EventId::signal_handled) {
                const uint64_t slot = record.position() & (ring.size_slots - 1);
                const uint64_t earlier = record.ticks - shift;
                std::memcpy(
                    bytes.data() + ring_entry(header, ring.index).offset + slot * kSlotBytes + 8,
                    &earlier, 8);
            }
        }
    }
    Snapshot skewed;
    REQUIRE(skewed.read_bytes(bytes, error));
    Merger merger(skewed);
    std::set<uint64_t> sent;
    uint64_t received = 0;
    uint64_t count = 0;
    for (MergedRecord merged = merger.next(); merged.record != nullptr; merged = merger.next()) {
        count++;
        const auto event = static_cast<EventId>(merged.record->event());
        if (event == EventId::send) {
            sent.insert(merged.record->argument(1));
        } else if (event == EventId::signal_sent) {
            sent.insert(merged.record->argument(2));
        } else if (event == EventId::receive || event == EventId::signal_handled) {
            const uint64_t flow = merged.record->argument(event == EventId::receive ? 1 : 2);
            REQUIRE(sent.count(flow) == 1);
            received++;
        }
    }
    CHECK(received == 2 * kMessages);
    CHECK(count == skewed.totals().decoded_records);
    CHECK(merger.index() == count);
    CHECK(merger.reordered() > 0);
    CHECK(merger.contradictions() == 0);
}

TEST_CASE("flow ids that come back are told apart by time") {
    const std::string path =
        std::filesystem::temp_directory_path() / ("recorder_reuse_" + std::to_string(getpid()));
    Options options;
    options.spare_threads = 0;
    options.path = path;
    options.keep_old = 0;
    options.size_bytes = 1 << 20;
    options.large_threads = 0;
    options.small_threads = 2;
    REQUIRE(init(options).ok);
    constexpr uint64_t kRounds = 300;
    constexpr uint64_t kSkewTicks = 5;
    std::atomic<uint64_t> turn{0};
    const auto play = [&](const char* name, uint64_t parity, auto act) {
        attach_thread(name);
        for (uint64_t i = 0; i < kRounds; i++) {
            while (turn.load(std::memory_order_acquire) !=
                   2 * i + parity) {  // acquire: as the store below
                std::this_thread::yield();
            }
            // A coarse counter (qemu's) must not give two turns stamps closer than the skew below.
            const uint64_t begun = read_counter();
            while (read_counter() - begun < 4 * kSkewTicks) {
            }
            act(i);
            turn.store(2 * i + parity + 1,
                       std::memory_order_release);  // release: the other's turn is later
        }
        detach_thread();
    };
    // One id for all messages; the third argument numbers them for this test.
    std::thread sender(
        [&] { play("sender", 0, [](uint64_t i) { record(EventId::send, 2, 7, i); }); });
    std::thread receiver(
        [&] { play("receiver", 1, [](uint64_t i) { record(EventId::receive, 1, 7, i); }); });
    sender.join();
    receiver.join();
    shutdown();
    std::ifstream file(path, std::ios::binary);
    Bytes bytes((std::istreambuf_iterator<char>(file)), std::istreambuf_iterator<char>());
    file.close();
    std::filesystem::remove(path);

    // Each receive seems to have happened a moment before its send.
    Snapshot plain;
    std::string error;
    REQUIRE(plain.read_bytes(bytes, error));
    const FileHeader header = header_of(bytes);
    std::map<uint64_t, uint64_t> sent_at;
    for (const RingContents& ring : plain.rings()) {
        for (const Record& record : ring.records) {
            if (static_cast<EventId>(record.event()) == EventId::send) {
                sent_at[record.argument(2)] = record.ticks;
            }
        }
    }
    for (const RingContents& ring : plain.rings()) {
        for (const Record& record : ring.records) {
            if (static_cast<EventId>(record.event()) == EventId::receive) {
                const uint64_t slot = record.position() & (ring.size_slots - 1);
                const uint64_t earlier = sent_at[record.argument(2)] - kSkewTicks;
                std::memcpy(
                    bytes.data() + ring_entry(header, ring.index).offset + slot * kSlotBytes + 8,
                    &earlier, 8);
            }
        }
    }
    Snapshot skewed;
    REQUIRE(skewed.read_bytes(bytes, error));
    Merger merger(skewed);
    uint64_t sends = 0;
    uint64_t receives = 0;
    for (MergedRecord merged = merger.next(); merged.record != nullptr; merged = merger.next()) {
        const auto event = static_cast<EventId>(merged.record->event());
        if (event == EventId::send) {
            REQUIRE(merged.record->argument(2) == sends);
            sends++;
        } else if (event == EventId::receive) {
            REQUIRE(merged.record->argument(2) == receives);
            receives++;
            REQUIRE(receives == sends);
        }
    }
    CHECK(receives == kRounds);
    CHECK(merger.reordered() >
          kRounds / 2);  // the first ones stand behind thread_start in any case
    CHECK(merger.contradictions() == 0);
}

TEST_CASE("sends and receives that wait for each other in a circle are handed out all the same") {
    REQUIRE(init({}).ok);
    // One thread after the other, so that the second receives what it sends later.
    const auto act = [](uint64_t receives, uint64_t sends) {
        attach_thread("thread");
        record(EventId::receive, 1, receives, 0);
        record(EventId::send, 1, sends, 0);
        detach_thread();
    };
    act(10, 20);
    act(20, 10);
    Snapshot snapshot;
    std::string error;
    REQUIRE(snapshot.read_own(error));
    Merger merger(snapshot);
    uint64_t count = 0;
    while (merger.next().record != nullptr) {
        count++;
    }
    CHECK(count == snapshot.totals().decoded_records);
    CHECK(merger.contradictions() == 1);
    shutdown();
}

TEST_CASE("nested writes beyond the cap and beyond the open record are dropped and counted") {
    // A ring in plain memory; handlers are played by the payload function of the record around
    // them.
    std::vector<uint64_t> memory(static_cast<size_t>(256 + kMaxSlots) * kWordsPerSlot + 64);
    Control control{};
    Atomics::Word blocks[2] = {};
    Ring ring;
    ring.words = reinterpret_cast<Atomics::Word*>(memory.data());
    ring.blocks = blocks;
    ring.control = &control;
    ring.size_slots = 256;
    const auto plain = [](auto put, uint64_t) { put(1, 1); };
    SECTION("cap") {
        std::vector<WriteResult> results;
        const auto nest = [&](auto& self, unsigned depth) -> void {
            results.push_back(write_record<Atomics>(ring, 1, 0, [&](auto put, uint64_t) {
                put(1, depth);
                if (depth < kMaxNesting + 3) {
                    self(self, depth + 1);
                }
            }));
        };
        nest(nest, 1);
        CHECK(results.size() ==
              kMaxNesting + 2);  // the thread's own, the handlers', and one too many
        CHECK(results.front() == WriteResult::dropped_nesting);
        CHECK(control.records == kMaxNesting + 1);
        CHECK(control.dropped_nesting == 1);
        CHECK(control.depth == 0);
        CHECK(control.open == 0);
    }
    SECTION("lap") {
        uint64_t nested_written = 0;
        uint64_t nested_dropped = 0;
        const WriteResult outer = write_record<Atomics>(ring, 2, 0, [&](auto put, uint64_t) {
            put(1, 7);
            for (int i = 0; i < 1000; i++) {
                const WriteResult result = write_record<Atomics>(ring, 1, 0, plain);
                nested_written += result == WriteResult::written ? 1 : 0;
                nested_dropped += result == WriteResult::dropped_lap ? 1 : 0;
            }
            put(2, 8);
        });
        CHECK(outer == WriteResult::written);
        CHECK(nested_written == 254);
        CHECK(nested_dropped == 1000 - 254);
        CHECK(control.dropped_lap == nested_dropped);
        uint64_t words[kMaxRecordWords];
        REQUIRE(read_record<Atomics>(ring, 0, words).result == ReadResult::committed);
        CHECK(words[1] == 7);
        CHECK(words[2] == 8);
        // The next record of the thread itself is never refused.
        CHECK(write_record<Atomics>(ring, 8, 0, plain) == WriteResult::written);
        CHECK(read_record<Atomics>(ring, 0, words).result == ReadResult::overwritten);
    }
}

namespace {

// A recording of one thread, which is the calling one, and a reader that follows its ring of calls.
struct Followed {
    Followed() {
        Options options;
        options.spare_threads = 0;
        options.large_threads = 1;
        options.small_threads = 0;
        REQUIRE(init(options).ok);
        REQUIRE(attach_thread("writer", RingSize::large));
        own = &detail::thread_state().rings[static_cast<unsigned>(RingClass::calls)];
        look();
    }
    ~Followed() { shutdown(); }

    static void call(uint64_t n) { record(EventId::trace_call_words, n, 0, 0, 0); }

    // The serials of what has come since the last look, in the ring of that thread or the shared
    // one.
    std::vector<uint64_t> look(bool shared = false) {
        std::string error;
        REQUIRE(snapshot.read_own_behind(RingClass::calls, next, error));
        std::vector<uint64_t> found;
        for (const RingContents& ring : snapshot.rings()) {
            next.resize(std::max<size_t>(next.size(), ring.index + 1));
            if ((ring.group == kSharedGroup) == shared) {
                contents = &ring;
            }
            for (const Record& record : ring.records) {
                if (record.position() < ring.complete_until &&
                    static_cast<EventId>(record.event()) == EventId::trace_call_words) {
                    found.push_back(record.argument(0));
                }
            }
            next[ring.index] = ring.complete_until;
        }
        return found;
    }

    const Ring* own;
    Snapshot snapshot;
    const RingContents* contents = nullptr;  // of the last look
    std::vector<uint64_t> next;
};

using Serials = std::vector<uint64_t>;

}  // namespace

// A writer has taken its slots and not marked them yet (the moment is as long as a page fault, or
// as the thread is off the processor): a look in between went past them.
TEST_CASE("a follower waits for slots that are taken and not marked yet") {
    Followed f;
    Control& control = *f.own->control;
    Followed::call(1);
    REQUIRE(f.look() == Serials{1});
    const uint64_t slots = f.snapshot.rings().front().records.front().slots();

    SECTION("with nothing behind them") {
        control.reserve += slots;
        REQUIRE(f.look().empty());
        REQUIRE(f.contents->lost.empty());
        REQUIRE(f.contents->ledger.in_progress_records == 1);
        control.reserve -= slots;
        Followed::call(2);
        REQUIRE(f.look() == Serials{2});
    }
    SECTION("with a handler's record behind them") {
        const uint64_t at = control.reserve;
        control.open = at + 1;
        control.reserve += slots;
        Followed::call(3);
        control.open = 0;
        REQUIRE(f.look().empty());
        REQUIRE(f.contents->complete_until == at);
        REQUIRE(f.contents->lost.empty());
        const uint64_t end = control.reserve;
        control.reserve = at;
        Followed::call(2);
        control.reserve = end;
        REQUIRE(f.look() == Serials{2, 3});
    }
    SECTION("and not when the thread has gone on") {
        control.reserve += slots;
        Followed::call(2);
        REQUIRE(f.look() == Serials{2});
        REQUIRE(f.contents->ledger.lost_slots == slots);
        REQUIRE(f.contents->ledger.in_progress_records == 0);
    }
    SECTION("in the lines of a recording") {
        Cursor cursor;
        std::string error;
        StringSink before;
        REQUIRE(f.snapshot.read_own(error));
        export_lines(f.snapshot, {}, 100, &cursor, before);
        const uint64_t at = control.reserve;
        control.open = at + 1;
        control.reserve += slots;
        Followed::call(3);
        control.open = 0;
        StringSink none;
        REQUIRE(f.snapshot.read_own(error));
        export_lines(f.snapshot, {}, 100, &cursor, none);
        REQUIRE(none.text.empty());
        const uint64_t end = control.reserve;
        control.reserve = at;
        Followed::call(2);
        control.reserve = end;
        StringSink both;
        REQUIRE(f.snapshot.read_own(error));
        REQUIRE(export_lines(f.snapshot, {}, 100, &cursor, both).records == 2);
        REQUIRE(cursor.missed_slots == 0);
    }
}

TEST_CASE("a follower waits for cells of the shared ring that are taken and not marked yet") {
    Followed f;
    const auto without_rings = [](uint64_t n) { std::thread([n] { Followed::call(n); }).join(); };
    without_rings(1);
    REQUIRE(f.look(true) == Serials{1});
    const Ring* shared = &detail::g_common.load()->shared;
    Control& control = *shared->control;
    const uint64_t at = control.reserve;
    control.reserve += kSharedSlots;
    without_rings(3);
    REQUIRE(f.look(true).empty());
    REQUIRE(f.contents->complete_until == at);
    REQUIRE(f.contents->lost.empty());

    SECTION("and sees what comes") {
        const uint64_t end = control.reserve;
        control.reserve = at;
        without_rings(2);
        control.reserve = end;
        REQUIRE(f.look(true) == Serials{2, 3});
    }
    SECTION("and not for those of records that are dropped") {
        control.dropped_busy += 1;
        REQUIRE(f.look(true) == Serials{3});
        REQUIRE(f.contents->ledger.lost_slots == kSharedSlots);
    }
}

TEST_CASE("the names of records that are read while others are written are known") {
    Options options;
    options.spare_threads = 0;
    options.size_bytes = 6 << 20;
    REQUIRE(init(options).ok);
    std::atomic<bool> done{false};
    std::thread writer([&done] {
        attach_thread("writer");
        for (unsigned i = 1; i <= 4000; i++) {
            define_function(i, "m", "f", i);
            record(EventId::trace_call, i, "");
        }
        detach_thread();
        done = true;
    });
    std::string unknown;
    while (!done && unknown.empty()) {
        Snapshot snapshot;
        snapshot.read_own(unknown);
        for (const RingContents& ring : snapshot.rings()) {
            for (const Record& record : ring.records) {
                if (static_cast<EventId>(record.event()) == EventId::trace_call &&
                    snapshot.dictionary().function(record.argument(0)) == nullptr) {
                    unknown = "function " + std::to_string(record.argument(0));
                }
            }
        }
    }
    writer.join();
    shutdown();
    CHECK(unknown == "");
}

TEST_CASE("who follows a thread that writes into new pages sees each record once") {
    Options options;
    options.spare_threads = 0;
    options.large_threads = 1;
    options.small_threads = 0;
    options.size_bytes = 64 << 20;
    REQUIRE(init(options).ok);
    constexpr uint64_t kRecords = 200'000;
    constexpr uint64_t kAhead = 10'000;  // a ring holds many more: what is not read yet is never overwritten
    std::atomic<bool> done{false};
    std::atomic<uint64_t> seen{0};
    std::thread writer([&] {
        attach_thread("writer", RingSize::large);
        for (uint64_t i = 0; i < kRecords; i++) {
            while (i >= seen + kAhead) {
                std::this_thread::yield();
            }
            Followed::call(i);
        }
        done = true;
    });
    std::vector<uint64_t> next;
    uint64_t expected = 0;
    bool in_order = true;
    bool last = false;
    do {
        last = done;
        Snapshot snapshot;
        std::string error;
        const bool read = snapshot.read_own_behind(RingClass::calls, next, error);
        if (!read) {
            seen = kRecords;  // lets the writer end
            writer.join();
        }
        REQUIRE(read);
        for (const RingContents& ring : snapshot.rings()) {
            next.resize(std::max<size_t>(next.size(), ring.index + 1));
            for (const Record& record : ring.records) {
                if (record.position() < ring.complete_until &&
                    static_cast<EventId>(record.event()) == EventId::trace_call_words) {
                    in_order &= record.argument(0) == expected++;
                }
            }
            next[ring.index] = ring.complete_until;
        }
        seen = expected;
    } while (!last);
    writer.join();
    shutdown();
    REQUIRE(expected == kRecords);
    REQUIRE(in_order);
}
