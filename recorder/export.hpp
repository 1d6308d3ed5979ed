// A snapshot as text, JSON lines, Chrome and Perfetto JSON, Erlang terms, or a CTF 1.8 trace.
//
// Every output opens with the window that was retained, the loss table and the damaged regions.
#pragma once

#include "recorder/reader.hpp"

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace minivm::recorder {

// Which records an exporter shows; the default is all of them.
struct Filter {
    uint64_t last_ns = 0;  // only this long before the newest record; 0: no limit
    // Records about one of these, or that name one in an argument; none: all.
    std::vector<uint32_t> subjects;
    uint32_t categories = kAllCategories;
    std::string match;  // only records whose message contains it
    std::vector<uint32_t> without;  // no records about these
    // Lines of text and terms also say where the program recorded them. The other forms always do.
    bool places = false;
    // export_lines(): the local time of day instead of seconds since the beginning.
    bool time_of_day = false;
};

// Takes the output piece by piece.
class Sink {
public:
    virtual ~Sink() = default;
    virtual bool write(std::string_view bytes) = 0;
};

class StringSink : public Sink {
public:
    bool write(std::string_view bytes) override {
        text += bytes;
        return true;
    }
    std::string text;
};

struct ExportResult {
    bool ok = true;
    uint64_t records = 0;  // shown
    std::string error;
};

ExportResult export_text(const Snapshot& snapshot, const Filter& filter, Sink& sink);

// How far a follower of a recording has come: the next position of each ring.
struct Cursor {
    std::vector<uint64_t> next;
    uint64_t missed_slots = 0;  // overwritten before they were seen
};
// Only the lines of export_text(), of records behind the cursor, which then moves to the end; at most
// the last `most` of them. An empty cursor is in front of everything.
ExportResult export_lines(const Snapshot& snapshot, const Filter& filter, size_t most,
                          Cursor* cursor, Sink& sink);
// One JSON object a line: first {"type":"recording",...}, then {"type":"record",...} each. The
// "place" of a record is an index in the "places" of the first.
ExportResult export_json(const Snapshot& snapshot, const Filter& filter, Sink& sink);
// The trace event format: one lane a thread and a subject, arrows from sends to receives.
ExportResult export_perfetto(const Snapshot& snapshot, const Filter& filter, Sink& sink);
// Terms for file:consult/1.
ExportResult export_terms(const Snapshot& snapshot, const Filter& filter, Sink& sink);
// A directory, which is created: `metadata` and one stream a ring.
ExportResult export_ctf(const Snapshot& snapshot, const Filter& filter,
                        const std::string& directory);

// The ring's name in the table of losses: thread/class, or the name of a ring that all threads share.
std::string ring_name(const Snapshot& snapshot, const RingContents& ring);

// What went wrong, for people: the report of the fault handler, what was running at the end, and each
// process that failed with its stack and its last records (`records` of each).
ExportResult export_crash(const Snapshot& snapshot, unsigned records, Sink& sink);

}  // namespace minivm::recorder
