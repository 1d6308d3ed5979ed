// The file of a process that was killed tells what it did: nothing torn, nothing invented, and what
// was unfinished is recognised.
#include "tests/recorder/pattern.hpp"

#include <catch2/catch.hpp>

#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/time.h>
#include <sys/wait.h>
#include <unistd.h>

#include <atomic>
#include <csignal>
#include <cstdlib>
#include <ctime>
#include <filesystem>
#include <fstream>
#include <string>

using namespace minivm::recorder;
using recorder_test::check_snapshot;
using recorder_test::record_pattern;

namespace {

constexpr uint64_t kMaxOpen = 3;  // the thread's own write and the handlers of two signals

volatile uint64_t g_handled = 0;

void on_signal(int) {
    g_handled = g_handled + 1;
    record_pattern(1'000'000'000 + g_handled);
}

class Directory {
public:
    Directory() {
        std::string name = std::filesystem::temp_directory_path() / "recorder_kill_XXXXXX";
        REQUIRE(mkdtemp(name.data()) != nullptr);
        path = name;
    }
    ~Directory() { std::system(("rm -rf '" + path + "'").c_str()); }
    std::string path;
};

void pause_ns(long ns) {
    const timespec time{0, ns};
    nanosleep(&time, nullptr);
}

// Progress of the child, in memory that outlives it.
struct Shared {
    std::atomic<uint64_t> recorded;
};

[[noreturn]] void run_child(const std::string& path, Shared* shared, uint64_t seed) {
    Options options;
    options.spare_threads = 0;
    options.path = path;
    options.size_bytes = 400 * 1024;
    options.large_threads = 1;
    options.small_threads = 0;
    options.keep_old = 0;
    if (!init(options).ok || !attach_thread("victim", RingSize::large)) {
        _exit(1);
    }
    for (const int signal : {SIGALRM, SIGVTALRM}) {
        struct sigaction action {};
        action.sa_handler = on_signal;
        action.sa_flags = SA_RESTART;
        sigaction(signal, &action, nullptr);
    }
    const itimerval often{{0, 53}, {0, 53}};
    const itimerval seldom{{0, 1900}, {0, 1900}};
    setitimer(ITIMER_REAL, &often, nullptr);
    setitimer(ITIMER_VIRTUAL, &seldom, nullptr);
    for (uint64_t i = 0;; i++) {
        record_pattern(seed + i);
        if (i % 16 == 0) {
            define_atom(i, "an atom that makes the dictionary grow");
        }
        if (i % 50 == 49) {
            // Rings change hands, here within one thread.
            detach_thread();
            attach_thread("victim", RingSize::large);
        }
        shared->recorded.store(i + 1, std::memory_order_release);  // release: not before the record
    }
}

void kill_many(unsigned kills) {
    const Directory directory;
    const std::string path = directory.path + "/file";
    auto* shared = static_cast<Shared*>(
        mmap(nullptr, sizeof(Shared), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0));
    REQUIRE(shared != MAP_FAILED);
    uint64_t records = 0;
    uint64_t unfinished = 0;
    uint64_t lost_slots = 0;
    uint64_t no_recording = 0;
    for (unsigned k = 0; k < kills; k++) {
        shared->recorded = 0;
        unlink(path.c_str());
        const pid_t child = fork();
        REQUIRE(child >= 0);
        if (child == 0) {
            run_child(path, shared, k * 1'000'000ull);
        }
        // A quarter dies while the file is made, the others while they record.
        if (k % 4 != 0) {
            while (shared->recorded.load(std::memory_order_acquire) <
                   200) {  // acquire: see run_child()
                pause_ns(20'000);
            }
        }
        pause_ns((k * 79'199) % (k % 4 == 0 ? 5'000'000 : 300'000));
        kill(child, SIGKILL);
        int status = 0;
        REQUIRE(waitpid(child, &status, 0) == child);
        REQUIRE(WIFSIGNALED(status));
        const uint64_t recorded = shared->recorded;

        Snapshot snapshot;
        std::string error;
        if (!snapshot.read_file(path, error)) {
            // Only a child that never came to record may leave no recording, and the error says so.
            INFO(error);
            REQUIRE(recorded == 0);
            const bool clear = error.find("No such file") != std::string::npos ||
                               error.find("no header") != std::string::npos ||
                               error.find("empty") != std::string::npos ||
                               error.find("damaged") != std::string::npos;
            REQUIRE(clear);
            no_recording++;
            continue;
        }
        REQUIRE(check_snapshot(snapshot, true) == "");
        REQUIRE(snapshot.crash_state() == CrashState::running);
        const Ledger sum = snapshot.totals();
        // The last record that was finished for certain is there.
        REQUIRE(sum.begun_records + sum.dropped_records() >= recorded);
        for (const RingContents& ring : snapshot.rings()) {
            REQUIRE_FALSE(ring.control_was_bad);
            REQUIRE(ring.ledger.in_progress_records <= kMaxOpen);
            REQUIRE(ring.ledger.lost_slots <= ring.ledger.abandoned_slots + kMaxOpen * kMaxSlots);
        }
        records += sum.decoded_records;
        unfinished += sum.in_progress_records;
        lost_slots += sum.lost_slots;
    }
    munmap(shared, sizeof(Shared));
    REQUIRE(records > kills * 50);
    if (kills >= 1000) {
        WARN(kills << " kills: " << records << " records, " << unfinished << " in progress, "
                   << lost_slots << " slots lost, " << no_recording
                   << " before the recording began");
    }
}

}  // namespace

TEST_CASE("SIGKILL at any moment leaves a file without torn records") {
    kill_many(60);
}

// Run by hand: minivm_tests "[kills]", with the number in MINIVM_KILLS; ten thousand take a minute
// or two.
TEST_CASE("SIGKILL ten thousand times", "[.][kills]") {
    const char* number = std::getenv("MINIVM_KILLS");
    kill_many(number == nullptr ? 10'000u : static_cast<unsigned>(std::atoi(number)));
}

TEST_CASE("the file of a live process is read while it is written") {
    const Directory directory;
    const std::string path = directory.path + "/file";
    auto* shared = static_cast<Shared*>(
        mmap(nullptr, sizeof(Shared), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0));
    REQUIRE(shared != MAP_FAILED);
    const pid_t child = fork();
    REQUIRE(child >= 0);
    if (child == 0) {
        run_child(path, shared, 0);
    }
    while (shared->recorded.load(std::memory_order_acquire) < 200) {  // acquire: see run_child()
        pause_ns(20'000);
    }
    std::string wrong;
    uint64_t last = 0;
    for (int i = 0; (i < 30 || last <= 1000) && wrong.empty(); i++) {
        const uint64_t recorded =
            shared->recorded.load(std::memory_order_acquire);  // acquire: as above
        Snapshot snapshot;
        std::string error;
        wrong = snapshot.read_file(path, error) ? check_snapshot(snapshot, false) : error;
        const Ledger sum = snapshot.totals();
        // What was recorded before the snapshot is in it or counted.
        if (wrong.empty() && sum.begun_records + sum.dropped_records() < recorded) {
            wrong = "records are missing from the account";
        }
        if (wrong.empty() && sum.begun_records < last) {
            wrong = "the account goes back";
        }
        last = sum.begun_records;
        pause_ns(1'000'000);
    }
    kill(child, SIGKILL);
    int status = 0;
    REQUIRE(waitpid(child, &status, 0) == child);
    munmap(shared, sizeof(Shared));
    CHECK(wrong == "");
    CHECK(last > 1000);
}

TEST_CASE("no room for the file is an error, and leaves no file behind") {
    const Directory directory;
    const std::string path = directory.path + "/file";
    const pid_t child = fork();
    REQUIRE(child >= 0);
    if (child == 0) {
        std::signal(SIGXFSZ, SIG_IGN);
        const rlimit limit{1 << 20, 1 << 20};
        Options options;
        options.spare_threads = 0;
        options.path = path;
        const bool limited = setrlimit(RLIMIT_FSIZE, &limit) == 0;
        const InitResult result = init(options);
        const bool good = limited && !result.ok &&
                          result.error.find(path + ": no room for ") == 0 &&
                          access(path.c_str(), F_OK) != 0 && !is_active();
        // The program goes on without a file.
        options.path.clear();
        options.size_bytes = 1 << 19;
        options.small_threads = 1;
        _exit(good && init(options).ok ? 0 : 1);
    }
    int status = 0;
    REQUIRE(waitpid(child, &status, 0) == child);
    CHECK(status == 0);
}

TEST_CASE("files that cannot be had or read give errors that say why") {
    const Directory directory;
    Options options;
    options.spare_threads = 0;
    const auto error_of = [&](const std::string& path) {
        options.path = path;
        const InitResult result = init(options);
        if (result.ok) {
            shutdown();
            return std::string();
        }
        REQUIRE_FALSE(is_active());
        return result.error;
    };
    const auto read_error = [&](const std::string& path) {
        Snapshot snapshot;
        std::string error;
        REQUIRE_FALSE(snapshot.read_file(path, error));
        REQUIRE(error.find(path) == 0);
        return error;
    };
    const auto contains = [](const std::string& text, const char* part) {
        INFO(text);
        CHECK(text.find(part) != std::string::npos);
    };
    contains(error_of(directory.path + "/missing/file"), "No such file or directory");
    const std::string link = directory.path + "/link";
    REQUIRE(symlink("somewhere_else", link.c_str()) == 0);
    contains(error_of(link), "not a regular file");
    contains(error_of(directory.path), "not a regular file");

    contains(read_error(directory.path + "/none"), "No such file");
    contains(read_error(directory.path), "not a regular file");
    const auto write_file = [&](const char* name, const std::string& bytes) {
        const std::string path = directory.path + "/" + name;
        std::ofstream(path, std::ios::binary) << bytes;
        return path;
    };
    contains(read_error(write_file("empty", "")), "empty");
    contains(read_error(write_file("text", std::string(100'000, 'x'))), "not a recorder file");
    contains(read_error(write_file("zeros", std::string(100'000, '\0'))), "no header");
    contains(read_error(write_file("short", "MINIVMFR")), "too short");
    std::string other = "MINIVMFR";
    other += std::string("\x63\0\0\0\4\3\2\1", 8);
    other.resize(100'000);
    contains(read_error(write_file("version", other)),
             "format version 99, written by a newer program; this one reads version 4");
    const std::string swapped = "RFMVINIM" + std::string(100'000, '\1');
    contains(read_error(write_file("order", swapped)), "other byte order");
}

TEST_CASE("a new recording keeps the files of the last ones, private to their user") {
    const Directory directory;
    Options options;
    options.spare_threads = 0;
    options.path = directory.path + "/file";
    options.keep_old = 2;
    options.size_bytes = 1 << 20;
    options.small_threads = 1;
    for (uint64_t i = 0; i < 4; i++) {
        REQUIRE(init(options).ok);
        REQUIRE(file_path() == options.path);
        attach_thread("main");
        record(EventId::link, i, i);
        shutdown();
    }
    const auto number_in = [](const std::string& path) {
        Snapshot snapshot;
        std::string error;
        REQUIRE(snapshot.read_file(path, error));
        REQUIRE(snapshot.crash_state() == CrashState::closed);
        for (const RingContents& ring : snapshot.rings()) {
            for (const Record& record : ring.records) {
                if (static_cast<EventId>(record.event()) == EventId::link) {
                    return record.argument(0);
                }
            }
        }
        return UINT64_MAX;
    };
    CHECK(number_in(options.path) == 3);
    CHECK(number_in(options.path + ".1") == 2);
    CHECK(number_in(options.path + ".2") == 1);
    CHECK(access((options.path + ".3").c_str(), F_OK) != 0);
    struct stat info {};
    REQUIRE(stat(options.path.c_str(), &info) == 0);
    CHECK((info.st_mode & 0777) == 0600);
}
