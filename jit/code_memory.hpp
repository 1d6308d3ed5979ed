// Memory for native code: mapped twice, never writable and executable in one mapping.
//
// One range of addresses is reserved when the first code is made; it never grows or moves. Its
// pages belong to a file that exists only in memory (memfd). The executable view of a page is there
// while some block of code lies in it. A writable view of all of it lies where the kernel chooses, and is
// written through Writers only:
//
//      kernel's choice                       the reserved range
//      +----------------+   same pages   +----+-----------+-----------+------------+
//      | the view: rw-  | -------------> |free| module r-x| module r-x|  free ---  |
//      +----------------+                +----+-----------+-----------+------------+
//
// The view stays, because its pages cost most when they are touched first (docs/decisions/0004). Where
// addresses are limited (ulimit -v) there is no room for it, and each Writer maps what it writes.
//
// Where the range lies: all of it, and all of the program (which is not position-independent), is
// below 2 GiB. So on x86-64 a call, a jump or an address of 32 bits reaches from any code to any
// other code and to every function of the program, and on aarch64 ADRP does. The range of aarch64
// is 255 MiB, and the first block lies in its middle: what is allocated first (the shared
// fragments, of 512 KiB at most) is within the 128 MiB of a B or BL of all other code. Where no
// such range is free it lies anywhere; reaches_program() tells.
//
// Invariants
//   (1) No page of the process is ever writable and executable, in this mapping or another.
//   (2) Code is written only between open() and close() of a Writer, and within allocate() and release(),
//       which fill the rest of a page with traps. Only these know the address of the view.
//   (3) Memory in the range that belongs to no block is not executable, or holds instructions that
//       trap when it shares a page with a block.
//   (4) What a closed Writer or a patch has written is seen by instruction fetches of this thread.
//       Other threads need a code barrier before they may run code that is *changed* (not code that
//       is new at addresses never run before on x86-64; on aarch64 new code too). That barrier is
//       the caller's: write, close, barrier, thread progress (docs/protocols/thread_progress.md).
//
// Threads: all functions from any thread. Two Writers of one block at the same time are the
// callers' business; the code modification permission keeps them apart.
#pragma once

#include "vm/util/result.hpp"
#include "vm/util/lock.hpp"

#include <cstddef>
#include <cstdint>
#include <map>
#include <memory>
#include <mutex>
#include <string>

namespace minivm {

// Executable addresses [address, address + bytes). Bytes is the size asked for, rounded up to
// kCodeAlignment.
struct CodeBlock {
    const std::byte* address = nullptr;
    size_t bytes = 0;

    explicit operator bool() const { return address != nullptr; }
    const std::byte* end() const { return address + bytes; }
};

// A line of the instruction cache on the machines we know.
inline constexpr size_t kCodeAlignment = 64;

class CodeMemory {
public:
    struct Options {
        size_t range_bytes = 0;   // 0: what the machine's branches reach
        bool below_2_gib = true;  // false: where the kernel likes
        // The pages are a file in memory (memfd), which the writable view maps. perf looks for
        // names in its map only where memory has no file; for it the pages are shared anonymous
        // memory, and the writable view is the executable one duplicated by mremap. Some emulators
        // cannot do that, so it is not the rule, and the file is taken where it fails.
        bool nameless = false;
        bool keeps_view = true;  // false: as where there is no room for it, for tests
    };

    // What is in use, for the report on code size and for tests.
    struct Usage {
        size_t reserved_bytes;   // addresses
        size_t committed_bytes;  // pages with code in them
        size_t allocated_bytes;  // blocks
        size_t blocks;
    };

    // Fails with the name of what the kernel refuses.
    static Result<std::unique_ptr<CodeMemory>, std::string> create(const Options& options);
    CodeMemory(const CodeMemory&) = delete;
    CodeMemory& operator=(const CodeMemory&) = delete;
    // All code is gone; no Writer may be open and no thread in it.
    ~CodeMemory();

    // A block of executable memory whose bytes trap until a Writer has filled it. A block without
    // an address when the range is used up or the kernel refuses; refusal() says why. Alignment is
    // a power of two up to the page size; less than kCodeAlignment means kCodeAlignment.
    CodeBlock allocate(size_t bytes, size_t alignment = kCodeAlignment);

    // Gives a block back. The caller knows that no thread runs it and that no return address into
    // it is left (purge, then thread progress). Pages without a block go back to the kernel.
    void release(CodeBlock block);

