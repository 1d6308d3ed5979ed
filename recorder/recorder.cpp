#include "recorder/recorder.hpp"

#include "recorder/clock.hpp"
#include "recorder/coarse_words.hpp"
#include "recorder/record.hpp"
#include "recorder/recording.hpp"

#include <algorithm>
#include <cstring>

namespace minivm::recorder {

namespace detail {

namespace {

// Initial-exec: one load from the thread pointer, and no allocation behind it in a signal handler.
[[gnu::tls_model("initial-exec")]] constinit thread_local ThreadState t_state{};

[[gnu::always_inline]] inline uint32_t mode() {
    // relaxed: the clock is set before the first thread records and stays; a site may see late that
    // another recording has begun.
    return g_mode.load(std::memory_order_relaxed);
}
[[gnu::always_inline]] inline bool clock_is_counter() {
    return (mode() & kMonotonicClock) == 0;
}

uint64_t now() {
    return clock_is_counter() ? read_counter() : monotonic_ns();
}

// How a record gets its time. A coarse one takes that of the thread's last full record, or of a
// coarse one that ended a block: at most 128 records back. A signal handler may refresh the stamp at
// any moment, which does no harm.
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

// For a thread without rings of its own. Longer records are cut to two slots.
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

constexpr uint64_t in_class(uint64_t event, RingClass ring_class) {
    return (event & ~(uint64_t{3} << 16)) | (uint64_t{static_cast<unsigned>(ring_class)} << 16);
}

// How fast an event's records come: within its rate; so fast that they must not evict rarer events; or
// so fast that they are not rare at all.
enum class Pace : uint8_t { rare, frequent, flood };

// An event earns a slot every ticks_per_slot and may write most_ahead ticks ahead of that. The state is
// one word, so nothing can tear; when two threads meet, the slots of one are not counted, which is good
// enough.
Pace pace_of(CommonRings& common, uint16_t event, unsigned slots) {
    // Times most_ahead, which is half a ring: so one event may fill the three rings kRareMany.
    constexpr uint64_t kFlood = 6;
    std::atomic<uint64_t>& word = common.earned_at[event % CommonRings::kRates];
    const uint64_t time = now();
    const uint64_t seen = word.load(std::memory_order_relaxed);  // relaxed: only its value counts
    const uint64_t to = (seen > time ? seen : time) + slots * common.ticks_per_slot;
    const uint64_t ahead = to - time;
    if (ahead > common.most_ahead) {
        common.over_rate->fetch_add(1, std::memory_order_relaxed);  // relaxed: a counter
    }
    if (ahead > kFlood * common.most_ahead) {
        return Pace::flood;
    }
    word.store(to, std::memory_order_relaxed);  // relaxed: as above
    return ahead > common.most_ahead ? Pace::frequent : Pace::rare;
}

// Failures have rings of their own: the ends of processes and of the program, faults.
bool is_failure(uint16_t event) {
    // relaxed: set before the first record of the event is written.
    const auto category =
        static_cast<Category>(g_event_category[event].load(std::memory_order_relaxed));
    return category == Category::process || category == Category::fault;
}

bool take(CommonRings::Rare& rare) {
    uint32_t expected = 0;
    // acquire: we see what the owners before us wrote, the ring's position above all. Pairs with
    // give_back(). Relaxed on failure: nothing is written then.
    return rare.taken.compare_exchange_strong(expected, 1, std::memory_order_acquire,
                                              std::memory_order_relaxed);  // relaxed: as above
}
void give_back(CommonRings::Rare& rare) {
    // release: the next owner sees all that we wrote. Pairs with take().
    rare.taken.store(0, std::memory_order_release);
}

// Takes a free ring of that kind; null if all are held, by preempted threads or by the writes that this
// one interrupts. When the ring whose turn it is is held, all others replace it in turn: if the next
// one always did, its records would stay only half as long.
CommonRings::Rare* take_one_of(CommonRings& common, RareRings rings) {
    const unsigned turn = t_state.rare_turn;
    unsigned at = turn / kRareTurn;
    for (unsigned i = 0; i < rings.count; i++) {
        CommonRings::Rare& rare = common.rare[rings.first + at % rings.count];
        if (take(rare)) {
            return &rare;
        }
        at = turn / kRareTurn + 1 + (turn + i) % std::max(rings.count - 1, 1u);
    }
    return nullptr;
}

// Takes a ring for a failure. The first failures fill a ring that then stays as it is for as long as
// others follow fast, for the first of a storm say most about it. It is filled again when all its
// records are older than what the other failure rings keep in any case, so that the newest failures
// are all there, in one ring or another. A writer that finds it held waits for about as long as a
// Batch takes, and no longer: the owner may be preempted, or be the write that this one interrupts.
CommonRings::Rare* take_for_failure(CommonRings& common, Pace pace) {
    constexpr uint64_t kRoom = 256;  // slots: a Batch of the deepest stack
    constexpr unsigned kTries = 4096;
    CommonRings::Rare& first = common.rare[kFirstFailures.first];
    for (unsigned i = 0; i < kTries; i++) {
        // relaxed: take() decides.
        if (first.taken.load(std::memory_order_relaxed) == 0) {
            break;
        }
    }
    if (take(first)) {
        uint64_t others = 0;
        for (unsigned i = 0; i < kFailures.count; i++) {
            // relaxed: how much was written, more or less.
            others += Atomics::load(common.rare[kFailures.first + i].ring.control->reserve,
                                    std::memory_order_relaxed);
        }
        // relaxed: ours while we hold the ring.
        const uint64_t at = Atomics::load(first.ring.control->reserve, std::memory_order_relaxed);
        const uint64_t kept = uint64_t{first.ring.size_slots} * (kFailures.count - 1);
        if (pace == Pace::rare && at + kRoom > first.full_at && others - first.others_then > kept) {
            first.full_at = at + first.ring.size_slots;
        }
        if (at + kRoom <= first.full_at) {
            first.others_then = others;
            return &first;
        }
        give_back(first);
    }
    return take_one_of(common, kFailures);
}

// Takes a ring for a rare record, until give_back(); null: write_rare() writes to another kind of ring.
CommonRings::Rare* take_rare_ring(CommonRings& common, uint16_t event, Pace pace) {
    CommonRings::Rare* rare = nullptr;
    if (is_failure(event)) {
        rare = take_for_failure(common, pace);
        return rare != nullptr ? rare : take_one_of(common, kRareMany);
    }
    if (pace == Pace::flood) {
        return nullptr;
    }
    rare = take_one_of(common, pace == Pace::rare ? kRare : kRareMany);
    return rare != nullptr ? rare : take_one_of(common, pace == Pace::rare ? kRareMany : kRare);
}

// A record that says who wrote it, in its last word.
void write_with_writer(const Ring& ring, uint32_t group, uint64_t event, unsigned flags,
                       const Word* words, unsigned count) {
    if (count == kMaxPayloadWords) {
        count--;
        flags |= kFlagTruncated;
    }
    const uint64_t head = event | t_state.subject_bits;
    const unsigned slots = slots_for_words(kHeadWords + count + 1);
    const uint64_t writer = pack_writer(group, t_state.thread_id);
    write_record<Atomics>(ring, slots, flags | kFlagWriter, [=](auto put, uint64_t position) {
        fill_words<AnyClock, false>(head, slots, words, count)(put, position);
        put(slots * kWordsPerSlot - 1, writer);
    });
}

// `rings`: the thread's own; null: it has none.
void write_rare(CommonRings& common, const ThreadRings* rings, CommonRings::Rare* batch,
                uint64_t event, unsigned flags, const Word* words, unsigned count) {
    const uint32_t group = rings != nullptr ? rings->group : kNoGroup;
    const unsigned slots = slots_for_words(kHeadWords + count);
    if (batch != nullptr) {
        // The first record of a batch says who wrote all of it.
        if (!batch->writer_is_known) {
            batch->writer_is_known = true;
            write_with_writer(batch->ring, group, event, flags, words, count);
        } else {
            write_record<Atomics>(
                batch->ring, slots, flags,
                fill_words<AnyClock, false>(event | t_state.subject_bits, slots, words, count));
        }
        return;
    }
    const Pace pace = pace_of(common, word2_event(event), slots);
    CommonRings::Rare* const rare = take_rare_ring(common, word2_event(event), pace);
    t_state.rare_turn++;
    if (rare != nullptr) {
        write_with_writer(rare->ring, group, event, flags, words, count);
        give_back(*rare);
        return;
    }
    // A flood is not rare; and all rare rings may be held.
    event = in_class(event, RingClass::lifecycle);
    if (rings != nullptr && rings->rings[word2_ring(event)].words != nullptr) {
        write_record<Atomics>(
            rings->rings[word2_ring(event)], slots, flags,
            fill_words<AnyClock, false>(event | t_state.subject_bits, slots, words, count));
        return;
    }
    write_to_shared(common.shared, event, flags, words, count);
}

constexpr bool is_rare(uint64_t event) {
    return word2_ring(event) == static_cast<unsigned>(RingClass::rare);
}

// Writes to each of the other recordings that takes the category.
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
        // relaxed: looked at again, for another recording may have begun in this place since.
        if (number != 0 && (more.categories.load(std::memory_order_relaxed) & category) != 0) {
            const ThreadRings* mine = rings_in(i, number);
            if (is_rare(event)) {
                write_rare(*more.common, mine, t_state.more_batch[i], event, flags, words, count);
            } else if (mine != nullptr) {
                const unsigned slots = slots_for_words(kHeadWords + count);
                write_record<Atomics>(mine->rings[word2_ring(event)], slots, flags,
                                      fill_words<AnyClock, kCoarse>(event | t_state.subject_bits,
                                                                    slots, words, count));
            } else {
                write_to_shared(more.common->shared, event, flags, words, count);
            }
        }
        more.users.fetch_sub(1, std::memory_order_release);  // release: see More
    }
}

// The slow path: threads without rings, rare records, signal handlers that interrupted a write, machines
// without a counter, several recordings.
template <bool kCoarse>
[[gnu::noinline, gnu::cold]] void put_rarely(uint64_t event, unsigned flags, const Word* words,
                                             unsigned count) {
    flags |= is_rare(event) ? 0 : kStampFlags<kCoarse>;
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
    // acquire: the rings' description is complete. Pairs with the store in init().
    CommonRings* const common = g_common.load(std::memory_order_acquire);
    if (common == nullptr) {
        return;  // recording has just ended
    }
    if (is_rare(event)) {
        write_rare(*common, &t_state, t_state.batch, event, flags, words, count);
    } else {
        write_to_shared(common->shared, event, flags, words, count);
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
    const unsigned room = has_rings        ? kMaxPayloadWords
                          : is_rare(event) ? kMaxPayloadWords - 1  // the last says who wrote it
                                           : kSharedSlots * kWordsPerSlot - kHeadWords;
    const unsigned limit = room * 8;
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

namespace detail {
namespace {

// Takes a ring for a Batch; null: each of its records finds a ring by itself.
CommonRings::Rare* begin_batch(CommonRings& common, uint16_t event, unsigned slots) {
    CommonRings::Rare* const rare = take_rare_ring(common, event, pace_of(common, event, slots));
    if (rare != nullptr) {
        rare->writer_is_known = false;
    }
    Atomics::signal_fence();
    return rare;
}

// Gives a Batch's ring back. False: it has none, or a fork in between has left it to the parent.
bool end_batch(CommonRings::Rare*& batch) {
    CommonRings::Rare* const rare = batch;
    if (rare == nullptr) {
        return false;
    }
    batch = nullptr;
    Atomics::signal_fence();
    give_back(*rare);
    return true;
}

// Takes a ring in each of the other recordings that takes the event. Our count in `users` keeps it.
void begin_more_batches(uint16_t event, unsigned slots) {
    // relaxed: set before the first record of the event is written.
    const uint32_t category = 1u << g_event_category[event].load(std::memory_order_relaxed);
    for (unsigned i = 0; i < kMostMore; i++) {
        More& more = g_more[i];
        // relaxed: see enabled().
        if ((more.categories.load(std::memory_order_relaxed) & category) == 0) {
            continue;
        }
        more.users.fetch_add(1, std::memory_order_seq_cst);        // seq_cst: see More
        if (more.number.load(std::memory_order_seq_cst) != 0) {  // seq_cst: see More
            t_state.more_batch[i] = begin_batch(*more.common, event, slots);
        }
        if (t_state.more_batch[i] == nullptr) {
            more.users.fetch_sub(1, std::memory_order_release);  // release: see More
        }
    }
}

}  // namespace
}  // namespace detail

Batch::Batch(EventId event, unsigned slots) {
    // acquire: as in put_rarely().
    detail::CommonRings* const common = detail::g_common.load(std::memory_order_acquire);
    detail::ThreadState& state = detail::thread_state();
    if (common == nullptr || state.in_batch) {
        return;
    }
    is_outermost_ = true;
    state.in_batch = true;
    state.batch = detail::begin_batch(*common, static_cast<uint16_t>(event), slots);
    if ((detail::mode() & detail::kMoreRecordings) != 0) {
        detail::begin_more_batches(static_cast<uint16_t>(event), slots);
    }
}

Batch::~Batch() {
    detail::ThreadState& state = detail::thread_state();
    state.rare_turn += detail::kRareTurn;
    if (!is_outermost_) {
        return;
    }
    state.in_batch = false;
    detail::end_batch(state.batch);
    for (unsigned i = 0; i < detail::kMostMore; i++) {
        if (detail::end_batch(state.more_batch[i])) {
            // release: see More.
            detail::g_more[i].users.fetch_sub(1, std::memory_order_release);
        }
    }
}

void set_subject(uint32_t subject) {
    detail::thread_state().subject_bits = uint64_t{subject} << 32;
}
uint32_t new_flow() {
    uint32_t& next = detail::thread_state().next_flow;
    if (next % detail::kFlowRun == 0) [[unlikely]] {
        // relaxed: a ticket. Nobody gets the first number of a run: 0 is one of these.
        next = detail::g_flow_runs.fetch_add(1, std::memory_order_relaxed) * detail::kFlowRun + 1;
    }
    return next++;
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
    // The record of the change is of category user, which is therefore on meanwhile.
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
