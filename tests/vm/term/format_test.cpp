#include "vm/term/format.hpp"

#include "vm/code/export.hpp"
#include "vm/term/atom_table.hpp"
#include "vm/term/bignum.hpp"
#include "vm/term/binary.hpp"
#include "vm/term/map.hpp"

#include <catch2/catch.hpp>

#include <bit>
#include <cmath>
#include <random>

namespace {

using namespace minivm;

struct TestHeap : Heap {
    ~TestHeap() { clear(); }
};

std::string quoted(std::string_view utf8) {
    std::string out;
    append_atom(&out, atom_table::intern(utf8), true);
    return out;
}

TEST_CASE("atoms are quoted where they must be") {
    const std::pair<std::string_view, const char*> cases[] = {
        {"", "''"},
        {"a", "a"},
        {"aB", "aB"},
        {"A", "'A'"},
        {"a b", "'a b'"},
        {"a@b_C9", "a@b_C9"},
        {"9a", "'9a'"},
        {"_a", "'_a'"},
        {"$x", "'$x'"},
        {"a.b", "'a.b'"},
        {"[]", "'[]'"},
        {"and", "'and'"},
        {"cond", "'cond'"},
        {"when", "'when'"},
        {"maybe", "maybe"},
        {"else", "else"},
        {"\xC3\xA9", "\xC3\xA9"},    // a letter
        {"\xC3\xB7", "'\xC3\xB7'"},  // the division sign
        {"a\xC3\x9F\xC3\x80", "a\xC3\x9F\xC3\x80"},
        {"a\xE2\x82\xAC", "'a\xE2\x82\xAC'"},  // beyond Latin-1
        {"a\nb\t'\\", "'a\\nb\\t\\'\\\\'"},
        {std::string_view("\1\x7F\xC2\x80\x1B\b\v\f\r\0 ", 11),
         "'\\001\\d\\200\\e\\b\\v\\f\\r\\000 '"},
    };
    for (const auto& [text, expected] : cases) {
        CHECK(quoted(text) == expected);
    }
    std::string plain;
    append_atom(&plain, atom_table::intern("a b"), false);
    CHECK(plain == "a b");
}

TEST_CASE("terms are written as ~w writes them") {
    TestHeap h;
    const Term a = atom_table::intern("a");
    const Term one = make_small(1);
    CHECK(format_term(make_string(h, "abc", 3)) == "[97,98,99]");
    CHECK(format_term(cons(h, one, cons(h, make_small(-2), a))) == "[1,-2|a]");
    CHECK(format_term(make_tuple(h)) == "{}");
    CHECK(format_term(make_tuple(h, a, make_tuple(h, kNil))) == "{a,{[]}}");
    Term map = map::put(h, map::empty(h), a, one);
    CHECK(format_term(map) == "#{a => 1}");
    map = map::put(h, map, one, map::empty(h));
    CHECK(format_term(map) == "#{1 => #{},a => 1}");
    CHECK(format_term(make_binary(h, "\1\xFF", 2)) == "<<1,255>>");
    CHECK(format_term(make_binary(h, "", 0)) == "<<>>");
    const Term bits = make_binary(h, "\x12\x34\x56", 3);
    CHECK(format_term(sub_bitstring(h, bits, 4, 12)) == "<<35,4:4>>");
    CHECK(format_term(make_float(h, 1e22)) == "1.0e22");
    CHECK(format_term(bignum::shift_left(h, one, 70)) == "1180591620717411303424");
    CHECK(format_term(make_local_pid((uint64_t{6} << 28) | 5)) == "<0.5.6>");
    CHECK(format_term(make_local_port(7)) == "#Port<0.7>");
    CHECK(format_term(put_ref(h.alloc(kRefWords), {(uint64_t{2} << 32) | 1, 3})) ==
          "#Ref<0.3.2.1>");
    Term* p = h.alloc(2);
    p[0] = Term{make_header(Kind::export_fun, 1)};
    p[1] = Term{reinterpret_cast<Word>(
        export_table::get(atom_table::intern("A b"), atom_table::intern("map"), 2))};
    CHECK(format_term(make_boxed(p)) == "fun 'A b':map/2");
}

TEST_CASE("terms too deep or too long end in dots") {
    TestHeap h;
    Term deep = kNil;
    for (int i = 0; i < 100'000; ++i) {
        deep = make_tuple(h, deep);
    }
    CHECK(format_term(deep).find("...") != std::string::npos);
    CHECK(format_term(deep).size() < 200);
    Term list = kNil;
    for (int i = 0; i < 100'000; ++i) {
        list = cons(h, make_small(i), list);
    }
    CHECK(format_term(list, 1000).size() < 1100);
    CHECK(format_term(list, 1000).find("...") != std::string::npos);
    const std::string zeros(10'000, '\0');
    CHECK(format_term(make_binary(h, zeros.data(), zeros.size()), 1000).size() < 1100);
}

TEST_CASE("the shortest text of a float changes to scientific as in OTP") {
    const std::pair<double, const char*> cases[] = {
        {0.0, "0.0"},
        {-0.0, "-0.0"},
        {1.0, "1.0"},
        {100.0, "100.0"},
        {1000.0, "1.0e3"},
        {1001.0, "1001.0"},
        {100000.0, "1.0e5"},
        {123000.0, "1.23e5"},
        {1234567.0, "1234567.0"},
        {12345.678, "12345.678"},
        {0.1, "0.1"},
        {0.0001, "0.0001"},
        {0.00001, "1.0e-5"},
        {0.00123456789, "0.00123456789"},
        {0.000123456789, "1.23456789e-4"},
        {9007199254740991.0, "9007199254740991.0"},
        {9007199254740992.0, "9.007199254740992e15"},
        {-1e22, "-1.0e22"},
        {5e-324, "5.0e-324"},
        {1.7976931348623157e308, "1.7976931348623157e308"},
    };
    for (const auto& [value, expected] : cases) {
        CHECK(ShortFloat(value).text() == expected);
    }
}

TEST_CASE("the shortest text of a float reads back as the same float") {
    std::mt19937_64 random(1234 + Catch::rngSeed());
    for (int i = 0; i < 20'000; ++i) {
        const double d = std::bit_cast<double>(random());
        if (!std::isfinite(d)) {
            continue;
        }
        double back = 0;
        const ShortFloat shortest(d);
        const std::string_view text = shortest.text();
        REQUIRE(parse_float(text, &back));
        if (std::bit_cast<uint64_t>(back) != std::bit_cast<uint64_t>(d)) {
            FAIL_CHECK(text << " reads back as " << ShortFloat(back).text());
        }
    }
}

TEST_CASE("fixed decimals round half away from zero and stop at 255 characters") {
    const auto fixed = [](double d, int decimals, bool compact) {
        std::string out;
        return float_decimals(d, decimals, compact, &out) ? out : "refused";
    };
    CHECK(fixed(0.15, 1, false) == "0.2");
    CHECK(fixed(2.5, 0, false) == "3");
    CHECK(fixed(9.999, 2, false) == "10.00");
    CHECK(fixed(-0.001, 2, false) == "-0.00");
    CHECK(fixed(1.5, 10, true) == "1.5");
    CHECK(fixed(2.0, 10, true) == "2.0");
    CHECK(fixed(1e20, 4, true) == "100000000000000000000.0");
    CHECK(fixed(1e20, 0, true) == "100000000000000000000");
    CHECK(fixed(1.0, 253, false).size() == 255);
    CHECK(fixed(10.0, 253, false) == "refused");
    CHECK(fixed(1e300, 2, false) == "refused");
}

// The texts are those of erts_internal:term_to_string/2 of OTP 29.
TEST_CASE("a text of so many elements ends in dots when there were enough, even if nothing follows") {
    TestHeap h;
    const Term a = atom_table::intern("a");
    const Term b = atom_table::intern("b");
    Term numbers = kNil;
    for (int i = 9; i > 0; --i) {
        numbers = cons(h, make_small(i), numbers);
    }
    const Term text = make_string(h, "abc", 3);
    const Term printable = make_binary(h, "def", 3);
    const Term bytes = make_binary(h, "\1\2\3", 3);
    const Term pair = cons(h, make_small(1), make_small(2));
    const struct {
        Term term;
        int64_t elements;
        const char* expected;
    } cases[] = {
        {numbers, 2, "[1,... "},
        {numbers, 5, "[1,2,3,4,... "},
        {numbers, 12, "[1,2,3,4,5,6,7,8,9]"},
        {make_tuple(h, a, b), 3, "{a... "},
        {make_tuple(h, a, b), 4, "{a,b... "},
        {make_tuple(h, a, b), 5, "{a,b... "},
        {make_tuple(h, a, b), 6, "{a,b}"},
        {pair, 2, "[1|... "},
        {pair, 3, "[1|2]... "},
        {pair, 4, "[1|2]"},
        {bytes, 2, "<<1,2... "},
        {bytes, 4, "<<1,2,3>>... "},
        {bytes, 5, "<<1,2,3>>"},
        {text, 3, "\"ab... "},
        {text, 4, "\"abc\"... "},
        {make_tuple(h, text, printable, a), 4, "{\"ab... "},
        {make_tuple(h, text, printable, a), 5, "{\"abc\",... "},
        {make_tuple(h, text, printable, a), 7, "{\"abc\",<<\"de... "},
        {make_tuple(h, text, printable, a), 12, "{\"abc\",<<\"def\">>,a}"},
        {numbers, INT32_MAX, "[1,2,3,4,5,6,7,8,9]"},
    };
    for (const auto& c : cases) {
        CHECK(display_elements(c.term, c.elements) == c.expected);
    }
}

}  // namespace
