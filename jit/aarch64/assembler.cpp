// aarch64. Register roles:
//
//   x0..x4  x24 x25 x26 x27 x28   x5  x5      sched x19   proc x23   heap x21   reds x22
//   t0..t3  x1 x2 x3 x4                       stack x20
//   x16 x17: this file's own, for constants and addresses; x29: the frame pointer, if there is one
//
// sp stays the C++ stack, so that calls of C++ need no switch; the Erlang stack is x20's. A call
// leaves its return address in x30, and the first instruction of what is called pushes it, so that
// the stack looks as on every machine; return pops it again. Between, x30 holds nothing.
#include "jit/asmjit_assembler.hpp"
#include "jit/layout.hpp"

// Debian installs no asmjit/a64.h.
#include <asmjit/arm/a64assembler.h>
#include <asmjit/arm/a64utils.h>

#include <cstring>

namespace minivm::jit {
namespace {

namespace a64 = asmjit::a64;

constexpr int kRegIds[] = {24, 25, 26, 27, 28, 5, 1, 2, 3, 4, 19, 23, 21, 22, 20};
static_assert(sizeof(kRegIds) / sizeof(int) == static_cast<size_t>(Reg::count));

const a64::Gp kAddress = a64::x16;  // an offset or address that no instruction can hold
const a64::Gp kValue = a64::x17;    // a constant or an operand in memory
const a64::Gp kReturn = a64::x30;
const a64::Gp kFrame = a64::x29;

constexpr int64_t kBranchReach = int64_t{1} << 20;  // of a conditional branch
constexpr int64_t kCallReach = int64_t{1} << 27;    // of B and BL

// A conditional branch forward whose label is not bound yet after kIslandAge bytes goes by an
// island: unconditional branches among the code. An island serves all branches that are older than
// kIslandKeep, so islands are kIslandAge - kIslandKeep apart; and as a branch and its test take 8
// bytes or more, an island has at most half that size.
constexpr uint32_t kIslandAge = 640 * 1024;
constexpr uint32_t kIslandKeep = 384 * 1024;
static_assert(kIslandAge + (kIslandAge - kIslandKeep) < kBranchReach);

a64::Gp gp(Reg r) {
    return a64::x(static_cast<uint32_t>(kRegIds[static_cast<int>(r)]));
}
a64::Gp gp32(Reg r) {
    return a64::w(static_cast<uint32_t>(kRegIds[static_cast<int>(r)]));
}
a64::Vec fp(FReg r) {
    // d8 to d15 are C++'s to keep, and native code leaves them alone.
    const auto n = static_cast<uint32_t>(r);
    return a64::d(n < static_cast<uint32_t>(FReg::kept) ? n : n + 13);
}

// The number of a condition in an instruction.
uint32_t condition(Cond c) {
    switch (c) {
        case Cond::equal:
            return 0;
        case Cond::not_equal:
            return 1;
        case Cond::above_equal:
            return 2;
        case Cond::below:
            return 3;
        case Cond::overflow:
            return 6;
        case Cond::no_overflow:
            return 7;
        case Cond::above:
            return 8;
        case Cond::below_equal:
            return 9;
        case Cond::greater_equal:
            return 10;
        case Cond::less:
            return 11;
        case Cond::greater:
            return 12;
        case Cond::less_equal:
            return 13;
    }
    return 0;
}

// What ADD and SUB hold: 12 bits, or 12 bits with 12 zeros below.
bool fits_add(uint64_t v) {
    return v <= 0xFFF || (v & ~uint64_t{0xFFF000}) == 0;
}

class Assembler final : public AsmjitAssembler<a64::Assembler> {
public:
    Assembler() : AsmjitAssembler(asmjit::Arch::kAArch64) {}

    void align(unsigned bytes) override {
        while (offset() % bytes != 0) {
            no_operation();
        }
    }
    void align_return_address() override {
        if (offset() % 8 != 4) {
            no_operation();
        }
    }

