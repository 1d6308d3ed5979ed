// Events that a program declares where it records them, with a printf-like format:
//
//     MINIVM_RECORD(user, calls, "move %d from %s to %s", n, from, to);
//
// The format is checked against the types of the arguments at compile time: %d %i %u %x %o %c take
// integers and enums, %p pointers, %f %e %g floating-point numbers, %s text (copied into the
// record). Nothing is formatted when recording; the format goes into the dictionary once, with
// file, line and function.
#pragma once

#include "recorder/recorder.hpp"

#include <array>
#include <atomic>
#include <cstdint>
#include <string_view>

namespace minivm::recorder {

// declare_event() makes a new event, whose id is valid for the recording in progress; 0 if nothing is
// recorded, the format does not fit, or ids or dictionary are used up. Thread-safe and safe in signal
// handlers; call it once for each event. Kinds as in events.def.
struct EventDeclaration {
    std::string_view name;
    Category category = Category::user;
    RingClass ring = RingClass::scheduling;
    std::string_view kinds;
    std::string_view argument_names;  // separated by commas; may be empty
    std::string_view format;
    std::string_view file;  // empty: unknown
    unsigned line = 0;
    std::string_view function;
};
uint16_t declare_event(const EventDeclaration& declaration);

// Records an event of declare_event(). The caller answers for the number and kinds of the
// arguments.
template <class... Args>
inline void record_declared(uint16_t id, Category category, RingClass ring, Args... args) {
    if (id != 0 && enabled(category)) {
        detail::write_any(pack_event(id, static_cast<unsigned>(ring), sizeof...(Args)), args...);
    }
}

namespace detail {

// Counts recordings, so that a site declares itself anew in each.
inline constinit std::atomic<uint32_t> g_recording_number{0};

struct Site {
    std::atomic<uint64_t> id{0};  // recording number << 16 | event id
    EventDeclaration declaration;
};
uint16_t declare_site(Site& site);

[[gnu::always_inline]] inline uint16_t site_id(Site& site) {
    // relaxed: id and number stand in one word; the dictionary entry was complete before the id was
    // stored.
    const uint64_t id = site.id.load(std::memory_order_relaxed);
    // relaxed: a stale number makes the record fall into the old recording, which is gone or ends.
    if ((id >> 16) == g_recording_number.load(std::memory_order_relaxed)) [[likely]] {
        return static_cast<uint16_t>(id);
    }
    return declare_site(site);
}

// The kind of an argument by its type and the letter it is shown with.
template <class T>
constexpr char kind_of(char letter) {
    if (kIsText<T>) {
        return 't';
    }
    if (std::is_floating_point_v<T>) {
        return 'f';
    }
    if (letter == 'x' || letter == 'X' || letter == 'p' || letter == 'o') {
        return 'x';
    }
    return letter == 'd' || letter == 'i' ? 'i' : 'u';
}

void the_format_does_not_fit_the_arguments();

// Kinds of a format and its arguments, as text that lives as long as the program.
template <class... Args>
struct Kinds {
    std::array<char, sizeof...(Args) + 1> letters{};
    // NOLINTNEXTLINE(google-explicit-constructor): made from the format in place.
    consteval Kinds(std::string_view format) {
        size_t at = 0;
        size_t i = 0;
        [[maybe_unused]] const auto take = [&]<class T>(T*) {
            const Conversion conversion = next_conversion(format, at);
            const char kind = kind_of<T>(conversion.letter);
            if (!conversion_fits(conversion.letter, kind)) {
                the_format_does_not_fit_the_arguments();
            }
            letters[i++] = kind;
            at = conversion.end;
        };
        (take(static_cast<Args*>(nullptr)), ...);
        if (next_conversion(format, at).letter != 0) {
            the_format_does_not_fit_the_arguments();
        }
    }
};

}  // namespace detail

}  // namespace minivm::recorder

// The types are those of the arguments after decay; they are not evaluated while the category is
// off.
#define MINIVM_RECORD(category_name, ring_name, format_text, ...)                               \
    do {                                                                                        \
        namespace mr = ::minivm::recorder;                                                      \
        static constexpr const char* mr_function = __func__;                                    \
        if (mr::enabled(mr::Category::category_name)) {                                         \
            const auto mr_write = [](auto... mr_args) {                                         \
                static constexpr mr::detail::Kinds<decltype(mr_args)...> mr_kinds(format_text); \
                static constinit mr::detail::Site mr_site{                                      \
                    {},                                                                         \
                    {"", mr::Category::category_name, mr::RingClass::ring_name,                 \
                     std::string_view(mr_kinds.letters.data(), sizeof...(mr_args)), "",         \
                     format_text, &__FILE__[mr::detail::root_length(__FILE__)], __LINE__,       \
                     mr_function}};                                                             \
                mr::record_declared(mr::detail::site_id(mr_site), mr::Category::category_name,  \
                                    mr::RingClass::ring_name, mr_args...);                      \
            };                                                                                  \
            mr_write(__VA_ARGS__);                                                              \
        }                                                                                       \
    } while (false)
