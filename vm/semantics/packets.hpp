// Cutting packets of well-known protocols out of bytes, for erlang:decode_packet/3 and for sockets.
//
// find_length() finds the length of a packet; then body() or made() gives what the receiver gets of it.
// Threads: any.
#pragma once

#include "vm/term/heap.hpp"

#include <cstddef>
#include <cstdint>

namespace minivm::packets {

enum class Format : uint8_t {
    raw,
    head1,
    head2,
    head4,
    asn1,
    sunrm,
    cdr,
    fcgi,
    line,
    tpkt,
    http,
    http_header,
    http_bin,
    http_header_bin,
    ssl_tls,
    unknown
};

struct Limits {
    uint64_t packet = 0;  // longest packet; 0: any
    uint64_t line = 0;    // longer lines are cut; 0: none
    uint8_t delimiter = '\n';
};

// The length of the packet at p, which may be more than the n bytes that are there, or one of these.
constexpr int64_t kMore = 0;  // it is not known yet
constexpr int64_t kInvalid = -1;
int64_t find_length(Format format, const uint8_t* p, size_t n, const Limits& limits);

// The bytes of a whole packet of n bytes (one at least) that the receiver gets as they are.
struct Part {
    size_t first;
    size_t end;
};
Part body(Format format, const uint8_t* p, size_t n);
// Whether a packet becomes a term of its own (made()) instead.
bool is_made(Format format);
Term made(Heap& h, Format format, const uint8_t* p, size_t n);
// What made() gives for the line that ends the headers of HTTP.
Term end_of_headers();

}  // namespace minivm::packets
