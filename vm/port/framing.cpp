#include "vm/port/framing.hpp"

#include "vm/util/assert.hpp"

#include <algorithm>

namespace minivm::port {

void Framing::feed(const uint8_t* data, size_t n) {
    MINIVM_ASSERT(left_ == 0);
    data_ = data;
    left_ = n;
}

bool Framing::next(Piece* out) {
    switch (mode_) {
        case Mode::packet:
            return next_packet(out);
        case Mode::line:
            return next_line(out);
        case Mode::stream:
            break;
    }
    if (left_ == 0) {
        return false;
    }
    *out = Piece{data_, left_, false};
    left_ = 0;
    return true;
}

size_t Framing::length_at(const uint8_t* header) const {
    size_t length = 0;
    for (unsigned i = 0; i < header_bytes_; ++i) {
        length = length << 8 | header[i];
    }
    return length;
}

size_t Framing::announced() const {
    return mode_ == Mode::packet && !given_ && kept_.size() >= header_bytes_
               ? length_at(reinterpret_cast<const uint8_t*>(kept_.data()))
               : 0;
}

bool Framing::next_packet(Piece* out) {
    if (given_) {
        kept_.clear();
        given_ = false;
    }
    // Most packets lie complete in the input: they are not copied.
    if (kept_.empty() && left_ >= header_bytes_) {
        const size_t length = length_at(data_);
        if (left_ - header_bytes_ >= length) {
            *out = Piece{data_ + header_bytes_, length, false};
            data_ += header_bytes_ + length;
            left_ -= header_bytes_ + length;
            return true;
        }
    }
    while (left_ > 0) {
        size_t wanted = header_bytes_;
        if (kept_.size() >= header_bytes_) {
            wanted += length_at(reinterpret_cast<const uint8_t*>(kept_.data()));
        }
        const size_t n = std::min(left_, wanted - kept_.size());
        kept_.append(reinterpret_cast<const char*>(data_), n);
        data_ += n;
        left_ -= n;
        if (kept_.size() >= header_bytes_) {
            const auto* whole = reinterpret_cast<const uint8_t*>(kept_.data());
            const size_t length = length_at(whole);
            if (kept_.size() == header_bytes_ + length) {
                *out = Piece{whole + header_bytes_, length, false};
                given_ = true;
                return true;
            }
        }
    }
    return false;
}

void Framing::give_line(Piece* out, bool eol) {
    *out = Piece{reinterpret_cast<const uint8_t*>(kept_.data()), kept_.size(), eol};
    given_ = true;
}

// The character after a return character decides what it is: before a newline it belongs to the end of
// the line, also after a full line (kept_ has longest_ bytes); else it is a character of the line.
bool Framing::next_line(Piece* out) {
    if (given_) {
        kept_.clear();
        given_ = false;
    }
    while (left_ > 0) {
        const uint8_t c = *data_;
        if (c == '\n') {
            ++data_;
            --left_;
            line_state_ = LineState::open;
            give_line(out, true);
            return true;
        }
        switch (line_state_) {
            case LineState::open_return:
                kept_.push_back('\r');
                line_state_ = LineState::open;
                continue;
            case LineState::full_return:
                line_state_ = LineState::open_return;
                give_line(out, false);
                return true;
            case LineState::full:
                if (c != '\r') {
                    line_state_ = LineState::open;
                    give_line(out, false);
                    return true;
                }
                line_state_ = LineState::full_return;
                break;
            case LineState::open:
                if (kept_.size() == longest_) {
                    line_state_ = LineState::full;
                    continue;
                }
                if (c == '\r') {
                    line_state_ = LineState::open_return;
                } else {
                    kept_.push_back(static_cast<char>(c));
                }
                break;
        }
        ++data_;
        --left_;
    }
    return false;
}

bool Framing::last(Piece* out) {
    if (given_) {
        kept_.clear();
        given_ = false;
    }
    if (mode_ != Mode::line) {
        return false;
    }
    switch (line_state_) {
        case LineState::full_return:
            line_state_ = LineState::open_return;
            give_line(out, false);
            return true;
        case LineState::open_return:
            kept_.push_back('\r');
            break;
        case LineState::open:
        case LineState::full:
            break;
    }
    line_state_ = LineState::open;
    if (kept_.empty()) {
        return false;
    }
    give_line(out, false);
    return true;
}

}  // namespace minivm::port
