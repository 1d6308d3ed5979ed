// The native functions of module unicode.
#include "vm/bif/bif.hpp"
#include "vm/bif/stdlib_error.hpp"
#include "vm/process/continuation.hpp"
#include "vm/semantics/binary.hpp"
#include "vm/term/binary.hpp"
#include "vm/util/utf8.hpp"

#include <algorithm>
#include <cstring>
#include <memory>
#include <vector>

namespace minivm {

namespace {

constexpr int64_t kCharsPerReduction = 100;
constexpr size_t kMaxUtf8 = 4;

enum class Utf8 : uint8_t { ok, incomplete, bad };

// Classifies n > 0 bytes as OTP does. Fewer bytes than the first one announces are incomplete even if no
// character begins with them, as long as the others are continuation bytes.
Utf8 analyze(const uint8_t* p, size_t n, uint32_t* c, unsigned* length) {
    const uint8_t lead = p[0];
    const unsigned announced = lead < 0x80             ? 1
                               : (lead & 0xE0) == 0xC0 ? 2
                               : (lead & 0xF0) == 0xE0 ? 3
                               : (lead & 0xF8) == 0xF0 ? 4
                                                       : 0;
    *length = announced;
    if (announced == 0) {
        return Utf8::bad;
    }
    if (announced > n) {
        for (size_t i = 1; i < n; i++) {
            if ((p[i] & 0xC0) != 0x80) {
                return Utf8::bad;
            }
        }
        return Utf8::incomplete;
    }
    bool more;
    return utf8_decode(p, n, c, &more) != 0 ? Utf8::ok : Utf8::bad;
}

// Number of bytes below 128 that [p, p + n) begins with.
size_t ascii_run(const uint8_t* p, size_t n) {
    size_t i = 0;
    for (; i + 8 <= n; i += 8) {
        uint64_t v;
        std::memcpy(&v, p + i, 8);
        if ((v & 0x8080808080808080) != 0) {
            break;
        }
    }
    while (i < n && p[i] < 0x80) {
        i++;
    }
    return i;
}

// Whether everything that is left is made of integers and binaries in lists, whatever the integers. It counts how many
// elements it has looked at.
bool is_chardata(Term t, std::vector<Term> rest, int64_t* seen) {
    for (;;) {
        while (is_cons(t)) {
            const Term element = head(t);
            t = tail(t);
            ++*seen;
            if (is_cons(element)) {
                rest.push_back(t);
                t = element;
            } else if (!is_integer(element) && !is_binary(element) && !is_nil(element)) {
                return false;
            }
        }
        if (!is_nil(t) && !is_binary(t)) {
            return false;
        }
        if (rest.empty()) {
            return true;
        }
        t = rest.back();
        rest.pop_back();
    }
}

struct ConvertState : MagicObject {
    enum class Status : uint8_t { done, more, error, badarg };

    bool latin1 = false;   // the input
    bool to_list = false;  // else to UTF-8

    // What is left. All terms move: see save().
    Term current = kNil;      // a list or the tail of one
    Term binary = kNonValue;  // being read, from byte `offset` on
    uint64_t offset = 0;
    bool binary_is_head = false;  // `current` is the rest of its list
    std::vector<Term> stack;
    // The beginning of a character that goes on in the next binary.
    uint8_t partial[kMaxUtf8];
    size_t partial_size = 0;

    ByteSink sink;
    std::vector<uint32_t> codes;

    void emit(uint32_t c) {
        if (to_list) {
            codes.push_back(c);
        } else if (c < 0x80) {
            sink.put(static_cast<uint8_t>(c));
        } else {
            uint8_t utf8[kMaxUtf8];
            const unsigned n = utf8_encode(c, utf8);
            std::memcpy(sink.room(n), utf8, n);
        }
    }

    // Takes the ASCII characters with which the list begins, at most `limit` of them; returns how many
    // there were. Most texts are mostly ASCII.
    size_t take_ascii_run(int64_t limit) {
        size_t taken = 0;
        for (;;) {
            uint8_t text[256];
            const size_t room =
                std::min(sizeof(text), static_cast<size_t>(std::max<int64_t>(limit, 0)));
            size_t n = 0;
            for (; n < room && is_cons(current); current = tail(current)) {
                const Term element = head(current);
                if (!is_small(element) || static_cast<Word>(small_value(element)) >= 0x80) {
                    break;
                }
                text[n++] = static_cast<uint8_t>(small_value(element));
            }
            if (to_list) {
                codes.insert(codes.end(), text, text + n);
            } else if (n != 0) {
                std::memcpy(sink.room(n), text, n);
            }
            taken += n;
            limit -= static_cast<int64_t>(n);
            if (n < sizeof(text)) {
                return taken;
            }
        }
    }

