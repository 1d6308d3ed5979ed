// Names in a recording: atoms, subjects, events, places.
#include "recorder/dictionary_walk.hpp"
#include "recorder/reader.hpp"

#include <algorithm>
#include <charconv>
#include <string>
#include <system_error>
#include <utility>

namespace minivm::recorder {

namespace {

std::vector<std::string_view> split(std::string_view text, char separator) {
    std::vector<std::string_view> parts;
    for (;;) {
        const size_t at = text.find(separator);
        parts.push_back(text.substr(0, at));
        if (at == text.npos) {
            return parts;
        }
        text.remove_prefix(at + 1);
    }
}

}  // namespace

void Dictionary::read(const Atomics::Word* words, uint64_t bytes) {
    damaged_bytes_ += walk_dictionary(
        words, 0, bytes / 8, [this](DictionaryKind kind, uint64_t key, std::string_view text) {
            entries_++;
            add(kind, key, text);
        });
    join_places();
    event_index_.assign(events_.empty() ? 0 : size_t{events_.rbegin()->first} + 1, nullptr);
    for (const auto& [id, schema] : events_) {
        event_index_[id] = &schema;
    }
}

void Dictionary::refuse(std::string what) {
    bad_entries_++;
    if (problems_.size() < kMostProblems) {
        problems_.push_back("entry " + std::to_string(entries_) +
                            " of the dictionary: " + std::move(what));
    }
}

void Dictionary::add_place(uint64_t key, std::string_view text) {
    const auto parts = split(text, '\0');
    const std::string what = "a place of event " + std::to_string(site_event(key));
    if (site_number(key) > kMaxPlace) {
        refuse(what + " has number " + std::to_string(site_number(key)) + ", above " +
               std::to_string(kMaxPlace));
        return;
    }
    if (parts.size() != 3) {
        refuse(what + " has " + std::to_string(parts.size()) +
               " parts and not file, line and function");
        return;
    }
    Place place;
    const std::string_view line = parts[1];
    const auto [end, wrong] = std::from_chars(line.data(), line.data() + line.size(), place.line);
    if (wrong != std::errc() || end != line.data() + line.size() || place.line == 0) {
        refuse(what + " has the line \"" + std::string(line) + "\", which is no number of a line");
        return;
    }
    if (parts[0].empty()) {
        refuse(what + " has no file");
        return;
    }
    place.number = static_cast<unsigned>(site_number(key));
    place.file = parts[0];
    place.function = parts[2];
    // A site may have been declared by two threads at once, or copied twice.
    auto& places = places_[site_event(key)];
    if (std::find(places.begin(), places.end(), place) == places.end()) {
        places.push_back(std::move(place));
    }
}

// Gives the places to their events. A place of an event that is not described is a problem.
void Dictionary::join_places() {
    for (auto& [id, places] : places_) {
        const auto event = events_.find(id);
        if (event == events_.end()) {
            bad_entries_++;
            if (problems_.size() < kMostProblems) {
                problems_.push_back("the dictionary has places of event " + std::to_string(id) +
                                    ", which it does not describe");
            }
            continue;
        }
        std::sort(places.begin(), places.end(), [](const Place& a, const Place& b) {
            return std::tie(a.number, a.file, a.line) < std::tie(b.number, b.file, b.line);
        });
        event->second.places = std::move(places);
    }
    places_.clear();
}

void Dictionary::add(DictionaryKind kind, uint64_t key, std::string_view text) {
    switch (kind) {
        case DictionaryKind::event: {
            const auto parts = split(text, '\0');
            if (parts.size() != 6 || key > UINT16_MAX) {
                refuse("event " + std::to_string(key) + " has " + std::to_string(parts.size()) +
                       " parts and not name, category, ring, kinds, arguments and format");
                return;
            }
            EventSchema schema;
            schema.name = parts[0];
            for (unsigned c = 0; c < kCategoryCount; c++) {
                if (parts[1] == kCategoryNames[c]) {
                    schema.category = static_cast<Category>(c);
                }
            }
            schema.kinds = parts[3];
            if (!parts[4].empty()) {
                for (const std::string_view name : split(parts[4], ',')) {
                    schema.argument_names.emplace_back(name);
                }
            }
            schema.argument_names.resize(schema.kinds.size());
            schema.format = parts[5];
            events_[static_cast<uint16_t>(key)] = std::move(schema);
            return;
        }
        case DictionaryKind::site:
            add_place(key, text);
            return;
        case DictionaryKind::function: {
            const auto parts = split(text, '\0');
            if (parts.size() == 3) {
                functions_[key] = std::string(parts[0]) + ":" + std::string(parts[1]) + "/" +
                                  std::string(parts[2]);
            } else {
                refuse("function " + std::to_string(key) + " has " + std::to_string(parts.size()) +
                       " parts and not module, function and arity");
            }
            return;
        }
        case DictionaryKind::atom:
            atoms_[key] = text;
            return;
        case DictionaryKind::subject:
            subjects_[key] = text;
            return;
        case DictionaryKind::string:
            strings_[key] = text;
            return;
    }
    refuse("there is no kind " + std::to_string(static_cast<unsigned>(kind)) + " of entries");
}

const EventSchema* Dictionary::event(uint16_t id) const {
    return id < event_index_.size() ? event_index_[id] : nullptr;
}

std::vector<uint32_t> Dictionary::subjects_named(std::string_view name) const {
    std::vector<uint32_t> ids;
    for (const auto& [id, text] : subjects_) {
        if (text.substr(0, text.rfind('<')) == name) {
            ids.push_back(static_cast<uint32_t>(id));
        }
    }
    return ids;
}

}  // namespace minivm::recorder
