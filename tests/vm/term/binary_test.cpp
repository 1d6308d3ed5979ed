#include "vm/term/binary.hpp"

#include "vm/term/atom_table.hpp"
#include "vm/term/compare.hpp"

#include <catch2/catch.hpp>

#include <algorithm>
#include <random>
#include <string>
#include <vector>

using namespace minivm;

namespace {

struct TestHeap : Heap {
    ~TestHeap() { clear(); }
};

bool bit_at(const uint8_t* bytes, uint64_t bit) {
    return (bytes[bit / 8] >> (7 - bit % 8) & 1) != 0;
}

std::vector<uint8_t> noise(size_t n, unsigned seed) {
    std::mt19937 random(seed + Catch::rngSeed());
    std::vector<uint8_t> bytes(n);
    for (uint8_t& b : bytes) {
        b = static_cast<uint8_t>(random());
    }
    return bytes;
}

// Exactly as many bytes as hold the bits [0, bits), so that the sanitizer sees an access behind
// them.
std::vector<uint8_t> exact(const std::vector<uint8_t>& from, uint64_t bits) {
    return {from.begin(), from.begin() + static_cast<ptrdiff_t>((bits + 7) / 8)};
}

std::string text_of(const Bytes& b) {
    return {reinterpret_cast<const char*>(b.data), b.size};
}

Term bin(Heap& h, const std::string& text) {
    return make_binary(h, text.data(), text.size());
}

}  // namespace

TEST_CASE("bits are copied between all offsets, and no others change") {
    const std::vector<uint8_t> source = noise(40, 1);
    const std::vector<uint8_t> target = noise(40, 2);
    for (uint64_t from = 0; from < 17; from++) {
        for (uint64_t to = 0; to < 10; to++) {
            for (uint64_t n = 0; n <= 200; n++) {
                const std::vector<uint8_t> in = exact(source, from + n);
                std::vector<uint8_t> out = exact(target, to + n);
                copy_bits(in.data(), from, out.data(), to, n);
                for (uint64_t bit = 0; bit < 8 * out.size(); bit++) {
                    const bool expected = bit >= to && bit < to + n
                                              ? bit_at(in.data(), from + bit - to)
                                              : bit_at(target.data(), bit);
                    if (bit_at(out.data(), bit) != expected) {
                        FAIL("from " << from << " to " << to << " n " << n << ": bit " << bit);
                    }
                }
            }
        }
    }
}

TEST_CASE("up to 64 bits are loaded from all offsets") {
    const std::vector<uint8_t> source = noise(40, 3);
    for (uint64_t from = 0; from < 24; from++) {
        for (unsigned n = 0; n <= 64; n++) {
            uint64_t expected = 0;
            for (unsigned i = 0; i < n; i++) {
                expected = expected << 1 | (bit_at(source.data(), from + i) ? 1 : 0);
            }
            const std::vector<uint8_t> in = exact(source, from + n);
            REQUIRE(load_bits(in.data(), from, n) == expected);
        }
    }
}

TEST_CASE("bit strings are ordered by their bits, then by size, at all offsets") {
    const std::vector<uint8_t> source = noise(40, 4);
    for (uint64_t a = 0; a < 8; a++) {
        for (uint64_t b = 0; b < 8; b++) {
            for (uint64_t n = 0; n <= 150; n += 1 + n / 10) {
                std::vector<uint8_t> left(40, 0xFF);
                std::vector<uint8_t> right(40, 0);
                copy_bits(source.data(), 3, left.data(), a, n);
                copy_bits(source.data(), 3, right.data(), b, n);
                REQUIRE(compare_bits({left.data(), a, n}, {right.data(), b, n}) == 0);
                REQUIRE(compare_bits({left.data(), a, n}, {right.data(), b, n + 1}) < 0);
                REQUIRE(compare_bits({left.data(), a, n + 1}, {right.data(), b, n}) > 0);
                for (uint64_t bit = 0; bit < n; bit++) {
                    std::vector<uint8_t> changed = right;
                    changed[(b + bit) / 8] ^= static_cast<uint8_t>(0x80 >> (b + bit) % 8);
                    const int expected = bit_at(left.data(), a + bit) ? 1 : -1;
                    const int got = compare_bits({left.data(), a, n}, {changed.data(), b, n});
                    REQUIRE((got > 0) == (expected > 0));
                    REQUIRE(got != 0);
                }
            }
        }
    }
}

