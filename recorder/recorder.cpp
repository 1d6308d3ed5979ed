#include "recorder/recorder.hpp"

#include "recorder/clock.hpp"
#include "recorder/coarse_words.hpp"
#include "recorder/record.hpp"
#include "recorder/recording.hpp"

#include <cstring>

namespace minivm::recorder {

namespace detail {

namespace {

// Initial-exec: one load from the thread pointer, and no allocation behind it in a signal handler.
[[gnu::tls_model("initial-exec")]] constinit thread_local ThreadState t_state{};

[[gnu::always_inline]] inline uint32_t mode() {
    // relaxed: the clock is set before the first thread records and stays; of another recording a
    // site may hear late.
    return g_mode.load(std::memory_order_relaxed);
}
[[gnu::always_inline]] inline bool clock_is_counter() {
    return (mode() & kMonotonicClock) == 0;
}

uint64_t now() {
    return clock_is_counter() ? read_counter() : monotonic_ns();
}

// How a record gets its time. A coarse one takes that of the thread's last full record, or of a
// coarse one that ended a block: at most 128 records back. A signal may refresh the stamp at any
// moment, which is as good.
struct AnyClock {
    static uint64_t read() { return now(); }
};
struct Counter {
    [[gnu::always_inline]] static uint64_t read() { return read_counter(); }
};
template <class Clock, bool kCoarse>
[[gnu::always_inline]] inline uint64_t stamp(uint64_t position, unsigned slots) {
    if (kCoarse && !ends_block(position, slots)) {
        return t_state.coarse_ticks;
    }
    return t_state.coarse_ticks = Clock::read();
}

[[gnu::always_inline]] inline const Ring& ring_of(uint64_t event) {
    return t_state.rings[word2_ring(event)];
}

// For a thread without rings of its own. Records of more than two slots do not fit there.
void write_to_shared(const Ring& ring, uint64_t event, unsigned flags, const Word* words,
                     unsigned count) {
    constexpr unsigned kRoom = kSharedSlots * kWordsPerSlot - kHeadWords;
    if (count > kRoom) {
        count = kRoom;
        flags |= kFlagTruncated;
    }
    const uint64_t head = event | t_state.subject_bits;
    write_shared_record<Atomics>(ring, flags, [&](auto put, uint64_t) {
        put(1, now());
        put(2, head);
        for (unsigned i = 0; i < kRoom; i++) {
            put(kHeadWords + i, i < count ? words[i] : 0);
        }
    });
}

template <class Clock, bool kCoarse>
[[gnu::always_inline]] inline auto fill1(uint64_t head, Word a) {
    return [=](auto put, uint64_t position) {
        put(1, stamp<Clock, kCoarse>(position, 1));
        put(2, head);
        put(3, a);
    };
}

template <class Clock, bool kCoarse>
[[gnu::always_inline]] inline auto fill4(uint64_t head, Word a, Word b, Word c, Word d) {
    return [=](auto put, uint64_t position) {
        // The stamp first: what follows overlaps with it.
        put(1, stamp<Clock, kCoarse>(position, 2));
        put(2, head);
        put(3, a);
        put(4, b);
        put(5, c);
        put(6, d);
    };
}

template <bool kCoarse>
inline constexpr unsigned kStampFlags = kCoarse ? unsigned{kFlagCoarse} : 0u;

// A function that writes the words, with its stamp by that clock.
template <class Clock, bool kCoarse>
[[gnu::always_inline]] inline auto fill_words(uint64_t head, unsigned slots, const Word* words,
                                              unsigned count) {
    return [=](auto put, uint64_t position) {
        put(1, stamp<Clock, kCoarse>(position, slots));
        put(2, head);
        for (unsigned i = 0; i < count; i++) {
            put(kHeadWords + i, words[i]);
        }
    };
}

// To each of the other recordings that takes the category.
template <bool kCoarse>
void put_into_more(uint64_t event, unsigned flags, const Word* words, unsigned count,
                   uint32_t category) {
    for (unsigned i = 0; i < kMostMore; i++) {
        More& more = g_more[i];
        // relaxed: see enabled().
        if ((more.categories.load(std::memory_order_relaxed) & category) == 0) {
            continue;
        }
        more.users.fetch_add(1, std::memory_order_seq_cst);                   // seq_cst: see More
        const uint32_t number = more.number.load(std::memory_order_seq_cst);  // seq_cst: see More
        // relaxed: again, for the recording may have begun since.
        if (number != 0 && (more.categories.load(std::memory_order_relaxed) & category) != 0) {
            const ThreadRings* mine = rings_in(i, number);
            if (mine != nullptr) {
                const unsigned slots = slots_for_words(kHeadWords + count);
                write_record<Atomics>(mine->rings[word2_ring(event)], slots, flags,
                                      fill_words<AnyClock, kCoarse>(event | t_state.subject_bits,
                                                                    slots, words, count));
            } else {
                write_to_shared(more.shared_ring, event, flags, words, count);
            }
        }
        more.users.fetch_sub(1, std::memory_order_release);  // release: see More
    }
}

// Threads without rings, signal handlers that interrupted a write, machines without a counter,
// several recordings.
template <bool kCoarse>
[[gnu::noinline, gnu::cold]] void put_rarely(uint64_t event, unsigned flags, const Word* words,
                                             unsigned count) {
    flags |= kStampFlags<kCoarse>;
    if ((mode() & kMoreRecordings) != 0) {
        // relaxed: set before the first record of the event is written.
        const uint32_t category =
            1u << g_event_category[word2_event(event)].load(std::memory_order_relaxed);
        put_into_more<kCoarse>(event, flags, words, count, category);
        // relaxed: see enabled().
        if ((g_main_categories.load(std::memory_order_relaxed) & category) == 0) {
            return;
        }
    }
    const Ring& ring = ring_of(event);
    if (ring.words != nullptr) {
        const unsigned slots = slots_for_words(kHeadWords + count);
        write_record<Atomics>(
            ring, slots, flags,
            fill_words<AnyClock, kCoarse>(event | t_state.subject_bits, slots, words, count));
        return;
    }
    // acquire: the ring's description is complete. Pairs with the store in init().
    const Ring* shared = g_shared_ring.load(std::memory_order_acquire);
    if (shared != nullptr) {  // else recording has just ended
        write_to_shared(*shared, event, flags, words, count);
    }
}

// Out of line and last in their callers, which then need no stack frame.
template <bool kCoarse>
[[gnu::noinline, gnu::cold]] void put1_rarely(uint64_t event, Word a) {
    put_rarely<kCoarse>(event, 0, &a, 1);
}
template <bool kCoarse>
[[gnu::noinline, gnu::cold]] void put4_rarely(uint64_t event, Word a, Word b, Word c, Word d) {
    const Word words[] = {a, b, c, d};
    put_rarely<kCoarse>(event, 0, words, 4);
}

template <bool kCoarse>
[[gnu::always_inline]] inline void put1(uint64_t event, Word a) {
    const Ring& ring = ring_of(event);
    if (ring.words == nullptr || open_word<Atomics>(ring) != 0 || mode() != 0) [[unlikely]] {
        put1_rarely<kCoarse>(event, a);
        return;
    }
    write_outermost_record<Atomics>(ring, 1, kStampFlags<kCoarse>,
                                    fill1<Counter, kCoarse>(event | t_state.subject_bits, a));
}

template <bool kCoarse>
[[gnu::always_inline]] inline void put4(uint64_t event, Word a, Word b, Word c, Word d) {
    const Ring& ring = ring_of(event);
    if (ring.words == nullptr || open_word<Atomics>(ring) != 0 || mode() != 0) [[unlikely]] {
        put4_rarely<kCoarse>(event, a, b, c, d);
        return;
    }
    write_outermost_record<Atomics>(
        ring, 2, kStampFlags<kCoarse>,
        fill4<Counter, kCoarse>(event | t_state.subject_bits, a, b, c, d));
}

}  // namespace

ThreadState& thread_state() {
    return t_state;
}

void write1(uint64_t event, Word a) {
    put1<false>(event, a);
}
void write4(uint64_t event, Word a, Word b, Word c, Word d) {
    put4<false>(event, a, b, c, d);
}
void write_coarse1(uint64_t event, Word a) {
    put1<true>(event, a);
}
void write_coarse4(uint64_t event, Word a, Word b, Word c, Word d) {
    put4<true>(event, a, b, c, d);
}

namespace {

template <bool kCoarse>
[[gnu::always_inline]] inline void put_words(uint64_t event, unsigned flags, const Word* words,
                                             unsigned count) {
    const Ring& ring = ring_of(event);
    if (ring.words == nullptr || open_word<Atomics>(ring) != 0 || mode() != 0) [[unlikely]] {
        put_rarely<kCoarse>(event, flags, words, count);
        return;
    }
    const unsigned slots = slots_for_words(kHeadWords + count);
    write_outermost_record<Atomics>(
        ring, slots, flags | kStampFlags<kCoarse>,
        fill_words<Counter, kCoarse>(event | t_state.subject_bits, slots, words, count));
}

}  // namespace

void write_words(uint64_t event, unsigned flags, const Word* words, unsigned count) {
    put_words<false>(event, flags, words, count);
}
void write_coarse_words(uint64_t event, unsigned flags, const Word* words, unsigned count) {
    put_words<true>(event, flags, words, count);
}

void write_text(uint64_t event, Word* words, unsigned count, const TextArgument* texts,
                unsigned text_count) {
    // All in one buffer first: the bytes are read outside the open record, where a fault in the
    // caller's pointer leaves nothing half-written.
    Word payload[kMaxPayloadWords + 1];
    unsigned flags = 0;
    const bool has_rings = ring_of(event).words != nullptr;
    const unsigned limit =
        (has_rings ? kMaxPayloadWords : kSharedSlots * kWordsPerSlot - kHeadWords) * 8;
    unsigned used = count * 8;
    for (unsigned i = 0; i < text_count; i++) {
        // Each text may use what the arguments leave, and leaves the ones behind it their share.
        const unsigned share = used < limit ? (limit - used) / (text_count - i) : 0;
        const size_t wanted = texts[i].text.size();
        const auto length = static_cast<unsigned>(wanted < share ? wanted : share);
        if (length < wanted) {
            flags |= kFlagTruncated;
        }
        if (length != 0) {  // an empty text may have no address, which memcpy does not take
            std::memcpy(reinterpret_cast<char*>(payload) + used, texts[i].text.data(), length);
        }
        words[texts[i].argument] = pack_text(used, length);
        used += length;
    }
    std::memcpy(payload, words, size_t{count} * 8);
    std::memset(reinterpret_cast<char*>(payload) + used, 0, 8);  // the rest of the last word
    write_words(event, flags, payload, (used + 7) / 8);
}

}  // namespace detail

void set_subject(uint32_t subject) {
    detail::thread_state().subject_bits = uint64_t{subject} << 32;
}
void renew_stamp() {
    detail::thread_state().coarse_ticks = detail::now();
}
uint64_t read_ticks() {
    return detail::now();
}

uint64_t last_stamp() {
    return detail::thread_state().coarse_ticks;
}
uint32_t subject() {
    return static_cast<uint32_t>(detail::thread_state().subject_bits >> 32);
}

uint32_t set_categories(uint32_t mask) {
    mask &= kAllCategories;
    if (!is_active()) {
        return 0;
    }
    const uint32_t old = categories();
    // Recorded while at least one side of the change lets it through.
    detail::set_main_categories(old | category_bit(Category::user));
    MINIVM_EVENT(mask_changed, old, mask);
    detail::set_main_categories(mask);
    return old;
}

uint32_t categories() {
    // relaxed: see enabled().
    return detail::g_main_categories.load(std::memory_order_relaxed);
}

bool category_from_name(std::string_view name, Category& out) {
    for (unsigned i = 0; i < kCategoryCount; i++) {
        if (name == kCategoryNames[i]) {
            out = static_cast<Category>(i);
            return true;
        }
    }
    return false;
}

}  // namespace minivm::recorder
