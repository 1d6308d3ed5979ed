// What the exporters write: the text by its words, JSON by a strict reader, CTF by its structure.
#include "recorder/export.hpp"

#include "recorder/format.hpp"
#include "recorder/recording.hpp"
#include "recorder/site.hpp"
#include "tools/report.hpp"

#include <catch2/catch.hpp>

#include <unistd.h>

#include <cctype>
#include <cmath>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <limits>
#include <map>
#include <string>
#include <vector>

using namespace minivm::recorder;

namespace {

// A JSON reader that takes the grammar of RFC 8259 and nothing else; counts the objects of arrays.
class Json {
public:
    explicit Json(std::string_view text) : text_(text) {}
    bool is_document() {
        const bool good = value(0);
        space();
        return good && at_ == text_.size();
    }
    uint64_t objects() const { return objects_; }

private:
    char peek() const { return at_ < text_.size() ? text_[at_] : '\0'; }
    bool take(char c) {
        if (peek() != c) {
            return false;
        }
        at_++;
        return true;
    }
    void space() {
        while (at_ < text_.size() && std::strchr(" \t\r\n", text_[at_]) != nullptr) {
            at_++;
        }
    }
    bool word(std::string_view w) {
        if (text_.substr(at_, w.size()) != w) {
            return false;
        }
        at_ += w.size();
        return true;
    }
    bool digits() {
        const size_t begin = at_;
        while (std::isdigit(static_cast<unsigned char>(peek())) != 0) {
            at_++;
        }
        return at_ > begin;
    }
    bool number() {
        take('-');
        if (!take('0') && !digits()) {
            return false;
        }
        if (take('.') && !digits()) {
            return false;
        }
        if (peek() == 'e' || peek() == 'E') {
            at_++;
            if (peek() == '+' || peek() == '-') {
                at_++;
            }
            return digits();
        }
        return true;
    }
    bool string() {
        if (!take('"')) {
            return false;
        }
        while (at_ < text_.size() && text_[at_] != '"') {
            const auto c = static_cast<unsigned char>(text_[at_++]);
            if (c < 0x20) {
                return false;
            }
            if (c == '\\') {
                const char e = peek();
                at_++;
                if (e == 'u') {
                    for (int i = 0; i < 4; i++, at_++) {
                        if (std::isxdigit(static_cast<unsigned char>(peek())) == 0) {
                            return false;
                        }
                    }
                } else if (std::strchr("\"\\/bfnrt", e) == nullptr || e == '\0') {
                    return false;
                }
            }
        }
        return take('"');
    }
    bool value(int depth) {
        space();
        if (depth > 50) {
            return false;
        }
        if (take('{')) {
            objects_++;
            space();
            if (take('}')) {
                return true;
            }
            do {
                space();
                if (!string()) {
                    return false;
                }
                space();
                if (!take(':') || !value(depth + 1)) {
                    return false;
                }
                space();
            } while (take(','));
            return take('}');
        }
        if (take('[')) {
            space();
            if (take(']')) {
                return true;
            }
            do {
                if (!value(depth + 1)) {
                    return false;
                }
                space();
            } while (take(','));
            return take(']');
        }
        if (peek() == '"') {
            return string();
        }
        return word("true") || word("false") || word("null") || number();
    }

