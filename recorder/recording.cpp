// Setting up and taking down a recording; threads and their rings; the dictionary.
#include "recorder/recording.hpp"

#include "recorder/dictionary_walk.hpp"
#include "recorder/mapping.hpp"
#include "recorder/recording_state.hpp"
#include "recorder/site.hpp"

#include <fcntl.h>
#include <pthread.h>
#include <sched.h>
#include <sys/file.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <csignal>
#include <cstdio>
#include <cstring>
#include <memory>
#include <mutex>
#include <new>
#include <system_error>
#include <thread>

namespace minivm::recorder {

detail::Recording* detail::g_recording = nullptr;

namespace {

using detail::append_places;
using detail::g_recording;
using detail::kMostMore;
using detail::lay_out;
using detail::More;
using detail::open_memory;
using detail::Recording;
using detail::recording_now;
using detail::set_build_id;
using detail::ThreadRings;

Recording* g_left = nullptr;  // left by shutdown() to threads that had not detached; stays reachable
uint32_t g_recordings = 0;
std::string g_no_path;
// Held while recordings are started or stopped or their categories change.
std::mutex g_control;

uint32_t system_thread_id() {
    return static_cast<uint32_t>(syscall(SYS_gettid));
}

std::string describe_event(const EventInfo& event) {
    std::string text = event.name;
    const auto add = [&text](std::string_view part) {
        text += '\0';
        text += part;
    };
    add(kCategoryNames[static_cast<unsigned>(event.category)]);
    add(kRingClassNames[static_cast<unsigned>(event.ring)]);
    add(event.kinds);
    add(event.argument_names);
    add(event.format);
    return text;
}

void store_anchor(LiveState& live, const ClockAnchor& anchor) {
    // relaxed: only an expectation for the exchange.
    uint64_t sequence = live.anchor_sequence.load(std::memory_order_relaxed);
    // acquire: the odd number is there before the words. One writer wins, another gives up: its
    // anchor is not needed. Relaxed on failure: nothing is written. Pairs with the release below.
    if ((sequence & 1) != 0 || !live.anchor_sequence.compare_exchange_strong(
                                   sequence, sequence + 1,
                                   std::memory_order_acquire,     // acquire: as above
                                   std::memory_order_relaxed)) {  // relaxed: as above
        return;
    }
    Atomics::fence(std::memory_order_release);  // release: pairs with the reader's acquire fence
    Atomics::store_payload(live.anchor_ticks, anchor.ticks);
    Atomics::store_payload(live.anchor_monotonic_ns, anchor.monotonic_ns);
    Atomics::store_payload(live.anchor_wall_ns, anchor.wall_ns);
    // release: a reader of the even number sees these words. Pairs with Snapshot::read_live().
    live.anchor_sequence.store(sequence + 2, std::memory_order_release);
}

// The child of a fork shares the memory with its parent and must not write it.
void forget_in_child() {
    // relaxed: a child has one thread.
    detail::g_mask.categories.store(0, std::memory_order_relaxed);
    // relaxed: a child has one thread.
    detail::g_main_categories.store(0, std::memory_order_relaxed);
    // relaxed: a child has one thread.
    detail::g_common.store(nullptr, std::memory_order_relaxed);
    detail::ThreadState& state = detail::thread_state();
    for (Ring& ring : state.rings) {
        ring.words = nullptr;
    }
    state.group = detail::kNoGroup;
    state.batch = nullptr;
    new (&g_control) std::mutex;  // another thread of the parent may have held it
    for (unsigned i = 0; i < kMostMore; i++) {
        // relaxed, all of them: a child has one thread.
        detail::g_more[i].categories.store(0, std::memory_order_relaxed);
        detail::g_more[i].number.store(0, std::memory_order_relaxed);  // relaxed: as above
        detail::g_more[i].users.store(0, std::memory_order_relaxed);   // relaxed: as above
        detail::g_more[i].recording = nullptr;
        state.more[i].recording = 0;
        state.more_batch[i] = nullptr;
    }
    // The Recording itself is left as it is: freeing it would unmap nothing of the parent's, but
    // other handlers of the fork may still look at it.
    g_recording = nullptr;
}

LiveState& live_state() {
    return g_recording->live();
}

// Calls f(recording, index) for each recording beside the one of init(); `users` keeps it meanwhile.
template <class F>
void for_each_more(F&& f) {
    for (unsigned i = 0; i < kMostMore; i++) {
        More& more = detail::g_more[i];
        // seq_cst: see More.
        more.users.fetch_add(1, std::memory_order_seq_cst);
        if (more.number.load(std::memory_order_seq_cst) != 0) {  // seq_cst: see More
            f(*more.recording, i);
        }
        more.users.fetch_sub(1, std::memory_order_release);  // release: see More
    }
}

// Sets g_mask, which sites ask, to the union of all recordings' categories. The caller holds g_control.
void renew_mask() {
    // relaxed, all of them: sites may see the change late. Partner: enabled().
    uint32_t mask = detail::g_main_categories.load(std::memory_order_relaxed);
    bool any = false;
    for (const More& more : detail::g_more) {
        mask |= more.categories.load(std::memory_order_relaxed);        // relaxed: as above
        any = any || more.number.load(std::memory_order_relaxed) != 0;  // relaxed: as above
    }
    // relaxed: as above.
    const uint32_t mode = detail::g_mode.load(std::memory_order_relaxed);
    const uint32_t more = detail::kMoreRecordings;
    // relaxed: as above.
    detail::g_mode.store(any ? mode | more : mode & ~more, std::memory_order_relaxed);
    detail::g_mask.categories.store(mask, std::memory_order_relaxed);  // relaxed: as above
}

// Frees the rings of a thread that ends.
struct ThreadEnd {
    bool armed = false;
    ~ThreadEnd() {
        if (armed) {
            detach_thread();
        }
    }
};
thread_local ThreadEnd t_end;

void note_owner(Recording& recording, uint32_t group, uint32_t thread, std::string_view name,
                const Ring* rings) {
    LiveState& live = recording.live();
    // relaxed: a ticket.
    const uint64_t index = live.owner_count.fetch_add(1, std::memory_order_relaxed);
    OwnerEntry& entry = live.owners()[index % recording.header.owner_entries];
    // relaxed: ordered before the rest by the fence.
    entry.sequence.store(0, std::memory_order_relaxed);
    Atomics::fence(
        std::memory_order_release);  // release: pairs with the fence in the reader's copy
    Atomics::store_payload(entry.group_and_thread, group | (uint64_t{thread} << 32));
    for (unsigned c = 0; c < kThreadRings; c++) {
        // relaxed: the ring is ours.
        const uint64_t start = rings[c].control->reserve.load(std::memory_order_relaxed);
        Atomics::store_payload(entry.start_position[c], start);
    }
    Atomics::store_payload(entry.start_ticks,
                           read_clock(static_cast<ClockKind>(recording.header.clock_kind)));
    char text[sizeof entry.name] = {};
    name.copy(text, sizeof text);
    for (unsigned i = 0; i < 4; i++) {
        uint64_t word;
        std::memcpy(&word, text + 8 * i, 8);
        Atomics::store_payload(entry.name[i], word);
    }
    // release: the entry is complete. Pairs with the reader's acquire.
    entry.sequence.store(index + 1, std::memory_order_release);
}

// The free group of that range which was freed first; kNoGroup if there is none.
uint32_t take_group(Recording& recording, unsigned begin, unsigned end, uint32_t thread) {
    LiveState& live = recording.live();
    for (;;) {
        uint32_t best = detail::kNoGroup;
        uint64_t best_freed = UINT64_MAX;
        for (unsigned g = begin; g < end; g++) {
            // relaxed: a guess that the exchange below confirms.
            const bool is_free = live.group_owner[g].load(std::memory_order_relaxed) == 0;
            // relaxed: likewise.
            const uint64_t freed = live.group_freed[g].load(std::memory_order_relaxed);
            if (is_free && freed < best_freed) {
                best = g;
                best_freed = freed;
            }
        }
        uint64_t expected = 0;
        // acquire: the last owner's writes are behind us. Pairs with the release in
        // detach_thread().
        if (best == detail::kNoGroup || live.group_owner[best].compare_exchange_strong(
                                            expected, thread, std::memory_order_acquire)) {
            return best;
        }
    }
}

// False if there was no room.
bool append_entry(Recording& recording, DictionaryKind kind, uint64_t key, std::string_view text) {
    LiveState& live = recording.live();
    const FileHeader& header = recording.header;
    const auto length =
        static_cast<unsigned>(text.size() < kMaxDictionaryText ? text.size() : kMaxDictionaryText);
    const uint64_t bytes = kDictionaryHeadBytes + round_up(length, 8);
    // relaxed: a ticket for room; the entry's own head says when it is complete.
    const uint64_t at = live.dictionary_used.fetch_add(bytes, std::memory_order_relaxed);
    if (at + bytes > header.dictionary_bytes) {
        // relaxed: a counter.
        live.dictionary_refused.fetch_add(1, std::memory_order_relaxed);
        return false;
    }
    auto* const words =
        reinterpret_cast<Atomics::Word*>(recording.mapping.at(header.dictionary_offset + at));
    const uint32_t sum =
        checksum32(text.data(), length, checksum32(&key, sizeof key)) ^ static_cast<uint32_t>(kind);
    const uint64_t head = pack_dictionary_head(kind, length, sum);
    // relaxed: the length alone, so that a reader can step over an entry whose writer died.
    words[0].store(head & 0xffff, std::memory_order_relaxed);
    Atomics::store_payload(words[1], key);
    for (unsigned i = 0; i < length; i += 8) {
        uint64_t word = 0;
        std::memcpy(&word, text.data() + i, length - i < 8 ? length - i : 8);
        Atomics::store_payload(words[2 + i / 8], word);
    }
    // release: the entry is complete. Pairs with the acquire of the reader's walk.
    words[0].store(head, std::memory_order_release);
    return true;
}

// Copies the main dictionary into that of a recording that has begun. A definer writes the main
// dictionary first and then looks for other recordings (seq_cst, under `users`); this function runs
// behind the store that makes the recording visible. So one of the two writes each entry, or both do,
// which does no harm.
void copy_dictionary(const Recording& from, Recording& to, More& more) {
    // seq_cst: changes nothing, but comes behind all definers that did not see the recording.
    more.users.fetch_add(0, std::memory_order_seq_cst);
    const auto* const words =
        reinterpret_cast<const Atomics::Word*>(from.mapping.at(from.header.dictionary_offset));
    uint64_t begin = 0;
    // Twice, so that a name given meanwhile comes behind the one it replaces.
    for (int pass = 0; pass < 2; pass++) {
        // relaxed: each entry proves itself. One that is being written is left to its writer.
        const uint64_t used = from.live().dictionary_used.load(std::memory_order_relaxed);
        const uint64_t end = std::min(used, from.header.dictionary_bytes) / 8;
        walk_dictionary(words, begin, end,
                        [&to](DictionaryKind kind, uint64_t key, std::string_view text) {
                            append_entry(to, kind, key, text);
                        });
        begin = end;
    }
}

// Gives the pool of rings more groups: as many again as it has for threads that are not busy, at least
// four. Runs on a thread of its own, so that no thread that starts waits for it.
void grow(Recording& recording) {
    const FileHeader& header = recording.header;
    const unsigned ready = recording.ready_groups();
    const unsigned now = ready - recording.header.large_groups;
    const unsigned wanted = std::min(header.group_count, ready + std::max(now, 4u));
    const uint64_t begin = ready_bytes(header, ready);
    const uint64_t end = ready_bytes(header, wanted);
    const bool good =
        (recording.path.empty() || posix_fallocate(recording.fd, static_cast<off_t>(begin),
                                                   static_cast<off_t>(end - begin)) == 0) &&
        recording.mapping.map_rings(recording.fd, header, ready, wanted, true, false);
    if (good) {
        // release: the rings are mapped. Pairs with ready_groups().
        recording.live().groups_ready.store(wanted, std::memory_order_release);
        MINIVM_EVENT(pool_grows, recording.number, ready, wanted);
    } else {
        recording.cannot_grow = true;
    }
    recording.is_growing = false;
}

// Starts grow() if few groups are free. Not in signal handlers.
void grow_if_low(Recording& recording) {
    constexpr unsigned kLow = 3;
    const unsigned ready = recording.ready_groups();
    if (ready == recording.header.group_count || recording.cannot_grow) {
        return;
    }
    unsigned free = 0;
    for (unsigned g = recording.header.large_groups; g < ready; g++) {
        // relaxed: a guess.
        free += recording.live().group_owner[g].load(std::memory_order_relaxed) == 0 ? 1 : 0;
    }
    if (free >= kLow || recording.is_growing.exchange(true)) {
        return;
    }
    std::lock_guard lock(g_control);
    if (recording.worker.joinable()) {
        recording.worker.join();  // it has ended but for its last instructions
    }
    // The worker handles no signals.
    sigset_t all;
    sigset_t old;
    sigfillset(&all);
    pthread_sigmask(SIG_SETMASK, &all, &old);
    try {
        recording.worker = std::thread([&recording] { grow(recording); });
    } catch (const std::system_error&) {
        // The operating system gives no more threads: the next thread that starts tries again.
        recording.is_growing = false;
    }
    pthread_sigmask(SIG_SETMASK, &old, nullptr);
}

// Takes rings for the calling thread, if any are free. Safe in a signal handler that does not interrupt
// another call.
void take_rings(Recording& recording, ThreadRings& to, uint32_t thread, std::string_view name,
                bool wants_large) {
    const unsigned large = recording.header.large_groups;
    const unsigned all = recording.ready_groups();
    uint32_t group = wants_large ? take_group(recording, 0, large, thread)
                                 : take_group(recording, large, all, thread);
    if (group == detail::kNoGroup) {
        group = wants_large ? take_group(recording, large, all, thread)
                            : take_group(recording, 0, large, thread);
    }
    to.group = group;
    if (group == detail::kNoGroup) {
        return;
    }
    Ring rings[kThreadRings];
    for (unsigned c = 0; c < kThreadRings; c++) {
        rings[c] = recording.ring(group, c);
        // relaxed: ours alone since take_group(). A former owner may have died inside a record.
        rings[c].control->open.store(0, std::memory_order_relaxed);
        // relaxed: likewise.
        rings[c].control->depth.store(0, std::memory_order_relaxed);
    }
    note_owner(recording, group, thread, name, rings);
    for (unsigned c = 0; c < kThreadRings; c++) {
        // `words` last: it is what writers look at, perhaps in a handler between these lines.
        const auto words = rings[c].words;
        rings[c].words = nullptr;
        to.rings[c] = rings[c];
        Atomics::signal_fence();
        to.rings[c].words = words;
    }
}

void give_back(Recording& recording, uint32_t group) {
    LiveState& live = recording.live();
    // relaxed: a ticket.
    const uint64_t order = live.freed_counter.fetch_add(1, std::memory_order_relaxed) + 1;
    // relaxed: a hint for take_group().
    live.group_freed[group].store(order, std::memory_order_relaxed);
    // release: our last record is in the ring. Pairs with take_group().
    live.group_owner[group].store(0, std::memory_order_release);
}

}  // namespace

namespace detail {

bool own_recording(const Mapping*& mapping, const FileHeader*& header) {
    Recording* const recording = recording_now();
    if (recording == nullptr) {
        return false;
    }
    mapping = &recording->mapping;
    header = &recording->header;
    return true;
}

bool append_dictionary(DictionaryKind kind, uint64_t key, std::string_view text) {
    Recording* const recording = recording_now();
    if (recording == nullptr) {
        return false;
    }
    const bool done = append_entry(*recording, kind, key, text);
    // Behind the main one: see copy_dictionary().
    for_each_more([&](Recording& r, unsigned) { append_entry(r, kind, key, text); });
    return done;
}

}  // namespace detail

namespace {

// An event may use up a quarter of the two rings kRare at once, and earns that again in ten minutes. A
// storm of failures has ended when they keep to this rate.
constexpr uint64_t kRateShare = 4;
constexpr uint64_t kRateSeconds = 600;

void open_common_rings(Recording& recording) {
    const FileHeader& header = recording.header;
    detail::CommonRings& common = recording.common;
    common.shared = recording.mapping.ring(header, shared_ring_index(header));
    for (unsigned i = 0; i < kRareRings; i++) {
        common.rare[i].ring = recording.mapping.ring(header, rare_ring_index(header, i));
    }
    common.rare[kFirstFailures.first].full_at = header.sizes.rare;
    const uint64_t slots = uint64_t{header.sizes.rare} * kRare.count / kRateShare;
    common.ticks_per_slot = std::max<uint64_t>(1, kRateSeconds * header.ticks_per_second / slots);
    common.most_ahead = common.ticks_per_slot * slots;
    common.over_rate = &recording.live().over_rate;
}

// Creates a recording that nobody writes to yet; null if that fails, and `error` says what, where and why.
std::unique_ptr<Recording> create(const Options& options, std::string& error) {
    const auto refuse = [&error](std::string why) {
        error = std::move(why);
        return nullptr;
    };
    if (options.large_threads + options.small_threads == 0 ||
        options.large_threads + options.small_threads > kMaxGroups) {
        return refuse("the recorder has rings for 1 to " + std::to_string(kMaxGroups) +
                      " threads, not " +
                      std::to_string(options.large_threads + options.small_threads));
    }
    if (!(format_fits(options.subject_format, "u") || format_fits(options.subject_format, "uu")) ||
        options.subject_format.size() >= sizeof FileHeader::subject_format) {
        return refuse("the format for subjects, \"" + options.subject_format +
                      "\", must have one or two %u and at most 23 characters");
    }
    if (options.size_bytes > kMaxFileBytes) {
        return refuse("a recorder of " + std::to_string(options.size_bytes) +
                      " bytes is too large: at most " + std::to_string(kMaxFileBytes));
    }
    auto recording = std::make_unique<Recording>();
    FileHeader& header = recording->header;
    header.page_bytes = static_cast<uint32_t>(sysconf(_SC_PAGESIZE));
    uint64_t least_bytes = 0;
    if (!lay_out(header, options, least_bytes)) {
        return refuse("a recorder of " + std::to_string(options.size_bytes) +
                      " bytes is too small for " +
                      std::to_string(options.large_threads + options.small_threads) +
                      " threads: it takes at least " + std::to_string(least_bytes));
    }
    error = open_memory(*recording, options);
    if (error.empty()) {
        error =
            recording->mapping.map(recording->fd, header, header.first_groups, true, options.touch);
        if (!error.empty()) {
            error = (options.path.empty() ? std::string("recorder memory") : options.path) + ": " +
                    error;
        }
    }
    if (!error.empty()) {
        if (!recording->path.empty()) {
            unlink(recording->path.c_str());
        }
        return nullptr;
    }
    const ClockKind clock = best_clock();
    header.magic = kMagic;
    header.version = kFormatVersion;
    header.byte_order = kByteOrderMark;
    header.clock_kind = static_cast<uint32_t>(clock);
    header.ticks_per_second = measure_ticks_per_second(clock, 50'000);
    header.start = read_anchor(clock);
    header.process_id = static_cast<uint32_t>(getpid());
#if defined(__x86_64__)
    header.machine = 1;
#elif defined(__aarch64__)
    header.machine = 2;
#endif
    set_build_id(header);
    std::string_view(program_invocation_short_name).copy(header.program, sizeof header.program - 1);
    options.subject_format.copy(header.subject_format, sizeof header.subject_format - 1);
    recording->number = ++g_recordings;
    recording->last_tick = header.start.ticks;
    open_common_rings(*recording);
    // relaxed: nobody reads it yet.
    recording->live().groups_ready.store(header.first_groups, std::memory_order_relaxed);
    store_anchor(recording->live(), header.start);
    return recording;
}

// The header last: a file without one was never finished.
void write_header(Recording& recording) {
    FileHeader& header = recording.header;
    header.checksum = checksum64(&header, sizeof header);
    std::memcpy(recording.mapping.at(0), &header, sizeof header);
    std::memcpy(recording.mapping.at(kHeaderBytes), &header, sizeof header);
}

// Marks the file as complete, unless a crash has been noted in it.
void close_in_order(Recording& recording) {
    store_anchor(recording.live(),
                 read_anchor(static_cast<ClockKind>(recording.header.clock_kind)));
    auto running = static_cast<uint64_t>(CrashState::running);
    // relaxed: a reader of a live file only shows it. A crash stays a crash.
    recording.live().crash_state.compare_exchange_strong(
        running, static_cast<uint64_t>(CrashState::closed), std::memory_order_relaxed);
}

// The caller holds g_control.
void stop(More& more) {
    more.categories.store(0, std::memory_order_relaxed);  // relaxed: sites may see it late
    more.number.store(0, std::memory_order_seq_cst);      // seq_cst: see More
    // seq_cst: see More; acquire is part of it: we see what the last writer wrote.
    while (more.users.load(std::memory_order_seq_cst) != 0) {
        sched_yield();  // a record takes nanoseconds; its thread may have lost its processor
    }
    renew_mask();
    close_in_order(*more.recording);
    delete more.recording;
    more.recording = nullptr;
}

}  // namespace

InitResult init(const Options& options) {
    if (g_recording != nullptr) {
        return {false, "the recorder is already running; shut it down first"};
    }
    std::string error;
    std::unique_ptr<Recording> recording = create(options, error);
    if (recording == nullptr) {
        return {false, std::move(error)};
    }
    // release: made, with its mapping. Pairs with recording_now().
    std::atomic_ref(g_recording).store(recording.release(), std::memory_order_release);
    // relaxed: sites that see it early find the recording not ready and try again.
    detail::g_recording_number.store(g_recording->number, std::memory_order_relaxed);
    for (unsigned i = 0; i < kEventCount; i++) {
        detail::append_dictionary(DictionaryKind::event, i, describe_event(kEvents[i]));
        // relaxed: published by the store of the mask below.
        detail::g_event_category[i].store(static_cast<uint8_t>(kEvents[i].category),
                                          std::memory_order_relaxed);
    }
    append_places();
    write_header(*g_recording);

    static const bool handles_fork = pthread_atfork(nullptr, nullptr, forget_in_child) == 0;
    (void)handles_fork;
    const bool is_monotonic =
        g_recording->header.clock_kind == static_cast<uint32_t>(ClockKind::monotonic_ns);
    // relaxed: published by the store of g_common below.
    detail::g_mode.store(is_monotonic ? detail::kMonotonicClock : 0u, std::memory_order_relaxed);
    // relaxed: likewise.
    detail::g_main_categories.store(options.categories & kAllCategories, std::memory_order_relaxed);
    // release: the rings are described completely. Pairs with put_rarely().
    detail::g_common.store(&g_recording->common, std::memory_order_release);
    // release: behind the stores above. A site loads the mask relaxed: one that sees the category and
    // not yet the recording finds g_common null (the acquire in put_rarely()) and writes nothing.
    detail::g_mask.categories.store(options.categories & kAllCategories, std::memory_order_release);
    return {true, {}};
}

StartResult start_recording(const Options& options) {
    const std::lock_guard lock(g_control);
    if (g_recording == nullptr) {
        return {0, "the recorder is not running"};
    }
    if (options.path.empty()) {
        return {0, "a recording beside the first needs a file"};
    }
    unsigned free = 0;
    // relaxed: written with g_control only.
    while (free < kMostMore && detail::g_more[free].number.load(std::memory_order_relaxed) != 0) {
        free++;
    }
    if (free == kMostMore) {
        return {0, "there are " + std::to_string(kMostMore) + " more recordings already: stop one"};
    }
    for (const More& more : detail::g_more) {
        // relaxed: as above.
        const bool is_there = more.number.load(std::memory_order_relaxed) != 0;
        if (options.path == g_recording->path ||
            (is_there && options.path == more.recording->path)) {
            return {0, options.path + ": is being recorded into"};
        }
    }
    // Rings for as many threads as there are now, and the same names for subjects.
    Options own = options;
    own.large_threads = g_recording->header.large_groups;
    own.small_threads = g_recording->ready_groups() - own.large_threads;
    own.subject_format = g_recording->header.subject_format;
    std::string error;
    std::unique_ptr<Recording> recording = create(own, error);
    if (recording == nullptr) {
        return {0, std::move(error)};
    }
    More& more = detail::g_more[free];
    more.recording = recording.release();
    more.common = &more.recording->common;
    const uint32_t number = more.recording->number;
    more.number.store(number, std::memory_order_seq_cst);  // seq_cst: see More
    copy_dictionary(*g_recording, *more.recording, more);
    write_header(*more.recording);
    // relaxed: sites may see it late.
    more.categories.store(options.categories & kAllCategories, std::memory_order_relaxed);
    renew_mask();
    MINIVM_EVENT(recording_starts, number, options.categories & kAllCategories,
                 std::string_view(options.path));
    return {number, {}};
}

bool stop_recording(unsigned id) {
    const std::lock_guard lock(g_control);
    for (More& more : detail::g_more) {
        // relaxed: written with g_control only.
        if (id != 0 && more.number.load(std::memory_order_relaxed) == id) {
            stop(more);
            MINIVM_EVENT(recording_stops, id);
            return true;
        }
    }
    return false;
}

std::vector<RecordingInfo> recordings() {
    const std::lock_guard lock(g_control);
    std::vector<RecordingInfo> all;
    const auto add = [&all](const Recording& r, uint32_t categories) {
        all.push_back({r.number, r.path, categories, r.header.file_bytes});
    };
    if (g_recording != nullptr) {
        add(*g_recording, categories());
    }
    for (const More& more : detail::g_more) {
        // relaxed, twice: written with g_control only.
        if (more.number.load(std::memory_order_relaxed) != 0) {
            add(*more.recording, more.categories.load(std::memory_order_relaxed));
        }
    }
    return all;
}

void detail::set_main_categories(uint32_t mask) {
    const std::lock_guard lock(g_control);
    g_main_categories.store(mask, std::memory_order_relaxed);  // relaxed: sites may see it late
    renew_mask();
}

detail::ThreadRings* detail::rings_in(unsigned index, uint32_t number) {
    ThreadState& state = thread_state();
    ThreadRings& mine = state.more[index];
    if (mine.recording != number) {
        // A thread without rings in the first recording has none here. And a signal handler may have
        // interrupted this very function.
        if (state.group == kNoGroup || state.attaching) {
            return nullptr;
        }
        state.attaching = true;
        Atomics::signal_fence();
        for (Ring& ring : mine.rings) {
            ring.words = nullptr;
        }
        take_rings(*g_more[index].recording, mine, system_thread_id(), state.name,
                   state.wants_large);
        Atomics::signal_fence();
        mine.recording = number;
        Atomics::signal_fence();
        state.attaching = false;
    }
    return mine.group == kNoGroup ? nullptr : &mine;
}

void shutdown() {
    if (g_recording == nullptr) {
        return;
    }
    detach_thread();
    const std::lock_guard lock(g_control);
    for (More& more : detail::g_more) {
        if (more.recording != nullptr) {
            stop(more);
        }
    }
    // relaxed: late sites write to memory that is still there, see below.
    detail::g_mask.categories.store(0, std::memory_order_relaxed);
    // relaxed: likewise.
    detail::g_main_categories.store(0, std::memory_order_relaxed);
    // relaxed: likewise.
    detail::g_common.store(nullptr, std::memory_order_relaxed);
    close_in_order(*g_recording);
    bool in_use = false;
    for (unsigned g = 0; g < g_recording->header.group_count; g++) {
        // acquire: a thread that has detached has written its last record. Pairs with give_back().
        in_use = in_use || live_state().group_owner[g].load(std::memory_order_acquire) != 0;
    }
    Recording* const last = g_recording;
    // release: pairs with recording_now().
    std::atomic_ref(g_recording).store(nullptr, std::memory_order_release);
    if (in_use) {
        // A thread that has not detached may have found it: it is not freed.
        last->mapping.abandon();
        g_left = last;
    } else {
        delete last;
    }
}

double ticks_per_second() {
    const Recording* const recording = recording_now();
    return recording == nullptr ? 1e9 : static_cast<double>(recording->header.ticks_per_second);
}

bool is_active() {
    return recording_now() != nullptr;
}

const std::string& file_path() {
    const Recording* const recording = recording_now();
    return recording == nullptr ? g_no_path : recording->path;
}

bool attach_thread(std::string_view name, RingSize size) {
    detail::ThreadState& state = detail::thread_state();
    std::memset(state.name, 0, sizeof state.name);
    name.copy(state.name, sizeof state.name - 1);
    state.wants_large = size == RingSize::large;
    Recording* const recording = recording_now();
    if (recording == nullptr) {
        return false;
    }
    const uint32_t thread = system_thread_id();
    state.thread_id = thread;
    if (state.group != detail::kNoGroup && state.recording == recording->number) {
        note_owner(*recording, state.group, thread, name, state.rings);
        MINIVM_EVENT(thread_start, thread, name);
        return true;
    }
    for (ThreadRings& more : state.more) {
        more.recording = more.group == detail::kNoGroup ? 0 : more.recording;
    }
    take_rings(*recording, state, thread, name, state.wants_large);
    state.rare_turn = state.group * detail::kRareTurn;  // so that threads begin with different rings
    state.recording = recording->number;
    t_end.armed = true;
    MINIVM_EVENT(thread_start, thread, name);
    grow_if_low(*recording);
    return state.group != detail::kNoGroup;
}

void detach_thread() {
    detail::ThreadState& state = detail::thread_state();
    // A thread that ends late may meet shutdown(), which leaves the recording mapped then.
    Recording* const recording = recording_now();
    const bool current = state.group != detail::kNoGroup && recording != nullptr &&
                         state.recording == recording->number;
    if (current) {
        MINIVM_EVENT(thread_end, system_thread_id());
    }
    for_each_more([&state](Recording& r, unsigned i) {
        ThreadRings& mine = state.more[i];
        if (mine.recording == r.number && mine.group != detail::kNoGroup) {
            // A handler that comes now uses the shared ring; so does the thread until it attaches again.
            const uint32_t group = mine.group;
            mine.group = detail::kNoGroup;
            Atomics::signal_fence();
            give_back(r, group);
        }
    });
    for (Ring& ring : state.rings) {
        ring.words = nullptr;
    }
    Atomics::signal_fence();
    if (current) {
        give_back(*recording, state.group);
    }
    state.group = detail::kNoGroup;
}

void tick() {
    Recording* const recording = recording_now();
    if (recording == nullptr) {
        return;
    }
    // The counter and not the system's clock: this stands in scheduling loops.
    const uint64_t now = read_clock(static_cast<ClockKind>(recording->header.clock_kind));
    std::atomic_ref<uint64_t> last(recording->last_tick);
    // relaxed: a rate limit; the exchange lets one thread through.
    uint64_t seen = last.load(std::memory_order_relaxed);
    // Counters of two processors may differ a little: an earlier `now` is no second.
    if (static_cast<int64_t>(now - seen) <
            static_cast<int64_t>(recording->header.ticks_per_second) ||
        !last.compare_exchange_strong(seen, now,
                                      std::memory_order_relaxed)) {  // relaxed: as above
        return;
    }
    const ClockAnchor anchor = read_anchor(static_cast<ClockKind>(recording->header.clock_kind));
    store_anchor(recording->live(), anchor);
    for_each_more([&anchor](Recording& r, unsigned) { store_anchor(r.live(), anchor); });
    MINIVM_EVENT(clock, anchor.monotonic_ns, anchor.wall_ns);
}

bool begin_crash(int signal) {
    Recording* const recording = recording_now();
    if (recording == nullptr) {
        return false;
    }
    LiveState& live = recording->live();
    auto expected = static_cast<uint64_t>(CrashState::running);
    // acquire: one thread gets it. Nothing else is ordered by it; the partner is this exchange on
    // other threads.
    if (!live.crash_state.compare_exchange_strong(
            expected, static_cast<uint64_t>(CrashState::crashing), std::memory_order_acquire)) {
        return false;
    }
    // relaxed: for readers after our death, or live ones that only show it.
    live.crash_signal.store(static_cast<uint64_t>(signal), std::memory_order_relaxed);
    // relaxed: likewise.
    live.crash_thread.store(system_thread_id(), std::memory_order_relaxed);
    const auto kind = static_cast<ClockKind>(recording->header.clock_kind);
    // relaxed: likewise.
    live.crash_ticks.store(read_clock(kind), std::memory_order_relaxed);
    store_anchor(live, read_anchor(kind));
    return true;
}

void append_crash_report(std::string_view text) {
    Recording* const recording = recording_now();
    if (recording == nullptr) {
        return;
    }
    LiveState& live = recording->live();
    // relaxed: only the owner of the crash writes it.
    const uint64_t used = live.crash_report_bytes.load(std::memory_order_relaxed);
    const uint64_t room = used < kCrashReportBytes ? kCrashReportBytes - used : 0;
    const uint64_t count = text.size() < room ? text.size() : room;
    std::memcpy(recording->mapping.at(recording->header.crash_offset + used), text.data(), count);
    // release: the bytes are there. Pairs with the acquire in Snapshot::read_crash_report().
    live.crash_report_bytes.store(used + count, std::memory_order_release);
}

void end_crash() {
    Recording* const recording = recording_now();
    if (recording == nullptr) {
        return;
    }
    // release: the report is complete. Pairs with Snapshot::read_live().
    recording->live().crash_state.store(static_cast<uint64_t>(CrashState::crashed),
                                        std::memory_order_release);
}

Totals totals() {
    Totals sum;
    if (g_recording == nullptr) {
        return sum;
    }
    const auto get = [](const Atomics::Word& word) {
        // relaxed: counters, for show.
        return word.load(std::memory_order_relaxed);
    };
    for (unsigned i = 0; i < g_recording->header.ring_count; i++) {
        const Control& c = *g_recording->mapping.control(g_recording->header, i);
        sum.written += get(c.records);
        sum.dropped += get(c.dropped_nesting) + get(c.dropped_lap) + get(c.abandoned_records) +
                       get(c.dropped_busy);
    }
    const LiveState& live = live_state();
    const uint64_t used = get(live.dictionary_used);
    const uint64_t room = g_recording->header.dictionary_bytes;
    sum.dictionary_used_bytes = used < room ? used : room;
    sum.dictionary_refused = get(live.dictionary_refused);
    return sum;
}

}  // namespace minivm::recorder
