// The one-shot functions of OTP's zlib module, on the library it uses itself: the same bytes.
#include <zlib.h>

#include <string>

#include "vm/bif/bif.hpp"
#include "vm/term/atom_table.hpp"
#include "vm/term/binary.hpp"

namespace minivm {
namespace {

constexpr int kZlib = 15;       // window bits: with zlib's header
constexpr int kGzip = 15 + 16;  // with gzip's
constexpr int kRaw = -15;       // none

Term data_error(Process& p) { return error(p, atom_table::intern("data_error")); }

Term deflate_all(Process& p, Term data, int window_bits) {
    std::string in;
    if (!iolist_to_bytes(data, &in)) {
        return badarg(p);
    }
    z_stream z{};
    if (deflateInit2(&z, Z_DEFAULT_COMPRESSION, Z_DEFLATED, window_bits, 8, Z_DEFAULT_STRATEGY) !=
        Z_OK) {
        return error(p, atom_table::intern("enomem"));
    }
    std::string out(deflateBound(&z, in.size()), '\0');
    z.next_in = reinterpret_cast<Bytef*>(in.data());
    z.avail_in = static_cast<uInt>(in.size());
    z.next_out = reinterpret_cast<Bytef*>(out.data());
    z.avail_out = static_cast<uInt>(out.size());
    const int status = in.size() > UINT32_MAX ? Z_BUF_ERROR : deflate(&z, Z_FINISH);
    const size_t n = out.size() - z.avail_out;
    deflateEnd(&z);
    return status == Z_STREAM_END ? make_binary(p.heap, out.data(), n) : data_error(p);
}

Term inflate_all(Process& p, Term data, int window_bits) {
    std::string in;
    if (!iolist_to_bytes(data, &in)) {
        return badarg(p);
    }
    z_stream z{};
    if (inflateInit2(&z, window_bits) != Z_OK) {
        return error(p, atom_table::intern("enomem"));
    }
    std::string out;
    z.next_in = reinterpret_cast<Bytef*>(in.data());
    z.avail_in = static_cast<uInt>(in.size());
    int status = Z_OK;
    while (status == Z_OK) {
        char buffer[65536];
        z.next_out = reinterpret_cast<Bytef*>(buffer);
        z.avail_out = sizeof(buffer);
        status = inflate(&z, Z_NO_FLUSH);
        out.append(buffer, sizeof(buffer) - z.avail_out);
        if (status == Z_STREAM_END && window_bits == kGzip && z.avail_in > 0) {
            status = inflateReset(&z);  // the next member
        } else if (status == Z_OK && z.avail_in == 0 && z.avail_out > 0) {
            status = Z_BUF_ERROR;  // cut off
        }
    }
    inflateEnd(&z);
    return status == Z_STREAM_END ? make_binary(p.heap, out.data(), out.size()) : data_error(p);
}

Term zlib_compress_1(Process& p, const Term* a) { return deflate_all(p, a[0], kZlib); }
Term zlib_uncompress_1(Process& p, const Term* a) { return inflate_all(p, a[0], kZlib); }
Term zlib_gzip_1(Process& p, const Term* a) { return deflate_all(p, a[0], kGzip); }
Term zlib_gunzip_1(Process& p, const Term* a) { return inflate_all(p, a[0], kGzip); }
Term zlib_zip_1(Process& p, const Term* a) { return deflate_all(p, a[0], kRaw); }
Term zlib_unzip_1(Process& p, const Term* a) { return inflate_all(p, a[0], kRaw); }

}  // namespace

MINIVM_BIF_TABLE(zlib) = {
    {"zlib", "compress", 1, zlib_compress_1, kBifDirtyCpu, nullptr},
    {"zlib", "uncompress", 1, zlib_uncompress_1, kBifDirtyCpu, nullptr},
    {"zlib", "gzip", 1, zlib_gzip_1, kBifDirtyCpu, nullptr},
    {"zlib", "gunzip", 1, zlib_gunzip_1, kBifDirtyCpu, nullptr},
    {"zlib", "zip", 1, zlib_zip_1, kBifDirtyCpu, nullptr},
    {"zlib", "unzip", 1, zlib_unzip_1, kBifDirtyCpu, nullptr},
};

}  // namespace minivm
