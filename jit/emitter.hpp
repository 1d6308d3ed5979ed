// From lowered instructions to machine code: one emitter for all machines.
//
// Registers hold x0..x5 throughout; the other x registers are in memory, and y registers on the
// stack. An instruction without a fast path goes through the default_op fragment with a record of
// its operands. What is rare is emitted behind the module's functions ("cold").
#pragma once

#include "vm/instr/lowered.hpp"
#include "jit/macro_assembler.hpp"
#include "jit/native_code.hpp"
#include "jit/op_use.hpp"

#include <cstddef>
#include <initializer_list>
#include <new>
#include <type_traits>

namespace minivm::jit {

class Selection;

class Emitter {
public:
    // fast: with fast paths (else default operations only).
    Emitter(const LoweredModule& m, MacroAssembler& a, const Fragments& fragments, NativeCode& code,
            bool fast);
    // Only these functions get fast paths.
    void select(const Selection& selection);
    // Plants a mistake, for tests: additions of small integers in this function yield one too many.
    void plant_mistake(uint32_t function) { mistaken_function_ = function; }
    // run() adds to `uses` the bytes that each instruction takes.
    void count_to(OpUses& uses) { uses_ = &uses; }
    // run() lists each lowered instruction with the code that it emits for it.
    void list_to(Listing& listing);
    void run();
    // After run(): the labels' offsets are final.
    void place();

private:
    // ---- operands
    static bool in_machine(const Operand& o) {
        return o.kind == Operand::Kind::x && o.index < kMachineXRegisters;
    }
    static Reg machine_reg(const Operand& o) { return static_cast<Reg>(o.index); }
    static Mem memory(const Operand& o);
    // The register that holds o: its own, or `scratch` after loading it.
    Reg value(const Operand& o, Reg scratch);
    void value_to(Reg d, const Operand& o);
    // The register to compute o's new value in; then store_result() if it is not o's own.
    static Reg result(const Operand& o, Reg scratch) {
        return in_machine(o) ? machine_reg(o) : scratch;
    }
    void store_result(const Operand& o, Reg r);
    // to := the object of `words` words that has just been written at the top of the heap, which moves up.
    void take_boxed(const Operand& to, Word words);
    void move(const Operand& from, const Operand& to);
    void set_constant(const Operand& to, Term constant);
    void load_to(const Operand& to, Mem from);
    void store_operand(Mem to, const Operand& o, Reg scratch);

    const Operand* operands() const { return m_.operands_of(*i_); }
    Label label_of(uint32_t instr);
    bool next_is(Op op, size_t ahead = 1) const;

    // ---- pieces
    // For rare code: run() calls f() to emit it behind the module's functions. f is a lambda that captures
    // plain data.
    template <class F>
    void cold(const F& f) {
        static_assert(std::is_trivially_copyable_v<F> && sizeof(F) <= Cold::kBytes);
        Cold& c = cold_.emplace_back(Cold{
            i_, n_, [](std::byte* data) { (*std::launder(reinterpret_cast<F*>(data)))(); }, {}});
        new (c.data) F(f);
    }
    void locate();
    void list();
    void add_scheduler_stack_frames();
    void function_entry(uint32_t function);
    void check_state(Word live);
    void default_operation() { default_operation(new_record()); }
    void default_operation(const Word* record);
    Word* new_record();
    void fragment(const void* f) { a_.call_address(f); }
    void reserve(Word stack_words, Word heap_words);
    void call_export(const Export* e);
    void load_export_target();
    Word frame_words() const;
    Word tail_code() const;
    void branch_unless(Cond holds, const Operand& label) {
        a_.branch(negate(holds), label_of(label.index));
    }
    void instruction();
    void add_one_too_many();
    // Cold code at `entry`: the default operation of the current instruction, then a jump to `back`.
    void slow_path(Label entry, Label back);

    // ---- instructions (emitted.def); false: no code for these operands, nothing has been emitted
    bool emit_call(), emit_call_last(), emit_call_only(), emit_call_ext(), emit_call_ext_only(),
        emit_call_ext_last(), emit_call_bif(), emit_bif_body(), emit_apply(), emit_call_fun(),
        emit_i_apply_fun_last(), emit_return_(), emit_jump(), emit_on_load(), emit_nif_start(), emit_trap_end(),
        emit_allocate(), emit_allocate_heap(), emit_test_heap(), emit_drop_words(), emit_catch_or_try(),
        emit_make_fun(), emit_send(), emit_wait(), emit_wait_timeout();
    bool emit_select();
    bool emit_move(), emit_swap(), emit_init_yregs(), emit_expect_shape(), emit_get_hd(), emit_get_tl(),
        emit_get_list(), emit_put_list(), emit_get_tuple_element(), emit_set_tuple_element(), emit_put_tuple2(),
        emit_update_record(), emit_self(), emit_hd_or_tl(), emit_element(), emit_tuple_size();
    bool emit_comparison();
    bool emit_is_nil(), emit_is_nonempty_list(), emit_is_list(), emit_is_atom(), emit_is_boolean(),
        emit_is_integer(), emit_is_number_or_float(), emit_is_tuple(), emit_test_arity(), emit_is_tagged_tuple(),
        emit_is_map(), emit_is_function(), emit_is_bitstr(), emit_is_binary(), emit_is_pid(), emit_is_reference();
    bool emit_arithmetic(), emit_small_unary();
    bool emit_expect_float(), emit_fmove_to(), emit_fmove_from(), emit_fconv(), emit_float_arithmetic(),
        emit_fnegate();
    bool emit_guard_bif();
    bool emit_map_fields(), emit_new_flat_map(), emit_put_map();
    bool emit_bs_start_match(), emit_bs_get_number(), emit_bs_get_binary(), emit_bs_get_tail(), emit_bs_skip_bits(),
        emit_bs_test_left(), emit_bs_match_string(), emit_bs_utf8(), emit_bs_get_position(), emit_bs_set_position(),
        emit_bs_match(), emit_bs_create_bin();
    bool emit_try_end(), emit_try_case(), emit_catch_end();
    bool emit_loop_rec(), emit_loop_rec_end(), emit_remove_message();
    struct How;
    static const How& how(Op op);
    void nif_start(const nif::Function& f);
    Label callee() const;
    Label fail_label() { return label_of(operands()[0].index); }
    bool jump_table(const std::vector<std::pair<Word, uint32_t>>& sorted, Reg key, Label otherwise);
    void select_range(const std::vector<std::pair<Word, uint32_t>>& sorted, size_t from, size_t to,
                      Reg key, Label otherwise);
    struct RightSmall;
    void small_operation(const RightSmall& right, Label slow);
    void divide(const RightSmall& by, Label slow);
    void shift_small_right(const RightSmall& by, Label slow);
    void shift_small_left(const RightSmall& by, Label slow);
    void size_of(const Operand& from, const BifDef& bif, Label slow);
    void look_up(const Operand& map, const Operand& key, bool wants_value, Label slow);
    void negate_boolean(const Operand& from, Label slow);
    bool compare_bif(const BifDef& bif);
    void to_if_zeros(Reg a, Reg b, Label target);