    Status run(int64_t* budget) {
        for (;;) {
            if (is_value(binary)) {
                const Status s = read_binary(budget);
                if (s != Status::done) {
                    return s;
                }
                binary = kNonValue;
                continue;
            }
            if (partial_size == 0) {
                *budget -= static_cast<int64_t>(take_ascii_run(*budget - 1));
            }
            if (--*budget <= 0) {
                return Status::more;
            }
            if (is_cons(current)) {
                const Term element = head(current);
                if (is_small(element)) {
                    const Word c = static_cast<Word>(small_value(element));
                    if (partial_size != 0 || (latin1 ? c > 0xFF : !is_unicode(c))) {
                        return Status::error;
                    }
                    emit(static_cast<uint32_t>(c));
                } else if (is_binary(element)) {
                    binary = element;
                    offset = 0;
                    binary_is_head = true;
                } else if (is_cons(element)) {
                    stack.push_back(tail(current));
                    current = element;
                    continue;
                } else if (is_big(element)) {
                    return Status::error;
                } else if (!is_nil(element)) {
                    return Status::badarg;
                }
                current = tail(current);
            } else if (is_binary(current)) {
                binary = current;
                offset = 0;
                binary_is_head = false;
                current = kNil;
            } else if (!is_nil(current)) {
                return Status::badarg;
            } else if (stack.empty()) {
                return Status::done;
            } else {
                current = stack.back();
                stack.pop_back();
            }
        }
    }

    // Reads `binary` from `offset` to its end.
    Status read_binary(int64_t* budget) {
        Bytes bytes;
        get_bytes(binary, &bytes);
        const uint8_t* p = bytes.data + offset;
        const uint8_t* end = bytes.data + bytes.size;
        if (partial_size != 0 && p != end) {
            uint8_t joined[kMaxUtf8];
            std::memcpy(joined, partial, partial_size);
            const size_t n = std::min(kMaxUtf8 - partial_size, static_cast<size_t>(end - p));
            std::memcpy(joined + partial_size, p, n);
            uint32_t c;
            unsigned length;
            switch (analyze(joined, partial_size + n, &c, &length)) {
                case Utf8::ok:
                    emit(c);
                    p += length - partial_size;
                    partial_size = 0;
                    break;
                case Utf8::incomplete:
                    std::memcpy(partial, joined, partial_size + n);
                    partial_size += n;
                    return Status::done;
                case Utf8::bad:
                    return Status::error;
            }
        }
        while (p != end) {
            if (*budget <= 0) {
                offset = static_cast<uint64_t>(p - bytes.data);
                return Status::more;
            }
            size_t n = ascii_run(
                p, std::min<size_t>(static_cast<size_t>(end - p), static_cast<size_t>(*budget)));
            if (n != 0) {
                if (to_list) {
                    codes.insert(codes.end(), p, p + n);
                } else {
                    std::memcpy(sink.room(n), p, n);
                }
                *budget -= static_cast<int64_t>(n);
                p += n;
                continue;
            }
            --*budget;
            if (latin1) {
                emit(*p++);
                continue;
            }
            uint32_t c;
            unsigned length;
            switch (analyze(p, static_cast<size_t>(end - p), &c, &length)) {
                case Utf8::ok:
                    emit(c);
                    p += length;
                    break;
                case Utf8::incomplete:
                    partial_size = static_cast<size_t>(end - p);
                    std::memcpy(partial, p, partial_size);
                    return Status::done;
                case Utf8::bad:
                    offset = static_cast<uint64_t>(p - bytes.data);
                    return Status::error;
            }
        }
        return Status::done;
    }

    Term done_part(Heap& h) {
        if (!to_list) {
            return sink.take(h);
        }
        Term list = kNil;
        if (!codes.empty()) {
            Term* cells = h.alloc(2 * codes.size());
            for (size_t i = 0; i < codes.size(); i++) {
                cells[2 * i] = make_small(codes[i]);
                cells[2 * i + 1] = make_cons(cells + 2 * (i + 1));
            }
            cells[2 * codes.size() - 1] = kNil;
            list = make_cons(cells);
        }
        return list;
    }

    // The input from where it stopped, its nesting kept; first the beginning of a character if
    // there is one.
    Term rest_part(Heap& h) {
        Term rest = current;
        if (is_value(binary)) {
            rest = sub_bitstring(h, binary, 8 * offset, bitstring_bits(binary) - 8 * offset);
            if (binary_is_head) {
                rest = cons(h, rest, current);
            }
        }
        for (size_t i = stack.size(); i != 0; i--) {
            rest = cons(h, rest, stack[i - 1]);
        }
        if (partial_size != 0) {
            rest = cons(h, make_binary(h, partial, partial_size), cons(h, rest, kNil));
        }
        return rest;
    }

