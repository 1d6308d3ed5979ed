#include "recorder/recorder.hpp"

#include <cstring>

#include "recorder/clock.hpp"
#include "recorder/record.hpp"
#include "recorder/recording.hpp"

namespace minivm::recorder {

namespace detail {

namespace {

// Initial-exec: one load from the thread pointer, and no allocation behind it in a signal handler.
[[gnu::tls_model("initial-exec")]] constinit thread_local ThreadState t_state{};

[[gnu::always_inline]] inline uint64_t now() {
    // relaxed: set before the first thread records, never changed while one does.
    const auto kind = static_cast<ClockKind>(g_clock_kind.load(std::memory_order_relaxed));
    if (kind == ClockKind::monotonic_ns) [[unlikely]] {
        return monotonic_ns();
    }
    return read_counter();
}

constexpr unsigned ring_of(uint64_t event) { return static_cast<unsigned>((event >> 16) & 0xff); }

// A thread without rings of its own. Records of more than two slots do not fit there.
[[gnu::noinline]] void write_to_shared(uint64_t event, unsigned flags, const Word* words,
                                       unsigned count, unsigned arguments) {
    // acquire: the ring's description is complete. Pairs with the store in publish().
    const Ring* ring = g_shared_ring.load(std::memory_order_acquire);
    if (ring == nullptr) {
        return;  // not recording, or a mask that was turned on without init()
    }
    constexpr unsigned kRoom = kSharedSlots * kWordsPerSlot - kHeadWords;
    if (count > kRoom) {
        count = kRoom;
        flags |= kFlagTruncated;
    }
    const uint64_t head = pack_word2(static_cast<uint16_t>(event), t_state.subject, arguments);
    write_shared_record<Atomics>(*ring, flags, [&](auto put) {
        put(1, now());
        put(2, head);
        for (unsigned i = 0; i < kRoom; i++) {
            put(kHeadWords + i, i < count ? words[i] : 0);
        }
    });
}

// Payload of any length.
[[gnu::noinline]] void write_long(uint64_t event, unsigned flags, const Word* words, unsigned count,
                                  unsigned arguments) {
    const Ring& ring = t_state.rings[ring_of(event)];
    if (ring.words == nullptr) [[unlikely]] {
        write_to_shared(event, flags, words, count, arguments);
        return;
    }
    const uint64_t head = pack_word2(static_cast<uint16_t>(event), t_state.subject, arguments);
    write_record<Atomics>(ring, slots_for_words(kHeadWords + count), flags, [&](auto put) {
        put(1, now());
        put(2, head);
        for (unsigned i = 0; i < count; i++) {
            put(kHeadWords + i, words[i]);
        }
    });
}

}  // namespace

ThreadState& thread_state() { return t_state; }

void write(uint64_t event, unsigned arguments, Word a, Word b, Word c, Word d) {
    const Ring& ring = t_state.rings[ring_of(event)];
    if (ring.words == nullptr) [[unlikely]] {
        const Word words[] = {a, b, c, d};
        write_to_shared(event, 0, words, 4, arguments);
        return;
    }
    const uint64_t head = pack_word2(static_cast<uint16_t>(event), t_state.subject, arguments);
    if (arguments <= 1) {
        write_record<Atomics>(ring, 1, 0, [&](auto put) {
            put(1, now());
            put(2, head);
            put(3, a);
        });
        return;
    }
    write_record<Atomics>(ring, 2, 0, [&](auto put) {
        put(1, now());
        put(2, head);
        put(3, a);
        put(4, b);
        put(5, c);
        put(6, d);
    });
}

void write5(uint64_t event, Word a, Word b, Word c, Word d, Word e) {
    const Word words[] = {a, b, c, d, e};
    write_long(event, 0, words, 5, 5);
}

void write_words(uint64_t event, const Word* words, unsigned count) {
    write_long(event, 0, words, count < kMaxPayloadWords ? count : kMaxPayloadWords, count);
}

void write_text(uint64_t event, const Word* words, unsigned count, const std::string_view* texts,
                unsigned text_count) {
    // All in one buffer first: the bytes are read outside the open record, where a fault in the caller's
    // pointer leaves nothing half-written.
    Word payload[kMaxPayloadWords] = {};
    unsigned flags = 0;
    const unsigned arguments = count + text_count;
    unsigned limit_words = kMaxPayloadWords;
    if (t_state.rings[ring_of(event)].words == nullptr) {
        limit_words = kSharedSlots * kWordsPerSlot - kHeadWords;
    }
    if (arguments > limit_words) {
        return;  // excluded by the checks at compile time: no such event exists
    }
    for (unsigned i = 0; i < count; i++) {
        payload[i] = words[i];
    }
    unsigned used = arguments * 8;
    const unsigned limit = limit_words * 8;
    for (unsigned i = 0; i < text_count; i++) {
        // Each text may use what the ones behind it leave: an equal share of the rest.
        const unsigned share = (limit - used) / (text_count - i);
        const size_t wanted = texts[i].size();
        const auto length = static_cast<unsigned>(wanted < share ? wanted : share);
        if (length < wanted) {
            flags |= kFlagTruncated;
        }
        std::memcpy(reinterpret_cast<char*>(payload) + used, texts[i].data(), length);
        payload[count + i] = pack_text(used, length);
        used += length;
    }
    write_long(event, flags, payload, (used + 7) / 8, arguments);
}

void write_coarse(uint64_t event, unsigned arguments, Word a, Word b, Word c, Word d) {
    ThreadState& state = t_state;
    const Ring& ring = state.rings[ring_of(event)];
    if (ring.words == nullptr) [[unlikely]] {
        const Word words[] = {a, b, c, d};
        write_to_shared(event, 0, words, 4, arguments);
        return;
    }
    // A signal between these lines may refresh the stamp as well: at worst one record more shares it.
    unsigned flags = kFlagCoarse;
    if (state.coarse_left == 0) {
        state.coarse_left = kCoarseRecords;
        state.coarse_ticks = now();
        flags = 0;
    }
    state.coarse_left--;
    const uint64_t ticks = state.coarse_ticks;
    const uint64_t head = pack_word2(static_cast<uint16_t>(event), state.subject, arguments);
    if (arguments <= 1) {
        write_record<Atomics>(ring, 1, flags, [&](auto put) {
            put(1, ticks);
            put(2, head);
            put(3, a);
        });
        return;
    }
    write_record<Atomics>(ring, 2, flags, [&](auto put) {
        put(1, ticks);
        put(2, head);
        put(3, a);
        put(4, b);
        put(5, c);
        put(6, d);
    });
}

}  // namespace detail

void set_subject(uint32_t subject) { detail::thread_state().subject = subject; }
uint32_t subject() { return detail::thread_state().subject; }

uint32_t set_categories(uint32_t mask) {
    mask &= kAllCategories;
    if (!is_active()) {
        return 0;
    }
    const uint32_t old = categories();
    // Recorded while at least one side of the change lets it through.
    // relaxed: sites may see the change late. Partner: enabled().
    detail::g_mask.categories.store(old | category_bit(Category::user), std::memory_order_relaxed);
    record(EventId::mask_changed, old, mask);
    // relaxed: as above.
    detail::g_mask.categories.store(mask, std::memory_order_relaxed);
    return old;
}

uint32_t categories() {
    // relaxed: see enabled().
    return detail::g_mask.categories.load(std::memory_order_relaxed);
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
