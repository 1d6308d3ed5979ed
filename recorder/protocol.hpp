// The write and read protocol of a ring: docs/protocols/recorder.md has the reasoning, step by
// step.
//
// One thread and the signal handlers that run on it write a ring; any number of readers, in this or
// another process, read it and never write. No writer and no reader waits.
//
// Invariants
//   (1) reserve only grows, and grows before a slot of the new record is touched.
//   (2) While a write is open no other write touches its slots: a nested write that would is dropped.
//   (3) Word 0 of a record is busy before its first payload word and committed after its last.
//   (4) Positions in front of reserve - size have lost their slots; a reader must not trust them.
//
// The atomics are a parameter (`A`), so that tests/recorder/protocol_model_test.cpp runs this very
// code on a model of weak memory, with a signal or a death between any two accesses. A policy has
//   Word
//   load(word, order), store(word, value, order)
//   store_payload, load_payload
//   add(word, n), which returns the old value, and count(word), which adds one: a signal on the same thread
//     cannot split them
//   fence, signal_fence
//   add_shared, count_shared, exchange_if: for the shared ring
#pragma once

#include "recorder/record.hpp"

#include <atomic>
#include <cstdint>

namespace minivm::recorder {

inline constexpr uint64_t kMaxNesting = 8;       // handlers inside each other
inline constexpr unsigned kSlotsPerBlock = 128;  // 4 KiB: the grain of the side table

// What a ring keeps beside its slots; it lies in the file, and only the owner of the ring writes
// it.
template <class A>
struct alignas(128) RingControl {
    typename A::Word reserve;            // next position, in slots
    typename A::Word open;               // 0, or 1 + a position before which no open record lies
    typename A::Word depth;              // handlers' writes that are open inside the thread's own
    typename A::Word records;            // records begun
    typename A::Word dropped_nesting;    // records refused: too many signals inside each other
    typename A::Word dropped_lap;        // records refused: they would reach an open record
    typename A::Word abandoned_records;  // the same, found out after their slots were taken
    typename A::Word abandoned_slots;
    typename A::Word dropped_busy;  // shared ring only: the cell was still being written
};

// A ring as its owner or a reader holds it.
template <class A>
struct RingView {
    typename A::Word* words = nullptr;   // slot 0; the first page is mapped again behind the last slot
    typename A::Word* blocks = nullptr;  // first record that starts in each 4 KiB block
    RingControl<A>* control = nullptr;
    uint64_t size_slots = 0;  // a power of two

