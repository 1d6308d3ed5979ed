// The recorder under load: signals inside signals, readers beside writers, more threads than rings.
#include "recorder/export.hpp"
#include "recorder/mapping.hpp"
#include "recorder/recording.hpp"
#include "tests/recorder/pattern.hpp"
#include "tests/recorder/thread_timer.hpp"
#include "tests/support/left_out.hpp"
#include "tests/support/rounds.hpp"

#include <catch2/catch.hpp>

#include <linux/filter.h>
#include <linux/seccomp.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <atomic>
#include <chrono>
#include <csignal>
#include <cstddef>
#include <cstdlib>
#include <map>
#include <regex>
#include <set>
#include <string>
#include <thread>
#include <vector>

using namespace minivm::recorder;
using recorder_test::check_snapshot;
using recorder_test::is_whole;
using recorder_test::mix;
using recorder_test::record_pattern;
using recorder_test::ThreadTimer;

namespace {

// Records written by handlers, per thread. Only the thread's own handlers add.
struct Counts {
    std::atomic<uint64_t> handled{0};
    std::atomic<uint64_t> serial{0};
};
constinit thread_local Counts* t_counts = nullptr;

void on_signal(int) {
    Counts* counts = t_counts;
    if (counts == nullptr) {
        return;
    }
    for (int i = 0; i < 3; i++) {
        // relaxed: a serial number; handlers inside this one take others.
        record_pattern(counts->serial.fetch_add(1, std::memory_order_relaxed));
        // relaxed: a counter.
        counts->handled.fetch_add(1, std::memory_order_relaxed);
    }
}

// Reads slots as a careless reader would: word 0 says committed, so it is taken. Returns torn
// records.
uint64_t read_naively(const Ring& ring) {
    uint64_t torn = 0;
    for (uint64_t slot = 0; slot < ring.size_slots; slot++) {
        const Atomics::Word* word = ring.slot(slot);
        const auto get = [](const Atomics::Word& w) {
            return w.load(std::memory_order_relaxed);  // relaxed: careless on purpose
        };
        const uint64_t head = get(word[0]);
        if (!word0_is_committed(head) || (word0_position(head) & (ring.size_slots - 1)) != slot) {
            continue;
        }
        uint64_t words[kMaxRecordWords];
        words[0] = head;
        for (unsigned i = 1; i < word0_slots(head) * kWordsPerSlot; i++) {
            words[i] = get(word[i]);
        }
        torn += is_whole(Record{words[1], words[1], words, word2_event(words[2])}) ? 0 : 1;
    }
    return torn;
}

}  // namespace

