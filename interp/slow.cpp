// The ways out of the fast path: collecting, raising, traps, yields, stops.
#include "interp/fused.hpp"
#include "interp/handlers.hpp"
#include "vm/code/module_table.hpp"
#include "vm/instr/bif_def.hpp"
#include "vm/process/engine_hooks.hpp"
#include "vm/process/exception.hpp"
#include "vm/process/tracing.hpp"

namespace minivm::interp {

Term collect_result_need_gc(Scheduler* s, uint32_t live, Term result, Word need_words) {
    Process& p = *s->process;
    s->x[live] = result;
    collect_gc(p, need_words, s->x, live + 1, false);
    return s->x[live];
}
Term collect_result_gc(Scheduler* s, uint32_t live, Term result) {
    return collect_result_need_gc(s, live, result, 0);
}

void slow_collect(ARGS) {
    Process& p = *s->process;
    const InterpState& st = interp_state(s);
    ENTER_RUNTIME(p);
    collect_gc(p, st.need, s->x, st.live, false);
    LEAVE_RUNTIME(p);
    // Once more, but a breakpoint has been passed.
    return instruction_at(pc)(PASS);
}

// Leaves the engine: pc is where to resume, st.live x registers are kept.
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

// The process has been told to exit; nothing of its state is needed any more.
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

// p.pc := the handler's address, in either engine. False: there is none.
static MINIVM_NOINLINE bool unwind_to_handler(Process& p, Scheduler* s) {
    uint32_t index = 0;
    if (!unwind(p, s->x, p.pc, s->code_ix, &index)) {
        return false;
    }
    const catch_table::Handler handler = catch_table::get(index);
    p.pc = static_cast<const Word*>(handler.address);
    p.pc_is_native = handler.is_native;
    return true;
}

void slow_cross(ARGS) {
    InterpState& st = interp_state(s);
    st.stop = Stop::crossed;
    st.running = false;
}

void slow_raise(ARGS) {
    Process& p = *s->process;
    ENTER_RUNTIME(p);
    const bool caught = unwind_to_handler(p, s);
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

// The return address for a trap out of the instruction at pc, unless that instruction was in tail
// position: then the frame is dropped now and the trap target returns to our caller, so that loops
// through apply/3 and the like run in constant stack.
#define PREPARE_TRAP_RETURN()                                                              \
    do {                                                                                   \
        if (instruction_at(pc) == h_call_bif) {                                            \
            const Word* next = pc + fixed_words(Op::call_bif);                             \
            if (trap_keeps_caller(p)) {                                                    \
                *--E = return_address(next);                                               \
            } else if (handler_at(next) == h_deallocate_return) {                          \
                E += next[0] >> 48;                                                        \
            } else if (handler_at(next) != h_return_) {                                    \
                *--E = return_address(next);                                               \
            }                                                                              \
        } else if (instruction_at(pc) == h_send) {                                         \
            *--E = return_address(pc + fixed_words(Op::send));                             \
        }                                                                                  \
    } while (0)

void slow_bif_failed(ARGS) {
    Process& p = *s->process;
    s->code_ix = code_index::reread(code_index::Reread::bif, s->code_ix);
    switch (p.outcome) {
        case BifOutcome::exception:
            TAIL(slow_raise);
        case BifOutcome::exited:
            TAIL(slow_exiting);
        case BifOutcome::dirty: {
            // The call is made again, on a dirty scheduler; run() takes its result up at pc.
            interp_state(s).live = p.dirty_bif->arity;
            interp_state(s).stop = Stop::dirty;
            TAIL(slow_stop);
        }
        case BifOutcome::hibernate: {
            // Only the return to the process's end stays of the stack.
            const Export* e = p.trap_export;
            E = p.stack_base - 1;
            ENTER_RUNTIME(p);
            shrink_gc(p, s->x, e->arity);
            LEAVE_RUNTIME(p);
            interp_state(s).live = e->arity;
            interp_state(s).stop =
                p.mailbox.first != nullptr ? Stop::yielded : Stop::waiting;
            pc = &e->stub[kStubCall];
            TAIL(slow_stop);
        }
        case BifOutcome::trap:
        case BifOutcome::yield:
        case BifOutcome::wait:
        case BifOutcome::trap_fun:
        case BifOutcome::hibernate_here:
            break;
    }
    PREPARE_TRAP_RETURN();
    if (tracing::has_unfinished_bif(p)) {
        ENTER_RUNTIME(p);
        tracing::g_hooks->bif_traps(p, s->x, trap_live(p), false);
        LEAVE_RUNTIME(p);
    }
    if (p.outcome == BifOutcome::trap_fun) {
        TAIL(slow_apply_fun);
    }
    const Export* e = p.trap_export;
    if (p.outcome == BifOutcome::trap) {
        // The trapping BIF may have left fragments that only the arguments refer to.
        pc = &e->stub[kStubCall];
        if (p.needs_gc()) {
            COLLECT(e->arity, 0);
        }
        ENTER_EXPORT(e);
    }
    if (p.outcome == BifOutcome::hibernate_here) {
        ENTER_RUNTIME(p);
        shrink_gc(p, s->x, e->arity);
        LEAVE_RUNTIME(p);
    }
    interp_state(s).live = e->arity;
    interp_state(s).stop = p.outcome == BifOutcome::yield ? Stop::yielded : Stop::waiting;
    pc = &e->stub[kStubCall];
    TAIL(slow_stop);
}

// erlang:apply/2: x[p.trap_arity] is the fun, x0... its arguments.
void slow_apply_fun(ARGS) {
    Process& p = *s->process;
    const uint32_t arity = p.trap_arity;
    const Term fun = s->x[arity];
    const Word* target = nullptr;
    uint32_t live = arity;
    if (is_local_fun(fun) && fun_entry(fun)->arity == arity) {
        const FunEntry* fe = fun_entry(fun);
        const uint32_t n = static_cast<uint32_t>(fun_free_count(fun));
        for (uint32_t i = 0; i < n; ++i) {
            s->x[arity + i] = fun_free_variables(fun)[i];
        }
        live += n;
        target = fe->bytecode[s->code_ix];
    } else if (is_export_fun(fun) && export_fun_entry(fun)->arity == arity) {
        target = export_fun_entry(fun)->bytecode[s->code_ix];
    } else {
        ENTER_RUNTIME(p);
        raise_bad_fun(p, fun, arity, s->x);
        LEAVE_RUNTIME(p);
        TAIL(slow_raise);
    }
    pc = target;
    if (p.needs_gc()) {
        COLLECT(live, 0);
    }
    ENTER(target, live);
}

// Where the result of a dirty BIF called at pc is taken up; the outcome is in the process.
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
