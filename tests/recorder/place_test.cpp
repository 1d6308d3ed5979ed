// Where events are recorded: what the program leaves, what a recording says, and what is said about
// places that are no good.
#include "recorder/place.hpp"

#include "recorder/export.hpp"
#include "recorder/format.hpp"
#include "recorder/recorder.hpp"
#include "recorder/recording.hpp"
#include "recorder/site.hpp"

#include <catch2/catch.hpp>

#include <unistd.h>

#include <filesystem>
#include <fstream>
#include <map>
#include <set>
#include <string>
#include <thread>
#include <vector>

using namespace minivm::recorder;

namespace {

struct Recording {
    Recording() {
        Options options;
        options.spare_threads = 0;
        REQUIRE(init(options).ok);
    }
    ~Recording() { shutdown(); }
};

Snapshot own_snapshot() {
    Snapshot snapshot;
    std::string error;
    REQUIRE(snapshot.read_own(error));
    return snapshot;
}

// The places of the records of that event, in their order.
std::vector<std::string> places_of(const Snapshot& snapshot, EventId event) {
    const Formatter formatter(snapshot);
    std::vector<std::string> places;
    for (const RingContents& ring : snapshot.rings()) {
        for (const Record& record : ring.records) {
            if (static_cast<EventId>(record.event()) == event) {
                Text text;
                formatter.append_place(text, record);
                places.emplace_back(text.view());
            }
        }
    }
    return places;
}

std::vector<std::string> lines_of(const std::string& path) {
    std::ifstream file(path);
    std::vector<std::string> lines;
    for (std::string line; std::getline(file, line);) {
        lines.push_back(line);
    }
    return lines;
}

std::string exported(const Snapshot& snapshot, const char* format, bool places = false) {
    StringSink sink;
    Filter filter;
    filter.places = places;
    const std::string name = format;
    const ExportResult result = name == "json"    ? export_json(snapshot, filter, sink)
                                : name == "terms" ? export_terms(snapshot, filter, sink)
                                : name == "trace" ? export_perfetto(snapshot, filter, sink)
                                                  : export_text(snapshot, filter, sink);
    REQUIRE(result.ok);
    return sink.text;
}

void add_entry(DictionaryKind kind, uint64_t key, const std::string& text) {
    REQUIRE(detail::append_dictionary(kind, key, text));
}

uint64_t site_key(EventId event, unsigned number) {
    return pack_site_key(static_cast<uint16_t>(event), number);
}

const std::string kHere = "tests/recorder/place_test.cpp:";
constexpr unsigned kFirstLine = __LINE__ + 4;  // of the function below

// As a program records: an event at two places, with and without a time of its own, with a text.
void work(unsigned i) {
    MINIVM_EVENT(span_end, i);
    MINIVM_EVENT(span_end, i + 1);
    MINIVM_EVENT_COARSE(span_end, i + 2);
    MINIVM_EVENT(note, "a text");
    MINIVM_EVENT_PLACE(here, link);
    detail::write4(detail::event_word(here), i, 2, 0, 0);
    record(EventId::span_end, i + 3);
}

std::string in_work(unsigned offset) {
    return kHere + std::to_string(kFirstLine + offset) + " in work";
}

}  // namespace

TEST_CASE("a record names the place it comes from, of several places of its event") {
    const Recording recording;
    SECTION("in rings of its own") {
        REQUIRE(attach_thread("main", RingSize::large));
        work(1);
        work(2);
    }
    SECTION("in the shared ring") {
        work(1);
        work(2);
    }
    const Snapshot snapshot = own_snapshot();
    detach_thread();
    const std::vector<std::string> once = {in_work(0), in_work(1), in_work(2), ""};
    std::vector<std::string> twice = once;
    twice.insert(twice.end(), once.begin(), once.end());
    CHECK(places_of(snapshot, EventId::span_end) == twice);
    CHECK(places_of(snapshot, EventId::note) == std::vector<std::string>(2, in_work(3)));
    CHECK(places_of(snapshot, EventId::link) == std::vector<std::string>(2, in_work(4)));
}

TEST_CASE("a recording that starts later has the places too") {
    const Recording recording;
    REQUIRE(attach_thread("main", RingSize::large));
    const std::string path =
        std::filesystem::temp_directory_path() / ("recorder_places_" + std::to_string(getpid()));
    Options options;
    options.path = path;
    options.keep_old = 0;
    const StartResult started = start_recording(options);
    INFO(started.error);
    REQUIRE(started.id != 0);
    work(1);
    REQUIRE(stop_recording(started.id));
    detach_thread();
    Snapshot snapshot;
    std::string error;
    REQUIRE(snapshot.read_file(path, error));
    std::filesystem::remove(path);
    CHECK(places_of(snapshot, EventId::note) == std::vector<std::string>{in_work(3)});
}

