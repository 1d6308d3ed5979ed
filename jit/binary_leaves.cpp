#include "jit/binary_leaves.hpp"

#include "vm/sched/scheduler.hpp"
#include "vm/semantics/binary.hpp"
#include "jit/native_code.hpp"
#include "vm/util/utf8.hpp"

namespace minivm::jit {
namespace {

// Heap words of a part of a binary: a copy of up to 64 bytes, or a reference into the other one.
constexpr size_t kPartWords = 2 + 64 / sizeof(Term);
// Larger integers are the default operation's.
constexpr uint64_t kMaxIntegerBits = 1024;
constexpr size_t kIntegerWords = 2 + kMaxIntegerBits / 64;

bool has_room(const Process& p, size_t words) {
    return static_cast<size_t>(p.heap.end - p.heap.top) >= words + kReserveWords;
}

}  // namespace

Word leaf_get_integer(Process* p, Word context, Word size, Word unit_flags) {
    uint64_t bits;
    if (!has_room(*p, kIntegerWords) ||
        !semantics::bs_field_bits(Term{size}, static_cast<uint32_t>(unit_flags), &bits) ||
        bits > kMaxIntegerBits) {
        return kNonValue.raw;
    }
    return semantics::bs_get_integer_bits(*p, Term{context}, bits,
                                          static_cast<uint32_t>(unit_flags >> 32))
        .raw;
}

Word leaf_get_float(Process* p, Word context, Word size, Word unit_flags) {
    if (!has_room(*p, kBoxedFloatWords)) {
        return kNonValue.raw;
    }
    return semantics::bs_get_float(*p, Term{context}, Term{size}, static_cast<uint32_t>(unit_flags),
                                   static_cast<uint32_t>(unit_flags >> 32))
        .raw;
}

Word leaf_get_binary(Process* p, Word context, Word size, Word unit) {
    if (!has_room(*p, kPartWords)) {
        return kNonValue.raw;
    }
    return semantics::bs_get_binary(*p, Term{context}, Term{size}, static_cast<uint32_t>(unit)).raw;
}

Word leaf_get_tail(Process* p, Word context, Word, Word) {
    return has_room(*p, kPartWords) ? semantics::bs_get_tail(*p, Term{context}).raw : kNonValue.raw;
}

Word leaf_get_utf8(Process*, Word context, Word, Word) {
    return semantics::bs_get_utf8(Term{context}).raw;
}

Word leaf_match_string(Process*, Word context, Word bits, Word string) {
    const auto* bytes = reinterpret_cast<const uint8_t*>(string);
    return semantics::bs_match_string(Term{context}, bits, bytes) ? kNil.raw : kNonValue.raw;
}

Word leaf_create_bin(Process* p, Word record, Word scheduler, Word) {
    const auto* r = reinterpret_cast<const OpRecord*>(record);
    const Word reserved_words = r->operands[1];
    // A large binary may make a collection due: then the next call of this leaf leaves it to the default
    // operation, which collects.
    if (p->needs_gc() || !has_room(*p, reserved_words + semantics::kBsCreateWords)) {
        return kNonValue.raw;
    }
    const ListRegisters registers{reinterpret_cast<Scheduler*>(scheduler)->x, p->heap.end + 1};
    return semantics::bs_create_common(*p, r->operands + r->list_at, r->list_count, registers).raw;
}

namespace {
// Appends the lower n <= 64 bits of v to `base`.
Word append(Process& p, Term base, uint64_t v, unsigned n, AppendShape shape) {
    if (MINIVM_UNLIKELY(p.needs_gc() ||
                        !has_room(p, shape.heap_words + semantics::kBsCreateWords))) {
        return kNonValue.raw;
    }
    return semantics::bs_append_number(p, base, v, n, shape.unit).raw;
}
}  // namespace

Word leaf_append_bits(Process* p, Word bits, Word number, Word shape) {
    const AppendShape s = AppendShape::of(shape);
    return append(*p, Term{bits}, number >> (64 - s.bits), s.bits, s);
}

Word leaf_append_utf8(Process* p, Word bits, Word character, Word shape) {
    const Term c{character};
    if (!is_small(c) || !is_unicode(static_cast<uint64_t>(small_value(c)))) {
        return kNonValue.raw;
    }
    uint8_t utf8[8] = {};
    const unsigned n = utf8_encode(static_cast<uint32_t>(small_value(c)), utf8);
    return append(*p, Term{bits}, load_big<uint64_t>(utf8) >> (64 - 8 * n), 8 * n,
                  AppendShape::of(shape));
}

}  // namespace minivm::jit
