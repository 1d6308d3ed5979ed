#include "jit/code_memory.hpp"

#include "vm/util/assert.hpp"

#include <fcntl.h>
#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <cerrno>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <utility>

namespace minivm {

namespace {

constexpr size_t kMiB = size_t{1} << 20;
constexpr uintptr_t k2GiB = uintptr_t{1} << 31;

#if defined(__x86_64__)
constexpr size_t kRangeBytes = 496 * kMiB;
constexpr int kTrapByte = 0xcc;  // int3
#elif defined(__aarch64__)
// Twice what B and BL reach (128 MiB), less the size that the first block may have: its end must be
// in reach from the lowest address too.
constexpr size_t kRangeBytes = 255 * kMiB;
constexpr int kTrapByte = 0;  // udf #0
#else
#error "code memory: which instruction traps on this machine?"
#endif

// The highest range ends here: below 2 GiB, and below the shadow memory of AddressSanitizer, which
// begins at 0x7fff8000. The heap (brk) starts within 1 GiB behind the program and grows upwards, so
// the highest free range leaves it the most room.
constexpr uintptr_t kHighestEnd = 0x7f000000;
constexpr uintptr_t kLowestBegin = 0x10000000;
constexpr uintptr_t kPlacementStep = 16 * kMiB;

[[noreturn]] __attribute__((cold)) void give_up(const std::string& what) {
    std::fprintf(stderr, "code memory: %s\n", what.c_str());
    std::abort();
}

std::string refused(const char* call, size_t bytes) {
    const int error = errno;
    return std::string(call) + " of " + std::to_string(bytes) + " bytes: " + std::strerror(error);
}

int make_file() {
    // The file is never started as a program; newer kernels want to be told, older ones refuse a
    // flag that they do not know.
    constexpr unsigned kNoExecSeal = 0x8;
    const int fd = memfd_create("minivm-code", MFD_CLOEXEC | kNoExecSeal);
    return fd >= 0 ? fd : memfd_create("minivm-code", MFD_CLOEXEC);
}

// The smallest function that answers a number.
void write_probe(std::byte* to, unsigned number) {
#if defined(__x86_64__)
    const std::array<uint8_t, 8> code = {0xb8, static_cast<uint8_t>(number), 0, 0, 0, 0xc3};
#else
    const std::array<uint32_t, 2> code = {0x52800000u | number << 5, 0xd65f03c0u};
#endif
    std::memcpy(to, code.data(), sizeof(code));
}

// Emitted code has no type information in front of it for a sanitizer to look at.
__attribute__((no_sanitize("undefined"))) unsigned run_probe(const std::byte* address) {
    return reinterpret_cast<unsigned (*)()>(reinterpret_cast<uintptr_t>(address))();
}

}  // namespace

Result<std::unique_ptr<CodeMemory>, std::string> CodeMemory::create(const Options& options) {
    std::unique_ptr<CodeMemory> memory(new CodeMemory);
    if (std::string error = memory->reserve(options); !error.empty()) {
        return Failure(std::move(error));
    }
    memory->remaps_after_write_ = memory->runs_stale_code();
    return memory;
}

std::string CodeMemory::reserve(const Options& options) {
    page_bytes_ = static_cast<size_t>(sysconf(_SC_PAGESIZE));
    const size_t bytes = page_up(options.range_bytes != 0 ? options.range_bytes : kRangeBytes);
    std::string no_file;
    if (!options.nameless) {
        fd_ = make_file();
        if (fd_ < 0) {
            return std::string("memfd_create: ") + std::strerror(errno);
        }
        // Sparse: a page of it costs nothing before it is written or executed. Where no file may be that large
        // (ulimit -f) it does without one, if the kernel can.
        if (ftruncate(fd_, static_cast<off_t>(bytes)) != 0) {
            no_file = refused("ftruncate", bytes);
            ::close(fd_);
            fd_ = -1;
        }
    }
    const auto map_at = [&](uintptr_t address, int fixed) {
        return mmap(reinterpret_cast<void*>(address), bytes, PROT_NONE,
                    MAP_SHARED | MAP_NORESERVE | (fd_ < 0 ? MAP_ANONYMOUS : 0) | fixed, fd_, 0);
    };
    void* view = MAP_FAILED;
    if (options.below_2_gib && bytes <= kHighestEnd - kLowestBegin) {
        for (uintptr_t begin = kHighestEnd - bytes; begin >= kLowestBegin;
             begin -= kPlacementStep) {
            void* const wanted = reinterpret_cast<void*>(begin);
            view = map_at(begin, MAP_FIXED_NOREPLACE);
            if (view == wanted) {
                break;
            }
            // Kernels before 4.17 and some emulators take the address as a hint only.
            if (view != MAP_FAILED) {
                munmap(view, bytes);
                view = MAP_FAILED;
            }
        }
    }
    if (view == MAP_FAILED) {
        view = map_at(0, 0);
    }
    if (view == MAP_FAILED) {
        return refused("reserving", bytes);
    }
    base_ = static_cast<std::byte*>(view);
    range_bytes_ = bytes;
    if (nameless() && !duplicates()) {
        munmap(base_, bytes);
        base_ = nullptr;
        if (!options.nameless) {
            return no_file;
        }
        Options with_file = options;
        with_file.nameless = false;
        return reserve(with_file);
    }
    free_.emplace(0, bytes);
    if (options.keeps_view) {
        keep_view();
    }
    return {};
}

// Where addresses are limited (ulimit -v) no view is kept, and each write maps the pages that it needs.
void CodeMemory::keep_view() {
    void* const view = map_view(0, range_bytes_, 0);
    if (view == MAP_FAILED) {
        return;
    }
    view_ = static_cast<std::byte*>(view);
    // Code is in core files by its executable addresses, and no child of a fork writes any.
    static_cast<void>(madvise(view, range_bytes_, MADV_DONTDUMP));
    static_cast<void>(madvise(view, range_bytes_, MADV_DONTFORK));
}

bool CodeMemory::duplicates() {
    void* const view = mremap(base_, 0, page_bytes_, MREMAP_MAYMOVE);
    if (view == MAP_FAILED) {
        return false;
    }
    munmap(view, page_bytes_);
    return true;
}

void* CodeMemory::map_view(size_t begin, size_t end, int populate) {
    const size_t bytes = end - begin;
    if (fd_ >= 0) {
        return mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_SHARED | populate, fd_,
                    static_cast<off_t>(begin));
    }
    // An old size of 0 duplicates a shared mapping, with its protection. The view is executable or
    // inaccessible at first, and then writable.
    void* const view = mremap(base_ + begin, 0, bytes, MREMAP_MAYMOVE);
    if (view != MAP_FAILED && mprotect(view, bytes, PROT_READ | PROT_WRITE) != 0) {
        munmap(view, bytes);
        return MAP_FAILED;
    }
    return view;
}

