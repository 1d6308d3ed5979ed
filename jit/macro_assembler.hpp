// What the emitter needs of a machine's assembler.
//
// The emitter is written once against this interface; jit/x86_64 and jit/aarch64 implement it with
// asmjit. Names of registers are roles (docs/jit.md, "Registers"); each machine says which of its
// own play them.
//
// Stack: Reg::stack is the Erlang stack pointer. A call leaves its return address on top of it when
// the callee's first instruction has run (function_entry, fragment_entry), on both machines; return
// addresses are 4 modulo 8, so that they look like headers to whoever walks the stack.
//
// Flags: compare, test and the arithmetic that says so set them; a branch must follow at once.
// Threads: a MacroAssembler belongs to one compilation.
#pragma once

#include <cstdint>
#include <memory>
#include <vector>

namespace minivm {
enum class Machine : uint8_t;
}

namespace minivm::jit {

class Listing;

enum class Reg : uint8_t {
    x0,
    x1,
    x2,
    x3,
    x4,
    x5,  // x registers
    t0,
    t1,
    t2,
    t3,     // scratch; arguments and result of fragments and runtime calls
    sched,  // Scheduler: the other x registers are at its address
    proc,   // Process
    heap,   // first free heap word
    reds,   // reductions left
    stack,  // y0
    count
};
constexpr int kMachineXRegisters = 6;

// Doubles: three scratch ones, then those that may keep BEAM's float registers. A call of C++ loses all.
enum class FReg : uint8_t { f0, f1, f2, kept };
constexpr uint32_t kKeptFloats = 10;
constexpr FReg kept_float(uint32_t n) {
    return static_cast<FReg>(static_cast<uint32_t>(FReg::kept) + n);
}

enum class Cond : uint8_t {  // each beside its negation
    equal,
    not_equal,
    less,  // signed
    greater_equal,
    greater,
    less_equal,
    below,  // unsigned
    above_equal,
    above,
    below_equal,
    overflow,
    no_overflow
};
constexpr Cond negate(Cond c) {
    return static_cast<Cond>(static_cast<uint8_t>(c) ^ 1);
}
static_assert(negate(Cond::equal) == Cond::not_equal && negate(Cond::less) == Cond::greater_equal &&
              negate(Cond::above) == Cond::below_equal);

struct Mem {
    Reg base;
    int32_t offset;
};

struct Label {
    uint32_t id = ~0u;
    bool is_valid() const { return id != ~0u; }
};

// Offsets [begin, end) into what was emitted.
struct CodeSpan {
    uint32_t begin;
    uint32_t end;
};

// on_top: when the fragment calls C++, the return address on top of the stack is a place in the function that
// called the fragment. Profilers that follow frame pointers then see that function.
enum class Caller : uint8_t { unknown, on_top };

class MacroAssembler {
public:
    virtual ~MacroAssembler() = default;

    // Call it before anything is emitted: code then keeps a frame pointer in a register and in each frame.
    void keep_frame_pointers() { frame_pointers_ = true; }
    bool frame_pointers() const { return frame_pointers_; }

    // ---- labels, layout
    virtual void reserve(size_t bytes) = 0;  // room for so much code; more than that may be emitted
    virtual Label new_label() = 0;
    virtual void bind(Label l) = 0;
    virtual uint32_t offset() const = 0;                // bytes emitted
    virtual uint32_t offset_of(Label bound) const = 0;  // when everything is emitted
    virtual void align(unsigned bytes) = 0;
    // Pads so that the next instruction's address is 4 modulo 8: it can be a return address.
    virtual void align_return_address() = 0;
    virtual void embed_word(uint64_t w) = 0;  // 8 bytes of data; align(8) first
    virtual void embed_address(Label l) = 0;  // 8 bytes: the label's address

