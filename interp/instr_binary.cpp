// Bit strings: matching and construction.
#include "interp/handlers.hpp"
#include "vm/process/exception.hpp"
#include "vm/semantics/binary.hpp"

namespace minivm::interp {

// A match that allocates: `expression` gives the value or the non-value for no match.
#define MATCH_VALUE(dst, expression)                     \
    do {                                                 \
        Process& p = *s->process;                        \
        ENTER_RUNTIME(p);                                \
        Term r = (expression);                           \
        if (MINIVM_UNLIKELY(!is_value(r))) {             \
            LEAVE_RUNTIME(p);                            \
            JUMP();                                      \
        }                                                \
        if (MINIVM_UNLIKELY(p.needs_gc())) {             \
            r = collect_result_gc(s, LIVE(), r);         \
        }                                                \
        LEAVE_RUNTIME(p);                                \
        DST(dst) = r;                                    \
        NEXT_OP();                                       \
    } while (0)
#define MATCH_TEST(condition) \
    do {                      \
        if (condition) {      \
            NEXT_OP();        \
        }                     \
        JUMP();               \
    } while (0)
#define FLAGS(i) (static_cast<uint32_t>(small_value(Term{WORD(i)})))
#define UNIT(i) (static_cast<uint32_t>(WORD(i)))

// Without a label the compiler knows that there is something to match; a file that lies gets badmatch.
HANDLER(bs_start_match) {
    Process& p = *s->process;
    ENTER_RUNTIME(p);
    Term r = semantics::bs_start_match(p, SRC(1));
    if (MINIVM_UNLIKELY(!is_value(r))) {
        LEAVE_RUNTIME(p);
        if (label_at(pc) != 0) {
            JUMP();
        }
        raise_tagged(p, atoms::badmatch, SRC(1));
        LEAVE_RUNTIME(p);
        TAIL(slow_raise);
    }
    if (MINIVM_UNLIKELY(p.needs_gc())) {
        r = collect_result_gc(s, LIVE(), r);
    }
    LEAVE_RUNTIME(p);
    DST(2) = r;
    NEXT_OP();
}
HANDLER(bs_get_integer) {
    MATCH_VALUE(5, semantics::bs_get_integer(p, SRC(1), SRC(2), UNIT(3), FLAGS(4)));
}
// A field whose size is known and whose value is a small integer, which most are. Bits is the size, or
// 0 where no handler of its own pays.
template <unsigned Bits, K Ctx, K D>
static void bs_get_small(ARGS) {
    constexpr Op kOp = Op::bs_get_integer;
    MatchContext* const m = match_context(src_at<kOp, 1, Ctx>(pc, E, s));
    const unsigned bits =
        Bits != 0 ? Bits
                  : static_cast<unsigned>(small_value(Term{pc[fixed_words(kOp)]})) * UNIT(3);
    const Word at = m->position;
    if (MINIVM_UNLIKELY(bits > m->end - at)) {
        JUMP();
    }
    m->position = at + bits;
    *dst_at<kOp, 5, D>(pc, E, s) =
        semantics::bs_read_small(storage_bytes(m->orig), at, bits, FLAGS(4));
    NEXT(fixed_words(kOp) + 1);
}
HANDLER(bs_get_float) {
    MATCH_VALUE(5, semantics::bs_get_float(p, SRC(1), SRC(2), UNIT(3), FLAGS(4)));
}
HANDLER(bs_get_binary) { MATCH_VALUE(5, semantics::bs_get_binary(p, SRC(1), SRC(2), UNIT(3))); }
HANDLER(bs_skip_bits) { MATCH_TEST(semantics::bs_skip_bits(SRC(1), SRC(2), UNIT(3))); }
HANDLER(bs_test_tail) { MATCH_TEST(semantics::bs_test_tail(SRC(1), WORD(2))); }
HANDLER(bs_test_unit) { MATCH_TEST(semantics::bs_test_unit(SRC(1), UNIT(2))); }
HANDLER(bs_match_string) {
    MATCH_TEST(semantics::bs_match_string(SRC(1), WORD(2),
                                          reinterpret_cast<const uint8_t*>(WORD(3))));
}
HANDLER(bs_get_tail) {
    Process& p = *s->process;
    ENTER_RUNTIME(p);
    Term r = semantics::bs_get_tail(p, SRC(0));
    if (MINIVM_UNLIKELY(p.needs_gc())) {
        r = collect_result_gc(s, LIVE(), r);
    }
    LEAVE_RUNTIME(p);
    DST(1) = r;
    NEXT_OP();
}
HANDLER(bs_get_position) {
    DST(1) = semantics::bs_get_position(SRC(0));
    NEXT_OP();
}
HANDLER(bs_set_position) {
    semantics::bs_set_position(SRC(0), SRC(1));
    NEXT_OP();
}
HANDLER(bs_get_utf8) {
    const Term r = semantics::bs_get_utf8(SRC(1));
    if (!is_value(r)) {
        JUMP();
    }
    DST(2) = r;
    NEXT_OP();
}
HANDLER(bs_skip_utf8) { MATCH_TEST(semantics::bs_skip_utf8(SRC(1))); }
HANDLER(bs_get_utf16) {
    const Term r = semantics::bs_get_utf16(SRC(1), FLAGS(2));
    if (!is_value(r)) {
        JUMP();
    }
    DST(3) = r;
    NEXT_OP();
}
HANDLER(bs_skip_utf16) { MATCH_TEST(semantics::bs_skip_utf16(SRC(1), FLAGS(2))); }
HANDLER(bs_get_utf32) {
    const Term r = semantics::bs_get_utf32(SRC(1), FLAGS(2));
    if (!is_value(r)) {
        JUMP();
    }
    DST(3) = r;
    NEXT_OP();
}
HANDLER(bs_skip_utf32) { MATCH_TEST(semantics::bs_skip_utf32(SRC(1), FLAGS(2))); }
HANDLER(bs_context_to_binary) {
    Process& p = *s->process;
    ENTER_RUNTIME(p);
    Term r = semantics::bs_context_to_binary(p, DST(0));
    if (MINIVM_UNLIKELY(p.needs_gc())) {
        r = collect_result_gc(s, LIVE(), r);
    }
    LEAVE_RUNTIME(p);
    DST(0) = r;
    NEXT(fixed_words(kOp));
}

// Not inlined, nor is the next one: handlers have no aggregates.
static MINIVM_NOINLINE bool do_bs_match(Process& p, Term ctx, const Word* list, Word n, Term* E,
                                        Scheduler* s) {
    return semantics::bs_match(p, ctx, list, n, ListRegisters{s->x, E});
}
HANDLER(bs_match) {
    Process& p = *s->process;
    ENTER_RUNTIME(p);
    const bool ok = do_bs_match(p, SRC(1), LIST(), LIST_COUNT(), E, s);
    LEAVE_RUNTIME(p);
    if (!ok) {
        JUMP();
    }
    const int size = size_of<kOp>(pc);
    const uint32_t live = LIVE();
    pc += size;
    if (MINIVM_UNLIKELY(p.needs_gc())) {
        COLLECT(live, 0);
    }
    DISPATCH();
}

// ---- construction -----------------------------------------------------------------------------------

static MINIVM_NOINLINE Term do_bs_create_bin(Process& p, const Word* list, Word n, Term* E,
                                             Scheduler* s) {
    return semantics::bs_create_bin(p, list, n, ListRegisters{s->x, E});
}
HANDLER(bs_create_bin) {
    Process& p = *s->process;
    ENTER_RUNTIME(p);
    Term r = do_bs_create_bin(p, LIST(), LIST_COUNT(), E, s);
    if (MINIVM_UNLIKELY(!is_value(r))) {
        LEAVE_RUNTIME(p);
        FAIL_OR_RAISE(p);
    }
    // The instruction also reserves heap for what follows it.
    const Word extra = WORD(1);
    if (MINIVM_UNLIKELY(p.needs_gc() || static_cast<Word>(p.heap.end - p.heap.top) <
                                            extra + kReserveWords)) {
        r = collect_result_need_gc(s, LIVE(), r, extra);
    }
    LEAVE_RUNTIME(p);
    DST(3) = r;
    NEXT_OP();
}

#define BUILD(dst, expression)                       \
    do {                                             \
        Process& p = *s->process;                    \
        ENTER_RUNTIME(p);                            \
        Term r = (expression);                       \
        if (MINIVM_UNLIKELY(!is_value(r))) {         \
            LEAVE_RUNTIME(p);                        \
            FAIL_OR_RAISE(p);                        \
        }                                            \
        LEAVE_RUNTIME(p);                            \
        DST(dst) = r;                                \
        NEXT_OP();                                   \
    } while (0)

HANDLER(bs_init_writable) {
    Process& p = *s->process;
    ENTER_RUNTIME(p);
    Term r = semantics::bs_init_writable(p, s->x[0]);
    LEAVE_RUNTIME(p);
    if (!is_value(r)) {
        TAIL(slow_raise);
    }
    s->x[0] = r;
    pc += fixed_words(kOp);
    if (MINIVM_UNLIKELY(p.needs_gc())) {
        COLLECT(1, 0);
    }
    DISPATCH();
}

// The legacy family: nothing may collect between the beginning and the last bs_put, so fragments stay
// until the next chance.
HANDLER(bs_init) { BUILD(4, semantics::bs_init(p, SRC(1), UNIT(2))); }
HANDLER(bs_append) { BUILD(5, semantics::bs_append(p, SRC(1), 1, SRC(2), UNIT(3))); }
HANDLER(bs_private_append) { BUILD(5, semantics::bs_append(p, SRC(1), UNIT(3), SRC(2), 1)); }

#define PUT(condition)                  \
    do {                                \
        Process& p = *s->process;       \
        ENTER_RUNTIME(p);               \
        const bool ok = (condition);    \
        LEAVE_RUNTIME(p);               \
        if (!ok) {                      \
            FAIL_OR_RAISE(p);           \
        }                               \
        NEXT_OP();                      \
    } while (0)
HANDLER(bs_put_integer) { PUT(semantics::bs_put_integer(p, SRC(1), UNIT(2), FLAGS(3), SRC(4))); }
HANDLER(bs_put_float) { PUT(semantics::bs_put_float(p, SRC(1), UNIT(2), FLAGS(3), SRC(4))); }
HANDLER(bs_put_binary) { PUT(semantics::bs_put_binary(p, SRC(1), UNIT(2), SRC(4))); }
HANDLER(bs_put_string) {
    semantics::bs_put_string(reinterpret_cast<const uint8_t*>(WORD(1)), WORD(0));
    NEXT(fixed_words(kOp));
}
HANDLER(bs_put_utf8) { PUT(semantics::bs_put_utf8(p, SRC(2))); }
HANDLER(bs_put_utf16) { PUT(semantics::bs_put_utf16(p, FLAGS(1), SRC(2))); }
HANDLER(bs_put_utf32) { PUT(semantics::bs_put_utf32(p, FLAGS(1), SRC(2))); }
HANDLER(bs_utf8_size) { BUILD(2, semantics::bs_utf8_size(SRC(1))); }
HANDLER(bs_utf16_size) { BUILD(2, semantics::bs_utf16_size(SRC(1))); }
HANDLER(bs_add) { BUILD(4, semantics::bs_add(p, SRC(1), SRC(2), UNIT(3))); }
HANDLER(bs_bits_to_bytes) { BUILD(2, semantics::bs_bits_to_bytes(p, SRC(1))); }

Handler select_bs_get_integer(const K* k, Term size, Word unit, uint32_t flags) {
    uint64_t bits;
    if (k[1] == K::C || !semantics::bs_field_bits(size, static_cast<uint32_t>(unit), &bits) ||
        !semantics::bs_is_small_field(bits, flags)) {
        return nullptr;
    }
#define MINIVM_OF_SIZE(n)                                                        \
    {                                                                            \
        {bs_get_small<n, K::X, K::X>, bs_get_small<n, K::X, K::Y>}, {            \
            bs_get_small<n, K::Y, K::X>, bs_get_small<n, K::Y, K::Y>             \
        }                                                                        \
    }
    static constexpr Handler table[3][2][2] = {MINIVM_OF_SIZE(0), MINIVM_OF_SIZE(8),
                                               MINIVM_OF_SIZE(16)};
#undef MINIVM_OF_SIZE
    const int row = bits == 8 ? 1 : bits == 16 ? 2 : 0;
    return table[row][static_cast<int>(k[1])][static_cast<int>(k[5])];
}

}  // namespace minivm::interp
