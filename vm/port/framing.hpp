// Cuts the input of a port into the pieces that its owner gets: bytes as they come, packets with a
// length header, or lines.
//
// Threads: the one that holds the port's lock.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>

namespace minivm::port {

class Framing {
public:
    enum class Mode : uint8_t { stream, packet, line };

    // The bytes of a piece are valid until the next call.
    struct Piece {
        const uint8_t* data = nullptr;
        size_t size = 0;
        bool eol = false;  // line: the newline was here; else the line goes on
    };

    void use_packets(unsigned header_bytes) {
        mode_ = Mode::packet;
        header_bytes_ = header_bytes;
    }
    void use_lines(size_t longest) {
        mode_ = Mode::line;
        longest_ = longest;
    }
    Mode mode() const { return mode_; }
    unsigned header_bytes() const { return mode_ == Mode::packet ? header_bytes_ : 0; }

    // The input to cut. It must stay in place until next() has returned false.
    void feed(const uint8_t* data, size_t n);
    // The next complete piece. False: there is none yet.
    bool next(Piece* out);
    // At the end of the input: the rest of a line is a piece, the rest of a packet is lost.
    bool last(Piece* out);
    // The length in the header of an incomplete packet; 0: no such packet, or its header is incomplete.
    size_t announced() const;

private:
    // The state of a line; a return character in front of a newline is no part of the line.
    enum class LineState : uint8_t { open, open_return, full, full_return };

    size_t length_at(const uint8_t* header) const;
    bool next_packet(Piece* out);
    bool next_line(Piece* out);
    void give_line(Piece* out, bool eol);

    Mode mode_ = Mode::stream;
    LineState line_state_ = LineState::open;
    bool given_ = false;  // next() has given kept_ as a piece; the next call clears it
    unsigned header_bytes_ = 0;
    size_t longest_ = 0;
    std::string kept_;  // the beginning of a packet, header included, or of a line
    const uint8_t* data_ = nullptr;
    size_t left_ = 0;
};

}  // namespace minivm::port
