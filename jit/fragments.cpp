// The code that all modules share: ways into the runtime and back.
#include "vm/process/tracing.hpp"
#include "vm/semantics/binary.hpp"
#include "jit/binary_leaves.hpp"
#include "jit/code_memory.hpp"
#include "jit/layout.hpp"
#include "jit/macro_assembler.hpp"
#include "jit/runtime.hpp"
#include "vm/term/compare.hpp"

#include <utility>

namespace minivm::jit {

Fragments g_fragments;
std::vector<NativeFrame> g_fragment_frames;

namespace {

using Runtime = Word (*)(Scheduler*, Word, Word, Word);

class FragmentEmitter {
public:
    explicit FragmentEmitter(MacroAssembler& a) : a_(a) {}

    std::vector<PlacedFragment> placed;

    void emit() {
        begin(&Fragments::enter);
        a_.emit_enter();
        begin(&Fragments::leave);
        a_.emit_leave();

        // Goes on at the address in t0, with the x registers loaded.
        special_ = a_.new_label();
        a_.bind(special_);
        reload();
        a_.jump_reg(Reg::t0);

        runtime(&Fragments::default_op, runtime_default_op, 1);
        runtime(&Fragments::collect, runtime_collect, 0);
        runtime(&Fragments::yield, runtime_yield, 0);
        call(&Fragments::call_bif, runtime_call_bif);
        call(&Fragments::send, runtime_send);
        runtime(&Fragments::guard_bif, runtime_guard_bif, 1);
        runtime(&Fragments::put_map, runtime_put_map, 1);
        map_get();
        begin(&Fragments::remove_message);
        a_.fragment_entry();
        // A large message takes the process's reductions away.
        a_.store({Reg::proc, kReductions}, Reg::reds);
        a_.move(Reg::t0, Reg::proc);
        a_.call_leaf(reinterpret_cast<const void*>(leaf_remove_message), Caller::on_top);
        a_.load(Reg::reds, {Reg::proc, kReductions});
        a_.ret();
        begin(&Fragments::return_);
        a_.ret();
        function(&Fragments::enter_bytecode, runtime_enter_bytecode);
        function(&Fragments::enter_fun_bytecode, runtime_enter_fun_bytecode);
        enter_traced();

        begin(&Fragments::wait);
        a_.call_runtime(reinterpret_cast<const void*>(runtime_wait));
        a_.jump(special_);

        begin(&Fragments::bif_body);
        spill();
        a_.call_runtime(reinterpret_cast<const void*>(runtime_bif_body), Caller::on_top);
        a_.compare_imm(Reg::t0, 0);
        a_.branch(Cond::not_equal, special_);
        a_.load(Reg::x0, {Reg::sched, 0});
        a_.ret();

        begin(&Fragments::call_fun);
        Label slow = a_.new_label();
        find_fun(slow);
        a_.jump_reg(Reg::t3);
        a_.bind(slow);
        a_.fragment_entry();
        spill();
        a_.call_runtime(reinterpret_cast<const void*>(runtime_call_fun), Caller::on_top);
        a_.jump(special_);

        begin(&Fragments::check_fun);
        a_.fragment_entry();
        slow = a_.new_label();
        find_fun(slow);
        a_.ret();
        a_.bind(slow);
        spill();
        a_.call_runtime(reinterpret_cast<const void*>(runtime_check_fun), Caller::on_top);
        a_.compare_imm(Reg::t0, 0);
        a_.branch(Cond::not_equal, special_);
        reload();
        a_.load(Reg::t0, {Reg::sched, kScratchX});
        a_.load_u32(Reg::t2, {Reg::sched, kCodeIx});
        a_.load_scaled(Reg::t3, Reg::t0, Reg::t2, kExportNative);
        a_.ret();

        // A native function that bytecode called returns here; bytecode's return address is on top then.
        a_.align_return_address();
        begin_here(&Fragments::return_to_bytecode);
        a_.store({Reg::sched, 0}, Reg::x0);
        a_.call_runtime(reinterpret_cast<const void*>(runtime_return_to_bytecode));
        a_.jump(special_);

        start_match(&Fragments::bs_start_match);
        leaf(&Fragments::bs_get_integer, leaf_get_integer);
        leaf(&Fragments::bs_get_float, leaf_get_float);
        leaf(&Fragments::bs_get_binary, leaf_get_binary);
        leaf(&Fragments::bs_get_tail, leaf_get_tail);
        leaf(&Fragments::bs_get_utf8, leaf_get_utf8);
        leaf(&Fragments::bs_match_string, leaf_match_string);

        // leaf_create_bin() reads x registers from the scheduler's array, as default operations do.
        begin(&Fragments::bs_create_bin);
        a_.fragment_entry();
        spill();
        a_.move(Reg::t1, Reg::sched);
        a_.call_heap_leaf(reinterpret_cast<const void*>(leaf_create_bin), Caller::on_top);
        a_.ret();

        leaf(&Fragments::bs_append_bits, leaf_append_bits);
        append_bytes();
        new_bits();

        runtime(&Fragments::check_state, runtime_check_state, 0);

        breakpoint();

        // A function whose call left a trace frame returns here: x0 is its value.
        a_.align_return_address();
        begin_here(&Fragments::return_trace);
        a_.store({Reg::sched, 0}, Reg::x0);
        a_.call_runtime(reinterpret_cast<const void*>(runtime_return_trace));
        a_.jump(special_);
    }

private:
    void begin(const void* Fragments::*address) {
        a_.align(16);
        begin_here(address);
    }
    void begin_here(const void* Fragments::*address) {
        const Label l = a_.new_label();
        a_.bind(l);
        placed.push_back({address, l});
    }
    void spill() {
        for (int i = 0; i < kMachineXRegisters; ++i) {
            a_.store({Reg::sched, 8 * i}, static_cast<Reg>(i));
        }
    }
    void reload() {
        for (int i = 0; i < kMachineXRegisters; ++i) {
            a_.load(static_cast<Reg>(i), {Reg::sched, 8 * i});
        }
    }
    // A fragment that calls fn and returns, unless the answer is above `last_value`: an address to go on at.
    void runtime(const void* Fragments::*address, Runtime fn, int last_value) {
        begin(address);
        a_.fragment_entry();
        spill();
        a_.call_runtime(reinterpret_cast<const void*>(fn), Caller::on_top);
        a_.compare_imm(Reg::t0, last_value);
        a_.branch(Cond::above, special_);
        reload();
        a_.ret();
    }
    // The same for an instruction that is a call in Erlang: only x0 is live behind it.
    void call(const void* Fragments::*address, Runtime fn) {
        begin(address);
        a_.fragment_entry();
        spill();
        a_.call_runtime(reinterpret_cast<const void*>(fn), Caller::on_top);
        a_.compare_imm(Reg::t0, 0);
        a_.branch(Cond::not_equal, special_);
        a_.load(Reg::x0, {Reg::sched, 0});
        a_.ret();
    }
    // A fragment that is entered as a function is; it goes on at the address that fn answers.
    void function(const void* Fragments::*address, Runtime fn) {
        begin(address);
        a_.fragment_entry();
        spill();
        a_.call_runtime(reinterpret_cast<const void*>(fn), Caller::on_top);
        a_.jump(special_);
    }
    // A traced export entry leads here. A process that is not traced goes on to the function at once.
    void enter_traced() {
        const Label traced = a_.new_label();
        begin(&Fragments::enter_traced);
        a_.compare_mem_imm({Reg::proc, kProcessTrace}, 0);
        a_.branch(Cond::not_equal, traced);
        a_.load_u32(Reg::t2, {Reg::sched, kCodeIx});
        a_.load(Reg::t3, {Reg::t0, kExportOriginal});
        a_.load_scaled(Reg::t3, Reg::t3, Reg::t2, kTargetNative);
        a_.jump_reg(Reg::t3);
        a_.bind(traced);
        function(&Fragments::enter_traced_bytecode, runtime_enter_traced);
    }
    // Called from a function's prologue, with its arguments in x registers. Returns at once if the process is
    // not traced and no breakpoint acts on all processes; counts the call here if the breakpoint does nothing
    // else (as tracing::armed_place() and only_counts() do).
    void breakpoint() {
        using Table = tracing::ArmedTable;
        const Label look = a_.new_label();
        const Label next = a_.new_label();
        const Label found = a_.new_label();
        const Label slow = a_.new_label();
        begin(&Fragments::breakpoint);
        a_.fragment_entry();
        a_.compare_mem_imm({Reg::proc, kProcessTrace}, 0);
        a_.branch(Cond::not_equal, look);
        a_.move_imm(Reg::t0, reinterpret_cast<uint64_t>(&tracing::g_everywhere));
        a_.compare_u32_imm({Reg::t0, 0}, 0);
        a_.branch(Cond::not_equal, look);
        a_.ret();
        // t0: offset of a slot, or its address; t1: the mask of offsets; t2: the slots; t3: the key, which the
        // table contains. Plain loads do: each address depends on what was loaded from g_armed.
        a_.bind(look);
        a_.load(Reg::t3, {Reg::stack, 0});
        a_.move_imm(Reg::t1, reinterpret_cast<uint64_t>(&tracing::g_armed));
        a_.load(Reg::t1, {Reg::t1, 0});
        a_.load(Reg::t2, {Reg::t1, kArmedSlots});
        a_.load(Reg::t1, {Reg::t1, kArmedMask});
        a_.move(Reg::t0, Reg::t3);
        a_.shift_right(Reg::t0, Table::kHashRight + Table::kHashLeft);
        a_.xor_(Reg::t0, Reg::t3);
        a_.shift_left(Reg::t0, Table::kHashLeft);
        a_.bind(next);
        a_.and_(Reg::t0, Reg::t1);
        a_.add(Reg::t0, Reg::t2);
        a_.compare_mem(Reg::t3, {Reg::t0, 0});
        a_.branch_near(Cond::equal, found);
        a_.sub(Reg::t0, Reg::t2);
        a_.add_imm(Reg::t0, sizeof(Table::Slot));
        a_.jump_near(next);
        a_.bind(found);
        a_.load(Reg::t0, {Reg::t0, kSlotPlace});
        a_.move_imm(Reg::t1, reinterpret_cast<uint64_t>(&tracing::g_active_half));
        a_.load_u32(Reg::t1, {Reg::t1, 0});
        a_.load_scaled(Reg::t1, Reg::t0, Reg::t1, kPlaceCells);
        a_.compare_imm(Reg::t1, 0);
        a_.branch(Cond::equal, slow);
        // Only this scheduler writes its cell.
        a_.load_u32(Reg::t2, {Reg::sched, kSchedNumber});
        a_.shift_left(Reg::t2, 6);
        static_assert(sizeof(tracing::CallCell) == 1 << 6);
        a_.add(Reg::t1, Reg::t2);
        a_.load(Reg::t2, {Reg::t1, 0});
        a_.add_imm(Reg::t2, 1);
        a_.store({Reg::t1, 0}, Reg::t2);
        a_.ret();
        a_.bind(slow);
        spill();
        a_.call_runtime(reinterpret_cast<const void*>(runtime_breakpoint), Caller::on_top);
        a_.compare_imm(Reg::t0, 0);
        a_.branch(Cond::not_equal, special_);
        reload();
        a_.ret();
    }
    void map_get() {
        constexpr auto boxed = static_cast<int32_t>(kTagBoxed);
        const Label other = a_.new_label();
        const Label hashed = a_.new_label();
        const Label flat = a_.new_label();
        const Label next = a_.new_label();
        const Label found = a_.new_label();
        const Label none = a_.new_label();
        const auto flat_or = [&](Label not_flat) {
            a_.compare_u8_imm({Reg::t1, -boxed},
                              static_cast<uint8_t>(make_header(Kind::flat_map, 0)));
            a_.branch(Cond::not_equal, not_flat);
        };
        begin(&Fragments::map_get);
        static_assert(kTagCons == 1 && kTagBoxed == 2);
        a_.lea(Reg::t0, {Reg::t3, -static_cast<int32_t>(kTagCons)});
        a_.test_imm(Reg::t0, 6);
        a_.branch(Cond::equal, other);
        flat_or(other);
        a_.jump(flat);
        begin(&Fragments::map_get_immediate);
        flat_or(hashed);
        a_.bind(flat);
        // t0 goes through the keys, t2 counts those left.
        a_.load(Reg::t0, {Reg::t1, 8 - boxed});
        a_.load(Reg::t2, {Reg::t0, -boxed});
        a_.lea(Reg::t0, {Reg::t0, 8 - boxed});
        a_.shift_right(Reg::t2, 8);
        a_.compare_imm(Reg::t2, 0);
        a_.branch_near(Cond::equal, none);
        a_.bind(next);
        a_.compare_mem(Reg::t3, {Reg::t0, 0});
        a_.branch_near(Cond::equal, found);
        a_.lea(Reg::t0, {Reg::t0, 8});
        a_.sub_imm(Reg::t2, 1);
        a_.branch_near(Cond::not_equal, next);
        a_.bind(none);
        if (by_release::zeros_are_equal()) {
            a_.move(Reg::t0, Reg::t3);
            a_.or_imm(Reg::t0, kZeroSign);
            a_.compare_imm(Reg::t0, static_cast<int64_t>(kZeroWord | kZeroSign));
            a_.branch(Cond::equal, other);
        }
        a_.move_imm(Reg::t0, kNonValue.raw);
        a_.leaf_return();
        // The values begin at the third word of the map, the keys at the second word of their tuple.
        a_.bind(found);
        a_.load(Reg::t2, {Reg::t1, 8 - boxed});
        a_.sub(Reg::t0, Reg::t2);
        a_.load_indexed(Reg::t0, Reg::t1, Reg::t0, 8);
        a_.leaf_return();
        begin(&Fragments::map_get_constant);
        flat_or(hashed);
        a_.bind(other);
        a_.fragment_entry();
        a_.move(Reg::t0, Reg::t1);
        a_.move(Reg::t1, Reg::t3);
        a_.call_leaf(reinterpret_cast<const void*>(leaf_map_get), Caller::on_top);
        a_.ret();
        a_.bind(hashed);
        a_.fragment_entry();
        a_.move(Reg::t0, Reg::t1);
        a_.move(Reg::t1, Reg::t3);
        a_.call_leaf(reinterpret_cast<const void*>(leaf_map_get_hashed), Caller::on_top);
        a_.ret();
    }
    void leaf(const void* Fragments::*address, Leaf fn) {
        begin(address);
        a_.fragment_entry();
        a_.call_heap_leaf(reinterpret_cast<const void*>(fn), Caller::on_top);
        a_.ret();
    }
    // t0 := a match context over the bit string in t0; the non-value if t0 is no bit string or the heap
    // is full.
    void start_match(const void* Fragments::*address) {
        constexpr auto header = [](Kind k) { return static_cast<uint8_t>(make_header(k, 0)); };
        const auto field = [](size_t byte) { return Mem{Reg::heap, static_cast<int32_t>(byte)}; };
        begin(address);
        const Label sub = a_.new_label();
        const Label build = a_.new_label();
        const Label no = a_.new_label();
        a_.lea(Reg::t1, {Reg::t0, -static_cast<int32_t>(kTagBoxed)});
        a_.test_imm(Reg::t1, kTagMask);
        a_.branch(Cond::not_equal, no);
        a_.compare_u8_imm({Reg::t1, 0}, header(Kind::sub_bits));
        a_.branch(Cond::equal, sub);
        a_.compare_u8_imm({Reg::t1, 0}, header(Kind::heap_bits));
        a_.branch(Cond::not_equal, no);
        a_.load(Reg::t2, {Reg::t1, 8});
        a_.move_imm(Reg::t3, 0);
        a_.jump(build);
        a_.bind(sub);
        a_.load(Reg::t0, {Reg::t1, 8});
        a_.load(Reg::t3, {Reg::t1, 16});
        a_.load(Reg::t2, {Reg::t1, 24});
        a_.bind(build);
        a_.lea(Reg::t1,
               {Reg::heap, static_cast<int32_t>(8 * (kMatchContextWords + kReserveWords))});
        a_.compare(Reg::t1, Reg::stack);
        a_.branch(Cond::above, no);
        a_.add(Reg::t2, Reg::t3);
        a_.store_imm({Reg::heap, 0}, make_header(Kind::match_context, kMatchContextWords - 1));
        a_.store(field(offsetof(MatchContext, orig)), Reg::t0);
        a_.store(field(offsetof(MatchContext, position)), Reg::t3);
        a_.store(field(offsetof(MatchContext, end)), Reg::t2);
        a_.store(field(offsetof(MatchContext, first)), Reg::t3);
        a_.lea(Reg::t0, {Reg::heap, static_cast<int32_t>(kTagBoxed)});
        a_.add_imm(Reg::heap, 8 * kMatchContextWords);
        a_.leaf_return();
        a_.bind(no);
        a_.move_imm(Reg::t0, kNonValue.raw);
        a_.leaf_return();
    }
    // t0 := a bit string of at most 64 bits; the non-value if the heap is full.
    void new_bits() {
        const Label no = a_.new_label();
        begin(&Fragments::bs_new_bits);
        a_.add(Reg::t2, Reg::heap);
        a_.compare(Reg::t2, Reg::stack);
        a_.branch_near(Cond::above, no);
        a_.byte_swap(Reg::t1, 64);
        a_.store_imm({Reg::heap, 0}, make_header(Kind::heap_bits, kSmallBitsWords - 1));
        a_.store({Reg::heap, 8}, Reg::t0);
        a_.store({Reg::heap, 16}, Reg::t1);
        a_.lea(Reg::t0, {Reg::heap, static_cast<int32_t>(kTagBoxed)});
        a_.add_imm(Reg::heap, 8 * kSmallBitsWords);
        a_.leaf_return();
        a_.bind(no);
        a_.move_imm(Reg::t0, kNonValue.raw);
        a_.leaf_return();
    }
    // Appends the bytes whose value is at the heap's top. t0: a RefBinary with room, t1: 8 more than the bytes in use,
    // t2: an AppendShape, t3: the bits of the bit string; at the end t3 counts the appended ones as well.
    void write_bytes() {
        a_.and_imm(Reg::t2, AppendShape::kInPlace - 1);
        a_.add(Reg::t3, Reg::t2);
        a_.store({Reg::heap, 24}, Reg::t3);
        a_.move(Reg::t3, Reg::t1);
        a_.shift_left(Reg::t3, 3);
        a_.sub_imm(Reg::t3, 64);
        a_.add(Reg::t3, Reg::t2);
        a_.store({Reg::t0, offsetof(RefBinary, append_end)}, Reg::t3);
        a_.load(Reg::t2, {Reg::heap, 0});
        a_.byte_swap(Reg::t2, 64);
        a_.load(Reg::t0, {Reg::t0, offsetof(RefBinary, bytes)});
        a_.add(Reg::t1, Reg::t0);
        a_.store({Reg::t1, -8}, Reg::t2);
        a_.load(Reg::t3, {Reg::heap, 24});
    }
    // bs_append_utf8 up to `bytes`: t1 has the bytes of the character then, uppermost first, and t2 how many bits they
    // are. To `other`, with t0 to t2 as they came, if t1 is no character of up to three bytes.
    void encode_utf8(Label bytes, Label other) {
        constexpr unsigned kSmallShift = 3;
        static_assert(make_small(1).raw == 1 << kSmallShift);
        const Label two = a_.new_label();
        const Label three = a_.new_label();
        begin(&Fragments::bs_append_utf8);
        a_.test_imm(Reg::t1, kTagMask);
        a_.branch(Cond::not_equal, other);
        a_.compare_imm(Reg::t1, make_small(0x80).raw);
        a_.branch(Cond::above_equal, two);
        a_.shift_left(Reg::t1, 64 - 8 - kSmallShift);
        a_.add_imm(Reg::t2, 8);
        a_.jump(bytes);
        a_.bind(two);
        a_.compare_imm(Reg::t1, make_small(0x800).raw);
        a_.branch(Cond::above_equal, three);
        a_.shift_right(Reg::t1, kSmallShift);
        a_.move(Reg::t3, Reg::t1);
        a_.shift_right(Reg::t3, 6);
        a_.shift_left(Reg::t3, 8);
        a_.and_imm(Reg::t1, 0x3F);
        a_.or_(Reg::t1, Reg::t3);
        a_.or_imm(Reg::t1, 0xC080);
        a_.shift_left(Reg::t1, 64 - 16);
        a_.add_imm(Reg::t2, 16);
        a_.jump(bytes);
        a_.bind(three);
        a_.compare_imm(Reg::t1, make_small(0x10000).raw);
        a_.branch(Cond::above_equal, other);
        a_.move(Reg::t3, Reg::t1);
        a_.shift_right(Reg::t3, kSmallShift + 11);
        a_.compare_imm(Reg::t3, 0xD800 >> 11);  // half of a pair of UTF-16
        a_.branch(Cond::equal, other);
        a_.shift_right(Reg::t1, kSmallShift);
        a_.shift_right(Reg::t3, 1);
        a_.shift_left(Reg::t3, 16);
        a_.store({Reg::sched, kScratchX}, Reg::t3);
        a_.move(Reg::t3, Reg::t1);
        a_.shift_right(Reg::t3, 6);
        a_.and_imm(Reg::t3, 0x3F);
        a_.shift_left(Reg::t3, 8);
        a_.and_imm(Reg::t1, 0x3F);
        a_.or_(Reg::t1, Reg::t3);
        a_.load(Reg::t3, {Reg::sched, kScratchX});
        a_.or_(Reg::t1, Reg::t3);
        a_.or_imm(Reg::t1, 0xE08080);
        a_.shift_left(Reg::t1, 64 - 24);
        a_.add_imm(Reg::t2, 24);
        a_.jump(bytes);
    }
    // Does what append_bits() (vm/term/binary.cpp) does, where the only owner appends whole bytes to whole bytes and
    // has room for 8 more, which are written at once; the leaf does the rest. The arguments stay meanwhile on the
    // heap, where the new object will be. A character of up to three bytes is encoded first.
    // A bit string that nothing else refers to, as the compiler says (private_append), grows in place, as in OTP:
    // code that says so in error sees its own bit string change, and nothing else.
    void append_bytes() {
        constexpr auto header = [](Kind k) { return static_cast<uint8_t>(make_header(k, 0)); };
        constexpr int32_t kTag = kTagBoxed;
        const Label bytes = a_.new_label();
        const Label leaf_of_bytes = a_.new_label();
        const Label leaf_of_utf8 = a_.new_label();
        const Label restore = a_.new_label();
        const Label in_place = a_.new_label();

        encode_utf8(bytes, leaf_of_utf8);
        begin(&Fragments::bs_append_bytes);
        a_.bind(bytes);
        a_.move(Reg::t3, Reg::t2);
        a_.shift_right(Reg::t3, 32);
        a_.add(Reg::t3, Reg::heap);
        a_.compare(Reg::t3, Reg::stack);
        a_.branch(Cond::above, leaf_of_bytes);
        a_.lea(Reg::t3, {Reg::t0, -kTag});
        a_.test_imm(Reg::t3, kTagMask);
        a_.branch(Cond::not_equal, leaf_of_bytes);
        a_.compare_u8_imm({Reg::t3, 0}, header(Kind::sub_bits));
        a_.branch(Cond::not_equal, leaf_of_bytes);
        a_.store({Reg::sched, kScratchX}, Reg::t0);
        a_.store({Reg::heap, 0}, Reg::t1);
        a_.load(Reg::t0, {Reg::t3, 8});
        a_.store({Reg::heap, 8}, Reg::t0);
        a_.compare_u8_imm({Reg::t0, -kTag}, header(Kind::bin_ref));
        a_.branch(Cond::not_equal, restore);
        a_.move_imm(Reg::t1, reinterpret_cast<uint64_t>(&g_literal_base));
        a_.load(Reg::t1, {Reg::t1, 0});
        a_.sub(Reg::t1, Reg::t0);
        a_.negate_reg(Reg::t1);
        static_assert(kLiteralRangeBytes == Word{1} << 34);
        a_.shift_right(Reg::t1, 34);
        a_.compare_imm(Reg::t1, 0);
        a_.branch(Cond::equal, restore);
        a_.load(Reg::t0, {Reg::t0, 8 - kTag});
        // Plain loads do. With one owner left, the others read and wrote before they let go (RefBinary::release()),
        // and the stores below depend on what is loaded here. We may miss the last move of append_end: then it
        // says that the bits behind ours are free, and so they are, as there is no other owner.
        a_.compare_mem_imm({Reg::t0, offsetof(RefBinary, refs)}, 1);
        a_.branch(Cond::not_equal, restore);
        a_.load(Reg::t1, {Reg::t3, 16});
        a_.store({Reg::heap, 16}, Reg::t1);
        a_.load(Reg::t3, {Reg::t3, 24});
        a_.add(Reg::t1, Reg::t3);
        a_.compare_mem(Reg::t1, {Reg::t0, offsetof(RefBinary, append_end)});
        a_.branch(Cond::not_equal, restore);
        a_.test_imm(Reg::t1, 7);
        a_.branch(Cond::not_equal, restore);
        a_.test_imm(Reg::t3, 7);
        a_.branch(Cond::not_equal, restore);
        a_.shift_right(Reg::t1, 3);
        a_.add_imm(Reg::t1, 8);
        a_.compare_mem(Reg::t1, {Reg::t0, offsetof(RefBinary, size_bytes)});
        a_.branch(Cond::above, restore);
        a_.test_imm(Reg::t2, AppendShape::kInPlace);
        a_.branch(Cond::not_equal, in_place);
        write_bytes();
        a_.store_imm({Reg::heap, 0}, make_header(Kind::sub_bits, kSubBitsWords - 1));
        a_.lea(Reg::t0, {Reg::heap, kTag});
        a_.add_imm(Reg::heap, 8 * kSubBitsWords);
        a_.leaf_return();
        a_.bind(in_place);
        write_bytes();
        a_.load(Reg::t0, {Reg::sched, kScratchX});
        a_.store({Reg::t0, 24 - kTag}, Reg::t3);
        a_.leaf_return();

        a_.bind(restore);
        a_.load(Reg::t0, {Reg::sched, kScratchX});
        a_.load(Reg::t1, {Reg::heap, 0});
        a_.bind(leaf_of_bytes);
        a_.fragment_entry();
        a_.call_heap_leaf(reinterpret_cast<const void*>(leaf_append_bits), Caller::on_top);
        a_.ret();
        a_.bind(leaf_of_utf8);
        a_.fragment_entry();
        a_.call_heap_leaf(reinterpret_cast<const void*>(leaf_append_utf8), Caller::on_top);
        a_.ret();
    }
    // t0: a term, t1: arity. t3 := the code to enter with the fun in t0; to `slow` if t0 is no local fun of that arity.
    void find_fun(Label slow) {
        a_.lea(Reg::t2, {Reg::t0, -static_cast<int32_t>(kTagBoxed)});
        a_.test_imm(Reg::t2, kTagMask);
        a_.branch(Cond::not_equal, slow);
        a_.compare_u8_imm({Reg::t2, 0}, static_cast<uint8_t>(make_header(Kind::fun, 0)));
        a_.branch(Cond::not_equal, slow);
        a_.load(Reg::t3, {Reg::t2, 8});
        a_.load_u32(Reg::t2, {Reg::t3, kFunArity});
        a_.compare(Reg::t2, Reg::t1);
        a_.branch(Cond::not_equal, slow);
        a_.load_u32(Reg::t2, {Reg::sched, kCodeIx});
        a_.load_scaled(Reg::t3, Reg::t3, Reg::t2, kFunNative);
    }