TEST_CASE("bit strings of all small sizes, on the heap and off it, give their bits back") {
    const std::vector<uint8_t> source = noise(300, 5);
    for (uint64_t bits = 0; bits <= 600; bits++) {
        TestHeap h;
        uint8_t* to;
        const Term t = new_bits(h, bits, &to);
        copy_bits(source.data(), 0, to, 0, bits);
        REQUIRE(is_bitstring(t));
        REQUIRE(bitstring_bits(t) == bits);
        REQUIRE(is_binary(t) == (bits % 8 == 0));
        REQUIRE((h.off_heap != nullptr) == (bits > 512));
        REQUIRE(compare_bits(bit_view(t), {source.data(), 0, bits}) == 0);
    }
}

TEST_CASE("every part of a bit string is those bits, also as a part of a part") {
    const std::vector<uint8_t> source = noise(100, 6);
    for (const size_t size : {size_t{9}, size_t{70}}) {
        TestHeap h;
        const Term whole = make_binary(h, source.data(), size);
        for (uint64_t first = 0; first <= 8 * size; first += size > 9 ? 5 : 1) {
            for (uint64_t n = 0; first + n <= 8 * size; n += size > 9 ? 7 : 1) {
                const Term part = sub_bitstring(h, whole, first, n);
                REQUIRE(bitstring_bits(part) == n);
                REQUIRE(compare_bits(bit_view(part), {source.data(), first, n}) == 0);
                const Term inner = sub_bitstring(h, part, n / 3, n / 2);
                REQUIRE(compare_bits(bit_view(inner), {source.data(), first + n / 3, n / 2}) == 0);
                // What the bits after the end are makes no difference.
                uint8_t* to;
                const Term copy = new_bits(h, n, &to);
                std::fill(to, to + (n + 7) / 8, uint8_t{0xFF});
                copy_bits(source.data(), first, to, 0, n);
                REQUIRE(exact_equal(part, copy));
            }
        }
    }
}

TEST_CASE("a small part of a binary keeps nothing of it alive, a large one shares it") {
    TestHeap h;
    const Term whole = bin(h, std::string(200, 'x'));
    const auto storage = bit_view(whole).bytes;
    CHECK(bit_view(sub_bitstring(h, whole, 8, 8 * 64)).bytes != storage);
    CHECK(bit_view(sub_bitstring(h, whole, 8, 8 * 65)).bytes == storage);
    CHECK(bit_view(sub_bitstring(h, whole, 3, 8)).bytes == storage);
}

TEST_CASE("the bytes of a binary are contiguous whatever its alignment") {
    TestHeap h;
    const std::string text = "some bytes, not aligned";
    for (uint64_t shift = 0; shift < 8; shift++) {
        uint8_t* to;
        const Term t = new_bits(h, shift + 8 * text.size(), &to);
        to[0] = 0;
        copy_bits(reinterpret_cast<const uint8_t*>(text.data()), 0, to, shift, 8 * text.size());
        Bytes bytes;
        REQUIRE(get_bytes(sub_bitstring(h, t, shift, 8 * text.size()), &bytes));
        CHECK(text_of(bytes) == text);
        CHECK(!get_bytes(sub_bitstring(h, t, shift, 8 * text.size() - 1), &bytes));
    }
    Bytes bytes;
    CHECK(!get_bytes(make_small(1), &bytes));
    REQUIRE(get_bytes(bin(h, ""), &bytes));
    CHECK(bytes.size == 0);
}

