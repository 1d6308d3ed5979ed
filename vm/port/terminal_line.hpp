// The line that is being edited on a terminal: what it shows, where the cursor is, and what has to be written to
// change it. The shell of OTP 25 (user_drv, edlin) thinks in characters, the terminal in columns.
//
// The terminal wraps what is longer than its width; so a position is a row and a column below the line's beginning.
// Escape sequences (of a coloured prompt) are kept as they are and take no columns.
// Threads: whoever holds the port's lock.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

namespace minivm::port {

class TerminalLine {
public:
    void set_width(unsigned columns) { columns_ = columns > 0 ? columns : 80; }
    void set_unicode(bool unicode) { unicode_ = unicode; }
    bool unicode() const { return unicode_; }

    // Each gives what has to be written. Text is UTF-8; what a terminal without Unicode cannot show is \x{...}.
    // Writes over what is at the cursor.
    std::string put(std::string_view text);
    std::string insert(std::string_view text);
    // So many characters to the right, or to the left.
    std::string move(int characters);
    std::string erase(int characters);

private:
    struct Cell {
        std::string bytes;  // what is written for it
        unsigned width;     // columns; 0: joins the one before, or is part of an escape sequence
    };
    std::vector<Cell> cells_of(std::string_view text) const;
    bool starts_character(size_t cell) const { return cell == 0 || cell >= line_.size() || line_[cell].width > 0; }
    size_t step(int characters) const;  // the position there
    size_t columns_before(size_t cell) const;
    // From the place of one column to that of another.
    std::string moved(size_t from_column, size_t to_column) const;
    // The cells from `first` on; the terminal's cursor is behind the last of them afterwards, in the next row even if
    // that would only be shown with the next character.
    std::string shown(size_t first) const;
    std::string wrapped(size_t column) const;
    size_t forget_full_rows(size_t column);

    std::vector<Cell> line_;
    size_t at_ = 0;  // the cell under the cursor
    unsigned columns_ = 80;
    bool unicode_ = true;
};

}  // namespace minivm::port
