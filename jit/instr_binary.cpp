// Matching of fields that begin at a byte and are of one, two, four or eight bytes; the rest, and
// all construction, takes the default operation.
#include "vm/semantics/binary.hpp"
#include "jit/emitter.hpp"

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

// Bits of a field whose size is a constant, or 0 (also where it is absurdly large).
uint64_t constant_bits(const Operand& size, const Operand& unit) {
    uint64_t bits = 0;
    if (size.kind != Operand::Kind::constant || !is_small(size.term) ||
        !semantics::bs_field_bits(size.term, static_cast<uint32_t>(unit.value), &bits) ||
        bits > 0x7FFFFFFF) {
        return 0;
    }
    return bits;
}

}  // namespace

// t0 := the position, t1 := the position `bits` further on; to `fail` if that is past the end.
void Emitter::advance(Reg context, uint64_t bits, Label fail) {
    a_.load(Reg::t0, {context, kPosition});
    a_.lea(Reg::t1, {Reg::t0, static_cast<int32_t>(bits)});
    a_.compare_mem(Reg::t1, {context, kEnd});
    a_.branch(Cond::above, fail);
}

// t3 := the bytes of the storage under the context.
void Emitter::storage_to_t3(Reg context) {
    const Label heap = a_.new_label();
    const Label done = a_.new_label();
    a_.load(Reg::t3, {context, kOrig});
    a_.compare_u8_imm({Reg::t3, -static_cast<int32_t>(kTagBoxed)},
                      static_cast<uint8_t>(make_header(Kind::heap_bits, 0)));
    a_.branch_near(Cond::equal, heap);
    a_.load(Reg::t3, {Reg::t3, field(8)});
    a_.add_imm(Reg::t3, sizeof(RefBinary));
    a_.jump_near(done);
    a_.bind(heap);
    a_.add_imm(Reg::t3, field(16));
    a_.bind(done);
}