TEST_CASE("each place stands in the source where it says, and no folder in front of it") {
    const Recording recording;
    const Snapshot snapshot = own_snapshot();
    std::map<std::string, std::vector<std::string>> sources;
    unsigned count = 0;
    std::set<std::string> folders;
    for (const auto& [id, schema] : snapshot.dictionary().events()) {
        std::set<unsigned> numbers;
        for (const Place& place : schema.places) {
            INFO(schema.name << " " << place.file << ":" << place.line);
            // Else a record of one would not say which.
            CHECK(numbers.insert(place.number).second);
            CHECK((place.number >= 1 && place.number <= kMaxPlace));
            auto& lines = sources[place.file];
            if (lines.empty()) {
                lines = lines_of(std::string(MINIVM_SOURCE_DIR "/") + place.file);
            }
            REQUIRE(place.line <= lines.size());
            const std::string& line = lines[place.line - 1];
            CHECK(line.find("MINIVM_EVENT") != line.npos);
            CHECK(line.find(schema.name) != line.npos);
            bool found = place.file.rfind("tests/", 0) == 0;  // the framework has names of its own
            for (unsigned i = 0; i + 1 < place.line; i++) {
                found = found || lines[i].find(place.function + "(") != std::string::npos;
            }
            CHECK(found);
            folders.insert(place.file.substr(0, place.file.find('/')));
            count++;
        }
    }
    // Archive members that the tests do not need are not linked; recording_test.py looks at all.
    CHECK(count >= 60);
    for (const char* folder : {"recorder", "vm", "loader"}) {
        CHECK(folders.count(folder) == 1);
    }
    CHECK(snapshot.dictionary().problems().empty());
}

TEST_CASE(
    "an event that is declared at its site has its place, and a folder of the tree in front") {
    const Recording recording;
    REQUIRE(attach_thread("main", RingSize::large));
    MINIVM_RECORD(user, calls, "number %u", 7u);
    const std::string line = std::to_string(__LINE__ - 1);
    const Snapshot snapshot = own_snapshot();
    detach_thread();
    const EventSchema* event = snapshot.dictionary().event(kFirstSiteEvent);
    REQUIRE(event != nullptr);
    REQUIRE(event->places.size() == 1);
    CHECK(event->places[0].number == 0);
    const std::string text = exported(snapshot, "text", true);
    CHECK(text.find("number 7  (" + kHere + line + " in ") != text.npos);
}

TEST_CASE("each output says where a record was made") {
    const Recording recording;
    REQUIRE(attach_thread("main", RingSize::large));
    work(1);
    const Snapshot snapshot = own_snapshot();
    detach_thread();
    const std::string plain = exported(snapshot, "text");
    CHECK(plain.find("place_test.cpp") == plain.npos);
    const std::string text = exported(snapshot, "text", true);
    CHECK(text.find("a text  (" + in_work(3) + ")\n") != text.npos);
    CHECK(text.find("span 0x2 ends  (" + in_work(1) + ")\n") != text.npos);
    CHECK(text.find("span 0x4 ends\n") != text.npos);  // recorded without a place
    const std::string terms = exported(snapshot, "terms", true);
    CHECK(terms.find("a text\"/utf8>>}],<<\"" + in_work(3) + "\"/utf8>>}.\n") != terms.npos);
    CHECK(exported(snapshot, "terms").find("place_test") == std::string::npos);
    const std::string trace = exported(snapshot, "trace");
    CHECK(trace.find("\"recorded at\":\"" + in_work(3) + "\"}") != trace.npos);

    // JSON: an index into the list of the first line.
    const std::string json = exported(snapshot, "json");
    const std::string head = json.substr(0, json.find('\n'));
    size_t at = head.find("\"places\":[");
    REQUIRE(at != head.npos);
    std::vector<std::string> places;
    for (at = head.find('{', at); at != head.npos && head[at] == '{'; at++) {
        const size_t end = head.find('}', at);
        places.push_back(head.substr(at, end + 1 - at));
        at = end + 1;
    }
    const size_t note = json.find("\"event\":\"note\",\"place\":");
    REQUIRE(note != json.npos);
    const unsigned index = static_cast<unsigned>(std::stoul(json.substr(note + 23)));
    REQUIRE(index < places.size());
    CHECK(places[index] ==
          "{\"event\":\"note\",\"file\":\"tests/recorder/place_test.cpp\",\"line\":" +
              std::to_string(kFirstLine + 3) + ",\"function\":\"work\"}");
}

