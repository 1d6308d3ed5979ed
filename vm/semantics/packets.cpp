#include "vm/semantics/packets.hpp"

#include "vm/term/atom_table.hpp"
#include "vm/term/binary.hpp"
#include "vm/term/local_atoms.hpp"
#include "vm/util/otp_release.hpp"

#include <cctype>
#include <cstring>
#include <string_view>

namespace minivm::packets {

namespace {

LOCAL_ATOM(atom_http_response, "http_response")
LOCAL_ATOM(atom_http_request, "http_request")
LOCAL_ATOM(atom_http_header, "http_header")
LOCAL_ATOM(atom_http_error, "http_error")
LOCAL_ATOM(atom_http_eoh, "http_eoh")
LOCAL_ATOM(atom_abs_path, "abs_path")
LOCAL_ATOM(atom_absolute_uri, "absoluteURI")
LOCAL_ATOM(atom_scheme, "scheme")
LOCAL_ATOM(atom_http, "http")
LOCAL_ATOM(atom_https, "https")
LOCAL_ATOM(atom_ssl_tls, "ssl_tls")

// ---- how long is the packet? --------------------------------------------------------------------

uint64_t big_endian(const uint8_t* p, size_t n) {
    uint64_t v = 0;
    for (size_t i = 0; i < n; ++i) {
        v = v << 8 | p[i];
    }
    return v;
}

// The length of a header and a body. Lengths are numbers of 31 bits, as OTP takes them.
int64_t whole(uint64_t header, uint64_t body, const Limits& limits) {
    if ((limits.packet != 0 && body > limits.packet) || header + body > INT32_MAX) {
        return kInvalid;
    }
    return static_cast<int64_t>(header + body);
}

bool is_blank(uint8_t c) {
    return c == ' ' || c == '\t';
}

int64_t line_length(const uint8_t* p, size_t n, const Limits& limits) {
    const void* end = std::memchr(p, limits.delimiter, n);
    const size_t length =
        end == nullptr ? n : static_cast<size_t>(static_cast<const uint8_t*>(end) - p) + 1;
    if (limits.packet != 0 && length > limits.packet) {
        return kInvalid;
    }
    if (limits.line != 0 && (length > limits.line || (end == nullptr && length == limits.line))) {
        return static_cast<int64_t>(limits.line);
    }
    return end == nullptr ? kMore : static_cast<int64_t>(length);
}

int64_t asn1_length(const uint8_t* p, size_t n, const Limits& limits) {
    if (n < 2) {
        return kMore;
    }
    size_t at = 1;
    if ((p[0] & 0x1F) == 0x1F) {  // a tag of several bytes: all but the last have the high bit
        while (at < n && (p[at] & 0x80) != 0) {
            ++at;
        }
        if (n - at < 2) {
            return kMore;
        }
        ++at;
    }
    const uint8_t length = p[at++];
    if ((length & 0x80) == 0) {
        return whole(at, length, limits);
    }
    const size_t bytes = length & 0x7F;
    if (n - at < bytes) {
        return kMore;
    }
    if (bytes > 4) {
        return kInvalid;
    }
    return whole(at + bytes, big_endian(p + at, bytes), limits);
}

// One line, or, for a header, as many as go on with a blank.
int64_t http_length(const uint8_t* p, size_t n, const Limits& limits, bool header) {
    if ((n == 1 && p[0] == '\n') || (n == 2 && p[0] == '\r' && p[1] == '\n')) {
        return static_cast<int64_t>(n);
    }
    const uint64_t longest = limits.packet != 0 ? limits.packet : limits.line;
    size_t at = 0;
    for (;;) {
        const void* end = std::memchr(p + at, '\n', n - at);
        if (end == nullptr) {
            return longest != 0 && n >= longest ? kInvalid : kMore;
        }
        at = static_cast<size_t>(static_cast<const uint8_t*>(end) - p) + 1;
        const bool goes_on = header && at < n && is_blank(p[at]) && at > 2;
        if (goes_on) {
            continue;
        }
        if (longest != 0 && at > longest) {
            return kInvalid;
        }
        // Only the next character shows whether a header ends here.
        return header && at == n ? kMore : static_cast<int64_t>(at);
    }
}

// ---- HTTP ---------------------------------------------------------------------------------------

// In the order that gives the headers their numbers, from 1.
constexpr std::string_view kHeaders[] = {"Cache-Control",
                                         "Connection",
                                         "Date",
                                         "Pragma",
                                         "Transfer-Encoding",
                                         "Upgrade",
                                         "Via",
                                         "Accept",
                                         "Accept-Charset",
                                         "Accept-Encoding",
                                         "Accept-Language",
                                         "Authorization",
                                         "From",
                                         "Host",
                                         "If-Modified-Since",
                                         "If-Match",
                                         "If-None-Match",
                                         "If-Range",
                                         "If-Unmodified-Since",
                                         "Max-Forwards",
                                         "Proxy-Authorization",
                                         "Range",
                                         "Referer",
                                         "User-Agent",
                                         "Age",
                                         "Location",
                                         "Proxy-Authenticate",
                                         "Public",
                                         "Retry-After",
                                         "Server",
                                         "Vary",
                                         "Warning",
                                         "Www-Authenticate",
                                         "Allow",
                                         "Content-Base",
                                         "Content-Encoding",
                                         "Content-Language",
                                         "Content-Length",
                                         "Content-Location",
                                         "Content-Md5",
                                         "Content-Range",
                                         "Content-Type",
                                         "Etag",
                                         "Expires",
                                         "Last-Modified",
                                         "Accept-Ranges",
                                         "Set-Cookie",
                                         "Set-Cookie2",
                                         "X-Forwarded-For",
                                         "Cookie",
                                         "Keep-Alive",
                                         "Proxy-Connection"};
constexpr std::string_view kMethods[] = {"OPTIONS", "GET",    "HEAD", "POST",
                                         "PUT",     "DELETE", "TRACE"};
constexpr size_t kLongestHeaderName = 50;  // longer ones are given as they are

bool ends_token(char c) {
    const auto u = static_cast<unsigned char>(c);
    return u <= 32 || u >= 128 || std::strchr("()<>@,;:\\\"/[]?={}", c) != nullptr;
}

class Http {
public:
    Http(Heap& heap, bool binaries) : h_(heap), binaries_(binaries) {}

