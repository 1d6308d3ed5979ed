// Bit strings: integer fields of constant size, which most matches read.
#include "interp/handlers.hpp"
#include "vm/semantics/binary.hpp"

namespace minivm::interp {

// A field of constant size whose value is a small integer. Bits is the size; 0: the handler for all sizes
// that have none of their own.
template <unsigned Bits, K Ctx, K D>
static void bs_get_small(ARGS) {
    constexpr Op kOp = Op::bs_get_integer;
    MatchContext* const m = match_context(src_at<kOp, 1, Ctx>(pc, E, s));
    const unsigned bits =
        Bits != 0 ? Bits
                  : static_cast<unsigned>(small_value(Term{pc[fixed_words(kOp)]})) * static_cast<uint32_t>(WORD(3));
    const Word at = m->position;
    if (MINIVM_UNLIKELY(bits > m->end - at)) {
        JUMP();
    }
    m->position = at + bits;
    *dst_at<kOp, 5, D>(pc, E, s) =
        semantics::bs_read_small(storage_bytes(m->orig), at, bits, static_cast<uint32_t>(small_value(Term{WORD(4)})));
    NEXT(fixed_words(kOp) + 1);
}
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
