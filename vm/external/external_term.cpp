#include "vm/external/external_term.hpp"

#include "vm/code/code_index.hpp"
#include "vm/external/external_tags.hpp"
#include "vm/term/atom_table.hpp"
#include "vm/term/bignum.hpp"
#include "vm/term/binary.hpp"
#include "vm/term/compare.hpp"
#include "vm/term/external_ids.hpp"
#include "vm/term/map.hpp"
#include "vm/term/native_record.hpp"
#include "vm/term/told_references.hpp"
#include "vm/util/otp_release.hpp"
#include "vm/util/utf8.hpp"

#include <zlib.h>

#include <algorithm>
#include <array>
#include <random>
#include <charconv>
#include <cmath>
#include <cstring>
#include <memory>

namespace minivm::external {

namespace {

constexpr uint32_t kMaxRefWord0 = (1u << 18) - 1;
constexpr size_t kMaxLocalRefWords = 3;
constexpr uint32_t kMaxFreeVariables = 255;
constexpr uint32_t kMaxOldCreation = 3;
// The best ratio of deflate; a term that claims more is refused before memory is allocated for it.
constexpr uint64_t kMaxInflation = 1032;

uint16_t read16(const uint8_t* p) {
    return static_cast<uint16_t>(p[0] << 8 | p[1]);
}
uint32_t read32(const uint8_t* p) {
    uint32_t v;
    std::memcpy(&v, p, 4);
    return __builtin_bswap32(v);
}
uint64_t read64(const uint8_t* p) {
    uint64_t v;
    std::memcpy(&v, p, 8);
    return __builtin_bswap64(v);
}

bool is_this_node(Term node, uint32_t creation) {
    return node_word({node, creation}) == node_word(this_node());
}

// FLOAT_EXT: digits "." digits, optional exponent, then NUL. OTP accepts nothing else.
bool parse_old_float(const uint8_t* bytes, double* out) {
    const char* p = reinterpret_cast<const char*>(bytes);
    const char* end = static_cast<const char*>(std::memchr(p, 0, kOldFloatBytes));
    if (end == nullptr) {
        return false;
    }
    const auto digits = [&p, end] {
        const char* start = p;
        while (p != end && *p >= '0' && *p <= '9') {
            p++;
        }
        return p != start;
    };
    const char* start = p;
    if (p != end && (*p == '+' || *p == '-')) {
        start += *p == '+';
        p++;
    }
    if (!digits() || p == end || *p != '.') {
        return false;
    }
    p++;
    bool small = false;
    if (!digits()) {
        return false;
    }
    if (p != end && (*p == 'e' || *p == 'E')) {
        p++;
        if (p != end && (*p == '+' || *p == '-')) {
            small = *p == '-';
            p++;
        }
        if (!digits()) {
            return false;
        }
    }
    if (p != end) {
        return false;
    }
    const auto result = std::from_chars(start, end, *out);
    if (result.ec == std::errc::result_out_of_range && small) {
        *out = *start == '-' ? -0.0 : 0.0;
        return true;
    }
    return result.ec == std::errc() && std::isfinite(*out);
}

}  // namespace

// An object that is filled in; frames_ has those on the way from the root to the next value.
struct Decoder::Frame {
    enum class Kind : uint8_t {
        slots,     // consecutive words
        list,      // heads of consecutive cells, then the tail of the last
        flat_map,  // keys and values in turn; sorted at the end
        large_map  // keys and values in turn, in `scratch`; the map is made at the end
    };
    Kind kind;
    Term* next;      // the place of the next value
    Term* other;     // maps: the place of the value after it
    uint64_t left;   // values still to come
    Term* target;    // large_map: the place of the map
    uint64_t pairs;  // maps
    std::unique_ptr<Term[]> scratch;
};

Decoder::Decoder(Heap& heap, const DecodeOptions& options) : heap_(heap), safe_(options.safe) {}
Decoder::~Decoder() {
    stop_inflating();
}

const uint8_t* local_mark() {
    static const std::array<uint8_t, kLocalMarkBytes> mark = [] {
        std::array<uint8_t, kLocalMarkBytes> bytes{};
        std::random_device random;
        for (uint8_t& b : bytes) {
            b = static_cast<uint8_t>(random());
        }
        return bytes;
    }();
    return mark.data();
}

bool Decoder::start(const uint8_t* bytes, size_t size) {
    if (size < 2 || bytes[0] != kVersion) {
        return false;
    }
    p_ = bytes + 1;
    end_ = bytes + size;
    begin_ = bytes;
    frames_.reserve(16);
    frames_.push_back(Frame{Frame::Kind::slots, &root_, nullptr, 1, nullptr, 0, nullptr});
    return *p_ == kCompressedExt ? start_inflating() : skip_local_mark();
}

bool Decoder::skip_local_mark() {
    if (left() > 0 && *p_ == kLocalExt) {
        if (left() < 1 + kLocalMarkBytes || std::memcmp(p_ + 1, local_mark(), kLocalMarkBytes) != 0) {
            return false;
        }
        p_ += 1 + kLocalMarkBytes;
    }
    return true;
}

bool Decoder::start_inflating() {
    if (left() < 5) {
        return false;
    }
    inflated_size_ = read32(p_ + 1);
    p_ += 5;
    if (inflated_size_ > left() * kMaxInflation) {
        return false;
    }
    inflated_.reset(new uint8_t[inflated_size_ + 1]);  // one more byte, to detect data longer than its size says
    inflate_ = std::make_unique<z_stream_s>();
    std::memset(inflate_.get(), 0, sizeof(z_stream_s));
    if (inflateInit(inflate_.get()) != Z_OK) {
        inflate_.reset();
        return false;
    }
    return true;
}

void Decoder::stop_inflating() {
    if (inflate_ != nullptr) {
        inflateEnd(inflate_.get());
        inflate_.reset();
    }
}

// In pieces, as little input can have much output, and much input none.
Decoder::Status Decoder::inflate_some(int64_t* budget) {
    constexpr uint64_t kPiece = 1 << 14;  // bytes between two looks at the budget
    z_stream_s& z = *inflate_;
    for (;;) {
        const uint64_t done = z.total_out;
        z.next_in = const_cast<uint8_t*>(p_);
        z.avail_in = static_cast<uInt>(std::min<uint64_t>(left(), kPiece));
        z.next_out = inflated_.get() + done;
        z.avail_out = static_cast<uInt>(std::min(inflated_size_ + 1 - done, kPiece));
        const int result = inflate(&z, Z_NO_FLUSH);
        p_ = z.next_in;
        if (result == Z_STREAM_END && z.total_out == inflated_size_) {
            break;
        }
        if (result != Z_OK || z.total_out > inflated_size_) {
            return Status::malformed;
        }
        *budget -= kPiece / 32;
        if (*budget <= 0) {
            return Status::more;
        }
    }
    stop_inflating();
    used_ = static_cast<size_t>(p_ - begin_);
    p_ = inflated_.get();
    end_ = p_ + inflated_size_;
    return skip_local_mark() ? Status::done : Status::malformed;
}

size_t Decoder::used() const {
    return inflated_ != nullptr ? used_ : static_cast<size_t>(p_ - begin_);
}

Decoder::Status Decoder::run(int64_t* budget) {
    if (inflate_ != nullptr) {
        const Status status = inflate_some(budget);
        if (status != Status::done) {
            return status;
        }
    }
    while (!frames_.empty()) {
        if (--*budget <= 0) {
            return Status::more;
        }
        Frame& f = frames_.back();
        if (f.left == 0) {
            if (!finish(f)) {
                return Status::malformed;
            }
            frames_.pop_back();
            continue;
        }
        Term* slot = f.next;
        f.left--;
        expected_--;
        switch (f.kind) {
            case Frame::Kind::slots:
                f.next++;
                break;
            case Frame::Kind::list:
                f.next += f.left == 1 ? 1 : 2;
                break;
            case Frame::Kind::flat_map:
            case Frame::Kind::large_map:
                f.next = f.other;
                f.other = slot + 1;
                break;
        }
        if (f.left == 0 && f.kind <= Frame::Kind::list) {
            frames_.pop_back();  // now, so that a long chain of last elements takes no space
        }
        if (!value(slot, budget)) {
            return Status::malformed;
        }
    }
    return Status::done;
}

// Sorts or makes a map whose keys and values are all decoded. False: a key is there twice.
bool Decoder::finish(Frame& f) {
    const size_t n = f.pairs;
    if (f.kind == Frame::Kind::large_map) {
        *f.target = map::from_pairs(heap_, f.scratch.get(), f.scratch.get() + n, n);
        return map_size(*f.target) == n;
    }
    if (f.kind != Frame::Kind::flat_map) {
        return true;
    }
    // `next` and `other` point to the ends of both arrays. Insertion sort: most maps come sorted.
    Term* keys = f.next - n;
    Term* values = f.other - n;
    for (size_t i = 1; i < n; i++) {
        const Term key = keys[i];
        const Term value = values[i];
        size_t j = i;
        for (; j != 0; j--) {
            const int c = compare_flat_keys(keys[j - 1], key);
            if (c == 0) {
                return false;
            }
            if (c < 0) {
                break;
            }
            keys[j] = keys[j - 1];
            values[j] = values[j - 1];
        }
        keys[j] = key;
        values[j] = value;
    }
    return true;
}

// Whether n more values fit: each needs at least one byte, besides the values that are expected already. Called before
// memory is allocated for them, so all memory is in proportion to the input, whatever nested objects claim.
bool Decoder::expect(uint64_t n) {
    if (left() < expected_ || n > left() - expected_) {
        return false;
    }
    expected_ += n;
    return true;
}

void Decoder::push_slots(Term* first, uint64_t n) {
    if (n != 0) {
        frames_.push_back(Frame{Frame::Kind::slots, first, nullptr, n, nullptr, 0, nullptr});
    }
}

// Reads one value into *slot; frames for its elements go to frames_.
bool Decoder::value(Term* slot, int64_t* budget) {
    if (left() == 0) {
        return false;
    }
    const uint8_t tag = *p_++;
    uint64_t n;
    switch (tag) {
        case kSmallIntegerExt:
            if (left() < 1) {
                return false;
            }
            *slot = make_small(*p_++);
            return true;
        case kIntegerExt:
            if (left() < 4) {
                return false;
            }
            *slot = make_small(static_cast<int32_t>(read32(p_)));
            p_ += 4;
            return true;
        case kSmallBigExt:
        case kLargeBigExt:
            return big(tag, slot);
        case kNewFloatExt: {
            if (left() < 8) {
                return false;
            }
            const double d = std::bit_cast<double>(read64(p_));
            p_ += 8;
            if (!std::isfinite(d)) {
                return false;
            }
            *slot = make_float(heap_, d);
            return true;
        }
        case kFloatExt: {
            double d;
            if (left() < kOldFloatBytes || !parse_old_float(p_, &d)) {
                return false;
            }
            p_ += kOldFloatBytes;
            *slot = make_float(heap_, d);
            return true;
        }
        case kAtomExt:
        case kSmallAtomExt:
        case kAtomUtf8Ext:
        case kSmallAtomUtf8Ext:
            return atom(tag, slot);
        case kSmallTupleExt:
        case kLargeTupleExt: {
            const size_t width = tag == kSmallTupleExt ? 1 : 4;
            if (left() < width) {
                return false;
            }
            n = width == 1 ? *p_ : read32(p_);
            p_ += width;
            if (!expect(n)) {
                return false;
            }
            Term* t = heap_.alloc(1 + n);
            *t = Term{make_header(Kind::tuple, n)};
            *slot = make_boxed(t);
            push_slots(t + 1, n);
            return true;
        }
        case kNilExt:
            *slot = kNil;
            return true;
        case kStringExt: {
            if (left() < 2 || left() - 2 < read16(p_)) {
                return false;
            }
            n = read16(p_);
            *slot = make_string(heap_, reinterpret_cast<const char*>(p_ + 2), n);
            p_ += 2 + n;
            *budget -= static_cast<int64_t>(n / 8);
            return true;
        }
        case kListExt: {
            if (left() < 4) {
                return false;
            }
            n = read32(p_);
            p_ += 4;
            if (!expect(n + 1)) {
                return false;
            }
            if (n == 0) {
                push_slots(slot, 1);  // only the tail, which may be another such list: run() counts it
                return true;
            }
            Term* cells = heap_.alloc(n * kConsWords);
            for (uint64_t i = 0; i + 1 < n; i++) {
                cells[2 * i + 1] = make_cons(cells + 2 * (i + 1));
            }
            *slot = make_cons(cells);
            frames_.push_back(
                Frame{Frame::Kind::list, cells, nullptr, n + 1, nullptr, 0, nullptr});
            return true;
        }
        case kBinaryExt:
            if (left() < 4 || left() - 4 < read32(p_)) {
                return false;
            }
            n = read32(p_);
            *slot = make_binary(heap_, p_ + 4, n);
            p_ += 4 + n;
            *budget -= static_cast<int64_t>(n / 64);
            return true;
        case kBitBinaryExt:
            return bit_binary(slot, budget);
        case kMapExt:
            return map(slot);
        case kRecordExt:
            return record(slot);
        case kPidExt:
        case kNewPidExt:
            return pid(tag, slot);
        case kPortExt:
        case kNewPortExt:
        case kV4PortExt:
            return port(tag, slot);
        case kReferenceExt:
        case kNewReferenceExt:
        case kNewerReferenceExt:
            return reference(tag, slot);
        case kNewFunExt:
            return fun(slot);
        case kExportExt:
            return export_fun(slot);
        default:
            return false;
    }
}

bool Decoder::big(uint8_t tag, Term* slot) {
    const size_t width = tag == kSmallBigExt ? 1 : 4;
    if (left() < width + 1) {
        return false;
    }
    uint64_t n = width == 1 ? *p_ : read32(p_);
    p_ += width;
    const bool negative = *p_++ != 0;
    if (n > left()) {
        return false;
    }
    const uint8_t* digits = p_;
    p_ += n;
    while (n != 0 && digits[n - 1] == 0) {
        n--;
    }
    if (n <= 8) {
        uint64_t v = 0;
        std::memcpy(&v, digits, n);
        if (!negative) {
            *slot = make_unsigned(heap_, v);
            return true;
        }
        if (v <= uint64_t{1} << 63) {
            *slot = make_integer(heap_, static_cast<int64_t>(~v + 1));
            return true;
        }
    }
    *slot = bignum::from_magnitude(heap_, negative, digits, n);
    return is_value(*slot);
}

bool Decoder::atom(uint8_t tag, Term* slot) {
    const size_t width = tag == kAtomExt || tag == kAtomUtf8Ext ? 2 : 1;
    if (left() < width) {
        return false;
    }
    const size_t n = width == 1 ? *p_ : read16(p_);
    p_ += width;
    if (n > left()) {
        return false;
    }
    const std::string_view text(reinterpret_cast<const char*>(p_), n);
    p_ += n;
    if (tag == kAtomUtf8Ext || tag == kSmallAtomUtf8Ext) {
        if (!atom_table::is_valid(text)) {
            return false;
        }
        *slot = safe_ ? atom_table::find(text) : atom_table::intern(text);
    } else {
        if (n > kMaxAtomChars) {
            return false;
        }
        if (!safe_) {
            *slot = atom_table::intern_latin1(text);
        } else {
            char utf8[2 * kMaxAtomChars];
            *slot = atom_table::find({utf8, utf8_of_latin1(text, utf8)});
        }
    }
    return is_value(*slot);
}

// Reads an atom where the format demands one.
bool Decoder::tagged_atom(Term* slot) {
    if (left() == 0) {
        return false;
    }
    const uint8_t tag = *p_++;
    return (tag == kAtomExt || tag == kSmallAtomExt || tag == kAtomUtf8Ext ||
            tag == kSmallAtomUtf8Ext) &&
           atom(tag, slot);
}

// Reads a small integer, in any of its forms, where the format demands one.
bool Decoder::tagged_small(int64_t* v) {
    if (left() == 0) {
        return false;
    }
    const uint8_t tag = *p_;
    Term t;
    int64_t budget = 1;
    if ((tag != kSmallIntegerExt && tag != kIntegerExt && tag != kSmallBigExt &&
         tag != kLargeBigExt) ||
        !value(&t, &budget) || !is_small(t)) {
        return false;
    }
    *v = small_value(t);
    return true;
}

bool Decoder::bit_binary(Term* slot, int64_t* budget) {
    if (left() < 5 || left() - 5 < read32(p_)) {
        return false;
    }
    const uint64_t n = read32(p_);
    const unsigned last_bits = p_[4];
    p_ += 5;
    if (last_bits > 8 || (n == 0) != (last_bits == 0) || (n == 0 && by_release::refuses_no_bits())) {
        return false;
    }
    const uint64_t bits = n == 0 ? 0 : (n - 1) * 8 + last_bits;
    uint8_t* bytes;
    *slot = new_bits(heap_, bits, &bytes);
    std::memcpy(bytes, p_, n);
    if (last_bits % 8 != 0) {
        bytes[n - 1] &= static_cast<uint8_t>(0xFF00u >> last_bits);
    }
    p_ += n;
    *budget -= static_cast<int64_t>(n / 64);
    return true;
}

bool Decoder::map(Term* slot) {
    if (left() < 4) {
        return false;
    }
    const uint64_t n = read32(p_);
    p_ += 4;
    if (!expect(2 * n)) {
        return false;
    }
    if (n == 0) {
        *slot = map::empty(heap_);
    } else if (n <= kMaxFlatMap) {
        Term* keys = heap_.alloc(1 + n);
        *keys = Term{make_header(Kind::tuple, n)};
        Term* object = heap_.alloc(2 + n);
        object[0] = Term{make_header(Kind::flat_map, 1 + n)};
        object[1] = make_boxed(keys);
        *slot = make_boxed(object);
        frames_.push_back(
            Frame{Frame::Kind::flat_map, keys + 1, object + 2, 2 * n, nullptr, n, nullptr});
    } else {
        std::unique_ptr<Term[]> scratch(new Term[2 * n]);
        Term* keys = scratch.get();
        frames_.push_back(
            Frame{Frame::Kind::large_map, keys, keys + n, 2 * n, slot, n, std::move(scratch)});
    }
    return true;
}

bool Decoder::record(Term* slot) {
    if (!by_release::has_native_records() || left() < 5) {
        return false;
    }
    const uint64_t n = read32(p_);
    const uint8_t flags = p_[4];
    p_ += 5;
    Term module = kNonValue;
    Term name = kNonValue;
    if (flags > 1 || !tagged_atom(&module) || !tagged_atom(&name) || !expect(2 * n)) {
        return false;
    }
    std::unique_ptr<Term[]> fields(new Term[n]);
    for (uint64_t i = 0; i < n; i++) {
        expected_--;
        if (!tagged_atom(&fields[i])) {
            return false;
        }
    }
    if (native_record::any_twice(fields.get(), n)) {
        return false;
    }
    // Records of one type often come together: they share the definition.
    if (!is_value(definition_) ||
        !native_record::is_definition(definition_, module, name, flags == 1, fields.get(), n)) {
        definition_ =
            native_record::make_definition(heap_, module, name, flags == 1, fields.get(), n);
    }
    *slot = native_record::make(heap_, definition_, n);
    push_slots(native_record::values(*slot), n);
    return true;
}

bool Decoder::creation(bool is_old, uint32_t* out) {
    const size_t width = is_old ? 1 : 4;
    if (left() < width) {
        return false;
    }
    *out = is_old ? *p_ : read32(p_);
    p_ += width;
    return !is_old || *out <= kMaxOldCreation;
}

bool Decoder::pid(uint8_t tag, Term* slot) {
    Term node;
    uint32_t made;
    if (!tagged_atom(&node) || left() < 8) {
        return false;
    }
    const uint32_t number = read32(p_);
    const uint32_t serial = read32(p_ + 4);
    p_ += 8;
    if (!creation(tag == kPidExt, &made)) {
        return false;
    }
    if (is_this_node(node, made)) {
        if (number > kMaxLocalPidNumber || serial > kMaxLocalPidSerial) {
            return false;
        }
        *slot = make_local_pid(number | static_cast<uint64_t>(serial) << 28);
        return true;
    }
    *slot = put_external_pid(heap_, {node, made}, number, serial);
    return true;
}

bool Decoder::port(uint8_t tag, Term* slot) {
    Term node;
    uint32_t made;
    const size_t width = tag == kV4PortExt ? 8 : 4;
    if (!tagged_atom(&node) || left() < width) {
        return false;
    }
    const uint64_t number = width == 8 ? read64(p_) : read32(p_);
    p_ += width;
    if (!creation(tag == kPortExt, &made)) {
        return false;
    }
    if (is_this_node(node, made)) {
        *slot = make_local_port(number);
        return number <= kMaxLocalPort;
    }
    *slot = put_external_port(heap_, {node, made}, number);
    return true;
}

bool Decoder::reference(uint8_t tag, Term* slot) {
    size_t n = 1;
    if (tag != kReferenceExt) {
        if (left() < 2) {
            return false;
        }
        n = read16(p_);
        p_ += 2;
    }
    Term node;
    uint32_t made = 0;
    if (n > kMaxRefWords || !tagged_atom(&node)) {
        return false;
    }
    // The old form has the number before the creation.
    if (tag != kReferenceExt && !creation(tag == kNewReferenceExt, &made)) {
        return false;
    }
    if (left() < 4 * n) {
        return false;
    }
    uint32_t words[kMaxRefWords] = {};
    for (size_t i = 0; i < n; i++, p_ += 4) {
        words[i] = read32(p_);
    }
    if (tag == kReferenceExt && !creation(true, &made)) {
        return false;
    }
    const bool is_local = is_this_node(node, made);
    if (words[0] > kMaxRefWord0 && (is_local || tag != kNewerReferenceExt)) {
        return false;
    }
    if (is_local) {
        if (n > kMaxLocalRefWords) {
            return false;
        }
        *slot = told_references::make(heap_, {words[0] | static_cast<uint64_t>(words[1]) << 32, words[2]});
        return true;
    }
    *slot = put_external_ref(heap_, {node, made}, {words, n});
    return true;
}

bool Decoder::fun(Term* slot) {
    // size (not needed) | arity | uniq | index | number of free variables
    constexpr size_t kFixed = 4 + 1 + 16 + 4 + 4;
    if (left() < kFixed) {
        return false;
    }
    const uint32_t arity = p_[4];
    uint8_t uniq[16];
    std::memcpy(uniq, p_ + 5, 16);
    const uint32_t index = read32(p_ + 21);
    const uint32_t num_free = read32(p_ + 25);
    p_ += kFixed;
    Term module;
    Term creator;
    int64_t old_index;
    int64_t old_uniq;
    if (!tagged_atom(&module) || !tagged_small(&old_index) || !tagged_small(&old_uniq) ||
        left() == 0 || (*p_ != kPidExt && *p_ != kNewPidExt)) {
        return false;
    }
    const uint8_t tag = *p_++;
    if (!pid(tag, &creator) || num_free > kMaxFreeVariables || !expect(num_free)) {
        return false;
    }
    FunEntry* const entry = fun_table::get_from_outside(
        module, index, static_cast<uint32_t>(old_uniq), uniq, arity, num_free);
    if (entry == nullptr) {
        return false;
    }
    Term* object = heap_.alloc(kFunFixedWords + num_free);
    object[0] = Term{make_header(Kind::fun, 2 + num_free)};
    object[1] = Term{reinterpret_cast<Word>(entry)};
    object[2] = creator;
    *slot = make_boxed(object);
    push_slots(object + kFunFixedWords, num_free);
    return true;
}

bool Decoder::export_fun(Term* slot) {
    Term module;
    Term function;
    int64_t arity;
    if (!tagged_atom(&module) || !tagged_atom(&function) || !tagged_small(&arity) || arity < 0) {
        return false;
    }
    Export* entry = nullptr;
    if (arity > UINT32_MAX) {
        return false;
    }
    if (safe_) {
        entry = export_table::find(module, function, static_cast<uint32_t>(arity));
        if (entry == nullptr || !export_table::is_loaded(entry, code_index::active())) {
            return false;
        }
    } else {
        entry = export_table::get(module, function, static_cast<uint32_t>(arity));
    }
    Term* object = heap_.alloc(2);
    object[0] = Term{make_header(Kind::export_fun, 1)};
    object[1] = Term{reinterpret_cast<Word>(entry)};
    *slot = make_boxed(object);
    return true;
}

Term decode(Heap& h, const uint8_t* bytes, size_t size, const DecodeOptions& options,
            size_t* used) {
    Decoder decoder(h, options);
    if (!decoder.start(bytes, size)) {
        return kNonValue;
    }
    int64_t budget;
    Decoder::Status status;
    do {
        budget = INT64_MAX;
        status = decoder.run(&budget);
    } while (status == Decoder::Status::more);
    if (status == Decoder::Status::malformed) {
        return kNonValue;
    }
    *used = decoder.used();
    return decoder.result();
}

}  // namespace minivm::external
