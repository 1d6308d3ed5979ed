// Streams of OTP's zlib module, on the library that OTP uses: they give the same bytes.
//
// A stream is a magic reference. Input waits in a queue of binaries; deflate_nif and inflate_nif
// take a slice of it and return a slice of output, and OTP's Erlang code calls them until `finished`.
// Only the controlling process may use a stream; so one thread does at a time, and only its pid is
// atomic.
#include "vm/bif/bif.hpp"
#include "vm/process/continuation.hpp"
#include "vm/sched/scheduler.hpp"
#include "vm/term/atom_table.hpp"
#include "vm/term/binary.hpp"

#include <zlib.h>

#include <atomic>
#include <deque>
#include <memory>
#include <string>

namespace minivm {
namespace {

enum class Mode : uint8_t { none, deflating, inflating, closed };
// What happens to input behind the end of a compressed stream.
enum class AfterEnd : uint8_t { error = 0, reset = 1, cut = 2 };

struct Stream final : MagicObject {
    explicit Stream(Term pid) : owner(pid.raw) {}
    ~Stream() override { end(); }
    void end() {
        if (mode == Mode::deflating) {
            deflateEnd(&z);
        } else if (mode == Mode::inflating) {
            inflateEnd(&z);
        }
        mode = Mode::none;
    }
    void drop_stash() {
        stash_heap.clear();
        stash = kNonValue;
    }
    void drop_input() {
        input.clear();
        taken = 0;
        drop_stash();
    }
    void restart_checksums(int window_bits) {
        raw = window_bits < 0;
        end_seen = false;
        plain_crc = crc32(0, nullptr, 0);
    }

