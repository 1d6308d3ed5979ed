// Bit strings: matching and construction.
#pragma once

#include "vm/process/exception.hpp"
#include "vm/semantics/binary.hpp"
#include "vm/semantics/operation.hpp"

namespace minivm::semantics {

template <int kDst, typename A>
MINIVM_ALWAYS_INLINE Next matched(const A& a, Term r) {
    return is_value(r) ? result<kDst>(a, r) : Next::branch;
}
inline const uint8_t* string_at(Word w) {
    return reinterpret_cast<const uint8_t*>(w);
}

MEANING(bs_start_match) {
    const Term r = bs_start_match(a.p, ARG(1));
    if (MINIVM_UNLIKELY(!is_value(r) && !a.has_label())) {
        raise_tagged(a.p, atoms::badmatch, ARG(1));
        return Next::raise;
    }
    return matched<2>(a, r);
}
MEANING(bs_get_integer) { return matched<5>(a, bs_get_integer(a.p, ARG(1), ARG(2), NUMBER(3), FLAGS(4))); }
MEANING(bs_get_float) { return matched<5>(a, bs_get_float(a.p, ARG(1), ARG(2), NUMBER(3), FLAGS(4))); }
MEANING(bs_get_binary) { return matched<5>(a, bs_get_binary(a.p, ARG(1), ARG(2), NUMBER(3))); }
MEANING(bs_skip_bits) { return test(bs_skip_bits(ARG(1), ARG(2), NUMBER(3))); }
MEANING(bs_test_tail) { return test(bs_test_tail(ARG(1), RAW(2))); }
MEANING(bs_test_unit) { return test(bs_test_unit(ARG(1), NUMBER(2))); }
MEANING(bs_match_string) { return test(bs_match_string(ARG(1), RAW(2), string_at(RAW(3)))); }
MEANING(bs_get_tail) { return result<1>(a, bs_get_tail(a.p, ARG(0))); }
MEANING(bs_get_position) { return set<1>(a, bs_get_position(ARG(0))); }
MEANING(bs_set_position) {
    bs_set_position(ARG(0), ARG(1));
    return Next::go_on;
}
#define MATCH_CHAR(name, dst, ...)                          \
    MEANING(name) {                                         \
        const Term r = name(__VA_ARGS__);                   \
        return is_value(r) ? set<dst>(a, r) : Next::branch; \
    }
MATCH_CHAR(bs_get_utf8, 2, ARG(1))
MATCH_CHAR(bs_get_utf16, 3, ARG(1), FLAGS(2))
MATCH_CHAR(bs_get_utf32, 3, ARG(1), FLAGS(2))
MEANING(bs_skip_utf8) { return test(bs_skip_utf8(ARG(1))); }
MEANING(bs_skip_utf16) { return test(bs_skip_utf16(ARG(1), FLAGS(2))); }
MEANING(bs_skip_utf32) { return test(bs_skip_utf32(ARG(1), FLAGS(2))); }
MEANING(bs_context_to_binary) { return result<0>(a, bs_context_to_binary(a.p, ARG(0))); }
MEANING(bs_match) {
    if (!bs_match(a.p, ARG(1), a.list(), a.list_count(), a.registers())) {
        return Next::branch;
    }
    return a.p.needs_gc() ? collect(a, a.live(), 0) : Next::go_on;
}
MEANING(bs_create_bin) {
    Term r = bs_create_bin(a.p, a.list(), a.list_count(), a.registers());
    if (MINIVM_UNLIKELY(!is_value(r))) {
        return fail(a);
    }
    // The instruction also reserves heap for what follows it.
    const Word extra = RAW(1);
    if (MINIVM_UNLIKELY(a.p.needs_gc() ||
                        static_cast<Word>(a.p.heap.end - a.p.heap.top) < extra + kReserveWords)) {
        a.s->x[a.live()] = r;
        collect_gc(a.p, extra, a.s->x, a.live() + 1, false);
        r = a.s->x[a.live()];
    }
    return set<3>(a, r);
}
MEANING(bs_init_writable) {
    const Term r = bs_init_writable(a.p, a.s->x[0]);
    if (!is_value(r)) {
        return Next::raise;
    }
    a.s->x[0] = r;
    return a.p.needs_gc() ? collect(a, 1, 0) : Next::go_on;
}
// The legacy family: nothing may collect between the beginning and the last bs_put, so fragments
// stay until the next chance.
#define BUILD(name, dst, ...)                          \
    MEANING(name) {                                    \
        const Term r = name(__VA_ARGS__);              \
        return is_value(r) ? set<dst>(a, r) : fail(a); \
    }
BUILD(bs_init, 4, a.p, ARG(1), NUMBER(2))
BUILD(bs_append, 5, a.p, ARG(1), 1, ARG(2), NUMBER(3))
MEANING(bs_private_append) {
    const Term r = bs_append(a.p, ARG(1), NUMBER(3), ARG(2), 1);
    return is_value(r) ? set<5>(a, r) : fail(a);
}
BUILD(bs_utf8_size, 2, ARG(1))
BUILD(bs_utf16_size, 2, ARG(1))
BUILD(bs_add, 4, a.p, ARG(1), ARG(2), NUMBER(3))
BUILD(bs_bits_to_bytes, 2, a.p, ARG(1))
#define PUT(name, ...)                                         \
    MEANING(name) {                                            \
        return name(a.p, __VA_ARGS__) ? Next::go_on : fail(a); \
    }
PUT(bs_put_integer, ARG(1), NUMBER(2), FLAGS(3), ARG(4))
PUT(bs_put_float, ARG(1), NUMBER(2), FLAGS(3), ARG(4))
PUT(bs_put_binary, ARG(1), NUMBER(2), ARG(4))
PUT(bs_put_utf8, ARG(2))
PUT(bs_put_utf16, FLAGS(1), ARG(2))
PUT(bs_put_utf32, FLAGS(1), ARG(2))
MEANING(bs_put_string) {
    bs_put_string(string_at(RAW(1)), RAW(0));
    return Next::go_on;
}
#undef MATCH_CHAR
#undef BUILD
#undef PUT

}  // namespace minivm::semantics