    MacroAssembler& a_;
    Label special_;
};

}  // namespace

std::vector<PlacedFragment> emit_fragments(MacroAssembler& a) {
    FragmentEmitter e(a);
    e.emit();
    return std::move(e.placed);
}

Fragments fragments_at(const MacroAssembler& a, const std::vector<PlacedFragment>& placed,
                       const void* base) {
    const auto* const begin = static_cast<const std::byte*>(base);
    Fragments fragments;
    for (const PlacedFragment& p : placed) {
        fragments.*p.address = begin + a.offset_of(p.label);
    }
    fragments.end = begin + a.size();
    return fragments;
}

void make_fragments() {
    const std::unique_ptr<MacroAssembler> a = new_assembler(kHostMachine);
    const std::vector<PlacedFragment> placed = emit_fragments(*a);
    CodeMemory& memory = code_memory();
    const CodeBlock block = memory.allocate(a->size(), 64);
    MINIVM_CHECK(block);  // nothing else is there yet
    {
        CodeMemory::Writer w = memory.open(block);
        a->copy_to(w.data(), reinterpret_cast<uint64_t>(block.address));
    }
    g_fragments = fragments_at(*a, placed, block.address);
    for (const CodeSpan& span : a->on_scheduler_stack()) {
        g_fragment_frames.push_back({span.begin, sizeof(Word), true});
        g_fragment_frames.push_back({span.end, sizeof(Word)});
    }
    g_entry_skip = a->entry_skip();
}

}  // namespace minivm::jit
