// The data file is what OTP gives: see data/bit_fields.erl.
#include "vm/semantics/binary.hpp"

#include "vm/term/bignum.hpp"
#include "vm/term/compare.hpp"
#include "vm/term/map.hpp"

#include <catch2/catch.hpp>

#include <fstream>
#include <random>
#include <sstream>
#include <string>
#include <thread>
#include <vector>

using namespace minivm;
using namespace minivm::semantics;

namespace {

using Type = BinSegment::Type;

struct TestProcess : Process {
    ~TestProcess() { heap.clear(); }
};

std::string from_hex(const std::string& hex) {
    std::string bytes;
    for (size_t i = 0; i + 1 < hex.size(); i += 2) {
        bytes.push_back(static_cast<char>(std::stoi(hex.substr(i, 2), nullptr, 16)));
    }
    return bytes;
}

// Size:Hex, the last byte padded with zeros.
std::string show(Term bitstring) {
    const BitView v = bit_view(bitstring);
    std::string out = std::to_string(v.size) + ":";
    for (uint64_t i = 0; i < v.size; i += 8) {
        const unsigned n = static_cast<unsigned>(std::min<uint64_t>(8, v.size - i));
        char hex[12];
        std::snprintf(hex, sizeof hex, "%02x",
                      static_cast<unsigned>(load_bits(v.bytes, v.offset + i, n) << (8 - n)) & 0xFF);
        out += hex;
    }
    return out;
}

Term bits_of(Heap& h, const std::string& shown) {
    const size_t colon = shown.find(':');
    const std::string bytes = from_hex(shown.substr(colon + 1));
    uint8_t* to;
    const Term t = new_bits(h, std::stoull(shown.substr(0, colon)), &to);
    std::memcpy(to, bytes.data(), bytes.size());
    return t;
}

Term binary_of(Heap& h, const std::string& bytes) {
    return make_binary(h, bytes.data(), bytes.size());
}

std::vector<std::vector<std::string>> data_lines(char kind) {
    std::ifstream in(MINIVM_SOURCE_DIR "/tests/vm/semantics/data/bit_fields.txt");
    REQUIRE(in.good());
    std::vector<std::vector<std::string>> lines;
    for (std::string line; std::getline(in, line);) {
        if (line[0] == kind) {
            std::istringstream words(line.substr(1));
            lines.emplace_back();
            for (std::string word; words >> word;) {
                lines.back().push_back(word);
            }
        }
    }
    REQUIRE(!lines.empty());
    return lines;
}

BinSegment integer(Term v, Term size, uint8_t flags = 0, uint16_t unit = 1) {
    return {Type::integer, flags, unit, 0, nullptr, v, size};
}
BinSegment all_of(Type type, Term v, uint16_t unit) {
    return {type, 0, unit, 0, nullptr, v, atoms::all, true};
}
BinSegment character(Type type, Term c, uint8_t flags = 0) {
    return {type, flags, 0, 0, nullptr, c, kNonValue};
}

Term create(Process& p, std::vector<BinSegment> segments) {
    for (size_t i = 0; i < segments.size(); i++) {
        segments[i].number = static_cast<uint32_t>(i + 1);
    }
    return bs_create_bin(p, segments.data(), segments.size());
}

Term small(int64_t v) {
    return make_small(v);
}

std::string hex_of(double d) {
    char hex[17];
    std::snprintf(hex, sizeof hex, "%016llx",
                  static_cast<unsigned long long>(std::bit_cast<uint64_t>(d)));
    return hex;
}

// "Reason Type What Value" of the exception, where Value is a small integer or an atom.
std::string failure(Process& p) {
    REQUIRE(p.exception.cls == ExceptionClass::error);
    std::string out(atom_table::text(p.exception.reason));
    const Term cause = is_value(p.exception.error_info)
                           ? map::get(p.exception.error_info, atoms::cause)
                           : kNonValue;
    if (is_value(cause)) {
        REQUIRE(is_tuple_of(cause, 4));
        out += " " + std::to_string(small_value(tuple_element(cause, 0)));
        for (size_t i = 1; i < 3; i++) {
            out += " ";
            out += atom_table::text(tuple_element(cause, i));
        }
        const Term v = tuple_element(cause, 3);
        out += is_small(v)  ? " " + std::to_string(small_value(v))
               : is_atom(v) ? " " + std::string(atom_table::text(v))
                            : " *";
        CHECK(atom_table::text(map::get(p.exception.error_info, atom_table::intern("function"))) ==
              "format_bs_fail");
    }
    p.exception = Exception{};
    return out;
}

}  // namespace

