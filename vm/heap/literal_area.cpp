// The literal range: reserved once at start, given out in pieces.
//
// Free pieces are kept by address, so that neighbours join; an allocation takes the first that is large
// enough. The whole pages of an area that is freed go back to the system.
#include <sys/mman.h>
#include <sys/resource.h>

#include <algorithm>
#include <cstdlib>
#include <map>
#include <mutex>
#include <utility>

#include "vm/heap/block_pool.hpp"
#include "vm/term/heap.hpp"
#include "vm/util/fatal.hpp"
#include "vm/util/lock.hpp"
#include "vm/util/memory_count.hpp"

namespace minivm {

namespace {

constexpr size_t kGranuleBytes = 64;
constexpr size_t kCommitBytes = size_t{1} << 20;
constexpr size_t kPageBytes = size_t{1} << 16;  // the largest page size of the machines we run on

constexpr size_t round_up(size_t n, size_t unit) { return (n + unit - 1) / unit * unit; }

// The part of the range that may be given out.
size_t g_reserved_bytes = kLiteralRangeBytes;

void* map_range(Word wanted, size_t bytes) {
    return mmap(reinterpret_cast<void*>(wanted), bytes, PROT_NONE,
                MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE | (wanted != 0 ? MAP_FIXED_NOREPLACE : 0), -1, 0);
}

// Where address space is limited (ulimit -v): reserves only a part of the range. Every address in the range counts
// as a literal, so it begins where the kernel places nothing by itself.
void* map_part_of_range() {
    constexpr Word kFarFromAll = Word{1} << 45;
    constexpr size_t kLargestPart = size_t{1} << 30;
    rlimit limit{};
    if (getrlimit(RLIMIT_AS, &limit) != 0 || limit.rlim_cur == RLIM_INFINITY) {
        return MAP_FAILED;
    }
    g_reserved_bytes = std::min(static_cast<size_t>(limit.rlim_cur / 8), kLargestPart) / kCommitBytes * kCommitBytes;
    void* const base = map_range(kFarFromAll, g_reserved_bytes);
    if (base != MAP_FAILED && reinterpret_cast<Word>(base) != kFarFromAll) {
        munmap(base, g_reserved_bytes);  // kernels before 4.17 take the address as a hint only
        return MAP_FAILED;
    }
    return base;
}

Word reserve_range() {
    void* base = map_range(0, kLiteralRangeBytes);
    if (base == MAP_FAILED) {
        base = map_part_of_range();
    }
    if (base == MAP_FAILED) {
        std::perror("minivm: cannot reserve address space for literals (see ulimit -v)");
        std::exit(1);
    }
    return reinterpret_cast<Word>(base);
}

class LiteralAllocator {
  public:
    void* allocate(size_t bytes) {
        const size_t size = round_up(bytes, kGranuleBytes);
        count_memory(MemoryArea::literals, static_cast<int64_t>(size));
        const std::lock_guard lock(mutex_);
        for (auto piece = free_.begin(); piece != free_.end(); ++piece) {
            if (piece->second >= size) {
                const auto [offset, available] = *piece;
                free_.erase(piece);
                if (available > size) {
                    free_.emplace(offset + size, available - size);
                }
                return address(offset);
            }
        }
        if (size > g_reserved_bytes - frontier_) {
            out_of_memory(WantedFor::literal, size);
        }
        const size_t offset = frontier_;
        frontier_ += size;
        if (frontier_ > committed_) {
            const size_t commit = round_up(frontier_, kCommitBytes) - committed_;
            if (mprotect(address(committed_), commit, PROT_READ | PROT_WRITE) != 0) {
                out_of_memory(WantedFor::literal, commit);
            }
            committed_ += commit;
        }
        return address(offset);
    }

    void free(void* p, size_t bytes) {
        size_t offset = reinterpret_cast<Word>(p) - g_literal_base;
        size_t size = round_up(bytes, kGranuleBytes);
        count_memory(MemoryArea::literals, -static_cast<int64_t>(size));
        // Done before the piece is in the list, without the lock, so that no allocation waits for the kernel. A
        // page that is only partly in this piece stays.
        const size_t first_page = round_up(offset, kPageBytes);
        const size_t end_page = (offset + size) / kPageBytes * kPageBytes;
        if (first_page < end_page) {
            madvise(address(first_page), end_page - first_page, MADV_DONTNEED);
        }
        const std::lock_guard lock(mutex_);
        auto next = free_.lower_bound(offset);
        if (next != free_.end() && offset + size == next->first) {
            size += next->second;
            next = free_.erase(next);
        }
        if (next != free_.begin()) {
            const auto previous = std::prev(next);
            if (previous->first + previous->second == offset) {
                offset = previous->first;
                size += previous->second;
                free_.erase(previous);
            }
        }
        free_.emplace(offset, size);
    }

