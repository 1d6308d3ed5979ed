// Small integers and floats; everything else takes the default operation.
#include "jit/emitter.hpp"
#include "jit/layout.hpp"
#include "vm/util/otp_release.hpp"

#include <bit>

namespace minivm::jit {

// An operator on two terms that the compiler knows to be floats: it uses these where float registers do not
// pay, as in guards. Its types are hints, so other terms take the slow path.
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

// bnot and negation of a small integer.
bool Emitter::emit_small_unary() {
    const Operand* o = operands();
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

// The right operand of an operation whose left one is in t0.
struct Emitter::RightSmall {
    bool is_constant;
    Reg reg;         // if it is none
    int64_t n;       // if it is one
    int64_t tagged;  // likewise, as a term
};

void Emitter::divide(const RightSmall& by, Label slow) {
    if (by.is_constant && by.n > 0 && std::has_single_bit(static_cast<uint64_t>(by.n))) {
        // Rounding is towards zero: a negative number is raised by n - 1 first.
        const auto mask = static_cast<uint64_t>(by.tagged - 8);
        a_.move(Reg::t1, Reg::t0);
        a_.shift_right_signed(Reg::t1, 63);
        a_.and_imm(Reg::t1, mask);
        a_.add(Reg::t0, Reg::t1);
        if (i_->op == Op::int_div) {
            a_.shift_right_signed(Reg::t0,
                                  static_cast<unsigned>(std::countr_zero(static_cast<uint64_t>(by.n))));
            a_.and_imm(Reg::t0, ~kTagMask);
        } else {
            a_.and_imm(Reg::t0, mask);
            a_.sub(Reg::t0, Reg::t1);
        }
        return;
    }
    if (by.is_constant) {
        a_.move_imm(Reg::t3, static_cast<uint64_t>(by.tagged));
    } else {
        a_.compare_imm(by.reg, 0);
        a_.branch(Cond::equal, slow);
        a_.compare_imm(by.reg, -8);  // -1: the least integer has no quotient that fits
        a_.branch(Cond::equal, slow);
        a_.move(Reg::t3, by.reg);
    }
    a_.divide(Reg::t3);  // both are eight times their value
    if (i_->op == Op::int_div) {
        a_.shift_left(Reg::t0, 3);
    } else {
        a_.move(Reg::t0, Reg::t1);
    }
}

void Emitter::shift_small_right(const RightSmall& by, Label slow) {
    if (by.is_constant) {
        a_.shift_right_signed(Reg::t0, by.n > 60 ? 63u : static_cast<unsigned>(by.n));
    } else {
        // A shift by 60 leaves the sign only, as one by more does.
        const Label few = a_.new_label();
        a_.move(Reg::t2, by.reg);
        a_.compare_imm(by.reg, 60 << 3);
        a_.branch_near(Cond::below_equal, few);
        a_.compare_imm(by.reg, 0);
        a_.branch(Cond::less, slow);
        a_.move_imm(Reg::t2, 60 << 3);
        a_.bind(few);
        a_.shift_right(Reg::t2, 3);
        a_.shift_right_signed_by(Reg::t0, Reg::t2);
    }
    a_.and_imm(Reg::t0, ~kTagMask);
}

void Emitter::shift_small_left(const RightSmall& by, Label slow) {
    a_.move(Reg::t1, Reg::t0);
    if (by.is_constant) {
        const auto n = static_cast<unsigned>(by.n);
        a_.shift_left(Reg::t0, n);
        a_.move(Reg::t2, Reg::t0);
        a_.shift_right_signed(Reg::t2, n);
        a_.compare(Reg::t2, Reg::t1);
    } else {
        a_.compare_imm(by.reg, 60 << 3);
        a_.branch(Cond::above_equal, slow);
        a_.move(Reg::t2, by.reg);
        a_.shift_right(Reg::t2, 3);
        a_.shift_left_by(Reg::t0, Reg::t2);
        a_.move(Reg::t3, Reg::t0);
        a_.shift_right_signed_by(Reg::t3, Reg::t2);
        a_.compare(Reg::t3, Reg::t1);
    }
    a_.branch(Cond::not_equal, slow);
}

// t0 := t0 op `right`, both small integers.
void Emitter::small_operation(const RightSmall& right, Label slow) {
    const bool constant = right.is_constant;
    switch (i_->op) {
        case Op::add:
            constant ? a_.add_imm(Reg::t0, right.tagged) : a_.add(Reg::t0, right.reg);
            a_.branch(Cond::overflow, slow);
            break;
        case Op::sub:
            constant ? a_.sub_imm(Reg::t0, right.tagged) : a_.sub(Reg::t0, right.reg);
            a_.branch(Cond::overflow, slow);
            break;
        case Op::mul:
            if (constant) {
                a_.move_imm(Reg::t1, static_cast<uint64_t>(right.n));
            } else {
                a_.move(Reg::t1, right.reg);
                a_.shift_right_signed(Reg::t1, 3);
            }
            a_.multiply(Reg::t0, Reg::t1, slow);
            break;
        case Op::band:
            constant ? a_.and_imm(Reg::t0, static_cast<uint64_t>(right.tagged)) : a_.and_(Reg::t0, right.reg);
            break;
        case Op::bor:
            constant ? a_.or_imm(Reg::t0, static_cast<uint64_t>(right.tagged)) : a_.or_(Reg::t0, right.reg);
            break;
        case Op::bxor:
            constant ? a_.xor_imm(Reg::t0, static_cast<uint64_t>(right.tagged)) : a_.xor_(Reg::t0, right.reg);
            break;
        case Op::bsr:
            shift_small_right(right, slow);
            break;
        case Op::bsl:
            shift_small_left(right, slow);
            break;
        default:
            divide(right, slow);
            break;
    }
}

bool Emitter::emit_arithmetic() {
    if (float_operator()) {
        return true;
    }
    const Operand* o = operands();
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
    // A hint is not enough: a number added to a pointer would make another pointer.
    const auto without_hint = [](Operand x) {
        x.type_index = 0;
        return x;
    };
    check_small(without_hint(*left), Reg::t0, without_hint(*right), r, slow);
    small_operation({by_constant, r, n, static_cast<int64_t>(by_constant ? right->term.raw : 0)}, slow);
    store_result(o[3], Reg::t0);
    a_.bind(back);
    slow_path(slow, back);
    return true;
}

// d := the float in `from`. If that may be no float, `other` is where to go then; else `other` is invalid.
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

bool Emitter::emit_expect_float() {
    const Operand* o = operands();
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

bool Emitter::emit_fmove_to() {
    const Operand* o = operands();
    const FReg d = float_target(o[1]);
    float_to(d, o[0], Label());
    float_computed(o[1], d);
    return true;
}

bool Emitter::emit_fmove_from() {
    const Operand* o = operands();
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

bool Emitter::emit_fconv() {
    const Operand* o = operands();
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

bool Emitter::emit_float_arithmetic() {
    const Operand* o = operands();
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

bool Emitter::emit_fnegate() {
    const Operand* o = operands();
    const FReg d = float_target(o[1]);
    a_.float_move(d, float_register(o[0], FReg::f1));
    a_.float_negate(d);
    if (by_release::zeros_are_equal()) {  // -0.0 becomes 0.0
        a_.move_imm(Reg::t0, 0);
        a_.float_from_int(FReg::f1, Reg::t0);
        a_.float_add(d, FReg::f1);
    }
    float_computed(o[1], d);
    return true;
}

}  // namespace minivm::jit