    typename A::Word* slot(uint64_t position) const {
        return words + (position & (size_slots - 1)) * kWordsPerSlot;
    }
};

enum class WriteResult { written, dropped_nesting, dropped_lap, abandoned, dropped_busy };

// Whether the record behind this one is the first that starts in its 4 KiB block.
constexpr bool ends_block(uint64_t position, unsigned slots) {
    return ((position ^ (position + slots)) & ~uint64_t{kSlotsPerBlock - 1}) != 0;
}

// A write inside another one of the same thread: a signal handler's. Out of line, so that the usual
// path stays short; `fill` comes by value for the same reason.
template <class A, class Fill>
[[gnu::noinline, gnu::cold]] WriteResult write_nested_record(RingView<A> ring, unsigned slots,
                                                             unsigned flags, uint64_t open,
                                                             Fill fill);

// Steps 4 to 9 of the protocol: the slots are ours from here on.
template <class A, class Fill>
[[gnu::always_inline]] inline void fill_record(const RingView<A>& ring, uint64_t position,
                                               unsigned slots, unsigned flags, Fill& fill) {
    typename A::Word* const word = ring.slot(position);
    const uint64_t head = pack_word0(position, slots, flags, 0);
    // relaxed: ordered before the payload by the fence that follows.
    A::store(word[0], head | kBusy, std::memory_order_relaxed);
    // release: a reader that sees a payload word of ours sees reserve and the busy word too. Pairs
    // with the acquire fence in read_record().
    A::fence(std::memory_order_release);
    fill([word](unsigned index, uint64_t value) { A::store_payload(word[index], value); },
         position);
    // release: a reader that sees the record committed sees its payload. Pairs with the first load of
    // read_record().
    A::store(word[0], head | kCommitted, std::memory_order_release);

    const uint64_t end = position + slots;
    if (ends_block(position, slots)) [[unlikely]] {
        // relaxed: a hint that a reader checks against word 0 of the slot it names.
        A::store(ring.blocks[(end & (ring.size_slots - 1)) / kSlotsPerBlock], end,
                 std::memory_order_relaxed);  // relaxed: as above
    }
}

// Not 0 if this thread is writing a record of the ring already: then we run in a signal handler.
template <class A>
[[gnu::always_inline]] inline uint64_t open_word(const RingView<A>& ring) {
    // relaxed: only this thread writes it; a signal handler leaves it as found.
    return A::load(ring.control->open, std::memory_order_relaxed);
}

// A write that is not inside another one: open_word() was 0.
template <class A, class Fill>
[[gnu::always_inline]] inline void write_outermost_record(const RingView<A>& ring, unsigned slots,
                                                          unsigned flags, Fill fill) {
    RingControl<A>& control = *ring.control;
    // relaxed: read by handlers on this thread, which the fence keeps in program order. The
    // position may be lower than the one we get, which only makes handlers stricter with
    // themselves.
    A::store(control.open, A::load(control.reserve, std::memory_order_relaxed) + 1,
             std::memory_order_relaxed);  // relaxed: as above
    A::signal_fence();
    const uint64_t position = A::add(control.reserve, slots);
    A::count(control.records);
    fill_record<A>(ring, position, slots, flags, fill);
    A::signal_fence();
    // relaxed: for handlers on this thread.
    A::store(control.open, 0, std::memory_order_relaxed);
}

// Writes one record of `slots` slots. `fill(put, position)` calls put(i, value) for i >= 1; it must
// not write records. A signal between the look at the open word and the write finishes before we go
// on, so the look stays true.
template <class A, class Fill>
[[gnu::always_inline]] inline WriteResult write_record(const RingView<A>& ring, unsigned slots,
                                                       unsigned flags, Fill fill) {
    const uint64_t open = open_word<A>(ring);
    if (open != 0) [[unlikely]] {
        return write_nested_record<A>(ring, slots, flags, open, fill);
    }
    write_outermost_record<A>(ring, slots, flags, fill);
    return WriteResult::written;
}

template <class A, class Fill>
WriteResult write_nested_record(RingView<A> ring, unsigned slots, unsigned flags, uint64_t open,
                                Fill fill) {
    RingControl<A>& control = *ring.control;
    // relaxed: only this thread writes it; handlers nested in this one leave it as found.
    const uint64_t depth = A::load(control.depth, std::memory_order_relaxed);
    if (depth >= kMaxNesting) {
        A::count(control.dropped_nesting);
        return WriteResult::dropped_nesting;
    }
    // The outermost write is suspended while we run, so its position stays.
    const uint64_t limit = open - 1 + ring.size_slots;
    // relaxed: our own counter; only handlers nested in us can move it meanwhile.
    if (A::load(control.reserve, std::memory_order_relaxed) + slots > limit) {
        A::count(control.dropped_lap);
        return WriteResult::dropped_lap;
    }
    // relaxed: for handlers on this thread, which the fences keep in program order.
    A::store(control.depth, depth + 1, std::memory_order_relaxed);
    A::signal_fence();
    const uint64_t position = A::add(control.reserve, slots);
    // release: our busy mark may fall on the tail of an older record, whose reader then has to find
    // a reservation that is new enough: the one of the write we interrupted, which has no fence
    // behind it yet, or our own if we give it up. Pairs with the acquire fence in read_record().
    A::fence(std::memory_order_release);
    const bool fits = position + slots <= limit;
    if (fits) {
        A::count(control.records);
        fill_record<A>(ring, position, slots, flags | kFlagNested, fill);
    } else {
        // Handlers nested in this one took the room since the first look. The slots stay as they
        // are.
        A::count(control.abandoned_records);
        A::add(control.abandoned_slots, slots);
    }
    A::signal_fence();
    // relaxed: for handlers on this thread.
    A::store(control.depth, depth, std::memory_order_relaxed);
    return fits ? WriteResult::written : WriteResult::abandoned;
}

// The shared ring of threads that own none: cells of `kSharedSlots` slots, claimed by
// compare-and-swap, so that a writer which is lapped keeps its cell and the one that laps it drops
// its record.
inline constexpr unsigned kSharedSlots = 2;

template <class A, class Fill>
WriteResult write_shared_record(const RingView<A>& ring, unsigned flags, Fill&& fill) {
    RingControl<A>& control = *ring.control;
    const uint64_t position = A::add_shared(control.reserve, kSharedSlots);
    typename A::Word* word = ring.slot(position);
    const uint64_t busy = pack_word0(position, kSharedSlots, flags, kBusy);
    // relaxed: only an expectation for the exchange below.
    uint64_t seen = A::load(word[0], std::memory_order_relaxed);
    const bool free_cell = !word0_is_busy(seen);
    const bool older = seen == 0 || word0_position(seen) < (position & kPositionMask);
    if (!free_cell || !older || !A::exchange_if(word[0], seen, busy)) {
        A::count_shared(control.dropped_busy);
        return WriteResult::dropped_busy;
    }
    A::count_shared(control.records);
    // release: as in write_record(); pairs with the acquire fence in read_record().
    A::fence(std::memory_order_release);
    fill([word](unsigned index, uint64_t value) { A::store_payload(word[index], value); },
         position);
    // release: pairs with the first load of read_record().
    A::store(word[0], pack_word0(position, kSharedSlots, flags, kCommitted),
             std::memory_order_release);  // release: as above
    return WriteResult::written;
}

enum class ReadResult {
    committed,    // `out` holds the record
    in_progress,  // its writer has begun it and not finished: still running, or dead
    overwritten,  // a later record took its slots, perhaps while we copied
    absent,       // nothing was written for this position: dropped after reservation, died early, damage
};

struct ReadOutcome {
    ReadResult result = ReadResult::absent;
    unsigned slots = 0;  // of a committed or unfinished record
};

// Reads the record that starts at `position`, which is below a value of reserve read before.
template <class A>
ReadOutcome read_record(const RingView<A>& ring, uint64_t position, uint64_t* out) {
    const RingControl<A>& control = *ring.control;
    const typename A::Word* word = ring.slot(position);
    // acquire: the payload of a committed record is seen whole. Pairs with the commit in
    // write_record().
    const uint64_t head = A::load(word[0], std::memory_order_acquire);
    // relaxed: not older than head's own reservation, by the acquire above.
    const uint64_t reserve = A::load(control.reserve, std::memory_order_relaxed);
    if (reserve > position + ring.size_slots) {
        return {ReadResult::overwritten, 0};
    }
    const unsigned slots = word0_slots(head);
    if (word0_position(head) != (position & kPositionMask) || position + slots > reserve) {
        return {ReadResult::absent, 0};
    }
    if (word0_is_busy(head)) {
        return {ReadResult::in_progress, slots};
    }
    if (!word0_is_committed(head)) {
        return {ReadResult::absent, 0};
    }
    out[0] = head;
    for (unsigned i = 1; i < slots * kWordsPerSlot; i++) {
        out[i] = A::load_payload(word[i]);
    }
    // acquire: if a word copied above came from a later record, the two loads below see that
    // record's reservation. Pairs with the release fence in write_record().
    A::fence(std::memory_order_acquire);
    // relaxed: ordered by the fence.
    const uint64_t reserve_after = A::load(control.reserve, std::memory_order_relaxed);
    // relaxed: ordered by the fence.
    const uint64_t head_after = A::load(word[0], std::memory_order_relaxed);
    if (reserve_after > position + ring.size_slots || head_after != head) {
        return {ReadResult::overwritten, 0};
    }
    return {ReadResult::committed, slots};
}

}  // namespace minivm::recorder