  private:
    static void* address(size_t offset) {
        return reinterpret_cast<void*>(g_literal_base + offset);
    }

    CountedMutex mutex_{LockKind::literals};
    std::map<size_t, size_t> free_;  // offset -> bytes
    size_t frontier_ = 0;            // nothing beyond was ever given out
    size_t committed_ = 0;           // readable and writable below
};

// One bit for each granule of the range. Address space only, until a bit is set.
std::atomic<uint8_t>* marks() {
    static auto* const bits = [] {
        void* memory = mmap(nullptr, kLiteralRangeBytes / kGranuleBytes / 8, PROT_READ | PROT_WRITE,
                            MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
        MINIVM_CHECK(memory != MAP_FAILED);
        return static_cast<std::atomic<uint8_t>*>(memory);
    }();
    return bits;
}

// Never destroyed: literal areas of static objects may be freed later.
LiteralAllocator& allocator() {
    static LiteralAllocator* the_allocator = new LiteralAllocator;
    return *the_allocator;
}

}  // namespace

// Reserved before main(), so that it is a constant for all threads.
Word g_literal_base = reserve_range();

std::atomic<bool> g_literals_released{false};

void set_literals_released(bool on) {
    // seq_cst: after the marks were set; a thread that copies from here on sees both, or thread progress waits
    // for it.
    g_literals_released.store(on, std::memory_order_seq_cst);
}

void mark_literals(const LiteralArea& area, bool released) {
    if (area.start == nullptr) {
        return;
    }
    const Word begin = (reinterpret_cast<Word>(area.start) - g_literal_base) / kGranuleBytes;
    const Word end = begin + round_up(area.words * sizeof(Term), kGranuleBytes) / kGranuleBytes;
    std::atomic<uint8_t>* bits = marks();
    for (Word i = begin; i < end; i++) {
        const uint8_t bit = static_cast<uint8_t>(1u << (i % 8));
        if (released) {
            // relaxed: set_literals_released() and thread progress order it. Atomic, since neighbours share a byte.
            bits[i / 8].fetch_or(bit, std::memory_order_relaxed);
        } else {
            // relaxed: as above.
            bits[i / 8].fetch_and(static_cast<uint8_t>(~bit), std::memory_order_relaxed);
        }
    }
}

bool is_released_literal(Term t) {
    static std::atomic<uint8_t>* const bits = marks();
    const Word granule = (t.raw - g_literal_base) / kGranuleBytes;
    // relaxed: as above.
    return (bits[granule / 8].load(std::memory_order_relaxed) >> (granule % 8) & 1) != 0;
}

static std::unique_ptr<LiteralArea> create_area(size_t words, Term* roots, size_t count,
                                                bool keep_sharing) {
    auto area = std::make_unique<LiteralArea>();
    area->words = words;
    if (words == 0) {
        return area;
    }
    area->start = static_cast<Term*>(allocator().allocate(words * sizeof(Term)));
    Heap heap;
    heap.top = area->start;
    heap.end = area->start + words + kReserveWords;  // the copies fill exactly [start, start + words)
    if (keep_sharing) {
        copy_shared_terms(roots, count, words, heap);
    } else {
        for (size_t i = 0; i < count; i++) {
            roots[i] = copy_term(roots[i], heap, false);
        }
    }
    MINIVM_ASSERT(heap.fragments == nullptr && heap.top == area->start + words);
    area->off_heap = std::exchange(heap.off_heap, nullptr);
    return area;
}

std::unique_ptr<LiteralArea> LiteralArea::create(Term* roots, size_t count) {
    size_t words = 0;
    for (size_t i = 0; i < count; i++) {
        words += size_of_term(roots[i], false);
    }
    return create_area(words, roots, count, false);
}

std::unique_ptr<LiteralArea> LiteralArea::create_shared(Term* roots, size_t count,
                                                        std::span<const HeapRange> ranges) {
    const SharedSize size = size_of_shared_terms(roots, count, ranges);
    return create_area(size.words, roots, count, size.any_shared);
}

LiteralArea::~LiteralArea() {
    release_off_heap(off_heap);
    if (start != nullptr) {
#ifdef MINIVM_DEBUG
        // A term that still refers to it finds no object.
        std::memset(static_cast<void*>(start), 0xEC, words * sizeof(Term));
#endif
        allocator().free(start, words * sizeof(Term));
    }
}

}  // namespace minivm