    // ---- moves
    virtual void move(Reg d, Reg s) = 0;
    virtual void move_imm(Reg d, uint64_t value) = 0;
    virtual void load(Reg d, Mem m) = 0;
    virtual void load_u32(Reg d, Mem m) = 0;
    virtual void load_u8(Reg d, Mem m) = 0;
    virtual void load_indexed(Reg d, Reg base, Reg index,
                              int32_t offset) = 0;  // [base + index + offset]
    virtual void load_scaled(Reg d, Reg base, Reg index,
                             int32_t offset) = 0;  // [base + index * 8 + offset]
    // d := the `bits` (8, 16 or 32) bits at base + index, zero-extended.
    virtual void load_bits(Reg d, Reg base, Reg index, unsigned bits) = 0;
    virtual void store(Mem m, Reg s) = 0;
    virtual void store_imm(Mem m, uint64_t value) = 0;
    virtual void store_u8_imm(Mem m, uint8_t value) = 0;
    virtual void lea(Reg d, Mem m) = 0;
    virtual void load_label(Reg d, Label l) = 0;    // the label's address
    virtual void load_word_at(Reg d, Label l) = 0;  // the 8 bytes embedded at l

    // ---- arithmetic on 64 bits; the flags tell of signed overflow after add, sub and negate
    virtual void add(Reg d, Reg s) = 0;
    virtual void sub(Reg d, Reg s) = 0;
    virtual void sub_mem(Reg d, Mem m) = 0;
    virtual void and_(Reg d, Reg s) = 0;
    virtual void or_(Reg d, Reg s) = 0;
    virtual void xor_(Reg d, Reg s) = 0;
    virtual void add_imm(Reg d, int64_t value) = 0;
    virtual void sub_imm(Reg d, int64_t value) = 0;
    virtual void and_imm(Reg d, uint64_t value) = 0;
    virtual void or_imm(Reg d, uint64_t value) = 0;
    virtual void xor_imm(Reg d, uint64_t value) = 0;
    virtual void negate_reg(Reg d) = 0;
    virtual void shift_left(Reg d, unsigned n) = 0;
    virtual void shift_right(Reg d, unsigned n) = 0;  // logical
    virtual void shift_right_signed(Reg d, unsigned n) = 0;
    virtual void shift_left_by(Reg d, Reg count) = 0;          // count < 64; it must be t2
    virtual void shift_right_by(Reg d, Reg count) = 0;         // likewise
    virtual void shift_right_signed_by(Reg d, Reg count) = 0;  // likewise
    virtual void rotate_left(Reg d, unsigned n) = 0;
    // d := d * s; goes to `overflow` if the signed product does not fit, d is lost then.
    virtual void multiply(Reg d, Reg s, Label overflow) = 0;
    // t0 := t0 / s, t1 := t0 % s, signed, truncated. s is neither t0 nor t1, not 0, and not -1 if
    // t0 is the least integer.
    virtual void divide(Reg s) = 0;
    // d := the bytes of s (bits: 16, 32 or 64) reversed, zero-extended.
    virtual void byte_swap(Reg d, unsigned bits) = 0;

    // ---- comparing and branching
    virtual void compare(Reg a, Reg b) = 0;
    virtual void compare_imm(Reg a, int64_t value) = 0;
    virtual void compare_mem(Reg a, Mem m) = 0;
    virtual void compare_mem_imm(Mem m, int64_t value) = 0;   // 64 bits
    virtual void compare_u32_imm(Mem m, uint32_t value) = 0;  // 32 bits at m
    virtual void compare_u8_imm(Mem m, uint8_t value) = 0;
    virtual void test_imm(Reg a, uint32_t mask) = 0;  // equal: no bit of the mask is set
    virtual void branch(Cond c, Label l) = 0;
    virtual void branch_near(Cond c, Label l) = 0;  // to a label at most 100 bytes away
    virtual void jump(Label l) = 0;
    virtual void jump_near(Label l) = 0;
    virtual void jump_reg(Reg r) = 0;
    virtual void jump_address(const void* native) = 0;
    virtual void never_reached() = 0;  // an undefined instruction
    // d := s if c holds.
    virtual void move_if(Cond c, Reg d, Reg s) = 0;
    // Tests the bit of `table` at index & 31, as for the tags of floats; equal: the bit is clear.
    virtual void test_table_bit(uint32_t table, Reg index, Reg scratch) = 0;

