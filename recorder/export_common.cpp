#include "recorder/export_common.hpp"

#include <algorithm>
#include <cstdio>
#include <cstring>
#include <ctime>

namespace minivm::recorder {

std::string wall_time(uint64_t ns) {
    const auto seconds = static_cast<time_t>(ns / 1'000'000'000);
    tm parts{};
    char text[64];
    if (gmtime_r(&seconds, &parts) == nullptr ||
        strftime(text, sizeof text, "%F %T", &parts) == 0) {
        return "?";
    }
    char fraction[16];
    std::snprintf(fraction, sizeof fraction, ".%06u", static_cast<unsigned>(ns / 1000 % 1'000'000));
    return std::string(text) + fraction + " UTC";
}

void append_quoted(Text& out, std::string_view text, char quote) {
    Text clean;
    append_printable(clean, text);
    out += quote;
    for (const char c : clean.view()) {
        if (c == quote || c == '\\') {
            out += '\\';
        }
        out += c;
    }
    out += quote;
}

PlaceTable::PlaceTable(const Dictionary& dictionary) {
    for (const auto& [id, schema] : dictionary.events()) {
        if (schema.places.empty()) {
            continue;
        }
        if (row_.size() <= id) {
            row_.resize(size_t{id} + 1);
        }
        const size_t row = index_.size();
        row_[id] = static_cast<uint32_t>(row / (kMaxPlace + 1) + 1);
        index_.resize(row + kMaxPlace + 1);
        unsigned previous = kMaxPlace + 1;
        for (const Place& place : schema.places) {
            entries_.push_back({id, &place});
            index_[row + place.number] =
                place.number == previous ? 0 : static_cast<uint32_t>(entries_.size());
            previous = place.number;
        }
    }
}

std::vector<std::string> dictionary_problems(const Snapshot& snapshot) {
    const Dictionary& dictionary = snapshot.dictionary();
    std::vector<std::string> problems;
    if (dictionary.damaged_bytes() != 0) {
        problems.push_back(std::to_string(dictionary.damaged_bytes()) + " bytes of the dictionary");
    }
    problems.insert(problems.end(), dictionary.problems().begin(), dictionary.problems().end());
    if (dictionary.bad_entries() > dictionary.problems().size()) {
        problems.push_back(std::to_string(dictionary.bad_entries() - dictionary.problems().size()) +
                           " more entries of the dictionary");
    }
    return problems;
}

namespace {

void pad_to(Text& out, size_t column) {
    const size_t spaces = out.size() < column ? column - out.size() : 1;
    // One store of more than is wanted instead of a loop.
    constexpr std::string_view kSpaces = "                                                    ";
    std::memcpy(out.room(kSpaces.size()), kSpaces.data(), kSpaces.size());
    out.advance(std::min(spaces, kSpaces.size()));
}

}  // namespace

// "13:50:07.123456", here and now. The hour is looked up again only when the minute changes.
void LinePrinter::append_time_of_day(Text& out, uint64_t ns) {
    const uint64_t seconds = ns / 1'000'000'000;
    if (seconds / 60 != minute_ || minute_text_.empty()) {
        minute_ = seconds / 60;
        const auto at = static_cast<time_t>(seconds);
        tm parts{};
        char text[16];
        localtime_r(&at, &parts);
        std::snprintf(text, sizeof text, "%02d:%02d:", parts.tm_hour % 100, parts.tm_min % 100);
        minute_text_ = text;
    }
    char rest[16];
    std::snprintf(rest, sizeof rest, "%02u.%06u", static_cast<unsigned>(seconds % 60),
                  static_cast<unsigned>(ns / 1000 % 1'000'000));
    out += minute_text_;
    out += rest;
}

// What happens between a traced call and its return stands two columns to the right of it.
void LinePrinter::append_depth(Text& out, const Record& record) {
    const auto event = static_cast<EventId>(record.event());
    const bool opens = event == EventId::call_framed || event == EventId::call_arity_framed ||
                       event == EventId::call_extra_framed;
    const bool closes = event == EventId::return_from || event == EventId::exception_from ||
                        event == EventId::unwound;
    const bool inside =
        event == EventId::call || event == EventId::call_arity || event == EventId::call_extra;
    if (!opens && !closes && !inside) {
        return;
    }
    unsigned& depth = depth_[record.subject()];
    if (closes && depth > 0) {
        --depth;
    }
    constexpr unsigned kShown = 40;
    out.append(2 * std::min(depth, kShown), ' ');
    if (opens) {
        ++depth;
    }
}

void LinePrinter::append(Text& out, uint64_t index, const MergedRecord& merged) {
    const Record& record = *merged.record;
    const Owner* owner = snapshot_.owner_of(*merged.ring, record);
    if (owner != owner_ || (owner == nullptr && merged.ring != ring_)) {
        thread_.clear();
        append_printable(thread_, thread_name(snapshot_, merged));
        ring_ = merged.ring;
        owner_ = owner;
    }
    const size_t line = out.size();
    append_unsigned(out, index);
    pad_to(out, line + 8);
    if (time_of_day_) {
        append_time_of_day(out, snapshot_.wall_ns(record.ticks));
    } else {
        append_seconds(out, snapshot_.since_start_ns(record.ticks));
    }
    out += (record.flags() & kFlagCoarse) != 0 ? "~ " : "  ";
    out += thread_.view();
    pad_to(out, line + 36);
    if (record.subject() != 0) {
        formatter_.append_subject(out, record.subject());
    } else {
        out += '-';
    }
    pad_to(out, line + 48);
    formatter_.append_event(out, record);
    pad_to(out, line + 72);
    append_depth(out, record);
    formatter_.append_message(out, record);
    if (places_) {
        const size_t before = out.size();
        out += "  (";
        const size_t begin = out.size();
        formatter_.append_place(out, record);
        out.size() == begin ? out.cut(before) : void(out += ')');
    }
    out += (record.flags() & kFlagNested) != 0 ? "  (in a signal handler)\n" : "\n";
}

bool time_window(const Snapshot& snapshot, uint64_t& first_ticks, uint64_t& last_ticks) {
    first_ticks = UINT64_MAX;
    last_ticks = 0;
    for (const RingContents& ring : snapshot.rings()) {
        if (!ring.records.empty()) {
            first_ticks = std::min(first_ticks, ring.records.front().order_ticks);
            last_ticks = std::max(last_ticks, ring.records.back().order_ticks);
        }
    }
    return first_ticks <= last_ticks;
}

Selection::Selection(const Snapshot& snapshot, const Filter& filter, Formatter& formatter)
    : filter_(filter), formatter_(formatter) {
    uint64_t first = 0;
    uint64_t last = 0;
    if (filter.last_ns != 0 && time_window(snapshot, first, last)) {
        const double seconds = static_cast<double>(filter.last_ns) * 1e-9;
        const double ticks = seconds * static_cast<double>(snapshot.header().ticks_per_second);
        first_ticks_ = ticks >= static_cast<double>(last) ? 0 : last - static_cast<uint64_t>(ticks);
    }
    everything_ = first_ticks_ == 0 && filter.subjects.empty() && filter.categories == kAllCategories &&
                  filter.match.empty() && filter.without.empty();
}

bool Selection::accepts(const Record& record) {
    if (everything_) {
        return true;
    }
    if (record.order_ticks < first_ticks_ ||
        std::find(filter_.without.begin(), filter_.without.end(), record.subject()) !=
            filter_.without.end()) {
        return false;
    }
    const EventSchema* schema = formatter_.schema(record);
    if (schema != nullptr && (filter_.categories & category_bit(schema->category)) == 0) {
        return false;
    }
    const auto is_wanted = [this](uint64_t subject) {
        return std::find(filter_.subjects.begin(), filter_.subjects.end(), subject) !=
               filter_.subjects.end();
    };
    if (!filter_.subjects.empty() && !is_wanted(record.subject())) {
        bool named = false;
        const unsigned count = schema == nullptr ? 0 : Formatter::usable_arguments(record, *schema);
        for (unsigned i = 0; i < count; i++) {
            named = named || (schema->kinds[i] == 'p' && is_wanted(record.argument(i)));
        }
        if (!named) {
            return false;
        }
    }
    if (!filter_.match.empty()) {
        scratch_.clear();
        formatter_.append_message(scratch_, record);
        return scratch_.view().find(filter_.match) != std::string::npos;
    }
    return true;
}

const char* crash_state_name(const Snapshot& snapshot) {
    switch (snapshot.crash_state()) {
        case CrashState::running:
            return snapshot.writer_is_alive() ? "running" : "killed, or cut off from its file";
        case CrashState::closed:
            return "closed";
        case CrashState::crashing:
            return "died while it handled a crash";
        case CrashState::crashed:
            return "crashed";
    }
    return "unknown";
}

std::string thread_name(const Snapshot& snapshot, const MergedRecord& merged) {
    const Owner* owner = snapshot.owner_of(*merged.ring, *merged.record);
    if (owner != nullptr) {
        return owner->name;
    }
    if (is_common_group(merged.ring->group)) {
        return "shared";
    }
    return "thread ring " + std::to_string(merged.ring->group);
}

unsigned thread_lane(const MergedRecord& merged) {
    constexpr unsigned kNoThread = 9999;
    const unsigned group =
        merged.ring->group == kRareGroup ? merged.record->writer_group : merged.ring->group;
    return group < kMaxGroups ? group + 1 : kNoThread;
}

std::string ring_name(const Snapshot& snapshot, const RingContents& ring) {
    if (ring.group == kSharedGroup) {
        return "shared";
    }
    if (ring.group == kRareGroup) {
        const unsigned i = ring.index - rare_ring_index(snapshot.header(), 0);
        const auto numbered = [i](const char* name, RareRings rings) {
            return name + std::to_string(i - rings.first + 1);
        };
        return i < kFailures.first   ? "failures/first"
               : i < kRare.first     ? numbered("failures/", kFailures)
               : i < kRareMany.first ? numbered("rare/", kRare)
                                     : numbered("rare/many/", kRareMany);
    }
    const Owner* owner = snapshot.owner_of(ring, ring.ledger.reserved_slots);
    return (owner == nullptr ? "thread ring " + std::to_string(ring.group) : owner->name) + "/" +
           kRingClassNames[static_cast<unsigned>(ring.ring_class)];
}

}  // namespace minivm::recorder