    std::atomic<Word> owner;  // raw local pid
    z_stream z{};
    Mode mode = Mode::none;
    AfterEnd after_end = AfterEnd::cut;
    bool raw = false;  // neither zlib's nor gzip's header
    bool end_seen = false;
    uLong plain_crc = crc32(0, nullptr, 0);  // of the plain text; kept for raw streams only
    int64_t buffer_size = 4000;
    std::deque<HeldBytes> input;
    size_t taken = 0;  // bytes of the first that are used up
    Heap stash_heap;   // of the one term that setStash_nif keeps
    Term stash = kNonValue;
};

Term raise(Process& p, const char* reason) {
    return error(p, atom_table::intern(reason));
}

// The term for a code of the library; raises for some.
Term answer(Process& p, int code) {
    switch (code) {
        case Z_OK:
            return atoms::ok;
        case Z_STREAM_END:
            return atom_table::intern("stream_end");
        case Z_ERRNO:
            return make_small(errno);
        case Z_STREAM_ERROR:
            return raise(p, "stream_error");
        case Z_DATA_ERROR:
            return raise(p, "data_error");
        case Z_MEM_ERROR:
            return atom_table::intern("mem_error");
        case Z_BUF_ERROR:
            return atom_table::intern("buf_error");
        case Z_VERSION_ERROR:
            return atom_table::intern("version_error");
        default:
            return atom_table::intern("unknown_error");
    }
}

// Null after an exception: no stream, or another process's.
Stream* own_stream(Process& p, Term t) {
    Stream* s = object_of<Stream>(t);
    if (s == nullptr) {
        badarg(p);
        return nullptr;
    }
    // acquire: sees what the process that gave the stream away did with it. Pairs with
    // set_controller_nif.
    if (s->owner.load(std::memory_order_acquire) != p.id.raw) {
        raise(p, "not_on_controlling_process");
        return nullptr;
    }
    return s;
}
// The same; null as well if the stream is not initialized for `mode`.
Stream* own_stream_in(Process& p, Term t, Mode mode) {
    Stream* s = own_stream(p, t);
    if (s != nullptr && s->mode != mode) {
        raise(p, "not_initialized");
        return nullptr;
    }
    return s;
}

bool get_int(Term t, int* out) {
    int64_t n = 0;
    if (!get_int64(t, &n) || n < INT32_MIN || n > INT32_MAX) {
        return false;
    }
    *out = static_cast<int>(n);
    return true;
}

Term zlib_open_nif_0(Process& p, const Term*) {
    return make_magic_ref(p.heap, new_ref_id(p), new Stream(p.id));
}

Term zlib_close_nif_1(Process& p, const Term* a) {
    Stream* s = own_stream(p, a[0]);
    if (s == nullptr) {
        return kNonValue;
    }
    if (s->mode == Mode::closed) {
        return raise(p, "not_initialized");
    }
    s->end();
    s->drop_stash();
    s->mode = Mode::closed;
    return atoms::ok;
}

Term zlib_set_controller_nif_2(Process& p, const Term* a) {
    if (object_of<Stream>(a[0]) == nullptr || !is_local_pid(a[1])) {
        return badarg(p);
    }
    Stream* s = own_stream(p, a[0]);
    if (s == nullptr) {
        return kNonValue;
    }
    // release: pairs with own_stream().
    s->owner.store(a[1].raw, std::memory_order_release);
    return atoms::ok;
}

// ---- the two directions -------------------------------------------------------------------------

Term zlib_deflateInit_nif_6(Process& p, const Term* a) {
    int n[5];
    for (int i = 0; i < 5; ++i) {
        if (!get_int(a[i + 1], &n[i])) {
            return badarg(p);
        }
    }
    Stream* s = own_stream(p, a[0]);
    if (s == nullptr) {
        return kNonValue;
    }
    if (s->mode != Mode::none) {
        return raise(p, "already_initialized");
    }
    s->z = z_stream{};
    const int code = deflateInit2(&s->z, n[0], n[1], n[2], n[3], n[4]);
    if (code == Z_OK) {
        s->mode = Mode::deflating;
        s->restart_checksums(n[2]);
    }
    return answer(p, code);
}

Term zlib_inflateInit_nif_3(Process& p, const Term* a) {
    int window_bits;
    int after_end;
    if (!get_int(a[1], &window_bits) || !get_int(a[2], &after_end) || after_end < 0 ||
        after_end > static_cast<int>(AfterEnd::cut)) {
        return badarg(p);
    }
    Stream* s = own_stream(p, a[0]);
    if (s == nullptr) {
        return kNonValue;
    }
    if (s->mode != Mode::none) {
        return raise(p, "already_initialized");
    }
    s->z = z_stream{};
    const int code = inflateInit2(&s->z, window_bits);
    if (code == Z_OK) {
        s->mode = Mode::inflating;
        s->after_end = static_cast<AfterEnd>(after_end);
        s->restart_checksums(window_bits);
    }
    return answer(p, code);
}

Term zlib_deflateReset_nif_1(Process& p, const Term* a) {
    Stream* s = own_stream_in(p, a[0], Mode::deflating);
    if (s == nullptr) {
        return kNonValue;
    }
    const int code = deflateReset(&s->z);
    s->restart_checksums(s->raw ? -1 : 1);
    s->drop_input();
    return answer(p, code);
}

Term zlib_inflateReset_nif_1(Process& p, const Term* a) {
    Stream* s = own_stream_in(p, a[0], Mode::inflating);
    if (s == nullptr) {
        return kNonValue;
    }
    const int code = inflateReset(&s->z);
    s->restart_checksums(s->raw ? -1 : 1);
    s->drop_input();
    return answer(p, code);
}

// data_error if input is left, or the end of the stream has not been reached.
Term end_stream(Process& p, Stream& s, int code, bool complete) {
    s.mode = Mode::none;
    const bool all_used = s.input.empty();
    s.drop_input();
    return answer(p, code == Z_OK && !(complete && all_used) ? Z_DATA_ERROR : code);
}
Term zlib_deflateEnd_nif_1(Process& p, const Term* a) {
    Stream* s = own_stream_in(p, a[0], Mode::deflating);
    return s != nullptr ? end_stream(p, *s, deflateEnd(&s->z), true) : kNonValue;
}
Term zlib_inflateEnd_nif_1(Process& p, const Term* a) {
    Stream* s = own_stream_in(p, a[0], Mode::inflating);
    return s != nullptr ? end_stream(p, *s, inflateEnd(&s->z), s->end_seen) : kNonValue;
}

// The caller has flushed the stream, so nothing is to come out here. One byte of room, since the
// library calls it an error to have none.
Term zlib_deflateParams_nif_3(Process& p, const Term* a) {
    int level;
    int strategy;
    if (!get_int(a[1], &level) || !get_int(a[2], &strategy)) {
        return badarg(p);
    }
    Stream* s = own_stream_in(p, a[0], Mode::deflating);
    if (s == nullptr) {
        return kNonValue;
    }
    Bytef room;
    s->z.next_out = &room;
    s->z.avail_out = 1;
    const int code = deflateParams(&s->z, level, strategy);
    return answer(p, s->z.avail_out == 0 ? Z_STREAM_ERROR : code);
}

Term zlib_deflateSetDictionary_nif_2(Process& p, const Term* a) {
    std::string dictionary;
    if (!iolist_to_bytes(a[1], &dictionary)) {
        return badarg(p);
    }
    Stream* s = own_stream_in(p, a[0], Mode::deflating);
    if (s == nullptr) {
        return kNonValue;
    }
    const auto* bytes = reinterpret_cast<const Bytef*>(dictionary.data());
    const auto size = static_cast<uInt>(dictionary.size());
    const int code = deflateSetDictionary(&s->z, bytes, size);
    if (code != Z_OK) {
        return answer(p, code);
    }
    // The library keeps no checksum of a raw stream.
    const uLong checksum = s->raw ? adler32(0, bytes, size) : s->z.adler;
    return make_integer(p.heap, static_cast<int32_t>(checksum));
}

Term zlib_inflateSetDictionary_nif_2(Process& p, const Term* a) {
    std::string dictionary;
    if (!iolist_to_bytes(a[1], &dictionary)) {
        return badarg(p);
    }
    Stream* s = own_stream_in(p, a[0], Mode::inflating);
    if (s == nullptr) {
        return kNonValue;
    }
    return answer(p, inflateSetDictionary(&s->z, reinterpret_cast<const Bytef*>(dictionary.data()),
                                          static_cast<uInt>(dictionary.size())));
}

Term zlib_inflateGetDictionary_nif_1(Process& p, const Term* a) {
    Stream* s = own_stream_in(p, a[0], Mode::inflating);
    if (s == nullptr) {
        return kNonValue;
    }
    constexpr size_t kMaxDictionary = 32768;
    std::string dictionary(kMaxDictionary, '\0');
    uInt size = 0;
    const int code =
        inflateGetDictionary(&s->z, reinterpret_cast<Bytef*>(dictionary.data()), &size);
    return code < 0 ? answer(p, code) : make_binary(p.heap, dictionary.data(), size);
}

Term zlib_enqueue_nif_2(Process& p, const Term* a) {
    if (object_of<Stream>(a[0]) == nullptr) {
        return badarg(p);
    }
    Stream* s = own_stream(p, a[0]);
    if (s == nullptr) {
        return kNonValue;
    }
    if (s->mode != Mode::deflating && s->mode != Mode::inflating) {
        return raise(p, "not_initialized");
    }
    constexpr int kMaxBinaries = 256;  // a call
    Term rest = a[1];
    for (int n = 0; is_cons(rest) && n < kMaxBinaries; ++n, rest = tail(rest)) {
        if (!is_binary(head(rest))) {
            return badarg(p);
        }
        HeldBytes& bytes = s->input.emplace_back();
        if (!bytes.hold(head(rest))) {
            s->input.pop_back();
            return badarg(p);
        }
        if (bytes.size() == 0) {
            s->input.pop_back();
        }
    }
    if (is_nil(rest)) {
        return atoms::ok;
    }
    return is_cons(rest) ? make_tuple(p.heap, atom_table::intern("continue"), rest) : badarg(p);
}

// Runs the library over about input_limit bytes of the queue; flushes when all is used. Its code.
int run_codec(Process& p, Stream& s, int (*codec)(z_stream*, int), size_t input_limit, int flush,
              size_t* consumed) {
    int code = Z_OK;
    *consumed = 0;
    while (code == Z_OK && !s.input.empty() && *consumed < input_limit) {
        const HeldBytes& first = s.input.front();
        const size_t size = std::min(first.size() - s.taken, input_limit);
        const uint8_t* data = first.data() + s.taken;
        s.z.next_in = const_cast<Bytef*>(data);
        s.z.avail_in = static_cast<uInt>(size);
        code = codec(&s.z, Z_NO_FLUSH);
        const size_t used = size - s.z.avail_in;
        if (s.raw && s.mode == Mode::deflating) {
            s.plain_crc = crc32(s.plain_crc, data, static_cast<uInt>(used));
        }
        *consumed += used;
        s.taken += used;
        const bool whole = s.taken == first.size();
        if (whole) {
            s.input.pop_front();
            s.taken = 0;
        }
        consume(p, static_cast<int64_t>(used / 64) + 1);
        if (!whole || out_of_reductions(p)) {
            break;  // no room for more output, or enough done
        }
    }
    if (code == Z_OK && s.input.empty() && s.z.avail_out > 0) {
        s.z.next_in = nullptr;
        s.z.avail_in = 0;
        code = codec(&s.z, flush);
    }
    return code;
}

// -> {finished | continue, [Output]} | {need_dictionary, Checksum, [Output]}
Term work(Process& p, const Term* a, Mode mode, int (*codec)(z_stream*, int)) {
    int input_limit;
    int output_limit;
    int flush;
    if (!get_int(a[1], &input_limit) || !get_int(a[2], &output_limit) || !get_int(a[3], &flush) ||
        input_limit <= 0 || output_limit <= 0) {
        return badarg(p);
    }
    Stream* s = own_stream_in(p, a[0], mode);
    if (s == nullptr) {
        return kNonValue;
    }
    if (mode == Mode::inflating && s->end_seen && !s->input.empty()) {
        switch (s->after_end) {
            case AfterEnd::error:
                return answer(p, Z_DATA_ERROR);
            case AfterEnd::reset:
                if (const int code = inflateReset(&s->z); code != Z_OK) {
                    return answer(p, code);
                }
                s->end_seen = false;
                break;
            case AfterEnd::cut:
                s->drop_input();
                break;
        }
    }
    const auto room = static_cast<size_t>(output_limit);
    const std::unique_ptr<Bytef[]> output(new Bytef[room]);
    s->z.next_out = output.get();
    s->z.avail_out = static_cast<uInt>(output_limit);
    size_t consumed = 0;
    const int code = run_codec(p, *s, codec, static_cast<size_t>(input_limit), flush, &consumed);
    const size_t produced = room - s->z.avail_out;
    if (code < 0 && code != Z_BUF_ERROR) {
        return answer(p, code);
    }
    s->end_seen |= code == Z_STREAM_END;
    if (s->raw && mode == Mode::inflating) {
        s->plain_crc = crc32(s->plain_crc, output.get(), static_cast<uInt>(produced));
    }
    const bool left = !s->input.empty();
    if (consumed == 0 && produced == 0 && left) {
        return answer(p, Z_DATA_ERROR);  // it would stay like this forever
    }
    Term out = kNil;
    if (produced > 0) {
        out = cons(p.heap, make_binary(p.heap, output.get(), produced), kNil);
    }
    if (!left && produced < room) {
        return make_tuple(p.heap, atom_table::intern("finished"), out);
    }
    if (code != Z_NEED_DICT) {
        return make_tuple(p.heap, atom_table::intern("continue"), out);
    }
    return make_tuple(p.heap, atom_table::intern("need_dictionary"),
                      make_integer(p.heap, static_cast<int32_t>(s->z.adler)), out);
}
Term zlib_deflate_nif_4(Process& p, const Term* a) {
    return work(p, a, Mode::deflating, deflate);
}
Term zlib_inflate_nif_4(Process& p, const Term* a) {
    return work(p, a, Mode::inflating, inflate);
}

// ---- what a stream keeps ------------------------------------------------------------------------

Term zlib_crc32_nif_1(Process& p, const Term* a) {
    Stream* s = own_stream(p, a[0]);
    if (s == nullptr) {
        return kNonValue;
    }
    return s->mode == Mode::deflating || s->mode == Mode::inflating
               ? make_unsigned(p.heap, s->plain_crc)
               : raise(p, "not_initialized");
}

Term zlib_getStash_nif_1(Process& p, const Term* a) {
    Stream* s = own_stream(p, a[0]);
    if (s == nullptr) {
        return kNonValue;
    }
    return is_value(s->stash) ? make_tuple(p.heap, atoms::ok, copy_term(s->stash, p.heap, true))
                              : atom_table::intern("empty");
}
Term zlib_clearStash_nif_1(Process& p, const Term* a) {
    Stream* s = own_stream(p, a[0]);
    if (s == nullptr) {
        return kNonValue;
    }
    if (!is_value(s->stash)) {
        return error(p, atoms::error);
    }
    s->drop_stash();
    return atoms::ok;
}
Term zlib_setStash_nif_2(Process& p, const Term* a) {
    Stream* s = own_stream(p, a[0]);
    if (s == nullptr) {
        return kNonValue;
    }
    if (is_value(s->stash)) {
        return error(p, atoms::error);
    }
    s->stash = is_pointer(a[1]) ? copy_term(a[1], s->stash_heap, false) : a[1];
    return atoms::ok;
}

Term zlib_getBufSize_nif_1(Process& p, const Term* a) {
    Stream* s = own_stream(p, a[0]);
    return s != nullptr ? make_integer(p.heap, s->buffer_size) : kNonValue;
}
Term zlib_setBufSize_nif_2(Process& p, const Term* a) {
    Stream* s = own_stream(p, a[0]);
    if (s == nullptr) {
        return kNonValue;
    }
    int size;
    if (!get_int(a[1], &size)) {
        return badarg(p);
    }
    s->buffer_size = size;
    return atoms::ok;
}

}  // namespace

MINIVM_BIF_TABLE(zlib) = {
    {"zlib", "open_nif", 0, zlib_open_nif_0, kBifPlain, nullptr},
    {"zlib", "close_nif", 1, zlib_close_nif_1, kBifPlain, nullptr},
    {"zlib", "set_controller_nif", 2, zlib_set_controller_nif_2, kBifPlain, nullptr},
    {"zlib", "deflateInit_nif", 6, zlib_deflateInit_nif_6, kBifPlain, nullptr},
    {"zlib", "deflateSetDictionary_nif", 2, zlib_deflateSetDictionary_nif_2, kBifPlain, nullptr},
    {"zlib", "deflateReset_nif", 1, zlib_deflateReset_nif_1, kBifPlain, nullptr},
    {"zlib", "deflateEnd_nif", 1, zlib_deflateEnd_nif_1, kBifPlain, nullptr},
    {"zlib", "deflateParams_nif", 3, zlib_deflateParams_nif_3, kBifPlain, nullptr},
    {"zlib", "deflate_nif", 4, zlib_deflate_nif_4, kBifPlain, nullptr},
    {"zlib", "inflateInit_nif", 3, zlib_inflateInit_nif_3, kBifPlain, nullptr},
    {"zlib", "inflateSetDictionary_nif", 2, zlib_inflateSetDictionary_nif_2, kBifPlain, nullptr},
    {"zlib", "inflateGetDictionary_nif", 1, zlib_inflateGetDictionary_nif_1, kBifPlain, nullptr},
    {"zlib", "inflateReset_nif", 1, zlib_inflateReset_nif_1, kBifPlain, nullptr},
    {"zlib", "inflateEnd_nif", 1, zlib_inflateEnd_nif_1, kBifPlain, nullptr},
    {"zlib", "inflate_nif", 4, zlib_inflate_nif_4, kBifPlain, nullptr},
    {"zlib", "crc32_nif", 1, zlib_crc32_nif_1, kBifPlain, nullptr},
    {"zlib", "getStash_nif", 1, zlib_getStash_nif_1, kBifPlain, nullptr},
    {"zlib", "clearStash_nif", 1, zlib_clearStash_nif_1, kBifPlain, nullptr},
    {"zlib", "setStash_nif", 2, zlib_setStash_nif_2, kBifPlain, nullptr},
    {"zlib", "getBufSize_nif", 1, zlib_getBufSize_nif_1, kBifPlain, nullptr},
    {"zlib", "setBufSize_nif", 2, zlib_setBufSize_nif_2, kBifPlain, nullptr},
    {"zlib", "enqueue_nif", 2, zlib_enqueue_nif_2, kBifPlain, nullptr},
};

}  // namespace minivm
