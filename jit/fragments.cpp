// The code that all modules share: ways into the runtime and back.
#include "jit/code_memory.hpp"
#include "jit/layout.hpp"
#include "jit/macro_assembler.hpp"
#include "jit/native_code.hpp"
#include "jit/runtime.hpp"

namespace minivm::jit {

Fragments g_fragments;
std::vector<NativeFrame> g_fragment_frames;

namespace {

using Runtime = Word (*)(Scheduler*, Word, Word, Word);

class FragmentEmitter {
public:
    explicit FragmentEmitter(MacroAssembler& a) : a_(a) {}

    struct Placed {
        const void** address;
        Label label;
    };
    std::vector<Placed> placed;

    void emit(Fragments& f) {
        begin(&f.enter);
        a_.emit_enter();
        begin(&f.leave);
        a_.emit_leave();

        // The address where to go on is in t0.
        special_ = a_.new_label();
        a_.bind(special_);
        reload();
        a_.jump_reg(Reg::t0);

        runtime(&f.default_op, runtime_default_op, 1);
        runtime(&f.collect, runtime_collect, 0);
        runtime(&f.yield, runtime_yield, 0);
        runtime(&f.call_bif, runtime_call_bif, 0);
        runtime(&f.send, runtime_send, 0);
        function(&f.enter_bytecode, runtime_enter_bytecode);
        function(&f.enter_fun_bytecode, runtime_enter_fun_bytecode);

        begin(&f.wait);
        a_.call_runtime(reinterpret_cast<const void*>(runtime_wait));
        a_.jump(special_);

        begin(&f.bif_body);
        spill();
        a_.call_runtime(reinterpret_cast<const void*>(runtime_bif_body));
        a_.compare_imm(Reg::t0, 0);
        a_.branch(Cond::not_equal, special_);
        a_.load(Reg::x0, {Reg::sched, 0});
        a_.ret();

        begin(&f.call_fun);
        Label slow = a_.new_label();
        find_fun(slow);
        a_.jump_reg(Reg::t3);
        a_.bind(slow);
        a_.fragment_entry();
        spill();
        a_.call_runtime(reinterpret_cast<const void*>(runtime_call_fun));
        a_.jump(special_);

        begin(&f.check_fun);
        a_.fragment_entry();
        slow = a_.new_label();
        find_fun(slow);
        a_.ret();
        a_.bind(slow);
        spill();
        a_.call_runtime(reinterpret_cast<const void*>(runtime_check_fun));
        a_.compare_imm(Reg::t0, 0);
        a_.branch(Cond::not_equal, special_);
        reload();
        a_.load(Reg::t0, {Reg::sched, kScratchX});
        a_.load_u32(Reg::t2, {Reg::sched, kCodeIx});
        a_.load_scaled(Reg::t3, Reg::t0, Reg::t2, kExportNative);
        a_.ret();

        // Bytecode's return address is on top when this is returned to.
        a_.align_return_address();
        begin_here(&f.return_to_bytecode);
        a_.store({Reg::sched, 0}, Reg::x0);
        a_.call_runtime(reinterpret_cast<const void*>(runtime_return_to_bytecode));
        a_.jump(special_);

        begin(&f.breakpoint);
        a_.ret();
    }

private:
    void begin(const void** address) {
        a_.align(16);
        begin_here(address);
    }
    void begin_here(const void** address) {
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
    // A fragment that is called and comes back, unless its answer is above `last_value`.
    void runtime(const void** address, Runtime fn, int last_value) {
        begin(address);
        a_.fragment_entry();
        spill();
        a_.call_runtime(reinterpret_cast<const void*>(fn));
        a_.compare_imm(Reg::t0, last_value);
        a_.branch(Cond::above, special_);
        reload();
        a_.ret();
    }
    // A fragment that is entered as a function is, and goes on where its answer says.
    void function(const void** address, Runtime fn) {
        begin(address);
        a_.fragment_entry();
        spill();
        a_.call_runtime(reinterpret_cast<const void*>(fn));
        a_.jump(special_);
    }
    // t0: a term, t1: arity. t3 := the code of the fun it is, to be entered with the fun in t0.
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

void make_fragments() {
    std::unique_ptr<MacroAssembler> a = new_host_assembler();
    FragmentEmitter e(*a);
    e.emit(g_fragments);
    CodeMemory& memory = code_memory();
    const CodeBlock block = memory.allocate(a->size(), 64);
    {
        CodeMemory::Writer w = memory.open(block);
        a->copy_to(w.data(), reinterpret_cast<uint64_t>(block.address));
    }
    for (const FragmentEmitter::Placed& p : e.placed) {
        *p.address = block.address + a->offset_of(p.label);
    }
    g_fragments.end = block.address + a->size();
    for (const CodeSpan& span : a->on_scheduler_stack()) {
        g_fragment_frames.push_back({span.begin, sizeof(Word), true});
        g_fragment_frames.push_back({span.end, sizeof(Word)});
    }
    g_entry_skip = a->entry_skip();
}

}  // namespace minivm::jit
