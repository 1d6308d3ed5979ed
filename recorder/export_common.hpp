// What the exporters share. Not for users.
#pragma once

#include "recorder/export.hpp"
#include "recorder/format.hpp"
#include "recorder/merge.hpp"

#include <string>
#include <unordered_map>
#include <string_view>

namespace minivm::recorder {

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

// Records as lines of text: index, seconds, thread, subject, event, message.
class LinePrinter {
public:
    LinePrinter(const Snapshot& snapshot, Formatter& formatter)
        : snapshot_(snapshot), formatter_(formatter) {}
    void append(Text& out, uint64_t index, const MergedRecord& merged);

private:
    void append_depth(Text& out, const Record& record);

    const Snapshot& snapshot_;
    Formatter& formatter_;
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
std::string ring_name(const Snapshot& snapshot, const RingContents& ring);
std::string thread_name(const Snapshot& snapshot, const RingContents& ring, uint64_t position);
inline constexpr const char* kCannotWrite = "the output could not be written";

}  // namespace minivm::recorder
