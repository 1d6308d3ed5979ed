// The atomics of the real machine, as the policy of recorder/protocol.hpp.
#pragma once

#include <atomic>
#include <cstdint>

#if defined(__SANITIZE_THREAD__)
#define MINIVM_RECORDER_TSAN 1
#elif defined(__has_feature)
#if __has_feature(thread_sanitizer)
#define MINIVM_RECORDER_TSAN 1
#endif
#endif
#ifndef MINIVM_RECORDER_TSAN
#define MINIVM_RECORDER_TSAN 0
#endif

namespace minivm::recorder {

struct Atomics {
    using Word = std::atomic<uint64_t>;
    static_assert(sizeof(Word) == 8 && Word::is_always_lock_free);

    static uint64_t load(const Word& word, std::memory_order order) { return word.load(order); }
    static void store(Word& word, uint64_t value, std::memory_order order) {
        word.store(value, order);
    }

    // Adds as one instruction, so that a signal on this thread comes before or after but not in
    // between. Other threads do not write the word; they may read it. Without the bus lock this
    // costs a third.
    static uint64_t add(Word& word, uint64_t n) {
#if defined(__x86_64__) && !MINIVM_RECORDER_TSAN
        asm volatile("xaddq %0, %1" : "+r"(n), "+m"(word) : : "memory", "cc");
        return n;
#else
        // relaxed: single writer; readers order themselves by word 0. LSE or an exclusive pair,
        // which an exception between load and store makes start again.
        return word.fetch_add(n, std::memory_order_relaxed);
#endif
    }
    // Adds one, likewise; the result is not needed.
    static void count(Word& word) {
#if defined(__x86_64__) && !MINIVM_RECORDER_TSAN
        asm volatile("incq %0" : "+m"(word) : : "memory", "cc");
#else
        // release: a reader that sees the record counted sees its reservation. Pairs with the look at the
        // counters in Snapshot::scan_ring().
        word.fetch_add(1, std::memory_order_release);
#endif
    }
    static uint64_t add_shared(Word& word, uint64_t n) {
        // relaxed: a ticket; the compare-and-swap on the cell decides who writes.
        return word.fetch_add(n, std::memory_order_relaxed);
    }
    static void count_shared(Word& word) {
        // release: a reader that sees the record counted sees its reservation and its busy mark. Pairs
        // with the look at the counters in Snapshot::scan_ring().
        word.fetch_add(1, std::memory_order_release);
    }
    static bool exchange_if(Word& word, uint64_t& expected, uint64_t desired) {
        // acquire: our payload stores stay behind the previous owner's commit. Relaxed on failure:
        // nothing is written then. Pairs with the commit in write_shared_record().
        return word.compare_exchange_strong(expected, desired, std::memory_order_acquire,
                                            std::memory_order_relaxed);  // relaxed: see above
    }

#if MINIVM_RECORDER_TSAN
    // The thread sanitizer does not know stand-alone fences: each payload access carries the order
    // that the fences give all of them at once.
    static void store_payload(Word& word, uint64_t value) {
        // release: stands for the release fence of write_record(); pairs with load_payload().
        word.store(value, std::memory_order_release);
    }
    static uint64_t load_payload(const Word& word) {
        // acquire: stands for the acquire fence of read_record(); pairs with store_payload().
        return word.load(std::memory_order_acquire);
    }
    static void fence(std::memory_order) {}
#else
    static void store_payload(Word& word, uint64_t value) {
        // relaxed: between the busy word and the commit, ordered by the fence and the commit's
        // release.
        word.store(value, std::memory_order_relaxed);
    }
    static uint64_t load_payload(const Word& word) {
        // relaxed: what changed under the copy is found out afterwards, by read_record()'s second
        // look.
        return word.load(std::memory_order_relaxed);
    }
    static void fence(std::memory_order order) {
        std::atomic_thread_fence(order);
    }
#endif
    static void signal_fence() {
        // seq_cst: keeps the compiler from moving accesses across; costs no instruction. The
        // partner is a signal handler on this thread.
        std::atomic_signal_fence(std::memory_order_seq_cst);
    }
};

}  // namespace minivm::recorder
