// Structured values: what is copied, what is cut, and what a reader makes of any words.
#include "recorder/export.hpp"
#include "recorder/recorder.hpp"
#include "recorder/value.hpp"

#include <catch2/catch.hpp>

#include <functional>
#include <random>
#include <string>
#include <vector>

using namespace minivm::recorder;

namespace {

// The messages of what `write` records.
std::vector<std::string> recorded(const std::function<void()>& write) {
    Options options;
    options.spare_threads = 0;
    options.subject_format = "<0.%u.%u>";
    REQUIRE(init(options).ok);
    REQUIRE(attach_thread("main", RingSize::large));
    define_atom(1, "ok");
    define_atom(2, "Not bare");
    define_function(3, "lists", "map", 2);
    define_string(7, "~p is ~s of ~.2f~~ ~w");
    write();
    Snapshot snapshot;
    std::string error;
    REQUIRE(snapshot.read_own(error));
    StringSink sink;
    REQUIRE(export_text(snapshot, {}, sink).ok);
    shutdown();
    std::vector<std::string> messages;
    size_t at = 0;
    while (at < sink.text.size()) {
        const size_t end = sink.text.find('\n', at);
        const std::string line = sink.text.substr(at, end - at);
        at = end + 1;
        if (const size_t m = line.find(" words: "); m != line.npos && line[0] != '#') {
            messages.push_back(line.substr(m + 8));
        } else if (const size_t e = line.find("ok: "); e != line.npos && line[0] != '#') {
            messages.push_back(line.substr(e + 4));
        }
    }
    return messages;
}

std::string shown(unsigned room, const std::function<void(ValueWriter&)>& write) {
    const auto messages = recorded([&] {
        uint64_t words[32];
        ValueWriter writer(words, room);
        write(writer);
        CHECK(writer.count() <= room);
        record(EventId::send_message, 80, 1, 2, writer.get());
    });
    REQUIRE(messages.size() == 1);
    return messages[0];
}

}  // namespace

TEST_CASE("a value is shown as Erlang writes it") {
    CHECK(shown(20, [](ValueWriter& w) {
              w.put(ValueTag::tuple, 4);
              w.put(ValueTag::atom, 1);
              w.put(ValueTag::atom, 2);
              w.integer(-17);
              w.put(ValueTag::list);
              w.put(ValueTag::subject, 80);
              w.float64(2.0);
              w.put(ValueTag::list_end);
          }) == "{ok,'Not bare',-17,[<0.80.0>,2.0]}");
    CHECK(shown(20, [](ValueWriter& w) {
              w.put(ValueTag::map, 1);
              w.text("a \"b\"", true, false);
              w.put(ValueTag::list);
              w.put(ValueTag::nil);
              w.put(ValueTag::list_tail);
              w.put(ValueTag::function, 3);
          }) == "#{\"a \\\"b\\\"\"=>[[]|fun lists:map/2]}");
    CHECK(shown(20, [](ValueWriter& w) { w.reference(uint64_t{5} << 32 | 6, 7); }) ==
          "#Ref<0.7.5.6>");
    CHECK(shown(20, [](ValueWriter& w) { w.put(ValueTag::subject, kSubjectZero); }) == "<0.0.0>");
    CHECK(shown(20, [](ValueWriter& w) { w.put(ValueTag::subject, 5 | 3u << 28); }) == "<0.5.3>");
    CHECK(shown(20, [](ValueWriter& w) { w.put(ValueTag::hidden); }) == "(hidden)");
}

TEST_CASE("binaries are shown as text or numbers, with their size if they are cut") {
    CHECK(shown(20, [](ValueWriter& w) { w.bytes("hello", 40, 5); }) == "<<\"hello\">>");
    CHECK(shown(20, [](ValueWriter& w) { w.bytes("\1\2\xf0", 20, 3); }) == "<<1,2,15:4>>");
    CHECK(shown(20, [](ValueWriter& w) { w.bytes("", 0, 0); }) == "<<>>");
    const std::string long_text(500, 'x');
    CHECK(shown(4, [&](ValueWriter& w) { w.bytes(long_text.data(), 4000, 120); }) ==
          "<<\"" + std::string(16, 'x') + "\"...>> (500 bytes)");
}

TEST_CASE("what does not fit a value's room is left out and said so") {
    for (unsigned room = 1; room < 12; room++) {
        const std::string text = shown(room, [](ValueWriter& w) {
            w.put(ValueTag::tuple, 5);
            for (int i = 0; i < 5; i++) {
                w.put(ValueTag::tuple, 2);
                w.integer(i);
                w.integer(i + 10);
            }
        });
        INFO(room << " " << text);
        CHECK(text.find("...") != std::string::npos);
        CHECK(text.substr(0, room > 4 ? 7 : 0) == (room > 4 ? "{{0,10}" : ""));
    }
    CHECK(shown(3, [](ValueWriter& w) { w.text("0123456789abcdefghij", true, false); }) ==
          "\"01234567\"...");
}

TEST_CASE("a format with ~ is filled in when the recording is read") {
    const auto messages = recorded([] {
        uint64_t words[24];
        ValueWriter all(words, 24);
        all.raw(7);
        all.put(ValueTag::list);
        all.integer(1);
        all.text("text", true, false);
        all.float64(0.5);
        all.put(ValueTag::atom, 2);
        all.put(ValueTag::list_end);
        record(EventId::user_format, 1, all.get());
        ValueWriter few(words, 24);
        few.raw(7);
        few.put(ValueTag::list);
        few.put(ValueTag::list_end);
        record(EventId::user_format, 1, few.get());
        ValueWriter lost(words, 24);
        lost.raw(99);
        lost.put(ValueTag::nil);
        record(EventId::user_format, 1, lost.get());
    });
    REQUIRE(messages.size() == 3);
    CHECK(messages[0] == "1 is text of 0.5~ 'Not bare'");
    CHECK(messages[1] == "... is ... of ...~ ...");
    CHECK(messages[2] == "(format lost) []");
}

TEST_CASE("any words can be shown as a value") {
    std::mt19937_64 random(7 + Catch::rngSeed());
    const auto messages = recorded([&] {
        for (int i = 0; i < 2000; i++) {
            uint64_t words[22];
            const unsigned count = 1 + static_cast<unsigned>(random() % 22);
            for (unsigned w = 0; w < count; w++) {
                // Small payloads nest, large ones promise elements that are not there.
                words[w] = random() % 3 == 0 ? random() : random() % 64;
            }
            record(EventId::send_message, 80, 1, 2, Value{words, count});
        }
    });
    REQUIRE(messages.size() == 2000);
    for (const std::string& message : messages) {
        CHECK(message.size() < 4000);
    }
}
