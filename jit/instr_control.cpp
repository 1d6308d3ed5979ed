// Calls, returns, frames, catches, receive: the instructions that each engine implements itself.
#include "jit/emitter.hpp"
#include "jit/layout.hpp"
#include "vm/instr/bif_def.hpp"
#include "vm/nif/nif.hpp"

namespace minivm::jit {

// Costs one load in a function that no NIF library has replaced.
void Emitter::nif_start(const nif::Function& f) {
    const Label native = a_.new_label();
    const Label entry = entries_[i_->function];
    a_.move_imm(Reg::t0, reinterpret_cast<Word>(&f.code));
    a_.load(Reg::t0, {Reg::t0, 0});
    a_.compare_imm(Reg::t0, 0);
    a_.branch(Cond::not_equal, native);
    cold([this, native, entry, bif = static_cast<const BifDef*>(&f)] {
        a_.bind(native);
        a_.leave_frame();
        a_.move_imm(Reg::t0, reinterpret_cast<Word>(bif));
        a_.load_label(Reg::t1, entry);
        a_.jump_address(fragments_.bif_body);
    });
}

static int64_t frame_bytes(Word words) {
    return static_cast<int64_t>(8 * words);
}
static Operand x(uint32_t n) {
    return Operand::of(Operand::Kind::x, n);
}

// The function whose entry a call's label is.
Label Emitter::callee() const {
    return entries_[function_at_[operands()[0].index] - 1];
}

bool Emitter::emit_call() {
    a_.call(callee());
    return true;
}

bool Emitter::emit_call_last() {
    const Operand* o = operands();
    a_.add_imm(Reg::stack, frame_bytes(o[2].value));
    a_.leave_frame();
    a_.tail_call(callee());
    return true;
}

bool Emitter::emit_call_only() {
    a_.leave_frame();
    a_.tail_call(callee());
    return true;
}

bool Emitter::emit_call_ext() {
    const Operand* o = operands();
    call_export(o[0].exp);
    a_.call_reg(Reg::t3);
    return true;
}

bool Emitter::emit_call_ext_only() {
    const Operand* o = operands();
    call_export(o[0].exp);
    a_.leave_frame();
    a_.tail_call_reg(Reg::t3);
    return true;
}

bool Emitter::emit_call_ext_last() {
    const Operand* o = operands();
    call_export(o[0].exp);
    a_.add_imm(Reg::stack, frame_bytes(o[1].value));
    a_.leave_frame();
    a_.tail_call_reg(Reg::t3);
    return true;
}

bool Emitter::emit_call_bif() {
    const Operand* o = operands();
    a_.move_imm(Reg::t0, reinterpret_cast<Word>(o[1].bif));
    a_.move_imm(Reg::t1, tail_code());
    fragment(fragments_.call_bif);
    return true;
}

bool Emitter::emit_bif_body() {
    const Operand* o = operands();
    a_.leave_frame();
    a_.move_imm(Reg::t0, reinterpret_cast<Word>(o[1].bif));
    a_.load_label(Reg::t1, entries_[i_->function]);
    a_.jump_address(fragments_.bif_body);
    return true;
}

bool Emitter::emit_apply() {
    const Operand* o = operands();
    default_operation();
    a_.load(Reg::t0, {Reg::sched, kScratchX});
    load_export_target();
    if (i_->op == Op::apply) {
        a_.call_reg(Reg::t3);
    } else {
        a_.add_imm(Reg::stack, frame_bytes(o[1].value));
        a_.leave_frame();
        a_.tail_call_reg(Reg::t3);
    }
    return true;
}

bool Emitter::emit_call_fun() {
    const Operand* o = operands();
    value_to(Reg::t0, o[1]);
    a_.move_imm(Reg::t1, o[0].value);
    fragment(fragments_.call_fun);
    return true;
}

bool Emitter::emit_i_apply_fun_last() {
    const Operand* o = operands();
    value_to(Reg::t0, o[1]);
    a_.move_imm(Reg::t1, o[0].value);
    fragment(fragments_.check_fun);
    a_.add_imm(Reg::stack, frame_bytes(o[2].value));
    a_.leave_frame();
    a_.tail_call_reg(Reg::t3);
    return true;
}

bool Emitter::emit_return_() {
    a_.leave_frame();
    a_.ret();
    return true;
}

bool Emitter::emit_jump() {
    const Operand* o = operands();
    a_.jump(label_of(o[0].index));
    return true;
}

bool Emitter::emit_on_load() {
    return true;
}

bool Emitter::emit_nif_start() {
    const Operand* o = operands();
    nif_start(*static_cast<const nif::Function*>(o[0].bif));
    return true;
}

bool Emitter::emit_trap_end() {
    // Stands behind an instruction that ends a block, so only a mistake leads here.
    a_.never_reached();
    return true;
}

bool Emitter::emit_allocate() {
    const Operand* o = operands();
    reserve(o[0].value, 0);
    a_.sub_imm(Reg::stack, frame_bytes(o[0].value));
    return true;
}

bool Emitter::emit_allocate_heap() {
    const Operand* o = operands();
    reserve(o[0].value, o[1].value);
    a_.sub_imm(Reg::stack, frame_bytes(o[0].value));
    return true;
}

bool Emitter::emit_test_heap() {
    const Operand* o = operands();
    reserve(0, o[0].value);
    return true;
}

bool Emitter::emit_drop_words() {
    const Operand* o = operands();
    if (o[0].value != 0) {
        a_.add_imm(Reg::stack, frame_bytes(o[0].value));
    }
    return true;
}

bool Emitter::emit_catch_or_try() {
    const Operand* o = operands();
    // Catches are numbered in the order of their instructions.
    const uint32_t k = catches_seen_++;
    catches_[k] = label_of(o[1].index);
    const Label mark = a_.new_label();
    data_.push_back({mark, NativeCode::Fixup::Kind::catch_mark, k});
    a_.load_word_at(Reg::t0, mark);
    a_.store(memory(o[0]), Reg::t0);
    return true;
}

bool Emitter::emit_make_fun() {
    const Operand* o = operands();
    const Label entry = a_.new_label();
    data_.push_back({entry, NativeCode::Fixup::Kind::fun_entry, o[0].index});
    const uint32_t n = i_->operand_count - 2u;
    a_.store_imm({Reg::heap, 0}, make_header(Kind::fun, n + 2));
    a_.load_word_at(Reg::t0, entry);
    a_.store({Reg::heap, 8}, Reg::t0);
    a_.load(Reg::t0, {Reg::proc, kProcessId});
    a_.store({Reg::heap, 16}, Reg::t0);
    for (uint32_t k = 0; k < n; ++k) {
        store_operand({Reg::heap, static_cast<int32_t>(8 * (kFunFixedWords + k))}, o[2 + k],
                      Reg::t0);
    }
    take_boxed(o[1], kFunFixedWords + n);
    return true;
}

bool Emitter::emit_send() {
    a_.move_imm(Reg::t0, tail_code());
    fragment(fragments_.send);
    return true;
}

bool Emitter::emit_wait() {
    const Operand* o = operands();
    a_.load_label(Reg::t0, label_of(o[0].index));
    a_.jump_address(fragments_.wait);
    return true;
}

bool Emitter::emit_wait_timeout() {
    const Operand* o = operands();
    const Label after = a_.new_label();
    a_.load_label(Reg::t0, after);
    a_.store({Reg::sched, kScratchX}, Reg::t0);
    default_operation();
    a_.compare_imm(Reg::t0, 0);
    a_.branch(Cond::equal, after);
    a_.load_label(Reg::t0, label_of(o[0].index));
    a_.jump_address(fragments_.wait);
    a_.bind(after);
    return true;
}

// try_end and catch_end where nothing was raised; try_case, which moves the exception.
bool Emitter::emit_try_end() {
    const Operand* o = operands();
    set_constant(o[0], kNil);
    return true;
}

bool Emitter::emit_try_case() {
    const Operand* o = operands();
    move(x(1), x(0));
    move(x(2), x(1));
    move(x(3), x(2));
    set_constant(o[0], kNil);
    return true;
}

bool Emitter::emit_catch_end() {
    const Operand* o = operands();
    const Label slow = a_.new_label();
    const Label back = a_.new_label();
    set_constant(o[0], kNil);
    a_.compare_imm(value(x(0), Reg::t0), static_cast<int64_t>(kNonValue.raw));
    a_.branch(Cond::equal, slow);
    a_.bind(back);
    slow_path(slow, back);
    return true;
}

bool Emitter::emit_loop_rec() {
    const Operand* o = operands();
    // For a message that lies in the heap, or is examined in its fragment. Else the default operation fetches
    // messages, or moves this one to the heap first.
    const Label slow = a_.new_label();
    const Label back = a_.new_label();
    const Label outside = a_.new_label();
    const Label found = a_.new_label();
    a_.load(Reg::t1, {Reg::proc, kMailboxSave});
    a_.load(Reg::t1, {Reg::t1, 0});
    a_.compare_imm(Reg::t1, 0);
    a_.branch(Cond::equal, slow);
    a_.compare_mem_imm({Reg::t1, kSignalFragments}, 0);
    a_.branch(Cond::not_equal, outside);
    a_.store_u8_imm({Reg::proc, kInReceiveExamine}, 0);
    a_.bind(found);
    load_to(o[1], {Reg::t1, kSignalTerm});
    a_.bind(back);
    cold([this, outside, found, slow] {
        a_.bind(outside);
        a_.compare_u32_imm({Reg::proc, kMailboxOnHeap}, Mailbox::kMostAbsorbed);
        a_.branch(Cond::below, slow);
        a_.store_u8_imm({Reg::proc, kInReceiveExamine}, 1);
        a_.jump(found);
    });
    slow_path(slow, back);
    return true;
}

bool Emitter::emit_loop_rec_end() {
    const Operand* o = operands();
    const Label exhausted = a_.new_label();
    a_.store_u8_imm({Reg::proc, kInReceiveExamine}, 0);
    a_.load(Reg::t0, {Reg::proc, kMailboxSave});
    a_.load(Reg::t0, {Reg::t0, 0});  // the message, which begins with the link to the next; null: see mailbox_next()
    const Label gone = a_.new_label();
    a_.compare_imm(Reg::t0, 0);
    a_.branch(Cond::equal, gone);
    a_.store({Reg::proc, kMailboxSave}, Reg::t0);
    a_.bind(gone);
    a_.count_reduction(exhausted);
    a_.jump(label_of(o[0].index));
    cold([this, exhausted, live = i_->live, next = label_of(o[0].index)] {
        a_.bind(exhausted);
        a_.move_imm(Reg::t0, live);
        fragment(fragments_.yield);
        a_.jump(next);
    });
    return true;
}

bool Emitter::emit_remove_message() {
    a_.call_leaf_fragment(fragments_.remove_message);
    return true;
}

}  // namespace minivm::jit
