// Cuts what comes out of a port's file into what its owner gets: the bytes as they come, packets
// with their length in front, or lines.
//
// Threads: whoever has the port's lock.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>

namespace minivm::port {

class Framing {
public:
    enum class Mode : uint8_t { stream, packet, line };

    // One piece. The bytes are good until the next call.
    struct Piece {
        const uint8_t* data = nullptr;
        size_t size = 0;
        bool eol = false;  // line: it ended here; else it went on
    };

    void use_packets(unsigned header_bytes) {
        mode_ = Mode::packet;
        header_bytes_ = header_bytes;
    }
    void use_lines(size_t longest) {
        mode_ = Mode::line;
        longest_ = longest;
    }
    void use_stream() { mode_ = Mode::stream; }
    Mode mode() const { return mode_; }
    unsigned header_bytes() const { return mode_ == Mode::packet ? header_bytes_ : 0; }

    // Bytes that have come. They must stay until next() has given false.
    void feed(const uint8_t* data, size_t n);
    // The next piece that is whole; false: more must come first.
    bool next(Piece* out);
    // Nothing more comes. What is left of a line is a piece, what is left of a packet is lost.
    bool last(Piece* out);
    // Bytes that are kept until more come.
    size_t held() const { return kept_.size(); }
    // Bytes that the packet says it has of which only a part has come; 0: none, or not known yet.
    size_t announced() const;

private:
    // What a line is up to, with the return characters in front of a newline left out.
    enum class LineState : uint8_t { open, open_return, full, full_return };

    size_t length_at(const uint8_t* header) const;
    bool next_packet(Piece* out);
    bool next_line(Piece* out);
    void give_line(Piece* out, bool eol);

    Mode mode_ = Mode::stream;
    LineState line_state_ = LineState::open;
    bool given_ = false;  // the piece in kept_ has been given, and goes with the next call
    unsigned header_bytes_ = 0;
    size_t longest_ = 0;
    std::string kept_;  // the beginning of a packet, header included, or of a line
    const uint8_t* data_ = nullptr;
    size_t left_ = 0;
};

}  // namespace minivm::port
