// x86-64. Register roles:
//
//   x0..x5  r15 r12 r8 r9 r10 r11      sched rbx   proc rbp   heap r13   reds r14   stack rsp
//   t0..t3  rax rdx rcx rsi            rdi: this file's own, for constants and addresses
//
// With frame pointers rbp holds the frame pointer, and the process is loaded from the scheduler where
// it is needed.
//
// rsp is the Erlang stack, so that call and ret are the machine's own; C++ runs on the scheduler's
// stack, and signal handlers on an alternate one.
#include "jit/asmjit_assembler.hpp"
#include "jit/layout.hpp"

#include <asmjit/x86.h>

#include <cstring>

namespace minivm::jit {
namespace {

namespace x86 = asmjit::x86;

constexpr int kRegIds[] = {15, 12, 8, 9, 10, 11, 0, 2, 1, 6, 3, 5, 13, 14, 4};
static_assert(sizeof(kRegIds) / sizeof(int) == static_cast<size_t>(Reg::count));

x86::Gp gp(Reg r) {
    return x86::gpq(static_cast<uint32_t>(kRegIds[static_cast<int>(r)]));
}
x86::Gp gp32(Reg r) {
    return x86::gpd(static_cast<uint32_t>(kRegIds[static_cast<int>(r)]));
}
x86::Gp gp8(Reg r) {
    return x86::gpb(static_cast<uint32_t>(kRegIds[static_cast<int>(r)]));
}
x86::Xmm xmm(FReg r) {
    return x86::xmm(static_cast<uint32_t>(r));
}
bool fits32(int64_t v) {
    return v == static_cast<int32_t>(v);
}

x86::CondCode condition(Cond c) {
    switch (c) {
        case Cond::equal:
            return x86::CondCode::kEqual;
        case Cond::not_equal:
            return x86::CondCode::kNotEqual;
        case Cond::less:
            return x86::CondCode::kSignedLT;
        case Cond::less_equal:
            return x86::CondCode::kSignedLE;
        case Cond::greater:
            return x86::CondCode::kSignedGT;
        case Cond::greater_equal:
            return x86::CondCode::kSignedGE;
        case Cond::below:
            return x86::CondCode::kUnsignedLT;
        case Cond::below_equal:
            return x86::CondCode::kUnsignedLE;
        case Cond::above:
            return x86::CondCode::kUnsignedGT;
        case Cond::above_equal:
            return x86::CondCode::kUnsignedGE;
        case Cond::overflow:
            return x86::CondCode::kOverflow;
        case Cond::no_overflow:
            return x86::CondCode::kNotOverflow;
    }
    return x86::CondCode::kEqual;
}

class Assembler final : public AsmjitAssembler<x86::Assembler> {
public:
    Assembler() : AsmjitAssembler(asmjit::Arch::kX64) {}

    void align(unsigned bytes) override { pad((bytes - offset() % bytes) % bytes); }
    void align_return_address() override { pad_return(0); }

