// The table of events: ids, categories, rings, argument kinds, formats.
//
// Everything is a constant: a call of record() with a constant id needs no table at run time. The
// same data goes into the dictionary of each file, so a file explains itself to a later reader.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string_view>

namespace minivm::recorder {

enum class Category : uint8_t {
    sched,
    message,
    gc,
    process,
    timer,
    code,
    io,
    dirty,
    user,
    trace,
    fault,
};
inline constexpr unsigned kCategoryCount = 11;
inline constexpr uint32_t kAllCategories = (1u << kCategoryCount) - 1;
inline constexpr const char* kCategoryNames[kCategoryCount] = {
    "sched", "message", "gc", "process", "timer", "code", "io", "dirty", "user", "trace", "fault"};

constexpr uint32_t category_bit(Category category) {
    return uint32_t{1} << static_cast<unsigned>(category);
}

// Frequent events evict only their like. Each thread has a ring of each class but the last: the whole
// program shares the rings for rare records, and a writer takes one that is free.
enum class RingClass : uint8_t { calls, scheduling, lifecycle, rare };
inline constexpr unsigned kRingClassCount = 4;  // a record has two bits for it
inline constexpr unsigned kThreadRings = 3;     // of one thread
inline constexpr const char* kRingClassNames[kRingClassCount] = {"calls", "scheduling", "lifecycle",
                                                                 "rare"};

enum class EventId : uint16_t {
#define EVENT(name, category, ring, kinds, names, format) name,
#include "recorder/events.def"
#undef EVENT
    count,
};
inline constexpr unsigned kEventCount = static_cast<unsigned>(EventId::count);
// Ids from here on belong to events that the program declares while it runs (recorder/site.hpp).
inline constexpr uint16_t kFirstSiteEvent = 1024;
static_assert(kEventCount <= kFirstSiteEvent);

struct EventInfo {
    const char* name;
    Category category;
    RingClass ring;
    std::string_view kinds;
    const char* argument_names;  // separated by commas
    const char* format;
};

inline constexpr EventInfo kEvents[kEventCount] = {
#define EVENT(name, category, ring, kinds, names, format) \
    {#name, Category::category, RingClass::ring, kinds, names, format},
#include "recorder/events.def"
#undef EVENT
};

constexpr const EventInfo& event_info(EventId id) {
    return kEvents[static_cast<size_t>(id)];
}

// One conversion of a printf-like format.
struct Conversion {
    size_t begin = 0;  // of the '%'
    size_t end = 0;    // behind the letter
    char letter = 0;
};

// The next conversion at or behind `from`; letter 0 if there is none, '?' if it is not one of ours.
// Length modifiers are accepted and mean nothing: every argument is a 64-bit word.
constexpr Conversion next_conversion(std::string_view format, size_t from) {
    for (size_t i = from; i < format.size(); i++) {
        if (format[i] != '%') {
            continue;
        }
        if (i + 1 < format.size() && format[i + 1] == '%') {
            i++;
            continue;
        }
        size_t j = i + 1;
        while (j < format.size() &&
               std::string_view("-+ #0123456789.hlLqjzt").find(format[j]) != format.npos) {
            j++;
        }
        const char letter = j < format.size() ? format[j] : '?';
        const bool known = std::string_view("diuxXopfFeEgGaAcs").find(letter) != format.npos;
        return {i, known ? j + 1 : format.size(), known ? letter : '?'};
    }
    return {format.size(), format.size(), 0};
}

constexpr bool kind_is_known(char kind) {
    return std::string_view("uixfpamstwnvekg").find(kind) != std::string_view::npos;
}

// Whether a conversion can show an argument of this kind.
constexpr bool conversion_fits(char letter, char kind) {
    const std::string_view integers = "diuxXopc";
    const std::string_view floats = "fFeEgGaA";
    switch (kind) {
        case 'u':
        case 'i':
        case 'x':
        case 'w':
            return integers.find(letter) != integers.npos;
        case 'f':
            return floats.find(letter) != floats.npos;
        case 'p':
        case 'a':
        case 'm':
        case 's':
        case 't':
        case 'n':
        case 'v':
        case 'e':
        case 'k':
        case 'g':
            return letter == 's';
        default:
            return false;
    }
}

constexpr bool format_fits(std::string_view format, std::string_view kinds) {
    size_t at = 0;
    for (const char kind : kinds) {
        const Conversion conversion = next_conversion(format, at);
        if (!kind_is_known(kind) || !conversion_fits(conversion.letter, kind)) {
            return false;
        }
        at = conversion.end;
    }
    return next_conversion(format, at).letter == 0;
}

constexpr size_t count_names(std::string_view names) {
    size_t count = names.empty() ? 0 : 1;
    for (const char c : names) {
        count += c == ',' ? 1 : 0;
    }
    return count;
}

// Index of the first event whose format or names do not fit its kinds; kEventCount if all do.
constexpr size_t first_bad_event() {
    for (size_t i = 0; i < kEventCount; i++) {
        const EventInfo& event = kEvents[i];
        if (!format_fits(event.format, event.kinds) ||
            count_names(event.argument_names) != event.kinds.size()) {
            return i;
        }
    }
    return kEventCount;
}
static_assert(first_bad_event() == kEventCount, "an event's format or names do not fit its kinds");

}  // namespace minivm::recorder