    // t1 := the address of the object that `term` points to, or `otherwise` if it is not boxed.
    void unbox(Reg term, Label otherwise);
    void check_immediate(Reg r, Word bits, Word mask, Label otherwise);
    // The object at t1 is of one of these kinds, else `otherwise`.
    void check_kinds(std::initializer_list<Kind> kinds, Label otherwise);
    bool small_known(const Operand& o) const;
    bool float_known(const Operand& o) const;
    bool compare_floats_op();
    bool float_operator();
    // Goes to `slow` unless both are small integers.
    void check_small(const Operand& a, Reg ra, const Operand& b, Reg rb, Label slow);

    // A field of a bit string that is matched; its size is a constant.
    struct BitField {
        enum class Kind : uint8_t { skip, integer, equal };
        Kind kind = Kind::skip;
        uint32_t flags = 0;
        uint64_t bits = 0;
        const Operand* dst = nullptr;  // integer
        uint64_t value = 0;            // equal
    };
    struct MatchState;
    void storage_to_t3(Reg context);
    void advance(Reg context, uint64_t bits, Label fail);
    void extract(Reg d, const BitField& f, uint64_t below);
    void read_fields(const Operand& context, const std::vector<BitField>& fields, Label fail,
                     bool checked);
    void read_byte(const Operand& context, const BitField& f, Label fail);
    bool as_field(const Instr& i, BitField* f) const;
    bool field_run();
    void call_for(const void* leaf, Label none);
    void call_for_result(const void* leaf, const Operand& dst);
    void test_left(const Operand& context, uint64_t n, bool divisible, Label fail);
    Label restoring(const MatchState& s, Label then);
    void read_pending(MatchState& s);
    void collect_bits(const Operand* s, const Operand* end, uint64_t total, Label slow);
    bool create_small();

    void float_to(FReg d, const Operand& from, Label other);
    // t0 := the value of `key` in the map in `map`, or the non-value. t1 to t3 are lost.
    void map_value(const Operand& map, const Operand& key);
    bool are_ascending_keys(uint32_t step) const;
    void fetch_keys(uint32_t step);
    void fetch_ascending_keys(uint32_t step);
    void call_guard_bif(uint32_t arity);

    // BEAM's float registers are in memory, and some in a machine register as well: those whose bit
    // in floats_kept_ is set, until the next label or call of C++.
    FReg float_register(const Operand& o, FReg scratch);  // loads it
    FReg float_target(const Operand& o);
    void float_computed(const Operand& o, FReg r);  // stores it
    void reload_floats(uint32_t set);

    const LoweredModule& m_;
    MacroAssembler& a_;
    const Fragments& fragments_;
    NativeCode& code_;
    std::vector<bool> fast_;  // by function
    uint32_t mistaken_function_ = UINT32_MAX;
    Listing* listing_ = nullptr;
    OpUses* uses_ = nullptr;
    const Instr* i_ = nullptr;
    uint32_t n_ = 0;                     // index of *i_
    std::vector<Label> labels_;          // by instruction; made when first needed
    std::vector<Label> entries_;         // by function
    std::vector<uint32_t> function_at_;  // entry instruction -> 1 + function
    std::vector<Label> funs_;            // by lambda
    std::vector<Label> catches_;         // handlers
    uint32_t catches_seen_ = 0;
    uint32_t floats_kept_ = 0;
    struct Data {
        Label label;
        NativeCode::Fixup::Kind kind;
        uint32_t index;
    };
    std::vector<Data> data_;
    struct Table {
        Label label;
        std::vector<Label> targets;
    };
    std::vector<Table> tables_;
    struct Cold {
        static constexpr size_t kBytes = 88;
        const Instr* instr;
        uint32_t index;
        void (*emit)(std::byte* data);
        alignas(void*) std::byte data[kBytes];
    };
    std::vector<Cold> cold_;
};

}  // namespace minivm::jit