    void move(Reg d, Reg s) override {
        if (s == Reg::proc && frame_pointers()) {
            a_.mov(gp(d), x86::qword_ptr(x86::rbx, kSchedProcess));
        } else if (d != s) {
            a_.mov(gp(d), gp(s));
        }
    }
    void move_imm(Reg d, uint64_t v) override {
        if (v == 0) {
            // Keeps the flags, unlike xor; callers may stand between a compare and its branch.
            a_.mov(gp32(d), 0);
        } else if (v <= 0xFFFFFFFF) {
            a_.mov(gp32(d), v);
        } else {
            a_.mov(gp(d), v);
        }
    }
    void load(Reg d, Mem m) override { a_.mov(gp(d), mem(m)); }
    void load_u32(Reg d, Mem m) override { a_.mov(gp32(d), x86::dword_ptr(base_of(m), m.offset)); }
    void load_u8(Reg d, Mem m) override { a_.movzx(gp32(d), x86::byte_ptr(base_of(m), m.offset)); }
    void load_indexed(Reg d, Reg base, Reg index, int32_t offset) override {
        a_.mov(gp(d), x86::qword_ptr(gp(base), gp(index), 0, offset));
    }
    void load_scaled(Reg d, Reg base, Reg index, int32_t offset) override {
        a_.mov(gp(d), x86::qword_ptr(gp(base), gp(index), 3, offset));
    }
    void load_bits(Reg d, Reg base, Reg index, unsigned bits) override {
        if (bits == 8) {
            a_.movzx(gp32(d), x86::byte_ptr(gp(base), gp(index)));
        } else if (bits == 16) {
            a_.movzx(gp32(d), x86::word_ptr(gp(base), gp(index)));
        } else {
            a_.mov(gp32(d), x86::dword_ptr(gp(base), gp(index)));
        }
    }
    void store(Mem m, Reg s) override { a_.mov(mem(m), gp(s)); }
    void store_imm(Mem m, uint64_t v) override {
        if (fits32(static_cast<int64_t>(v))) {
            a_.mov(mem(m), static_cast<int64_t>(v));
        } else {
            MINIVM_CHECK(m.base != Reg::proc);  // that may need rdi as well
            a_.mov(x86::rdi, v);
            a_.mov(mem(m), x86::rdi);
        }
    }
    void store_u8_imm(Mem m, uint8_t v) override { a_.mov(x86::byte_ptr(base_of(m), m.offset), v); }
    void lea(Reg d, Mem m) override { a_.lea(gp(d), mem(m)); }
    void load_label(Reg d, Label l) override { a_.lea(gp(d), x86::qword_ptr(label(l))); }
    void load_word_at(Reg d, Label l) override { a_.mov(gp(d), x86::qword_ptr(label(l))); }

    void add(Reg d, Reg s) override { a_.add(gp(d), gp(s)); }
    void sub(Reg d, Reg s) override { a_.sub(gp(d), gp(s)); }
    void sub_mem(Reg d, Mem m) override { a_.sub(gp(d), mem(m)); }
    void and_(Reg d, Reg s) override { a_.and_(gp(d), gp(s)); }
    void or_(Reg d, Reg s) override { a_.or_(gp(d), gp(s)); }
    void xor_(Reg d, Reg s) override { a_.xor_(gp(d), gp(s)); }
    void add_imm(Reg d, int64_t v) override { with_imm(x86::Inst::kIdAdd, d, v); }
    void sub_imm(Reg d, int64_t v) override { with_imm(x86::Inst::kIdSub, d, v); }
    void and_imm(Reg d, uint64_t v) override {
        with_imm(x86::Inst::kIdAnd, d, static_cast<int64_t>(v));
    }
    void or_imm(Reg d, uint64_t v) override {
        with_imm(x86::Inst::kIdOr, d, static_cast<int64_t>(v));
    }
    void xor_imm(Reg d, uint64_t v) override {
        with_imm(x86::Inst::kIdXor, d, static_cast<int64_t>(v));
    }
    void negate_reg(Reg d) override { a_.neg(gp(d)); }
    void shift_left(Reg d, unsigned n) override { a_.shl(gp(d), n); }
    void shift_right(Reg d, unsigned n) override { a_.shr(gp(d), n); }
    void shift_right_signed(Reg d, unsigned n) override { a_.sar(gp(d), n); }
    void shift_left_by(Reg d, Reg) override { a_.shl(gp(d), x86::cl); }
    void shift_right_by(Reg d, Reg) override { a_.shr(gp(d), x86::cl); }
    void shift_right_signed_by(Reg d, Reg) override { a_.sar(gp(d), x86::cl); }
    void rotate_left(Reg d, unsigned n) override { a_.rol(gp(d), n); }
    void multiply(Reg d, Reg s, Label overflow) override {
        a_.imul(gp(d), gp(s));
        a_.jo(label(overflow));
    }
    void divide(Reg s) override {
        a_.cqo();
        a_.idiv(gp(s));
    }
    void byte_swap(Reg d, unsigned bits) override {
        if (bits == 64) {
            a_.bswap(gp(d));
        } else {
            a_.bswap(gp32(d));
            if (bits == 16) {
                a_.shr(gp32(d), 16);
            }
        }
    }

