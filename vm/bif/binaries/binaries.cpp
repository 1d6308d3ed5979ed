// Sizes, parts, conversions to and from lists, and the module binary but for its searching
// functions.
#include "vm/bif/bif.hpp"
#include "vm/bif/stdlib_error.hpp"
#include "vm/process/continuation.hpp"
#include "vm/semantics/binary.hpp"
#include "vm/term/bignum.hpp"
#include "vm/term/binary.hpp"
#include "vm/util/otp_release.hpp"

#include <algorithm>
#include <memory>
#include <vector>

namespace minivm {

namespace {

constexpr int64_t kElementsPerReduction = 40;
constexpr uint64_t kBytesPerElement = 64;  // copying so many bytes costs as much as an element of a list
// Larger than any memory: refused with system_limit instead of ending the VM.
constexpr uint64_t kMaxBytes = uint64_t{1} << 37;

// ---- sizes and parts ---------------------------------------------------------------------------

// Bits of a bit string, or those that are left in a match context: from OTP 26 on compilers ask for the
// size of a tail that way instead of building it.
bool bits_left(Term t, uint64_t* bits) {
    if (is_bitstring(t)) {
        *bits = bitstring_bits(t);
        return true;
    }
    if (is_match_context(t)) {
        *bits = match_context(t)->left();
        return true;
    }
    return false;
}
Term erlang_byte_size_1(Process& p, const Term* a) {
    uint64_t bits;
    return bits_left(a[0], &bits) ? make_small(static_cast<int64_t>((bits + 7) >> 3)) : badarg(p);
}
Term erlang_bit_size_1(Process& p, const Term* a) {
    uint64_t bits;
    return bits_left(a[0], &bits) ? make_small(static_cast<int64_t>(bits)) : badarg(p);
}

bool has_parts(Term t) {
    return is_bitstring(t) && (bitstring_bits(t) % 8 == 0 || by_release::has_parts_of_bit_strings());
}

// Start and length in bytes; a negative length ends at start. The non-value: out of range.
Term part(Process& p, Term binary, Term start, Term length) {
    int64_t first;
    int64_t n;
    if (!has_parts(binary) || !get_int64(start, &first) || !get_int64(length, &n) ||
        !byte_range(bitstring_bits(binary) >> 3, &first, &n)) {
        return kNonValue;
    }
    return sub_bitstring(p.heap, binary, 8 * static_cast<uint64_t>(first),
                         8 * static_cast<uint64_t>(n));
}
Term part(Process& p, const Term* a) {
    return is_tuple_of(a[1], 2) ? part(p, a[0], tuple_element(a[1], 0), tuple_element(a[1], 1))
                                : kNonValue;
}
Term erlang_binary_part_2(Process& p, const Term* a) {
    const Term t = part(p, a);
    return is_value(t) ? t : badarg(p);
}
Term erlang_binary_part_3(Process& p, const Term* a) {
    const Term t = part(p, a[0], a[1], a[2]);
    return is_value(t) ? t : badarg(p);
}
Term binary_part_2(Process& p, const Term* a) {
    const Term t = part(p, a);
    return is_value(t) ? t : stdlib_badarg(p);
}
Term binary_part_3(Process& p, const Term* a) {
    const Term t = part(p, a[0], a[1], a[2]);
    return is_value(t) ? t : stdlib_badarg(p);
}

Term erlang_split_binary_2(Process& p, const Term* a) {
    if (!is_bitstring(a[0]) || !is_small(a[1]) || small_value(a[1]) < 0) {
        return badarg(p);
    }
    const uint64_t bits = bitstring_bits(a[0]);
    const uint64_t at = static_cast<uint64_t>(small_value(a[1]));
    if (at > bits >> 3) {
        return badarg(p);
    }
    const Term first = sub_bitstring(p.heap, a[0], 0, 8 * at);
    return make_tuple(p.heap, first, sub_bitstring(p.heap, a[0], 8 * at, bits - 8 * at));
}

Term byte_at(Process& p, Term binary, uint64_t i) {
    if (!is_binary(binary) || i >= bitstring_bits(binary) >> 3) {
        return stdlib_badarg(p);
    }
    const BitView v = bit_view(binary);
    return make_small(static_cast<int64_t>(load_bits(v.bytes, v.offset + 8 * i, 8)));
}
Term binary_at_2(Process& p, const Term* a) {
    if (!is_small(a[1]) || small_value(a[1]) < 0) {
        return stdlib_badarg(p);
    }
    return byte_at(p, a[0], static_cast<uint64_t>(small_value(a[1])));
}
Term binary_first_1(Process& p, const Term* a) {
    return byte_at(p, a[0], 0);
}
Term binary_last_1(Process& p, const Term* a) {
    return byte_at(p, a[0], is_bitstring(a[0]) ? (bitstring_bits(a[0]) >> 3) - 1 : 0);
}

Term binary_referenced_byte_size_1(Process& p, const Term* a) {
    if (!is_bitstring(a[0])) {
        return stdlib_badarg(p);
    }
    Term orig = a[0];
    if (kind_of(orig) == Kind::sub_bits) {
        orig = boxed_ptr(orig)[1];
    }
    // Up to OTP 26 the last bits are a part of a binary that has room for them.
    const Word started = by_release::has_one_kind_of_bit_string() ? 0 : 7;
    const Word size = kind_of(orig) == Kind::heap_bits
                          ? (boxed_ptr(orig)[1].raw + started) >> 3
                          : reinterpret_cast<RefBinary*>(boxed_ptr(orig)[1].raw)->size_bytes;
    return make_small(static_cast<int64_t>(size));
}

// ---- to lists ----------------------------------------------------------------------------------

// Conses the bytes [first, last) of `bits` on `acc`, from the end, in slices.
Term list_slice(Process& p, Term bits, uint64_t first, uint64_t last, Term acc) {
    const int64_t given = slice_budget(p, kElementsPerReduction);
    const uint64_t n = std::min<uint64_t>(last - first, static_cast<uint64_t>(given));
    const BitView v = bit_view(bits);
    if (n != 0) {
        Term* cells = p.heap.alloc(2 * n);
        uint64_t at = last - n;
        const bool aligned = v.byte_aligned();
        const uint8_t* bytes = v.first_byte();
        for (uint64_t i = 0; i < n; i++, at++) {
            const uint64_t byte = aligned ? bytes[at] : load_bits(v.bytes, v.offset + 8 * at, 8);
            cells[2 * i] = make_small(static_cast<int64_t>(byte));
            cells[2 * i + 1] = make_cons(cells + 2 * (i + 1));
        }
        cells[2 * n - 1] = acc;
        acc = make_cons(cells);
    }
    consume(p, static_cast<int64_t>(n) / kElementsPerReduction + 1);
    last -= n;
    if (last == first) {
        return acc;
    }
    static const Export* to = bif_export("erts_internal", "binary_to_list_continue", 1);
    const Term state = make_tuple(p.heap, bits, make_small(static_cast<int64_t>(first)),
                                  make_small(static_cast<int64_t>(last)), acc);
    return yield(p, to, {state});
}
Term binary_to_list_continue_1(Process& p, const Term* a) {
    const Term* const t = tuple_elements(a[0]);
    return list_slice(p, t[0], static_cast<uint64_t>(small_value(t[1])),
                      static_cast<uint64_t>(small_value(t[2])), t[3]);
}

Term erlang_binary_to_list_1(Process& p, const Term* a) {
    return is_binary(a[0]) ? list_slice(p, a[0], 0, bitstring_bits(a[0]) >> 3, kNil) : badarg(p);
}
Term erlang_binary_to_list_3(Process& p, const Term* a) {
    if (!has_parts(a[0]) || !is_small(a[1]) || !is_small(a[2])) {
        return badarg(p);
    }
    const int64_t size = static_cast<int64_t>(bitstring_bits(a[0]) >> 3);
    const int64_t first = small_value(a[1]);  // from 1
    const int64_t last = small_value(a[2]);
    if (first < 1 || first > size || last < 1 || last > size || last < first) {
        return badarg(p);
    }
    return list_slice(p, a[0], static_cast<uint64_t>(first - 1), static_cast<uint64_t>(last), kNil);
}
Term erlang_bitstring_to_list_1(Process& p, const Term* a) {
    if (!is_bitstring(a[0])) {
        return badarg(p);
    }
    const uint64_t bits = bitstring_bits(a[0]);
    const uint64_t whole = bits >> 3;
    Term acc = kNil;
    if ((bits & 7) != 0) {
        acc = cons(p.heap, sub_bitstring(p.heap, a[0], 8 * whole, bits & 7), kNil);
    }
    return list_slice(p, a[0], 0, whole, acc);
}

// ---- from lists --------------------------------------------------------------------------------

// What an iolist is turned into.
enum class Into : uint8_t { binary, size, iovec };

struct FlattenState : MagicObject {
    explicit FlattenState(Into i) : into(i) {}

