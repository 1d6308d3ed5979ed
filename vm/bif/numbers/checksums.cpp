// Hashes of terms; CRC, Adler-32 and MD5 of bytes. For large inputs they go on as hidden functions on a dirty
// scheduler: they would take more than a time slice.
#include "vm/bif/bif.hpp"
#include "vm/process/continuation.hpp"
#include "vm/term/binary.hpp"
#include "vm/term/hash.hpp"
#include "vm/term/term_stack.hpp"
#include "vm/util/md5.hpp"

#include <zlib.h>

#include <algorithm>
#include <cstring>
#include <string>

namespace minivm {

namespace {

// About a millisecond of work.
constexpr uint64_t kDirtyChecksumBytes = 512 * 1024;

constexpr int64_t kBytesPerReduction = 1024;

// ---- hashes --------------------------------------------------------------------------------------------

// 1 .. 2^32
bool hash_range(Term t, uint64_t* out) {
    return get_uint64(t, out) && *out >= 1 && *out <= uint64_t{1} << 32;
}

constexpr uint64_t kPhash2Range = uint64_t{1} << 27;  // of phash2/1

constexpr int64_t kStepsPerReduction = 20;

constexpr int64_t kStepsBeforeDirty = 40'000;

// A term that is large because parts are shared may take for ever. After so many steps the process handles its signals,
// also one that kills it, and begins again with a larger limit: of all the work a third at most is lost.
constexpr int64_t kStepsOfFirstTry = 10'000'000;

constexpr int64_t kMoreStepsEachTry = 4;

using Hash = bool (*)(Term, int64_t*, uint32_t*);

// Hashes t; false: it takes more than `limit` steps. The first try is on the normal scheduler; for a
// large term its work is lost, and hash_dirty() begins again.
template <Hash Function>
bool hash_charged(Process& p, Term t, int64_t limit, uint32_t* hash) {
    int64_t steps = limit;
    const bool done = Function(t, &steps, hash);
    consume(p, (limit - steps) / kStepsPerReduction);
    return done;
}

template <Hash Function>
Term hash_result(uint32_t hash, uint64_t range) {
    return make_small(static_cast<int64_t>(hash % range) + (Function == phash_within ? 1 : 0));
}

template <Hash Function>
Term trap_to_hash_dirty(Process& p, Term t, Term range, int64_t limit) {
    static const Export* dirty =
        bif_export("erlang", Function == phash_within ? "phash_dirty" : "phash2_dirty", 3);
    return trap(p, dirty, {t, range, make_small(limit)});
}

// a[0] the term, a[1] the range, checked already, a[2] the steps that it may take.
template <Hash Function>
Term hash_dirty(Process& p, const Term* a) {
    uint64_t range = 0;
    uint32_t hash = 0;
    MINIVM_CHECK(hash_range(a[1], &range));
    const int64_t limit = small_value(a[2]);
    if (hash_charged<Function>(p, a[0], limit, &hash)) {
        return hash_result<Function>(hash, range);
    }
    return trap_to_hash_dirty<Function>(p, a[0], a[1],
                                        std::min(limit, kSmallMax / kMoreStepsEachTry) * kMoreStepsEachTry);
}

template <Hash Function>
Term hash_term(Process& p, const Term* a) {
    uint64_t range;
    if (!hash_range(a[1], &range)) {
        return badarg(p);
    }
    uint32_t hash;
    if (hash_charged<Function>(p, a[0], kStepsBeforeDirty, &hash)) {
        return hash_result<Function>(hash, range);
    }
    return trap_to_hash_dirty<Function>(p, a[0], a[1], kStepsOfFirstTry);
}

Term erlang_phash2_1(Process& p, const Term* a) {
    const Term args[] = {a[0], make_small(kPhash2Range)};
    return hash_term<phash2_within>(p, args);
}

// ---- checksums -----------------------------------------------------------------------------------------

bool get_uint32(Term t, uint32_t* out) {
    if (!is_small(t) || small_value(t) < 0 || small_value(t) > UINT32_MAX) {
        return false;
    }
    *out = static_cast<uint32_t>(small_value(t));
    return true;
}

// Gives the bytes of iodata to f, without copying those of a single binary.
template <typename F>
bool with_bytes(Process& p, Term iodata, F f) {
    Bytes bytes;
    if (get_bytes(iodata, &bytes)) {
        consume(p, static_cast<int64_t>(bytes.size) / kBytesPerReduction);
        f(bytes.data, bytes.size);
        return true;
    }
    std::string flat;
    if (!is_list(iodata) || !iolist_to_bytes(iodata, &flat)) {
        return false;
    }
    consume(p, static_cast<int64_t>(flat.size()) / kBytesPerReduction);
    f(reinterpret_cast<const uint8_t*>(flat.data()), flat.size());
    return true;
}

// Each cell of a list counts as a byte at least, so the walk is short whatever the list holds.
bool is_much(Process& p, Term iodata) {
    const auto bytes_of = [](Term t) { return is_binary(t) ? bitstring_bits(t) / 8 : 0; };
    int64_t cells = 0;
    uint64_t work = 0;
    TermStack rest;
    rest.push(iodata);
    while (!rest.empty() && work <= kDirtyChecksumBytes) {
        Term t = rest.pop();
        for (; is_cons(t) && work <= kDirtyChecksumBytes; t = tail(t)) {
            ++cells;
            ++work;
            if (is_cons(head(t))) {
                rest.push(head(t));
            } else {
                work += bytes_of(head(t));
            }
        }
        work += bytes_of(t);
    }
    consume(p, cells / kBytesPerReduction);
    return work > kDirtyChecksumBytes;
}

// What a hidden function returns that goes on for a BIF: a badarg is the BIF's.
Term as_of(Process& p, Term result, const char* function, uint8_t arity, const Term* a) {
    if (is_value(result)) {
        return result;
    }
    return badarg_as(p, bif_export("erlang", function, arity), list_of(p.heap, {a, arity}));
}

using Checksum = uint32_t (*)(uint32_t, const uint8_t*, size_t);

uint32_t crc32_of(uint32_t seed, const uint8_t* data, size_t size) {
    return static_cast<uint32_t>(crc32_z(seed, data, size));
}

uint32_t adler32_of(uint32_t seed, const uint8_t* data, size_t size) {
    return static_cast<uint32_t>(adler32_z(seed, data, size));
}

// a[0] the checksum so far, a[1] the data.
template <Checksum Function>
Term checksum_now(Process& p, const Term* a) {
    uint32_t sum = 0;
    if (!get_uint32(a[0], &sum) || !with_bytes(p, a[1], [&](const uint8_t* data, size_t size) {
            sum = Function(sum, data, size);
        })) {
        return badarg(p);
    }
    return make_small(sum);
}
template <Checksum Function>
Term checksum_dirty(Process& p, const Term* a) {
    return as_of(p, checksum_now<Function>(p, a), Function == crc32_of ? "crc32" : "adler32", 2, a);
}

template <Checksum Function>
Term checksum(Process& p, const Term* a) {
    uint32_t sum;
    if (!get_uint32(a[0], &sum)) {
        return badarg(p);
    }
    if (is_much(p, a[1])) {
        static const Export* dirty =
            bif_export("erlang", Function == crc32_of ? "crc32_dirty" : "adler32_dirty", 2);
        return trap(p, dirty, {a[0], a[1]});
    }
    return checksum_now<Function>(p, a);
}

Term erlang_crc32_1(Process& p, const Term* a) {
    const Term args[] = {make_small(0), a[0]};
    return checksum<crc32_of>(p, args);
}

Term erlang_adler32_1(Process& p, const Term* a) {
    const Term args[] = {make_small(1), a[0]};
    return checksum<adler32_of>(p, args);
}

// If the second sum is of no bytes, OTP returns the first one as it is. zlib subtracts 1 and adds the second sum,
// which differs unless that is the sum of no bytes.
uLong adler32_combined(uLong first, uLong second, z_off_t second_size) {
    return second_size == 0 ? first : adler32_combine(first, second, second_size);
}

template <uLong (*Combine)(uLong, uLong, z_off_t)>
Term checksum_combine(Process& p, const Term* a) {
    uint32_t first;
    uint32_t second;
    uint32_t second_size;
    if (!get_uint32(a[0], &first) || !get_uint32(a[1], &second) ||
        !get_uint32(a[2], &second_size)) {
        return badarg(p);
    }
    return make_small(static_cast<int64_t>(Combine(first, second, second_size) & 0xFFFFFFFF));
}

Term md5_now(Process& p, const Term* a) {
    Md5 md5;
    if (!with_bytes(p, a[0], [&](const uint8_t* data, size_t size) { md5.update(data, size); })) {
        return badarg(p);
    }
    uint8_t digest[16];
    md5.final(digest);
    return make_binary(p.heap, digest, sizeof(digest));
}

Term erlang_md5_dirty_1(Process& p, const Term* a) { return as_of(p, md5_now(p, a), "md5", 1, a); }

Term erlang_md5_1(Process& p, const Term* a) {
    if (is_much(p, a[0])) {
        static const Export* dirty = bif_export("erlang", "md5_dirty", 1);
        return trap(p, dirty, {a[0]});
    }
    return md5_now(p, a);
}

// The context is the Md5 itself, in a binary.
bool md5_context(Term t, Md5* out) {
    Bytes bytes;
    if (!get_bytes(t, &bytes) || bytes.size != sizeof(Md5)) {
        return false;
    }
    std::memcpy(static_cast<void*>(out), bytes.data, sizeof(Md5));
    return true;
}

Term erlang_md5_init_0(Process& p, const Term*) {
    const Md5 md5;
    return make_binary(p.heap, &md5, sizeof(md5));
}

Term md5_update_now(Process& p, const Term* a) {
    Md5 md5;
    if (!md5_context(a[0], &md5) ||
        !with_bytes(p, a[1], [&](const uint8_t* data, size_t size) { md5.update(data, size); })) {
        return badarg(p);
    }
    return make_binary(p.heap, &md5, sizeof(md5));
}

Term erlang_md5_update_dirty_2(Process& p, const Term* a) {
    return as_of(p, md5_update_now(p, a), "md5_update", 2, a);
}

Term erlang_md5_update_2(Process& p, const Term* a) {
    Md5 md5;
    if (!md5_context(a[0], &md5)) {
        return badarg(p);
    }
    if (is_much(p, a[1])) {
        static const Export* dirty = bif_export("erlang", "md5_update_dirty", 2);
        return trap(p, dirty, {a[0], a[1]});
    }
    return md5_update_now(p, a);
}

Term erlang_md5_final_1(Process& p, const Term* a) {
    Md5 md5;
    if (!md5_context(a[0], &md5)) {
        return badarg(p);
    }
    uint8_t digest[16];
    md5.final(digest);
    return make_binary(p.heap, digest, sizeof(digest));
}

}  // namespace

MINIVM_BIF_TABLE(checksums) = {
    {"erlang", "phash2", 1, erlang_phash2_1, kBifPlain, nullptr},
    {"erlang", "phash2", 2, hash_term<phash2_within>, kBifPlain, nullptr},
    {"erlang", "phash2_dirty", 3, hash_dirty<phash2_within>, kBifHiddenDirty, nullptr},
    {"erlang", "phash", 2, hash_term<phash_within>, kBifPlain, nullptr},
    {"erlang", "phash_dirty", 3, hash_dirty<phash_within>, kBifHiddenDirty, nullptr},
    {"erlang", "crc32", 1, erlang_crc32_1, kBifPlain, nullptr},
    {"erlang", "crc32", 2, checksum<crc32_of>, kBifPlain, nullptr},
    {"erlang", "crc32_dirty", 2, checksum_dirty<crc32_of>, kBifHiddenDirty, nullptr},
    {"erlang", "crc32_combine", 3, checksum_combine<crc32_combine>, kBifPlain, nullptr},
    {"erlang", "adler32", 1, erlang_adler32_1, kBifPlain, nullptr},
    {"erlang", "adler32", 2, checksum<adler32_of>, kBifPlain, nullptr},
    {"erlang", "adler32_dirty", 2, checksum_dirty<adler32_of>, kBifHiddenDirty, nullptr},
    {"erlang", "adler32_combine", 3, checksum_combine<adler32_combined>, kBifPlain, nullptr},
    {"erlang", "md5", 1, erlang_md5_1, kBifPlain, nullptr},
    {"erlang", "md5_dirty", 1, erlang_md5_dirty_1, kBifHiddenDirty, nullptr},
    {"erlang", "md5_init", 0, erlang_md5_init_0, kBifPlain, nullptr},
    {"erlang", "md5_update", 2, erlang_md5_update_2, kBifPlain, nullptr},
    {"erlang", "md5_update_dirty", 2, erlang_md5_update_dirty_2, kBifHiddenDirty, nullptr},
    {"erlang", "md5_final", 1, erlang_md5_final_1, kBifPlain, nullptr},
};

}  // namespace minivm
