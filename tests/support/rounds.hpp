// How often a test repeats itself: fewer rounds where a sanitizer makes each of them many times as long.
#pragma once

namespace minivm::test {

constexpr int rounds([[maybe_unused]] int plain, [[maybe_unused]] int sanitized) {
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
    return sanitized;
#else
    return plain;
#endif
}

}  // namespace minivm::test