TEST_CASE("integers of all sizes are read at all offsets as OTP reads them") {
    TestProcess p;
    const std::string bytes = from_hex(data_lines('P')[0][0]);
    const Term binary = binary_of(p.heap, bytes);
    // The same bits once more, at every other alignment of the storage.
    std::vector<Term> shifted;
    for (uint64_t shift = 0; shift < 8; shift++) {
        uint8_t* to;
        const Term t = new_bits(p.heap, shift + 8 * bytes.size(), &to);
        to[0] = 0xFF;
        copy_bits(reinterpret_cast<const uint8_t*>(bytes.data()), 0, to, shift, 8 * bytes.size());
        shifted.push_back(sub_bitstring(p.heap, t, shift, 8 * bytes.size()));
        REQUIRE(compare_bits(bit_view(shifted.back()), bit_view(binary)) == 0);
    }
    for (const auto& line : data_lines('I')) {
        const uint64_t offset = std::stoull(line[0]);
        const int64_t size = std::stoll(line[1]);
        const uint32_t flags = static_cast<uint32_t>(std::stoul(line[2]));
        for (const Term t : shifted) {
            const Term ctx = bs_start_match(p, t);
            REQUIRE(bs_skip_bits(ctx, small(static_cast<int64_t>(offset)), 1));
            const Term v = bs_get_integer(p, ctx, small(size), 1, flags);
            REQUIRE(is_value(v));
            if (bignum::to_string(v, 10) != line[3]) {
                FAIL("offset " << offset << " size " << size << " flags " << flags << ": "
                               << bignum::to_string(v, 10) << ", expected " << line[3]);
            }
            REQUIRE(bs_get_position(ctx) == small(static_cast<int64_t>(offset) + size));
        }
    }
}

TEST_CASE("integers of all sizes are written at all offsets as OTP writes them") {
    TestProcess p;
    for (const auto& line : data_lines('C')) {
        const int64_t offset = std::stoll(line[0]);
        const uint8_t flags = static_cast<uint8_t>(std::stoul(line[2]));
        const Term value = bignum::parse(p.heap, line[3], 10);
        const Term size = small(std::stoll(line[1]));
        const Term t = create(p, {integer(small(-1), small(offset)), integer(value, size, flags),
                                  integer(small(5), small(3))});
        REQUIRE(is_value(t));
        if (show(t) != line[4]) {
            FAIL("offset " << line[0] << " size " << line[1] << " flags " << line[2] << " value "
                           << line[3] << ": " << show(t) << ", expected " << line[4]);
        }
        // What was written is what is read, modulo 2^Size.
        const Term ctx = bs_start_match(p, t);
        REQUIRE(bs_skip(ctx, static_cast<uint64_t>(offset)));
        const Term back = bs_get_integer(p, ctx, size, 1, flags | kBsSigned);
        const Term ctx2 = bs_start_match(p, create(p, {integer(back, size, flags)}));
        const Term ctx3 = bs_start_match(p, create(p, {integer(value, size, flags)}));
        REQUIRE(exact_equal(bs_get_integer(p, ctx2, size, 1, flags),
                            bs_get_integer(p, ctx3, size, 1, flags)));
    }
}

TEST_CASE("floats of 16, 32 and 64 bits are read as OTP reads them") {
    TestProcess p;
    for (const auto& line : data_lines('F')) {
        const Term ctx = bs_start_match(p, bits_of(p.heap, line[2]));
        REQUIRE(bs_skip(ctx, 3));
        const Term v = bs_get_float(p, ctx, small(std::stoll(line[0])), 1,
                                    static_cast<uint32_t>(std::stoul(line[1])));
        CAPTURE(line[0], line[2]);
        CHECK((is_value(v) ? hex_of(float_value(v)) : "no") == line[3]);
        CHECK(bs_get_position(ctx) == small(is_value(v) ? 3 + std::stoll(line[0]) : 3));
    }
    const Term ctx = bs_start_match(p, binary_of(p.heap, "12345678"));
    CHECK(float_value(bs_get_float(p, ctx, small(0), 1, 0)) == 0.0);
    for (const int64_t size : {8, 17, 63, 65, 128, -1}) {
        CHECK(!is_value(bs_get_float(p, ctx, small(size), 1, 0)));
    }
}

