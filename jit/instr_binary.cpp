// Bit strings.
//
// Fields of constant size are read by words: one load takes the eight bytes that end with the last
// byte of up to 56 bits of consecutive fields, whatever their alignment, and the fields are extracted
// from that register. An instruction that builds a term calls a leaf (jit/binary_leaves.hpp), which
// keeps the registers; where the leaf would have to collect or fail, the default operation takes
// over.
#include "jit/binary_leaves.hpp"
#include "jit/emitter.hpp"
#include "vm/sched/scheduler.hpp"
#include "vm/semantics/binary.hpp"

#include <bit>
#include <cstddef>
#include <cstring>

namespace minivm::jit {
namespace {

// Fields of the object that a match context points to.
constexpr int32_t field(size_t byte) {
    return static_cast<int32_t>(byte) - static_cast<int32_t>(kTagBoxed);
}
constexpr int32_t kOrig = field(offsetof(MatchContext, orig));
constexpr int32_t kPosition = field(offsetof(MatchContext, position));
constexpr int32_t kEnd = field(offsetof(MatchContext, end));
constexpr int32_t kFirst = field(offsetof(MatchContext, first));

// Before the bits of any storage there are two words or more: a load may begin there.
static_assert(sizeof(RefBinary) >= 8);
// Bits of fields that are loaded at once, from any bit offset: with 7 bits before them they fit a word.
constexpr uint64_t kChunkBits = 56;
constexpr uint64_t kMaxFieldBits = 0xFFFFFF;

// Bits of a field whose size is a constant; 0 if it is none, or more than kMaxFieldBits.
uint64_t constant_bits(const Operand& size, const Operand& unit) {
    uint64_t bits = 0;
    if (size.kind != Operand::Kind::constant || !is_small(size.term) ||
        !semantics::bs_field_bits(size.term, static_cast<uint32_t>(unit.value), &bits) ||
        bits > kMaxFieldBits) {
        return 0;
    }
    return bits;
}
uint32_t flags_of(const Operand& o) {
    return static_cast<uint32_t>(small_value(o.term));
}

}  // namespace

// ---- fields -------------------------------------------------------------------------------------

// t3 := the bytes of the storage under the context.
void Emitter::storage_to_t3(Reg context) {
    const Label heap = a_.new_label();
    a_.load(Reg::t3, {context, kOrig});
    a_.compare_u8_imm({Reg::t3, field(0)}, static_cast<uint8_t>(make_header(Kind::heap_bits, 0)));
    a_.lea(Reg::t3, {Reg::t3, field(16)});
    a_.branch_near(Cond::equal, heap);
    a_.load(Reg::t3, {Reg::t3, 8 - 16});
    a_.load(Reg::t3, {Reg::t3, offsetof(RefBinary, bytes)});
    a_.bind(heap);
}

// t0 := the position, t1 := the position `bits` further on; to `fail` if that is past the end.
void Emitter::advance(Reg context, uint64_t bits, Label fail) {
    a_.load(Reg::t0, {context, kPosition});
    a_.lea(Reg::t1, {Reg::t0, static_cast<int32_t>(bits)});
    a_.compare_mem(Reg::t1, {context, kEnd});
    a_.branch(Cond::above, fail);
}

// d := the field of t1 that has `below` bits of other fields below it, as a small integer, or as a
// plain number for a comparison. The bits above the field are ignored.
void Emitter::extract(Reg d, const BitField& f, uint64_t below) {
    const auto unused = static_cast<unsigned>(64 - f.bits);
    const bool compared = f.kind == BitField::Kind::equal;
    a_.move(d, Reg::t1);
    a_.shift_left(d, static_cast<unsigned>(unused - below));
    if (f.bits > 8 && bs_is_little(f.flags)) {
        a_.shift_right(d, unused);
        a_.byte_swap(d, 64);
        below = 0;
    }
    // If no other field follows, zeros do, and three of them are the tag.
    const unsigned tag_bits = below == 0 && !compared ? 3 : 0;
    if (bs_is_signed(f.flags)) {
        a_.shift_right_signed(d, unused - tag_bits);
    } else {
        a_.shift_right(d, unused - tag_bits);
    }
    if (tag_bits == 0 && !compared) {
        a_.shift_left(d, 3);
    }
}

// Reads the fields and moves the position behind them. Goes to `fail`, with the position unchanged, if
// one differs from what it must be equal to or, unless `checked`, if the bits that are left do not do.
void Emitter::read_fields(const Operand& context, const std::vector<BitField>& fields, Label fail,
                          bool checked) {
    uint64_t total = 0;
    bool loads = false;
    bool compares = false;
    for (const BitField& f : fields) {
        total += f.bits;
        loads |= f.kind != BitField::Kind::skip;
        compares |= f.kind == BitField::Kind::equal;
    }
    const Reg c = value(context, Reg::t2);
    if (checked) {
        a_.load(Reg::t0, {c, kPosition});
        a_.lea(Reg::t1, {Reg::t0, static_cast<int32_t>(total)});
    } else {
        advance(c, total, fail);
    }
    if (!compares) {
        a_.store({c, kPosition}, Reg::t1);
    }
    if (!loads) {
        return;
    }
    storage_to_t3(c);
    uint64_t at = 0;
    for (size_t first = 0; first < fields.size();) {
        if (fields[first].kind == BitField::Kind::skip) {
            at += fields[first++].bits;
            continue;
        }
        uint64_t bits = 0;
        size_t last = first;
        while (last < fields.size() && bits + fields[last].bits <= kChunkBits) {
            bits += fields[last++].bits;
        }
        while (fields[last - 1].kind == BitField::Kind::skip) {
            bits -= fields[--last].bits;
        }
        at += bits;
        // t1 := the eight bytes that end with the chunk, its last bit lowest.
        a_.lea(Reg::t2, {Reg::t0, static_cast<int32_t>(at)});
        a_.lea(Reg::t1, {Reg::t2, 7});
        a_.shift_right(Reg::t1, 3);
        a_.load_indexed(Reg::t1, Reg::t3, Reg::t1, -8);
        a_.byte_swap(Reg::t1, 64);
        a_.negate_reg(Reg::t2);
        a_.and_imm(Reg::t2, 7);
        a_.shift_right_by(Reg::t1, Reg::t2);
        for (; first < last; ++first) {
            const BitField& f = fields[first];
            bits -= f.bits;
            if (f.kind == BitField::Kind::integer) {
                const Reg d = result(*f.dst, Reg::t2);
                extract(d, f, bits);
                store_result(*f.dst, d);
            } else if (f.kind == BitField::Kind::equal) {
                extract(Reg::t2, f, bits);
                a_.compare_imm(Reg::t2, static_cast<int64_t>(f.value));
                a_.branch(Cond::not_equal, fail);
            }
        }
    }
    if (compares) {
        const Reg again = value(context, Reg::t2);
        a_.lea(Reg::t1, {Reg::t0, static_cast<int32_t>(total)});
        a_.store({again, kPosition}, Reg::t1);
    }
}

// Reads one byte, which nearly always is aligned.
void Emitter::read_byte(const Operand& context, const BitField& f, Label fail) {
    const Label unaligned = a_.new_label();
    const Label back = a_.new_label();
    const Reg c = value(context, Reg::t2);
    advance(c, 8, fail);
    a_.test_imm(Reg::t0, 7);
    a_.branch(Cond::not_equal, unaligned);
    a_.store({c, kPosition}, Reg::t1);
    storage_to_t3(c);
    a_.shift_right(Reg::t0, 3);
    a_.load_bits(Reg::t0, Reg::t3, Reg::t0, 8);
    if (bs_is_signed(f.flags)) {
        a_.shift_left(Reg::t0, 56);
        a_.shift_right_signed(Reg::t0, 53);
    } else {
        a_.shift_left(Reg::t0, 3);
    }
    store_result(*f.dst, Reg::t0);
    a_.bind(back);
    cold([this, &context, f, fail, unaligned, back] {
        a_.bind(unaligned);
        read_fields(context, {f}, fail, true);
        a_.jump(back);
    });
}

bool Emitter::as_field(const Instr& i, BitField* f) const {
    const Operand* o = m_.operands_of(i);
    switch (i.op) {
        case Op::bs_get_integer:
            f->kind = BitField::Kind::integer;
            f->bits = constant_bits(o[2], o[3]);
            f->flags = flags_of(o[4]);
            f->dst = &o[5];
            return semantics::bs_is_small_field(f->bits, f->flags);
        case Op::bs_skip_bits:
            f->kind = BitField::Kind::skip;
            f->bits = constant_bits(o[2], o[3]);
            return f->bits != 0;
        case Op::bs_match_string:
            f->kind = BitField::Kind::equal;
            f->bits = o[2].value;
            if (f->bits == 0 || f->bits > kChunkBits) {
                return false;
            }
            f->value = load_bits(reinterpret_cast<const uint8_t*>(m_.strings.data()) + o[3].index,
                                 0, static_cast<unsigned>(f->bits));
            return true;
        default:
            return false;
    }
}

// Reads the fields of consecutive instructions together if they fail to the same label: the code there
// cannot know which of them failed, so it uses neither what they have read nor the position.
bool Emitter::field_run() {
    const Operand* o = operands();
    if (!o[1].is_register()) {
        return false;
    }
    const Operand& context = o[1];
    std::vector<BitField> fields;
    uint64_t total = 0;
    bool compares = false;
    uint32_t n = n_;
    for (; n < m_.code.size() && (n == n_ || !m_.code[n].block_start); ++n) {
        BitField f;
        if (!as_field(m_.code[n], &f)) {
            break;
        }
        const Operand* p = m_.operands_of(m_.code[n]);
        const bool overwrites = f.dst != nullptr && same_register(*f.dst, context);
        compares |= f.kind == BitField::Kind::equal;
        total += f.bits;
        if (p[0].index != o[0].index || !same_register(p[1], context) || total > kMaxFieldBits ||
            (overwrites && compares)) {
            break;
        }
        fields.push_back(f);
        if (overwrites) {
            ++n;
            break;
        }
    }
    if (fields.empty()) {
        return false;
    }
    const Label fail = label_of(o[0].index);
    while (n_ + 1 < n) {
        i_ = &m_.code[++n_];
        list();
    }
    if (fields.size() == 1 && fields[0].bits == 8 && fields[0].kind == BitField::Kind::integer) {
        read_byte(context, fields[0], fail);
    } else {
        read_fields(context, fields, fail, false);
    }
    return true;
}

// ---- leaves -------------------------------------------------------------------------------------

// Calls the fragment, whose arguments are in place; goes to `none` if it answers the non-value.
void Emitter::call_for(const void* leaf, Label none) {
    fragment(leaf);
    a_.compare_imm(Reg::t0, static_cast<int64_t>(kNonValue.raw));
    a_.branch(Cond::equal, none);
}

// The same, with the default operation if the fragment answers the non-value.
void Emitter::call_for_result(const void* leaf, const Operand& dst) {
    const Label slow = a_.new_label();
    const Label back = a_.new_label();
    call_for(leaf, slow);
    store_result(dst, Reg::t0);
    a_.bind(back);
    slow_path(slow, back);
}

// Goes to `fail` unless n bits are left or, if `divisible`, a multiple of n, which is a power of two then.
void Emitter::test_left(const Operand& context, uint64_t n, bool divisible, Label fail) {
    const Reg c = value(context, Reg::t2);
    a_.load(Reg::t0, {c, kEnd});
    a_.sub_mem(Reg::t0, {c, kPosition});
    if (divisible) {
        a_.test_imm(Reg::t0, static_cast<uint32_t>(n - 1));
    } else {
        a_.compare_imm(Reg::t0, static_cast<int64_t>(n));
    }
    a_.branch(Cond::not_equal, fail);
}

// ---- bs_match -----------------------------------------------------------------------------------

// What the commands before the current one have done to the context.
struct Emitter::MatchState {
    const Operand* context;
    Label fail;
    std::vector<BitField> pending;  // not read yet
    bool compares = false;          // one of them does
    uint64_t moved = 0;             // bits from the first position to the one in memory
    uint64_t ensured = 0;           // bits that are known to follow
};

// Where a command goes that fails: gives the context its first position back, and goes to `then`.
Label Emitter::restoring(const MatchState& s, Label then) {
    if (s.moved == 0) {
        return then;
    }
    const Label restore = a_.new_label();
    cold([this, &context = *s.context, moved = s.moved, restore, then] {
        a_.bind(restore);
        const Reg c = value(context, Reg::t2);
        a_.load(Reg::t0, {c, kPosition});
        a_.sub_imm(Reg::t0, static_cast<int64_t>(moved));
        a_.store({c, kPosition}, Reg::t0);
        a_.jump(then);
    });
    return restore;
}

void Emitter::read_pending(MatchState& s) {
    if (s.pending.empty()) {
        return;
    }
    uint64_t bits = 0;
    for (const BitField& f : s.pending) {
        bits += f.bits;
    }
    read_fields(*s.context, s.pending, restoring(s, s.fail), bits <= s.ensured);
    s.moved += bits;
    s.ensured -= std::min(bits, s.ensured);
    s.pending.clear();
    s.compares = false;
}

namespace {
// Whether the command has a fast path. Those of no bits have none, nor comparisons of more than a chunk.
bool is_plain_command(const Operand* c) {
    switch (static_cast<semantics::BsMatchCommand>(c[0].value)) {
        case semantics::kBsEnsureAtLeast:
            return c[1].value <= kMaxFieldBits && c[2].value <= 256 &&
                   std::has_single_bit(c[2].value);
        case semantics::kBsEnsureExactly:
            return c[1].value <= kMaxFieldBits;
        case semantics::kBsInteger:
        case semantics::kBsBinary: {
            const uint64_t bits = c[3].value * c[4].value;
            return bits != 0 && bits <= kMaxFieldBits;
        }
        case semantics::kBsGetTail:
            return true;
        case semantics::kBsEqual:
            return c[2].value != 0 && c[2].value <= kChunkBits &&
                   c[3].kind == Operand::Kind::unsigned_;
        case semantics::kBsSkip:
            return c[1].value != 0 && c[1].value <= kMaxFieldBits;
    }
    return false;
}
}  // namespace

bool Emitter::emit_bs_match() {
    const Operand* o = operands();
    const Operand* const end = o + i_->operand_count;
    if (!o[1].is_register() || vm::g_options.stress_gc) {
        return false;
    }
    uint64_t total = 0;
    const auto words = [](const Operand* c) { return semantics::kBsCommandWords[c[0].value]; };
    for (const Operand* c = o + 2; c < end; c += words(c)) {
        total += c[0].value == semantics::kBsSkip ? c[1].value : 0;
        if (!is_plain_command(c) || total > kMaxFieldBits) {
            return false;
        }
    }
    MatchState s;
    s.context = &o[1];
    s.fail = o[0].index == kNoLabel ? Label() : label_of(o[0].index);
    const Label back = a_.new_label();
    // The default operation executes all commands again.
    const auto slow = [&] {
        const Label entry = a_.new_label();
        const Label redo = restoring(s, entry);
        slow_path(entry, back);
        return redo;
    };
    const auto add = [&](const BitField& f) {
        const bool overwrites = f.dst != nullptr && same_register(*f.dst, o[1]);
        if (overwrites && s.compares) {
            read_pending(s);
        }
        s.pending.push_back(f);
        s.compares |= f.kind == BitField::Kind::equal;
        if (overwrites) {
            read_pending(s);
        }
    };
    for (const Operand* c = o + 2; c < end; c += words(c)) {
        BitField f;
        switch (static_cast<semantics::BsMatchCommand>(c[0].value)) {
            case semantics::kBsEnsureAtLeast: {
                read_pending(s);
                const Label fail = restoring(s, s.fail);
                const Reg context = value(o[1], Reg::t2);
                a_.load(Reg::t0, {context, kEnd});
                a_.sub_mem(Reg::t0, {context, kPosition});
                a_.sub_imm(Reg::t0, static_cast<int64_t>(c[1].value));
                a_.compare_imm(Reg::t0, 0);
                a_.branch(Cond::less, fail);
                if (c[2].value > 1) {
                    a_.test_imm(Reg::t0, static_cast<uint32_t>(c[2].value - 1));
                    a_.branch(Cond::not_equal, fail);
                }
                s.ensured = c[1].value;
                break;
            }
            case semantics::kBsEnsureExactly:
                read_pending(s);
                test_left(o[1], c[1].value, false, restoring(s, s.fail));
                s.ensured = c[1].value;
                break;
            case semantics::kBsInteger:
                f.kind = BitField::Kind::integer;
                f.bits = c[3].value * c[4].value;
                f.flags = static_cast<uint32_t>(c[2].value);
                f.dst = &c[5];
                if (semantics::bs_is_small_field(f.bits, f.flags)) {
                    add(f);
                    break;
                }
                read_pending(s);
                value_to(Reg::t0, o[1]);
                a_.move_imm(Reg::t1, make_small(static_cast<int64_t>(f.bits)).raw);
                a_.move_imm(Reg::t2, uint64_t{f.flags} << 32 | 1);
                call_for(fragments_.bs_get_integer, slow());
                store_result(c[5], Reg::t0);
                s.moved += f.bits;
                s.ensured -= std::min(f.bits, s.ensured);
                break;
            case semantics::kBsBinary: {
                read_pending(s);
                const uint64_t bits = c[3].value * c[4].value;
                value_to(Reg::t0, o[1]);
                a_.move_imm(Reg::t1, make_small(static_cast<int64_t>(bits)).raw);
                a_.move_imm(Reg::t2, 1);
                call_for(fragments_.bs_get_binary, slow());
                store_result(c[5], Reg::t0);
                s.moved += bits;
                s.ensured -= std::min(bits, s.ensured);
                break;
            }
            case semantics::kBsGetTail:
                read_pending(s);
                value_to(Reg::t0, o[1]);
                call_for(fragments_.bs_get_tail, slow());
                store_result(c[3], Reg::t0);
                break;
            case semantics::kBsEqual:
                f.kind = BitField::Kind::equal;
                f.bits = c[2].value;
                f.value = c[3].value;
                add(f);
                break;
            case semantics::kBsSkip:
                f.bits = c[1].value;
                add(f);
                break;
        }
    }
    read_pending(s);
    a_.bind(back);
    return true;
}

// ---- construction -------------------------------------------------------------------------------

namespace {
using Type = BinSegment::Type;

Type type_of(const Operand* segment) {
    return static_cast<Type>(segment[0].value);
}
// Bits of a segment that is an integer or a string of at most 64; 0 for others.
uint64_t number_bits(const Operand* s) {
    if (type_of(s) != Type::integer && type_of(s) != Type::string) {
        return 0;
    }
    const uint64_t bits =
        type_of(s) == Type::string ? 8 * small_value(s[5].term) : constant_bits(s[5], s[2]);
    const bool little = bs_is_little(static_cast<uint32_t>(s[3].value));
    const bool has_source =
        type_of(s) == Type::string || s[4].is_register() ||
        (s[4].kind == Operand::Kind::constant && is_small(s[4].term) && !little);
    return bits > 64 || !has_source || (little && bits > 8 && bits % 8 != 0) ? 0 : bits;
}
}  // namespace

// t1 := the segments' bits in the lowest `total` bits, the first one uppermost; the bits above them
// are undefined. To `slow` if one is no small integer.
void Emitter::collect_bits(const Operand* s, const Operand* end, uint64_t total, Label slow) {
    uint64_t known = 0;
    bool first = true;
    for (uint64_t below = total; s < end; s += semantics::kBsSegmentWords) {
        const uint64_t bits = number_bits(s);
        const auto unused = static_cast<unsigned>(64 - bits);
        below -= bits;
        if (!s[4].is_register()) {
            const uint64_t v =
                type_of(s) == Type::string
                    ? load_bits(reinterpret_cast<const uint8_t*>(m_.strings.data()) + s[4].index, 0,
                                static_cast<unsigned>(bits))
                    : static_cast<uint64_t>(small_value(s[4].term));
            known |= v << unused >> unused << below;
            continue;
        }
        const Reg d = first ? Reg::t1 : Reg::t0;
        value_to(d, s[4]);
        a_.test_imm(d, kTagMask);
        a_.branch(Cond::not_equal, slow);
        if (bits > 61) {
            a_.shift_right_signed(d, 3);
        }
        if (bs_is_little(static_cast<uint32_t>(s[3].value)) && bits > 8) {
            a_.shift_left(d, bits > 61 ? unused : unused - 3);
            a_.byte_swap(d, 64);
        } else if (bits <= 61) {
            a_.shift_left(d, unused - 3);
            a_.shift_right(d, unused);
        }
        if (below != 0) {
            a_.shift_left(d, static_cast<unsigned>(below));
        }
        if (!first) {
            a_.or_(Reg::t1, d);
        }
        first = false;
    }
    if (first) {
        a_.move_imm(Reg::t1, known);
    } else if (known != 0) {
        a_.or_imm(Reg::t1, known);
    }
}

// Up to 64 bits of integers and strings, alone or behind a bit string, or a character behind one.
bool Emitter::create_small() {
    const Operand* o = operands();
    const Operand* const begin = o + 4;
    const Operand* const end = o + i_->operand_count;
    if (begin == end || o[1].value > 0xFFFF) {
        return false;
    }
    const bool appends = type_of(begin) == Type::append || type_of(begin) == Type::private_append;
    const Operand* const rest = appends ? begin + semantics::kBsSegmentWords : begin;
    if (rest == end || (appends && begin[2].value > 0xFF)) {
        return false;
    }
    const bool whole_bytes = appends && (begin[2].value == 1 || begin[2].value == 8);
    const bool utf8 = whole_bytes && type_of(rest) == Type::utf8 && rest + semantics::kBsSegmentWords == end;
    uint64_t total = 0;
    for (const Operand* s = rest; s < end && !utf8; s += semantics::kBsSegmentWords) {
        const uint64_t bits = number_bits(s);
        total += bits;
        if (bits == 0 || total > 64) {
            return false;
        }
    }
    const Label slow = a_.new_label();
    const Label back = a_.new_label();
    if (utf8) {
        value_to(Reg::t1, rest[4]);
    } else {
        collect_bits(rest, end, total, slow);
        if (total < 64) {
            a_.shift_left(Reg::t1, static_cast<unsigned>(64 - total));
        }
    }
    if (appends) {
        AppendShape shape;
        shape.bits = static_cast<uint8_t>(total);
        shape.unit = static_cast<uint8_t>(begin[2].value);
        shape.heap_words = static_cast<uint16_t>(o[1].value);
        shape.in_place = type_of(begin) == Type::private_append;
        value_to(Reg::t0, begin[4]);
        a_.move_imm(Reg::t2, shape.packed());
        call_for(utf8                            ? fragments_.bs_append_utf8
                 : whole_bytes && total % 8 == 0 ? fragments_.bs_append_bytes
                                                 : fragments_.bs_append_bits,
                 slow);
    } else {
        a_.move_imm(Reg::t0, total);
        a_.move_imm(Reg::t2, 8 * (o[1].value + kSmallBitsWords + kReserveWords));
        call_for(fragments_.bs_new_bits, slow);
    }
    store_result(o[3], Reg::t0);
    a_.bind(back);
    slow_path(slow, back);
    return true;
}

// ---- the instructions ---------------------------------------------------------------------------

bool Emitter::emit_bs_start_match() {
    const Operand* o = operands();
    if (!o[1].is_register()) {
        return false;
    }
    // A context is given back as it is.
    const Label other = a_.new_label();
    const Label back = a_.new_label();
    const Reg r = value(o[1], Reg::t0);
    unbox(r, other);
    check_kinds({Kind::match_context}, other);
    store_result(o[2], r);
    a_.bind(back);
    cold([this, o, other, back] {
        a_.bind(other);
        if (!vm::g_options.stress_gc) {
            const Label slow = a_.new_label();
            value_to(Reg::t0, o[1]);
            call_for(fragments_.bs_start_match, slow);
            store_result(o[2], Reg::t0);
            a_.jump(back);
            a_.bind(slow);
        }
        default_operation();
        a_.jump(back);
    });
    return true;
}

bool Emitter::emit_bs_get_number() {
    const Operand* o = operands();
    if (field_run()) {
        return true;
    }
    if (!o[1].is_register() || o[3].value > 0xFFFF || vm::g_options.stress_gc) {
        return false;
    }
    value_to(Reg::t0, o[1]);
    value_to(Reg::t1, o[2]);
    a_.move_imm(Reg::t2, uint64_t{flags_of(o[4])} << 32 | o[3].value);
    call_for_result(
        i_->op == Op::bs_get_float ? fragments_.bs_get_float : fragments_.bs_get_integer,
        o[5]);
    return true;
}

bool Emitter::emit_bs_get_binary() {
    const Operand* o = operands();
    if (!o[1].is_register() || o[3].value > 0xFFFF || vm::g_options.stress_gc) {
        return false;
    }
    value_to(Reg::t0, o[1]);
    value_to(Reg::t1, o[2]);
    a_.move_imm(Reg::t2, o[3].value);
    call_for_result(fragments_.bs_get_binary, o[5]);
    return true;
}

bool Emitter::emit_bs_get_tail() {
    const Operand* o = operands();
    if (!o[0].is_register() || vm::g_options.stress_gc) {
        return false;
    }
    value_to(Reg::t0, o[0]);
    call_for_result(fragments_.bs_get_tail, o[1]);
    return true;
}

bool Emitter::emit_bs_skip_bits() {
    const Operand* o = operands();
    if (field_run()) {
        return true;
    }
    const Word unit = o[3].value;
    if (!o[1].is_register() || !o[2].is_register() || (unit != 1 && unit != 8)) {
        return false;
    }
    const Label slow = a_.new_label();
    const Label back = a_.new_label();
    const Reg context = value(o[1], Reg::t2);
    value_to(Reg::t1, o[2]);
    a_.test_imm(Reg::t1, kTagMask);
    a_.branch(Cond::not_equal, slow);
    // A small integer's word is its value times 8; a negative one is huge as an unsigned number.
    if (unit == 1) {
        a_.shift_right(Reg::t1, 3);
    }
    a_.load(Reg::t0, {context, kPosition});
    a_.load(Reg::t3, {context, kEnd});
    a_.sub(Reg::t3, Reg::t0);
    a_.compare(Reg::t1, Reg::t3);
    a_.branch(Cond::above, fail_label());
    a_.add(Reg::t0, Reg::t1);
    a_.store({context, kPosition}, Reg::t0);
    a_.bind(back);
    slow_path(slow, back);
    return true;
}

bool Emitter::emit_bs_test_left() {
    const Operand* o = operands();
    const Word n = o[2].value;
    const bool divisible = i_->op == Op::bs_test_unit;
    if (!o[1].is_register() ||
        (divisible ? n > 256 || !std::has_single_bit(n) : n > 0x7FFFFFFF)) {
        return false;
    }
    test_left(o[1], n, divisible, fail_label());
    return true;
}

bool Emitter::emit_bs_match_string() {
    const Operand* o = operands();
    if (field_run()) {
        return true;
    }
    if (!o[1].is_register()) {
        return false;
    }
    value_to(Reg::t0, o[1]);
    a_.move_imm(Reg::t1, o[2].value);
    a_.move_imm(Reg::t2, reinterpret_cast<Word>(m_.strings.data() + o[3].index));
    call_for(fragments_.bs_match_string, fail_label());
    return true;
}

bool Emitter::emit_bs_utf8() {
    const Operand* o = operands();
    if (!o[1].is_register()) {
        return false;
    }
    // The fast path: one byte below 128.
    const Operand* const dst = i_->op == Op::bs_get_utf8 ? &o[2] : nullptr;
    const Label longer = a_.new_label();
    const Label back = a_.new_label();
    const Reg context = value(o[1], Reg::t2);
    advance(context, 8, fail_label());
    a_.test_imm(Reg::t0, 7);
    a_.branch(Cond::not_equal, longer);
    storage_to_t3(context);
    a_.shift_right(Reg::t0, 3);
    a_.load_bits(Reg::t0, Reg::t3, Reg::t0, 8);
    a_.test_imm(Reg::t0, 0x80);
    a_.branch(Cond::not_equal, longer);
    a_.store({context, kPosition}, Reg::t1);
    if (dst != nullptr) {
        a_.shift_left(Reg::t0, 3);
        store_result(*dst, Reg::t0);
    }
    a_.bind(back);
    cold([this, o, dst, longer, back, none = fail_label()] {
        a_.bind(longer);
        value_to(Reg::t0, o[1]);
        call_for(fragments_.bs_get_utf8, none);
        if (dst != nullptr) {
            store_result(*dst, Reg::t0);
        }
        a_.jump(back);
    });
    return true;
}

bool Emitter::emit_bs_get_position() {
    const Operand* o = operands();
    if (!o[0].is_register()) {
        return false;
    }
    const Reg context = value(o[0], Reg::t2);
    a_.load(Reg::t0, {context, kPosition});
    a_.sub_mem(Reg::t0, {context, kFirst});
    a_.shift_left(Reg::t0, 3);
    store_result(o[1], Reg::t0);
    return true;
}

bool Emitter::emit_bs_set_position() {
    const Operand* o = operands();
    if (!o[0].is_register()) {
        return false;
    }
    const Label slow = a_.new_label();
    const Label back = a_.new_label();
    const Reg context = value(o[0], Reg::t2);
    value_to(Reg::t0, o[1]);
    a_.test_imm(Reg::t0, kTagMask);
    a_.branch(Cond::not_equal, slow);
    a_.shift_right(Reg::t0, 3);
    a_.load(Reg::t1, {context, kFirst});
    a_.add(Reg::t0, Reg::t1);
    a_.compare_mem(Reg::t0, {context, kEnd});
    a_.branch(Cond::above, slow);
    a_.store({context, kPosition}, Reg::t0);
    a_.bind(back);
    slow_path(slow, back);
    return true;
}

bool Emitter::emit_bs_create_bin() {
    const Operand* o = operands();
    if (vm::g_options.stress_gc) {
        return false;
    }
    if (create_small()) {
        return true;
    }
    const Label slow = a_.new_label();
    const Label back = a_.new_label();
    Word* const record = new_record();
    a_.move_imm(Reg::t0, reinterpret_cast<Word>(record));
    call_for(fragments_.bs_create_bin, slow);
    store_result(o[3], Reg::t0);
    a_.bind(back);
    cold([this, record, slow, back] {
        a_.bind(slow);
        default_operation(record);
        a_.jump(back);
    });
    return true;
}

}  // namespace minivm::jit
