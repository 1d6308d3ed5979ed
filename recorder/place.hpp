// Where a program records the events of events.def: file, line and function, for the reader.
//
// Each site defines a constant, and a pointer to it in the linker section minivm_places; init() walks
// the section and appends the places to the dictionary. A record costs no more for it: the number that
// tells the places of an event apart is part of the constant that names the event.
#pragma once

#include "recorder/events.hpp"
#include "recorder/record.hpp"

#include <cstdint>
#include <string_view>

namespace minivm::recorder {

struct EventPlace {
    EventId event;
    uint8_t number;  // as in the records of this place: 1 to kMaxPlace
    unsigned line;
    const char* file;
    const char* function;
};

namespace detail {

// Files are named from the root of the tree that this one belongs to, whatever the compiler was
// called with: no folder of the machine that built the program gets into a recording.
consteval size_t root_length(std::string_view file) {
    const std::string_view self = __FILE__;
    const std::string_view root = self.substr(0, self.size() - std::string_view("recorder/place.hpp").size());
    return file.starts_with(root) ? root.size() : 0;
}

// Lines of one file that are fewer than kMaxPlace apart never have the same number; two other places
// of one event may have the same one by chance, and a reader then names both.
consteval uint8_t place_number(std::string_view file, unsigned line) {
    uint32_t hash = 2166136261u;
    for (const char c : file.substr(root_length(file))) {
        hash = (hash ^ static_cast<unsigned char>(c)) * 16777619u;
    }
    return static_cast<uint8_t>(1 + ((hash >> 8) + line) % kMaxPlace);
}

}  // namespace detail

}  // namespace minivm::recorder

// Declares the constant `name`: this place, one of the event's. record(), record_coarse() and
// event_word() take it in place of an EventId. Only in a function that is neither inline nor a
// template, since a section cannot hold what the linker may have to merge. The pointer is not const,
// so that the section is writable also in programs whose addresses are fixed before they are loaded.
// retain: nothing refers to the pointer, and the linker may drop what is not used.
#define MINIVM_EVENT_PLACE(name, event_name)                                                      \
    static constexpr ::minivm::recorder::EventPlace name{                                         \
        ::minivm::recorder::EventId::event_name,                                                  \
        ::minivm::recorder::detail::place_number(__FILE__, __LINE__), __LINE__,                   \
        &__FILE__[::minivm::recorder::detail::root_length(__FILE__)], __func__};                  \
    [[gnu::section("minivm_places"), gnu::used, gnu::retain]] static constinit const ::minivm::   \
        recorder::EventPlace* name##_entry = &name