TEST_CASE("floats of 16, 32 and 64 bits are written as OTP writes them") {
    TestProcess p;
    for (const auto& line : data_lines('G')) {
        uint64_t bits = std::stoull(line[2], nullptr, 16);
        const Term d = make_float(p.heap, std::bit_cast<double>(bits));
        const Term t = create(p, {integer(small(-1), small(3)),
                                  {Type::float_, static_cast<uint8_t>(std::stoul(line[1])), 1, 0,
                                   nullptr, d, small(std::stoll(line[0]))}});
        CAPTURE(line[0], line[1], line[2]);
        CHECK(show(t) == line[3]);
    }
}

TEST_CASE("every finite half survives being read and written") {
    TestProcess p;
    int finite = 0;
    for (int64_t half = 0; half < 65536; half++) {
        const Term t = create(p, {integer(small(half), small(16))});
        const Term d = bs_get_float(p, bs_start_match(p, t), small(16), 1, 0);
        if (is_value(d)) {
            finite++;
            const Term back = create(p, {{Type::float_, 0, 1, 0, nullptr, d, small(16)}});
            REQUIRE(exact_equal(t, back));
        }
    }
    CHECK(finite == 65536 - 2048);
}

TEST_CASE("UTF-8 and UTF-16 are accepted exactly where OTP accepts them") {
    for (const bool utf8 : {true, false}) {
        for (const auto& line : data_lines(utf8 ? '8' : '6')) {
            const int64_t last = std::stoll(line[1]);
            int64_t sum = 0;
            TestProcess p;
            for (int64_t x = std::stoll(line[0]); x <= last; x++) {
                const Term behind = small(utf8 ? 0x8182 : 0xDC01);
                const Term t =
                    create(p, {integer(small(0), small(x % 8)), integer(small(x), small(16)),
                               integer(behind, small(16)), integer(small(0), small(8))});
                const Term ctx = bs_start_match(p, t);
                REQUIRE(bs_skip(ctx, static_cast<uint64_t>(x % 8)));
                const Term c = utf8 ? bs_get_utf8(ctx) : bs_get_utf16(ctx, 0);
                const int64_t length = small_value(bs_get_position(ctx)) - x % 8;
                REQUIRE(length == 8 * std::stoll(line[2]));
                sum += is_value(c) ? small_value(c) : 0;
            }
            CHECK(sum == std::stoll(line[3]));
        }
    }
}

TEST_CASE("every character is written and read in UTF-8, UTF-16 and UTF-32, and nothing else is", "[one_thread]") {
    TestProcess p;
    for (int64_t c = -1; c <= 0x110001; c += c > 0xDF00 && c < 0x10FF00 ? 37 : 1) {
        const bool valid = c >= 0 && c <= 0x10FFFF && (c < 0xD800 || c > 0xDFFF);
        for (const Type type : {Type::utf8, Type::utf16, Type::utf32}) {
            for (const uint8_t flags : {0, 2}) {
                const Term t = create(p, {character(type, small(c), flags)});
                REQUIRE(is_value(t) == valid);
                if (!valid) {
                    p.exception = Exception{};
                    continue;
                }
                const Term ctx = bs_start_match(p, t);
                const Term back = type == Type::utf8    ? bs_get_utf8(ctx)
                                  : type == Type::utf16 ? bs_get_utf16(ctx, flags)
                                                        : bs_get_utf32(ctx, flags);
                REQUIRE(back == small(c));
                REQUIRE(bs_test_tail(ctx, 0));
                if (type != Type::utf32) {
                    const Term size =
                        type == Type::utf8 ? bs_utf8_size(small(c)) : bs_utf16_size(small(c));
                    REQUIRE(static_cast<uint64_t>(small_value(size)) * 8 == bitstring_bits(t));
                }
            }
        }
    }
    for (const int64_t c : {0xD800, 0xDFFF, 0x110000, -1}) {
        const Term t = create(p, {integer(small(c), small(32))});
        CHECK(!is_value(bs_get_utf32(bs_start_match(p, t), 0)));
    }
}

