#include "interp/interp.hpp"

#include "interp/code.hpp"
#include "interp/handlers.hpp"
#include "vm/code/module_table.hpp"
#include "vm/fault/fault.hpp"
#include "vm/process/tracing.hpp"

namespace minivm::interp {
namespace {

uint32_t address_of(Handler h) { return static_cast<uint32_t>(reinterpret_cast<Word>(h)); }

struct Interpreter final : Engine {
    alignas(8) Word exit_code[1];
    alignas(8) Word return_to_native[1];
    alignas(8) Word return_trace[1];

    Interpreter() {
        exit_code[0] = address_of(h_process_exit);
        return_to_native[0] = address_of(h_return_to_native);
        g_transitions.to_native = return_address(return_to_native).raw;
        StubWords stubs{};
        stubs.words[kStubUndefined] = address_of(h_stub_undefined);
        stubs.words[kStubBif] = address_of(h_stub_bif);
        stubs.words[kStubCall] = address_of(h_stub_call);
        stubs.words[kStubNative] = address_of(h_stub_native);
        stubs.words[kStubTrace] = address_of(h_stub_trace);
        return_trace[0] = address_of(h_return_trace);
        tracing::g_return_words.bytecode = return_address(return_trace).raw;
        stubs.fun[kFunStubUnloaded] = address_of(h_stub_fun_unloaded);
        stubs.fun[kFunStubNative] = address_of(h_stub_fun_native);
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

    Armed place_of_breakpoint(const ModuleInstance& m, uint32_t function) override {
        const Word* entry = m.code->bytecode_at(m.lowered.functions[function].entry);
        // The half that write_handler() may be writing: trace_info/2 asks while another thread arms or disarms.
        // relaxed: only the holder of the code modification permission uses what it reads.
        return {entry, __atomic_load_n(reinterpret_cast<const uint32_t*>(entry), __ATOMIC_RELAXED)};
    }
    // Writes only the half of the word that dispatch reads; handlers read the operands in the other half.
    static void write_handler(const void* entry, uint32_t handler) {
        // relaxed: thread progress before and after this store orders it.
        __atomic_store_n(static_cast<uint32_t*>(const_cast<void*>(entry)), handler,
                         __ATOMIC_RELAXED);
    }
    void arm(const Armed* places, size_t count) override {
        for (size_t i = 0; i < count; ++i) {
            write_handler(places[i].key, address_of(h_breakpoint));
        }
    }
    void disarm(const Armed* places, size_t count) override {
        for (size_t i = 0; i < count; ++i) {
            write_handler(places[i].key, static_cast<uint32_t>(places[i].saved));
        }
    }

    Stop run(Scheduler& s, Process& p) override { return run_from(s, p, handler_at(p.pc)); }
    Stop dirty_done(Scheduler& s, Process& p) override { return run_from(s, p, slow_dirty_done); }

    // Handlers keep pc and E in the first two argument registers, which may still hold them. They do if the one
    // is an address of loaded bytecode and the other one of p's stack.
    bool state_at_fault(const Process& p, const fault::Registers& r,
                        fault::ErlangState* state) const override {
        const auto* pc = reinterpret_cast<const void*>(r.argument[0]);
        const auto* stack = reinterpret_cast<const Term*>(r.argument[1]);
        FunctionInfo where{};
        if (r.argument[0] % sizeof(Word) != 0 || r.argument[1] % sizeof(Term) != 0 ||
            stack < p.heap_start || stack > p.stack_base ||
            !module_table::lookup(pc, code_index::active(), false, &where)) {
            return false;
        }
        *state = {pc, stack};
        return true;
    }

    Stop run_from(Scheduler& scheduler, Process& p, Handler first) {
        Scheduler* s = &scheduler;
        InterpState st{};
        s->engine_state = &st;
        st.running = true;
        first(p.pc, p.heap.end, p.heap.top, p.reductions, s);
#ifdef MINIVM_INTERP_LOOP
        while (st.running) {
            handler_at(st.pc)(st.pc, st.E, st.htop, st.fcalls, s);
        }
#endif
        s->engine_state = nullptr;
        return st.stop;
    }
};

}  // namespace

Engine& engine() {
    static Interpreter interpreter;
    return interpreter;
}

}  // namespace minivm::interp