    void move(Reg d, Reg s) override {
        if (d != s) {
            a().mov(gp(d), gp(s));
        }
    }
    void move_imm(Reg d, uint64_t v) override { a().mov(gp(d), v); }
    void load(Reg d, Mem m) override { a().ldr(gp(d), mem(m, 8)); }
    void load_u32(Reg d, Mem m) override { a().ldr(gp32(d), mem(m, 4)); }
    void load_u8(Reg d, Mem m) override { a().ldrb(gp32(d), mem(m, 1)); }
    void load_indexed(Reg d, Reg base, Reg index, int32_t offset) override {
        if (offset == 0) {
            a().ldr(gp(d), a64::ptr(gp(base), gp(index)));
        } else {
            a().add(kValue, gp(base), gp(index));
            a().ldr(gp(d), mem(kValue, offset, 8));
        }
    }
    void load_scaled(Reg d, Reg base, Reg index, int32_t offset) override {
        if (offset == 0) {
            a().ldr(gp(d), a64::ptr(gp(base), gp(index), a64::lsl(3)));
        } else {
            a().add(kValue, gp(base), gp(index), a64::lsl(3));
            a().ldr(gp(d), mem(kValue, offset, 8));
        }
    }
    void load_bits(Reg d, Reg base, Reg index, unsigned bits) override {
        const a64::Mem from = a64::ptr(gp(base), gp(index));
        if (bits == 8) {
            a().ldrb(gp32(d), from);
        } else if (bits == 16) {
            a().ldrh(gp32(d), from);
        } else {
            a().ldr(gp32(d), from);
        }
    }
    void store(Mem m, Reg s) override { a().str(gp(s), mem(m, 8)); }
    void store_imm(Mem m, uint64_t v) override {
        a64::Gp value = a64::xzr;
        if (v != 0) {
            value = kValue;
            a().mov(value, v);
        }
        a().str(value, mem(m, 8));
    }
    void store_u8_imm(Mem m, uint8_t v) override {
        a64::Gp value = a64::wzr;
        if (v != 0) {
            value = kValue.w();
            a().mov(value, v);
        }
        a().strb(value, mem(m, 1));
    }
    void lea(Reg d, Mem m) override { add_without_flags(gp(d), gp(m.base), m.offset); }
    void load_label(Reg d, Label l) override {
        page_of(gp(d), l, Page::kAdd);
        assembler_.add(gp(d), gp(d), 0);
    }
    void load_word_at(Reg d, Label l) override {
        page_of(gp(d), l, Page::kLoad);
        assembler_.ldr(gp(d), a64::ptr(gp(d)));
    }