TEST_CASE("fields that are not there do not match and leave the position") {
    TestProcess p;
    const Term ctx = bs_start_match(p, binary_of(p.heap, "abc"));
    REQUIRE(bs_skip(ctx, 5));
    const Term big = bignum::shift_left(p.heap, small(1), 70);
    for (const Term size : {small(20), small(-1), big, atoms::ok, make_small(kSmallMax)}) {
        CHECK(!is_value(bs_get_integer(p, ctx, size, 1, 0)));
        CHECK(!is_value(bs_get_integer(p, ctx, size, 256, 0)));
        CHECK(!is_value(bs_get_binary(p, ctx, size, 8)));
        CHECK(!bs_skip_bits(ctx, size, 1));
        CHECK(bs_get_position(ctx) == small(5));
    }
    CHECK(!is_value(bs_get_binary(p, ctx, atoms::all, 1)));  // no size, when it comes at run time
    CHECK(!bs_skip_bits(ctx, atoms::all, 1));
    CHECK(!is_value(bs_get_binary(p, ctx, atoms::all, kBsWholeRest | 8)));
    CHECK(!bs_skip_bits(ctx, atoms::all, kBsWholeRest | 8));
    CHECK(!bs_test_unit(ctx, 8));
    CHECK(bs_test_unit(ctx, 19));
    CHECK(bs_test_tail(ctx, 19));
    CHECK(!bs_test_tail(ctx, 18));
    CHECK(bs_ensure_at_least(ctx, 19, 8));
    CHECK(bs_ensure_at_least(ctx, 3, 8));
    CHECK(!bs_ensure_at_least(ctx, 4, 8));
    CHECK(!bs_ensure_at_least(ctx, 20, 1));
    CHECK(bs_ensure_exactly(ctx, 19));
    CHECK(show(bs_get_tail(p, ctx)) == "19:2c4c60");
    CHECK(show(bs_get_binary(p, ctx, atoms::all, kBsWholeRest | 1)) == "19:2c4c60");
    CHECK(bs_get_position(ctx) == small(24));
    bs_set_position(ctx, small(8));
    CHECK(show(bs_get_binary(p, ctx, small(1), 8)) == "8:62");
    CHECK(show(bs_context_to_binary(p, ctx)) == "24:616263");
    CHECK(bs_context_to_binary(p, atoms::ok) == atoms::ok);
    CHECK(bs_start_match(p, ctx) == ctx);
    for (const Term none : {small(1), atoms::ok, kNil, make_tuple(p.heap, small(1))}) {
        CHECK(!is_value(bs_start_match(p, none)));
    }
}

TEST_CASE("a part of a part of a bit string keeps its own positions") {
    TestProcess p;
    const std::string bytes(200, 'x');
    Term t = binary_of(p.heap, bytes + "abc");
    t = sub_bitstring(p.heap, t, 3, 1600 + 16);
    const Term ctx = bs_start_match(p, t);
    CHECK(bs_get_position(ctx) == small(0));
    REQUIRE(bs_skip(ctx, 1597));
    CHECK(show(bs_get_tail(p, ctx)) == "19:616260");
    CHECK(bs_get_integer(p, ctx, small(8), 1, 0) == small('a'));
    const Term rest = bs_get_tail(p, ctx);
    const Term ctx2 = bs_start_match(p, rest);
    CHECK(bs_get_integer(p, ctx2, small(8), 1, 0) == small('b'));
    CHECK(bs_test_tail(ctx2, 3));
    CHECK(show(bs_context_to_binary(p, ctx2)) == "11:6260");
}

