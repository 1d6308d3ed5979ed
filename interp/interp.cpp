#include "interp/interp.hpp"

#include "interp/code.hpp"
#include "interp/handlers.hpp"
#include "vm/code/module_table.hpp"
#include "vm/process/engine_hooks.hpp"

namespace minivm::interp {
namespace {

uint32_t address_of(Handler h) { return static_cast<uint32_t>(reinterpret_cast<Word>(h)); }

struct Interpreter final : Engine {
    alignas(8) Word exit_code[1];

    Interpreter() {
        exit_code[0] = address_of(h_process_exit);
        StubWords stubs{};
        stubs.words[kStubUndefined] = address_of(h_stub_undefined);
        stubs.words[kStubBif] = address_of(h_stub_bif);
        stubs.words[kStubCall] = address_of(h_stub_call);
        stubs.fun_unloaded = address_of(h_stub_fun_unloaded);
        stubs.process_exit = exit_code;
        set_bytecode_stubs(stubs);
    }

    const char* name() const override { return "interp"; }

    std::unique_ptr<EngineCode> compile(const LoweredModule& m) override { return pack(m); }

    void install(ModuleInstance& instance) override {
        auto& code = static_cast<InterpCode&>(*instance.code);
        for (const Fixup& f : code.fixups) {
            switch (f.kind) {
                case Fixup::Kind::catch_mark:
                    code.words[f.word] = make_catch(instance.first_catch + f.index).raw;
                    break;
                case Fixup::Kind::fun_entry:
                    code.words[f.word] = reinterpret_cast<Word>(instance.fun_entries[f.index]);
                    break;
            }
        }
    }

    Stop run(Scheduler& scheduler, Process& p) override {
        Scheduler* s = &scheduler;
        InterpState st{};
        s->engine_state = &st;
        s->process = &p;
        p.scheduler = s;
        p.x = s->x;
        s->code_ix = code_index::active();
        restore_x_registers(p, s->x);
        if (p.pc == nullptr) {  // new: its first function returns to process_exit
            *--p.heap.end = return_address(exit_code);
            p.pc = &p.initial_call->stub[kStubCall];
        }
        const Word* pc = p.pc;
        Term* E = p.heap.end;
        Term* htop = p.heap.top;
        int64_t fcalls = p.reductions;
        st.running = true;
        if (take_timed_out(p)) {
            pc = p.timeout_pc;
        }
#ifdef MINIVM_INTERP_LOOP
        st.pc = pc;
        st.E = E;
        st.htop = htop;
        st.fcalls = fcalls;
        if (p.dirty_bif != nullptr) {
            slow_dirty_done(pc, E, htop, fcalls, s);
        }
        while (st.running) {
            handler_at(st.pc)(st.pc, st.E, st.htop, st.fcalls, s);
        }
#else
        if (p.dirty_bif != nullptr) {
            slow_dirty_done(pc, E, htop, fcalls, s);
        } else {
            handler_at(pc)(pc, E, htop, fcalls, s);
        }
#endif
        s->process = nullptr;
        s->engine_state = nullptr;
        p.x = nullptr;
        return st.stop;
    }
};

}  // namespace

Engine& engine() {
    static Interpreter interpreter;
    return interpreter;
}

}  // namespace minivm::interp