    void add(Reg d, Reg s) override { a().adds(gp(d), gp(d), gp(s)); }
    void sub(Reg d, Reg s) override { a().subs(gp(d), gp(d), gp(s)); }
    void sub_mem(Reg d, Mem m) override {
        a().ldr(kValue, mem(m, 8));
        a().subs(gp(d), gp(d), kValue);
    }
    void and_(Reg d, Reg s) override { a().and_(gp(d), gp(d), gp(s)); }
    void or_(Reg d, Reg s) override { a().orr(gp(d), gp(d), gp(s)); }
    void xor_(Reg d, Reg s) override { a().eor(gp(d), gp(d), gp(s)); }
    void add_imm(Reg d, int64_t v) override {
        const uint64_t bits = static_cast<uint64_t>(v);
        if (fits_add(bits)) {
            a().adds(gp(d), gp(d), bits);
        } else if (fits_add(-bits)) {
            a().subs(gp(d), gp(d), -bits);
        } else {
            a().adds(gp(d), gp(d), constant(bits));
        }
    }
    void sub_imm(Reg d, int64_t v) override {
        const uint64_t bits = static_cast<uint64_t>(v);
        if (fits_add(bits)) {
            a().subs(gp(d), gp(d), bits);
        } else if (fits_add(-bits)) {
            a().adds(gp(d), gp(d), -bits);
        } else {
            a().subs(gp(d), gp(d), constant(bits));
        }
    }
    void and_imm(Reg d, uint64_t v) override {
        if (a64::Utils::isLogicalImm(v, 64)) {
            a().and_(gp(d), gp(d), v);
        } else {
            a().and_(gp(d), gp(d), constant(v));
        }
    }
    void or_imm(Reg d, uint64_t v) override {
        if (a64::Utils::isLogicalImm(v, 64)) {
            a().orr(gp(d), gp(d), v);
        } else {
            a().orr(gp(d), gp(d), constant(v));
        }
    }
    void xor_imm(Reg d, uint64_t v) override {
        if (a64::Utils::isLogicalImm(v, 64)) {
            a().eor(gp(d), gp(d), v);
        } else {
            a().eor(gp(d), gp(d), constant(v));
        }
    }
    void negate_reg(Reg d) override { a().negs(gp(d), gp(d)); }
    void shift_left(Reg d, unsigned n) override { a().lsl(gp(d), gp(d), n); }
    void shift_right(Reg d, unsigned n) override { a().lsr(gp(d), gp(d), n); }
    void shift_right_signed(Reg d, unsigned n) override { a().asr(gp(d), gp(d), n); }
    void shift_left_by(Reg d, Reg count) override { a().lsl(gp(d), gp(d), gp(count)); }
    void shift_right_by(Reg d, Reg count) override { a().lsr(gp(d), gp(d), gp(count)); }
    void shift_right_signed_by(Reg d, Reg count) override { a().asr(gp(d), gp(d), gp(count)); }
    void rotate_left(Reg d, unsigned n) override { a().ror(gp(d), gp(d), (64 - n) % 64); }
    void multiply(Reg d, Reg s, Label overflow) override {
        // It fits if the upper half is the sign of the lower one.
        a().smulh(kValue, gp(d), gp(s));
        a().mul(gp(d), gp(d), gp(s));
        a().cmp(kValue, gp(d), a64::asr(63));
        branch(Cond::not_equal, overflow);
    }
    void divide(Reg s) override {
        a().sdiv(kValue, gp(Reg::t0), gp(s));
        a().msub(gp(Reg::t1), kValue, gp(s), gp(Reg::t0));
        a().mov(gp(Reg::t0), kValue);
    }
    void byte_swap(Reg d, unsigned bits) override {
        if (bits == 64) {
            a().rev(gp(d), gp(d));
        } else {
            a().rev(gp32(d), gp32(d));
            if (bits == 16) {
                a().lsr(gp32(d), gp32(d), 16);
            }
        }
    }

    void compare(Reg x, Reg y) override { a().cmp(gp(x), gp(y)); }
    void compare_imm(Reg x, int64_t v) override { compare_constant(gp(x), v); }
    void compare_mem(Reg x, Mem m) override {
        a().ldr(kValue, mem(m, 8));
        a().cmp(gp(x), kValue);
    }
    void compare_mem_imm(Mem m, int64_t v) override {
        a().ldr(kValue, mem(m, 8));
        compare_constant(kValue, v);
    }
    void compare_u32_imm(Mem m, uint32_t v) override {
        a().ldr(kValue.w(), mem(m, 4));
        compare_constant(kValue, v);
    }
    void compare_u8_imm(Mem m, uint8_t v) override {
        a().ldrb(kValue.w(), mem(m, 1));
        compare_constant(kValue, v);
    }
    void test_imm(Reg x, uint32_t mask) override {
        if (a64::Utils::isLogicalImm(mask, 64)) {
            a().tst(gp(x), mask);
        } else {
            a().tst(gp(x), constant(mask));
        }
    }
    void branch(Cond c, Label l) override {
        make_room();
        const uint32_t at = offset();
        if (!code_.isLabelBound(label(l))) {
            branches_.push_back({at, l.id, 0});
            if (island_at_ == UINT32_MAX) {
                island_at_ = at + kIslandAge;
            }
            word(kBranchIf | condition(c));
            return;
        }
        const int64_t distance = static_cast<int64_t>(offset_of(l)) - at;
        if (distance >= -kBranchReach) {
            word(kBranchIf | condition(c) | immediate(distance, 19, 5));
        } else {
            word(kBranchIf | condition(negate(c)) | immediate(8, 19, 5));
            assembler_.b(label(l));
        }
    }
    void branch_near(Cond c, Label l) override { branch(c, l); }
    void jump(Label l) override { a().b(label(l)); }
    void jump_near(Label l) override { jump(l); }
    void jump_reg(Reg r) override { a().br(gp(r)); }
    void jump_address(const void* native) override {
        make_room();
        outside(kBranch, native);
    }
    void never_reached() override {
        make_room();
        word(kUndefined);
    }
    void move_if(Cond c, Reg d, Reg s) override {
        // asmjit counts from AL, the machine from EQ.
        a().csel(gp(d), gp(s), gp(d), asmjit::imm(condition(c) + 2));
    }
    void test_table_bit(uint32_t table, Reg index, Reg scratch) override {
        // A shift of 32 bits takes its count modulo 32.
        a().mov(kValue.w(), table);
        a().lsr(gp32(scratch), kValue.w(), gp32(index));
        a().ands(gp32(scratch), gp32(scratch), 1);
    }

