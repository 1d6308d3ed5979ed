// Type tests and comparisons.
#include "vm/term/atom_table.hpp"
#include "vm/term/compare.hpp"
#include "jit/emitter.hpp"
#include "jit/runtime.hpp"

#include <cstdlib>
#include <optional>

namespace minivm::jit {
namespace {

Word leaf_loose_equal(Word a, Word b) {
    return loose_equal(Term{a}, Term{b}) ? 1 : 0;
}
Word leaf_less(Word a, Word b) {
    const Term x{a};
    const Term y{b};
    if (is_imm_float(x) && is_imm_float(y)) {
        return imm_float_value(x) < imm_float_value(y) ? 1 : 0;
    }
    return compare_terms(x, y) < 0 ? 1 : 0;
}

constexpr uint8_t kind_byte(Kind k) {
    return static_cast<uint8_t>(make_header(k, 0));
}

}  // namespace

void Emitter::unbox(Reg term, Label otherwise) {
    a_.lea(Reg::t1, {term, -static_cast<int32_t>(kTagBoxed)});
    a_.test_imm(Reg::t1, kTagMask);
    a_.branch(Cond::not_equal, otherwise);
}

void Emitter::check_kinds(std::initializer_list<Kind> kinds, Label otherwise) {
    const Label yes = a_.new_label();
    size_t left = kinds.size();
    for (const Kind k : kinds) {
        a_.compare_u8_imm({Reg::t1, 0}, kind_byte(k));
        if (--left == 0) {
            a_.branch(Cond::not_equal, otherwise);
        } else {
            a_.branch_near(Cond::equal, yes);
        }
    }
    a_.bind(yes);
}

bool Emitter::small_known(const Operand& o) const {
    if (o.kind == Operand::Kind::constant) {
        return is_small(o.term);
    }
    if (o.type_index == 0 || o.type_index > m_.types.size()) {
        return false;
    }
    const TypeInfo& t = m_.types[o.type_index - 1u];
    return t.bits == TypeInfo::integer && t.has_lower && t.has_upper && fits_small(t.lower) &&
           fits_small(t.upper);
}

bool Emitter::float_known(const Operand& o) const {
    if (o.kind == Operand::Kind::constant) {
        return is_float(o.term);
    }
    return o.type_index != 0 && o.type_index <= m_.types.size() &&
           m_.types[o.type_index - 1u].bits == TypeInfo::float_;
}

void Emitter::check_small(const Operand& a, Reg ra, const Operand& b, Reg rb, Label slow) {
    const bool a_known = small_known(a);
    const bool b_known = small_known(b);
    if (a_known && b_known) {
        return;
    }
    if (a_known) {
        a_.test_imm(rb, kTagMask);
    } else if (b_known) {
        a_.test_imm(ra, kTagMask);
    } else {
        a_.move(Reg::t2, ra);
        a_.or_(Reg::t2, rb);
        a_.test_imm(Reg::t2, kTagMask);
    }
    a_.branch(Cond::not_equal, slow);
}

// Compares two floats, or a float and a constant integer that a float represents exactly.
bool Emitter::compare_floats_op() {
    const Operand* o = operands();
    constexpr int64_t kExact = int64_t{1} << 53;
    const auto as_float = [&](const Operand& x) -> std::optional<Operand> {
        if (float_known(x)) {
            return x;
        }
        if (x.kind == Operand::Kind::constant && is_small(x.term) &&
            std::abs(small_value(x.term)) <= kExact) {
            const Term t = try_make_imm_float(static_cast<double>(small_value(x.term)));
            if (is_imm_float(t)) {
                return Operand::constant_of(t);
            }
        }
        return std::nullopt;
    };
    Cond fails;
    switch (i_->op) {
        case Op::is_lt:
            fails = Cond::above_equal;
            break;
        case Op::is_ge:
            fails = Cond::below;
            break;
        case Op::is_eq:
            fails = Cond::not_equal;
            break;
        case Op::is_ne:
            fails = Cond::equal;
            break;
        default:
            return false;
    }
    const std::optional<Operand> a = as_float(o[1]);
    const std::optional<Operand> b = as_float(o[2]);
    if (!a || !b || (!float_known(o[1]) && !float_known(o[2]))) {
        return false;
    }
    const Label slow = a_.new_label();
    const Label back = a_.new_label();
    float_to(FReg::f0, *a, slow);
    float_to(FReg::f1, *b, slow);
    a_.float_compare(FReg::f0, FReg::f1);
    a_.branch(fails, label_of(o[0].index));
    a_.bind(back);
    slow_path(slow, back);
    return true;
}

bool Emitter::emit_comparison() {
    const Operand* o = operands();
    const Label otherwise = label_of(o[0].index);
    const Operand& a = o[1];
    const Operand& b = o[2];
    const auto is_constant = [](const Operand& x) { return x.kind == Operand::Kind::constant; };
    if (is_constant(a) && is_constant(b)) {
        return false;
    }
    if (compare_floats_op()) {
        return true;
    }
    Cond holds;  // for two small integers
    Word (*leaf)(Word, Word);
    bool wanted = true;  // of the leaf's answer
    switch (i_->op) {
        case Op::is_lt:
            holds = Cond::less;
            leaf = leaf_less;
            break;
        case Op::is_ge:
            holds = Cond::greater_equal;
            leaf = leaf_less;
            wanted = false;
            break;
        case Op::is_eq:
        case Op::is_eq_exact:
            holds = Cond::equal;
            leaf = i_->op == Op::is_eq ? leaf_loose_equal : leaf_exact_equal;
            break;
        default:
            holds = Cond::not_equal;
            leaf = i_->op == Op::is_ne ? leaf_loose_equal : leaf_exact_equal;
            wanted = false;
            break;
    }
    const bool exact = i_->op == Op::is_eq_exact || i_->op == Op::is_ne_exact;
    const Label slow = a_.new_label();
    const Label yes = a_.new_label();
    // The constant, if any, on the right.
    const bool swapped = is_constant(a);
    const Operand& left = swapped ? b : a;
    const Operand& right = swapped ? a : b;
    Cond c = holds;
    if (swapped) {
        c = holds == Cond::less            ? Cond::greater
            : holds == Cond::greater_equal ? Cond::less_equal
                                           : holds;
    }
    const bool immediate_constant = is_constant(right) && is_equal_by_word(right.term);
    const Reg l = value(left, Reg::t0);
    if (exact) {
        if (immediate_constant) {
            a_.compare_imm(l, static_cast<int64_t>(right.term.raw));
            a_.branch(negate(c), otherwise);
            return true;
        }
        const Reg r = value(right, Reg::t1);
        a_.compare(l, r);
        if (wanted) {
            a_.branch(Cond::not_equal, slow);
        } else {
            a_.branch(Cond::equal, otherwise);
            a_.jump(slow);
        }
    } else if (is_constant(right) && is_small(right.term)) {
        if (!small_known(left)) {
            a_.test_imm(l, kTagMask);
            a_.branch(Cond::not_equal, slow);
        }
        a_.compare_imm(l, static_cast<int64_t>(right.term.raw));
        a_.branch(negate(c), otherwise);
        if (small_known(left)) {
            return true;
        }
    } else {
        const Reg r = value(right, Reg::t1);
        check_small(left, l, right, r, slow);
        a_.compare(l, r);
        a_.branch(negate(c), otherwise);
        if (small_known(left) && small_known(right)) {
            return true;
        }
    }
    a_.bind(yes);
    cold([this, slow, yes, otherwise, leaf, wanted, exact, a, b] {
        a_.bind(slow);
        value_to(Reg::t0, a);
        value_to(Reg::t1, b);
        if (exact) {
            // Different words are different terms unless both are pointers, or zeros.
            const Label no = wanted ? otherwise : yes;
            const Label ask = a_.new_label();
            to_if_zeros(Reg::t0, Reg::t1, ask);
            for (const Reg r : {Reg::t0, Reg::t1}) {
                a_.move(Reg::t2, r);
                a_.and_imm(Reg::t2, kTagMask);
                a_.sub_imm(Reg::t2, 1);
                a_.compare_imm(Reg::t2, 1);  // cons or boxed
                a_.branch(Cond::above, no);
            }
            a_.bind(ask);
        }
        a_.call_leaf(reinterpret_cast<const void*>(leaf));
        a_.compare_imm(Reg::t0, 0);
        a_.branch(wanted ? Cond::equal : Cond::not_equal, otherwise);
        a_.jump(yes);
    });
    return true;
}

// Where 0.0 =:= -0.0: to `target` if a and b, which differ, are both a zero, or two words that only C++ can
// tell from these. Takes t2.
void Emitter::to_if_zeros(Reg a, Reg b, Label target) {
    if (!by_release::zeros_are_equal()) {
        return;
    }
    a_.move(Reg::t2, a);
    a_.or_(Reg::t2, b);
    a_.or_imm(Reg::t2, kZeroSign);
    a_.compare_imm(Reg::t2, static_cast<int64_t>(kZeroWord | kZeroSign));
    a_.branch(Cond::equal, target);
}

// To `otherwise` unless the bits of r under `mask`, of its low six, are these.
void Emitter::check_immediate(Reg r, Word bits, Word mask, Label otherwise) {
    a_.lea(Reg::t1, {r, -static_cast<int32_t>(bits)});
    a_.test_imm(Reg::t1, static_cast<uint32_t>(mask));
    a_.branch(Cond::not_equal, otherwise);
}

bool Emitter::emit_is_nil() {
    const Operand* o = operands();
    a_.compare_imm(value(o[1], Reg::t0), static_cast<int64_t>(kNil.raw));
    a_.branch(Cond::not_equal, fail_label());
    return true;
}

bool Emitter::emit_is_nonempty_list() {
    const Operand* o = operands();
    check_immediate(value(o[1], Reg::t0), kTagCons, kTagMask, fail_label());
    return true;
}

bool Emitter::emit_is_list() {
    const Operand* o = operands();
    const Label yes = a_.new_label();
    const Reg r = value(o[1], Reg::t0);
    a_.compare_imm(r, static_cast<int64_t>(kNil.raw));
    a_.branch_near(Cond::equal, yes);
    check_immediate(r, kTagCons, kTagMask, fail_label());
    a_.bind(yes);
    return true;
}

bool Emitter::emit_is_atom() {
    const Operand* o = operands();
    check_immediate(value(o[1], Reg::t0), kImmAtom, kImmMask, fail_label());
    return true;
}

bool Emitter::emit_is_boolean() {
    const Operand* o = operands();
    const Label yes = a_.new_label();
    const Reg r = value(o[1], Reg::t0);
    a_.compare_imm(r, static_cast<int64_t>(atoms::true_.raw));
    a_.branch_near(Cond::equal, yes);
    a_.compare_imm(r, static_cast<int64_t>(atoms::false_.raw));
    a_.branch(Cond::not_equal, fail_label());
    a_.bind(yes);
    return true;
}

bool Emitter::emit_is_integer() {
    const Operand* o = operands();
    const Label yes = a_.new_label();
    const Reg r = value(o[1], Reg::t0);
    a_.test_imm(r, kTagMask);
    a_.branch_near(Cond::equal, yes);
    unbox(r, fail_label());
    check_kinds({Kind::pos_big, Kind::neg_big}, fail_label());
    a_.bind(yes);
    return true;
}

bool Emitter::emit_is_number_or_float() {
    const Operand* o = operands();
    const Label yes = a_.new_label();
    const Reg r = value(o[1], Reg::t0);
    if (i_->op == Op::is_number) {
        a_.test_imm(r, kTagMask);
        a_.branch_near(Cond::equal, yes);
    }
    a_.test_table_bit(kFloatTagBits, r, Reg::t1);
    a_.branch_near(Cond::not_equal, yes);
    unbox(r, fail_label());
    if (i_->op == Op::is_number) {
        check_kinds({Kind::float64, Kind::pos_big, Kind::neg_big}, fail_label());
    } else {
        check_kinds({Kind::float64}, fail_label());
    }
    a_.bind(yes);
    return true;
}

bool Emitter::emit_is_tuple() {
    const Operand* o = operands();
    unbox(value(o[1], Reg::t0), fail_label());
    check_kinds({Kind::tuple}, fail_label());
    return true;
}

bool Emitter::emit_test_arity() {
    const Operand* o = operands();
    a_.compare_mem_imm({value(o[1], Reg::t0), -static_cast<int32_t>(kTagBoxed)},
                       static_cast<int64_t>(make_header(Kind::tuple, o[2].value)));
    a_.branch(Cond::not_equal, fail_label());
    return true;
}

bool Emitter::emit_is_tagged_tuple() {
    const Operand* o = operands();
    unbox(value(o[1], Reg::t0), fail_label());
    a_.compare_mem_imm({Reg::t1, 0},
                       static_cast<int64_t>(make_header(Kind::tuple, o[2].value)));
    a_.branch(Cond::not_equal, fail_label());
    a_.compare_mem_imm({Reg::t1, 8}, static_cast<int64_t>(o[3].term.raw));
    a_.branch(Cond::not_equal, fail_label());
    return true;
}

bool Emitter::emit_is_map() {
    const Operand* o = operands();
    unbox(value(o[1], Reg::t0), fail_label());
    check_kinds({Kind::flat_map, Kind::hash_map}, fail_label());
    return true;
}

bool Emitter::emit_is_function() {
    const Operand* o = operands();
    unbox(value(o[1], Reg::t0), fail_label());
    check_kinds({Kind::fun, Kind::export_fun}, fail_label());
    return true;
}

bool Emitter::emit_is_bitstr() {
    const Operand* o = operands();
    unbox(value(o[1], Reg::t0), fail_label());
    check_kinds({Kind::heap_bits, Kind::sub_bits, Kind::match_context}, fail_label());
    return true;
}

bool Emitter::emit_is_binary() {
    const Operand* o = operands();
    const Label heap = a_.new_label();
    const Label sized = a_.new_label();
    unbox(value(o[1], Reg::t0), fail_label());
    a_.compare_u8_imm({Reg::t1, 0}, kind_byte(Kind::heap_bits));
    a_.branch_near(Cond::equal, heap);
    a_.compare_u8_imm({Reg::t1, 0}, kind_byte(Kind::sub_bits));
    a_.branch(Cond::not_equal, fail_label());
    a_.load(Reg::t1, {Reg::t1, 24});
    a_.jump_near(sized);
    a_.bind(heap);
    a_.load(Reg::t1, {Reg::t1, 8});
    a_.bind(sized);
    a_.test_imm(Reg::t1, 7);
    a_.branch(Cond::not_equal, fail_label());
    return true;
}

bool Emitter::emit_is_pid() {
    const Operand* o = operands();
    const Label yes = a_.new_label();
    const Reg r = value(o[1], Reg::t0);
    a_.lea(Reg::t1, {r, -static_cast<int32_t>(kImmPid)});
    a_.test_imm(Reg::t1, kImmMask);
    a_.branch_near(Cond::equal, yes);
    unbox(r, fail_label());
    check_kinds({Kind::ext_pid}, fail_label());
    a_.bind(yes);
    return true;
}

bool Emitter::emit_is_reference() {
    const Operand* o = operands();
    unbox(value(o[1], Reg::t0), fail_label());
    check_kinds({Kind::ref, Kind::magic_ref, Kind::ext_ref}, fail_label());
    return true;
}

}  // namespace minivm::jit
