// The ways out of the fast path: collecting, raising, traps, yields, stops.
#include "interp/fused.hpp"
#include "interp/handlers.hpp"
#include "vm/code/module_table.hpp"
#include "vm/instr/bif_def.hpp"
#include "vm/process/bif_answer.hpp"
#include "vm/process/exception.hpp"
#include "vm/process/tracing.hpp"

namespace minivm::interp {

void slow_collect(ARGS) {
    Process& p = *s->process;
    const InterpState& st = interp_state(s);
    ENTER_RUNTIME(p);
    collect_gc(p, st.need, s->x, st.live, false);
    LEAVE_RUNTIME(p);
    // Executes the instruction again, without its breakpoint, which has been hit already.
    return instruction_at(pc)(PASS);
}

// Leaves the engine. The process resumes at pc with st.live x registers.
void slow_stop(ARGS) {
    Process& p = *s->process;
    InterpState& st = interp_state(s);
    ENTER_RUNTIME(p);
    save_x_registers(p, s->x, st.live);
    st.running = false;
}

void slow_yield(ARGS) {
    interp_state(s).stop = Stop::yielded;
    TAIL(slow_stop);
}

// The process ends, so nothing of its state is kept.
void slow_exiting(ARGS) {
    Process& p = *s->process;
    InterpState& st = interp_state(s);
    ENTER_RUNTIME(p);
    p.live_x = 0;
    st.stop = Stop::exited;
    st.running = false;
}

void h_process_exit(ARGS) {
    Process& p = *s->process;
    p.exception = Exception{};
    p.exception.cls = ExceptionClass::exit;
    p.exception.reason = atoms::normal;
    TAIL(slow_exiting);
}

void slow_cross(ARGS) {
    InterpState& st = interp_state(s);
    st.stop = Stop::crossed;
    st.running = false;
}

void slow_raise(ARGS) {
    Process& p = *s->process;
    ENTER_RUNTIME(p);
    const bool caught = unwind(p, s->x, s->code_ix);
    LEAVE_RUNTIME(p);
    if (!caught) {
        TAIL(slow_exiting);
    }
    if (p.pc_is_native) {
        TAIL(slow_cross);
    }
    pc = p.pc;
    if (p.needs_gc()) {
        COLLECT(4, 0);
    }
    DISPATCH();
}

// Pushes the return address for a trap out of the instruction at p.pc. If that instruction was in tail
// position, drops the frame instead: the trap's target then returns to our caller, so that loops
// through apply/3 and the like run in constant stack.
static void prepare_trap_return(Process& p) {
    const Word* next = nullptr;
    if (instruction_at(p.pc) == h_call_bif) {
        next = p.pc + fixed_words(Op::call_bif);
        if (!trap_keeps_caller(p)) {
            if (handler_at(next) == h_deallocate_return) {
                p.heap.end += next[0] >> 48;
                return;
            }
            if (handler_at(next) == h_return_) {
                return;
            }
        }
    } else if (instruction_at(p.pc) == h_send) {
        next = p.pc + fixed_words(Op::send);
    } else {
        return;
    }
    *--p.heap.end = return_address(next);
}

static MINIVM_NOINLINE BifAnswer::Next answer_of_bif(Scheduler* s) {
    Process& p = *s->process;
    const BifAnswer answer = bif_answer(p, s->x, false, [&p] { prepare_trap_return(p); });
    interp_state(s).stop = answer.stop;
    interp_state(s).live = answer.live;
    return answer.next;
}
void slow_bif_failed(ARGS) {
    Process& p = *s->process;
    s->code_ix = code_index::reread(code_index::Reread::bif, s->code_ix);
    ENTER_RUNTIME(p);
    const BifAnswer::Next next = answer_of_bif(s);
    LEAVE_RUNTIME(p);
    pc = p.pc;
    switch (next) {
        case BifAnswer::Next::raise:
            TAIL(slow_raise);
        case BifAnswer::Next::leave:
            TAIL(slow_stop);
        case BifAnswer::Next::call_fun:
            TAIL(slow_apply_fun);
        case BifAnswer::Next::call:
            ENTER_EXPORT(p.trap_export);
        case BifAnswer::Next::leave_for:
            pc = &p.trap_export->stub[kStubCall];
            TAIL(slow_stop);
    }
}

// Takes up the result of the dirty BIF called at pc; the process holds the outcome.
void slow_dirty_done(ARGS) {
    Process& p = *s->process;
    const BifDef* bif = p.dirty_bif;
    p.dirty_bif = nullptr;
    if (!p.dirty_ok) {
        if (p.outcome == BifOutcome::exception) {
            ENTER_RUNTIME(p);
            set_bif_args(p, *bif, s->x);
            LEAVE_RUNTIME(p);
        }
        TAIL(slow_bif_failed);
    }
    if (tracing::has_unfinished_bif(p)) {
        ENTER_RUNTIME(p);
        tracing::g_hooks->bif_returned(p, s->x[0]);
        LEAVE_RUNTIME(p);
    }
    if (instruction_at(pc) == h_call_bif) {
        pc += fixed_words(Op::call_bif);
    } else {
        pc = return_target(*E);
        ++E;
    }
    if (p.needs_gc()) {
        COLLECT(1, 0);
    }
    DISPATCH();
}

}  // namespace minivm::interp