    // ---- calls
    virtual void call(Label l) = 0;
    virtual void call_reg(Reg r) = 0;
    virtual void call_address(const void* native) = 0;
    // Calls a leaf fragment: nobody walks the stack meanwhile, so the return address need not look like one.
    virtual void call_leaf_fragment(const void* native) = 0;
    virtual void leaf_return() = 0;
    virtual void tail_call(Label l) = 0;  // the return address is on top
    virtual void tail_call_reg(Reg r) = 0;
    virtual void tail_call_address(const void* native) = 0;
    virtual void ret() = 0;
    // Entry of a function: binds `entry`, and emits the slot that a breakpoint may arm.
    virtual void function_entry(Label entry, const void* breakpoint_fragment) = 0;
    // With frame pointers: behind the entry, pushes the caller's below the return address, and pops it
    // before a function returns or calls in tail position. Without: nothing.
    virtual void enter_frame() = 0;
    virtual void leave_frame() = 0;
    // Entry of a fragment that is called and returns.
    virtual void fragment_entry() = 0;
    // reds := reds - 1, and goes to l if none are left.
    virtual void count_reduction(Label l) = 0;

    // ---- the runtime
    // Saves heap, reds and stack in the process, goes to the C++ stack, calls
    // fn(Scheduler*, t0, t1, t2), comes back with heap, reds and stack as the process has them. The
    // result is in t0. x registers are lost (spill them before).
    virtual void call_runtime(const void* fn, Caller caller = Caller::unknown) = 0;
    // The same without saving heap and reds: fn(t0, t1, t2), a leaf that takes no heap words, uses no
    // reductions and does not raise. Result t0; all x registers are kept, other scratch is lost.
    virtual void call_leaf(const void* fn, Caller caller = Caller::unknown) = 0;
    // fn(Process*, t0, t1, t2), a leaf that may take heap words but neither collects nor raises.
    // Result t0; all x registers are kept, other scratch is lost.
    virtual void call_heap_leaf(const void* fn, Caller caller = Caller::unknown) = 0;
    // void enter(Scheduler*, Process*, const void* target): from C++ to target, all registers
    // loaded.
    virtual void emit_enter() = 0;
    // Back from there: all registers spilled.
    virtual void emit_leave() = 0;

    // ---- floats
    virtual void move_to_float(FReg d, Reg s) = 0;  // bits
    virtual void move_from_float(Reg d, FReg s) = 0;
    virtual void load_float(FReg d, Mem m) = 0;
    virtual void store_float(Mem m, FReg s) = 0;
    virtual void float_from_int(FReg d, Reg s) = 0;
    virtual void float_move(FReg d, FReg s) = 0;
    virtual void float_add(FReg d, FReg s) = 0;
    virtual void float_sub(FReg d, FReg s) = 0;
    virtual void float_mul(FReg d, FReg s) = 0;
    virtual void float_div(FReg d, FReg s) = 0;
    virtual void float_negate(FReg d) = 0;
    virtual void float_compare(FReg a, FReg b) = 0;  // then branch as after comparing unsigned
    // To l if s is infinite or not a number.
    virtual void branch_unless_finite(FReg s, FReg scratch, Label l) = 0;

    // The code during which C++ has the scheduler's stack, and the process holds the Erlang stack pointer.
    virtual const std::vector<CodeSpan>& on_scheduler_stack() const = 0;
    // Lists what is emitted from now on.
    virtual void list_to(Listing& listing) = 0;

    // ---- the result
    // Copies what was emitted to `to`, for execution at address `base`. The shared fragments and
    // the program's functions must be in reach from there.
    virtual size_t size() const = 0;
    virtual void copy_to(void* to, uint64_t base) = 0;
    // Bytes between a function's entry and where it is entered with the return address on the
    // stack.
    virtual uint32_t entry_skip() const = 0;
    // All of a patch lies in this many bytes from a function's entry.
    static constexpr size_t kBreakpointBytes = 8;
    // The write that makes the prologue at address `entry` call the breakpoint fragment.
    struct BreakpointPatch {
        uint32_t offset;         // from the entry
        uint32_t bytes;          // 1 or 4, aligned
        uint32_t armed;
        uint32_t plain;
        uint32_t return_offset;  // from the entry: where the fragment returns to
    };
    virtual BreakpointPatch breakpoint_patch(uint64_t entry, uint64_t fragment) const = 0;

private:
    bool frame_pointers_ = false;
};

std::unique_ptr<MacroAssembler> new_x86_64_assembler();
std::unique_ptr<MacroAssembler> new_aarch64_assembler();
// Either, on any host: only running the code needs the machine. With frame pointers if all code has
// them (jit/jit.hpp).
std::unique_ptr<MacroAssembler> new_assembler(Machine machine);

}  // namespace minivm::jit
