// The recorder as a program uses it.
#include "recorder/recorder.hpp"

#include <catch2/catch.hpp>

#include <thread>

using namespace minivm::recorder;

TEST_CASE("records are counted, and a category that is off writes none") {
    REQUIRE(init({}).ok);
    REQUIRE(attach_thread("test", RingSize::large));
    const uint64_t before = totals().written;
    record(EventId::send, 1, 2, 3);
    REQUIRE(totals().written == before + 1);
    set_categories(kAllCategories & ~category_bit(Category::message));
    const uint64_t after_change = totals().written;
    record(EventId::send, 1, 2, 3);
    REQUIRE(totals().written == after_change);
    record(EventId::note, "still on");
    REQUIRE(totals().written == after_change + 1);
    shutdown();
    record(EventId::send, 1, 2, 3);
    REQUIRE(totals().written == 0);
}

TEST_CASE("a second init is refused and says so") {
    REQUIRE(init({}).ok);
    const InitResult again = init({});
    REQUIRE_FALSE(again.ok);
    REQUIRE(again.error.find("already running") != std::string::npos);
    shutdown();
}

TEST_CASE("a size that cannot hold the rings is refused with the size that can") {
    Options options;
    options.spare_threads = 0;
    options.size_bytes = 64 * 1024;
    const InitResult result = init(options);
    REQUIRE_FALSE(result.ok);
    const size_t at = result.error.find("at least ");
    REQUIRE(at != std::string::npos);
    options.size_bytes = std::stoull(result.error.substr(at + 9));
    REQUIRE(init(options).ok);
    shutdown();
}

TEST_CASE("threads without rings share one, and none of their records goes uncounted") {
    Options options;
    options.spare_threads = 0;
    options.large_threads = 1;
    options.small_threads = 0;
    REQUIRE(init(options).ok);
    REQUIRE(attach_thread("owner"));
    const uint64_t before = totals().written + totals().dropped;
    std::thread other([] {
        REQUIRE_FALSE(attach_thread("late"));  // one record
        for (int i = 0; i < 1000; i++) {
            record(EventId::link, 1, 2);
        }
    });
    other.join();
    REQUIRE(totals().written + totals().dropped == before + 1001);
    shutdown();
}
