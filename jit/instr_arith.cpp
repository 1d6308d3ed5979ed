// Small integers and floats; everything else takes the default operation.
#include "jit/emitter.hpp"
#include "jit/layout.hpp"

#include <bit>

namespace minivm::jit {

// Two terms that the compiler knows to be floats: it leaves these where a float register does not pay,
// as in guards. What it says is a hint, so all else takes the slow path.
bool Emitter::float_operator() {
    const Operand* o = operands();
    void (MacroAssembler::*op)(FReg, FReg);
    switch (i_->op) {
        case Op::add:
            op = &MacroAssembler::float_add;
            break;
        case Op::sub:
            op = &MacroAssembler::float_sub;
            break;
        case Op::mul:
            op = &MacroAssembler::float_mul;
            break;
        default:
            return false;
    }
    if (!float_known(o[1]) || !float_known(o[2])) {
        return false;
    }
    const Label slow = a_.new_label();
    const Label back = a_.new_label();
    float_to(FReg::f0, o[1], slow);
    float_to(FReg::f1, o[2], slow);
    (a_.*op)(FReg::f0, FReg::f1);
    a_.branch_unless_finite(FReg::f0, FReg::f1, slow);
    a_.move_from_float(Reg::t0, FReg::f0);
    a_.rotate_left(Reg::t0, 4);
    a_.add_imm(Reg::t0, 3);
    a_.test_table_bit(kFloatTagBits, Reg::t0, Reg::t1);
    a_.branch(Cond::equal, slow);  // a result that has to be boxed
    store_result(o[3], Reg::t0);
    a_.bind(back);
    slow_path(slow, back);
    return true;
}

bool Emitter::arithmetic() {
    if (float_operator()) {
        return true;
    }
    const Operand* o = operands();
    switch (i_->op) {
        case Op::add:
        case Op::sub:
        case Op::mul:
        case Op::int_div:
        case Op::rem:
        case Op::band:
        case Op::bor:
        case Op::bxor:
        case Op::bsl:
        case Op::bsr:
            break;
        case Op::bnot:
        case Op::neg: {
            if (!o[1].is_register()) {
                return false;
            }
            const Label slow = a_.new_label();
            const Label back = a_.new_label();
            value_to(Reg::t0, o[1]);
            a_.test_imm(Reg::t0, kTagMask);
            a_.branch(Cond::not_equal, slow);
            if (i_->op == Op::bnot) {
                a_.xor_imm(Reg::t0, ~kTagMask);
            } else {
                a_.negate_reg(Reg::t0);
                a_.branch(Cond::overflow, slow);
            }
            store_result(o[2], Reg::t0);
            a_.bind(back);
            slow_path(slow, back);
            return true;
        }
        default:
            return false;
    }
    const Operand* left = &o[1];
    const Operand* right = &o[2];
    const auto is_constant = [](const Operand& x) { return x.kind == Operand::Kind::constant; };
    const bool commutes = i_->op == Op::add || i_->op == Op::mul || i_->op == Op::band ||
                          i_->op == Op::bor || i_->op == Op::bxor;
    if (commutes && is_constant(*left)) {
        std::swap(left, right);
    }
    if ((is_constant(*left) && (is_constant(*right) || !is_small(left->term))) ||
        (is_constant(*right) && !is_small(right->term))) {
        return false;
    }
    const bool by_constant = is_constant(*right);
    const int64_t n = by_constant ? small_value(right->term) : 0;
    const auto tagged = static_cast<int64_t>(by_constant ? right->term.raw : 0);
    if (by_constant) {
        if ((i_->op == Op::int_div || i_->op == Op::rem) && (n == 0 || n == -1)) {
            return false;
        }
        if ((i_->op == Op::bsl && (n < 0 || n >= 60)) || (i_->op == Op::bsr && n < 0)) {
            return false;
        }
    }
    const Label slow = a_.new_label();
    const Label back = a_.new_label();
    value_to(Reg::t0, *left);
    // The right operand stays where it is, or goes to t3.
    const Reg r = by_constant ? Reg::t3 : value(*right, Reg::t3);
    // A hint is not enough: what is added to a pointer would be one, too.
    const auto without_hint = [](Operand x) {
        x.type_index = 0;
        return x;
    };
    check_small(without_hint(*left), Reg::t0, without_hint(*right), r, slow);
    switch (i_->op) {
        case Op::add:
            by_constant ? a_.add_imm(Reg::t0, tagged) : a_.add(Reg::t0, r);
            a_.branch(Cond::overflow, slow);
            break;
        case Op::sub:
            by_constant ? a_.sub_imm(Reg::t0, tagged) : a_.sub(Reg::t0, r);
            a_.branch(Cond::overflow, slow);
            break;
        case Op::mul:
            if (by_constant) {
                a_.move_imm(Reg::t1, static_cast<uint64_t>(n));
            } else {
                a_.move(Reg::t1, r);
                a_.shift_right_signed(Reg::t1, 3);
            }
            a_.multiply(Reg::t0, Reg::t1, slow);
            break;
        case Op::int_div:
        case Op::rem: {
            if (by_constant && n > 0 && std::has_single_bit(static_cast<uint64_t>(n))) {
                // Rounding is towards zero: a negative number is raised by n - 1 first.
                const auto mask = static_cast<uint64_t>(tagged - 8);
                a_.move(Reg::t1, Reg::t0);
                a_.shift_right_signed(Reg::t1, 63);
                a_.and_imm(Reg::t1, mask);
                a_.add(Reg::t0, Reg::t1);
                if (i_->op == Op::int_div) {
                    a_.shift_right_signed(
                        Reg::t0, static_cast<unsigned>(std::countr_zero(static_cast<uint64_t>(n))));
                    a_.and_imm(Reg::t0, ~kTagMask);
                } else {
                    a_.and_imm(Reg::t0, mask);
                    a_.sub(Reg::t0, Reg::t1);
                }
                break;
            }
            if (by_constant) {
                a_.move_imm(Reg::t3, static_cast<uint64_t>(tagged));
            } else {
                a_.compare_imm(r, 0);
                a_.branch(Cond::equal, slow);
                a_.compare_imm(r, -8);  // -1: the least integer has no quotient that fits
                a_.branch(Cond::equal, slow);
                a_.move(Reg::t3, r);
            }
            a_.divide(Reg::t3);  // both are eight times their value
            if (i_->op == Op::int_div) {
                a_.shift_left(Reg::t0, 3);
            } else {
                a_.move(Reg::t0, Reg::t1);
            }
            break;
        }
        case Op::band:
            by_constant ? a_.and_imm(Reg::t0, static_cast<uint64_t>(tagged)) : a_.and_(Reg::t0, r);
            break;
        case Op::bor:
            by_constant ? a_.or_imm(Reg::t0, static_cast<uint64_t>(tagged)) : a_.or_(Reg::t0, r);
            break;
        case Op::bxor:
            by_constant ? a_.xor_imm(Reg::t0, static_cast<uint64_t>(tagged)) : a_.xor_(Reg::t0, r);
            break;
        case Op::bsr:
            if (by_constant) {
                a_.shift_right_signed(Reg::t0, n > 60 ? 63u : static_cast<unsigned>(n));
            } else {
                // All of the bits go by 60 as by more.
                const Label few = a_.new_label();
                a_.move(Reg::t2, r);
                a_.compare_imm(r, 60 << 3);
                a_.branch_near(Cond::below_equal, few);
                a_.compare_imm(r, 0);
                a_.branch(Cond::less, slow);
                a_.move_imm(Reg::t2, 60 << 3);
                a_.bind(few);
                a_.shift_right(Reg::t2, 3);
                a_.shift_right_signed_by(Reg::t0, Reg::t2);
            }
            a_.and_imm(Reg::t0, ~kTagMask);
            break;
        case Op::bsl:
            a_.move(Reg::t1, Reg::t0);
            if (by_constant) {
                a_.shift_left(Reg::t0, static_cast<unsigned>(n));
                a_.move(Reg::t2, Reg::t0);
                a_.shift_right_signed(Reg::t2, static_cast<unsigned>(n));
                a_.compare(Reg::t2, Reg::t1);
            } else {
                a_.compare_imm(r, 60 << 3);
                a_.branch(Cond::above_equal, slow);
                a_.move(Reg::t2, r);
                a_.shift_right(Reg::t2, 3);
                a_.shift_left_by(Reg::t0, Reg::t2);
                a_.move(Reg::t3, Reg::t0);
                a_.shift_right_signed_by(Reg::t3, Reg::t2);
                a_.compare(Reg::t3, Reg::t1);
            }
            a_.branch(Cond::not_equal, slow);
            break;
        default:
            break;
    }
    store_result(o[3], Reg::t0);
    a_.bind(back);
    slow_path(slow, back);
    return true;
}

// d := the float in `from`, which is one; or else, if it may be none, to `other`.
void Emitter::float_to(FReg d, const Operand& from, Label other) {
    if (from.kind == Operand::Kind::constant) {
        a_.move_imm(Reg::t0, std::bit_cast<uint64_t>(float_value(from.term)));
        a_.move_to_float(d, Reg::t0);
        return;
    }
    const Label immediate = a_.new_label();
    const Label done = a_.new_label();
    value_to(Reg::t0, from);
    a_.test_table_bit(kFloatTagBits, Reg::t0, Reg::t1);
    a_.branch_near(Cond::not_equal, immediate);
    if (other.is_valid()) {
        unbox(Reg::t0, other);
        check_kinds({Kind::float64}, other);
    }
    a_.load_float(d, {Reg::t0, 8 - static_cast<int32_t>(kTagBoxed)});
    a_.jump_near(done);
    a_.bind(immediate);
    a_.sub_imm(Reg::t0, 3);
    a_.rotate_left(Reg::t0, 60);
    a_.move_to_float(d, Reg::t0);
    a_.bind(done);
}

namespace {

Mem float_memory(const Operand& o) {
    return {Reg::sched, kSchedF + static_cast<int32_t>(8 * o.index)};
}

}  // namespace

FReg Emitter::float_target(const Operand& o) {
    return o.index < kKeptFloats ? kept_float(o.index) : FReg::f0;
}

FReg Emitter::float_register(const Operand& o, FReg scratch) {
    if (o.index >= kKeptFloats) {
        a_.load_float(scratch, float_memory(o));
        return scratch;
    }
    const FReg r = kept_float(o.index);
    if ((floats_kept_ >> o.index & 1) == 0) {
        a_.load_float(r, float_memory(o));
        floats_kept_ |= 1u << o.index;
    }
    return r;
}

void Emitter::float_computed(const Operand& o, FReg r) {
    a_.store_float(float_memory(o), r);
    if (o.index < kKeptFloats) {
        floats_kept_ |= 1u << o.index;
    }
}

void Emitter::reload_floats(uint32_t set) {
    for (uint32_t n = 0; n < kKeptFloats; ++n) {
        if ((set >> n & 1) != 0) {
            a_.load_float(kept_float(n), float_memory(Operand::of(Operand::Kind::fr, n)));
        }
    }
}

// Instructions whose fast path calls nothing but by slow_path() or reserve().
bool Emitter::keeps_floats(Op op) {
    switch (op) {
        case Op::test_heap:
        case Op::init_yregs:
        case Op::move:
        case Op::swap:
        case Op::expect_cons:
        case Op::expect_tuple:
        case Op::expect_float:
        case Op::get_list:
        case Op::get_hd:
        case Op::get_tl:
        case Op::put_list:
        case Op::get_tuple_element:
        case Op::put_tuple2:
        case Op::element:
        case Op::add:
        case Op::sub:
        case Op::mul:
        case Op::fmove_to:
        case Op::fmove_from:
        case Op::fconv:
        case Op::fadd:
        case Op::fsub:
        case Op::fmul:
        case Op::fdiv:
        case Op::fnegate:
            return true;
        default:
            return false;
    }
}

bool Emitter::floats() {
    const Operand* o = operands();
    switch (i_->op) {
        case Op::expect_float: {
            if (!o[0].is_register()) {
                return false;
            }
            const Label slow = a_.new_label();
            const Label back = a_.new_label();
            a_.test_table_bit(kFloatTagBits, value(o[0], Reg::t0), Reg::t1);
            a_.branch(Cond::equal, slow);  // a boxed one, too
            a_.bind(back);
            slow_path(slow, back);
            return true;
        }
        case Op::fmove_to: {
            const FReg d = float_target(o[1]);
            float_to(d, o[0], Label());
            float_computed(o[1], d);
            return true;
        }
        case Op::fmove_from: {
            const Label boxed = a_.new_label();
            const Label back = a_.new_label();
            a_.move_from_float(Reg::t0, float_register(o[0], FReg::f0));
            a_.rotate_left(Reg::t0, 4);
            a_.add_imm(Reg::t0, 3);
            a_.test_table_bit(kFloatTagBits, Reg::t0, Reg::t1);
            a_.branch(Cond::equal, boxed);
            a_.bind(back);
            store_result(o[1], Reg::t0);
            cold([this, boxed, back, from = float_memory(o[0])] {
                a_.bind(boxed);
                a_.store_imm({Reg::heap, 0}, make_header(Kind::float64, 1));
                a_.load(Reg::t0, from);
                a_.store({Reg::heap, 8}, Reg::t0);
                a_.lea(Reg::t0, {Reg::heap, static_cast<int32_t>(kTagBoxed)});
                a_.add_imm(Reg::heap, 8 * kBoxedFloatWords);
                a_.jump(back);
            });
            return true;
        }
        case Op::fconv: {
            if (!o[0].is_register()) {
                return false;
            }
            const FReg d = float_target(o[1]);
            const Label slow = a_.new_label();
            const Label back = a_.new_label();
            const Label is_float = a_.new_label();
            const Label store = a_.new_label();
            value_to(Reg::t0, o[0]);
            a_.test_imm(Reg::t0, kTagMask);
            a_.branch_near(Cond::not_equal, is_float);
            a_.shift_right_signed(Reg::t0, 3);
            a_.float_from_int(d, Reg::t0);
            a_.jump_near(store);
            a_.bind(is_float);
            a_.test_table_bit(kFloatTagBits, Reg::t0, Reg::t1);
            a_.branch(Cond::equal, slow);
            a_.sub_imm(Reg::t0, 3);
            a_.rotate_left(Reg::t0, 60);
            a_.move_to_float(d, Reg::t0);
            a_.bind(store);
            float_computed(o[1], d);
            a_.bind(back);
            slow_path(slow, back);
            return true;
        }
        case Op::fadd:
        case Op::fsub:
        case Op::fmul:
        case Op::fdiv: {
            const Label slow = a_.new_label();
            const Label back = a_.new_label();
            const FReg a = float_register(o[0], FReg::f0);
            const FReg b = float_register(o[1], FReg::f1);
            // A result that is not finite raises; the default operation reads memory.
            const FReg d = float_target(o[2]);
            const FReg r = d == b ? FReg::f2 : d;
            a_.float_move(r, a);
            switch (i_->op) {
                case Op::fadd:
                    a_.float_add(r, b);
                    break;
                case Op::fsub:
                    a_.float_sub(r, b);
                    break;
                case Op::fmul:
                    a_.float_mul(r, b);
                    break;
                default:
                    a_.float_div(r, b);
                    break;
            }
            a_.branch_unless_finite(r, FReg::f1, slow);
            a_.float_move(d, r);
            float_computed(o[2], d);
            a_.bind(back);
            slow_path(slow, back);
            return true;
        }
        case Op::fnegate: {
            const FReg d = float_target(o[1]);
            a_.float_move(d, float_register(o[0], FReg::f1));
            a_.float_negate(d);
            float_computed(o[1], d);
            return true;
        }
        default:
            return false;
    }
}

}  // namespace minivm::jit