TEST_CASE("iodata is flattened, and what is none refused") {
    TestHeap h;
    const auto list = [&h](std::vector<Term> elements, Term tail) {
        for (size_t i = elements.size(); i != 0; i--) {
            tail = cons(h, elements[i - 1], tail);
        }
        return tail;
    };
    const Term unaligned = sub_bitstring(h, bin(h, "\x0C\x2C\x4C\x60"), 5, 24);
    const Term inner =
        list({make_small('b'), bin(h, "cd"), kNil, list({bin(h, "")}, kNil)}, bin(h, "e"));
    const Term good = list({bin(h, "a"), inner, make_small(255), unaligned}, kNil);
    std::string out = "kept ";
    uint64_t size = 0;
    REQUIRE(iolist_to_bytes(good, &out));
    CHECK(out == "kept abcde\xFF\x85\x89\x8C");
    REQUIRE(iolist_size(good, &size));
    CHECK(size == out.size() - 5);
    REQUIRE(iolist_size(bin(h, "abc"), &size));
    CHECK(size == 3);
    const Term bit = sub_bitstring(h, bin(h, "a"), 0, 3);
    for (const Term bad : {make_small(1), atoms::ok, bit, list({make_small(256)}, kNil),
                           list({make_small(-1)}, kNil), list({atoms::ok}, kNil), list({bit}, kNil),
                           list({make_small(1)}, make_small(2)), list({inner}, atoms::ok),
                           list({list({kNil}, bit)}, kNil)}) {
        CHECK(!iolist_to_bytes(bad, &out));
        CHECK(!iolist_size(bad, &size));
    }
    Term deep = kNil;
    for (int i = 0; i < 1000000; i++) {
        deep = i % 2 == 0 ? list({deep}, kNil) : list({deep, make_small('x')}, kNil);
    }
    REQUIRE(iolist_size(deep, &size));
    CHECK(size == 500000);
}

TEST_CASE("an append extends in place only what ends where the storage's content ends") {
    TestHeap h;
    uint8_t* to;
    uint64_t at;
    const Term start = bin(h, std::string(100, 'a'));
    const Term first = append_bits(h, start, 8, &to, &at);
    CHECK(at == 800);
    CHECK(bit_view(first).bytes != bit_view(start).bytes);
    to[100] = 'b';
    const Term second = append_bits(h, first, 4, &to, &at);
    CHECK(bit_view(second).bytes == bit_view(first).bytes);
    CHECK(at == 808);
    to[101] = 0xF0;
    // The first one again: its place is taken.
    const Term other = append_bits(h, first, 8, &to, &at);
    CHECK(bit_view(other).bytes != bit_view(first).bytes);
    to[101] = 'c';
    CHECK(load_bits(bit_view(second).bytes, 808, 4) == 15);
    // A part that does not end at the content's end.
    const Term part = sub_bitstring(h, second, 3, 790);
    CHECK(bit_view(append_bits(h, part, 1, &to, &at)).bytes != bit_view(second).bytes);
    // One that does.
    const Term end = sub_bitstring(h, second, 3, 809);
    const Term grown = append_bits(h, end, 3, &to, &at);
    CHECK(bit_view(grown).bytes == bit_view(second).bytes);
    CHECK(at == 812);
    CHECK(bitstring_bits(grown) == 812);
}

TEST_CASE("storage with two owners is not moved, and its last byte not shared") {
    TestHeap h;
    TestHeap other;
    uint8_t* to;
    uint64_t at;
    Term t = append_bits(h, bin(h, std::string(60, 'a')), 8 * 4 + 3, &to, &at);
    std::fill(to + 60, to + 65, uint8_t{'b'});
    const auto storage = bit_view(t).bytes;
    const Term copy = copy_term(t, other, true);
    REQUIRE(bit_view(copy).bytes == storage);
    // It ends inside a byte that the other owner may read.
    CHECK(bit_view(append_bits(h, t, 5, &to, &at)).bytes != storage);
    other.clear();
    t = append_bits(h, t, 5, &to, &at);
    CHECK(bit_view(t).bytes == storage);
    to[64] = 'b';
    const Term again = copy_term(t, other, true);
    // Whole bytes grow in place as long as there is room, then elsewhere.
    const Term grown = append_bits(h, t, 8, &to, &at);
    CHECK(bit_view(grown).bytes == storage);
    to[65] = 'c';
    const Term moved = append_bits(h, grown, 8 * 1000, &to, &at);
    CHECK(bit_view(moved).bytes != storage);
    CHECK(bit_view(again).bytes == storage);
    Bytes bytes;
    REQUIRE(get_bytes(again, &bytes));
    CHECK(text_of(bytes) == std::string(60, 'a') + std::string(5, 'b'));
}
