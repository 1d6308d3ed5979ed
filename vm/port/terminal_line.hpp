// The line that the user edits on a terminal: its content, the cursor, and the bytes that change it on the terminal.
// The shell of OTP 25 (user_drv, edlin) counts characters, the terminal counts columns.
//
// The terminal wraps a line that is longer than its width: a position is a row below the line's beginning and a column.
// Escape sequences (of a coloured prompt) are stored as they are and take no columns.
// Threads: the one that holds the port's lock.
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

    // Each returns the bytes to write. Text is UTF-8; a terminal without Unicode shows \x{...} for other characters.
    // put() overwrites the characters at the cursor.
    std::string put(std::string_view text);
    std::string insert(std::string_view text);
    // The number of characters; positive: to the right of the cursor, negative: to the left.
    std::string move(int characters);
    std::string erase(int characters);

private:
    struct Cell {
        std::string bytes;  // written to the terminal
        unsigned width;     // columns; 0: combines with the cell before, is an escape sequence or a control character
    };
    std::vector<Cell> cells_of(std::string_view text) const;
    bool starts_character(size_t cell) const { return cell == 0 || cell >= line_.size() || line_[cell].width > 0; }
    size_t step(int characters) const;  // the cell that many characters from the cursor
    size_t columns_before(size_t cell) const;
    // Moves the terminal's cursor; columns count from the line's beginning, through all rows.
    std::string moved(size_t from_column, size_t to_column) const;
    // The cells from `first` on. Leaves the terminal's cursor behind the last cell: after a full row at the beginning
    // of the next one, where a terminal moves it only with the next character.
    std::string shown(size_t first) const;
    std::string wrapped(size_t column) const;
    size_t forget_full_rows(size_t column);

    std::vector<Cell> line_;
    size_t at_ = 0;  // the cell under the cursor
    unsigned columns_ = 80;
    bool unicode_ = true;
};

}  // namespace minivm::port