std::byte* CodeMemory::begin_write(size_t begin, size_t end) {
    if (view_ != nullptr) {
        return view_ + begin;
    }
    // All of it is about to be written: mapping its pages now is cheaper than a fault for each.
    void* const view = map_view(begin, end, MAP_POPULATE);
    if (view == MAP_FAILED) {
        give_up(refused("a writable view", end - begin));
    }
    return static_cast<std::byte*>(view);
}

void CodeMemory::end_write(std::byte* view, size_t bytes) {
    if (view_ == nullptr && munmap(view, bytes) != 0) {
        give_up(refused("unmapping a writable view", bytes));
    }
}

CodeMemory::~CodeMemory() {
    if (base_ != nullptr) {
        munmap(base_, range_bytes_);
    }
    if (view_ != nullptr) {
        munmap(view_, range_bytes_);
    }
    if (fd_ >= 0) {
        ::close(fd_);
    }
}

bool CodeMemory::reaches_program() const {
    const auto program = reinterpret_cast<uintptr_t>(&make_file);
    return reinterpret_cast<uintptr_t>(end()) <= k2GiB && program < k2GiB;
}

// An emulator that translates code notices writes through the mapping it translated from, and not
// those through another. To test for that is safer than to recognise the emulator.
bool CodeMemory::runs_stale_code() {
    const CodeBlock block = allocate(kCodeAlignment);
    if (!block) {
        return false;
    }
    bool stale = false;
    for (const unsigned number : {1u, 2u}) {
        {
            const Writer writer = open(block);
            write_probe(writer.data(), number);
        }
        stale = run_probe(block.address) != number;
    }
    release(block);
    return stale;
}