    static constexpr uint64_t kLargePartBytes = 256;  // of an iovec

    enum class Status : uint8_t { done, more, bad };

    // Walks until *budget is used up. Terms in `stack` and `current` move: see save().
    Status run(Heap& h, int64_t* budget) {
        for (;;) {
            // current is a list or the tail of one.
            while (is_cons(current)) {
                if (--*budget <= 0) {
                    return Status::more;
                }
                const Term element = head(current);
                current = tail(current);
                if (is_small(element)) {
                    const Word v = static_cast<Word>(small_value(element));
                    if (v > 255) {
                        return Status::bad;
                    }
                    if (into == Into::size) {
                        size++;
                    } else {
                        sink.put(static_cast<uint8_t>(v));
                    }
                } else if (is_cons(element)) {
                    stack.push_back(current);
                    current = element;
                } else if (is_binary(element)) {
                    binary(h, element, budget);
                } else if (!is_nil(element)) {
                    return Status::bad;
                }
            }
            if (is_binary(current)) {
                binary(h, current, budget);
            } else if (!is_nil(current)) {
                return Status::bad;
            }
            if (stack.empty()) {
                return Status::done;
            }
            current = stack.back();
            stack.pop_back();
        }
    }

    void binary(Heap& h, Term t, int64_t* budget) {
        const BitView v = bit_view(t);
        const uint64_t n = v.size >> 3;
        if (into == Into::size) {
            size += n;
        } else if (into == Into::iovec && n >= kLargePartBytes && v.byte_aligned()) {
            large_part(h, t, n);
        } else if (n != 0) {
            *budget -= static_cast<int64_t>(n / kBytesPerElement);
            copy_bits(v.bytes, v.offset, sink.room(n), 0, v.size);
        }
    }

