// The recorder under load: signals inside signals, readers beside writers, more threads than rings.
#include "recorder/export.hpp"
#include "recorder/mapping.hpp"
#include "recorder/recording.hpp"
#include "tests/recorder/pattern.hpp"
#include "tests/recorder/thread_timer.hpp"

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
            // Until the careless reader has been caught, so that the test is known to be hard
            // enough.
            while (!any_wrong && (elapsed() < time || records < reads ||
                                  (torn_naively == 0 && elapsed() < std::chrono::seconds(15)))) {
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
        WARN("this system has no seccomp filters: not checked");
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

TEST_CASE("a rare record outlives any number of frequent ones") {
    REQUIRE(init({}).ok);
    REQUIRE(attach_thread("main", RingSize::large));
    for (uint64_t i = 0; i < 10'000; i++) {
        record(EventId::link, i, mix(i));
        for (int j = 0; j < 50; j++) {
            record(EventId::trace_call_words, 1, mix(1), mix(2), mix(3));
            record(EventId::send, 1, 2, 3);
        }
    }
    Snapshot snapshot;
    std::string error;
    REQUIRE(snapshot.read_own(error));
    uint64_t found = 0;
    for (const RingContents& ring : snapshot.rings()) {
        for (const Record& record : ring.records) {
            found += static_cast<EventId>(record.event()) == EventId::link ? 1 : 0;
        }
    }
    CHECK(found == 10'000);
    CHECK(check_snapshot(snapshot, true) == "");
    shutdown();
}