CodeMemory::Span CodeMemory::pages_of_its_own(Span block, Span around) const {
    return {std::max(page_up(around.begin), page_down(block.begin)),
            std::min(page_down(around.end), page_up(block.end))};
}

CodeBlock CodeMemory::allocate(size_t bytes, size_t alignment) {
    MINIVM_CHECK(bytes > 0 && (alignment & (alignment - 1)) == 0 && alignment <= page_bytes_);
    alignment = std::max(alignment, kCodeAlignment);
    const std::lock_guard lock(mutex_);
    if (allocations_left_ == 0) {
        refusal_ = "allocations are refused by a test";
        return {};
    }
    if (bytes > range_bytes_) {
        refusal_ = std::to_string(bytes) + " bytes are more than there are addresses for code";
        return {};
    }
    bytes = (bytes + kCodeAlignment - 1) & ~(kCodeAlignment - 1);
    // First fit, from the middle upwards and then from the lower end: the first block lies in the
    // middle, half the range away from all others at most.
    for (const size_t lowest : {page_down(range_bytes_ / 2), size_t{0}}) {
        for (auto free = free_.begin(); free != free_.end(); ++free) {
            const size_t from = std::max(free->first, lowest);
            const size_t begin = (from + alignment - 1) & ~(alignment - 1);
            if (begin < free->second && free->second - begin >= bytes) {
                return take_locked(free, {begin, begin + bytes});
            }
        }
    }
    refusal_ = "no " + std::to_string(bytes) + " bytes in a row are free, " +
               std::to_string(allocated_bytes_) + " of " + std::to_string(range_bytes_) +
               " are code";
    return {};
}

CodeBlock CodeMemory::take_locked(std::map<size_t, size_t>::iterator free, Span block) {
    const Span around{free->first, free->second};
    const Span pages = pages_of_its_own(block, around);
    if (!pages.empty()) {
        // The bytes beside the block have to trap until they are code.
        fill_with_traps({pages.begin, block.begin});
        fill_with_traps({block.end, pages.end});
        if (mprotect(base_ + pages.begin, pages.end - pages.begin, PROT_READ | PROT_EXEC) != 0) {
            refusal_ = refused("mprotect", pages.end - pages.begin);
            return {};
        }
        committed_bytes_ += pages.end - pages.begin;
    }
    free_.erase(free);
    if (around.begin < block.begin) {
        free_.emplace(around.begin, block.begin);
    }
    if (block.end < around.end) {
        free_.emplace(block.end, around.end);
    }
    allocated_bytes_ += block.end - block.begin;
    blocks_++;
    if (allocations_left_ != SIZE_MAX) {
        allocations_left_--;
    }
    return {base_ + block.begin, block.end - block.begin};
}