    void compare(Reg a, Reg b) override { a_.cmp(gp(a), gp(b)); }
    void compare_imm(Reg a, int64_t v) override {
        if (v == 0) {
            a_.test(gp(a), gp(a));
        } else {
            with_imm(x86::Inst::kIdCmp, a, v);
        }
    }
    void compare_mem(Reg a, Mem m) override { a_.cmp(gp(a), mem(m)); }
    void compare_mem_imm(Mem m, int64_t v) override {
        if (fits32(v)) {
            a_.cmp(mem(m), v);
        } else {
            MINIVM_CHECK(m.base != Reg::proc);
            a_.mov(x86::rdi, v);
            a_.cmp(mem(m), x86::rdi);
        }
    }
    void compare_u32_imm(Mem m, uint32_t v) override {
        a_.cmp(x86::dword_ptr(base_of(m), m.offset), static_cast<int32_t>(v));
    }
    void compare_u8_imm(Mem m, uint8_t v) override {
        a_.cmp(x86::byte_ptr(base_of(m), m.offset), static_cast<int8_t>(v));
    }
    void test_imm(Reg a, uint32_t mask) override {
        if (mask <= 0x7F) {
            a_.test(gp8(a), mask);
        } else {
            a_.test(gp32(a), mask);
        }
    }
    void branch(Cond c, Label l) override { a_.j(condition(c), label(l)); }
    void branch_near(Cond c, Label l) override { a_.short_().j(condition(c), label(l)); }
    void jump(Label l) override { a_.jmp(label(l)); }
    void jump_near(Label l) override { a_.short_().jmp(label(l)); }
    void jump_reg(Reg r) override { a_.jmp(gp(r)); }
    void jump_address(const void* native) override { relative(0xE9, native); }
    void never_reached() override { a_.ud2(); }
    void move_if(Cond c, Reg d, Reg s) override { a_.cmov(condition(c), gp(d), gp(s)); }
    void test_table_bit(uint32_t table, Reg index, Reg scratch) override {
        // bt takes the index modulo 32; the carry is the bit.
        a_.mov(gp32(scratch), table);
        a_.bt(gp32(scratch), gp32(index));
        a_.sbb(gp32(scratch), gp32(scratch));  // 0 and equal: the bit is clear
    }

    void call(Label l) override {
        pad_return(5);
        a_.call(label(l));
    }
    void call_reg(Reg r) override {
        pad_return(kRegIds[static_cast<int>(r)] >= 8 ? 3 : 2);
        a_.call(gp(r));
    }
    void call_address(const void* native) override {
        pad_return(5);
        relative(0xE8, native);
    }
    void call_leaf_fragment(const void* native) override { relative(0xE8, native); }
    void leaf_return() override { a_.ret(); }
    void tail_call(Label l) override { jump(l); }
    void tail_call_reg(Reg r) override { jump_reg(r); }
    void tail_call_address(const void* native) override { jump_address(native); }
    void ret() override { a_.ret(); }
    void function_entry(Label entry, const void* breakpoint_fragment) override {
        align(8);
        bind(entry);
        // test eax, imm32: it changes only the flags, which nobody uses here. Arming a breakpoint
        // writes one byte over the opcode and makes it call rel32.
        relative(0xA9, breakpoint_fragment);
    }
    void fragment_entry() override {}
    void count_reduction(Label l) override {
        a_.dec(gp(Reg::reds));
        a_.jle(label(l));
    }

    void enter_frame() override {
        if (frame_pointers()) {
            a_.push(x86::rbp);
            a_.mov(x86::rbp, x86::rsp);
        }
    }
    void leave_frame() override {
        if (frame_pointers()) {
            a_.pop(x86::rbp);
        }
    }