    // What a line means; the non-value if it is wrong.
    Term start_line(std::string_view line) {
        rest_ = line;
        return line.starts_with("HTTP/") ? response() : request();
    }
    Term header_line(std::string_view line);
    Term text(std::string_view s) {
        return binaries_ ? make_binary(h_, s.data(), s.size())
                         : make_string(h_, s.data(), s.size());
    }

private:
    size_t skip_blanks() {
        size_t n = 0;
        while (n < rest_.size() && is_blank(static_cast<uint8_t>(rest_[n]))) {
            ++n;
        }
        rest_.remove_prefix(n);
        return n;
    }
    // A number of any length, modulo 2^32 as in OTP. False: no digit.
    bool number(int64_t* out) {
        size_t n = 0;
        uint32_t v = 0;
        while (n < rest_.size() && rest_[n] >= '0' && rest_[n] <= '9') {
            v = v * 10 + static_cast<uint32_t>(rest_[n] - '0');
            ++n;
        }
        rest_.remove_prefix(n);
        *out = static_cast<int32_t>(v);
        return n != 0;
    }
    bool version(Term* out) {  // behind HTTP/
        int64_t major = 0;
        int64_t minor = 0;
        if (!number(&major) || !rest_.starts_with('.')) {
            return false;
        }
        rest_.remove_prefix(1);
        if (!number(&minor)) {
            return false;
        }
        *out = make_tuple(h_, make_small(major), make_small(minor));
        return true;
    }
    Term response();
    Term request();
    Term uri(std::string_view s);
    Term absolute_uri(Term scheme, std::string_view s);