void CodeMemory::release(CodeBlock block) {
    // A block that is given back in part leaves bytes that nobody can ever use.
    MINIVM_CHECK(contains(block.address) && block.bytes <= range_bytes_ &&
                 block.bytes % kCodeAlignment == 0);
    const auto begin = static_cast<size_t>(block.address - base_);
    const Span released{begin, begin + block.bytes};
    const std::lock_guard lock(mutex_);

    Span around = released;
    auto next = free_.lower_bound(released.begin);
    if (next != free_.end()) {
        MINIVM_CHECK(released.end <= next->first);  // not released twice
        if (next->first == released.end) {
            around.end = next->second;
            next = free_.erase(next);
        }
    }
    if (next != free_.begin()) {
        const auto before = std::prev(next);
        MINIVM_CHECK(before->second <= released.begin);
        if (before->second == released.begin) {
            around.begin = before->first;
            free_.erase(before);
        }
    }
    free_.emplace(around.begin, around.end);

    const Span pages = pages_of_its_own(released, around);
    if (pages.empty()) {
        fill_with_traps(released);
    } else {
        const size_t bytes = pages.end - pages.begin;
        // Without execute permission first, so that no thread can run the zeros that follow.
        if (mprotect(base_ + pages.begin, bytes, PROT_NONE) != 0) {
            give_up(refused("mprotect", bytes));
        }
        give_back(pages);
        committed_bytes_ -= bytes;
        fill_with_traps({released.begin, std::max(released.begin, pages.begin)});
        fill_with_traps({std::min(released.end, pages.end), released.end});
    }
    allocated_bytes_ -= block.bytes;
    blocks_--;
}

// Where the kernel refuses, the pages stay and are used again with their addresses.
void CodeMemory::give_back(Span pages) {
    const size_t bytes = pages.end - pages.begin;
    if (fd_ >= 0) {
        static_cast<void>(fallocate(fd_, FALLOC_FL_PUNCH_HOLE | FALLOC_FL_KEEP_SIZE,
                                    static_cast<off_t>(pages.begin), static_cast<off_t>(bytes)));
        return;
    }
    std::byte* const view = begin_write(pages.begin, pages.end);
    static_cast<void>(madvise(view, bytes, MADV_REMOVE));
    end_write(view, bytes);
}

void CodeMemory::fill_with_traps(Span span) {
    if (span.empty()) {
        return;
    }
    const size_t begin = page_down(span.begin);
    const size_t end = page_up(span.end);
    std::byte* const view = begin_write(begin, end);
    std::memset(view + (span.begin - begin), kTrapByte, span.end - span.begin);
    end_write(view, end - begin);
}

CodeMemory::Writer CodeMemory::open(CodeBlock block) {
    Writer writer = open(block.address, block.bytes);
    // All of it is about to be written: mapping many pages at once is cheaper than a fault for each. A kernel before
    // 5.14 refuses that.
    constexpr size_t kMany = 16;
    if (view_ != nullptr && block.bytes >= kMany * page_bytes_) {
        const size_t begin = page_down(static_cast<size_t>(writer.data() - view_));
        static_cast<void>(madvise(view_ + begin, block.bytes, MADV_POPULATE_WRITE));
    }
    return writer;
}

CodeMemory::Writer CodeMemory::open(const std::byte* address, size_t bytes) {
    MINIVM_CHECK(contains(address) && bytes > 0 && bytes <= static_cast<size_t>(end() - address));
    return {*this, address, bytes};
}

// Maps each page, so that the first thread to run it need not wait for the kernel to do so. Reads a byte of
// each page where the kernel is older than 5.14.
static void map_pages(const std::byte* address, size_t bytes) {
    constexpr size_t kPage = 4096;  // or a multiple
    const auto first = reinterpret_cast<uintptr_t>(address) & ~(kPage - 1);
    const size_t whole = reinterpret_cast<uintptr_t>(address) + bytes - first;
    if (bytes > kPage && madvise(reinterpret_cast<void*>(first), whole, MADV_POPULATE_READ) == 0) {
        return;
    }
    for (size_t at = 0; at < bytes; at += kPage) {
        static_cast<void>(*static_cast<const volatile std::byte*>(address + at));
    }
    if (bytes != 0) {
        static_cast<void>(*static_cast<const volatile std::byte*>(address + bytes - 1));
    }
}