namespace {

constexpr unsigned kMostReaders = 4;

// Until the readers have read `reads` records, and for `time` at least.
void stress(std::chrono::milliseconds time, uint64_t reads, unsigned readers) {
    Options options;
    options.spare_threads = 0;
    options.size_bytes = 1 << 20;
    options.large_threads = 2;
    options.small_threads = 1;
    REQUIRE(init(options).ok);
    std::atomic<bool> stop{false};
    constexpr int kWriters = 2;
    Counts counts[kWriters];
    std::atomic<uint64_t> written[kWriters] = {};
    std::atomic<bool> timers_good{true};
    std::vector<std::thread> writers;
    for (int w = 0; w < kWriters; w++) {
        writers.emplace_back([&, w] {
            attach_thread("writer", RingSize::large);
            t_counts = &counts[w];
            {
                // Periods without a common divisor, so that every place is hit.
                const ThreadTimer first(SIGRTMIN + 3, on_signal, 41'000);
                const ThreadTimer second(SIGRTMIN + 4, on_signal, 67'000);
                const ThreadTimer third(SIGRTMIN + 5, on_signal, 97'000);
                if (!first.good() || !second.good() || !third.good()) {
                    timers_good = false;
                }
                uint64_t n = 0;
                while (!stop.load(std::memory_order_relaxed)) {  // relaxed: only ends the loop
                    // relaxed: a serial number.
                    record_pattern(counts[w].serial.fetch_add(1, std::memory_order_relaxed));
                    n++;
                }
                written[w] = n;
            }
            t_counts = nullptr;
        });
    }
    const Mapping* mapping = nullptr;
    const FileHeader* header = nullptr;
    REQUIRE(detail::own_recording(mapping, header));
    std::atomic<uint64_t> snapshots{0};
    std::atomic<uint64_t> records{0};
    std::atomic<uint64_t> torn_naively{0};
    std::string wrong[kMostReaders];
    std::atomic<bool> any_wrong{false};
    const auto begin = std::chrono::steady_clock::now();
    const auto elapsed = [&] { return std::chrono::steady_clock::now() - begin; };
    std::vector<std::thread> threads;
    for (unsigned reader = 0; reader < readers; reader++) {
        threads.emplace_back([&, reader] {
            // Until there were signals and the careless reader has been caught, so that the test is
            // known to be hard enough.
            const auto is_hard = [&] {
                return torn_naively > 0 && snapshots > 3 && records > 10'000 &&
                       counts[0].handled > 100 && counts[1].handled > 100;
            };
            while (!any_wrong && (elapsed() < time || records < reads ||
                                  (!is_hard() && elapsed() < std::chrono::minutes(3)))) {
                Snapshot snapshot;
                if (snapshot.read_own(wrong[reader])) {
                    wrong[reader] = check_snapshot(snapshot, false);
                }
                any_wrong = any_wrong || !wrong[reader].empty();
                records += snapshot.totals().decoded_records;
                if (snapshots++ % readers == 0) {
                    for (unsigned i = 0; i < header->ring_count; i++) {
                        torn_naively += read_naively(mapping->ring(*header, i));
                    }
                }
            }
        });
    }
    for (std::thread& thread : threads) {
        thread.join();
    }
    stop = true;
    for (std::thread& writer : writers) {
        writer.join();
    }
    for (const std::string& what : wrong) {
        CHECK(what == "");
    }
    CHECK(timers_good);
    CHECK(snapshots > 3);
    CHECK(records > 10'000);
    CHECK(torn_naively > 0);

    Snapshot snapshot;
    std::string error;
    REQUIRE(snapshot.read_own(error));
    CHECK(check_snapshot(snapshot, true) == "");
    // Everything that was recorded was either begun or counted as dropped: thread_start and
    // thread_end, two a thread, come on top.
    uint64_t recorded = 2 * kWriters;
    uint64_t handled = 0;
    for (int w = 0; w < kWriters; w++) {
        recorded += written[w] + counts[w].handled;
        handled += counts[w].handled;
    }
    const Ledger sum = snapshot.totals();
    CHECK(sum.begun_records + sum.dropped_records() == recorded);
    CHECK(sum.in_progress_records == 0);
    CHECK(sum.lost_slots <= sum.abandoned_slots);
    CHECK(handled > 100);
    if (readers > 1) {
        WARN(sum.begun_records << " records written, " << handled << " of them in handlers, "
                               << sum.dropped_records() << " dropped; " << records
                               << " read beside the writers, none torn; the careless reader had "
                               << torn_naively << " torn");
    }
    shutdown();
}

}  // namespace

TEST_CASE("records read while they are written and interrupted are whole, and none is lost") {
    stress(std::chrono::milliseconds(700), 0, 1);
}

// Run by hand: minivm_tests "[soak]", until MINIVM_SOAK_READS records have been read.
TEST_CASE("the same for longer", "[.][soak]") {
    const char* reads = std::getenv("MINIVM_SOAK_READS");
    stress(std::chrono::seconds(10), reads == nullptr ? 0 : std::strtoull(reads, nullptr, 10),
           kMostReaders);
}

TEST_CASE("threads that share one ring tear nothing and lose nothing uncounted") {
    Options options;
    options.spare_threads = 0;
    options.size_bytes = 512 * 1024;
    options.large_threads = 1;
    options.small_threads = 0;
    REQUIRE(init(options).ok);
    constexpr int kThreads = 4;
    constexpr uint64_t kEach = 40'000;
    std::atomic<bool> stop{false};
    std::vector<std::thread> threads;
    for (int t = 0; t < kThreads; t++) {
        threads.emplace_back([t] {
            for (uint64_t i = 0; i < kEach; i++) {
                record_pattern(i * kThreads + static_cast<uint64_t>(t));
            }
        });
    }
    std::string wrong;
    std::thread reader([&] {
        while (!stop && wrong.empty()) {
            Snapshot snapshot;
            std::string error;
            wrong = snapshot.read_own(error) ? check_snapshot(snapshot, false) : error;
        }
    });
    for (std::thread& thread : threads) {
        thread.join();
    }
    stop = true;
    reader.join();
    CHECK(wrong == "");
    Snapshot snapshot;
    std::string error;
    REQUIRE(snapshot.read_own(error));
    CHECK(check_snapshot(snapshot, true) == "");
    const Ledger sum = snapshot.totals();
    CHECK(sum.begun_records + sum.dropped_records() == kThreads * kEach);
    CHECK(sum.decoded_records > 0);
    shutdown();
}

TEST_CASE("threads that come and go take the rings that were freed longest ago") {
    Options options;
    options.spare_threads = 0;
    options.size_bytes = 1 << 20;
    options.large_threads = 0;
    options.small_threads = 4;
    REQUIRE(init(options).ok);
    for (uint64_t i = 0; i < 20; i++) {
        std::thread([i] {
            attach_thread("worker " + std::to_string(i));
            record(EventId::link, i, i);
        }).join();
        Snapshot snapshot;
        std::string error;
        REQUIRE(snapshot.read_own(error));
        // The last four workers are all still there, each in rings of its own.
        std::vector<bool> group_seen(4);
        for (uint64_t j = i < 3 ? 0 : i - 3; j <= i; j++) {
            bool found = false;
            for (const RingContents& ring : snapshot.rings()) {
                for (const Record& record : ring.records) {
                    const Owner* owner = snapshot.owner_of(ring, record.position());
                    if (static_cast<EventId>(record.event()) == EventId::link &&
                        record.argument(0) == j) {
                        found = true;
                        REQUIRE(owner != nullptr);
                        REQUIRE(owner->name == "worker " + std::to_string(j));
                        REQUIRE_FALSE(group_seen[ring.group]);
                        group_seen[ring.group] = true;
                    }
                }
            }
            REQUIRE(found);
        }
    }
    shutdown();
}

TEST_CASE("a child of fork does not write its parent's rings and can record by itself") {
    REQUIRE(init({}).ok);
    REQUIRE(attach_thread("parent", RingSize::large));
    record(EventId::link, 1, 2);
    const uint64_t before = totals().written;
    const pid_t child = fork();
    if (child == 0) {
        record(EventId::link, 3, 4);
        bool good = !is_active() && categories() == 0;
        Options own;
        own.size_bytes = 1 << 20;
        own.small_threads = 1;
        own.spare_threads = 0;
        good = good && init(own).ok && attach_thread("child");
        record(EventId::link, 5, 6);
        good = good && totals().written == 2;
        _exit(good ? 0 : 1);
    }
    int status = -1;
    REQUIRE(waitpid(child, &status, 0) == child);
    CHECK(status == 0);
    CHECK(totals().written == before);
    shutdown();
}

#if !defined(__SANITIZE_THREAD__) && !defined(__SANITIZE_ADDRESS__)
TEST_CASE("recording makes no system call") {
    const pid_t child = fork();
    REQUIRE(child >= 0);
    if (child == 0) {
        Options options;
        options.spare_threads = 0;
        options.touch = true;
        sock_filter rules[] = {
            BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(seccomp_data, nr)),
            BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_exit, 0, 1),
            BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
            BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_KILL_PROCESS),
        };
        const sock_fprog program{4, rules};
        if (!init(options).ok || !attach_thread("main", RingSize::large) ||
            prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) != 0 ||
            prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program) != 0) {
            syscall(SYS_exit, 77);
        }
        // From here on any system call but the exit of the thread kills the process.
        for (uint64_t i = 0; i < 200'000; i++) {
            record_pattern(i);
            record_coarse(EventId::span_end, i);
        }
        define_atom(1, "names are no system call either");
        syscall(SYS_exit, 0);
    }
    int status = -1;
    REQUIRE(waitpid(child, &status, 0) == child);
    if (WIFEXITED(status) && WEXITSTATUS(status) == 77) {
        minivm::test::left_out("this system has no seccomp filters");
        return;
    }
    CHECK(status == 0);
}
#endif

