#include "jit/perf.hpp"

#include "jit/code_info.hpp"
#include "jit/elf.hpp"

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <cerrno>
#include <cstdio>
#include <cstring>
#include <ctime>
#include <type_traits>

namespace minivm {

namespace {

// The dump's format: all numbers in the byte order of the machine.
constexpr uint32_t kDumpMagic = 0x4a695444;  // "JiTD", read as a number
constexpr uint32_t kDumpVersion = 1;

struct DumpHeader {
    uint32_t magic;
    uint32_t version;
    uint32_t header_bytes;
    uint32_t elf_machine;
    uint32_t padding;
    uint32_t pid;
    uint64_t time_ns;
    uint64_t flags;
};
static_assert(sizeof(DumpHeader) == 40);

enum RecordKind : uint32_t { kLoad = 0, kDebugInfo = 2, kClose = 3 };

struct RecordPrefix {
    uint32_t kind;
    uint32_t record_bytes;  // with this prefix
    uint64_t time_ns;
};
static_assert(sizeof(RecordPrefix) == 16);

// Followed by the name, with a zero, and the code.
struct LoadBody {
    uint32_t pid;
    uint32_t tid;
    uint64_t virtual_address;
    uint64_t code_address;
    uint64_t code_bytes;
    uint64_t code_index;  // a number of its own for each load
};
static_assert(sizeof(LoadBody) == 40);

// Followed by the entries.
struct DebugBody {
    uint64_t code_address;
    uint64_t entries;
};

// Followed by the file's name, with a zero.
struct DebugEntry {
    uint64_t address;
    uint32_t line;
    uint32_t discriminator;
};

uint64_t now_ns() {
    timespec time{};
    clock_gettime(CLOCK_MONOTONIC, &time);
    return static_cast<uint64_t>(time.tv_sec) * 1'000'000'000 + static_cast<uint64_t>(time.tv_nsec);
}

uint32_t thread_id() {
    return static_cast<uint32_t>(syscall(SYS_gettid));
}

template <typename T>
void append(std::string& to, const T& value) {
    static_assert(std::is_trivially_copyable_v<T>);
    to.append(reinterpret_cast<const char*>(&value), sizeof(value));
}

void append_record(std::string& to, RecordKind kind, const std::string& body) {
    append(to,
           RecordPrefix{kind, static_cast<uint32_t>(sizeof(RecordPrefix) + body.size()), now_ns()});
    to += body;
}

std::string full_path(const NativeModule& module, uint32_t file) {
    const std::string& name = module.files[file];
    return module.directory.empty() || name.rfind('/', 0) == 0 ? name
                                                               : module.directory + "/" + name;
}

}  // namespace

std::string Perf::File::create(const std::string& directory, const std::string& name) {
    const std::string wanted = directory + "/" + name;
    // An earlier process with our pid, perhaps another user's, may have left something of that name: a
    // symbolic link is not followed.
    fd = ::open(wanted.c_str(), O_RDWR | O_CREAT | O_TRUNC | O_CLOEXEC | O_NOFOLLOW, 0644);
    if (fd < 0) {
        return wanted + ": " + std::strerror(errno);
    }
    path = wanted;
    return {};
}

void Perf::File::write(const std::string& bytes) {
    size_t done = 0;
    while (fd >= 0 && done < bytes.size()) {
        const ssize_t written = ::write(fd, bytes.data() + done, bytes.size() - done);
        if (written < 0 && errno == EINTR) {
            continue;
        }
        if (written <= 0) {
            std::fprintf(stderr, "%s: %s; perf gets no more names\n", path.c_str(),
                         std::strerror(errno));
            ::close(fd);
            fd = -1;
            return;
        }
        done += static_cast<size_t>(written);
    }
}

Result<std::unique_ptr<Perf>, std::string> Perf::open(const PerfOptions& options) {
    std::unique_ptr<Perf> perf(new Perf);
    const std::string pid = std::to_string(getpid());
    if (options.map) {
        if (std::string error = perf->map_.create(options.directory, "perf-" + pid + ".map");
            !error.empty()) {
            return Failure(std::move(error));
        }
    }
    if (options.dump) {
        std::string error = perf->dump_.create(options.directory, "jit-" + pid + ".dump");
        if (error.empty()) {
            error = perf->start_dump();
        }
        if (!error.empty()) {
            return Failure(std::move(error));
        }
    }
    return perf;
}

std::string Perf::start_dump() {
    marker_bytes_ = static_cast<size_t>(sysconf(_SC_PAGESIZE));
    std::string header;
    append(header,
           DumpHeader{kDumpMagic, kDumpVersion, sizeof(DumpHeader), elf_machine(kHostMachine), 0,
                      static_cast<uint32_t>(getpid()), now_ns(), 0});
    dump_.write(header);
    marker_ = mmap(nullptr, marker_bytes_, PROT_READ | PROT_EXEC, MAP_PRIVATE, dump_.fd, 0);
    if (marker_ == MAP_FAILED) {
        marker_ = nullptr;
        // A file system that is mounted noexec cannot hold it.
        return dump_.path + ": mapping it as executable: " + std::strerror(errno);
    }
    return {};
}

void Perf::finish() {
    const std::lock_guard lock(mutex_);
    if (dump_.fd >= 0) {
        std::string record;
        append_record(record, kClose, {});
        dump_.write(record);
    }
    if (marker_ != nullptr) {
        munmap(marker_, marker_bytes_);
        marker_ = nullptr;
    }
    for (File* file : {&map_, &dump_}) {
        if (file->fd >= 0) {
            ::close(file->fd);
            file->fd = -1;
        }
    }
}

void Perf::add(const NativeModule& module) {
    const std::lock_guard lock(mutex_);
    std::string map;
    std::string dump;
    for (const NativeRange& range : module.ranges) {
        if (map_.fd >= 0) {
            char numbers[48];
            std::snprintf(numbers, sizeof(numbers), "%zx %zx ", static_cast<size_t>(range.begin),
                          static_cast<size_t>(range.end - range.begin));
            map += numbers + range.name + "\n";
        }
        if (dump_.fd >= 0) {
            dump += load_records(module, range);
        }
    }
    // One write for a module: perf may be reading.
    map_.write(map);
    dump_.write(dump);
}

std::string Perf::load_records(const NativeModule& module, const NativeRange& range) {
    std::string records;
    std::string entries;
    uint64_t count = 0;
    for (const NativeLine& line : range.lines) {
        if (line.line != 0) {
            append(entries, DebugEntry{range.begin + line.offset, line.line, 0});
            entries += full_path(module, line.file);
            entries += '\0';
            count++;
        }
    }
    if (count != 0) {
        // Lines come before the code that they belong to.
        std::string body;
        append(body, DebugBody{range.begin, count});
        append_record(records, kDebugInfo, body + entries);
    }
    const uint64_t bytes = range.end - range.begin;
    std::string body;
    append(body, LoadBody{static_cast<uint32_t>(getpid()), thread_id(), range.begin, range.begin,
                          bytes, ++code_index_});
    body += range.name;
    body += '\0';
    body.append(reinterpret_cast<const char*>(range.begin), bytes);
    append_record(records, kLoad, body);
    return records;
}

}  // namespace minivm