    void call(Label l) override {
        pad_call();
        assembler_.bl(label(l));
    }
    void call_reg(Reg r) override {
        pad_call();
        assembler_.blr(gp(r));
    }
    void call_address(const void* native) override {
        pad_call();
        outside(kBranchLink, native);
    }
    void call_leaf_fragment(const void* native) override {
        make_room();
        outside(kBranchLink, native);
    }
    void leaf_return() override { a().ret(kReturn); }
    void tail_call(Label l) override {
        pop_return();
        jump(l);
    }
    void tail_call_reg(Reg r) override {
        pop_return();
        jump_reg(r);
    }
    void tail_call_address(const void* native) override {
        pop_return();
        jump_address(native);
    }
    void ret() override {
        pop_return();
        a().ret(kReturn);
    }
    void function_entry(Label entry, const void*) override {
        make_room();
        // The slot's address is a multiple of 8, and so the return address of the BL that a
        // breakpoint puts there looks as those of calls do.
        align_return_address();
        bind(entry);
        push_return();
        no_operation();
    }
    void fragment_entry() override {
        make_room();
        push_return();
    }
    void count_reduction(Label l) override {
        a().subs(gp(Reg::reds), gp(Reg::reds), 1);
        branch(Cond::less_equal, l);
    }

    void enter_frame() override {
        if (frame_pointers()) {
            a().str(kFrame, a64::ptr_pre(gp(Reg::stack), -8));
            a().mov(kFrame, gp(Reg::stack));
        }
    }
    void leave_frame() override {
        if (frame_pointers()) {
            a().ldr(kFrame, a64::ptr_post(gp(Reg::stack), 8));
        }
    }