    // Adds a binary as a part of its own, without a copy. A small part in front of it is first filled up with the
    // binary's first bytes, or with all of them if what remains would be no large part: the parts are those of OTP.
    void large_part(Heap& h, Term t, uint64_t n) {
        const uint64_t collected = sink.size() - flushed;
        uint64_t copied = 0;
        if (collected != 0 && collected < kLargePartBytes) {
            copied = kLargePartBytes - collected;
            if (n - copied < kLargePartBytes) {
                copied = n;
            }
            const BitView v = bit_view(t);
            copy_bits(v.bytes, v.offset, sink.room(copied), 0, copied * 8);
        }
        if (copied != n) {
            flush(h);
            parts = cons(h, copied == 0 ? t : sub_bitstring(h, t, copied * 8, (n - copied) * 8), parts);
        }
    }

    void flush(Heap& h) {
        if (sink.size() != flushed) {
            parts = cons(h, make_binary(h, sink.data() + flushed, sink.size() - flushed), parts);
            flushed = sink.size();
        }
    }

    Term save(Heap& h) {
        const size_t n = stack.size();
        Term* p = h.alloc(3 + n);
        p[0] = Term{make_header(Kind::tuple, 2 + n)};
        p[1] = current;
        p[2] = parts;
        std::copy(stack.begin(), stack.end(), p + 3);
        return make_boxed(p);
    }
    void restore(Term saved) {
        const Term* p = tuple_elements(saved);
        current = p[0];
        parts = p[1];
        stack.assign(p + 2, p + tuple_arity(saved));
    }

