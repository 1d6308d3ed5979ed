#include "vm/engine.hpp"

#include "vm/code/code_index.hpp"
#include "vm/process/engine_hooks.hpp"
#include "vm/sched/scheduler.hpp"

namespace minivm {

Engines g_engines;
TransitionWords g_transitions;

namespace {

Engine& engine_of(const Process& p) {
    return p.pc_is_native ? *g_engines.native : *g_engines.bytecode;
}

}  // namespace

void cross_to_bytecode(Process& p, const Word* pc) {
    if (p.heap.end->raw == g_transitions.to_bytecode) {
        ++p.heap.end;
    } else {
        *--p.heap.end = Term{g_transitions.to_native};
    }
    p.pc = pc;
    p.pc_is_native = false;
}

void cross_to_native(Process& p, const void* pc) {
    if (p.heap.end->raw == g_transitions.to_native) {
        ++p.heap.end;
    } else {
        *--p.heap.end = Term{g_transitions.to_bytecode};
    }
    p.pc = static_cast<const Word*>(pc);
    p.pc_is_native = true;
}

Stop run_in_engines(Scheduler& s, Process& p) {
    s.process = &p;
    p.scheduler = &s;
    p.x = s.x;
    s.code_ix = code_index::active();
    restore_x_registers(p, s.x);
    if (p.pc == nullptr && bytecode_stubs().process_exit != nullptr) {
        // New: its first function returns to process_exit.
        *--p.heap.end = Term{reinterpret_cast<Word>(bytecode_stubs().process_exit) + kTagHeader};
        p.pc = &p.initial_call->stub[kStubCall];
    }
    if (p.timeout_pc != nullptr && take_timed_out(p)) {
        p.pc = p.timeout_pc;
    }
    Stop stop =
        p.dirty_bif != nullptr ? engine_of(p).dirty_done(s, p) : engine_of(p).run(s, p);
    while (stop == Stop::crossed) {
        stop = engine_of(p).run(s, p);
    }
    s.process = nullptr;
    p.x = nullptr;
    return stop;
}

}  // namespace minivm