    void call_runtime(const void* fn, Caller caller) override {
        store({Reg::proc, kHeapTop}, Reg::heap);
        store({Reg::proc, kReductions}, Reg::reds);
        store({Reg::proc, kHeapEnd}, Reg::stack);
        push_record(caller);
        // C++: x0, x1, x2, x3; t0, t1 and t2 are in place.
        a().mov(a64::x0, gp(Reg::sched));
        call_absolute(fn);
        a().mov(gp(Reg::t0), a64::x0);
        drop_record(caller);
        if (frame_pointers()) {
            a().ldr(kFrame, mem({Reg::proc, kFramePointer}, 8));
        }
        load(Reg::stack, {Reg::proc, kHeapEnd});
        load(Reg::reds, {Reg::proc, kReductions});
        load(Reg::heap, {Reg::proc, kHeapTop});
    }
    void call_leaf(const void* fn, Caller caller) override {
        a().str(gp(Reg::x5), a64::ptr_pre(a64::sp, -16));
        push_record(caller);
        a().mov(a64::x0, gp(Reg::t0));
        a().mov(a64::x1, gp(Reg::t1));
        a().mov(a64::x2, gp(Reg::t2));
        call_absolute(fn);
        a().mov(gp(Reg::t0), a64::x0);
        drop_record(caller);
        a().ldr(gp(Reg::x5), a64::ptr_post(a64::sp, 16));
    }
    void call_heap_leaf(const void* fn, Caller caller) override {
        store({Reg::proc, kHeapTop}, Reg::heap);
        store({Reg::proc, kHeapEnd}, Reg::stack);
        a().str(gp(Reg::x5), a64::ptr_pre(a64::sp, -16));
        push_record(caller);
        // C++: x0, x1, x2, x3; t0, t1 and t2 are in place.
        a().mov(a64::x0, gp(Reg::proc));
        call_absolute(fn);
        a().mov(gp(Reg::t0), a64::x0);
        drop_record(caller);
        a().ldr(gp(Reg::x5), a64::ptr_post(a64::sp, 16));
        load(Reg::heap, {Reg::proc, kHeapTop});
    }
    void emit_enter() override {
        // A frame record on top, for whoever walks the C++ stack. Native code leaves d8..d15 alone,
        // and x29 unless it keeps frame pointers.
        make_room();
        assembler_.stp(a64::x29, a64::x30, a64::ptr_pre(a64::sp, -kSavedBytes));
        assembler_.mov(a64::x29, a64::sp);
        for (uint32_t n = 0; n < kSavedPairs; ++n) {
            assembler_.stp(a64::x(19 + 2 * n), a64::x(20 + 2 * n), saved_pair(n));
        }
        assembler_.mov(gp(Reg::sched), a64::x0);
        assembler_.mov(gp(Reg::proc), a64::x1);
        assembler_.mov(kReturn, a64::x2);
        assembler_.mov(kValue, a64::sp);
        assembler_.str(kValue, mem({Reg::sched, kCStack}, 8));
        load(Reg::heap, {Reg::proc, kHeapTop});
        load(Reg::reds, {Reg::proc, kReductions});
        load(Reg::stack, {Reg::proc, kHeapEnd});
        if (frame_pointers()) {
            assembler_.ldr(kFrame, mem({Reg::proc, kFramePointer}, 8));
        }
        for (int i = 0; i < kMachineXRegisters; ++i) {
            load(static_cast<Reg>(i), {Reg::sched, 8 * i});
        }
        assembler_.br(kReturn);
    }
    void emit_leave() override {
        for (int i = 0; i < kMachineXRegisters; ++i) {
            store({Reg::sched, 8 * i}, static_cast<Reg>(i));
        }
        store({Reg::proc, kHeapTop}, Reg::heap);
        store({Reg::proc, kReductions}, Reg::reds);
        store({Reg::proc, kHeapEnd}, Reg::stack);
        if (frame_pointers()) {
            a().str(kFrame, mem({Reg::proc, kFramePointer}, 8));
        }
        for (uint32_t n = 0; n < kSavedPairs; ++n) {
            assembler_.ldp(a64::x(19 + 2 * n), a64::x(20 + 2 * n), saved_pair(n));
        }
        assembler_.ldp(a64::x29, a64::x30, a64::ptr_post(a64::sp, kSavedBytes));
        assembler_.ret(a64::x30);
    }

    void move_to_float(FReg d, Reg s) override { a().fmov(fp(d), gp(s)); }
    void move_from_float(Reg d, FReg s) override { a().fmov(gp(d), fp(s)); }
    void load_float(FReg d, Mem m) override { a().ldr(fp(d), mem(m, 8)); }
    void store_float(Mem m, FReg s) override { a().str(fp(s), mem(m, 8)); }
    void float_from_int(FReg d, Reg s) override { a().scvtf(fp(d), gp(s)); }
    void float_move(FReg d, FReg s) override {
        if (d != s) {
            a().fmov(fp(d), fp(s));
        }
    }
    void float_add(FReg d, FReg s) override { a().fadd(fp(d), fp(d), fp(s)); }
    void float_sub(FReg d, FReg s) override { a().fsub(fp(d), fp(d), fp(s)); }
    void float_mul(FReg d, FReg s) override { a().fmul(fp(d), fp(d), fp(s)); }
    void float_div(FReg d, FReg s) override { a().fdiv(fp(d), fp(d), fp(s)); }
    void float_negate(FReg d) override { a().fneg(fp(d), fp(d)); }
    void float_compare(FReg x, FReg y) override { a().fcmp(fp(x), fp(y)); }
    void branch_unless_finite(FReg s, FReg scratch, Label l) override {
        // A finite number less itself is zero, all others give no number: unordered.
        a().fsub(fp(scratch), fp(s), fp(s));
        a().fcmp(fp(scratch), fp(scratch));
        branch(Cond::overflow, l);
    }