TEST_CASE("two places of an event with one number are both named, for neither is known") {
    const Recording recording;
    REQUIRE(attach_thread("main", RingSize::large));
    add_entry(DictionaryKind::site, site_key(EventId::span_end, 0),
              std::string("b.cpp\0"
                          "7\0"
                          "g",
                          9));
    add_entry(DictionaryKind::site, site_key(EventId::span_end, 0),
              std::string("a.cpp\0"
                          "12\0"
                          "f",
                          10));
    record(EventId::span_end, 1);
    const Snapshot snapshot = own_snapshot();
    detach_thread();
    CHECK(places_of(snapshot, EventId::span_end) ==
          std::vector<std::string>{"a.cpp:12 in f or b.cpp:7 in g"});
    const std::string json = exported(snapshot, "json");
    CHECK(json.find("\"event\":\"span_end\",\"args\"") != json.npos);
}

TEST_CASE("a place that is no good is an error that says which and why") {
    struct Bad {
        uint64_t key;
        std::string text;
        const char* problem;
    };
    const uint64_t send = site_key(EventId::send, 5);
    const std::string id = std::to_string(static_cast<unsigned>(EventId::send));
    const Bad bad[] = {
        {send, "vm/a.cpp", " has 1 parts and not file, line and function"},
        {send,
         std::string("vm/a.cpp\0"
                     "1\0f\0g",
                     14),
         " has 4 parts and not file"},
        {send, std::string("vm/a.cpp\0x1\0f", 13), " has the line \"x1\", which is no number"},
        {send,
         std::string("vm/a.cpp\0"
                     "0\0f",
                     12),
         " has the line \"0\", which is no number"},
        {send,
         std::string("vm/a.cpp\0"
                     "1 \0f",
                     13),
         " has the line \"1 \", which is no number"},
        {send,
         std::string("vm/a.cpp\0"
                     "99999999999\0f",
                     22),
         " has the line \"99999999999\""},
        {send,
         std::string("\0"
                     "1\0f",
                     4),
         " has no file"},
        {site_key(EventId::send, 64),
         std::string("vm/a.cpp\0"
                     "1\0f",
                     12),
         " has number 64, above 63"},
    };
    const Recording recording;
    REQUIRE(attach_thread("main", RingSize::large));
    record(EventId::send, 1, 2, 3);
    const size_t before =
        own_snapshot().dictionary().event(static_cast<uint16_t>(EventId::send))->places.size();
    for (const Bad& entry : bad) {
        add_entry(DictionaryKind::site, entry.key, entry.text);
    }
    const Snapshot snapshot = own_snapshot();
    const Dictionary& dictionary = snapshot.dictionary();
    REQUIRE(dictionary.problems().size() == std::size(bad));
    CHECK(dictionary.bad_entries() == std::size(bad));
    const std::string text = exported(snapshot, "text");
    const std::string json = exported(snapshot, "json");
    const std::string trace = exported(snapshot, "trace");
    for (size_t i = 0; i < std::size(bad); i++) {
        const std::string& problem = dictionary.problems()[i];
        INFO(problem);
        CHECK(problem.rfind("entry ", 0) == 0);
        CHECK(problem.find(" of the dictionary: a place of event " + id + bad[i].problem) !=
              problem.npos);
        CHECK(text.find("# damaged: " + problem + "\n") != text.npos);
        CHECK(trace.find("\"damaged " + std::to_string(i + 1)) != trace.npos);
    }
    CHECK(json.find("\"dictionary_problems\":[\"entry ") != json.npos);
    // The good ones and the record are as they were.
    CHECK(dictionary.event(static_cast<uint16_t>(EventId::send))->places.size() == before);
    CHECK(text.find("flow 0x2, 3 words") != text.npos);
    detach_thread();
}

TEST_CASE("of many bad entries the first are described and the others counted") {
    const Recording recording;
    constexpr size_t kMore = 5;
    for (size_t i = 0; i < Dictionary::kMostProblems + kMore; i++) {
        add_entry(DictionaryKind::site, site_key(EventId::send, 1), "x");
    }
    const Snapshot snapshot = own_snapshot();
    CHECK(snapshot.dictionary().problems().size() == Dictionary::kMostProblems);
    const std::string text = exported(snapshot, "text");
    CHECK(text.find("# damaged: 5 more entries of the dictionary\n") != text.npos);
}

// It became an event without arguments, and its records lost theirs.
TEST_CASE("a place of an event that is not described does not stand for a description") {
    const Recording recording;
    REQUIRE(attach_thread("main", RingSize::large));
    constexpr uint16_t kLost = 5000;
    add_entry(DictionaryKind::site, kLost,
              std::string("a.cpp\0"
                          "1\0f",
                          9));
    record_declared(kLost, Category::user, RingClass::calls, uint64_t{0x17}, uint64_t{0x18});
    const Snapshot snapshot = own_snapshot();
    detach_thread();
    CHECK(snapshot.dictionary().event(kLost) == nullptr);
    const std::string text = exported(snapshot, "text");
    CHECK(text.find("event 5000: 0x17, 0x18") != text.npos);
    CHECK(text.find(
              "# damaged: the dictionary has places of event 5000, which it does not describe") !=
          text.npos);
}