TEST_CASE("a fault handler's report is in the file, and one thread owns the crash") {
    REQUIRE(init({}).ok);
    REQUIRE(begin_crash(SIGSEGV));
    CHECK_FALSE(begin_crash(SIGSEGV));
    append_crash_report("first line\n");
    append_crash_report("second line\n");
    Snapshot snapshot;
    std::string error;
    REQUIRE(snapshot.read_own(error));
    CHECK(snapshot.crash_state() == CrashState::crashing);
    end_crash();
    append_crash_report(std::string(100'000, 'x'));
    REQUIRE(snapshot.read_own(error));
    CHECK(snapshot.crash_state() == CrashState::crashed);
    CHECK(snapshot.crash_signal() == SIGSEGV);
    CHECK(snapshot.crash_thread() == static_cast<uint64_t>(syscall(SYS_gettid)));
    CHECK(snapshot.crash_report().size() == kCrashReportBytes);
    CHECK(snapshot.crash_report().find("first line\nsecond line\nxxx") == 0);
    StringSink sink;
    REQUIRE(export_text(snapshot, {}, sink).ok);
    CHECK(sink.text.find("# crash: second line\n") != std::string::npos);
    shutdown();
}

namespace {

// Of what is recorded now, by event and its first argument.
std::map<EventId, std::set<uint64_t>> recorded() {
    Snapshot snapshot;
    std::string error;
    REQUIRE(snapshot.read_own(error));
    CHECK(check_snapshot(snapshot, true) == "");
    std::map<EventId, std::set<uint64_t>> found;
    for (const RingContents& ring : snapshot.rings()) {
        for (const Record& record : ring.records) {
            found[static_cast<EventId>(record.event())].insert(record.argument(0));
        }
    }
    return found;
}

// What ordinary programs do.
void frequent_records(unsigned rounds) {
    for (unsigned j = 0; j < rounds; j++) {
        record(EventId::trace_call_words, 1, mix(1), mix(2), mix(3));
        record(EventId::send, 1, 2, 3);
        record(EventId::gc_minor_start, 1, 2, 3);
        record(EventId::gc_minor_end, 1, 2, 3, 4, 5);
        record(EventId::spawn, 1, 2, 3);
        record(EventId::link, 1, 2);
        record(EventId::monitor, 1, 2);
        record(EventId::exit, 1, 2, "normal");
    }
}

// A process that fails, with eight frames on its stack.
void failure(uint64_t process) {
    const Batch batch(EventId::uncaught, 20);
    uint64_t words[12] = {};
    ValueWriter reason(words, 12);
    for (int i = 0; i < 12; i++) {
        reason.integer(i);
    }
    record(EventId::uncaught, process, 0, reason.get());
    for (unsigned level = 0; level < 8; level++) {
        record(EventId::uncaught_frame, process, level, 3, 4, 5);
    }
}

}  // namespace

TEST_CASE("a rare record outlives any number of frequent ones") {
    REQUIRE(init({}).ok);
    REQUIRE(attach_thread("main", RingSize::large));
    for (uint64_t i = 0; i < 10'000; i++) {
        record(EventId::code_stage, i, mix(i));
        frequent_records(25);
    }
    CHECK(recorded()[EventId::code_stage].size() == 10'000);
    shutdown();
}

TEST_CASE("the last thousand failures are there, however many schedulers there are and fail") {
    const unsigned schedulers = GENERATE(1u, 2u, 8u, 200u);
    // More threads than processors lose them in the middle of a record, and keep a ring meanwhile: of what fails then
    // some may go (docs/protocols/recorder.md).
    const unsigned failing = GENERATE(1u, 2u);
    CAPTURE(schedulers, failing);
    Options options;
    options.large_threads = schedulers;
    options.size_bytes = std::max<uint64_t>(options.size_bytes, uint64_t{schedulers} << 17);
    REQUIRE(init(options).ok);
    constexpr uint64_t kFailures = 5000;
    std::vector<std::thread> threads;
    std::atomic<uint64_t> next{0};
    for (unsigned t = 0; t < failing; t++) {
        threads.emplace_back([&] {
            attach_thread("scheduler", RingSize::large);
            for (uint64_t i = next++; i < kFailures; i = next++) {
                failure(i);
                frequent_records(minivm::test::rounds(100, 10));
            }
            frequent_records(20'000);
        });
    }
    for (std::thread& thread : threads) {
        thread.join();
    }
    auto found = recorded();
    // The very first ones are there too: what comes faster than its rate does not evict them. Of several threads that
    // fail at once one may have lost its processor with their ring in its hands; then they stand among the others.
    for (const uint64_t first : {uint64_t{0}, kFailures - 1000}) {
        if (first == 0 && failing > 1) {
            continue;
        }
        uint64_t missing = 0;
        for (uint64_t i = first; i < first + (first == 0 ? 300 : 1000); i++) {
            missing +=
                found[EventId::uncaught].contains(i) && found[EventId::uncaught_frame].contains(i)
                    ? 0
                    : 1;
        }
        CHECK(missing == 0);
    }
    shutdown();
}

TEST_CASE("no storm of one rare event evicts another") {
    REQUIRE(init({}).ok);
    REQUIRE(attach_thread("main", RingSize::large));
    record(EventId::code_commit, 7, 8);
    for (uint64_t i = 0; i < 1000; i++) {
        failure(i);
    }
    for (uint64_t i = 0; i < 300'000; i++) {
        record(EventId::code_load_failed, i, "no such file");
        record(EventId::queue_long, i, 8192);
    }
    auto found = recorded();
    CHECK(found[EventId::code_commit].contains(7));
    CHECK(found[EventId::code_load_failed].contains(299'999));
    uint64_t failures = 0;
    for (uint64_t i = 0; i < 300; i++) {
        failures += found[EventId::uncaught].contains(i) ? 1 : 0;
    }
    CHECK(failures == 300);
    Snapshot snapshot;
    std::string error;
    REQUIRE(snapshot.read_own(error));
    CHECK(snapshot.over_rate() > 500'000);
    shutdown();
}

TEST_CASE("no number of other rare events evicts a failure") {
    REQUIRE(init({}).ok);
    REQUIRE(attach_thread("main", RingSize::large));
    constexpr uint64_t kFailures = 1000;
    const auto all_there = [&](uint64_t from) {
        auto found = recorded();
        uint64_t failures = 0;
        for (uint64_t i = from; i < from + kFailures; i++) {
            failures += found[EventId::uncaught].contains(i) ? 1 : 0;
        }
        return failures == kFailures;
    };
    // More events than there are rings for them, as code that is loaded again and again has.
    const auto others = [](uint64_t i) {
        record(EventId::code_prepare, i, 2, 3);
        record(EventId::code_stage, i, 2);
        record(EventId::code_commit, i, 2);
        record(EventId::code_purge, i, 2);
        record(EventId::code_delete, i);
        record(EventId::code_load_failed, i, "no such file");
        record(EventId::long_schedule, i, 2, 3);
        record(EventId::queue_long, i, 8192);
        record(EventId::gc_long, i, 2);
    };
    for (uint64_t i = 0; i < kFailures; i++) {
        failure(i);
    }
    for (uint64_t i = 0; i < 100'000; i++) {
        others(i);
    }
    CHECK(all_there(0));
    // Nor while they come, and whether they fill the ring of the first failures or others.
    for (uint64_t i = kFailures; i < 20 * kFailures; i++) {
        failure(i);
        others(i);
        if (i % 1700 == 0) {
            CHECK(all_there(i + 1 - kFailures));
        }
    }
    shutdown();
}

TEST_CASE("a rare record says which thread wrote it, one of a thread without rings is whole") {
    REQUIRE(init({}).ok);
    const std::string text(150, 'x');
    std::thread([&] {
        attach_thread("first");
        record(EventId::note, "of the first");
    }).join();
    std::thread([&] { record(EventId::note, text); }).join();
    std::thread([&] {
        attach_thread("second");
        record(EventId::note, "of the second");
    }).join();
    Snapshot snapshot;
    std::string error;
    REQUIRE(snapshot.read_own(error));
    StringSink sink;
    REQUIRE(export_text(snapshot, {}, sink).ok);
    CHECK(std::regex_search(sink.text, std::regex("first +- +user note +of the first\n")));
    CHECK(std::regex_search(sink.text, std::regex("second +- +user note +of the second\n")));
    CHECK(std::regex_search(sink.text, std::regex("shared +- +user note +" + text + "\n")));
    shutdown();
}

TEST_CASE("a handler that interrupts a rare record, or several, writes its own") {
    REQUIRE(init({}).ok);
    REQUIRE(attach_thread("main", RingSize::large));
    // However fast the machine is beside the timer: all failures are written, enough signals interrupt
    // them, and the handlers never write more than their event's rate.
    constexpr uint64_t kFailures = 200;
    constexpr uint64_t kLeastHandled = 300;
    constexpr uint64_t kMostHandled = 1000;
    static std::atomic<uint64_t> handled{0};
    handled = 0;
    {
        const ThreadTimer timer(
            SIGRTMIN,
            [](int) {
                if (handled < kMostHandled) {
                    record(EventId::code_stage, handled++, 1);
                }
            },
            50'000);
        REQUIRE(timer.good());
        for (uint64_t i = 0; i < kFailures || handled < kLeastHandled; i++) {
            record(EventId::code_commit, i, 1);
            if (i < kFailures) {
                failure(i);
            }
        }
    }
    CHECK(totals().dropped == 0);
    auto found = recorded();
    CHECK(found[EventId::uncaught].size() == kFailures);
    CHECK(found[EventId::code_stage].size() == handled);
    shutdown();
}