    // C++ keeps the Erlang stack's register, and sp is always the scheduler's.
    const std::vector<CodeSpan>& on_scheduler_stack() const override {
        static const std::vector<CodeSpan> none;
        return none;
    }
    void copy_to(void* to, uint64_t base) override {
        uint8_t* const out = copy_text(to, base);
        for (const Branch& b : branches_) {
            const uint64_t target = b.island != 0 ? b.island : label_offset(b.label);
            const int64_t distance = static_cast<int64_t>(target) - b.at;
            MINIVM_CHECK(distance >= -kBranchReach && distance < kBranchReach);
            patch(out + b.at, immediate(distance, 19, 5));
        }
        for (const Outside& o : outside_) {
            const int64_t distance = static_cast<int64_t>(o.target - (base + o.at));
            // The shared fragments lie in the middle of all code memory.
            MINIVM_CHECK(distance >= -kCallReach && distance < kCallReach && distance % 4 == 0);
            patch(out + o.at, immediate(distance, 26, 0));
        }
        for (const Page& p : pages_) {
            const uint64_t address = base + label_offset(p.label);
            const int64_t pages =
                static_cast<int64_t>(address >> 12) - static_cast<int64_t>((base + p.at) >> 12);
            patch(out + p.at, static_cast<uint32_t>(pages & 3) << 29 |
                                  (static_cast<uint32_t>(pages >> 2) & 0x7FFFF) << 5);
            const auto in_page = static_cast<uint32_t>(address & 0xFFF);
            if (p.next == Page::kLoad) {
                MINIVM_CHECK(in_page % 8 == 0);
            }
            patch(out + p.at + 4, (p.next == Page::kLoad ? in_page / 8 : in_page) << 10);
        }
    }
    uint32_t entry_skip() const override { return 4; }
    BreakpointPatch breakpoint_patch(uint64_t entry, uint64_t fragment) const override {
        const auto distance = static_cast<int64_t>(fragment - (entry + 4));
        return {4, 4, kBranchLink | immediate(distance, 26, 0), kNop, 8};
    }

private:
    static constexpr uint32_t kNop = 0xD503201F;
    static constexpr uint32_t kBranch = 0x14000000;
    static constexpr uint32_t kBranchLink = 0x94000000;
    static constexpr uint32_t kBranchIf = 0x54000000;
    static constexpr uint32_t kUndefined = 0;
    static constexpr uint32_t kSavedPairs = 5;  // x19 ... x28
    static constexpr int32_t kSavedBytes = 16 * (1 + kSavedPairs);

    struct Branch {
        uint32_t at;
        uint32_t label;
        uint32_t island;  // 0: the branch reaches its label
    };
    struct Outside {
        uint32_t at;
        uint64_t target;
    };
    struct Page {
        enum Next : uint8_t { kAdd, kLoad };
        uint32_t at;  // of ADRP; behind it ADD, or a load of 8 bytes
        uint32_t label;
        Next next;
    };

    // Every instruction is emitted through a(), or directly behind one that was or behind make_room().
    a64::Assembler& a() {
        make_room();
        return assembler_;
    }
    void make_room() {
        if (offset() >= island_at_) {
            make_island();
        }
    }
    void make_island() {
        const uint32_t now = offset();
        const size_t from = first_open_;
        uint32_t size = 0;
        for (; first_open_ < branches_.size(); ++first_open_) {
            const Branch& b = branches_[first_open_];
            if (now - b.at < kIslandKeep) {
                break;
            }
            size += code_.isLabelBound(asmjit::Label(b.label)) ? 0 : 4;
        }
        island_at_ =
            first_open_ < branches_.size() ? branches_[first_open_].at + kIslandAge : UINT32_MAX;
        if (size == 0) {
            return;
        }
        word(kBranch | immediate(4 + size, 26, 0));
        for (size_t k = from; k < first_open_; ++k) {
            Branch& b = branches_[k];
            if (!code_.isLabelBound(asmjit::Label(b.label))) {
                b.island = offset();
                assembler_.b(asmjit::Label(b.label));
            }
        }
    }