    Into into;
    Term current = kNil;
    Term parts = kNil;  // iovec: what is done, last part first
    std::vector<Term> stack;
    ByteSink sink;
    size_t flushed = 0;
    uint64_t size = 0;
};

// `as` and `args`: the function that raises badarg, and its list of arguments; with `fresh` its only argument.
Term flatten_slice(Process& p, FlattenState& state, std::unique_ptr<FlattenState> fresh, Term held,
                   const Export* as, Term args) {
    const int64_t given = slice_budget(p, kElementsPerReduction);
    int64_t left = given;
    const auto status = state.run(p.heap, &left);
    charge_slice(p, given, left, kElementsPerReduction);
    switch (status) {
        case FlattenState::Status::more: {
            static const Export* to = bif_export("erts_internal", "list_to_binary_continue", 1);
            if (fresh != nullptr) {
                held = hold_state(p, std::move(fresh));
                args = cons(p.heap, args, kNil);
            }
            const Term saved = state.save(p.heap);
            const Term all = make_tuple(p.heap, held, saved, as->function, args);
            return yield(p, to, {all});
        }
        case FlattenState::Status::bad:
            if (fresh != nullptr) {
                args = cons(p.heap, args, kNil);
            }
            if (as->module == atoms::erlang) {
                return badarg_as(p, as, args);
            }
            stdlib_badarg(p);
            p.exception.bif = as->bif;
            p.exception.args = args;
            return kNonValue;
        case FlattenState::Status::done:
            break;
    }
    switch (state.into) {
        case Into::binary:
            return state.sink.take(p.heap);
        case Into::size:
            return make_unsigned(p.heap, state.size);
        case Into::iovec: {
            state.flush(p.heap);
            Term list = kNil;
            for (Term t = state.parts; is_cons(t); t = tail(t)) {
                list = cons(p.heap, head(t), list);
            }
            return list;
        }
    }
    return kNonValue;
}

// The function, among those below, whose name is this.
const Export* flattening_function(Term name) {
    static const Export* list_to_bin = bif_export("binary", "list_to_bin", 1);
    return name == list_to_bin->function ? list_to_bin : export_table::get(atoms::erlang, name, 1);
}

Term list_to_binary_continue_1(Process& p, const Term* a) {
    const Term* const t = tuple_elements(a[0]);
    FlattenState* state = held_state<FlattenState>(t[0]);
    state->restore(t[1]);
    return flatten_slice(p, *state, nullptr, t[0], flattening_function(t[2]), t[3]);
}

Term flatten(Process& p, Term iodata, Into into, const Export* as) {
    auto state = std::make_unique<FlattenState>(into);
    state->current = iodata;
    FlattenState& s = *state;
    return flatten_slice(p, s, std::move(state), kNonValue, as, iodata);
}

Term erlang_list_to_binary_1(Process& p, const Term* a) {
    static const Export* self = bif_export("erlang", "list_to_binary", 1);
    return is_list(a[0]) ? flatten(p, a[0], Into::binary, self) : badarg(p);
}
Term binary_list_to_bin_1(Process& p, const Term* a) {
    static const Export* self = bif_export("binary", "list_to_bin", 1);
    return is_list(a[0]) ? flatten(p, a[0], Into::binary, self) : stdlib_badarg(p);
}
Term erlang_iolist_to_binary_1(Process& p, const Term* a) {
    static const Export* self = bif_export("erlang", "iolist_to_binary", 1);
    return is_binary(a[0]) ? a[0] : flatten(p, a[0], Into::binary, self);
}
Term erlang_iolist_size_1(Process& p, const Term* a) {
    static const Export* self = bif_export("erlang", "iolist_size", 1);
    return flatten(p, a[0], Into::size, self);
}
Term erlang_iolist_to_iovec_1(Process& p, const Term* a) {
    static const Export* self = bif_export("erlang", "iolist_to_iovec", 1);
    if (is_binary(a[0])) {
        return bitstring_bits(a[0]) == 0 ? kNil : cons(p.heap, a[0], kNil);
    }
    return flatten(p, a[0], Into::iovec, self);
}

// Elements may be bit strings of any size. Runs in one slice, since it is rare; charges for its work.
Term erlang_list_to_bitstring_1(Process& p, const Term* a) {
    if (!is_list(a[0])) {
        return badarg(p);
    }
    // Twice: sizes, then bits.
    uint8_t* bytes = nullptr;
    Term result = kNonValue;
    uint64_t position = 0;
    for (const bool fill : {false, true}) {
        position = 0;
        std::vector<Term> rest;
        const auto leaf = [&](Term t) {
            const BitView v = bit_view(t);
            if (fill) {
                copy_bits(v.bytes, v.offset, bytes, position, v.size);
            }
            position += v.size;
        };
        Term t = a[0];
        int64_t elements = 0;
        for (;;) {
            for (; is_cons(t); elements++) {
                const Term element = head(t);
                t = tail(t);
                if (is_small(element) && static_cast<Word>(small_value(element)) <= 255) {
                    if (fill) {
                        const uint8_t byte = static_cast<uint8_t>(small_value(element));
                        copy_bits(&byte, 0, bytes, position, 8);
                    }
                    position += 8;
                } else if (is_cons(element)) {
                    rest.push_back(t);
                    t = element;
                } else if (is_bitstring(element)) {
                    leaf(element);
                } else if (!is_nil(element)) {
                    return badarg(p);
                }
            }
            if (is_bitstring(t)) {
                leaf(t);
            } else if (!is_nil(t)) {
                return badarg(p);
            }
            if (rest.empty()) {
                break;
            }
            t = rest.back();
            rest.pop_back();
        }
        consume(p, elements / kElementsPerReduction + 1);
        if (!fill) {
            result = new_bits(p.heap, position, &bytes);
            if ((position & 7) != 0) {
                bytes[position >> 3] = 0;
            }
        }
    }
    consume(p, static_cast<int64_t>((position >> 3) / kBytesPerElement) / kElementsPerReduction);
    return result;
}

// ---- module binary: copies and numbers ---------------------------------------------------------

struct CopyState : MagicObject {
    explicit CopyState(uint64_t size) : target(RefBinary::create(size)) {}
    ~CopyState() override {
        if (target != nullptr) {
            target->release();
        }
    }
    RefBinary* target;
    uint64_t unit = 0;    // bytes of the source
    uint64_t filled = 0;  // bytes: at first one copy of the source
};

Term copy_slice(Process& p, CopyState& state, std::unique_ptr<CopyState> fresh, Term held) {
    constexpr int64_t kPerReduction =
        kElementsPerReduction * static_cast<int64_t>(kBytesPerElement);
    const int64_t given = slice_budget(p, kPerReduction);
    uint64_t left = static_cast<uint64_t>(given);
    uint8_t* to = state.target->data();
    const uint64_t size = state.target->size_bytes;
    while (state.filled < size && left != 0) {
        // Doubles what is filled. A slice may have ended inside one copy.
        const uint64_t from = state.filled % state.unit;
        const uint64_t n = std::min({state.filled - from, size - state.filled, left});
        std::memcpy(to + state.filled, to + from, n);
        state.filled += n;
        left -= n;
    }
    charge_slice(p, given, static_cast<int64_t>(left), kPerReduction);
    if (state.filled < size) {
        static const Export* to_export = bif_export("erlang", "binary_copy_trap", 2);
        if (fresh != nullptr) {
            held = hold_state(p, std::move(fresh));
        }
        return yield(p, to_export, {held, kNil});
    }
    RefBinary* done = state.target;
    state.target = nullptr;
    return wrap_ref_binary(p.heap, done, 8 * size);
}
Term binary_copy_trap_2(Process& p, const Term* a) {
    return copy_slice(p, *held_state<CopyState>(a[0]), nullptr, a[0]);
}

Term copy(Process& p, Term binary, uint64_t times) {
    const BitView v = bit_view(binary);
    const uint64_t n = v.size >> 3;
    uint64_t size;
    if (__builtin_mul_overflow(n, times, &size) || size > kMaxBytes) {
        return stdlib_system_limit(p);
    }
    if (size <= kMaxHeapBitsBytes) {
        uint8_t* to;
        const Term t = new_bits(p.heap, 8 * size, &to);
        for (uint64_t at = 0; at < size; at += n) {
            copy_bits(v.bytes, v.offset, to, 8 * at, v.size);
        }
        return t;
    }
    auto state = std::make_unique<CopyState>(size);
    copy_bits(v.bytes, v.offset, state->target->data(), 0, v.size);
    state->unit = n;
    state->filled = n;
    consume(p, static_cast<int64_t>(n / kBytesPerElement) / kElementsPerReduction);
    CopyState& s = *state;
    return copy_slice(p, s, std::move(state), kNonValue);
}
Term binary_copy_1(Process& p, const Term* a) {
    return is_binary(a[0]) ? copy(p, a[0], 1) : stdlib_badarg(p);
}
Term binary_copy_2(Process& p, const Term* a) {
    if (!is_binary(a[0]) || !is_small(a[1]) || small_value(a[1]) < 0) {
        return stdlib_badarg(p);
    }
    return copy(p, a[0], static_cast<uint64_t>(small_value(a[1])));
}

Term decode_unsigned(Process& p, Term binary, Term endianness) {
    Bytes bytes;
    if (!get_bytes(binary, &bytes) || (endianness != atoms::big && endianness != atoms::little)) {
        return stdlib_badarg(p);
    }
    consume(p, static_cast<int64_t>(bytes.size / kBytesPerElement) / kElementsPerReduction);
    Term v;
    if (endianness == atoms::little) {
        v = bignum::from_magnitude(p.heap, false, bytes.data, bytes.size);
    } else {
        std::unique_ptr<uint8_t[]> reversed(new uint8_t[bytes.size + 1]);
        std::reverse_copy(bytes.data, bytes.data + bytes.size, reversed.get());
        v = bignum::from_magnitude(p.heap, false, reversed.get(), bytes.size);
    }
    return is_value(v) ? v : stdlib_badarg(p);
}
Term binary_decode_unsigned_1(Process& p, const Term* a) {
    return decode_unsigned(p, a[0], atoms::big);
}
Term binary_decode_unsigned_2(Process& p, const Term* a) {
    return decode_unsigned(p, a[0], a[1]);
}

Term encode_unsigned(Process& p, Term v, Term endianness) {
    if (!is_integer(v) || (is_small(v) ? small_value(v) < 0 : big_is_negative(v)) ||
        (endianness != atoms::big && endianness != atoms::little)) {
        return stdlib_badarg(p);
    }
    if (v == make_small(0)) {
        const uint8_t zero = 0;
        return make_binary(p.heap, &zero, 1);
    }
    const size_t n = bignum::magnitude_bytes(v);
    uint8_t* bytes;
    const Term t = new_bits(p.heap, 8 * static_cast<uint64_t>(n), &bytes);
    bignum::copy_magnitude(v, bytes, n);
    if (endianness == atoms::big) {
        std::reverse(bytes, bytes + n);
    }
    consume(p, static_cast<int64_t>(n / kBytesPerElement) / kElementsPerReduction);
    return t;
}
Term binary_encode_unsigned_1(Process& p, const Term* a) {
    return encode_unsigned(p, a[0], atoms::big);
}
Term binary_encode_unsigned_2(Process& p, const Term* a) {
    return encode_unsigned(p, a[0], a[1]);
}

Term longest_common(Process& p, Term list, bool from_end) {
    if (!is_cons(list)) {
        return stdlib_badarg(p);
    }
    Bytes first;
    if (!get_bytes(head(list), &first)) {
        return stdlib_badarg(p);
    }
    size_t common = first.size;
    for (list = tail(list); is_cons(list); list = tail(list)) {
        Bytes next;
        if (!get_bytes(head(list), &next)) {
            return stdlib_badarg(p);
        }
        common = std::min(common, next.size);
        size_t n = 0;
        if (from_end) {
            while (n < common && first.data[first.size - 1 - n] == next.data[next.size - 1 - n]) {
                n++;
            }
        } else {
            while (n < common && first.data[n] == next.data[n]) {
                n++;
            }
        }
        common = n;
        consume(p, 1 + static_cast<int64_t>(n) / kElementsPerReduction);
    }
    return is_nil(list) ? make_unsigned(p.heap, common) : stdlib_badarg(p);
}
Term binary_longest_common_prefix_1(Process& p, const Term* a) {
    return longest_common(p, a[0], false);
}
Term binary_longest_common_suffix_1(Process& p, const Term* a) {
    return longest_common(p, a[0], true);
}

}  // namespace

MINIVM_BIF_TABLE(binaries) = {
    {"erlang", "byte_size", 1, erlang_byte_size_1, kBifGuard, nullptr},
    {"erlang", "bit_size", 1, erlang_bit_size_1, kBifGuard, nullptr},
    {"erlang", "binary_part", 2, erlang_binary_part_2, kBifGuard, nullptr},
    {"erlang", "binary_part", 3, erlang_binary_part_3, kBifGuard, nullptr},
    {"erlang", "split_binary", 2, erlang_split_binary_2, kBifPlain, nullptr},
    {"erlang", "binary_to_list", 1, erlang_binary_to_list_1, kBifPlain, nullptr},
    {"erlang", "binary_to_list", 3, erlang_binary_to_list_3, kBifPlain, nullptr},
    {"erlang", "bitstring_to_list", 1, erlang_bitstring_to_list_1, kBifPlain, nullptr},
    {"erlang", "list_to_binary", 1, erlang_list_to_binary_1, kBifPlain, nullptr},
    {"erlang", "iolist_to_binary", 1, erlang_iolist_to_binary_1, kBifPlain, nullptr},
    {"erlang", "iolist_size", 1, erlang_iolist_size_1, kBifPlain, nullptr},
    {"erlang", "iolist_to_iovec", 1, erlang_iolist_to_iovec_1, kBifPlain, nullptr},
    {"erlang", "list_to_bitstring", 1, erlang_list_to_bitstring_1, kBifPlain, nullptr},
    {"binary", "at", 2, binary_at_2, kBifPlain, nullptr},
    {"binary", "first", 1, binary_first_1, kBifPlain, nullptr},
    {"binary", "last", 1, binary_last_1, kBifPlain, nullptr},
    {"binary", "part", 2, binary_part_2, kBifPlain, nullptr},
    {"binary", "part", 3, binary_part_3, kBifPlain, nullptr},
    {"binary", "copy", 1, binary_copy_1, kBifPlain, nullptr},
    {"binary", "copy", 2, binary_copy_2, kBifPlain, nullptr},
    {"binary", "list_to_bin", 1, binary_list_to_bin_1, kBifPlain, nullptr},
    {"binary", "decode_unsigned", 1, binary_decode_unsigned_1, kBifPlain, nullptr},
    {"binary", "decode_unsigned", 2, binary_decode_unsigned_2, kBifPlain, nullptr},
    {"binary", "encode_unsigned", 1, binary_encode_unsigned_1, kBifPlain, nullptr},
    {"binary", "encode_unsigned", 2, binary_encode_unsigned_2, kBifPlain, nullptr},
    {"binary", "longest_common_prefix", 1, binary_longest_common_prefix_1, kBifPlain, nullptr},
    {"binary", "longest_common_suffix", 1, binary_longest_common_suffix_1, kBifPlain, nullptr},
    {"binary", "referenced_byte_size", 1, binary_referenced_byte_size_1, kBifPlain, nullptr},
    // OTP's names: tracers and process_info/2 show them.
    {"erts_internal", "binary_to_list_continue", 1, binary_to_list_continue_1, kBifHidden, nullptr},
    {"erts_internal", "list_to_binary_continue", 1, list_to_binary_continue_1, kBifHidden, nullptr},
    {"erlang", "binary_copy_trap", 2, binary_copy_trap_2, kBifHidden, nullptr},
};

}  // namespace minivm