    void call_runtime(const void* fn, Caller caller) override {
        const x86::Gp process = process_to_register();
        a_.mov(x86::qword_ptr(process, kHeapTop), gp(Reg::heap));
        a_.mov(x86::qword_ptr(process, kReductions), gp(Reg::reds));
        to_scheduler_stack(process, caller);
        // C++: rdi, rsi, rdx, rcx; t1 and t2 are in place.
        a_.mov(x86::rdi, x86::rbx);
        a_.mov(x86::rsi, x86::rax);
        call_absolute(fn);
        process_to_register();
        a_.mov(gp(Reg::stack), x86::qword_ptr(process, kHeapEnd));
        on_scheduler_stack_.back().end = offset();
        if (frame_pointers()) {
            a_.mov(x86::rbp, x86::qword_ptr(process, kFramePointer));
        }
        a_.mov(gp(Reg::reds), x86::qword_ptr(process, kReductions));
        a_.mov(gp(Reg::heap), x86::qword_ptr(process, kHeapTop));
    }
    void call_leaf(const void* fn, Caller caller) override {
        to_scheduler_stack(process_to_register(), caller);
        a_.mov(x86::rdi, x86::rax);
        a_.mov(x86::rsi, x86::rdx);
        a_.mov(x86::rdx, gp(Reg::t2));
        call_keeping_x(fn);
        from_scheduler_stack(process_to_register(), caller);
    }
    void call_heap_leaf(const void* fn, Caller caller) override {
        const x86::Gp process = process_to_register();
        a_.mov(x86::qword_ptr(process, kHeapTop), gp(Reg::heap));
        to_scheduler_stack(process, caller);
        // C++: rdi, rsi, rdx, rcx; t1 and t2 are in place.
        move(Reg::t3, Reg::t0);
        if (frame_pointers()) {
            process_to_register();
        } else {
            a_.mov(x86::rdi, x86::rbp);
        }
        call_keeping_x(fn);
        from_scheduler_stack(process_to_register(), caller);
        a_.mov(gp(Reg::heap), x86::qword_ptr(process, kHeapTop));
    }
    void emit_enter() override {
        for (auto r : {x86::rbx, x86::rbp, x86::r12, x86::r13, x86::r14, x86::r15}) {
            a_.push(r);
        }
        a_.sub(x86::rsp, 8);
        a_.mov(x86::rbx, x86::rdi);
        a_.mov(x86::rdi, x86::rdx);
        store({Reg::sched, kCStack}, Reg::stack);
        a_.mov(gp(Reg::heap), x86::qword_ptr(x86::rsi, kHeapTop));
        a_.mov(gp(Reg::reds), x86::qword_ptr(x86::rsi, kReductions));
        a_.mov(gp(Reg::stack), x86::qword_ptr(x86::rsi, kHeapEnd));
        if (frame_pointers()) {
            a_.mov(x86::rbp, x86::qword_ptr(x86::rsi, kFramePointer));
        } else {
            a_.mov(x86::rbp, x86::rsi);
        }
        for (int i = 0; i < kMachineXRegisters; ++i) {
            load(static_cast<Reg>(i), {Reg::sched, 8 * i});
        }
        a_.jmp(x86::rdi);
    }
    void emit_leave() override {
        for (int i = 0; i < kMachineXRegisters; ++i) {
            store({Reg::sched, 8 * i}, static_cast<Reg>(i));
        }
        const x86::Gp process = process_to_register();
        a_.mov(x86::qword_ptr(process, kHeapTop), gp(Reg::heap));
        a_.mov(x86::qword_ptr(process, kReductions), gp(Reg::reds));
        a_.mov(x86::qword_ptr(process, kHeapEnd), gp(Reg::stack));
        if (frame_pointers()) {
            a_.mov(x86::qword_ptr(process, kFramePointer), x86::rbp);
        }
        load(Reg::stack, {Reg::sched, kCStack});
        a_.add(x86::rsp, 8);
        for (auto r : {x86::r15, x86::r14, x86::r13, x86::r12, x86::rbp, x86::rbx}) {
            a_.pop(r);
        }
        a_.ret();
    }

