// Assertions and the few compiler hints the project uses.
//
// MINIVM_ASSERT states a relation on hot paths and exists only where MINIVM_DEBUG is defined
// (presets dev, tsan, coverage, fuzz); MINIVM_CHECK states one on cold paths and is always on.
// Neither is for bad input: what comes from outside is refused with a Result (vm/util/result.hpp).
#pragma once

#define MINIVM_LIKELY(condition) __builtin_expect(static_cast<bool>(condition), 1)
#define MINIVM_UNLIKELY(condition) __builtin_expect(static_cast<bool>(condition), 0)
#define MINIVM_NOINLINE __attribute__((noinline))
#define MINIVM_ALWAYS_INLINE inline __attribute__((always_inline))

namespace minivm {

// Prints "FILE:LINE: FUNCTION: KIND failed: EXPRESSION" on standard error and aborts. Writes with
// one write(2) and allocates nothing, so a broken heap or a signal handler can still report.
[[noreturn]] __attribute__((cold, noinline)) void assertion_failed(const char* kind,
                                                                   const char* expression,
                                                                   const char* file, int line,
                                                                   const char* function) noexcept;

}  // namespace minivm

#define MINIVM_CHECK(condition) \
    (MINIVM_LIKELY(condition)   \
         ? static_cast<void>(0) \
         : ::minivm::assertion_failed("check", #condition, __FILE__, __LINE__, __func__))

#ifdef MINIVM_DEBUG
#define MINIVM_ASSERT(condition) \
    (MINIVM_LIKELY(condition)    \
         ? static_cast<void>(0)  \
         : ::minivm::assertion_failed("assertion", #condition, __FILE__, __LINE__, __func__))
#else
// sizeof keeps the names in the condition "used" without evaluating it.
#define MINIVM_ASSERT(condition) static_cast<void>(sizeof(static_cast<bool>(condition)))
#endif
