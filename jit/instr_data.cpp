// Moves, tuples, lists.
#include "jit/emitter.hpp"
#include "jit/layout.hpp"

namespace minivm::jit {
namespace {

constexpr int32_t kConsHead = -static_cast<int32_t>(kTagCons);
constexpr int32_t kConsTail = 8 - static_cast<int32_t>(kTagCons);

int32_t element_offset(Word index) {
    return static_cast<int32_t>(8 * (index + 1)) - static_cast<int32_t>(kTagBoxed);
}

}  // namespace

void Emitter::load_to(const Operand& to, Mem from) {
    const Reg d = result(to, Reg::t1);
    a_.load(d, from);
    if (!in_machine(to)) {
        a_.store(memory(to), d);
    }
}

bool Emitter::emit_move() {
    const Operand* o = operands();
    move(o[0], o[1]);
    return true;
}

bool Emitter::emit_swap() {
    const Operand* o = operands();
    const Reg a = value(o[0], Reg::t0);
    const Reg b = value(o[1], Reg::t1);
    if (in_machine(o[0]) && in_machine(o[1])) {
        a_.move(Reg::t0, a);
        a_.move(a, b);
        a_.move(b, Reg::t0);
    } else if (in_machine(o[0])) {
        a_.store(memory(o[1]), a);
        a_.move(a, b);
    } else if (in_machine(o[1])) {
        a_.store(memory(o[0]), b);
        a_.move(b, a);
    } else {
        a_.store(memory(o[0]), b);
        a_.store(memory(o[1]), a);
    }
    return true;
}

bool Emitter::emit_init_yregs() {
    const Operand* o = operands();
    for (uint32_t k = 0; k < i_->operand_count; ++k) {
        set_constant(o[k], kNil);
    }
    return true;
}

bool Emitter::emit_expect_shape() {
    const Operand* o = operands();
    if (!o[0].is_register()) {
        return false;
    }
    const Label slow = a_.new_label();
    const Label back = a_.new_label();
    const Reg r = value(o[0], Reg::t0);
    if (i_->op == Op::expect_cons) {
        check_immediate(r, kTagCons, kTagMask, slow);
    } else {
        unbox(r, slow);
        check_kinds({Kind::tuple}, slow);
        if (o[1].value != 0) {
            a_.compare_mem_imm({Reg::t1, 0}, static_cast<int64_t>(
                                                 make_header(Kind::tuple, o[1].value)));
            a_.branch(Cond::below, slow);
        }
    }
    a_.bind(back);
    slow_path(slow, back);
    return true;
}

bool Emitter::emit_get_hd() {
    const Operand* o = operands();
    load_to(o[1], {value(o[0], Reg::t0), kConsHead});
    return true;
}

bool Emitter::emit_get_tl() {
    const Operand* o = operands();
    load_to(o[1], {value(o[0], Reg::t0), kConsTail});
    return true;
}

bool Emitter::emit_get_list() {
    const Operand* o = operands();
    if (same_register(o[1], o[2])) {
        return false;
    }
    const Reg cell = value(o[0], Reg::t0);
    if (same_register(o[0], o[1])) {  // the cell is overwritten last
        load_to(o[2], {cell, kConsTail});
        load_to(o[1], {cell, kConsHead});
    } else {
        load_to(o[1], {cell, kConsHead});
        load_to(o[2], {cell, kConsTail});
    }
    return true;
}

bool Emitter::emit_put_list() {
    const Operand* o = operands();
    store_operand({Reg::heap, 0}, o[0], Reg::t0);
    store_operand({Reg::heap, 8}, o[1], Reg::t0);
    const Reg d = result(o[2], Reg::t0);
    a_.lea(d, {Reg::heap, static_cast<int32_t>(kTagCons)});
    store_result(o[2], d);
    a_.add_imm(Reg::heap, 16);
    return true;
}

bool Emitter::emit_get_tuple_element() {
    const Operand* o = operands();
    load_to(o[2], {value(o[0], Reg::t0), element_offset(o[1].value)});
    return true;
}

bool Emitter::emit_set_tuple_element() {
    const Operand* o = operands();
    const Reg tuple = value(o[1], Reg::t1);
    store_operand({tuple, element_offset(o[2].value)}, o[0], Reg::t0);
    return true;
}

bool Emitter::emit_put_tuple2() {
    const Operand* o = operands();
    const uint32_t n = i_->operand_count - 1u;
    a_.store_imm({Reg::heap, 0}, make_header(Kind::tuple, n));
    for (uint32_t k = 0; k < n; ++k) {
        store_operand({Reg::heap, static_cast<int32_t>(8 * (k + 1))}, o[1 + k], Reg::t0);
    }
    take_boxed(o[0], n + 1);
    return true;
}

bool Emitter::emit_update_record() {
    const Operand* o = operands();
    const Word arity = o[1].value;
    if (arity > 24 || !o[2].is_register()) {
        return false;
    }
    reserve(0, arity + 1);
    std::vector<const Operand*> changed(arity + 1, nullptr);
    for (uint32_t k = 4; k + 1 < i_->operand_count; k += 2) {
        changed[o[k].value] = &o[k + 1];
    }
    const Reg from = value(o[2], Reg::t1);
    a_.store_imm({Reg::heap, 0}, make_header(Kind::tuple, arity));
    for (Word k = 1; k <= arity; ++k) {
        const Mem to{Reg::heap, static_cast<int32_t>(8 * k)};
        if (changed[k] != nullptr) {
            store_operand(to, *changed[k], Reg::t0);
        } else {
            a_.load(Reg::t0, {from, element_offset(k - 1)});
            a_.store(to, Reg::t0);
        }
    }
    take_boxed(o[3], arity + 1);
    return true;
}

bool Emitter::emit_self() {
    const Operand* o = operands();
    load_to(o[0], {Reg::proc, kProcessId});
    return true;
}

bool Emitter::emit_hd_or_tl() {
    const Operand* o = operands();
    const Label slow = a_.new_label();
    const Label back = a_.new_label();
    const Reg cell = value(o[1], Reg::t0);
    check_immediate(cell, kTagCons, kTagMask, slow);
    load_to(o[2], {cell, i_->op == Op::hd ? kConsHead : kConsTail});
    a_.bind(back);
    slow_path(slow, back);
    return true;
}

bool Emitter::emit_element() {
    const Operand* o = operands();
    const Label slow = a_.new_label();
    const Label back = a_.new_label();
    if (o[1].kind == Operand::Kind::constant &&
        (!is_small(o[1].term) || small_value(o[1].term) < 1 ||
         small_value(o[1].term) > 0xFFFFFF)) {
        return false;
    }
    const Reg tuple = value(o[2], Reg::t0);
    unbox(tuple, slow);
    a_.load(Reg::t2, {Reg::t1, 0});
    check_kinds({Kind::tuple}, slow);
    if (o[1].kind == Operand::Kind::constant) {
        const auto n = static_cast<Word>(small_value(o[1].term));
        a_.compare_imm(Reg::t2, static_cast<int64_t>(make_header(Kind::tuple, n)));
        a_.branch(Cond::below, slow);
        load_to(o[3], {Reg::t1, static_cast<int32_t>(8 * n)});
    } else {
        // The tagged index is the byte offset: 8 .. 8 * arity.
        const Reg index = value(o[1], Reg::t3);
        a_.test_imm(index, kTagMask);
        a_.branch(Cond::not_equal, slow);
        a_.shift_right(Reg::t2, 8);
        a_.shift_left(Reg::t2, 3);
        a_.move(Reg::t3, index);
        a_.sub_imm(Reg::t3, 8);
        a_.compare(Reg::t3, Reg::t2);
        a_.branch(Cond::above_equal, slow);
        const Reg d = result(o[3], Reg::t2);
        a_.load_indexed(d, Reg::t1, Reg::t3, 8);
        store_result(o[3], d);
    }
    a_.bind(back);
    slow_path(slow, back);
    return true;
}

bool Emitter::emit_tuple_size() {
    const Operand* o = operands();
    const Label slow = a_.new_label();
    const Label back = a_.new_label();
    const Reg tuple = value(o[1], Reg::t0);
    unbox(tuple, slow);
    check_kinds({Kind::tuple}, slow);
    const Reg d = result(o[2], Reg::t0);
    a_.load(d, {Reg::t1, 0});
    a_.shift_right(d, 8);
    a_.shift_left(d, 3);
    store_result(o[2], d);
    a_.bind(back);
    slow_path(slow, back);
    return true;
}

}  // namespace minivm::jit
