// erlang:decode_packet/3
#include "vm/bif/bif.hpp"
#include "vm/semantics/packets.hpp"
#include "vm/term/binary.hpp"
#include "vm/term/local_atoms.hpp"
#include "vm/util/otp_release.hpp"

namespace minivm {

namespace {

using packets::Format;
using packets::Limits;

LOCAL_ATOM(atom_packet_size, "packet_size")
LOCAL_ATOM(atom_line_length, "line_length")
LOCAL_ATOM(atom_line_delimiter, "line_delimiter")

Format format_of(Term t) {
    if (is_small(t)) {
        switch (small_value(t)) {
            case 0:
                return Format::raw;
            case 1:
                return Format::head1;
            case 2:
                return Format::head2;
            case 4:
                return Format::head4;
            default:
                return Format::unknown;
        }
    }
    static const struct {
        const char* name;
        Format format;
    } kNames[] = {{"raw", Format::raw},
                  {"asn1", Format::asn1},
                  {"sunrm", Format::sunrm},
                  {"cdr", Format::cdr},
                  {"fcgi", Format::fcgi},
                  {"line", Format::line},
                  {"tpkt", Format::tpkt},
                  {"http", Format::http},
                  {"httph", Format::http_header},
                  {"http_bin", Format::http_bin},
                  {"httph_bin", Format::http_header_bin},
                  {"ssl_tls", Format::ssl_tls}};
    if (is_atom(t)) {
        for (const auto& entry : kNames) {
            if (atom_table::text(t) == entry.name) {
                return entry.format;
            }
        }
    }
    return Format::unknown;
}

bool parse_options(Term list, Format format, Limits* out) {
    for (; is_cons(list); list = tail(list)) {
        const Term o = head(list);
        uint64_t n = 0;
        if (!is_tuple_of(o, 2) || !get_uint64(tuple_element(o, 1), &n) || n > UINT32_MAX) {
            return false;
        }
        const Term name = tuple_element(o, 0);
        if (name == atom_packet_size()) {
            out->packet = n;
        } else if (name == atom_line_length()) {
            out->line = n;
        } else if (name == atom_line_delimiter() && format == Format::line && n <= 255) {
            out->delimiter = static_cast<uint8_t>(n);
        } else {
            return false;
        }
    }
    return is_nil(list);
}

Term erlang_decode_packet_3(Process& p, const Term* a) {
    const Format format = format_of(a[0]);
    if (format == Format::unknown) {
        return badarg_cause(p, atoms::badopt);
    }
    Limits limits;
    if (!is_bitstring(a[1]) || !parse_options(a[2], format, &limits)) {
        return badarg(p);
    }
    const uint64_t bits = bitstring_bits(a[1]);
    if (bits % 8 != 0 && !by_release::has_parts_of_bit_strings()) {
        return badarg(p);
    }
    // The bits behind the last whole byte of a bit string belong to the rest.
    const Term whole_bytes =
        bits % 8 == 0 ? a[1] : sub_bitstring(p.heap, a[1], 0, bits & ~uint64_t{7});
    Bytes bytes;
    get_bytes(whole_bytes, &bytes);
    consume(p, static_cast<int64_t>(bytes.size / 1024));
    const int64_t length = packets::find_length(format, bytes.data, bytes.size, limits);
    if (length == packets::kInvalid) {
        return make_tuple(p.heap, atoms::error, atoms::invalid);
    }
    if (length == packets::kMore || static_cast<uint64_t>(length) > bytes.size) {
        const Term wanted = length == packets::kMore ? atoms::undefined : make_integer(p.heap, length);
        return make_tuple(p.heap, atoms::more, wanted);
    }
    const auto n = static_cast<size_t>(length);
    const packets::Part part = packets::body(format, bytes.data, n);
    const Term result = packets::is_made(format)
                            ? packets::made(p.heap, format, bytes.data, n)
                            : sub_bitstring(p.heap, a[1], 8 * part.first, 8 * (part.end - part.first));
    const Term rest = sub_bitstring(p.heap, a[1], 8 * n, bits - 8 * n);
    return make_tuple(p.heap, atoms::ok, result, rest);
}

}  // namespace

MINIVM_BIF_TABLE(packets) = {
    {"erlang", "decode_packet", 3, erlang_decode_packet_3, kBifPlain, nullptr},
};

}  // namespace minivm
