// Names in the dictionary of a recording: atoms, functions, processes, events and their places.
#include "recorder/recording_state.hpp"
#include "recorder/site.hpp"

#include <algorithm>
#include <string_view>

namespace minivm::recorder {

namespace {

// The section of MINIVM_EVENT_PLACE; the linker gives its ends these names.
extern "C" {
// NOLINTBEGIN(bugprone-reserved-identifier)
[[gnu::visibility("hidden")]] extern const EventPlace* __start_minivm_places[];
[[gnu::visibility("hidden")]] extern const EventPlace* __stop_minivm_places[];
// NOLINTEND(bugprone-reserved-identifier)
}

// Pieces of text, each ended by a zero byte, in a fixed buffer: this may run in a signal handler.
class EntryText {
public:
    void append(std::string_view piece, size_t limit) {
        used_ +=
            piece.copy(text_ + used_, std::min({piece.size(), limit, sizeof text_ - 1 - used_}));
    }
    void append(unsigned value) {
        char digits[12];
        size_t at = sizeof digits;
        do {
            digits[--at] = static_cast<char>('0' + value % 10);
            value /= 10;
        } while (value != 0);
        append(std::string_view(digits + at, sizeof digits - at), sizeof digits);
    }
    void end_piece() { text_[used_++] = '\0'; }
    // Without the zero byte of the last piece.
    std::string_view view() const { return {text_, used_ - 1}; }

private:
    char text_[1024];
    size_t used_ = 0;
};

void append_place(uint16_t event, unsigned number, std::string_view file, unsigned line,
                  std::string_view function) {
    EntryText text;
    text.append(file, 400);
    text.end_piece();
    text.append(line);
    text.end_piece();
    text.append(function, 200);
    text.end_piece();
    detail::append_dictionary(DictionaryKind::site, pack_site_key(event, number), text.view());
}

}  // namespace

// The linker may lay pieces of the section apart; there are zeros between them then.
void detail::append_places() {
    for (const EventPlace* const* p = __start_minivm_places; p != __stop_minivm_places; p++) {
        if (*p != nullptr) {
            append_place(static_cast<uint16_t>((*p)->event), (*p)->number, (*p)->file, (*p)->line,
                         (*p)->function);
        }
    }
}

void define_atom(uint64_t id, std::string_view text) {
    detail::append_dictionary(DictionaryKind::atom, id, text);
}

void define_function(uint64_t id, std::string_view module, std::string_view function,
                     unsigned arity) {
    // A fixed buffer: this may run in a signal handler.
    char text[600];
    size_t used = 0;
    const auto add = [&](std::string_view part) {
        used += part.copy(text + used, part.size() < 256 ? part.size() : 256);
        text[used++] = '\0';
    };
    add(module);
    add(function);
    char digits[12];
    size_t count = 0;
    do {
        digits[count++] = static_cast<char>('0' + arity % 10);
        arity /= 10;
    } while (arity != 0);
    while (count > 0) {
        text[used++] = digits[--count];
    }
    detail::append_dictionary(DictionaryKind::function, id, std::string_view(text, used));
}

void define_subject(uint32_t subject, std::string_view name) {
    detail::append_dictionary(DictionaryKind::subject, subject, name);
}

void define_string(uint64_t id, std::string_view text) {
    detail::append_dictionary(DictionaryKind::string, id, text);
}

uint16_t declare_event(const EventDeclaration& declaration) {
    detail::Recording* const recording = detail::recording_now();
    if (recording == nullptr || !format_fits(declaration.format, declaration.kinds) ||
        declaration.kinds.size() > kMaxPayloadWords) {
        return 0;
    }
    // relaxed: a ticket.
    const uint32_t id = recording->next_event.fetch_add(1, std::memory_order_relaxed);
    if (id > UINT16_MAX) {
        return 0;
    }
    // relaxed: in place before anybody has the id.
    detail::g_event_category[id].store(static_cast<uint8_t>(declaration.category),
                                       std::memory_order_relaxed);
    EntryText text;
    const auto add = [&text](std::string_view piece, size_t limit) {
        text.append(piece, limit);
        text.end_piece();
    };
    if (declaration.name.empty()) {
        // Named after the place: file.cpp:12.
        const size_t slash = declaration.file.rfind('/');
        const std::string_view base =
            declaration.file.substr(slash == declaration.file.npos ? 0 : slash + 1);
        text.append(base, 60);
        text.append(":", 1);
        text.append(declaration.line);
        text.end_piece();
    } else {
        add(declaration.name, 64);
    }
    add(kCategoryNames[static_cast<unsigned>(declaration.category)], 32);
    add(kRingClassNames[static_cast<unsigned>(declaration.ring)], 32);
    add(declaration.kinds, kMaxPayloadWords);
    if (declaration.argument_names.empty()) {
        // a0,a1,...
        for (unsigned i = 0; i < declaration.kinds.size(); i++) {
            text.append(i == 0 ? "a" : ",a", 2);
            text.append(i);
        }
        text.end_piece();
    } else {
        add(declaration.argument_names, 200);
    }
    constexpr size_t kMostOfFormat = 400;
    const bool is_cut = declaration.format.size() > kMostOfFormat;
    text.append(declaration.format, is_cut ? kMostOfFormat - 3 : kMostOfFormat);
    text.append(is_cut ? "..." : "", 3);
    text.end_piece();
    if (!detail::append_dictionary(DictionaryKind::event, id, text.view())) {
        return 0;  // a record that cannot be explained is worth nothing; the refusal is counted
    }
    if (!declaration.file.empty()) {
        append_place(static_cast<uint16_t>(id), 0, declaration.file, declaration.line,
                     declaration.function);
    }
    return static_cast<uint16_t>(id);
}

uint16_t detail::declare_site(Site& site) {
    // relaxed: only compared with itself.
    const uint32_t number = g_recording_number.load(std::memory_order_relaxed);
    const uint16_t id = declare_event(site.declaration);
    // Two threads may both declare the event: two entries say the same, and the later id stays. An id
    // of 0 stays too, so that a full dictionary is not tried again at each record. release: the entry
    // is complete. No partner in the program: readers of the file pair with the entry.
    site.id.store((uint64_t{number} << 16) | id, std::memory_order_release);
    return id;
}

}  // namespace minivm::recorder
