#include "vm/code/engine.hpp"

#include "vm/code/code_index.hpp"
#include "vm/instr/lowered.hpp"
#include "vm/process/engine_calls.hpp"
#include "vm/sched/scheduler.hpp"

namespace minivm {

bool Engine::state_at_fault(const Process&, const fault::Registers&, fault::ErlangState*) const {
    return false;
}

Engines g_engines;
TransitionWords g_transitions;

namespace {

Engine& engine_of(const Process& p) {
    return p.pc_is_native ? *g_engines.native : *g_engines.bytecode;
}

}  // namespace

Engine& engine_for(const LoweredModule& m) {
    static const Term engine = atom_table::intern("engine");
    static const Term jit = atom_table::intern("jit");
    static const Term interp = atom_table::intern("interp");
    for (Term l = m.attributes; is_cons(l); l = tail(l)) {
        const Term attribute = head(l);
        if (is_tuple_of(attribute, 2) && tuple_element(attribute, 0) == engine &&
            is_cons(tuple_element(attribute, 1))) {
            const Term wanted = head(tuple_element(attribute, 1));
            if (wanted == interp) {
                return *g_engines.bytecode;
            }
            if (wanted == jit && g_engines.native != nullptr) {
                return *g_engines.native;
            }
        }
    }
    if (g_engines.mixed && g_engines.native != nullptr) {
        uint64_t h = g_engines.mix_seed * 0x9E3779B97F4A7C15u;
        for (const char c : atom_table::text(m.name)) {
            h = (h ^ static_cast<unsigned char>(c)) * 0x100000001B3u;
        }
        return (h >> 32 & 1) != 0 ? *g_engines.native : *g_engines.bytecode;
    }
    return *g_engines.standard;
}

void cross_to_bytecode(Process& p, const Word* pc) {
    if (p.heap.end->raw == g_transitions.to_bytecode) {
        ++p.heap.end;
    } else {
        *--p.heap.end = Term{g_transitions.to_native};
    }
    p.pc = pc;
    p.pc_is_native = false;
}

void cross_to_native(Process& p, const void* entry) {
    if (p.heap.end->raw == g_transitions.to_native) {
        ++p.heap.end;
    } else {
        *--p.heap.end = Term{g_transitions.to_bytecode};
    }
    p.pc = reinterpret_cast<const Word*>(reinterpret_cast<Word>(entry) +
                                         g_transitions.native_entry_skip);
    p.pc_is_native = true;
}

Stop run_in_engines(Scheduler& s, Process& p) {
    s.process = &p;
    p.scheduler = &s;
    p.x = s.x;
    s.code_ix = code_index::reread(code_index::Reread::schedule_in, s.code_ix);
    restore_x_registers(p, s.x);
    if (p.pc == nullptr && bytecode_stubs().process_exit != nullptr) {
        // A new process: its first function returns to process_exit.
        *--p.heap.end = Term{reinterpret_cast<Word>(bytecode_stubs().process_exit) + kTagHeader};
        p.pc = &p.initial_call->stub[kStubCall];
    }
    if (p.timeout_pc != nullptr && take_timed_out(p)) {
        p.pc = p.timeout_pc;
    }
    Stop stop = p.dirty_bif != nullptr ? engine_of(p).dirty_done(s, p) : engine_of(p).run(s, p);
    while (stop == Stop::crossed) {
        stop = engine_of(p).run(s, p);
    }
    s.process = nullptr;
    p.x = nullptr;
    return stop;
}

}  // namespace minivm