    Term save(Heap& h) {
        const size_t n = stack.size();
        Term* p = h.alloc(3 + n);
        p[0] = Term{make_header(Kind::tuple, 2 + n)};
        p[1] = current;
        p[2] = is_value(binary) ? binary : kNil;
        std::copy(stack.begin(), stack.end(), p + 3);
        return make_boxed(p);
    }
    void restore(Term saved) {
        const Term* p = tuple_elements(saved);
        current = p[0];
        binary = is_nil(p[1]) ? kNonValue : p[1];
        stack.assign(p + 2, p + tuple_arity(saved));
    }
};

// `args`: those of the function that raises badarg.
Term convert_slice(Process& p, ConvertState& s, std::unique_ptr<ConvertState> fresh, Term held,
                   Term args) {
    const int64_t given = slice_budget(p, kCharsPerReduction);
    int64_t left = given;
    const auto status = s.run(&left);
    charge_slice(p, given, left, kCharsPerReduction);
    switch (status) {
        case ConvertState::Status::more: {
            static const Export* to = bif_export("minivm", "unicode_continue", 3);
            if (fresh != nullptr) {
                held = hold_state(p, std::move(fresh));
            }
            return yield(p, to, {held, s.save(p.heap), args});
        }
        case ConvertState::Status::done:
            if (s.partial_size == 0) {
                return s.done_part(p.heap);
            } else {
                const Term done = s.done_part(p.heap);
                return make_tuple(p.heap, atoms::incomplete, done,
                                  make_binary(p.heap, s.partial, s.partial_size));
            }
        case ConvertState::Status::error: {
            int64_t seen = 0;
            const bool is_only_wrong = is_chardata(s.current, s.stack, &seen);
            consume(p, seen / kCharsPerReduction);
            if (is_only_wrong) {
                const Term done = s.done_part(p.heap);
                return make_tuple(p.heap, atoms::error, done, s.rest_part(p.heap));
            }
            break;
        }
        case ConvertState::Status::badarg:
            break;
    }
    static const Export* to_list = bif_export("unicode", "characters_to_list", 2);
    static const Export* to_binary = bif_export("unicode", "characters_to_binary", 2);
    stdlib_badarg(p);
    p.exception.bif = (s.to_list ? to_list : to_binary)->bif;
    p.exception.args = args;
    return kNonValue;
}

Term unicode_continue_3(Process& p, const Term* a) {
    ConvertState* state = held_state<ConvertState>(a[0]);
    state->restore(a[1]);
    return convert_slice(p, *state, nullptr, a[0], a[2]);
}

Term convert(Process& p, const Term* a, bool to_list) {
    const bool utf8 = a[1] == atoms::utf8 || a[1] == atoms::unicode;
    if (!utf8 && a[1] != atoms::latin1) {
        // Erlang code converts the other encodings.
        static const Export* to_list_int =
            export_table::get(atoms::unicode, atom_table::intern("characters_to_list_int"), 2);
        static const Export* to_binary_int =
            export_table::get(atoms::unicode, atom_table::intern("characters_to_binary_int"), 2);
        return trap(p, to_list ? to_list_int : to_binary_int, {a[0], a[1]});
    }
    auto state = std::make_unique<ConvertState>();
    state->latin1 = !utf8;
    state->to_list = to_list;
    state->current = a[0];
    if (!to_list && is_cons(a[0]) && is_binary(head(a[0])) && is_nil(tail(a[0]))) {
        state->current = head(a[0]);  // as OTP; the rest after an error shows it
    }
    const Term args = cons(p.heap, a[0], cons(p.heap, a[1], kNil));
    ConvertState& s = *state;
    return convert_slice(p, s, std::move(state), kNonValue, args);
}

Term unicode_characters_to_list_2(Process& p, const Term* a) {
    return convert(p, a, true);
}
Term unicode_characters_to_binary_2(Process& p, const Term* a) {
    return convert(p, a, false);
}

Term unicode_bin_is_7bit_1(Process& p, const Term* a) {
    Bytes bytes;
    if (!get_bytes(a[0], &bytes)) {
        return atoms::false_;
    }
    const size_t n = ascii_run(bytes.data, bytes.size);
    constexpr int64_t kBytesPerReduction = 4096;
    consume(p, static_cast<int64_t>(n) / kBytesPerReduction);
    return make_bool(n == bytes.size);
}

}  // namespace

MINIVM_BIF_TABLE(unicode) = {
    {"unicode", "characters_to_list", 2, unicode_characters_to_list_2, kBifPlain, nullptr},
    {"unicode", "characters_to_binary", 2, unicode_characters_to_binary_2, kBifPlain, nullptr},
    {"unicode", "bin_is_7bit", 1, unicode_bin_is_7bit_1, kBifPlain, nullptr},
    {"minivm", "unicode_continue", 3, unicode_continue_3, kBifHidden, nullptr},
};

}  // namespace minivm
