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
    // Of the functions, only these get fast paths.
    void select(const Selection& selection);
    // A mistake is planted for tests: in this function additions of small integers yield one more.
    void plant_mistake(uint32_t function) { mistaken_function_ = function; }
    // run() adds up there what each instruction takes.
    void count_to(OpUses& uses) { uses_ = &uses; }
    // The lowered instructions are listed with the code that run() emits.
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
    // The object of so many words that has just been written at the top of the heap, as a term.
    void take_boxed(const Operand& to, Word words);
    void move(const Operand& from, const Operand& to);
    void set_constant(const Operand& to, Term constant);
    void load_to(const Operand& to, Mem from);
    void store_operand(Mem to, const Operand& o, Reg scratch);

    const Operand* operands() const { return m_.operands_of(*i_); }
    Label label_of(uint32_t instr);
    bool next_is(Op op, size_t ahead = 1) const;

    // ---- pieces
    // What is rare: f() emits it behind the module's functions. f is a lambda that captures plain
    // data.
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
    bool fast_path();
    void instruction();
    void add_one_too_many();
    // Cold: the default operation of the current instruction, then on to `back`.
    void slow_path(Label entry, Label back);

    // ---- instructions; true if there was a fast path
    bool control();
    void nif_start(const nif::Function& f);
    bool select();
    bool jump_table(const std::vector<std::pair<Word, uint32_t>>& sorted, Reg key, Label otherwise);
    void select_range(const std::vector<std::pair<Word, uint32_t>>& sorted, size_t from, size_t to,
                      Reg key, Label otherwise);
    bool data();
    bool tests();
    bool arithmetic();
    bool floats();
    bool binaries();
    bool maps();
    bool guard_bifs();
    bool exceptions();
    bool messages();
    bool compare_bif(const BifDef& bif);

    // t1 := the address of the object that `term` points to, or `otherwise` if it is not boxed.
    void unbox(Reg term, Label otherwise);
    // The object at t1 is of one of these kinds, else `otherwise`.
    void check_kinds(std::initializer_list<Kind> kinds, Label otherwise);
    bool compare_terms_op();
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
    bool match_commands();
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
    // is set, until the next label or call of C++.
    FReg float_register(const Operand& o, FReg scratch);  // loads it
    FReg float_target(const Operand& o);
    void float_computed(const Operand& o, FReg r);  // stores it
    void reload_floats(uint32_t set);
    static bool keeps_floats(Op op);

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
