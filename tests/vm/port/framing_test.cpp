#include "vm/port/framing.hpp"

#include <catch2/catch.hpp>

#include <string>
#include <vector>

using minivm::port::Framing;

namespace {

// The pieces of `bytes` when they come `step` at a time: text, and | behind a line that ended.
std::string pieces(Framing framing, const std::string& bytes, size_t step) {
    std::string out;
    Framing::Piece piece;
    const auto take = [&] {
        out.append(reinterpret_cast<const char*>(piece.data), piece.size);
        out += piece.eol ? "|" : "/";
    };
    for (size_t at = 0; at < bytes.size(); at += step) {
        const std::string part = bytes.substr(at, step);
        framing.feed(reinterpret_cast<const uint8_t*>(part.data()), part.size());
        while (framing.next(&piece)) {
            take();
        }
    }
    while (framing.last(&piece)) {
        take();
    }
    return out;
}

}  // namespace

TEST_CASE("lines are the same however their bytes come") {
    Framing lines;
    lines.use_lines(3);
    const std::string text = "ab\ncdefg\nxyz\n\n\rq\r\nlmn\r\nopq\rs\nu\r";
    for (size_t step = 1; step <= text.size(); ++step) {
        CAPTURE(step);
        CHECK(pieces(lines, text, step) == "ab|cde/fg|xyz||\rq|lmn|opq/\rs|u\r/");
    }
}

TEST_CASE("packets are the same however their bytes come, and a part of one is lost") {
    const std::string text("\0\3abc\0\0\0\1x\0\5yz", 14);
    Framing packets;
    packets.use_packets(2);
    for (size_t step = 1; step <= text.size(); ++step) {
        CAPTURE(step);
        CHECK(pieces(packets, text, step) == "abc//x/");
    }
}

TEST_CASE("a packet with a header of four bytes") {
    Framing packets;
    packets.use_packets(4);
    std::string text("\0\0\1\0", 4);
    text += std::string(256, 'a');
    CHECK(pieces(packets, text, 7) == std::string(256, 'a') + "/");
}

TEST_CASE("a stream is given as it comes") {
    CHECK(pieces(Framing(), "abcde", 2) == "ab/cd/e/");
}
