// A growing piece of text that exporters write into. It does what a std::string does, but each
// append is a few instructions in place: a line of output consists of a dozen short pieces.
#pragma once

#include <cstddef>
#include <cstdlib>
#include <cstring>
#include <new>
#include <string_view>

namespace minivm::recorder {

class Text {
public:
    Text() = default;
    explicit Text(std::string_view text) { *this += text; }
    Text(const Text&) = delete;
    Text& operator=(const Text&) = delete;
    ~Text() { std::free(begin_); }

    size_t size() const { return static_cast<size_t>(at_ - begin_); }
    bool empty() const { return at_ == begin_; }
    std::string_view view() const { return {begin_, size()}; }
    operator std::string_view() const { return view(); }
    void clear() { at_ = begin_; }
    void cut(size_t size) { at_ = begin_ + size; }  // no more than there is

    // At least `bytes` that may be written from here on; advance() then says how many were.
    char* room(size_t bytes) {
        if (static_cast<size_t>(end_ - at_) < bytes) [[unlikely]] {
            grow(bytes);
        }
        return at_;
    }
    void advance(size_t bytes) { at_ += bytes; }

    Text& operator+=(char c) {
        *room(1) = c;
        at_++;
        return *this;
    }
    Text& operator+=(std::string_view text) {
        copy(room(text.size()), text.data(), text.size());
        at_ += text.size();
        return *this;
    }
    void append(const char* text, size_t bytes) { *this += std::string_view(text, bytes); }
    void append(size_t count, char c) {
        char* const to = room(count);
        for (size_t i = 0; i < count; i++) {
            to[i] = c;
        }
        at_ += count;
    }

    char& operator[](size_t at) { return begin_[at]; }
    char& back() { return at_[-1]; }

private:
    // Short pieces as two words that may overlap: no call, no loop.
    static void copy(char* to, const char* from, size_t bytes) {
        if (bytes > 16) {
            std::memcpy(to, from, bytes);
        } else if (bytes >= 8) {
            std::memcpy(to, from, 8);
            std::memcpy(to + bytes - 8, from + bytes - 8, 8);
        } else if (bytes >= 4) {
            std::memcpy(to, from, 4);
            std::memcpy(to + bytes - 4, from + bytes - 4, 4);
        } else if (bytes != 0) {
            to[0] = from[0];
            to[bytes / 2] = from[bytes / 2];
            to[bytes - 1] = from[bytes - 1];
        }
    }
    void grow(size_t bytes) {
        const size_t used = size();
        const size_t wanted = (used + bytes) * 2 + 64;
        char* const moved = static_cast<char*>(std::realloc(begin_, wanted));
        if (moved == nullptr) {
            throw std::bad_alloc();
        }
        begin_ = moved;
        at_ = moved + used;
        end_ = moved + wanted;
    }

    char* begin_ = nullptr;
    char* at_ = nullptr;
    char* end_ = nullptr;
};

}  // namespace minivm::recorder
