// How the loader's parts report what is wrong: the first error wins, and everybody returns false.
// Threads: one owner.
#pragma once

#include "loader/loader.hpp"

namespace minivm::loader {

class ErrorSink {
public:
    explicit ErrorSink(LoadError* out) : out_(out) {}
    // Records the error; returns false so that callers can return it.
    [[gnu::format(printf, 5, 6)]] bool fail(LoadError::Code code, const char* chunk, size_t offset,
                                            const char* format, ...);

private:
    LoadError* out_;
};

}  // namespace minivm::loader