TEST_CASE("strings are matched at any offset") {
    TestProcess p;
    const auto string = reinterpret_cast<const uint8_t*>("hello world, hello all");
    for (uint64_t offset = 0; offset < 8; offset++) {
        for (uint64_t bits = 0; bits <= 176; bits++) {
            uint8_t* to;
            const Term t = new_bits(p.heap, offset + bits + 5, &to);
            std::memset(to, 0, (offset + bits + 12) / 8);
            copy_bits(string, 0, to, offset, bits);
            const Term ctx = bs_start_match(p, t);
            REQUIRE(bs_skip(ctx, offset));
            REQUIRE(bs_match_string(ctx, bits, string));
            REQUIRE(bs_test_tail(ctx, 5));
            REQUIRE(!bs_match_string(ctx, 6, string));
            if (bits != 0) {
                bs_set_position(ctx, small(static_cast<int64_t>(offset)));
                const uint64_t wrong = offset + bits - 1;
                to[wrong / 8] ^= static_cast<uint8_t>(0x80 >> wrong % 8);
                REQUIRE(!bs_match_string(ctx, bits, string));
                REQUIRE(bs_get_position(ctx) == small(static_cast<int64_t>(offset)));
            }
        }
    }
}

TEST_CASE("bs_match compares with numbers of up to 64 bits") {
    TestProcess p;
    for (const unsigned size : {1u, 8u, 57u, 60u, 61u, 64u}) {
        // With each tag of a term in the lower bits.
        for (uint64_t low = 0; low < 8; ++low) {
            const uint64_t v = (0xFEDCBA9876543210 | low) << (64 - size) >> (64 - size);
            const Term number = make_unsigned(p.heap, v);
            const Term t = create(p, {integer(small(0), small(3)), integer(number, small(size)),
                                      integer(small(1), small(4))});
            const Term ctx = bs_start_match(p, t);
            REQUIRE(bs_skip(ctx, 3));
            CHECK(!bs_match_equal(ctx, size, v ^ 1));
            CHECK(bs_get_position(ctx) == small(3));
            CHECK(bs_match_equal(ctx, size, v));
            CHECK(bs_test_tail(ctx, 4));
            CHECK(!bs_match_equal(ctx, 5, 1));
        }
    }
}

TEST_CASE("bit strings are put together from parts at any offset") {
    TestProcess p;
    std::mt19937 random(7 + Catch::rngSeed());
    std::string noise(300, ' ');
    for (char& c : noise) {
        c = static_cast<char>(random());
    }
    const Term source = binary_of(p.heap, noise);
    for (int round = 0; round < 3000; round++) {
        // Expected: a string of the characters 0 and 1.
        std::string expected;
        std::vector<BinSegment> segments;
        const size_t n = random() % 6;
        for (size_t i = 0; i < n; i++) {
            const uint64_t first = random() % 700;
            const uint64_t bits = random() % (round % 2 == 0 ? 30 : 900);
            const Term part = sub_bitstring(p.heap, source, first, bits);
            uint64_t taken = bits;
            if (random() % 2 == 0) {
                segments.push_back(
                    all_of(i == 0 && random() % 2 == 0 ? Type::append : Type::binary, part, 1));
            } else {
                taken = bits == 0 ? 0 : random() % bits;
                segments.push_back(
                    {Type::binary, 0, 1, 0, nullptr, part, small(static_cast<int64_t>(taken))});
            }
            const BitView v = bit_view(source);
            for (uint64_t bit = 0; bit < taken; bit++) {
                expected += load_bits(v.bytes, first + bit, 1) != 0 ? '1' : '0';
            }
        }
        const Term t = create(p, segments);
        REQUIRE(is_value(t));
        const BitView v = bit_view(t);
        std::string got;
        for (uint64_t bit = 0; bit < v.size; bit++) {
            got += load_bits(v.bytes, v.offset + bit, 1) != 0 ? '1' : '0';
        }
        REQUIRE(got == expected);
    }
}

TEST_CASE("string segments are copied") {
    TestProcess p;
    const auto text = reinterpret_cast<const uint8_t*>("abc");
    const Term t = create(
        p, {integer(small(1), small(1)), {Type::string, 0, 8, 0, text, kNonValue, small(3)}});
    CHECK(show(t) == "25:b0b13180");
}

