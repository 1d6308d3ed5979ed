#include "vm/port/terminal_line.hpp"

#include <wchar.h>

#include <algorithm>
#include <cstdint>
#include <cstdio>

namespace minivm::port {

namespace {

constexpr char kEscape = 27;
constexpr unsigned kTab = 8;
constexpr size_t kLongest = 1 << 16;  // cells

// The character at `at` and its size in bytes; a byte that begins no valid character counts as one.
char32_t character_at(std::string_view s, size_t at, size_t* size) {
    const auto byte = [&](size_t i) { return static_cast<uint8_t>(s[at + i]); };
    const uint8_t first = byte(0);
    const size_t n = first < 0x80 ? 1 : first >= 0xF0 ? 4 : first >= 0xE0 ? 3 : first >= 0xC0 ? 2 : 1;
    *size = 1;
    if (n == 1 || at + n > s.size()) {
        return first;
    }
    char32_t c = first & (0xFFu >> (n + 1));
    for (size_t i = 1; i < n; ++i) {
        if ((byte(i) & 0xC0) != 0x80) {
            return first;
        }
        c = c << 6 | (byte(i) & 0x3Fu);
    }
    *size = n;
    return c;
}

// The size in bytes of the escape sequence ESC [ ... letter at `at`; 1 if it is another one.
size_t escape_size(std::string_view s, size_t at) {
    if (at + 1 >= s.size() || s[at + 1] != '[') {
        return 1;
    }
    size_t end = at + 2;
    while (end < s.size() && (s[end] < 0x40 || s[end] > 0x7E)) {
        ++end;
    }
    return end < s.size() ? end + 1 - at : s.size() - at;
}

std::string control(char kind, size_t times) {
    return times == 0 ? std::string() : "\x1b[" + (times > 1 ? std::to_string(times) : std::string()) + kind;
}

}  // namespace

std::vector<TerminalLine::Cell> TerminalLine::cells_of(std::string_view text) const {
    std::vector<Cell> cells;
    for (size_t at = 0; at < text.size();) {
        size_t size = 1;
        const char32_t c = character_at(text, at, &size);
        if (c == static_cast<char32_t>(kEscape)) {
            size = escape_size(text, at);
            cells.push_back({std::string(text.substr(at, size)), 0});
        } else if (c < 32 || c == 127) {
            if (c == '\n' || c == '\r' || c == '\t' || c == 7) {
                cells.push_back({std::string(1, static_cast<char>(c)), 0});
            } else {
                cells.push_back({std::string("^") + static_cast<char>(c ^ 64), 2});
            }
        } else if (c >= 128 && !unicode_) {
            if (c < 256) {
                cells.push_back({std::string(1, static_cast<char>(c)), 1});
            } else {
                char hex[16];
                const int n = std::snprintf(hex, sizeof(hex), "\\x{%X}", static_cast<unsigned>(c));
                cells.push_back({hex, static_cast<unsigned>(n)});
            }
        } else {
            const int width = c < 128 ? 1 : wcwidth(static_cast<wchar_t>(c));
            cells.push_back({std::string(text.substr(at, size)), static_cast<unsigned>(width < 0 ? 1 : width)});
        }
        at += size;
    }
    return cells;
}

size_t TerminalLine::columns_before(size_t cell) const {
    size_t column = 0;
    for (size_t i = 0; i < std::min(cell, line_.size()); ++i) {
        column += line_[i].width;
    }
    return column;
}

size_t TerminalLine::step(int characters) const {
    size_t at = at_;
    for (; characters > 0 && at < line_.size(); --characters) {
        do {
            ++at;
        } while (!starts_character(at));
    }
    for (; characters < 0 && at > 0; ++characters) {
        do {
            --at;
        } while (!starts_character(at));
    }
    return at;
}

std::string TerminalLine::moved(size_t from_column, size_t to_column) const {
    const size_t from_row = from_column / columns_;
    const size_t to_row = to_column / columns_;
    std::string out = to_row < from_row ? control('A', from_row - to_row) : control('B', to_row - from_row);
    const size_t from = from_column % columns_;
    const size_t to = to_column % columns_;
    if (to < from) {
        out += from - to <= 3 ? std::string(from - to, '\b') : control('D', from - to);
    } else {
        out += control('C', to - from);
    }
    return out;
}

// After a full row the terminal's cursor stays in the last column until the next character: writes one and goes back.
std::string TerminalLine::wrapped(size_t column) const {
    return column > 0 && column % columns_ == 0 ? " \b" : "";
}

std::string TerminalLine::shown(size_t first) const {
    std::string out;
    for (size_t i = first; i < line_.size(); ++i) {
        out += line_[i].bytes;
    }
    const size_t column = columns_before(line_.size());
    return column > columns_before(first) ? out + wrapped(column) : out;
}

// Bounds line_: drops its full rows, which cannot be edited afterwards. The cursor is at the end; returns its column.
size_t TerminalLine::forget_full_rows(size_t column) {
    size_t first = line_.size();
    size_t kept = 0;
    while (first > 0 && kept + line_[first - 1].width <= column % columns_) {
        kept += line_[--first].width;
    }
    line_.erase(line_.begin(), line_.begin() + static_cast<ptrdiff_t>(first));
    at_ = line_.size();
    return kept;
}

std::string TerminalLine::put(std::string_view text) {
    std::string out;
    std::vector<Cell> cells = cells_of(text);
    // A newline after a full row ends that row, not an empty row after it.
    const auto newline_follows = [&cells](size_t i) {
        while (i < cells.size() && cells[i].width == 0 && cells[i].bytes[0] == kEscape) {
            ++i;
        }
        return i < cells.size() && (cells[i].bytes == "\n" || cells[i].bytes == "\r");
    };
    size_t column = columns_before(at_);
    for (size_t i = 0; i < cells.size(); ++i) {
        Cell& cell = cells[i];
        if (at_ >= kLongest && at_ == line_.size()) {
            column = forget_full_rows(column);
        }
        if (cell.bytes == "\n" || cell.bytes == "\r") {
            out += cell.bytes == "\n" ? "\r\n" : "\r";
            if (cell.bytes == "\n") {
                line_.clear();
            }
            at_ = 0;
            column = 0;
            continue;
        }
        if (cell.bytes == "\t") {
            const auto spaces = static_cast<unsigned>(kTab - column % kTab);
            cell = {std::string(spaces, ' '), spaces};
        }
        out += cell.bytes;
        if (cell.bytes == "\a") {
            continue;
        }
        const unsigned width = cell.width;
        column += width;
        if (at_ < line_.size()) {
            line_[at_] = std::move(cell);
        } else {
            line_.push_back(std::move(cell));
        }
        ++at_;
        if (width > 0 && !newline_follows(i + 1)) {
            out += wrapped(column);
        }
    }
    return out;
}

std::string TerminalLine::insert(std::string_view text) {
    std::vector<Cell> cells = cells_of(text);
    std::erase_if(cells, [](const Cell& c) { return c.bytes == "\n" || c.bytes == "\r" || c.bytes == "\a"; });
    for (Cell& cell : cells) {
        if (cell.bytes == "\t") {
            cell = {std::string(kTab, ' '), kTab};
        }
    }
    const size_t first = at_;
    line_.insert(line_.begin() + static_cast<ptrdiff_t>(at_), cells.begin(), cells.end());
    at_ += cells.size();
    return shown(first) + moved(columns_before(line_.size()), columns_before(at_));
}

std::string TerminalLine::move(int characters) {
    const size_t to = step(characters);
    const std::string out = moved(columns_before(at_), columns_before(to));
    at_ = to;
    return out;
}

std::string TerminalLine::erase(int characters) {
    const size_t to = step(characters);
    const size_t first = std::min(to, at_);
    const size_t end = std::max(to, at_);
    std::string out = moved(columns_before(at_), columns_before(first));
    const size_t gone = columns_before(end) - columns_before(first);
    line_.erase(line_.begin() + static_cast<ptrdiff_t>(first), line_.begin() + static_cast<ptrdiff_t>(end));
    at_ = first;
    const size_t column = columns_before(line_.size());
    out += shown(first) + std::string(gone, ' ') + (gone > 0 ? wrapped(column + gone) : "");
    return out + moved(column + gone, columns_before(at_));
}

}  // namespace minivm::port
