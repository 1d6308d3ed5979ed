#include "loader/error.hpp"

#include <cstdarg>
#include <cstdio>

namespace minivm::loader {

bool ErrorSink::fail(LoadError::Code code, const char* chunk, size_t offset, const char* format,
                     ...) {
    char text[400];
    va_list arguments;
    va_start(arguments, format);
    std::vsnprintf(text, sizeof text, format, arguments);
    va_end(arguments);
    out_->code = code;
    out_->chunk = chunk;
    out_->offset = offset;
    out_->what = text;
    return false;
}

std::string LoadError::text() const {
    if (chunk.empty()) {
        return what;
    }
    char where[64];
    std::snprintf(where, sizeof where, " chunk at offset 0x%zx: ", offset);
    return chunk + where + what;
}

}  // namespace minivm::loader
