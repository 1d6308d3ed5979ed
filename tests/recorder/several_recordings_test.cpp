// Recordings beside the first, which start and stop while others write; the pool of rings that
// grows.
#include "recorder/export.hpp"
#include "recorder/mapping.hpp"
#include "recorder/recording.hpp"
#include "recorder/site.hpp"
#include "tests/recorder/pattern.hpp"
#include "tests/recorder/thread_timer.hpp"

#include <catch2/catch.hpp>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <csignal>
#include <cstdlib>
#include <filesystem>
#include <thread>
#include <vector>

using namespace minivm::recorder;
using recorder_test::check_snapshot;
using recorder_test::record_pattern;
using recorder_test::ThreadTimer;

namespace {

class Folder {
public:
    Folder() {
        char name[] = "/tmp/recorder_several_XXXXXX";
        path_ = mkdtemp(name);
    }
    ~Folder() { std::filesystem::remove_all(path_); }
    std::string file(const std::string& name) const { return path_ + "/" + name; }

private:
    std::string path_;
};

Options small_options(const std::string& path, uint32_t categories) {
    Options options;
    options.path = path;
    options.size_bytes = 1 << 20;
    options.large_threads = 2;
    options.small_threads = 4;
    options.categories = categories;
    options.keep_old = 0;
    return options;
}

std::string text_of(const std::string& path) {
    Snapshot snapshot;
    std::string error;
    REQUIRE(snapshot.read_file(path, error));
    REQUIRE(check_snapshot(snapshot, true) == "");
    StringSink sink;
    REQUIRE(export_text(snapshot, {}, sink).ok);
    return sink.text;
}

bool has(const std::string& text, const char* part) {
    return text.find(part) != std::string::npos;
}

constinit thread_local bool t_is_writer = false;
std::atomic<uint64_t> g_serial{0};

void on_signal(int) {
    if (t_is_writer) {
        record_pattern(g_serial++);
        record_pattern(g_serial++);
    }
}

}  // namespace

TEST_CASE("each recording takes its own categories and names everything") {
    const Folder folder;
    const uint32_t gc = category_bit(Category::gc);
    const uint32_t code = category_bit(Category::code);
    REQUIRE(init(small_options(folder.file("main"), kAllCategories & ~gc)).ok);
    REQUIRE(attach_thread("first", RingSize::large));
    define_subject(7, "named before");
    record(EventId::gc_long, 7, 1000);  // nobody takes it
    const StartResult more = start_recording(small_options(folder.file("more"), gc | code));
    REQUIRE(more.error == "");
    define_subject(8, "named after");
    record(EventId::gc_long, 7, 2000);
    record(EventId::gc_long, 8, 3000);
    record(EventId::code_delete, 1);
    record(EventId::link, 7, 8);
    MINIVM_RECORD(gc, rare, "declared at %u", 4u);
    std::thread([] {
        record(EventId::gc_long, 9, 4000);  // a thread without rings
        attach_thread("second");
        record(EventId::gc_long, 10, 5000);
    }).join();
    CHECK(recordings().size() == 2);
    CHECK(categories() == (kAllCategories & ~gc));
    // Nothing of what is wrong starts anything.
    CHECK(start_recording(small_options(folder.file("more"), gc)).error ==
          folder.file("more") + ": is being recorded into");
    CHECK(start_recording(small_options(folder.file("main"), gc)).id == 0);
    CHECK(start_recording(small_options("", gc)).error ==
          "a recording beside the first needs a file");
    CHECK(has(start_recording(small_options(folder.file("no/such"), gc)).error, "No such file"));
    CHECK(start_recording(small_options(folder.file("third"), gc)).id != 0);
    CHECK(start_recording(small_options(folder.file("fourth"), gc)).id != 0);
    CHECK(has(start_recording(small_options(folder.file("fifth"), gc)).error, "stop one"));
    REQUIRE(stop_recording(more.id));
    CHECK_FALSE(stop_recording(more.id));
    CHECK_FALSE(stop_recording(0));
    CHECK_FALSE(stop_recording(12345));
    record(EventId::gc_long, 7, 6000);
    shutdown();

    const std::string main = text_of(folder.file("main"));
    CHECK_FALSE(has(main, "gc_long"));
    CHECK_FALSE(has(main, "declared at"));
    CHECK(has(main, "link: named before with named after"));
    CHECK(has(main, "code_delete"));
    CHECK(has(main, "starts: categories 0x"));
    const std::string taken = text_of(folder.file("more"));
    CHECK(has(taken, "state: closed"));
    CHECK_FALSE(has(taken, "took 1 us"));
    CHECK(has(taken, "long gc: named before took 2 us"));
    CHECK(has(taken, "long gc: named after took 3 us"));
    CHECK(has(taken, "code_delete"));
    CHECK(has(taken, "declared at 4"));
    CHECK(has(taken, "took 4 us"));
    CHECK(has(taken, "second"));
    CHECK(has(taken, "took 5 us"));
    CHECK_FALSE(has(taken, "took 6 us"));
    CHECK_FALSE(has(taken, "link:"));
    CHECK(has(text_of(folder.file("third")), "took 6 us"));
}

