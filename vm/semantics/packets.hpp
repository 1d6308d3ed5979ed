// Cutting packets of well-known protocols out of bytes, for erlang:decode_packet/3 and for sockets.
//
// First the length of the packet is found (find_length), then what is to be given of it is built.
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

// The length of the first of n bytes' packets, which may be more than there are, or one of these.
constexpr int64_t kMore = 0;  // it is not known yet
constexpr int64_t kInvalid = -1;
int64_t find_length(Format format, const uint8_t* p, size_t n, const Limits& limits);

// What of a whole packet of n bytes (one at least) is given as it is.
struct Part {
    size_t first;
    size_t end;
};
Part body(Format format, const uint8_t* p, size_t n);
// Whether a packet becomes a term of its own (made()) instead.
bool is_made(Format format);
Term made(Heap& h, Format format, const uint8_t* p, size_t n);
// Of made() packets: the line that ends the headers of HTTP.
Term end_of_headers();

}  // namespace minivm::packets
