// A test that cannot run where it is started says so and counts as skipped. tests/skip.list names those that may.
#pragma once

#include <catch2/catch.hpp>

#include <cstdio>

namespace minivm::test {

// Of the test that runs; it returns behind it. why: one line.
inline void left_out(const char* why) {
    std::printf("left out: %s: %s\n", Catch::getResultCapture().getCurrentTestName().c_str(), why);
    std::fflush(stdout);  // before Catch2's total
}

}  // namespace minivm::test
