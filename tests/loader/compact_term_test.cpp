#include "loader/compact_term.hpp"

#include "tests/loader/beam_builder.hpp"

#include <catch2/catch.hpp>

using namespace minivm;
using namespace minivm::loader;

static CompactResult read(const test::Bytes& bytes, CompactNumber* out, size_t* used = nullptr) {
    ByteReader in(bytes.data(), bytes.size());
    const CompactResult r = read_compact(in, out);
    if (used != nullptr) {
        *used = in.offset();
    }
    return r;
}

TEST_CASE("compact numbers are read in all their lengths", "[loader]") {
    for (const uint64_t v : {0ull, 1ull, 15ull, 16ull, 255ull, 2047ull, 2048ull, 0x7FFFull,
                             0x8000ull, 0xFFFFFFull, 0xFFFFFFFFull, 0x7FFFFFFFFFFFFFFFull}) {
        const test::Bytes bytes = test::compact(0, v);
        CompactNumber n;
        size_t used = 0;
        REQUIRE(read(bytes, &n, &used) == CompactResult::ok);
        CHECK(n.tag == CompactTag::u);
        CHECK(static_cast<uint64_t>(n.value) == v);
        CHECK(used == bytes.size());
    }
}

TEST_CASE("integers are two's complement, other numbers are not negative", "[loader]") {
    CompactNumber n;
    REQUIRE(read({0x19, 0xFF, 0xFF}, &n) == CompactResult::ok);
    CHECK(n.tag == CompactTag::i);
    CHECK(n.value == -1);
    REQUIRE(read({0x19, 0x80, 0x00}, &n) == CompactResult::ok);
    CHECK(n.value == -32768);
    REQUIRE(read(test::integer(INT64_MIN).bytes, &n) == CompactResult::ok);
    CHECK(n.value == INT64_MIN);
    CHECK(read({0xD8, 0x80, 0, 0, 0, 0, 0, 0, 0}, &n) == CompactResult::too_large);
}

TEST_CASE("integers over 64 bits keep their bytes", "[loader]") {
    test::Bytes bytes = {0xF9, 0x10, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10};  // 9 + 1 bytes
    CompactNumber n;
    size_t used = 0;
    REQUIRE(read(bytes, &n, &used) == CompactResult::ok);
    CHECK(n.is_big);
    CHECK(n.byte_count == 10);
    CHECK(n.bytes[9] == 10);
    CHECK(used == 12);
    bytes[0] = 0xF8;
    CHECK(read(bytes, &n) == CompactResult::too_large);
}

TEST_CASE("compact numbers that are cut off are told", "[loader]") {
    const test::Bytes whole = {0xF9, 0x10, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10};
    for (size_t n = 0; n < whole.size(); ++n) {
        CompactNumber number;
        CHECK(read(test::Bytes(whole.begin(), whole.begin() + static_cast<ptrdiff_t>(n)),
                   &number) == CompactResult::truncated);
    }
    CompactNumber number;
    CHECK(read({0xF9, 0xF8, 0x10, 1}, &number) == CompactResult::too_large);
}