    std::string_view text_;
    size_t at_ = 0;
    uint64_t objects_ = 0;
};

std::vector<std::string> lines_of(const std::string& text) {
    std::vector<std::string> lines;
    size_t at = 0;
    while (at < text.size()) {
        const size_t end = text.find('\n', at);
        lines.push_back(text.substr(at, end - at));
        at = end == text.npos ? text.size() : end + 1;
    }
    return lines;
}

uint64_t count_of(const std::string& text, std::string_view part) {
    uint64_t count = 0;
    for (size_t at = text.find(part); at != text.npos; at = text.find(part, at + part.size())) {
        count++;
    }
    return count;
}

// A small program with two processes, recorded.
void record_something() {
    Options options;
    options.spare_threads = 0;
    options.subject_format = "<0.%u.0>";
    REQUIRE(init(options).ok);
    REQUIRE(attach_thread("scheduler \"1\"", RingSize::large));
    define_atom(1, "error");
    define_atom(2, "it's\n");
    define_function(3, "lists", "map", 2);
    define_string(4, "atoms");
    define_subject(90, "logger");
    set_subject(80);
    record(EventId::sched_in, 80, 4000);
    record(EventId::spawn, 81, 80, 3);
    record(EventId::send, 81, 0xabc, 12);
    record(EventId::link, 80, 90);
    record(EventId::register_name, 80, 2);
    record(EventId::gc_minor_start, 80, 233, 10);
    record(EventId::gc_minor_end, 80, 100, 133, 233, 1'234'567);
    record(EventId::limit_near, 4, 900, 1000);
    record(EventId::exit, 80, 1, "{badmatch,\"\xff\x01\"}");
    record(EventId::sched_out, 80, 17, 2);
    set_subject(81);
    record(EventId::sched_in, 81, 4000);
    record(EventId::receive, 80, 0xabc, 0);
    record(EventId::span_begin, 7, "work");
    record(EventId::span_end, 7);
    MINIVM_RECORD(user, rare, "%s is %.3f, %d of %u (%#x), %5d|%-5d|%05d", "pi", 3.14159, -1, 2u,
                  255, 42, 42, 42);
    MINIVM_RECORD(user, rare, "%f %f 100%%", std::numeric_limits<double>::infinity(), std::nan(""));
    record(EventId::io_read, -1, -9, 2'000'000'000);
    record(EventId::sched_out, 81, 5, 0);
    set_subject(0);
}

Snapshot own_snapshot() {
    Snapshot snapshot;
    std::string error;
    REQUIRE(snapshot.read_own(error));
    return snapshot;
}

}  // namespace

TEST_CASE("the text output says what happened, in order, with names and units") {
    record_something();
    const Snapshot snapshot = own_snapshot();
    StringSink sink;
    const ExportResult result = export_text(snapshot, {}, sink);
    shutdown();
    REQUIRE(result.ok);
    CHECK(result.records == 19);
    const std::vector<std::string> expected = {
        "user thread_start ",
        "in: <0.80.0>, 4000 reductions left",
        "spawn: <0.81.0> by <0.80.0>, runs lists:map/2",
        "send to <0.81.0>, flow 0xabc, 12 words",
        "link: <0.80.0> with logger",
        "register: <0.80.0> as it's\\x0a",
        "minor gc of <0.80.0> starts: heap 233, need 10",
        "minor gc of <0.80.0> ends: live 100, freed 133, heap 233, took 1.234 ms",
        "limit nearly reached: atoms, 900 of 1000",
        "exit: <0.80.0>, error {badmatch,\"\\xff\\x01\"}",
        "out: <0.80.0> after 17 reductions, state 0x2",
        "in: <0.81.0>, 4000 reductions left",
        "receive from <0.80.0>, flow 0xabc, 0 left in the queue",
        "span 0x7 begins: work",
        "span 0x7 ends",
        "pi is 3.142, -1 of 2 (0xff),    42|42   |00042",
        "inf nan 100%",
        "io: read of -1 gives -9, took 2 s",
        "out: <0.81.0> after 5 reductions, state 0",
    };
    std::vector<std::string> records;
    for (const std::string& line : lines_of(sink.text)) {
        if (line[0] != '#') {
            records.push_back(line);
        }
    }
    REQUIRE(records.size() == expected.size());
    for (size_t i = 0; i < expected.size(); i++) {
        INFO(records[i]);
        CHECK(records[i].find(expected[i]) != std::string::npos);
        CHECK(std::stoul(records[i]) == i);
    }
    // The window and the loss table come first.
    CHECK(sink.text.find("# recording of ") == 0);
    CHECK(sink.text.find("# window: ") != std::string::npos);
    CHECK(count_of(sink.text, "scheduler \"1\"/") == 2);
}

TEST_CASE("every line of the JSON output is a JSON document") {
    record_something();
    const Snapshot snapshot = own_snapshot();
    StringSink sink;
    REQUIRE(export_json(snapshot, {}, sink).ok);
    shutdown();
    const std::vector<std::string> lines = lines_of(sink.text);
    REQUIRE(lines.size() == 20);
    for (const std::string& line : lines) {
        INFO(line);
        CHECK(Json(line).is_document());
    }
    CHECK(lines[0].find("\"type\":\"recording\"") != std::string::npos);
    // Where the clock is coarse, records of two rings may change places: found by content.
    CHECK(sink.text.find("\"args\":{\"process\":81,\"parent\":80,\"function\":\"lists:map/2\"}") !=
          std::string::npos);
    CHECK(sink.text.find("\"a0\":null,\"a1\":null") != std::string::npos);
    CHECK(sink.text.find("\"descriptor\":-1,\"result\":-9,\"time\":2000000000") !=
          std::string::npos);
}

TEST_CASE("the timeline is one JSON document with balanced boxes and an arrow for each message") {
    record_something();
    record(EventId::sched_in, 82, 1);  // a box that stays open
    const Snapshot snapshot = own_snapshot();
    StringSink sink;
    REQUIRE(export_perfetto(snapshot, {}, sink).ok);
    shutdown();
    CHECK(Json(sink.text).is_document());
    CHECK(count_of(sink.text, "\"ph\":\"B\"") == count_of(sink.text, "\"ph\":\"E\""));
    CHECK(count_of(sink.text, "\"ph\":\"B\"") == 7);  // three processes in two lanes each, one gc
    CHECK(count_of(sink.text, "\"ph\":\"s\"") == 1);
    CHECK(count_of(sink.text, "\"ph\":\"f\"") == 1);
    CHECK(count_of(sink.text, "\"id\":\"0xabc\"") == 2);
    CHECK(count_of(sink.text, "\"ph\":\"b\"") == 1);
    CHECK(count_of(sink.text, "\"ph\":\"e\"") == 1);
    CHECK(count_of(sink.text, "{\"name\":\"logger\"}") == 0);  // it never ran
    CHECK(count_of(sink.text, "{\"name\":\"<0.80.0>\"}") == 1);
}

TEST_CASE("filters by time, subject, category and text") {
    record_something();
    const Snapshot snapshot = own_snapshot();
    shutdown();
    const auto shown = [&](const Filter& filter) {
        StringSink sink;
        const ExportResult result = export_text(snapshot, filter, sink);
        REQUIRE(result.ok);
        return result.records;
    };
    Filter filter;
    CHECK(shown(filter) == 19);
    filter.categories = category_bit(Category::gc);
    CHECK(shown(filter) == 2);
    filter = {};
    filter.match = "<0.81.0>";
    CHECK(shown(filter) == 4);
    filter = {};
    filter.subjects = {90};
    CHECK(shown(filter) == 1);
    filter.subjects = {81};
    CHECK(shown(filter) == 10);  // eight of its own, its spawn and the send to it
    filter = {};
    filter.last_ns = 1;
    CHECK(shown(filter) >= 1);
    CHECK(shown(filter) < 19);
    filter.last_ns = 3600'000'000'000;
    CHECK(shown(filter) == 19);
}

namespace {

// Walks the packets of a CTF stream; returns the number of events by id, from their sizes in the
// schema.
struct CtfStream {
    uint64_t packets = 0;
    uint64_t events = 0;
    uint64_t discarded = 0;
    std::vector<unsigned> places;  // of each event
    bool good = true;
};

CtfStream walk_ctf(const std::string& bytes, const Dictionary& dictionary) {
    CtfStream stream;
    size_t at = 0;
    const auto u32 = [&](size_t offset) {
        uint32_t value = 0;
        std::memcpy(&value, bytes.data() + offset, 4);
        return value;
    };
    const auto u64 = [&](size_t offset) {
        uint64_t value = 0;
        std::memcpy(&value, bytes.data() + offset, 8);
        return value;
    };
    uint64_t last_ns = 0;
    while (at < bytes.size() && stream.good) {
        const uint64_t packet_bytes = u64(at + 32) / 8;
        stream.good = u32(at) == 0xC1FC1FC1 && packet_bytes >= 68 &&
                      at + packet_bytes <= bytes.size() && u64(at + 48) == stream.packets;
        if (!stream.good) {
            return stream;
        }
        stream.packets++;
        stream.discarded = u64(at + 56);
        size_t event = at + 68;
        while (event < at + packet_bytes) {
            const uint32_t id = u32(event);
            const uint64_t ns = u64(event + 4);
            stream.good = stream.good && ns >= last_ns;
            last_ns = ns;
            uint16_t place = 0;
            std::memcpy(&place, bytes.data() + event + 18, 2);
            stream.places.push_back(place);
            event += 20;
            const EventSchema* schema = dictionary.event(static_cast<uint16_t>(id));
            if (schema == nullptr) {
                stream.good = false;
                return stream;
            }
            for (const char kind : schema->kinds) {
                event += std::string_view("amstvekg").find(kind) != std::string_view::npos
                             ? std::strlen(bytes.c_str() + event) + 1
                             : 8;
            }
            stream.events++;
        }
        stream.good = stream.good && event == at + packet_bytes;
        at += packet_bytes;
    }
    return stream;
}

}  // namespace

TEST_CASE("the CTF output has the records we count and the losses we count") {
    record_something();
    const uint64_t message[] = {pack_value(ValueTag::tuple, 2), pack_value(ValueTag::atom, 1),
                                pack_value(ValueTag::subject, 80)};
    record(EventId::send_message, 81, 1, 3, Value(message, 3));
    MINIVM_EVENT(note, "with its place");
    const unsigned line = __LINE__ - 1;
    for (uint64_t i = 0; i < 100'000; i++) {
        record(EventId::trace_call, 3, "some arguments");
    }
    const Snapshot snapshot = own_snapshot();
    shutdown();
    const std::string directory =
        std::filesystem::temp_directory_path() / ("recorder_ctf_" + std::to_string(getpid()));
    std::filesystem::remove_all(directory);
    const ExportResult result = export_ctf(snapshot, {}, directory);
    INFO(result.error);
    REQUIRE(result.ok);
    CHECK(result.records == snapshot.totals().decoded_records);
    uint64_t events = 0;
    uint64_t messages = 0;
    std::map<unsigned, uint64_t> places;
    for (const RingContents& ring : snapshot.rings()) {
        const std::string path = directory + "/ring_" + std::to_string(ring.index);
        if (!std::filesystem::exists(path)) {
            CHECK(ring.ledger.reserved_slots == 0);
            continue;
        }
        std::ifstream file(path, std::ios::binary);
        const std::string bytes((std::istreambuf_iterator<char>(file)),
                                std::istreambuf_iterator<char>());
        const CtfStream stream = walk_ctf(bytes, snapshot.dictionary());
        CHECK(stream.good);
        CHECK(stream.events == ring.ledger.decoded_records);
        CHECK(stream.discarded == ring.ledger.missing_records());
        events += stream.events;
        for (const unsigned place : stream.places) {
            places[place]++;
        }
        messages += count_of(bytes, "{error,<0.80.0>}");
    }
    CHECK(events == result.records);
    CHECK(messages == 1);
    std::ifstream file(directory + "/metadata");
    const std::string metadata((std::istreambuf_iterator<char>(file)),
                               std::istreambuf_iterator<char>());
    CHECK(metadata.rfind("/* CTF 1.8 */", 0) == 0);
    // The record that has a place, by the label of its number.
    const size_t label = metadata.find("\"tests/recorder/export_test.cpp:" + std::to_string(line));
    REQUIRE(label != metadata.npos);
    const size_t number = metadata.find(" = ", label) + 3;
    CHECK(places[static_cast<unsigned>(std::stoul(metadata.substr(number)))] == 1);
    CHECK(places[0] > 1000);
    CHECK(count_of(metadata, "event {") == snapshot.dictionary().events().size() + 1);
    // A directory that is there is not written into.
    const ExportResult again = export_ctf(snapshot, {}, directory);
    CHECK_FALSE(again.ok);
    CHECK(again.error.find(directory) == 0);
    std::filesystem::remove_all(directory);
}

TEST_CASE("a follower goes on when the pool of rings has grown since its cursor was made") {
    record_something();
    const Snapshot snapshot = own_snapshot();
    shutdown();
    Cursor everything;
    StringSink all;
    REQUIRE(export_lines(snapshot, {}, 1000, &everything, all).ok);
    Cursor shorter;
    shorter.next = {0};
    StringSink behind;
    REQUIRE(export_lines(snapshot, {}, 1000, &shorter, behind).ok);
    CHECK(all.text != "");
    CHECK(behind.text == all.text);
    CHECK(shorter.next == everything.next);
    CHECK(shorter.missed_slots == 0);
}

TEST_CASE("no output reads beyond a record that claims more arguments than it has") {
    Options options;
    options.spare_threads = 0;
    REQUIRE(init(options).ok);
    REQUIRE(attach_thread("main", RingSize::large));
    // As a damaged file may describe events: the last description of each counts.
    const auto describe = [](EventId id, std::string_view name, const std::string& kinds) {
        std::string text(name);
        for (const std::string_view part : {"message", "scheduling", kinds.c_str(), "", "%u"}) {
            (text += '\0') += part;
        }
        REQUIRE(detail::append_dictionary(DictionaryKind::event, static_cast<uint64_t>(id), text));
    };
    describe(EventId::send, "send", std::string(20, 'u') + "w");
    describe(EventId::receive, "receive", std::string(261, 'u') + "w");
    describe(EventId::gc_minor_end, "gc_minor_end", "");
    const auto claim = [](EventId id) {
        detail::write1(detail::event_word(id) | uint64_t{0xff} << 24, 7);
    };
    {
        const Batch batch(EventId::uncaught, 8);
        const uint64_t reason = pack_value(ValueTag::nil);
        record(EventId::uncaught, 7, 1, Value(&reason, 1));
        claim(EventId::uncaught_frame);
    }
    claim(EventId::gc_minor_end);
    for (unsigned i = 0; i < 20; i++) {
        claim(EventId::receive);
    }
    claim(EventId::send);
    const Snapshot snapshot = own_snapshot();
    shutdown();
    for (const RingContents& ring : snapshot.rings()) {
        for (const Record& record : ring.records) {
            REQUIRE(record.arguments() <= record.slots() * kWordsPerSlot - kHeadWords);
        }
    }
    StringSink sink;
    CHECK(export_text(snapshot, {}, sink).ok);
    CHECK(export_json(snapshot, {}, sink).ok);
    CHECK(export_perfetto(snapshot, {}, sink).ok);
    CHECK(export_terms(snapshot, {}, sink).ok);
    CHECK(export_crash(snapshot, 20, sink).ok);
    CHECK(minivm::tools::report_page(snapshot) != "");
}

TEST_CASE("a format that is too long for its entry shows that it is cut") {
    REQUIRE(init({}).ok);
    const std::string format(500, 'x');
    EventDeclaration event;
    event.name = "long";
    event.format = format;
    const uint16_t id = declare_event(event);
    const Snapshot snapshot = own_snapshot();
    shutdown();
    REQUIRE(snapshot.dictionary().event(id) != nullptr);
    CHECK(snapshot.dictionary().event(id)->format == std::string(397, 'x') + "...");
}

TEST_CASE("conversions are written as printf() does") {
    REQUIRE(init({}).ok);
    MINIVM_RECORD(user, rare, "%p %X %o %c %.1e %g|", 0, 255, 8, 'A', 1234.5, 0.5);
    StringSink sink;
    REQUIRE(export_text(own_snapshot(), {}, sink).ok);
    shutdown();
    CHECK(count_of(sink.text, " 0x0 FF 10 A 1.2e+03 0.5|") == 1);
}

TEST_CASE("an output that cannot be written is an error") {
    struct FullSink : Sink {
        bool write(std::string_view) override { return false; }
    } sink;
    record_something();
    const Snapshot snapshot = own_snapshot();
    shutdown();
    CHECK_FALSE(export_text(snapshot, {}, sink).ok);
    CHECK_FALSE(export_json(snapshot, {}, sink).ok);
    CHECK_FALSE(export_perfetto(snapshot, {}, sink).ok);
    CHECK_FALSE(export_terms(snapshot, {}, sink).ok);
}

TEST_CASE("numbers, durations and strings are written as they should be") {
    const auto duration = [](uint64_t ns) {
        Text out;
        append_duration(out, ns);
        return std::string(out.view());
    };
    CHECK(duration(0) == "0 ns");
    CHECK(duration(999) == "999 ns");
    CHECK(duration(1'000) == "1 us");
    CHECK(duration(1'050) == "1.050 us");
    CHECK(duration(61'500'000'000) == "61.500 s");
    const auto seconds = [](int64_t ns) {
        Text out;
        append_seconds(out, ns);
        return std::string(out.view());
    };
    CHECK(seconds(0) == "0.000000000");
    CHECK(seconds(-1) == "-0.000000001");
    CHECK(seconds(12'000'000'345) == "12.000000345");
    CHECK(seconds(INT64_MIN) == "-9223372036.854775808");
    const auto json = [](std::string_view text) {
        Text out;
        append_json_string(out, text);
        return std::string(out.view());
    };
    CHECK(json("a\"b\\c\n") == "\"a\\\"b\\\\c\\u000a\"");
    CHECK(json("\xc3\xa4\xe2\x82\xac\xf0\x9f\x98\x80") ==
          "\"\xc3\xa4\xe2\x82\xac\xf0\x9f\x98\x80\"");
    // Each byte at each place of the eight that are looked at together.
    for (unsigned c = 0; c < 256; c++) {
        for (size_t at = 0; at < 19; at++) {
            std::string text(19, 'a');
            text[at] = static_cast<char>(c);
            const bool plain = c >= 0x20 && c < 0x7f && c != '"' && c != '\\';
            REQUIRE((json(text) == '"' + text + '"') == plain);
        }
    }
    CHECK(json("\xc3(\xed\xa0\x80\xc0\x80") == "\"\\ufffd(\\ufffd\\ufffd\\ufffd\\ufffd\\ufffd\"");
}