TEST_CASE("what cannot be put into a bit string is named as OTP names it") {
    TestProcess p;
    Heap& h = p.heap;
    const Term big = bignum::shift_left(h, small(1), 70);
    const Term huge = bignum::shift_left(h, small(1), 2000);
    const Term bit = sub_bitstring(h, binary_of(h, "a"), 0, 1);
    const Term two = binary_of(h, "ab");
    const Term one_and_half = make_float(h, 1.5);
    const auto fails = [&p](std::vector<BinSegment> segments) {
        CHECK(!is_value(create(p, segments)));
        return failure(p);
    };
    const auto float_of = [](Term v, int64_t size) {
        return BinSegment{Type::float_, 0, 1, 0, nullptr, v, small(size)};
    };
    const auto binary_part = [](Term v, Term size) {
        return BinSegment{Type::binary, 0, 8, 0, nullptr, v, size};
    };
    CHECK(fails({integer(atoms::ok, small(8))}) == "badarg 1 integer type ok");
    CHECK(fails({integer(small(1), small(-1))}) == "badarg 1 integer size -1");
    CHECK(fails({integer(small(1), atoms::ok)}) == "badarg 1 integer size ok");
    CHECK(fails({integer(small(1), big)}) == "system_limit 1 integer size *");
    CHECK(fails({integer(atoms::ok, big)}) == "system_limit 1 integer size *");
    CHECK(fails({integer(small(1), small(int64_t{1} << 59))}) ==
          "system_limit 1 integer size 576460752303423488");
    CHECK(fails({integer(small(1), small(int64_t{1} << 58), 0, 256)}) ==
          "system_limit 1 integer size 288230376151711744");
    CHECK(fails({float_of(atoms::ok, 64)}) == "badarg 1 float type ok");
    CHECK(fails({float_of(one_and_half, 17)}) == "badarg 1 float invalid 17");
    CHECK(fails({float_of(one_and_half, 0)}) == "badarg 1 float invalid 0");
    CHECK(fails({float_of(huge, 64)}) == "badarg 1 float no_float *");
    CHECK(fails({all_of(Type::binary, atoms::ok, 8)}) == "badarg 1 binary type ok");
    CHECK(fails({all_of(Type::binary, bit, 8)}) == "badarg 1 binary unit *");
    CHECK(fails({all_of(Type::append, atoms::ok, 8), integer(small(1), small(8))}) ==
          "badarg 1 binary type ok");
    CHECK(fails({all_of(Type::append, bit, 8), integer(small(1), small(8))}) ==
          "badarg 1 binary unit *");
    CHECK(fails({all_of(Type::append, atoms::ok, 8), integer(atoms::all, atoms::ok)}) ==
          "badarg 2 integer size ok");
    CHECK(fails({binary_part(two, small(3))}) == "badarg 1 binary short *");
    CHECK(fails({binary_part(two, small(-1))}) == "badarg 1 binary size -1");
    CHECK(fails({binary_part(atoms::ok, small(1))}) == "badarg 1 binary type ok");
    CHECK(fails({binary_part(two, big)}) == "system_limit 1 binary size *");
    CHECK(fails({character(Type::utf8, atoms::ok)}) == "badarg 1 utf8 type ok");
    CHECK(fails({character(Type::utf16, small(0xD800))}) == "badarg 1 utf16 type 55296");
    CHECK(fails({character(Type::utf32, big)}) == "badarg 1 utf32 type *");
}

TEST_CASE("appending in a loop extends in place, and older values stay what they were") {
    TestProcess p;
    for (const int64_t bits : {1, 3, 8, 13, 64}) {
        Term t = bs_init_writable(p, small(0));
        const uint8_t* storage = nullptr;
        int moves = 0;
        std::vector<Term> older;
        for (int64_t i = 0; i < 5000; i++) {
            t = create(p, {all_of(i % 2 == 0 ? Type::append : Type::private_append, t, 1),
                           integer(small(i), small(bits))});
            moves += bit_view(t).bytes != storage;
            storage = bit_view(t).bytes;
            if (i % 500 == 0) {
                older.push_back(t);
            }
        }
        CHECK(moves < 32);
        REQUIRE(bitstring_bits(t) == static_cast<uint64_t>(5000 * bits));
        // Appending to one that is not the last makes a copy.
        std::vector<Term> branches;
        for (const Term old : older) {
            branches.push_back(
                create(p, {all_of(Type::append, old, 1), integer(small(-1), small(9))}));
            CHECK(bit_view(branches.back()).bytes != bit_view(t).bytes);
        }
        const auto check = [&](Term value, int64_t count) {
            const Term ctx = bs_start_match(p, value);
            for (int64_t i = 0; i < count; i++) {
                const Term mask = small(i & ((int64_t{1} << std::min<int64_t>(bits, 59)) - 1));
                REQUIRE(bs_get_integer(p, ctx, small(bits), 1, 0) == mask);
            }
            return ctx;
        };
        CHECK(bs_test_tail(check(t, 5000), 0));
        for (size_t i = 0; i < older.size(); i++) {
            const int64_t count = static_cast<int64_t>(i) * 500 + 1;
            CHECK(bs_test_tail(check(older[i], count), 0));
            const Term ctx = check(branches[i], count);
            CHECK(bs_get_integer(p, ctx, small(9), 1, 0) == small(511));
            CHECK(bs_test_tail(ctx, 0));
        }
    }
}

