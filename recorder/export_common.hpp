// What the exporters share. Not for users.
#pragma once

#include "recorder/export.hpp"
#include "recorder/format.hpp"
#include "recorder/merge.hpp"

#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

namespace minivm::recorder {

inline constexpr const char* kCannotWrite = "the output could not be written";

// Collects output and hands it on in large pieces.
class Output {
public:
    explicit Output(Sink& sink) : sink_(sink) {}

    bool flush_if_full() { return text.size() < kPiece || flush(); }
    bool flush() {
        good_ = good_ && sink_.write(text);
        text.clear();
        return good_;
    }
    // Hands on the rest. What has been exported, and whether all of it could be written.
    ExportResult finish(ExportResult result) {
        if (!flush()) {
            result.ok = false;
            result.error = kCannotWrite;
        }
        return result;
    }

    Text text;

private:
    static constexpr size_t kPiece = 256 * 1024;
    Sink& sink_;
    bool good_ = true;
};

// Decides which records pass a filter.
class Selection {
public:
    Selection(const Snapshot& snapshot, const Filter& filter, Formatter& formatter);
    bool accepts(const Record& record);

private:
    const Filter& filter_;
    Formatter& formatter_;
    uint64_t first_ticks_ = 0;
    bool everything_ = false;
    Text scratch_;
};

// Calls write(merged, index) for each record that passes, in order, and counts them; ends early when the
// output cannot be written.
template <class F>
void for_each_record(Merger& merger, Selection& selection, Output& output, ExportResult& result,
                     F&& write) {
    for (MergedRecord merged = merger.next(); merged.record != nullptr; merged = merger.next()) {
        if (selection.accepts(*merged.record)) {
            write(merged, merger.index() - 1);
            result.records++;
            if (!output.flush_if_full()) {
                return;
            }
        }
    }
}

// All places of a recording in one list, by event.
class PlaceTable {
public:
    struct Entry {
        uint16_t event;
        const Place* place;
    };
    explicit PlaceTable(const Dictionary& dictionary);

    const std::vector<Entry>& entries() const { return entries_; }
    // The index + 1 of where the record was made; 0 if the recording does not say, or does not say
    // which of two it was.
    unsigned of(const Record& record) const { return of(record.event_id, record.place()); }
    unsigned of(uint16_t event, unsigned number) const {
        const unsigned row = event < row_.size() ? row_[event] : 0;
        return row == 0 ? 0 : index_[(row - 1) * (kMaxPlace + 1) + number];
    }

private:
    std::vector<Entry> entries_;
    std::vector<uint32_t> row_;    // of an event, in index_; 0: it has no places
    std::vector<uint32_t> index_;  // by row and number
};

// Records as lines of text: index, seconds, thread, subject, event, message, place if asked for.
class LinePrinter {
public:
    LinePrinter(const Snapshot& snapshot, Formatter& formatter, bool places = false,
                bool time_of_day = false)
        : snapshot_(snapshot),
          formatter_(formatter),
          places_(places),
          time_of_day_(time_of_day) {}
    void append(Text& out, uint64_t index, const MergedRecord& merged);

private:
    void append_depth(Text& out, const Record& record);
    void append_time_of_day(Text& out, uint64_t ns);

    const Snapshot& snapshot_;
    Formatter& formatter_;
    const bool places_;
    const bool time_of_day_;
    uint64_t minute_ = 0;  // since 1970
    std::string minute_text_;
    Text thread_;  // of the line before: looked up again only when it changes
    const Owner* owner_ = nullptr;
    const RingContents* ring_ = nullptr;
    std::unordered_map<uint32_t, unsigned> depth_;  // of traced calls, by subject
};

// "2026-11-21 13:50:07.123456 UTC".
std::string wall_time(uint64_t ns);

// First and last stamp of all records; false if there are none.
bool time_window(const Snapshot& snapshot, uint64_t& first_ticks, uint64_t& last_ticks);

const char* crash_state_name(const Snapshot& snapshot);
// What is wrong with the dictionary, an entry each; empty if nothing is.
std::vector<std::string> dictionary_problems(const Snapshot& snapshot);
// The name of the thread that wrote the record, and a number for its lane.
std::string thread_name(const Snapshot& snapshot, const MergedRecord& merged);
unsigned thread_lane(const MergedRecord& merged);
// In these quotes, printable; quotes and backslashes in it stand behind a backslash.
void append_quoted(Text& out, std::string_view text, char quote);

}  // namespace minivm::recorder