bool Emitter::binaries() {
    const Operand* o = operands();
    const auto fail = [&] { return label_of(o[0].index); };
    switch (i_->op) {
        case Op::bs_start_match: {
            if (!o[1].is_register()) {
                return false;
            }
            // A context is given back as it is.
            const Label slow = a_.new_label();
            const Label back = a_.new_label();
            const Reg r = value(o[1], Reg::t0);
            unbox(r, slow);
            check_kinds({Kind::match_context}, slow);
            store_result(o[2], r);
            a_.bind(back);
            slow_path(slow, back);
            return true;
        }
        case Op::bs_get_integer: {
            const uint64_t bits = constant_bits(o[2], o[3]);
            const auto flags = static_cast<uint32_t>(small_value(o[4].term));
            if ((bits != 8 && bits != 16 && bits != 32) || !o[1].is_register()) {
                return false;
            }
            const Label slow = a_.new_label();
            const Label back = a_.new_label();
            const Reg context = value(o[1], Reg::t2);
            advance(context, bits, fail());
            a_.test_imm(Reg::t0, 7);
            a_.branch(Cond::not_equal, slow);
            a_.store({context, kPosition}, Reg::t1);
            storage_to_t3(context);
            a_.shift_right(Reg::t0, 3);
            a_.load_bits(Reg::t0, Reg::t3, Reg::t0, static_cast<unsigned>(bits));
            if (bits > 8 && !bs_is_little(flags)) {
                a_.byte_swap(Reg::t0, static_cast<unsigned>(bits));
            }
            a_.shift_left(Reg::t0, static_cast<unsigned>(64 - bits));
            if (bs_is_signed(flags)) {
                a_.shift_right_signed(Reg::t0, static_cast<unsigned>(64 - bits - 3));
            } else {
                a_.shift_right(Reg::t0, static_cast<unsigned>(64 - bits - 3));
            }
            store_result(o[5], Reg::t0);
            a_.bind(back);
            slow_path(slow, back);
            return true;
        }
        case Op::bs_skip_bits: {
            const uint64_t bits = constant_bits(o[2], o[3]);
            if (bits == 0 || !o[1].is_register()) {
                return false;
            }
            const Reg context = value(o[1], Reg::t2);
            advance(context, bits, fail());
            a_.store({context, kPosition}, Reg::t1);
            return true;
        }
        case Op::bs_test_tail:
        case Op::bs_test_unit: {
            if (!o[1].is_register()) {
                return false;
            }
            const Word n = o[2].value;
            const bool tail = i_->op == Op::bs_test_tail;
            if (tail ? n > 0x7FFFFFFF : n == 0 || n > 256 || (n & (n - 1)) != 0) {
                return false;
            }
            const Reg context = value(o[1], Reg::t2);
            a_.load(Reg::t0, {context, kEnd});
            a_.load(Reg::t1, {context, kPosition});
            a_.sub(Reg::t0, Reg::t1);
            if (tail) {
                a_.compare_imm(Reg::t0, static_cast<int64_t>(n));
            } else {
                a_.test_imm(Reg::t0, static_cast<uint32_t>(n - 1));
            }
            a_.branch(Cond::not_equal, fail());
            return true;
        }
        case Op::bs_match_string: {
            const Word bits = o[2].value;
            if ((bits != 8 && bits != 16 && bits != 32) || !o[1].is_register()) {
                return false;
            }
            uint32_t wanted = 0;
            std::memcpy(&wanted, m_.strings.data() + o[3].index, bits / 8);
            const Label slow = a_.new_label();
            const Label back = a_.new_label();
            const Reg context = value(o[1], Reg::t2);
            advance(context, bits, fail());
            a_.test_imm(Reg::t0, 7);
            a_.branch(Cond::not_equal, slow);
            storage_to_t3(context);
            a_.shift_right(Reg::t0, 3);
            a_.load_bits(Reg::t0, Reg::t3, Reg::t0, static_cast<unsigned>(bits));
            a_.compare_imm(Reg::t0, static_cast<int64_t>(wanted));
            a_.branch(Cond::not_equal, fail());
            a_.store({context, kPosition}, Reg::t1);
            a_.bind(back);
            slow_path(slow, back);
            return true;
        }
        case Op::bs_get_utf8: {
            if (!o[1].is_register()) {
                return false;
            }
            // One byte below 128.
            const Label slow = a_.new_label();
            const Label back = a_.new_label();
            const Reg context = value(o[1], Reg::t2);
            advance(context, 8, fail());
            a_.test_imm(Reg::t0, 7);
            a_.branch(Cond::not_equal, slow);
            storage_to_t3(context);
            a_.shift_right(Reg::t0, 3);
            a_.load_bits(Reg::t0, Reg::t3, Reg::t0, 8);
            a_.compare_imm(Reg::t0, 0x80);
            a_.branch(Cond::above_equal, slow);
            a_.store({context, kPosition}, Reg::t1);
            a_.shift_left(Reg::t0, 3);
            store_result(o[2], Reg::t0);
            a_.bind(back);
            slow_path(slow, back);
            return true;
        }
        case Op::bs_get_position: {
            if (!o[0].is_register()) {
                return false;
            }
            const Reg context = value(o[0], Reg::t2);
            a_.load(Reg::t0, {context, kPosition});
            a_.load(Reg::t1, {context, kFirst});
            a_.sub(Reg::t0, Reg::t1);
            a_.shift_left(Reg::t0, 3);
            store_result(o[1], Reg::t0);
            return true;
        }
        case Op::bs_set_position: {
            if (!o[0].is_register()) {
                return false;
            }
            const Reg context = value(o[0], Reg::t2);
            value_to(Reg::t0, o[1]);
            a_.shift_right(Reg::t0, 3);
            a_.load(Reg::t1, {context, kFirst});
            a_.add(Reg::t0, Reg::t1);
            a_.store({context, kPosition}, Reg::t0);
            return true;
        }
        default:
            return false;
    }
}

}  // namespace minivm::jit
