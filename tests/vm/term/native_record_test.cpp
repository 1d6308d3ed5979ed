#include "vm/term/native_record.hpp"

#include "vm/external/external_term.hpp"
#include "vm/term/compare.hpp"
#include "vm/term/format.hpp"
#include "vm/term/hash.hpp"
#include "vm/term/map.hpp"
#include "vm/util/otp_release.hpp"

#include <catch2/catch.hpp>

#include <algorithm>
#include <string>
#include <vector>

namespace minivm {
namespace {

struct TestHeap : Heap {
    ~TestHeap() { clear(); }
};

Term atom(const char* text) {
    return atom_table::intern(text);
}

// A record of module m whose fields are f1, f2, ... with these values.
Term record(Heap& h, const char* name, bool is_exported, const std::vector<Term>& values) {
    std::vector<Term> fields;
    for (size_t i = 1; i <= values.size(); ++i) {
        fields.push_back(atom(("f" + std::to_string(i)).c_str()));
    }
    const Term definition = native_record::make_definition(h, atom("m"), atom(name), is_exported,
                                                           fields.data(), fields.size());
    const Term r = native_record::make(h, definition, values.size());
    std::copy(values.begin(), values.end(), native_record::values(r));
    return r;
}

}  // namespace

TEST_CASE("native records are equal if types and values are, whoever made the definition", "[term]") {
    TestHeap h;
    const Term a = record(h, "r", true, {make_small(1), make_tuple(h, atom("x"))});
    const Term b = record(h, "r", true, {make_small(1), make_tuple(h, atom("x"))});
    CHECK(native_record::definition(a) != native_record::definition(b));
    CHECK(exact_equal(a, b));
    CHECK(compare_terms(a, b) == 0);
    CHECK(phash2(a) == phash2(b));
    CHECK(phash(a) == phash(b));
    for (const Term other : {record(h, "s", true, {make_small(1), make_tuple(h, atom("x"))}),
                             record(h, "r", false, {make_small(1), make_tuple(h, atom("x"))}),
                             record(h, "r", true, {make_small(1)}),
                             record(h, "r", true, {make_small(1), make_tuple(h, atom("y"))})}) {
        CHECK_FALSE(exact_equal(a, other));
        CHECK(compare_terms(a, other) != 0);
        CHECK(compare_terms(a, other) == -compare_terms(other, a));
    }
}

TEST_CASE("native records come between tuples and maps, by name, export, size, fields, values", "[term]") {
    TestHeap h;
    const std::vector<Term> sorted = {make_tuple(h, make_small(9), make_small(9), make_small(9)),
                                      record(h, "a", false, {make_small(9)}),
                                      record(h, "a", true, {}),
                                      record(h, "a", true, {make_small(1)}),
                                      record(h, "a", true, {make_small(2)}),
                                      record(h, "a", true, {make_small(1), make_small(1)}),
                                      record(h, "b", false, {}),
                                      map::empty(h),
                                      kNil};
    for (size_t i = 0; i < sorted.size(); ++i) {
        for (size_t j = 0; j < sorted.size(); ++j) {
            INFO(format_term(sorted[i], 100) << " and " << format_term(sorted[j], 100));
            CHECK(compare_terms(sorted[i], sorted[j]) == (i < j ? -1 : i > j ? 1 : 0));
        }
    }
}

TEST_CASE("records of one type that are decoded together share their definition", "[term]") {
    const OtpRelease before = otp_release();
    set_otp_release({29, "17.0"});
    TestHeap h;
    const Term list = cons(h, record(h, "r", true, {make_small(1)}),
                           cons(h, record(h, "r", true, {make_small(2)}), kNil));
    std::string bytes;
    external::encode(list, {}, &bytes);
    size_t used = 0;
    const Term back = external::decode(h, reinterpret_cast<const uint8_t*>(bytes.data()), bytes.size(), {}, &used);
    CHECK(used == bytes.size());
    REQUIRE(exact_equal(back, list));
    CHECK(native_record::definition(head(back)) == native_record::definition(head(tail(back))));
    CHECK(format_term(head(back), 100) == "#m:r{f1 = 1}");
    set_otp_release(before);
}

}  // namespace minivm