TEST_CASE("recordings start and stop in the middle of writers and their signal handlers") {
    const Folder folder;
    REQUIRE(init(small_options("", kAllCategories)).ok);
    std::atomic<bool> stop{false};
    std::vector<std::thread> writers;
    std::atomic<uint64_t> written{0};
    std::atomic<bool> timers_good{true};
    for (int w = 0; w < 3; w++) {
        writers.emplace_back([&, w] {
            // The third has no rings of its own.
            if (w < 2) {
                attach_thread("writer", RingSize::large);
            }
            t_is_writer = true;
            const ThreadTimer timer(SIGRTMIN + 6, on_signal, 61'000);
            timers_good = timers_good && timer.good();
            while (!stop.load(std::memory_order_relaxed)) {  // relaxed: only ends the loop
                record_pattern(g_serial++);
                written++;
            }
            t_is_writer = false;
        });
    }
    uint64_t decoded = 0;
    uint64_t in_handlers = 0;
    unsigned rounds = 0;
    const auto begin = std::chrono::steady_clock::now();
    const auto elapsed = [&] { return std::chrono::steady_clock::now() - begin; };
    while (rounds < 20 || elapsed() < std::chrono::milliseconds(700) ||
           (in_handlers == 0 && elapsed() < std::chrono::minutes(3))) {
        const StartResult first = start_recording(small_options(folder.file("a"), kAllCategories));
        const StartResult second =
            start_recording(small_options(folder.file("b"), category_bit(Category::trace)));
        REQUIRE(first.error + second.error == "");
        const uint64_t before = written;
        while (written < before + 2000) {
            std::this_thread::yield();
        }
        REQUIRE(stop_recording(first.id));
        REQUIRE(stop_recording(second.id));
        for (const char* name : {"a", "b"}) {
            Snapshot snapshot;
            std::string error;
            REQUIRE(snapshot.read_file(folder.file(name), error));
            CHECK(snapshot.crash_state() == CrashState::closed);
            // Nobody was in the middle of a record when it was closed.
            REQUIRE(check_snapshot(snapshot, true) == "");
            const Ledger sum = snapshot.totals();
            REQUIRE(sum.in_progress_records == 0);
            REQUIRE(sum.lost_slots <= sum.abandoned_slots + 2 * sum.dropped_busy);
            decoded += sum.decoded_records;
            for (const RingContents& ring : snapshot.rings()) {
                for (const Record& r : ring.records) {
                    in_handlers += (r.flags() & kFlagNested) != 0 ? 1 : 0;
                    const bool is_trace =
                        static_cast<EventId>(r.event()) == EventId::trace_call ||
                        static_cast<EventId>(r.event()) == EventId::trace_call_words;
                    REQUIRE((is_trace || name[0] == 'a'));
                }
            }
        }
        rounds++;
    }
    stop = true;
    for (std::thread& writer : writers) {
        writer.join();
    }
    CHECK(timers_good);
    CHECK(decoded > rounds * 1000u);
    CHECK(in_handlers > 0);
    Snapshot snapshot;
    std::string error;
    REQUIRE(snapshot.read_own(error));
    CHECK(check_snapshot(snapshot, true) == "");
    shutdown();
}

TEST_CASE("an exception and its frames stand together in each recording") {
    const Folder folder;
    REQUIRE(init(small_options(folder.file("main"), kAllCategories)).ok);
    REQUIRE(attach_thread("first", RingSize::large));
    const StartResult more =
        start_recording(small_options(folder.file("more"), category_bit(Category::process)));
    REQUIRE(more.error == "");
    constexpr uint64_t kFrames = 8;
    for (uint64_t i = 0; i < 3000; i++) {
        const Batch batch(EventId::uncaught, 20);
        const uint64_t reason = pack_value(ValueTag::nil);
        record(EventId::uncaught, i, 0, Value(&reason, 1));
        for (uint64_t level = 0; level < kFrames; level++) {
            record(EventId::uncaught_frame, i, level, 3, 4, 5);
        }
    }
    REQUIRE(stop_recording(more.id));
    shutdown();
    for (const char* name : {"main", "more"}) {
        CAPTURE(name);
        Snapshot snapshot;
        std::string error;
        REQUIRE(snapshot.read_file(folder.file(name), error));
        uint64_t whole = 0;
        uint64_t cut = 0;
        for (const RingContents& ring : snapshot.rings()) {
            for (size_t i = 0; i < ring.records.size(); i++) {
                const Record& failure = ring.records[i];
                if (static_cast<EventId>(failure.event()) != EventId::uncaught) {
                    continue;
                }
                bool good = i + kFrames < ring.records.size();
                for (uint64_t level = 0; good && level < kFrames; level++) {
                    const Record& frame = ring.records[i + 1 + level];
                    good = static_cast<EventId>(frame.event()) == EventId::uncaught_frame &&
                           frame.argument(0) == failure.argument(0) && frame.argument(1) == level;
                }
                ++(good ? whole : cut);
            }
        }
        CHECK(whole > 20);
        CHECK(cut == 0);
    }
}

TEST_CASE("the pool of rings grows when few are left, and readers see it") {
    const Folder folder;
    Options options = small_options(folder.file("pool"), kAllCategories);
    options.small_threads = 4;
    options.spare_threads = 20;
    REQUIRE(init(options).ok);
    std::atomic<bool> stop{false};
    std::vector<std::thread> threads;
    unsigned without = 0;
    const Mapping* mapping = nullptr;
    const FileHeader* header = nullptr;
    REQUIRE(detail::own_recording(mapping, header));
    const LiveState& live = *mapping->live(*header);
    const uint64_t most = header->group_count;
    for (unsigned i = 0; i < 20; i++) {
        std::atomic<int> attached{-1};
        threads.emplace_back([&, i] {
            attached = attach_thread("worker " + std::to_string(i)) ? 1 : 0;
            record(EventId::link, i, 100 + i);
            while (!stop) {
                std::this_thread::sleep_for(std::chrono::milliseconds(1));
            }
        });
        while (attached < 0) {
            std::this_thread::yield();
        }
        without += attached == 0 ? 1 : 0;
        // Growing takes a moment; a thread that comes in it would have to share.
        while (live.groups_ready < std::min<uint64_t>(i + 1 + 3, most)) {
            std::this_thread::yield();
        }
    }
    CHECK(without == 0);
    // Beside the writer, by another mapping of the file.
    const std::string beside = [&] {
        Snapshot snapshot;
        std::string error;
        REQUIRE(snapshot.read_file(folder.file("pool"), error));
        StringSink sink;
        REQUIRE(export_text(snapshot, {}, sink).ok);
        return sink.text;
    }();
    stop = true;
    for (std::thread& thread : threads) {
        thread.join();
    }
    shutdown();
    const std::string text = text_of(folder.file("pool"));
    CHECK(has(text, "the pool of rings grows from 6 threads to 10"));
    for (unsigned i = 0; i < 20; i++) {
        const std::string link =
            "link: #" + std::to_string(i) + " with #" + std::to_string(100 + i);
        CHECK(has(text, link.c_str()));
        CHECK(has(beside, link.c_str()));
    }
}