    Heap& h_;
    const bool binaries_;
    std::string_view rest_;
};

Term Http::response() {
    rest_.remove_prefix(5);
    Term http_version = kNonValue;
    if (!version(&http_version) || skip_blanks() == 0) {
        return kNonValue;
    }
    int64_t status = 0;
    number(&status);
    if (skip_blanks() == 0 && !rest_.empty()) {
        return kNonValue;
    }
    return make_tuple(h_, atom_http_response(), http_version, make_small(status), text(rest_));
}

Term Http::request() {
    size_t n = 0;
    while (n < rest_.size() && !ends_token(rest_[n])) {
        ++n;
    }
    const std::string_view method = rest_.substr(0, n);
    rest_.remove_prefix(n);
    if (n == 0 || skip_blanks() == 0) {
        return kNonValue;
    }
    n = 0;
    while (n < rest_.size() && !is_blank(static_cast<uint8_t>(rest_[n]))) {
        ++n;
    }
    const std::string_view what = rest_.substr(0, n);
    rest_.remove_prefix(n);
    if (n == 0) {
        return kNonValue;
    }
    skip_blanks();
    Term http_version = kNonValue;
    if (rest_.empty()) {
        http_version = make_tuple(h_, make_small(0), make_small(9));
    } else {
        if (rest_.size() < 8 || !rest_.starts_with("HTTP/")) {
            return kNonValue;
        }
        rest_.remove_prefix(5);
        if (!version(&http_version)) {
            return kNonValue;
        }
    }
    Term method_term = kNonValue;
    for (const std::string_view known : kMethods) {
        if (method == known) {
            method_term = atom_table::intern(known);
        }
    }
    if (!is_value(method_term)) {
        method_term = text(method);
    }
    return make_tuple(h_, atom_http_request(), method_term, uri(what), http_version);
}

bool starts_with_any_case(std::string_view s, std::string_view prefix) {
    if (s.size() < prefix.size()) {
        return false;
    }
    for (size_t i = 0; i < prefix.size(); ++i) {
        if (std::tolower(static_cast<unsigned char>(s[i])) != prefix[i]) {
            return false;
        }
    }
    return true;
}

Term Http::uri(std::string_view s) {
    if (s == "*") {
        return atoms::op_times;
    }
    if (s.size() <= 1 || s[0] == '/') {
        return make_tuple(h_, atom_abs_path(), text(s));
    }
    if (starts_with_any_case(s, "http://")) {
        return absolute_uri(atom_http(), s.substr(7));
    }
    if (starts_with_any_case(s, "https://")) {
        return absolute_uri(atom_https(), s.substr(8));
    }
    const size_t colon = s.find(':');
    if (colon == s.npos) {
        return text(s);
    }
    const Term before = text(s.substr(0, colon));
    const Term behind = text(s.substr(colon + 1));
    return make_tuple(h_, atom_scheme(), before, behind);
}

// Host, port, path.
Term Http::absolute_uri(Term scheme, std::string_view s) {
    std::string_view path = "/";
    const size_t slash = s.find('/');
    if (slash != s.npos) {
        path = s.substr(slash);
        s = s.substr(0, slash);
    }
    Term port = atoms::undefined;
    // The colons of an address in brackets are its own; what follows it but a port is passed over.
    const size_t bracket = by_release::uri_hosts_have_brackets() && s.starts_with('[') ? s.find(']') : s.npos;
    const size_t colon = bracket == s.npos ? s.find(':') : bracket + 1;
    if (colon < s.size() && s[colon] == ':') {
        rest_ = s.substr(colon + 1);
        int64_t n = 0;
        if (number(&n) && rest_.empty() && n != 0) {
            port = make_small(n);
        }
    }
    s = s.substr(0, colon);
    const Term host = text(s);
    return make_tuple(h_, atom_absolute_uri(), scheme, host, port, text(path));
}

Term Http::header_line(std::string_view line) {
    if (line.empty()) {
        return atom_http_eoh();
    }
    size_t n = 0;
    while (n < line.size() && !ends_token(line[n])) {
        ++n;
    }
    if (n == line.size() || line[n] != ':') {
        return kNonValue;
    }
    const std::string_view given = line.substr(0, n);
    // Each of its words begins with a capital, the rest is small.
    char name[kLongestHeaderName];
    std::string_view shown = given;
    if (n <= kLongestHeaderName) {
        bool first = true;
        for (size_t i = 0; i < n; ++i) {
            const auto c = static_cast<unsigned char>(given[i]);
            name[i] = static_cast<char>(first ? std::toupper(c) : std::tolower(c));
            first = !first && c == '-';
        }
        shown = std::string_view(name, n);
    }
    rest_ = line.substr(n + 1);
    skip_blanks();
    int64_t index = 0;
    Term field = kNonValue;
    for (size_t i = 0; i < std::size(kHeaders); ++i) {
        if (shown == kHeaders[i]) {
            index = static_cast<int64_t>(i) + 1;
            field = atom_table::intern(kHeaders[i]);
        }
    }
    if (!is_value(field)) {
        field = text(shown);
    }
    const Term original = text(given);
    return make_tuple(h_, atom_http_header(), make_small(index), field, original, text(rest_));
}

Term http_packet(Heap& h, Format format, const uint8_t* p, size_t n) {
    const bool header = format == Format::http_header || format == Format::http_header_bin;
    Http http(h, format == Format::http_bin || format == Format::http_header_bin);
    const std::string_view whole_line(reinterpret_cast<const char*>(p), n);
    std::string_view line = whole_line;
    if (line.size() >= 2 && line[line.size() - 2] == '\r') {
        line.remove_suffix(2);
    } else if (line.ends_with('\n')) {
        line.remove_suffix(1);
    }
    const Term result = header ? http.header_line(line) : http.start_line(line);
    return is_value(result) ? result : make_tuple(h, atom_http_error(), http.text(whole_line));
}

// {ssl_tls, [], ContentType, {Major, Minor}, Data}; a hello of version 2 as one of version 3.
Term tls_packet(Heap& h, const uint8_t* p, size_t n) {
    uint8_t type = p[0];
    const uint8_t* version = p + 1;
    Term data;
    if ((p[0] & 0x80) != 0 && p[2] == 1) {
        constexpr uint8_t kHandshake = 22;
        type = kHandshake;
        version = p + 3;
        const size_t size = n - 3;
        uint8_t* bytes = nullptr;
        data = new_bits(h, 8 * (size + 4), &bytes);
        bytes[0] = 1;
        for (int i = 0; i < 3; ++i) {
            bytes[1 + i] = static_cast<uint8_t>(size >> 8 * (2 - i));
        }
        std::memcpy(bytes + 4, p + 3, size);
    } else {
        data = make_binary(h, p + 5, n - 5);
    }
    const Term numbers = make_tuple(h, make_small(version[0]), make_small(version[1]));
    return make_tuple(h, atom_ssl_tls(), kNil, make_small(type), numbers, data);
}

}  // namespace

int64_t find_length(Format format, const uint8_t* p, size_t n, const Limits& limits) {
    const auto fixed = [&](size_t header) {
        return n < header ? kMore : whole(header, big_endian(p, header), limits);
    };
    switch (format) {
        case Format::raw:
            return static_cast<int64_t>(n);
        case Format::head1:
            return fixed(1);
        case Format::head2:
            return fixed(2);
        case Format::head4:
            return fixed(4);
        case Format::sunrm:  // the highest bit tells that it is the last of a record
            return n < 4 ? kMore : whole(4, big_endian(p, 4) & 0x7FFFFFFF, limits);
        case Format::asn1:
            return asn1_length(p, n, limits);
        case Format::cdr: {
            if (n < 12) {
                return kMore;
            }
            if (std::memcmp(p, "GIOP", 4) != 0) {
                return kInvalid;
            }
            uint64_t size = big_endian(p + 8, 4);
            if ((p[6] & 1) != 0) {
                size = __builtin_bswap32(static_cast<uint32_t>(size));
            }
            return whole(12, size, limits);
        }
        case Format::fcgi:
            if (n < 8) {
                return kMore;
            }
            return p[0] != 1 ? kInvalid : whole(8, big_endian(p + 4, 2) + p[6], limits);
        case Format::tpkt: {
            if (n < 4) {
                return kMore;
            }
            const uint64_t size = big_endian(p + 2, 2);
            return p[0] != 3 || size < 4 ? kInvalid : whole(4, size - 4, limits);
        }
        case Format::ssl_tls: {
            if (n < 5) {
                return kMore;
            }
            if ((p[0] & 0x80) != 0 && p[2] == 1) {  // a hello of version 2
                const uint64_t size = big_endian(p, 2) & 0x7FFF;
                return size < 3 ? kInvalid : whole(5, size - 3, limits);
            }
            return whole(5, big_endian(p + 3, 2), limits);
        }
        case Format::line:
            return line_length(p, n, limits);
        case Format::http:
        case Format::http_bin:
            return http_length(p, n, limits, false);
        case Format::http_header:
        case Format::http_header_bin:
            return http_length(p, n, limits, true);
        case Format::unknown:
            break;
    }
    return kInvalid;
}

Part body(Format format, const uint8_t* p, size_t n) {
    switch (format) {
        case Format::head1:
            return {1, n};
        case Format::head2:
            return {2, n};
        case Format::head4:
            return {4, n};
        case Format::fcgi:
            return {0, n - p[6]};  // padding
        default:
            return {0, n};
    }
}

bool is_made(Format format) {
    switch (format) {
        case Format::http:
        case Format::http_header:
        case Format::http_bin:
        case Format::http_header_bin:
        case Format::ssl_tls:
            return true;
        default:
            return false;
    }
}

Term made(Heap& h, Format format, const uint8_t* p, size_t n) {
    return format == Format::ssl_tls ? tls_packet(h, p, n) : http_packet(h, format, p, n);
}

Term end_of_headers() {
    return atom_http_eoh();
}

}  // namespace minivm::packets