    void move_to_float(FReg d, Reg s) override { a_.movq(xmm(d), gp(s)); }
    void move_from_float(Reg d, FReg s) override { a_.movq(gp(d), xmm(s)); }
    void load_float(FReg d, Mem m) override { a_.movsd(xmm(d), mem(m)); }
    void store_float(Mem m, FReg s) override { a_.movsd(mem(m), xmm(s)); }
    void float_from_int(FReg d, Reg s) override {
        a_.pxor(xmm(d), xmm(d));
        a_.cvtsi2sd(xmm(d), gp(s));
    }
    void float_move(FReg d, FReg s) override {
        if (d != s) {
            a_.movaps(xmm(d), xmm(s));
        }
    }
    void float_add(FReg d, FReg s) override { a_.addsd(xmm(d), xmm(s)); }
    void float_sub(FReg d, FReg s) override { a_.subsd(xmm(d), xmm(s)); }
    void float_mul(FReg d, FReg s) override { a_.mulsd(xmm(d), xmm(s)); }
    void float_div(FReg d, FReg s) override { a_.divsd(xmm(d), xmm(s)); }
    void float_negate(FReg d) override {
        a_.movq(x86::rdi, xmm(d));
        a_.btc(x86::rdi, 63);
        a_.movq(xmm(d), x86::rdi);
    }
    void float_compare(FReg a, FReg b) override { a_.ucomisd(xmm(a), xmm(b)); }
    void branch_unless_finite(FReg s, FReg scratch, Label l) override {
        // A finite number less itself is zero, all others give no number.
        a_.movaps(xmm(scratch), xmm(s));
        a_.subsd(xmm(scratch), xmm(scratch));
        a_.ucomisd(xmm(scratch), xmm(scratch));
        a_.jp(label(l));
    }

    const std::vector<CodeSpan>& on_scheduler_stack() const override { return on_scheduler_stack_; }
    void copy_to(void* to, uint64_t base) override {
        uint8_t* const out = copy_text(to, base);
        for (const Relative& r : relatives_) {
            const int64_t distance =
                static_cast<int64_t>(r.target) - static_cast<int64_t>(base + r.at + 4);
            MINIVM_CHECK(fits32(distance));  // all code memory lies in one range
            const auto d = static_cast<int32_t>(distance);
            std::memcpy(out + r.at, &d, 4);
        }
    }
    uint32_t entry_skip() const override { return 0; }
    BreakpointPatch breakpoint_patch(uint64_t, uint64_t) const override {
        return {0, 1, 0xE8, 0xA9, 5};  // call for test, before the same distance
    }

private:
    struct Relative {
        uint32_t at;  // of the 32-bit distance
        uint64_t target;
    };

    // The register with a memory operand's base. It may be rdi: nothing between loading and using it
    // takes rdi. The flags stay.
    x86::Gp base_of(Mem m) { return m.base == Reg::proc ? process_to_register() : gp(m.base); }
    x86::Mem mem(Mem m) { return x86::qword_ptr(base_of(m), m.offset); }
    x86::Gp process_to_register() {
        if (!frame_pointers()) {
            return x86::rbp;
        }
        a_.mov(x86::rdi, x86::qword_ptr(x86::rbx, kSchedProcess));
        return x86::rdi;
    }
    // `process`: the register that holds the process. With frame pointers, pushes a frame that shows
    // profilers the caller on top of the Erlang stack; rdi and t3 are lost then.
    void to_scheduler_stack(x86::Gp process, Caller caller) {
        a_.mov(x86::qword_ptr(process, kHeapEnd), gp(Reg::stack));
        if (frame_pointers()) {
            a_.mov(x86::qword_ptr(process, kFramePointer), x86::rbp);
            if (caller == Caller::on_top) {
                a_.mov(gp(Reg::t3), x86::qword_ptr(x86::rsp));
            }
        }
        load(Reg::stack, {Reg::sched, kCStack});
        on_scheduler_stack_.push_back({offset(), 0});
        if (frame_pointers() && caller == Caller::on_top) {
            a_.push(gp(Reg::t3));
            a_.push(x86::rbp);
            a_.mov(x86::rbp, x86::rsp);
        }
    }
    void from_scheduler_stack(x86::Gp process, Caller caller) {
        if (frame_pointers() && caller == Caller::on_top) {
            a_.mov(x86::rbp, x86::qword_ptr(process, kFramePointer));
        }
        a_.mov(gp(Reg::stack), x86::qword_ptr(process, kHeapEnd));
        on_scheduler_stack_.back().end = offset();
    }

