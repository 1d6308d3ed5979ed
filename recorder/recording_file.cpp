// The file of a recording: its layout, its place among older ones, its memory.
#include "recorder/recording_state.hpp"

#include <fcntl.h>
#include <link.h>
#include <sys/file.h>
#include <sys/mman.h>
#include <sys/stat.h>

#include <algorithm>
#include <bit>
#include <cerrno>
#include <cstdio>
#include <cstring>

namespace minivm::recorder {

uint32_t checksum32(const void* bytes, size_t count, uint32_t seed) {
    const auto* p = static_cast<const unsigned char*>(bytes);
    uint32_t hash = 2166136261u ^ seed;
    for (size_t i = 0; i < count; i++) {
        hash = (hash ^ p[i]) * 16777619u;
    }
    return hash;
}

uint64_t checksum64(const void* bytes, size_t count) {
    // Eight bytes at a step: the header is 16 KiB and start-up counts.
    const auto* p = static_cast<const unsigned char*>(bytes);
    uint64_t hash = 0xcbf29ce484222325u;
    for (size_t i = 0; i + 8 <= count; i += 8) {
        uint64_t word;
        std::memcpy(&word, p + i, 8);
        hash = (hash ^ word) * 0x9e3779b97f4a7c15u;
        hash ^= hash >> 29;
    }
    return hash;
}

namespace detail {
namespace {

uint64_t floor_power_of_two(uint64_t value) {
    return value == 0 ? 0 : std::bit_floor(value);
}

// A callback of dl_iterate_phdr().
int copy_build_id(dl_phdr_info* info, size_t, void* data) {
    auto* out = static_cast<char*>(data);
    for (int i = 0; i < info->dlpi_phnum; i++) {
        const ElfW(Phdr)& segment = info->dlpi_phdr[i];
        if (segment.p_type != PT_NOTE) {
            continue;
        }
        const auto* at = reinterpret_cast<const unsigned char*>(info->dlpi_addr + segment.p_vaddr);
        const auto* const end = at + segment.p_memsz;
        while (at + sizeof(ElfW(Nhdr)) <= end) {
            ElfW(Nhdr) note;
            std::memcpy(&note, at, sizeof note);
            const auto* const name = at + sizeof note;
            const auto* const id = name + round_up(note.n_namesz, 4);
            at = id + round_up(note.n_descsz, 4);
            if (note.n_type == NT_GNU_BUILD_ID && note.n_namesz == 4 && at <= end &&
                std::memcmp(name, "GNU", 4) == 0) {
                for (unsigned b = 0; b < note.n_descsz && 2 * b + 2 < sizeof FileHeader::build_id;
                     b++) {
                    std::snprintf(out + 2 * b, 3, "%02x", id[b]);
                }
                return 1;
            }
        }
    }
    return 1;  // the first object is the program itself
}

// Moves PATH out of the way. Only a regular file of ours is touched.
std::string rotate_old_files(const std::string& path, unsigned keep) {
    struct stat info {};
    if (lstat(path.c_str(), &info) != 0) {
        return errno == ENOENT ? std::string() : path + ": " + std::strerror(errno);
    }
    if (!S_ISREG(info.st_mode)) {
        return path + ": exists and is not a regular file; it is left alone";
    }
    if (info.st_uid != geteuid()) {
        return path + ": exists and belongs to another user; it is left alone";
    }
    if (keep == 0) {
        return unlink(path.c_str()) == 0 ? std::string() : path + ": " + std::strerror(errno);
    }
    for (unsigned i = keep; i > 1; i--) {
        const std::string from = path + "." + std::to_string(i - 1);
        // A gap in the numbers is no error.
        (void)rename(from.c_str(), (path + "." + std::to_string(i)).c_str());
    }
    return rename(path.c_str(), (path + ".1").c_str()) == 0 ? std::string()
                                                            : path + ": " + std::strerror(errno);
}

}  // namespace

bool lay_out(FileHeader& header, const Options& options, uint64_t& least_bytes) {
    const uint64_t page = header.page_bytes;
    const unsigned first_groups = options.large_threads + options.small_threads;
    const unsigned first_rings = ready_rings(first_groups);
    // The pool may grow by so many threads later, beyond the size asked for.
    const unsigned spare = std::min(options.spare_threads, kMaxGroups - first_groups);
    header.large_groups = options.large_threads;
    header.first_groups = first_groups;
    header.group_count = first_groups + spare;
    header.ring_count = ready_rings(header.group_count);
    header.owner_entries =
        std::max(kLeastOwnerEntries, std::bit_ceil(header.group_count + header.group_count / 2));
    header.live_offset = round_up(2 * kHeaderBytes, page);
    header.crash_offset = round_up(header.live_offset + live_bytes(header.owner_entries), page);
    header.controls_offset = round_up(header.crash_offset + kCrashReportBytes, page);
    header.blocks_offset =
        round_up(header.controls_offset + header.ring_count * sizeof(Control), page);
    const uint64_t block_bytes = kSlotsPerBlock * kSlotBytes;
    const uint64_t least_ring = page < block_bytes ? block_bytes : page;
    const uint64_t spare_bytes = uint64_t{spare} * kThreadRings * least_ring;
    const uint64_t blocks = round_up(
        (options.size_bytes + spare_bytes) / block_bytes * sizeof(uint64_t) + sizeof(uint64_t),
        page);
    header.dictionary_offset = header.blocks_offset + blocks;
    header.dictionary_bytes = round_up(options.size_bytes / 12, page);
    header.rings_offset = header.dictionary_offset + header.dictionary_bytes;

    least_bytes = header.rings_offset + first_rings * least_ring;
    if (options.size_bytes < least_bytes) {
        // A larger size makes the dictionary grow with it.
        least_bytes = round_up(least_bytes * 12 / 11 + page, page);
        return false;
    }
    // The largest size of a ring that leaves room for that many, or the least size.
    const auto share = [least_ring](uint64_t room, uint64_t rings) {
        return std::max(least_ring, floor_power_of_two(room / std::max<uint64_t>(rings, 1)));
    };
    const uint64_t large = options.large_threads;
    uint64_t room = options.size_bytes - header.rings_offset;
    const uint64_t shared = share(room / 64, 1);
    // All threads share the rings for rare records: what these keep does not depend on the number of
    // threads. 256 KiB each at the default size.
    constexpr uint64_t kEnoughForRare = uint64_t{kRareRings} << 18;
    const uint64_t rare =
        share(std::min(room / 2, std::max(kEnoughForRare, room * 2 / (large + 3))), kRareRings);
    const uint64_t small =
        large == 0 ? share(room - std::min(room, shared + rare * kRareRings),
                           uint64_t{options.small_threads} * kThreadRings)
                   : std::min(share(room / 6, uint64_t{options.small_threads} * kThreadRings),
                              share(room, uint64_t{first_groups} * kThreadRings));
    const uint64_t used = shared + rare * kRareRings + small * options.small_threads * kThreadRings;
    room -= std::min(room, used);
    const uint64_t each = large == 0 ? 0 : room / large;
    const uint64_t frequent = share(each * 2, 5);
    const uint64_t lifecycle = share(each - std::min(each, 2 * frequent), 1);

    const auto slots = [](uint64_t bytes) { return static_cast<uint32_t>(bytes / kSlotBytes); };
    header.sizes.large[static_cast<unsigned>(RingClass::calls)] = slots(frequent);
    header.sizes.large[static_cast<unsigned>(RingClass::scheduling)] = slots(frequent);
    header.sizes.large[static_cast<unsigned>(RingClass::lifecycle)] = slots(lifecycle);
    header.sizes.small = slots(small);
    header.sizes.spare = slots(least_ring);
    header.sizes.shared = slots(shared);
    header.sizes.rare = slots(rare);
    // If size_bytes is hardly more than the least, the sum of these shares may exceed it.
    while (ready_bytes(header, first_groups) > options.size_bytes) {
        RingSizes& s = header.sizes;
        *std::max({&s.large[0], &s.large[1], &s.large[2], &s.small, &s.shared, &s.rare},
                  [](const uint32_t* a, const uint32_t* b) { return *a < *b; }) /= 2;
    }
    header.file_bytes = ring_entry(header, header.ring_count).offset;
    return true;
}

void set_build_id(FileHeader& header) {
    dl_iterate_phdr(copy_build_id, header.build_id);
}

std::string open_memory(Recording& recording, const Options& options) {
    if (options.path.empty()) {
        recording.fd = memfd_create("recorder", MFD_CLOEXEC);
        if (recording.fd < 0) {
            return std::string("recorder memory: ") + std::strerror(errno);
        }
    } else {
        const std::string error = rotate_old_files(options.path, options.keep_old);
        if (!error.empty()) {
            return error;
        }
        recording.fd =
            open(options.path.c_str(), O_RDWR | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0600);
        if (recording.fd < 0) {
            return options.path + ": cannot be created: " + std::strerror(errno);
        }
        recording.path = options.path;
    }
    // Tells readers, and what clears old files away, that we are alive; the system lets go of it
    // whatever ends us.
    (void)flock(recording.fd, LOCK_EX | LOCK_NB);
    const auto bytes = static_cast<off_t>(recording.header.file_bytes);
    int error = ftruncate(recording.fd, bytes) == 0 ? 0 : errno;
    if (error == 0 && !options.path.empty()) {
        // grow() allocates the space of the groups that come later.
        const uint64_t end = ready_bytes(recording.header, recording.header.first_groups);
        error = posix_fallocate(recording.fd, 0, static_cast<off_t>(end));
    }
    if (error != 0) {
        return (options.path.empty() ? std::string("recorder memory") : options.path) +
               ": no room for " + std::to_string(bytes) + " bytes: " + std::strerror(error);
    }
    return {};
}

}  // namespace detail
}  // namespace minivm::recorder
