// Terms in records: what a reader is shown of them.
#include "vm/record/record.hpp"

#include <catch2/catch.hpp>

#include <functional>
#include <string>

#include "recorder/export.hpp"
#include "recorder/reader.hpp"
#include "vm/term/atom_table.hpp"
#include "vm/term/binary.hpp"
#include "vm/term/heap.hpp"
#include "vm/term/map.hpp"

using namespace minivm;

namespace {

std::string dump(const std::function<void()>& write, bool terms = true) {
    recorder::Options options;
    options.subject_format = "<0.%u.%u>";
    REQUIRE(recorder::init(options).ok);
    REQUIRE(recorder::attach_thread("main", recorder::RingSize::large));
    records::start(terms);
    write();
    recorder::Snapshot snapshot;
    std::string error;
    REQUIRE(snapshot.read_own(error));
    recorder::StringSink sink;
    REQUIRE(recorder::export_text(snapshot, {}, sink).ok);
    recorder::shutdown();
    return sink.text;
}

template <unsigned kWords = 24>
std::string shown(Term t, bool hidden = false, bool terms = true) {
    const std::string text = dump(
        [&] {
            const records::TermCopy<kWords> copy(t, hidden);
            recorder::record(recorder::EventId::send_message, 80, 1, 2, copy.get());
        },
        terms);
    const size_t at = text.find(" words: ");
    REQUIRE(at != std::string::npos);
    return text.substr(at + 8, text.find('\n', at) - at - 8);
}

}  // namespace

TEST_CASE("each kind of term can be read in a recording") {
    Heap h;
    const Term a = atom_table::intern("an_atom");
    CHECK(shown(make_small(42)) == "42");
    CHECK(shown(make_small(kSmallMax)) == "1152921504606846975");
    CHECK(shown(make_small(kSmallMin)) == "-1152921504606846976");
    CHECK(shown(a) == "an_atom");
    CHECK(shown(atom_table::intern("Has space")) == "'Has space'");
    CHECK(shown(kNil) == "[]");
    CHECK(shown(make_local_pid(80)) == "<0.80.0>");
    CHECK(shown(make_local_pid(0)) == "<0.0.0>");
    CHECK(shown(make_tuple(h, a, make_small(1), make_tuple(h))) == "{an_atom,1,{}}");
    CHECK(shown(cons(h, make_small(1), cons(h, a, kNil))) == "[1,an_atom]");
    CHECK(shown(cons(h, a, make_small(2))) == "[an_atom|2]");
    CHECK(shown(make_string(h, "it's \"text\"", 11)) == "\"it's \\\"text\\\"\"");
    const uint8_t bytes[] = {'a', 'b', 'c'};
    CHECK(shown(make_binary(h, bytes, 3)) == "<<\"abc\">>");
    const Term whole = make_binary(h, bytes, 3);
    CHECK(shown(sub_bitstring(h, whole, 4, 12)) == "<<22,2:4>>");
    Term keys[] = {a};
    Term values[] = {make_small(7)};
    CHECK(shown(map::from_pairs(h, keys, values, 1)) == "#{an_atom=>7}");
    CHECK(shown(put_ref(h.alloc(kRefWords), {uint64_t{3} << 32 | 4, 2})) == "#Ref<0.2.3.4>");
    CHECK(shown(make_float(h, 1.5)) == "1.5");
    CHECK(shown(make_float(h, 1e300)) == "1e+300");
}

TEST_CASE("large terms are cut where the room ends") {
    Heap h;
    Term list = kNil;
    for (int i = 1000; i > 0; i--) {
        list = cons(h, make_small(i + 1000), list);
    }
    CHECK(shown<8>(list) == "[1001,1002,1003,1004,1005,1006,...]");
    Term deep = kNil;
    for (int i = 0; i < 100; i++) {
        deep = make_tuple(h, deep);
    }
    CHECK(shown(deep) == "{{{{{{{...}}}}}}}");
    const std::string text(100000, 'y');
    CHECK(shown<6>(make_string(h, text.data(), text.size())) ==
          "\"" + std::string(32, 'y') + "\"...");
}

TEST_CASE("hidden terms leave nothing in the file") {
    Heap h;
    const Term secret = make_tuple(h, atom_table::intern("hunter2"));
    CHECK(shown(secret, true) == "(hidden)");
    CHECK(shown(secret, false, false) == "(hidden)");
}

TEST_CASE("a second recording names its atoms and functions anew") {
    for (int i = 0; i < 2; i++) {
        const std::string text = dump([] {
            recorder::record(recorder::EventId::spawn, 81, 80,
                             records::function(atom_table::intern("some_module"),
                                               atom_table::intern("some_function"), 3));
            recorder::record(recorder::EventId::code_delete,
                             records::atom(atom_table::intern("other_module")));
        });
        CHECK(text.find("runs some_module:some_function/3") != std::string::npos);
        CHECK(text.find("code: other_module deleted") != std::string::npos);
    }
}

TEST_CASE("a limit is told again each time what is left of it is halved") {
    const std::string text = dump([] {
        for (uint64_t used = 0; used <= 1000; used++) {
            records::note_use_rarely(records::Word::processes, used, 1000);
        }
    });
    size_t count = 0;
    for (size_t at = 0; (at = text.find("limit nearly reached: processes", at)) != std::string::npos;
         at++) {
        count++;
    }
    CHECK(count >= 5);
    CHECK(count <= 10);
    CHECK(text.find("processes, 751 of 1000") != std::string::npos);
}
