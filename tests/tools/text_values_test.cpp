#include "tools/text_values.hpp"

#include "recorder/recorder.hpp"

#include <catch2/catch.hpp>

using namespace minivm;
using namespace minivm::tools;

TEST_CASE("sizes on the command line") {
    const auto size = [](const char* text) {
        uint64_t bytes = 77;
        return parse_size(text, &bytes) ? bytes : 77;
    };
    CHECK(size("1048576") == 1048576);
    CHECK(size("6M") == 6 << 20);
    CHECK(size("6m") == 6 << 20);
    CHECK(size("1.5K") == 1536);
    CHECK(size("2GiB") == uint64_t{2} << 30);
    CHECK(size("10B") == 10);
    for (const char* bad : {"", "M", "-1", "6X", "6Mx", "6 M", "1e9", "99999999G", "nan"}) {
        INFO(bad);
        CHECK(size(bad) == 77);
    }
}

TEST_CASE("times on the command line") {
    const auto time = [](const char* text) {
        uint64_t ns = 77;
        return parse_duration(text, &ns) ? ns : 77;
    };
    CHECK(time("5") == 5'000'000'000);
    CHECK(time("5s") == 5'000'000'000);
    CHECK(time("250ms") == 250'000'000);
    CHECK(time("1.5us") == 1500);
    CHECK(time("10ns") == 10);
    CHECK(time("2m") == 120'000'000'000);
    CHECK(time("1h") == 3'600'000'000'000);
    for (const char* bad : {"", "s", "-5s", "5 s", "5d", "soon", "99999999999h"}) {
        INFO(bad);
        CHECK(time(bad) == 77);
    }
}

TEST_CASE("processes on the command line") {
    const auto pid = [](const char* text) {
        uint32_t subject = 77;
        return parse_pid(text, &subject) ? subject : 77;
    };
    CHECK(pid("<0.80.0>") == 80);
    CHECK(pid("0.80.0") == 80);
    CHECK(pid("80") == 80);
    CHECK(pid("<0.5.2>") == (5u | 2u << 28));
    CHECK(pid("<0.0.0>") == recorder::kSubjectZero);
    for (const char* bad : {"", "<1.80.0>", "0.80", "<0.80.0", "80x", "0.80.99", "999999999999", "till"}) {
        INFO(bad);
        CHECK(pid(bad) == 77);
    }
}

TEST_CASE("categories on the command line") {
    uint32_t mask = 0;
    std::string unknown;
    REQUIRE(parse_categories("gc,sched", &mask, &unknown));
    CHECK(mask == (recorder::category_bit(recorder::Category::gc) |
                   recorder::category_bit(recorder::Category::sched)));
    REQUIRE(parse_categories("all", &mask, &unknown));
    CHECK(mask == recorder::kAllCategories);
    CHECK_FALSE(parse_categories("gc,news", &mask, &unknown));
    CHECK(unknown == "news");
    CHECK_FALSE(parse_categories("", &mask, &unknown));
}
