#include "vm/term/binary.hpp"

#include "vm/term/term_stack.hpp"

#include <algorithm>
#include <cstring>

namespace minivm {

namespace {

// A part of a binary that is byte aligned is copied up to this size, as OTP does: it keeps no large
// binary alive (binary:referenced_byte_size/1 shows the difference).
constexpr uint64_t kMaxCopiedPartBytes = 64;
constexpr size_t kMinAppendableBytes = 256;

RefBinary* ref_binary(Term bin_ref) {
    return reinterpret_cast<RefBinary*>(boxed_ptr(bin_ref)[1].raw);
}

Term put_sub_bits(Heap& h, Term orig, uint64_t first_bit, uint64_t bits) {
    Term* p = h.alloc(kSubBitsWords);
    p[0] = Term{make_header(Kind::sub_bits, kSubBitsWords - 1)};
    p[1] = orig;
    p[2] = Term{first_bit};
    p[3] = Term{bits};
    return make_boxed(p);
}

}  // namespace

Term new_bits(Heap& h, uint64_t bits, uint8_t** bytes) {
    const uint64_t size = (bits >> 3) + ((bits & 7) != 0);
    if (size <= kMaxHeapBitsBytes) {
        const size_t words = 2 + ((size + 7) >> 3);
        Term* p = h.alloc(words);
        p[words - 1] = Term{0};
        p[0] = Term{make_header(Kind::heap_bits, words - 1)};
        p[1] = Term{bits};
        *bytes = reinterpret_cast<uint8_t*>(p + 2);
        return make_boxed(p);
    }
    RefBinary* b = RefBinary::create(size);
    *bytes = b->data();
    return wrap_ref_binary(h, b, bits);
}

Term wrap_ref_binary(Heap& h, RefBinary* b, uint64_t bits) {
    return put_sub_bits(h, make_bin_ref(h, b), 0, bits);
}

Term sub_bitstring(Heap& h, Term bitstring, uint64_t first_bit, uint64_t bits) {
    MINIVM_ASSERT(first_bit + bits <= bitstring_bits(bitstring));
    const Term* p = boxed_ptr(bitstring);
    if (header_kind(p->raw) == Kind::heap_bits) {
        return part_of_storage(h, bitstring, first_bit, bits);
    }
    return part_of_storage(h, p[1], p[2].raw + first_bit, bits);
}

Term part_of_storage(Heap& h, Term orig, uint64_t first_bit, uint64_t bits) {
    if (((first_bit | bits) & 7) == 0 && bits <= kMaxCopiedPartBytes * 8) {
        return make_binary(h, storage_bytes(orig) + (first_bit >> 3), bits >> 3);
    }
    return put_sub_bits(h, orig, first_bit, bits);
}

// ---- bits --------------------------------------------------------------------------------------

void copy_bits(const uint8_t* from, uint64_t from_bit, uint8_t* to, uint64_t to_bit, uint64_t n) {
    if (n == 0) {
        return;
    }
    from += from_bit >> 3;
    to += to_bit >> 3;
    unsigned s = from_bit & 7;
    const unsigned d = to_bit & 7;
    if (d != 0) {
        const unsigned k = static_cast<unsigned>(std::min<uint64_t>(n, 8 - d));
        const unsigned bits = static_cast<unsigned>(load_bits(from, s, k));
        const unsigned shift = 8 - d - k;
        const unsigned mask = ((1u << k) - 1) << shift;
        *to = static_cast<uint8_t>((*to & ~mask) | (bits << shift));
        n -= k;
        if (n == 0) {
            return;
        }
        to++;
        s += k;
        from += s >> 3;
        s &= 7;
    }
    const uint64_t whole = n >> 3;
    const unsigned rest = n & 7;
    if (s == 0) {
        std::memcpy(to, from, whole);
        from += whole;
        to += whole;
    } else {
        uint64_t left = whole;
        for (; left >= 8; left -= 8, from += 8, to += 8) {
            uint64_t w;
            std::memcpy(&w, from, 8);
            w = (__builtin_bswap64(w) << s) | (from[8] >> (8 - s));
            w = __builtin_bswap64(w);
            std::memcpy(to, &w, 8);
        }
        for (; left != 0; left--, from++, to++) {
            *to = static_cast<uint8_t>((from[0] << s) | (from[1] >> (8 - s)));
        }
    }
    if (rest != 0) {
        const unsigned bits = static_cast<unsigned>(load_bits(from, s, rest));
        const unsigned mask = 0xFF00u >> rest & 0xFF;
        *to = static_cast<uint8_t>((*to & ~mask) | (bits << (8 - rest)));
    }
}

int compare_bits(const BitView& a, const BitView& b) {
    uint64_t n = std::min(a.size, b.size);
    uint64_t done = 0;
    if (a.byte_aligned() && b.byte_aligned()) {
        const int c = n < 8 ? 0 : std::memcmp(a.first_byte(), b.first_byte(), n >> 3);
        if (c != 0) {
            return c;
        }
        done = n & ~uint64_t{7};
    }
    while (done < n) {
        const unsigned k = static_cast<unsigned>(std::min<uint64_t>(n - done, 56));
        const uint64_t x = load_bits(a.bytes, a.offset + done, k);
        const uint64_t y = load_bits(b.bytes, b.offset + done, k);
        if (x != y) {
            return x < y ? -1 : 1;
        }
        done += k;
    }
    return a.size == b.size ? 0 : a.size < b.size ? -1 : 1;
}

// ---- appending ---------------------------------------------------------------------------------

Term append_bits(Heap& h, Term bitstring, uint64_t extra, uint8_t** bytes, uint64_t* first_bit) {
    const BitView old = bit_view(bitstring);
    const uint64_t size = old.size + extra;
    Term* p = boxed_ptr(bitstring);
    if (extra == 0 && old.size != 0) {
        *bytes = const_cast<uint8_t*>(old.bytes);
        *first_bit = old.offset + old.size;
        return bitstring;
    }
    if (header_kind(p->raw) == Kind::sub_bits && kind_of(p[1]) == Kind::bin_ref) {
        const Term orig = p[1];
        RefBinary* b = ref_binary(orig);
        const uint64_t first = p[2].raw;
        uint64_t end = first + old.size;
        // acquire: pairs with the release of the last other owner, so that its reads are over
        // before bytes are moved or written.
        const bool sole = b->refs.load(std::memory_order_acquire) == 1 && !is_literal(orig);
        // Several owners must not write one byte, even if each keeps the bits of the others.
        const bool may_write = sole || (end & 7) == 0;
        // relaxed: only a hint, the exchange below decides.
        if (may_write && b->append_end.load(std::memory_order_relaxed) == end) {
            const uint64_t needed = (end + extra + 7) >> 3;
            if (needed > b->size_bytes && sole) {
                const size_t before = b->size_bytes;
                b = RefBinary::reallocate(b, needed * 2);
                boxed_ptr(orig)[1] = Term{reinterpret_cast<Word>(b)};
                h.off_heap_bytes += b->size_bytes - before;
            }
            // relaxed: whoever moves the mark owns the bits behind it; they reach another process
            // by a message only, which orders them. A sole owner has no rival.
            bool is_ours = false;
            if (needed <= b->size_bytes) {
                // relaxed: see above.
                is_ours = sole || b->append_end.compare_exchange_strong(end, end + extra,
                                                                        std::memory_order_relaxed);
                if (sole) {
                    // relaxed: see above.
                    b->append_end.store(end + extra, std::memory_order_relaxed);
                }
            }
            if (is_ours) {
                *bytes = b->data();
                *first_bit = first + old.size;
                return put_sub_bits(h, orig, first, size);
            }
        }
    }
    const uint64_t needed = (size + 7) >> 3;
    RefBinary* b = RefBinary::create(std::max<uint64_t>(needed * 2, kMinAppendableBytes));
    // relaxed: nobody else knows the binary yet.
    b->append_end.store(size, std::memory_order_relaxed);
    copy_bits(old.bytes, old.offset, b->data(), 0, old.size);
    *bytes = b->data();
    *first_bit = old.size;
    return put_sub_bits(h, make_bin_ref(h, b), 0, size);
}

Term new_appendable(Heap& h, uint64_t capacity_bytes) {
    RefBinary* b = RefBinary::create(capacity_bytes);
    // relaxed: nobody else knows the binary yet.
    b->append_end.store(0, std::memory_order_relaxed);
    return put_sub_bits(h, make_bin_ref(h, b), 0, 0);
}

// ---- binaries and iolists as bytes -------------------------------------------------------------

bool get_bytes(Term t, Bytes* out) {
    if (!is_bitstring(t)) {
        return false;
    }
    const BitView v = bit_view(t);
    if ((v.size & 7) != 0) {
        return false;
    }
    out->size = v.size >> 3;
    if (v.byte_aligned()) {
        out->copy.reset();
        out->data = v.first_byte();
        return true;
    }
    out->copy.reset(new uint8_t[out->size]);
    copy_bits(v.bytes, v.offset, out->copy.get(), 0, v.size);
    out->data = out->copy.get();
    return true;
}

namespace {

// Calls on_byte(uint8_t) and on_binary(Term) for the leaves of an iolist, left to right; false as
// soon as it meets a term that does not belong in one.
template <typename OnByte, typename OnBinary>
bool walk_iodata(Term t, OnByte on_byte, OnBinary on_binary) {
    if (is_binary(t)) {
        on_binary(t);
        return true;
    }
    TermStack rest;
    for (;;) {
        // t is a list or the tail of one.
        while (is_cons(t)) {
            const Term element = head(t);
            t = tail(t);
            if (is_small(element)) {
                const int64_t v = small_value(element);
                if (v < 0 || v > 255) {
                    return false;
                }
                on_byte(static_cast<uint8_t>(v));
            } else if (is_cons(element)) {
                rest.push(t);
                t = element;
            } else if (is_binary(element)) {
                on_binary(element);
            } else if (!is_nil(element)) {
                return false;
            }
        }
        if (is_binary(t)) {
            on_binary(t);
        } else if (!is_nil(t)) {
            return false;
        }
        if (rest.empty()) {
            return true;
        }
        t = rest.pop();
    }
}

}  // namespace

bool iolist_to_bytes(Term iodata, std::string* out) {
    return walk_iodata(
        iodata, [out](uint8_t byte) { out->push_back(static_cast<char>(byte)); },
        [out](Term binary) {
            const BitView v = bit_view(binary);
            if (v.byte_aligned()) {
                out->append(reinterpret_cast<const char*>(v.first_byte()), v.size >> 3);
                return;
            }
            const size_t at = out->size();
            out->resize(at + (v.size >> 3));
            copy_bits(v.bytes, v.offset, reinterpret_cast<uint8_t*>(out->data()) + at, 0, v.size);
        });
}

bool iolist_size(Term iodata, uint64_t* bytes) {
    uint64_t size = 0;
    const bool ok = walk_iodata(
        iodata, [&size](uint8_t) { size++; },
        [&size](Term binary) { size += bitstring_bits(binary) >> 3; });
    *bytes = size;
    return ok;
}

}  // namespace minivm
