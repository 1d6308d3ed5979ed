#include "tools/recording.hpp"

#include <dirent.h>
#include <fcntl.h>
#include <pthread.h>
#include <spdlog/spdlog.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <ctime>
#include <vector>

#include "recorder/export.hpp"
#include "recorder/file_format.hpp"
#include "recorder/reader.hpp"
#include "recorder/recorder.hpp"
#include "tools/output_file.hpp"
#include "tools/private_directory.hpp"
#include "tools/run.hpp"
#include "tools/text_values.hpp"
#include "vm/fault/fault.hpp"
#include "vm/process/process_table.hpp"
#include "vm/sched/scheduler.hpp"
#include "vm/term/atom_table.hpp"

namespace minivm::tools {

namespace {

constexpr const char* kPrefix = "minivm-";
constexpr const char* kSuffix = ".rec";
// Of files beside a recording, behind its whole name: by end_recording() and write_report_now().
constexpr const char* kTextSuffix = ".txt";
constexpr const char* kReportSuffix = ".report.txt";

std::string new_file_name() {
    timespec now{};
    clock_gettime(CLOCK_REALTIME, &now);
    tm parts{};
    gmtime_r(&now.tv_sec, &parts);
    char text[64];
    const size_t n = strftime(text, sizeof text, "%Y%m%d-%H%M%S", &parts);
    std::snprintf(text + n, sizeof text - n, ".%03d-%d", static_cast<int>(now.tv_nsec / 1000000),
                  static_cast<int>(getpid()));
    return kPrefix + std::string(text) + kSuffix;
}

// Whether the recording's program said that it ended in good order, in the first word of the live
// state.
bool ended_well(int fd) {
    recorder::FileHeader header{};
    uint64_t state = 0;
    return pread(fd, &header, sizeof header, 0) == sizeof header &&
           header.magic == recorder::kMagic && header.version == recorder::kFormatVersion &&
           pread(fd, &state, sizeof state, static_cast<off_t>(header.live_offset)) == sizeof state &&
           state == static_cast<uint64_t>(recorder::CrashState::closed);
}

}  // namespace

void remove_old_recordings(const std::string& directory, unsigned keep) {
    DIR* const dir = opendir(directory.c_str());
    if (dir == nullptr) {
        return;
    }
    std::vector<std::string> names;
    while (const dirent* entry = readdir(dir)) {
        const std::string_view name = entry->d_name;
        if (name.starts_with(kPrefix) && name.ends_with(kSuffix)) {
            names.emplace_back(name);
        }
    }
    closedir(dir);
    if (names.size() <= keep) {
        return;
    }
    std::sort(names.begin(), names.end(), std::greater<>());  // newest first: names begin with the time
    unsigned good = 0;
    unsigned bad = 0;
    for (const std::string& name : names) {
        const std::string path = directory + "/" + name;
        const int fd = open(path.c_str(), O_RDONLY | O_NOFOLLOW | O_CLOEXEC | O_NONBLOCK);
        if (fd < 0) {
            continue;
        }
        // Locked: its program is alive.
        if (flock(fd, LOCK_SH | LOCK_NB) == 0 && ++(ended_well(fd) ? good : bad) > keep) {
            for (const char* const suffix : {"", kTextSuffix, kReportSuffix}) {
                unlink((path + suffix).c_str());
            }
        }
        close(fd);
    }
}

// Small rings would keep nothing: each of the first schedulers adds half a megabyte. The others add
// less, since the many schedulers of a large machine would cost much start-up time and memory.
static uint64_t default_size_bytes(unsigned schedulers) {
    constexpr unsigned kFirst = 32;
    return ((uint64_t{std::min(schedulers, kFirst)} + 2) << 19) +
           (uint64_t{schedulers - std::min(schedulers, kFirst)} << 16);
}

// False: an option makes no sense; *error says which.
static bool open_recording(const RunOptions& options, unsigned schedulers, std::string* error) {
    recorder::Options recording;
    recording.subject_format = "<0.%u.%u>";
    recording.large_threads = schedulers;
    recording.path = options.record_file;
    if (!options.record_size.empty() && !parse_size(options.record_size, &recording.size_bytes)) {
        *error = "--record-size " + options.record_size + ": give a size such as 6M or 512K";
        return false;
    }
    if (options.record_size.empty()) {
        recording.size_bytes = std::max(recording.size_bytes, default_size_bytes(schedulers));
    }
    for (const std::string& names : options.record_off) {
        uint32_t mask = 0;
        std::string unknown;
        if (!parse_categories(names, &mask, &unknown)) {
            *error = "--record-off " + unknown + ": there are " + category_names() + ", and all";
            return false;
        }
        recording.categories &= ~mask;
    }
    const bool is_named = !recording.path.empty();
    std::string why;
    const auto start_in_file = [&] {
        recorder::InitResult started = recorder::init(recording);
        why = std::move(started.error);
        return started.ok;
    };
    if (is_named) {
        if (start_in_file()) {
            return true;
        }
    } else {
        // A directory may be there and have no room: /dev/shm of a container has 64 MiB as a rule.
        const std::string name = new_file_name();
        for (const std::string& directory : own_directories()) {
            recording.path = directory + "/" + name;
            if (own_directory(directory, &why) && start_in_file()) {
                return true;
            }
        }
    }
    recording.path.clear();
    const recorder::InitResult started = recorder::init(recording);
    if (!started.ok) {
        spdlog::warn("the flight recorder is off: {}", started.error);
    } else if (is_named) {
        spdlog::warn("no recording file, the flight recorder keeps to memory: {}", why);
    } else {
        spdlog::info("no recording file, the flight recorder keeps to memory: {}", why);
    }
    return true;
}

RecordingStart::RecordingStart(const RunOptions& options, unsigned schedulers)
    : is_open_(opened_.get_future()), worker_([this, &options, schedulers] {
          pthread_setname_np(pthread_self(), "start");
          fault::prepare_thread();
          std::string error;
          opened_.set_value(open_recording(options, schedulers, &error) ? "" : error);
          const std::string path = options.record_file.empty() ? recorder::file_path() : "";
          if (!path.empty()) {
              remove_old_recordings(path.substr(0, path.rfind('/')), kKeptRecordings);
          }
          fault::warm_up();
      }) {}

bool RecordingStart::wait(std::string* error) {
    *error = is_open_.get();
    return error->empty();
}

void end_recording(const RunOptions& options, int status) {
    const std::string path = recorder::file_path();
    const bool wanted = options.dump_on == "exit" || (options.dump_on == "fault" && status == 127);
    if (options.dump_on == "exit" && recorder::is_active()) {
        if (path.empty()) {
            spdlog::warn("--dump-on exit: there is no recording file to write beside");
        } else {
            recorder::Snapshot snapshot;
            OutputFile text(nullptr);
            std::string error;
            if (!snapshot.read_own(error) || !text.open(path + kTextSuffix) ||
                !recorder::export_text(snapshot, {}, text).ok || !text.close()) {
                spdlog::warn("--dump-on exit: {}", error.empty() ? text.error() : error);
            }
        }
    }
    recorder::shutdown();
    if (wanted && !path.empty()) {
        spdlog::info("what happened before: minivm dump --crash {}", path);
    }
}

void write_report_now() {
    const std::string& recording = recorder::file_path();
    const std::string path = recording.empty() ? "" : recording + kReportSuffix;
    OutputFile out(stderr);
    recorder::Snapshot snapshot;
    std::string error;
    if (!snapshot.read_own(error) || !out.open(path)) {
        spdlog::warn("no report: {}", error.empty() ? out.error() : error);
        return;
    }
    const vm::Statistics sum = vm::statistics();
    std::string head = "Processes: " + std::to_string(process_table::count()) +
                       ", atoms: " + std::to_string(atom_table::count()) +
                       ", switches: " + std::to_string(sum.context_switches) +
                       ", reductions: " + std::to_string(sum.reductions) +
                       ", collections: " + std::to_string(sum.collections) + "\n";
    for (int i = 1; i <= vm::scheduler_count(); ++i) {
        head += "Scheduler " + std::to_string(i) + ": " + std::to_string(vm::run_queue_length(i)) +
                " processes wait to run\n";
    }
    out.write(head + "\n");
    export_crash(snapshot, 20, out);
    if (!out.close()) {
        spdlog::warn("no report: {}", out.error());
    } else if (!path.empty()) {
        spdlog::info("report: {}", path);
    }
}

}  // namespace minivm::tools