// The one place that makes written code visible to instruction fetches.
void CodeMemory::publish(const std::byte* address, size_t bytes) {
    // By the executable addresses: instruction caches may be indexed by them. Nothing to do on
    // x86-64.
    char* const first = reinterpret_cast<char*>(const_cast<std::byte*>(address));
    __builtin___clear_cache(first, first + bytes);
    if (!remaps_after_write_ || fd_ < 0) {
        map_pages(address, bytes);
        return;
    }
    // The emulator drops its translations of pages that are mapped or protected anew. One mmap over
    // the old mapping leaves no moment in which other threads that run these pages would fault, as
    // taking execute permission away and giving it back does.
    const auto offset = static_cast<size_t>(address - base_);
    const size_t begin = page_down(offset);
    const size_t end = page_up(offset + bytes);
    if (mmap(base_ + begin, end - begin, PROT_READ | PROT_EXEC, MAP_SHARED | MAP_FIXED, fd_,
             static_cast<off_t>(begin)) == MAP_FAILED) {
        give_up(refused("mapping anew", end - begin));
    }
}

CodeMemory::Usage CodeMemory::usage() const {
    const std::lock_guard lock(mutex_);
    return {range_bytes_, committed_bytes_, allocated_bytes_, blocks_};
}

std::string CodeMemory::refusal() const {
    const std::lock_guard lock(mutex_);
    return refusal_;
}

void CodeMemory::refuse_after(size_t count) {
    const std::lock_guard lock(mutex_);
    allocations_left_ = count;
}

CodeMemory::Writer::Writer(CodeMemory& memory, const std::byte* address, size_t bytes)
    : memory_(&memory), address_(address), bytes_(bytes) {
    const auto offset = static_cast<size_t>(address - memory.base_);
    const size_t begin = memory.page_down(offset);
    const size_t end = memory.page_up(offset + bytes);
    data_ = memory.begin_write(begin, end) + (offset - begin);
}

CodeMemory::Writer::Writer(Writer&& other) noexcept
    : memory_(std::exchange(other.memory_, nullptr)),
      address_(other.address_),
      bytes_(other.bytes_),
      data_(std::exchange(other.data_, nullptr)) {}

void CodeMemory::Writer::close() {
    if (memory_ == nullptr) {
        return;
    }
    const auto offset = static_cast<size_t>(address_ - memory_->base_);
    const size_t begin = memory_->page_down(offset);
    const size_t end = memory_->page_up(offset + bytes_);
    memory_->end_write(data_ - (offset - begin), end - begin);
    memory_->publish(address_, bytes_);
    memory_ = nullptr;
    data_ = nullptr;
}

std::byte* CodeMemory::Writer::at(const void* executable) const {
    const auto* const address = static_cast<const std::byte*>(executable);
    MINIVM_CHECK(memory_ != nullptr && address >= address_ && address < address_ + bytes_);
    return data_ + (address - address_);
}

template <typename T>
void CodeMemory::Writer::patch(const void* executable, T value) {
    MINIVM_CHECK(reinterpret_cast<uintptr_t>(executable) % sizeof(T) == 0 &&
                 static_cast<const std::byte*>(executable) + sizeof(T) <= address_ + bytes_);
    // release: whatever the new instruction leads to was written before, and a thread that fetches
    // it sees that too. The width must not tear: threads run this word while it changes.
    std::atomic_ref<T>(*reinterpret_cast<T*>(at(executable)))
        .store(value, std::memory_order_release);
}

template void CodeMemory::Writer::patch(const void*, uint64_t);
template void CodeMemory::Writer::patch(const void*, uint32_t);
template void CodeMemory::Writer::patch(const void*, uint8_t);

Result<CodeMemory*, std::string> try_code_memory(const CodeMemory::Options& options) {
    // Never destroyed: other threads may run code until the process is gone.
    static auto& started = *new auto(CodeMemory::create(options));
    if (!started.ok()) {
        return Failure(started.error());
    }
    return started.value().get();
}

CodeMemory& code_memory() {
    const auto memory = try_code_memory();
    if (!memory.ok()) {
        give_up(memory.error());
    }
    return *memory.value();
}

}  // namespace minivm