    // Writes code; its destructor closes it. To open one aborts when there is no view and the kernel
    // refuses one: a patch that is half done cannot be taken back.
    class Writer {
    public:
        Writer(Writer&& other) noexcept;
        Writer& operator=(Writer&&) = delete;
        Writer(const Writer&) = delete;
        Writer& operator=(const Writer&) = delete;
        ~Writer() { close(); }

        // The first byte of what was opened, and how many there are.
        std::byte* data() const { return data_; }
        size_t size() const { return bytes_; }
        // Where to write what `executable`, an address inside of what was opened, will hold.
        std::byte* at(const void* executable) const;

        // One aligned atomic write to code that other threads may be running. Nothing is visible to
        // instruction fetches for certain before close() and the caller's code barrier.
        void patch_word(const void* executable, uint64_t value) { patch(executable, value); }
        void patch_half(const void* executable, uint32_t value) { patch(executable, value); }
        void patch_byte(const void* executable, uint8_t value) { patch(executable, value); }

        // Makes what was written visible to instruction fetches.
        void close();

    private:
        friend class CodeMemory;
        Writer(CodeMemory& memory, const std::byte* address, size_t bytes);
        template <typename T>
        void patch(const void* executable, T value);

        CodeMemory* memory_;
        const std::byte* address_;
        size_t bytes_;
        std::byte* data_;
    };

    Writer open(CodeBlock block);
    // Part of a block, or of several blocks with what lies between them; in each of its pages lies a block.
    Writer open(const std::byte* address, size_t bytes);

    const std::byte* begin() const { return base_; }
    const std::byte* end() const { return base_ + range_bytes_; }
    bool contains(const void* address) const {
        return address >= base_ && address < base_ + range_bytes_;
    }
    // Every branch and address of 32 bits reaches from here to the program's own functions.
    bool reaches_program() const;
    // Whether perf looks for names of this code in its map.
    bool nameless() const { return fd_ < 0; }
    // Written code becomes visible only when its pages are mapped anew: an emulator.
    bool remaps_after_write() const { return remaps_after_write_; }
    Usage usage() const;
    // Why allocate() last answered with no block.
    std::string refusal() const;
    // From now on `count` allocations succeed and all later ones are refused, for tests of what a
    // loader does then. SIZE_MAX: no limit.
    void refuse_after(size_t count);

private:
    // Offsets into the range.
    struct Span {
        size_t begin;
        size_t end;
        bool empty() const { return begin >= end; }
    };

    CodeMemory() = default;
    std::string reserve(const Options& options);
    bool duplicates();
    void keep_view();
    // A writable view of these pages; MAP_FAILED where the kernel refuses. populate: MAP_POPULATE or 0.
    void* map_view(size_t begin, size_t end, int populate);
    // Where to write what the pages will hold; pass the answer to end_write().
    std::byte* begin_write(size_t begin, size_t end);
    void end_write(std::byte* view, size_t bytes);
    bool runs_stale_code();
    size_t page_down(size_t offset) const { return offset & ~(page_bytes_ - 1); }
    size_t page_up(size_t offset) const { return page_down(offset + page_bytes_ - 1); }
    // The pages around `block` that hold nothing but bytes of the free span `around`.
    Span pages_of_its_own(Span block, Span around) const;
    CodeBlock take_locked(std::map<size_t, size_t>::iterator free, Span block);
    void fill_with_traps(Span span);
    void give_back(Span pages);
    void publish(const std::byte* address, size_t bytes);

    int fd_ = -1;  // -1: anonymous memory
    std::byte* base_ = nullptr;
    std::byte* view_ = nullptr;  // writable; null where there is no room for it
    size_t range_bytes_ = 0;
    size_t page_bytes_ = 0;
    bool remaps_after_write_ = false;

    mutable CountedMutex mutex_{LockKind::code_memory};       // guards all that follows
    std::map<size_t, size_t> free_;  // begin -> end; neighbours are merged
    size_t committed_bytes_ = 0;
    size_t allocated_bytes_ = 0;
    size_t blocks_ = 0;
    size_t allocations_left_ = SIZE_MAX;
    std::string refusal_;
};

// The code memory of the program, reserved at the first use, with the options of that first use.
// Aborts with a message where the kernel refuses; try_code_memory() says so instead. Lives to the
// end of the process.
CodeMemory& code_memory();
Result<CodeMemory*, std::string> try_code_memory(const CodeMemory::Options& options = {});

}  // namespace minivm
