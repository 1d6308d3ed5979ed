// The flight recorder: what happened just before.
//
//     recorder::init({});                                   // once, before other threads record
//     recorder::attach_thread("scheduler 1", recorder::RingSize::large);
//     MINIVM_EVENT(sched_in, pid, reductions);              // an event of events.def, with its place
//
// Only the calling thread and its signal handlers write to the thread's rings: no lock, no bus lock,
// no system call, no allocation, and nobody ever waits. New records overwrite old ones. Rare records
// go to a few rings of the whole program: a writer takes one that is free.
// A call whose category is off costs a load and a branch. record() may be called in a signal
// handler, before init(), after shutdown() and on threads that never attached (they share one ring,
// at a higher price).
//
// With a file the rings outlive the process, whatever kills it; recorder/reader.hpp reads them,
// also while they are being written. The design and the reasons: docs/protocols/recorder.md.
#pragma once

#include "recorder/events.hpp"
#include "recorder/place.hpp"
#include "recorder/record.hpp"
#include "recorder/value.hpp"

#include <atomic>
#include <bit>
#include <cstdint>
#include <string>
#include <string_view>
#include <type_traits>
#include <vector>

namespace minivm::recorder {

namespace detail {
// One word of its own cache line that is read at every site and hardly ever written.
struct alignas(64) Mask {
    std::atomic<uint32_t> categories{0};
};
inline constinit Mask g_mask;
}  // namespace detail

[[gnu::always_inline]] inline bool enabled(Category category) {
    // relaxed: a site may see a change late; nothing else depends on it. Partner: set_categories().
    return (detail::g_mask.categories.load(std::memory_order_relaxed) & category_bit(category)) !=
           0;
}

// Sets the categories of the recording of init() for all threads, and records the change. Returns
// the old mask.
uint32_t set_categories(uint32_t mask);
uint32_t categories();
// Stores the category of that name in `out`; false if there is none.
bool category_from_name(std::string_view name, Category& out);

// Stands for the subject whose two numbers are 0.
inline constexpr uint32_t kSubjectZero = 0xf0000000;

enum class RingSize : uint8_t {
    large,  // a scheduler: many records a second
    small,  // a helper thread
};

struct Options {
    // Where the file goes; empty: memory only. A file is the dump: it is created 0600, never
    // through a link, and stays when the process dies.
    std::string path;
    // Of everything: header, dictionary and rings.
    uint64_t size_bytes = uint64_t{13} << 19;
    // Rings for this many busy threads, and for this many others.
    unsigned large_threads = 2;
    unsigned small_threads = 12;
    // When few rings are free, a worker adds rings for as many threads again, up to this many in
    // all; their memory comes on top of size_bytes.
    unsigned spare_threads = 64;
    uint32_t categories = kAllCategories;
    // How readers show a subject that has no name in the dictionary: one %u, or two, which are then
    // its low 28 bits and the rest; at most 23 characters. Subject 0 means nobody; a program that
    // has a subject 0.0 records it as kSubjectZero.
    std::string subject_format = "#%u";
    // An older file of that name is kept as PATH.1, PATH.1 as PATH.2 and so on, this many; 0
    // removes it.
    unsigned keep_old = 3;
    // Touch each page at once: no page fault while recording, at the price of start-up time and
    // resident memory. A file has its space allocated in any case, so with a full disk init()
    // fails and no SIGBUS comes later.
    bool touch = false;
};

struct InitResult {
    bool ok = false;
    std::string error;  // what, where and why, if not ok
};

// Starts recording. If the file cannot be created, nothing is recorded and the error says why; the
// caller may try again without a path. Not thread-safe; a second init() without shutdown() is
// refused.
InitResult init(const Options& options);
// Ends recording and marks the file as closed in good order. Threads that are still attached may be
// inside record(): the memory then stays mapped. Threads without rings of their own may not.
void shutdown();
bool is_active();
// The path of the file being written; empty in memory-only mode.
const std::string& file_path();

// Starts one more recording beside that of init(), with a file, a size and categories of its own; at
// most three at a time. It has rings for as many threads as that of init() has now, and the same
// format for subjects. A site is on if any recording takes its category, and writes to each that
// does; no writer waits for a start or a stop. Threads: any, but not in a signal handler; the same
// holds for the two functions below.
struct StartResult {
    unsigned id = 0;    // for stop_recording(); 0: not started
    std::string error;  // what, where and why
};
StartResult start_recording(const Options& options);
// Waits for the records that are being written to that recording, ends it and closes its file; false
// if no recording has the id. The recording of init() ends with shutdown().
bool stop_recording(unsigned id);

struct RecordingInfo {
    unsigned id = 0;
    std::string path;
    uint32_t categories = 0;
    uint64_t size_bytes = 0;
};
// The recording of init() comes first.
std::vector<RecordingInfo> recordings();

// Gives the calling thread rings of its own until it ends or detaches. False if none are free: the
// thread then writes to the shared ring. When few are free, a worker makes the pool larger. The rings
// freed longest ago are taken first, so records of dead threads stay as long as possible. Calling it
// again renames the thread.
bool attach_thread(std::string_view name, RingSize size = RingSize::small);
void detach_thread();

// Sets the subject of this thread's following records, e.g. the process that a scheduler runs; 0 is
// nobody.
void set_subject(uint32_t subject);
uint32_t subject();

// A number for something that one thread hands to another, such as a message, so that a reader can
// tie the receiver's record to the sender's. Unique until about 2^32 have been given out; never 0.
uint32_t new_flow();

// The time stamp of the thread's last full record, in ticks; 0 before the first. The difference of
// two tells how long something took between two records, without reading the clock again.
uint64_t last_stamp();
// Makes the thread's following coarse records not earlier than now. Called after something has come
// from another thread.
void renew_stamp();
// Reads the clock of the records. Cheaper than a system call where it is the processor's counter.
uint64_t read_ticks();
double ticks_per_second();

// Call it now and then (each second is plenty): records the clocks if a second has passed, which
// lets a reader turn ticks into time exactly.
void tick();

namespace detail {

using Word = uint64_t;

// Out of line so that a site stays small; the jump hides behind the time stamp.
// `event` is the low half of word 2: event, ring, number of arguments.
void write1(uint64_t event, Word a);
void write4(uint64_t event, Word a, Word b, Word c, Word d);
void write_words(uint64_t event, unsigned flags, const Word* words, unsigned count);
struct TextArgument {
    unsigned argument;
    std::string_view text;
};
// Fills in the words of the text arguments.
void write_text(uint64_t event, Word* words, unsigned count, const TextArgument* texts,
                unsigned text_count);
void write_coarse1(uint64_t event, Word a);
void write_coarse4(uint64_t event, Word a, Word b, Word c, Word d);

constexpr uint64_t event_word(EventId id, unsigned place = 0) {
    const EventInfo& info = event_info(id);
    return pack_event(static_cast<uint16_t>(id), static_cast<unsigned>(info.ring),
                      static_cast<unsigned>(info.kinds.size()), place);
}
consteval uint64_t event_word(const EventPlace& place) {
    return event_word(place.event, place.number);
}

template <class T>
constexpr Word to_word(T value) {
    if constexpr (std::is_pointer_v<T>) {
        return reinterpret_cast<Word>(value);
    } else if constexpr (std::is_floating_point_v<T>) {
        return std::bit_cast<Word>(static_cast<double>(value));
    } else if constexpr (std::is_enum_v<T>) {
        return static_cast<Word>(static_cast<std::underlying_type_t<T>>(value));
    } else {
        static_assert(std::is_integral_v<T>, "record() takes numbers, enums, pointers and text");
        return static_cast<Word>(value);
    }
}

template <class T>
inline constexpr bool kIsText = std::is_convertible_v<T, std::string_view>;
template <class T>
inline constexpr bool kIsValue = std::is_same_v<T, Value>;

// Not constexpr on purpose: a consteval constructor that reaches one does not compile, and the
// compiler's message names it.
void record_has_wrong_number_of_arguments();
void record_has_text_where_the_event_has_none_or_the_reverse();
void record_has_float_where_the_event_has_none_or_the_reverse();
void record_has_value_where_the_event_has_none_or_the_reverse();

// An event id that is a constant and whose kinds fit the arguments of this call.
template <class... Args>
struct CheckedEvent {
    uint64_t word;
    Category category;
    // NOLINTNEXTLINE(google-explicit-constructor): stands for the id in the argument list.
    consteval CheckedEvent(EventId event)
        : word(event_word(event)), category(event_info(event).category) {
        check(event_info(event).kinds);
    }
    // NOLINTNEXTLINE(google-explicit-constructor): likewise.
    consteval CheckedEvent(const EventPlace& place)
        : word(event_word(place)), category(event_info(place.event).category) {
        check(event_info(place.event).kinds);
    }
    static consteval void check(std::string_view kinds) {
        if (kinds.size() != sizeof...(Args)) {
            record_has_wrong_number_of_arguments();
        }
        const bool is_text[] = {kIsText<Args>..., false};
        const bool is_float[] = {std::is_floating_point_v<Args>..., false};
        const bool is_value[] = {kIsValue<Args>..., false};
        for (unsigned i = 0; i < kinds.size(); i++) {
            if ((kinds[i] == 't') != is_text[i]) {
                record_has_text_where_the_event_has_none_or_the_reverse();
            }
            if ((kinds[i] == 'f') != is_float[i]) {
                record_has_float_where_the_event_has_none_or_the_reverse();
            }
            if ((kinds[i] == 'v' || kinds[i] == 'e' || kinds[i] == 'g') != is_value[i]) {
                record_has_value_where_the_event_has_none_or_the_reverse();
            }
        }
    }
};

template <class... Args>
[[gnu::always_inline]] inline void write_any(uint64_t event, Args... args) {
    constexpr unsigned kCount = sizeof...(Args);
    constexpr unsigned kTexts = (0u + ... + (kIsText<Args> || kIsValue<Args> ? 1u : 0u));
    if constexpr (kTexts != 0) {
        static_assert(kCount <= kMaxPayloadWords, "a record holds at most 29 words");
        Word words[kCount] = {};
        TextArgument texts[kTexts];
        unsigned w = 0;
        unsigned t = 0;
        const auto take = [&](const auto& value) {
            if constexpr (kIsText<decltype(value)>) {
                texts[t++] = {w++, value};
            } else if constexpr (kIsValue<std::decay_t<decltype(value)>>) {
                texts[t++] = {w++, value.bytes()};
            } else {
                words[w++] = to_word(value);
            }
        };
        (take(args), ...);
        write_text(event, words, kCount, texts, kTexts);
    } else if constexpr (kCount <= 1) {
        const Word words[1] = {to_word(args)...};
        write1(event, words[0]);
    } else if constexpr (kCount <= 4) {
        const Word words[4] = {to_word(args)...};
        write4(event, words[0], words[1], words[2], words[3]);
    } else {
        static_assert(kCount <= kMaxPayloadWords, "a record holds at most 29 words");
        const Word words[kCount] = {to_word(args)...};
        write_words(event, 0, words, kCount);
    }
}

}  // namespace detail

// Records an event of events.def. The arguments are checked against its kinds at compile time:
// numbers, enums and pointers as words, text (const char*, std::string_view, std::string) and values
// copied, cut at 200 bytes or so.
template <class... Args>
[[gnu::always_inline]] inline void record(std::type_identity_t<detail::CheckedEvent<Args...>> event,
                                          Args... args) {
    if (enabled(event.category)) [[likely]] {
        detail::write_any(event.word, args...);
    }
}

// The same with the time of an earlier record of the thread, at most 128 records back: for events
// so frequent that the time stamp is most of their cost. At most four arguments, no text.
template <class... Args>
[[gnu::always_inline]] inline void record_coarse(
    std::type_identity_t<detail::CheckedEvent<Args...>> event, Args... args) {
    static_assert(sizeof...(Args) <= 4, "record_coarse() takes at most four arguments");
    static_assert(!((detail::kIsText<Args> || detail::kIsValue<Args>) || ...),
                  "record_coarse() takes no text");
    if (enabled(event.category)) [[likely]] {
        const detail::Word words[4 + 1] = {detail::to_word(args)..., 0};
        if constexpr (sizeof...(Args) <= 1) {
            detail::write_coarse1(event.word, words[0]);
        } else {
            detail::write_coarse4(event.word, words[0], words[1], words[2], words[3]);
        }
    }
}

// record() and record_coarse() that also tell the reader where the program records the event. Only in
// functions that are neither inline nor templates (recorder/place.hpp).
#define MINIVM_EVENT(event_name, ...)                                    \
    do {                                                                 \
        MINIVM_EVENT_PLACE(mr_place, event_name);                        \
        ::minivm::recorder::record(mr_place __VA_OPT__(, ) __VA_ARGS__); \
    } while (false)
#define MINIVM_EVENT_COARSE(event_name, ...)                                    \
    do {                                                                        \
        MINIVM_EVENT_PLACE(mr_place, event_name);                               \
        ::minivm::recorder::record_coarse(mr_place __VA_OPT__(, ) __VA_ARGS__); \
    } while (false)

// For the handler of a fatal signal, where all three are safe. The rings need no help: they are in
// the file already. One thread owns the crash: begin_crash() is true for the first thread that calls
// it and false for all others, and for that thread itself if it faults again. The report is the
// handler's text, up to 16 KiB in all.
bool begin_crash(int signal);
void append_crash_report(std::string_view text);
void end_crash();

// While it lives, the rare records of this thread stand next to each other in one ring of each recording;
// together they count as one record of `slots` slots against the rate of `event`. Keep it short: it keeps
// other threads out of that ring. One at a time on a thread, not in signal handlers.
class Batch {
public:
    Batch(EventId event, unsigned slots);
    ~Batch();
    Batch(const Batch&) = delete;
    Batch& operator=(const Batch&) = delete;

private:
    bool is_outermost_ = false;
};

// Names for the reader, appended to the dictionary of the file. Call each when the named thing is
// created, before the first record that mentions it; never on a hot path. A full dictionary refuses
// and counts names, and readers show raw ids. Thread-safe, and safe in signal handlers.
void define_atom(uint64_t id, std::string_view text);
// id: below 2^kFunctionBits.
void define_function(uint64_t id, std::string_view module, std::string_view function,
                     unsigned arity);
void define_subject(uint32_t subject, std::string_view name);
void define_string(uint64_t id, std::string_view text);

// Counters of the recording of init() so far, summed over all rings; a reader has them for each ring
// (Ledger).
struct Totals {
    uint64_t written = 0;
    uint64_t dropped = 0;
    uint64_t dictionary_used_bytes = 0;
    uint64_t dictionary_refused = 0;
};
Totals totals();

}  // namespace minivm::recorder
