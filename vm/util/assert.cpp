#include "vm/util/assert.hpp"

#include <unistd.h>

#include <cstdio>
#include <cstdlib>

namespace minivm {

void assertion_failed(const char* kind, const char* expression, const char* file, int line,
                      const char* function) noexcept {
    char text[1024];
    int length = std::snprintf(text, sizeof text, "%s:%d: %s: %s failed: %s\n", file, line,
                               function, kind, expression);
    if (length > static_cast<int>(sizeof text) - 1) {
        length = static_cast<int>(sizeof text) - 1;
        text[length - 1] = '\n';
    }
    // Nothing is left to do when standard error is closed: the abort below says it as well.
    if (length > 0 && write(STDERR_FILENO, text, static_cast<size_t>(length)) < 0) {
        std::abort();
    }
    std::abort();
}

}  // namespace minivm