    // An instruction that asmjit does not know of. A listing shows what `list` says, or its number.
    void word(uint32_t instruction) { assembler_.embedUInt32(instruction); }
    template <class List>
    void word(uint32_t instruction, List list) {
        if (logger_) {
            code_.resetLogger();
            word(instruction);
            list(*logger_);
            code_.setLogger(logger_.get());
        } else {
            word(instruction);
        }
    }
    void no_operation() {
        word(kNop, [](ListingLogger& l) { l.padding(4); });
    }
    // A distance in bytes as a field of `bits` bits that counts instructions.
    static uint32_t immediate(int64_t distance, unsigned bits, unsigned at) {
        return (static_cast<uint32_t>(distance >> 2) & ((1u << bits) - 1)) << at;
    }
    static void patch(uint8_t* at, uint32_t bits) {
        uint32_t instruction;
        std::memcpy(&instruction, at, 4);
        instruction |= bits;
        std::memcpy(at, &instruction, 4);
    }
    // BL or B to an address outside of this code.
    void outside(uint32_t instruction, const void* target) {
        const auto address = reinterpret_cast<uint64_t>(target);
        outside_.push_back({offset(), address});
        word(instruction, [&](ListingLogger& l) {
            l.instruction(4, instruction == kBranch ? "b" : "bl", address);
        });
    }
    void page_of(a64::Gp d, Label l, Page::Next next) {
        make_room();
        pages_.push_back({offset(), l.id, next});
        word(0x90000000 | d.id());
    }
    void pad_call() {
        make_room();
        if (offset() % 8 != 0) {
            no_operation();
        }
    }
    void push_return() { assembler_.str(kReturn, a64::ptr_pre(gp(Reg::stack), -8)); }
    void pop_return() { a().ldr(kReturn, a64::ptr_post(gp(Reg::stack), 8)); }
    // With frame pointers, pushes a frame onto C++'s stack that shows profilers the caller on top of
    // the Erlang stack.
    void push_record(Caller caller) {
        if (!frame_pointers()) {
            return;
        }
        a().str(kFrame, mem({Reg::proc, kFramePointer}, 8));
        if (caller == Caller::on_top) {
            a().ldr(kValue, a64::ptr(gp(Reg::stack)));
            a().stp(kFrame, kValue, a64::ptr_pre(a64::sp, -16));
            a().mov(kFrame, a64::sp);
        }
    }
    void drop_record(Caller caller) {
        if (frame_pointers() && caller == Caller::on_top) {
            a().ldp(kFrame, kValue, a64::ptr_post(a64::sp, 16));
        }
    }
    static a64::Mem saved_pair(uint32_t n) {
        return a64::ptr(a64::sp, static_cast<int32_t>(16 * (1 + n)));
    }
    void call_absolute(const void* fn) {
        a().mov(kAddress, reinterpret_cast<uint64_t>(fn));
        a().blr(kAddress);
    }

    // Where `bytes` bytes at m are; may use kAddress.
    a64::Mem mem(Mem m, unsigned bytes) { return mem(gp(m.base), m.offset, bytes); }
    a64::Mem mem(a64::Gp base, int32_t offset, unsigned bytes) {
        const bool scaled = offset >= 0 && offset % static_cast<int32_t>(bytes) == 0 &&
                            offset / static_cast<int32_t>(bytes) <= 0xFFF;
        if (scaled || (offset >= -256 && offset <= 255)) {
            return a64::ptr(base, offset);
        }
        a().mov(kAddress, static_cast<uint64_t>(int64_t{offset}));
        return a64::ptr(base, kAddress);
    }
    // A constant that no instruction holds; in kAddress.
    a64::Gp constant(uint64_t v) {
        a().mov(kAddress, v);
        return kAddress;
    }
    void compare_constant(a64::Gp x, int64_t v) {
        const uint64_t bits = static_cast<uint64_t>(v);
        if (fits_add(bits)) {
            a().cmp(x, bits);
        } else if (fits_add(-bits)) {
            a().cmn(x, -bits);
        } else {
            a().cmp(x, constant(bits));
        }
    }
    void add_without_flags(a64::Gp d, a64::Gp s, int64_t v) {
        const uint64_t bits = static_cast<uint64_t>(v);
        if (fits_add(bits)) {
            a().add(d, s, bits);
        } else if (fits_add(-bits)) {
            a().sub(d, s, -bits);
        } else {
            a().add(d, s, constant(bits));
        }
    }

    std::vector<Branch> branches_;  // forward and conditional; ascending
    size_t first_open_ = 0;         // those before have an island, or reach their label
    uint32_t island_at_ = UINT32_MAX;
    std::vector<Outside> outside_;
    std::vector<Page> pages_;
};

}  // namespace

std::unique_ptr<MacroAssembler> new_aarch64_assembler() {
    return std::make_unique<Assembler>();
}

}  // namespace minivm::jit
