// Records as people and programs read them: printf-like formats applied when a file is read.
#pragma once

#include "recorder/reader.hpp"
#include "recorder/text.hpp"

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace minivm::recorder {

class Formatter {
public:
    explicit Formatter(const Snapshot& snapshot);

    // The message of the record's format, with its arguments in.
    void append_message(Text& out, const Record& record);
    // One argument by itself, as append_message() shows it with %s or a plain number.
    void append_argument(Text& out, const Record& record, char kind, unsigned i) const;
    void append_subject(Text& out, uint64_t subject) const;
    // The subject's number in the file's format, even if it has a name.
    void append_plain_subject(Text& out, uint64_t subject) const;

    // The bytes of a text argument; nothing if the record claims bytes it does not have.
    std::string_view text_argument(const Record& record, unsigned i) const;
    // How many of the schema's arguments the record really has.
    static unsigned usable_arguments(const Record& record, const EventSchema& schema);
    const EventSchema* schema(const Record& record) const {
        return snapshot_.dictionary().event(record.event());
    }
    // "category name", printable.
    void append_event(Text& out, const Record& record);
    // "file:line in function" of the place that wrote the record; all that it may be, if there are
    // several, and nothing if the recording does not say.
    void append_place(Text& out, const Record& record) const;
    const char* category(const Record& record) const;
    std::string_view event_name(const Record& record);

private:
    struct Segment {
        std::string literal;  // in front of the conversion
        std::string spec;     // with flags and width, for snprintf; empty: the plain way
        char letter = 0;      // 0: no conversion, the literal ends the format
        bool hex = false;
    };
    struct Compiled {
        bool ready = false;
        std::string event;  // what append_event() writes
        std::vector<Segment> segments;
    };
    const Compiled& compiled(uint16_t event, const EventSchema& schema);

    const Snapshot& snapshot_;
    std::vector<Compiled> compiled_;
    Text scratch_;
    std::string unknown_name_;
    void append_value(Text& out, std::string_view bytes) const;
    void append_arguments(Text& out, std::string_view bytes) const;
    void append_event_text(Text& out, std::string_view bytes) const;

    std::string subject_prefix_;  // around the number of a subject without a name
    std::string subject_middle_;  // between its two numbers, if the format has two
    std::string subject_suffix_;
    bool subject_has_two_ = false;
};

// "file:line in function", printable.
void append_place(Text& out, const Place& place);
void append_unsigned(Text& out, uint64_t value);
void append_signed(Text& out, int64_t value);
void append_hex(Text& out, uint64_t value);
// 1.234567890, of nanoseconds.
void append_seconds(Text& out, int64_t ns);
// "1.5 ms" and the like.
void append_duration(Text& out, uint64_t ns);
// A JSON string with its quotes; bytes that are no UTF-8 become U+FFFD.
void append_json_string(Text& out, std::string_view text);
// Text for a terminal: control characters and bad bytes as \xHH.
void append_printable(Text& out, std::string_view text);

}  // namespace minivm::recorder
