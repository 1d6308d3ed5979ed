// Writing the external term format.
#include "vm/code/export.hpp"
#include "vm/external/external_tags.hpp"
#include "vm/external/external_term.hpp"
#include "vm/term/atom_table.hpp"
#include "vm/term/bignum.hpp"
#include "vm/term/binary.hpp"
#include "vm/term/compare.hpp"
#include "vm/term/map.hpp"
#include "vm/term/native_record.hpp"
#include "vm/term/this_node.hpp"
#include "vm/term/told_references.hpp"
#include "vm/util/otp_release.hpp"

#include <zlib.h>

#include <algorithm>
#include <charconv>
#include <cstring>

namespace minivm::external {

namespace {

constexpr size_t kMaxStringBytes = 0xFFFF;
constexpr uint64_t kMaxPlainPort = 0xFFFFFFF;
constexpr size_t kFirstCapacity = 120;
constexpr size_t kCompressedHeaderBytes = 6;  // version, tag, size

void write16(uint8_t* p, uint32_t v) {
    p[0] = static_cast<uint8_t>(v >> 8);
    p[1] = static_cast<uint8_t>(v);
}
void write32(uint8_t* p, uint32_t v) {
    v = __builtin_bswap32(v);
    std::memcpy(p, &v, 4);
}
void write64(uint8_t* p, uint64_t v) {
    v = __builtin_bswap64(v);
    std::memcpy(p, &v, 8);
}

// The length of the list if it is a proper list of at most kMaxStringBytes bytes, else 0.
size_t string_bytes(Term list) {
    size_t n = 0;
    for (; is_cons(list); list = tail(list)) {
        if (head(list).raw > make_small(255).raw || !is_small(head(list)) || n == kMaxStringBytes) {
            return 0;
        }
        n++;
    }
    return is_nil(list) ? n : 0;
}

// Code points of the text if all of them fit Latin-1, else -1.
ptrdiff_t latin1_chars(std::string_view utf8) {
    ptrdiff_t n = 0;
    for (size_t i = 0; i < utf8.size(); i++, n++) {
        const uint8_t c = static_cast<uint8_t>(utf8[i]);
        if (c >= 0x80) {
            if (c > 0xC3) {
                return -1;
            }
            i++;
        }
    }
    return n;
}

}  // namespace

Encoder::Encoder(Heap& scratch, const EncodeOptions& options, bool count_only)
    : scratch_(&scratch), options_(options), counting_(count_only) {}

Encoder::~Encoder() {
    if (out_ != nullptr) {
        out_->release();
    }
    if (deflate_ != nullptr) {
        deflateEnd(deflate_.get());
    }
    if (packed_ != nullptr) {
        packed_->release();
    }
}

inline uint8_t* Encoder::room(size_t n) {
    if (MINIVM_LIKELY(out_ != nullptr && n <= out_->size_bytes - used_)) {
        uint8_t* p = out_->data() + used_;
        used_ += n;
        return p;
    }
    return more_room(n);
}

MINIVM_NOINLINE uint8_t* Encoder::more_room(size_t n) {
    if (counting_) {
        used_ += n;
        MINIVM_ASSERT(n <= sizeof(counted_));
        return counted_;
    }
    if (out_ == nullptr) {
        out_ = RefBinary::create(std::max(n, kFirstCapacity));
    } else if (n > out_->size_bytes - used_) {
        out_ = RefBinary::reallocate(out_, std::max(out_->size_bytes * 2, used_ + n));
    }
    uint8_t* p = out_->data() + used_;
    used_ += n;
    return p;
}

void Encoder::start(Term t) {
    *room(1) = kVersion;
    if (options_.local) {
        uint8_t* mark = room(1 + kLocalMarkBytes);
        *mark = kLocalExt;
        std::memcpy(mark + 1, local_mark(), kLocalMarkBytes);
    }
    frames_.reserve(16);
    frames_.push_back({t, 0, Frame::Kind::value});
}

bool Encoder::run(int64_t* budget) {
    while (!frames_.empty()) {
        if (--*budget <= 0) {
            return false;
        }
        Frame& f = frames_.back();
        Term t = f.object;
        switch (f.kind) {
            case Frame::Kind::value:
                frames_.pop_back();
                break;
            case Frame::Kind::tuple: {
                const uint64_t i = f.index++;
                if (f.index == tuple_arity(t)) {
                    frames_.pop_back();
                }
                t = tuple_element(t, i);
                break;
            }
            case Frame::Kind::list: {
                const Term rest = tail(t);
                f.object = rest;
                if (!is_cons(rest)) {
                    f.kind = Frame::Kind::value;
                }
                t = head(t);
                break;
            }
            case Frame::Kind::flat_map: {
                const uint64_t i = f.index++;
                if (f.index == 2 * map_size(t)) {
                    frames_.pop_back();
                }
                const Term* object = boxed_ptr(t);
                t = i % 2 == 0 ? tuple_element(object[1], i / 2) : object[2 + i / 2];
                break;
            }
            case Frame::Kind::record: {
                const uint64_t i = f.index++;
                if (f.index == native_record::field_count(t)) {
                    frames_.pop_back();
                }
                t = native_record::values(t)[i];
                break;
            }
            case Frame::Kind::fun: {
                const uint64_t i = f.index++;
                if (f.index == fun_free_count(t)) {
                    frames_.pop_back();
                }
                t = fun_free_variables(t)[i];
                break;
            }
            case Frame::Kind::fun_end: {
                const uint64_t at = f.index;
                frames_.pop_back();
                if (!counting_) {
                    write32(out_->data() + at, static_cast<uint32_t>(used_ - at));
                }
                continue;
            }
        }
        value(t, budget);
    }
    return true;
}

void Encoder::value(Term t, int64_t* budget) {
    if (is_small(t)) {
        small(small_value(t));
    } else if (is_atom(t)) {
        atom(t);
    } else if (is_nil(t)) {
        *room(1) = kNilExt;
    } else if (is_cons(t)) {
        list(t, budget);
    } else if (is_float(t)) {
        float_(float_value(t));
    } else if (is_local_pid(t)) {
        pid(t);
    } else if (is_local_port(t)) {
        const Node node = this_node();
        port(node.name, imm_data(t), node.creation);
    } else {
        MINIVM_CHECK(is_boxed(t));
        boxed(t, budget);
    }
}

void Encoder::boxed(Term t, int64_t* budget) {
    Term* object = boxed_ptr(t);
    switch (kind_of(t)) {
        case Kind::tuple: {
            const size_t n = tuple_arity(t);
            if (n < 256) {
                uint8_t* p = room(2);
                p[0] = kSmallTupleExt;
                p[1] = static_cast<uint8_t>(n);
            } else {
                uint8_t* p = room(5);
                p[0] = kLargeTupleExt;
                write32(p + 1, static_cast<uint32_t>(n));
            }
            if (n != 0) {
                frames_.push_back({t, 0, Frame::Kind::tuple});
            }
            return;
        }
        case Kind::pos_big:
        case Kind::neg_big:
            big(t, budget);
            return;
        case Kind::heap_bits:
        case Kind::sub_bits:
            bits(t, budget);
            return;
        case Kind::flat_map: {
            const size_t n = map_size(t);
            if (n > 1 && options_.deterministic && by_release::atom_keys_have_numbers()) {
                large_map(t, budget);
                return;
            }
            uint8_t* p = room(5);
            p[0] = kMapExt;
            write32(p + 1, static_cast<uint32_t>(n));
            if (n != 0) {
                frames_.push_back({t, 0, Frame::Kind::flat_map});
            }
            return;
        }
        case Kind::hash_map:
            large_map(t, budget);
            return;
        case Kind::record:
            record(t, budget);
            return;
        case Kind::fun:
            fun(t);
            return;
        case Kind::export_fun: {
            const Export* e = export_fun_entry(t);
            *room(1) = kExportExt;
            atom(e->module);
            atom(e->function);
            small(e->arity);
            return;
        }
        case Kind::ref:
        case Kind::magic_ref: {
            if (!counting_ && is_magic_ref(t)) {
                told_references::add(t);
            }
            const RefId id = ref_id(t);
            const Node node = this_node();
            uint8_t* p = room(3);
            p[0] = kNewerReferenceExt;
            write16(p + 1, 3);
            atom(node.name);
            p = room(16);
            write32(p, node.creation);
            write32(p + 4, static_cast<uint32_t>(id.low));
            write32(p + 8, static_cast<uint32_t>(id.low >> 32));
            write32(p + 12, id.high);
            return;
        }
        case Kind::ext_ref: {
            const size_t n = object[3].raw;
            uint8_t* p = room(3);
            p[0] = kNewerReferenceExt;
            write16(p + 1, static_cast<uint32_t>(n));
            atom(object[1]);
            p = room(4 + 4 * n);
            write32(p, static_cast<uint32_t>(object[2].raw));
            for (size_t i = 0; i < n; i++) {
                write32(p + 4 + 4 * i,
                        static_cast<uint32_t>(object[4 + i / 2].raw >> (i % 2 * 32)));
            }
            return;
        }
        case Kind::ext_pid:
            pid(t);
            return;
        case Kind::ext_port:
            port(object[1], object[2].raw, static_cast<uint32_t>(object[3].raw));
            return;
        default:
            MINIVM_CHECK(!"a term that can be encoded");
    }
}

void Encoder::small(int64_t v) {
    if (v >= 0 && v <= 255) {
        uint8_t* p = room(2);
        p[0] = kSmallIntegerExt;
        p[1] = static_cast<uint8_t>(v);
    } else if (v == static_cast<int32_t>(v)) {
        uint8_t* p = room(5);
        p[0] = kIntegerExt;
        write32(p + 1, static_cast<uint32_t>(v));
    } else {
        const uint64_t magnitude = v < 0 ? ~static_cast<uint64_t>(v) + 1 : static_cast<uint64_t>(v);
        const size_t n = (71 - static_cast<size_t>(std::countl_zero(magnitude))) / 8;
        uint8_t* p = room(3 + n);
        p[0] = kSmallBigExt;
        p[1] = static_cast<uint8_t>(n);
        p[2] = v < 0;
        std::memcpy(p + 3, &magnitude, n);
    }
}

void Encoder::big(Term t, int64_t* budget) {
    const size_t limbs = big_limbs(t);
    const Word* digits = big_digits(t);
    const size_t n = limbs * 8 - static_cast<size_t>(std::countl_zero(digits[limbs - 1])) / 8;
    if (n < 256) {
        uint8_t* p = room(3);
        p[0] = kSmallBigExt;
        p[1] = static_cast<uint8_t>(n);
        p[2] = big_is_negative(t);
    } else {
        uint8_t* p = room(6);
        p[0] = kLargeBigExt;
        write32(p + 1, static_cast<uint32_t>(n));
        p[5] = big_is_negative(t);
    }
    raw(reinterpret_cast<const uint8_t*>(digits), n, budget);
}

void Encoder::raw(const uint8_t* bytes, size_t n, int64_t* budget) {
    *budget -= static_cast<int64_t>(n / 64);
    if (counting_) {
        used_ += n;
    } else if (n != 0) {
        std::memcpy(room(n), bytes, n);
    }
}

void Encoder::float_(double d) {
    if (options_.minor_version == 0) {
        uint8_t* p = room(1 + kOldFloatBytes);
        p[0] = kFloatExt;
        char* text = reinterpret_cast<char*>(p + 1);
        std::memset(text, 0, kOldFloatBytes);
        std::to_chars(text, text + kOldFloatBytes, d, std::chars_format::scientific, 20);
    } else {
        uint8_t* p = room(9);
        p[0] = kNewFloatExt;
        write64(p + 1, std::bit_cast<uint64_t>(d));
    }
}

void Encoder::atom(Term t) {
    const std::string_view text = atom_table::text(t);
    const ptrdiff_t chars = options_.minor_version >= 2 ? -1 : latin1_chars(text);
    if (chars < 0) {
        const size_t width = text.size() < 256 ? 1 : 2;
        uint8_t* p = room(1 + width + text.size());
        if (width == 1) {
            p[0] = kSmallAtomUtf8Ext;
            p[1] = static_cast<uint8_t>(text.size());
        } else {
            p[0] = kAtomUtf8Ext;
            write16(p + 1, static_cast<uint32_t>(text.size()));
        }
        std::memcpy(p + 1 + width, text.data(), text.size());
        return;
    }
    uint8_t* p = room(3 + static_cast<size_t>(chars));
    *p = kAtomExt;
    write16(p + 1, static_cast<uint32_t>(chars));
    p += 3;
    for (size_t i = 0; i < text.size(); i++) {
        const uint8_t c = static_cast<uint8_t>(text[i]);
        *p++ = c < 0x80 ? c : static_cast<uint8_t>(c << 6 | (text[++i] & 0x3F));
    }
}

void Encoder::list(Term t, int64_t* budget) {
    size_t n = string_bytes(t);
    *budget -= static_cast<int64_t>(n / 16);
    if (n != 0) {
        uint8_t* p = room(3);
        p[0] = kStringExt;
        write16(p + 1, static_cast<uint32_t>(n));
        if (counting_) {
            used_ += n;
            return;
        }
        for (p = room(n); is_cons(t); t = tail(t)) {
            *p++ = static_cast<uint8_t>(small_value(head(t)));
        }
        return;
    }
    for (Term rest = t; is_cons(rest); rest = tail(rest)) {
        n++;
    }
    *budget -= static_cast<int64_t>(n / 16);
    uint8_t* p = room(5);
    p[0] = kListExt;
    write32(p + 1, static_cast<uint32_t>(n));
    frames_.push_back({t, 0, Frame::Kind::list});
}

void Encoder::bits(Term t, int64_t* budget) {
    const BitView v = bit_view(t);
    const size_t whole = v.size >> 3;
    const unsigned rest = v.size & 7;
    if (rest == 0) {
        uint8_t* p = room(5);
        p[0] = kBinaryExt;
        write32(p + 1, static_cast<uint32_t>(whole));
    } else {
        uint8_t* p = room(6);
        p[0] = kBitBinaryExt;
        write32(p + 1, static_cast<uint32_t>(whole + 1));
        p[5] = static_cast<uint8_t>(rest);
    }
    const size_t n = whole + (rest != 0);
    *budget -= static_cast<int64_t>(n / 64);
    if (counting_) {
        used_ += n;
    } else if (n != 0) {
        uint8_t* p = room(n);
        p[n - 1] = 0;
        copy_bits(v.bytes, v.offset, p, 0, v.size);
    }
}

// The number of fields, whether it is exported, module, name and the fields; then the values.
void Encoder::record(Term t, int64_t* budget) {
    const size_t n = native_record::field_count(t);
    uint8_t* p = room(6);
    p[0] = kRecordExt;
    write32(p + 1, static_cast<uint32_t>(n));
    p[5] = native_record::is_exported(t) ? 1 : 0;
    atom(native_record::module(t));
    atom(native_record::name(t));
    for (size_t i = 0; i < n; ++i) {
        atom(native_record::fields(t)[i]);
    }
    *budget -= static_cast<int64_t>(n);
    if (n != 0) {
        frames_.push_back({t, 0, Frame::Kind::record});
    }
}

void Encoder::large_map(Term t, int64_t* budget) {
    const size_t n = map_size(t);
    uint8_t* p = room(5);
    p[0] = kMapExt;
    write32(p + 1, static_cast<uint32_t>(n));
    // The pairs as a tuple, which run() encodes in slices, and which the collector moves with the heap.
    Term* pairs = scratch_->alloc(1 + 2 * n);
    *pairs = Term{make_header(Kind::tuple, 2 * n)};
    map::Iterator it(t);
    size_t end = 1 + 2 * n;  // the last pair comes first, as in OTP
    for (Term key, value; it.next(&key, &value);) {
        pairs[--end] = value;
        pairs[--end] = key;
    }
    MINIVM_CHECK(end == 1);
    if (options_.deterministic) {
        struct Pair {
            Term key, value;
        };
        Pair* first = reinterpret_cast<Pair*>(pairs + 1);
        std::sort(first, first + n, [](const Pair& a, const Pair& b) {
            return compare_terms_exact(a.key, b.key) < 0;
        });
    }
    *budget -= static_cast<int64_t>(n);
    frames_.push_back({make_boxed(pairs), 0, Frame::Kind::tuple});
}

void Encoder::pid(Term t) {
    auto [node, creation] = this_node();
    uint32_t number;
    uint32_t serial;
    if (is_local_pid(t)) {
        number = pid_number(t);
        serial = pid_serial(t);
    } else {
        const Term* object = boxed_ptr(t);
        node = object[1];
        number = static_cast<uint32_t>(object[2].raw);
        serial = static_cast<uint32_t>(object[3].raw);
        creation = static_cast<uint32_t>(object[4].raw);
    }
    *room(1) = kNewPidExt;
    atom(node);
    uint8_t* p = room(12);
    write32(p, number);
    write32(p + 4, serial);
    write32(p + 8, creation);
}

void Encoder::port(Term node, uint64_t number, uint32_t creation) {
    const bool plain = number <= kMaxPlainPort;
    *room(1) = plain ? kNewPortExt : kV4PortExt;
    atom(node);
    if (plain) {
        write32(room(4), static_cast<uint32_t>(number));
    } else {
        write64(room(8), number);
    }
    write32(room(4), creation);
}

void Encoder::fun(Term t) {
    const FunEntry* e = fun_entry(t);
    const size_t num_free = fun_free_count(t);
    *room(1) = kNewFunExt;
    const size_t size_at = used_;
    uint8_t* p = room(4 + 1 + 16 + 4 + 4);
    p[4] = static_cast<uint8_t>(e->arity);
    std::memcpy(p + 5, e->uniq, 16);
    write32(p + 21, e->index);
    write32(p + 25, static_cast<uint32_t>(num_free));
    atom(e->module);
    const size_t numbers_at = used_;
    small(e->index);
    small(e->old_uniq);
    if (counting_) {
        used_ = std::max(used_, numbers_at + 10);  // OTP's external_size counts INTEGER_EXT for both
    }
    pid(by_release::funs_have_creators() ? fun_creator(t) : make_local_pid(0));
    frames_.push_back({kNil, size_at, Frame::Kind::fun_end});
    if (num_free != 0) {
        frames_.push_back({t, 0, Frame::Kind::fun});
    }
}

// ---- the work that is left, as a term ----------------------------------------------------------

Term Encoder::save(Heap& h) {
    const size_t n = frames_.size();
    Term* p = h.alloc(1 + 2 * n);
    p[0] = Term{make_header(Kind::tuple, 2 * n)};
    for (size_t i = 0; i < n; i++) {
        const Frame& f = frames_[i];
        p[1 + 2 * i] = f.object;
        p[2 + 2 * i] =
            make_small(static_cast<int64_t>(f.index << 3 | static_cast<uint64_t>(f.kind)));
    }
    frames_.clear();
    return make_boxed(p);
}

void Encoder::restore(Heap& scratch, Term saved) {
    scratch_ = &scratch;
    const size_t n = tuple_arity(saved) / 2;
    const Term* p = tuple_elements(saved);
    frames_.reserve(n);
    for (size_t i = 0; i < n; i++) {
        const uint64_t v = static_cast<uint64_t>(small_value(p[2 * i + 1]));
        frames_.push_back({p[2 * i], v >> 3, static_cast<Frame::Kind>(v & 7)});
    }
}

// ---- compression -------------------------------------------------------------------------------

bool Encoder::compress(int64_t* budget) {
    constexpr size_t kSlice = 1 << 16;  // bytes between two looks at the budget
    if (!options_.compressed || options_.level == 0 || used_ < kCompressedHeaderBytes) {
        return true;
    }
    const size_t size = used_ - 1;  // without the version
    if (deflate_ == nullptr) {
        if (size > UINT32_MAX) {
            return true;
        }
        // As in OTP, the result must not be longer than the plain one.
        packed_ = RefBinary::create(used_);
        deflate_ = std::make_unique<z_stream_s>();
        std::memset(deflate_.get(), 0, sizeof(z_stream_s));
        if (deflateInit(deflate_.get(), options_.level) != Z_OK) {
            deflate_.reset();
            return true;
        }
        deflate_->next_in = out_->data() + 1;
        deflate_->next_out = packed_->data() + kCompressedHeaderBytes;
        deflate_->avail_out = static_cast<uInt>(used_ - kCompressedHeaderBytes);
    }
    for (;;) {
        const size_t left = size - deflate_->total_in;
        deflate_->avail_in = static_cast<uInt>(std::min(left, kSlice));
        const int result = deflate(deflate_.get(), left <= kSlice ? Z_FINISH : Z_NO_FLUSH);
        if (result == Z_STREAM_END) {
            uint8_t* p = packed_->data();
            p[0] = kVersion;
            p[1] = kCompressedExt;
            write32(p + 2, static_cast<uint32_t>(size));
            used_ = kCompressedHeaderBytes + deflate_->total_out;
            std::swap(out_, packed_);
            break;
        }
        if (result != Z_OK || deflate_->avail_out == 0) {
            break;  // no gain
        }
        *budget -= kSlice / 32;
        if (*budget <= 0) {
            return false;
        }
    }
    deflateEnd(deflate_.get());
    deflate_.reset();
    return true;
}

Term Encoder::take(Heap& h) {
    MINIVM_ASSERT(frames_.empty() && !counting_);
    if (used_ <= kMaxHeapBitsBytes) {
        return make_binary(h, out_->data(), used_);
    }
    RefBinary* b = RefBinary::reallocate(out_, used_);
    out_ = nullptr;
    return wrap_ref_binary(h, b, 8 * static_cast<uint64_t>(used_));
}

// ---- all at once -------------------------------------------------------------------------------

void append(Term t, const EncodeOptions& options, std::string* out) {
    Heap scratch;
    {
        Encoder encoder(scratch, options, false);
        encoder.start(t);
        int64_t budget;
        do {
            budget = INT64_MAX;
        } while (!encoder.run(&budget));
        do {
            budget = INT64_MAX;
        } while (!encoder.compress(&budget));
        out->append(reinterpret_cast<const char*>(encoder.bytes()), encoder.size());
    }
}

void encode(Term t, const EncodeOptions& options, std::string* out) {
    out->clear();
    append(t, options, out);
}

uint64_t encoded_size(Term t, const EncodeOptions& options) {
    Heap scratch;
    Encoder encoder(scratch, options, true);
    encoder.start(t);
    int64_t budget;
    do {
        budget = INT64_MAX;
    } while (!encoder.run(&budget));
    return encoder.size();
}

}  // namespace minivm::external
