#include "vm/term/bignum.hpp"

#include "vm/term/compare.hpp"

#include <catch2/catch.hpp>

#include <cmath>
#include <random>

namespace {

using namespace minivm;

struct TestHeap : Heap {
    ~TestHeap() { clear(); }
};

// A random integer of up to `limbs` limbs, small ones and runs of ones and zeros included.
Term random_integer(Heap& h, std::mt19937_64& random, size_t limbs) {
    std::vector<uint64_t> words(random() % (limbs + 1));
    for (uint64_t& w : words) {
        const uint64_t r = random();
        w = r % 4 == 0 ? 0 : r % 4 == 1 ? ~uint64_t{0} : random();
    }
    return bignum::from_limbs(h, (random() & 1) != 0, words.data(), words.size());
}

Term power_of_two(Heap& h, int64_t n) {
    return bignum::shift_left(h, make_small(1), n);
}

TEST_CASE("operations on random integers agree with each other") {
    std::mt19937_64 random(4711 + Catch::rngSeed());
    for (int round = 0; round < 1500; ++round) {
        TestHeap h;
        const size_t limbs = round % 50 == 0 ? 120 : 5;
        const Term a = random_integer(h, random, limbs);
        const Term b = random_integer(h, random, limbs);
        const Term c = random_integer(h, random, 4);
        CAPTURE(bignum::to_string(a, 16), bignum::to_string(b, 16), bignum::to_string(c, 16));
        using namespace bignum;
        CHECK(exact_equal(sub(h, add(h, a, b), b), a));
        CHECK(exact_equal(add(h, a, b), add(h, b, a)));
        CHECK(exact_equal(mul(h, add(h, a, b), c), add(h, mul(h, a, c), mul(h, b, c))));
        CHECK(exact_equal(mul(h, a, a), mul(h, a, add(h, a, make_small(0)))));
        CHECK(exact_equal(neg(h, neg(h, a)), a));
        CHECK(exact_equal(bnot(h, a), sub(h, neg(h, a), make_small(1))));
        if (b != make_small(0)) {
            const Term quotient = bignum::div(h, a, b);
            const Term remainder = rem(h, a, b);
            CHECK(exact_equal(add(h, mul(h, quotient, b), remainder), a));
            const Term magnitude =
                bignum::compare(remainder, make_small(0)) < 0 ? neg(h, remainder) : remainder;
            const Term limit = bignum::compare(b, make_small(0)) < 0 ? neg(h, b) : b;
            CHECK(bignum::compare(magnitude, limit) < 0);
        }
        // a + b == (a xor b) + 2 * (a and b), a or b == (a xor b) + (a and b)
        const Term both = band(h, a, b);
        const Term either = bxor(h, a, b);
        CHECK(exact_equal(add(h, either, mul(h, both, make_small(2))), add(h, a, b)));
        CHECK(exact_equal(add(h, either, both), bor(h, a, b)));
        const auto shift = static_cast<int64_t>(random() % 300);
        const Term shifted = shift_left(h, a, shift);
        CHECK(exact_equal(shifted, mul(h, a, power_of_two(h, shift))));
        CHECK(exact_equal(shift_left(h, shifted, -shift), a));
        // The floor of a / 2^shift: multiplied back it is at most a, and closer than 2^shift.
        const Term rest = sub(h, a, shift_left(h, shift_left(h, a, -shift), shift));
        CHECK(bignum::compare(rest, make_small(0)) >= 0);
        CHECK(bignum::compare(rest, power_of_two(h, shift)) < 0);
        const int base = 2 + static_cast<int>(random() % 35);
        CHECK(exact_equal(parse(h, to_string(a, base), base), a));
        std::vector<uint8_t> bytes(magnitude_bytes(a));
        copy_magnitude(a, bytes.data(), bytes.size());
        const bool negative = bignum::compare(a, make_small(0)) < 0;
        CHECK(exact_equal(from_magnitude(h, negative, bytes.data(), bytes.size()), a));
    }
}

TEST_CASE("what fits a small integer is one") {
    TestHeap h;
    const Term above = bignum::add(h, make_small(kSmallMax), make_small(1));
    CHECK(is_big(above));
    CHECK(bignum::sub(h, above, make_small(1)) == make_small(kSmallMax));
    CHECK(bignum::neg(h, above) == make_small(kSmallMin));
    CHECK(is_big(bignum::neg(h, make_small(kSmallMin))));
    CHECK(bignum::div(h, above, make_small(-1)) == make_small(kSmallMin));
    const uint64_t padded[] = {7, 0, 0};
    CHECK(bignum::from_limbs(h, true, padded, 3) == make_small(-7));
}

TEST_CASE("integers beyond OTP's limit of 524287 limbs are refused and huge shifts do not crash") {
    TestHeap h;
    constexpr int64_t kMostBits = 33'554'368;
    const Term largest_power = power_of_two(h, kMostBits - 1);
    REQUIRE(is_value(largest_power));
    const Term largest =
        bignum::add(h, bignum::sub(h, largest_power, make_small(1)), largest_power);
    REQUIRE(is_value(largest));
    CHECK(bignum::magnitude_bytes(largest) == kMostBits / 8);
    CHECK(!is_value(power_of_two(h, kMostBits)));
    CHECK(!is_value(bignum::shift_left(h, make_small(7), kMostBits - 2)));
    CHECK(!is_value(bignum::shift_left(h, make_small(1), INT64_MAX)));
    CHECK(!is_value(bignum::add(h, largest, make_small(1))));
    CHECK(!is_value(bignum::sub(h, bignum::neg(h, largest), make_small(1))));
    CHECK(!is_value(bignum::bnot(h, largest)));
    CHECK(is_value(bignum::bnot(h, bignum::neg(h, largest))));
    CHECK(!is_value(bignum::mul(h, largest, make_small(2))));
    CHECK(is_value(bignum::mul(h, largest, make_small(1))));
    const Term half = power_of_two(h, kMostBits / 2);
    CHECK(!is_value(bignum::mul(h, half, half)));
    CHECK(is_value(bignum::mul(h, half, power_of_two(h, kMostBits / 2 - 1))));
    CHECK(bignum::shift_left(h, largest, INT64_MIN) == make_small(0));
    CHECK(bignum::shift_left(h, bignum::neg(h, largest), INT64_MIN) == make_small(-1));
    CHECK(bignum::shift_left(h, make_small(0), INT64_MAX) == make_small(0));
    CHECK(!is_value(bignum::parse(h, std::string(9'000'000, 'f'), 16)));
}

TEST_CASE("an integer and a double compare exactly") {
    std::mt19937_64 random(99 + Catch::rngSeed());
    for (int round = 0; round < 2000; ++round) {
        TestHeap h;
        const double d = std::round(std::ldexp(static_cast<double>(random() >> 11),
                                               static_cast<int>(random() % 400) - 60)) *
                         (random() % 2 == 0 ? 1 : -1);
        const Term i = bignum::from_double(h, d);
        CAPTURE(d);
        CHECK(bignum::compare_with_double(i, d) == 0);
        CHECK(bignum::compare_with_double(bignum::add(h, i, make_small(1)), d) > 0);
        CHECK(bignum::compare_with_double(bignum::sub(h, i, make_small(1)), d) < 0);
        CHECK(bignum::compare_with_double(i, std::nextafter(d, 1e300)) < 0);
        CHECK(bignum::compare_with_double(i, std::nextafter(d, -1e300)) > 0);
        double back = 0;
        REQUIRE(bignum::to_double(i, &back));
        CHECK(back == d);
    }
}

TEST_CASE("text that is no integer is not parsed") {
    TestHeap h;
    for (const char* text : {"", "+", "-", "--1", "1_000", " 1", "1 ", "12a", "1.0", "0x10"}) {
        CAPTURE(text);
        CHECK(!is_value(bignum::parse(h, text, 10)));
    }
    CHECK(bignum::parse(h, "+0012", 10) == make_small(12));
    CHECK(bignum::parse(h, "-zZ", 36) == make_small(-1295));
    CHECK(!is_value(bignum::parse(h, "2", 2)));
    CHECK(bignum::parse(h, "-1152921504606846976", 10) == make_small(kSmallMin));
}

}  // namespace