    void pad(unsigned bytes) {
        static const uint8_t nops[9][8] = {{},
                                           {0x90},
                                           {0x66, 0x90},
                                           {0x0F, 0x1F, 0x00},
                                           {0x0F, 0x1F, 0x40, 0x00},
                                           {0x0F, 0x1F, 0x44, 0x00, 0x00},
                                           {0x66, 0x0F, 0x1F, 0x44, 0x00, 0x00},
                                           {0x0F, 0x1F, 0x80, 0x00, 0x00, 0x00, 0x00},
                                           {0x0F, 0x1F, 0x84, 0x00, 0x00, 0x00, 0x00, 0x00}};
        code_.setLogger(nullptr);
        const uint32_t before = offset();
        for (; bytes > 0; bytes -= bytes > 8 ? 8 : bytes) {
            const unsigned n = bytes > 8 ? 8 : bytes;
            a_.embed(nops[n], n);
        }
        if (logger_) {
            logger_->padding(offset() - before);
            code_.setLogger(logger_.get());
        }
    }
    // So that what follows an instruction of `length` bytes is 4 modulo 8.
    void pad_return(unsigned length) { pad((12 - (offset() + length) % 8) % 8); }
    // opcode rel32, to an address outside this code.
    void relative(uint8_t opcode, const void* target) {
        // Listed as the instruction it is, and not as the data that asmjit takes it for.
        code_.setLogger(nullptr);
        a_.embedUInt8(opcode);
        relatives_.push_back({offset(), reinterpret_cast<uint64_t>(target)});
        a_.embedUInt32(0);
        if (logger_) {
            logger_->instruction(5,
                                 opcode == 0xA9   ? "test eax,"
                                 : opcode == 0xE8 ? "call"
                                                  : "jmp",
                                 reinterpret_cast<uint64_t>(target));
            code_.setLogger(logger_.get());
        }
    }
    void call_keeping_x(const void* fn) {
        // x2..x5 are the caller's to keep. Four words: the stack stays aligned.
        for (Reg r : {Reg::x2, Reg::x3, Reg::x4, Reg::x5}) {
            a_.push(gp(r));
        }
        call_absolute(fn);
        for (Reg r : {Reg::x5, Reg::x4, Reg::x3, Reg::x2}) {
            a_.pop(gp(r));
        }
    }
    void call_absolute(const void* fn) {
        a_.mov(x86::eax, reinterpret_cast<uint64_t>(fn));  // the program is linked low (no-pie)
        a_.call(x86::rax);
    }
    void with_imm(uint32_t instruction, Reg d, int64_t v) {
        if (fits32(v)) {
            a_.emit(instruction, gp(d), asmjit::imm(v));
        } else {
            a_.mov(x86::rdi, v);
            a_.emit(instruction, gp(d), x86::rdi);
        }
    }

    x86::Assembler& a_ = assembler_;
    std::vector<CodeSpan> on_scheduler_stack_;
    std::vector<Relative> relatives_;
};

}  // namespace

std::unique_ptr<MacroAssembler> new_x86_64_assembler() {
    return std::make_unique<Assembler>();
}

}  // namespace minivm::jit