TEST_CASE("a binary appended to itself") {
    TestProcess p;
    Term t = create(
        p, {all_of(Type::append, binary_of(p.heap, "ab"), 8), integer(small('c'), small(8))});
    std::string expected = "abc";
    for (int i = 0; i < 10; i++) {
        t = create(p, {all_of(Type::append, t, 8), all_of(Type::binary, t, 8),
                       all_of(Type::binary, t, 8)});
        expected = expected + expected + expected;
    }
    Bytes bytes;
    REQUIRE(get_bytes(t, &bytes));
    CHECK(std::string(reinterpret_cast<const char*>(bytes.data), bytes.size) == expected);
}

TEST_CASE("two processes that append to one binary do not see each other's bytes") {
    for (int round = 0; round < 200; round++) {
        TestProcess a;
        TestProcess b;
        Term first = create(a, {all_of(Type::append, binary_of(a.heap, std::string(100, 'x')), 8),
                                integer(small(1), small(8))});
        Term second = copy_term(first, b.heap, true);
        REQUIRE(bit_view(first).bytes == bit_view(second).bytes);
        const auto run = [](Process* p, Term* t, int64_t mark) {
            for (int i = 0; i < 200; i++) {
                *t = create(*p, {all_of(Type::append, *t, 8), integer(small(mark), small(8))});
            }
        };
        std::thread other(run, &b, &second, 3);
        run(&a, &first, 2);
        other.join();
        const auto text = [](Term t) {
            Bytes bytes;
            REQUIRE(get_bytes(t, &bytes));
            return std::string(reinterpret_cast<const char*>(bytes.data), bytes.size);
        };
        CHECK(text(first) == std::string(100, 'x') + '\1' + std::string(200, '\2'));
        CHECK(text(second) == std::string(100, 'x') + '\1' + std::string(200, '\3'));
    }
}

TEST_CASE("the instructions of older compilers build the same") {
    TestProcess p;
    const Term t = bs_init(p, small(19), 1);
    REQUIRE(is_value(t));
    CHECK(bs_put_integer(p, small(3), 1, 0, small(5)));
    CHECK(bs_put_utf8(p, small(0xE5)));
    CHECK(show(t) == "19:b874a0");
    const Term u = bs_append(p, small(9), 8, binary_of(p.heap, "ab"), 8);
    bs_put_string(reinterpret_cast<const uint8_t*>("cd"), 2);
    CHECK(bs_put_float(p, small(16), 1, 0, small(1)));
    CHECK(bs_put_binary(p, atoms::all, 8, binary_of(p.heap, "e")));
    CHECK(bs_put_utf16(p, 2, small('f')));
    CHECK(bs_put_integer(p, small(2), 8, 2, small(258)));
    CHECK(show(u) == "88:616263643c006566000201");
    CHECK(!is_value(bs_init(p, small(-1), 8)));
    CHECK(failure(p) == "badarg");
    CHECK(bs_add(p, small(3), small(4), 8) == small(35));
    CHECK(!is_value(bs_add(p, small(3), small(-4), 8)));
    CHECK(failure(p) == "badarg");
    CHECK(!is_value(bs_add(p, small(3), make_small(kSmallMax), 8)));
    CHECK(failure(p) == "system_limit");
    CHECK(!bs_put_utf32(p, 0, small(0xD800)));
    CHECK(failure(p) == "badarg");
}
