// What an engine has to do when a BIF has returned the non-value.
#pragma once

#include "vm/code/engine.hpp"
#include "vm/process/engine_calls.hpp"
#include "vm/process/gc.hpp"
#include "vm/process/tracing.hpp"

namespace minivm {

struct BifAnswer {
    enum class Next : uint8_t {
        raise,     // Process::exception is set
        call,      // Process::trap_export, with its arguments in x
        call_fun,  // the fun x[Process::trap_arity], with the arguments before it
        leave_for, // leave with `stop`; the process goes on with a call of Process::trap_export
        leave      // leave with `stop`; the process goes on at Process::pc
    };
    Next next = Next::raise;
    Stop stop = Stop::exited;
    uint32_t live = 0;  // x registers to save
};

// Process::outcome says what the BIF wants; heap and stack are saved in p. Before a function is called
// instead, prepare_return() puts the return address on the stack (or drops the frame of a tail call);
// `native`: that address is native code's. After a dirty call the engine goes on at Process::pc, which it
// has set, and takes the result there.
template <typename PrepareReturn>
BifAnswer bif_answer(Process& p, Term* x, bool native, const PrepareReturn& prepare_return) {
    using Next = BifAnswer::Next;
    const Export* const e = p.trap_export;
    switch (p.outcome) {
        case BifOutcome::exception:
            return {};
        case BifOutcome::exited:
            return {Next::leave, Stop::exited, 0};
        case BifOutcome::dirty:
            return {Next::leave, Stop::dirty, p.dirty_bif->arity};
        case BifOutcome::hibernate:
            // Of the stack only the return address of the process's end stays, which is bytecode.
            p.heap.end = p.stack_base - 1;
            shrink_gc(p, x, e->arity);
            p.pc = &e->stub[kStubCall];
            p.pc_is_native = false;
            return {Next::leave, p.mailbox.first != nullptr ? Stop::yielded : Stop::waiting, e->arity};
        case BifOutcome::trap:
        case BifOutcome::yield:
        case BifOutcome::wait:
        case BifOutcome::trap_fun:
        case BifOutcome::hibernate_here:
            break;
    }
    prepare_return();
    if (tracing::has_unfinished_bif(p)) {
        tracing::g_hooks->bif_traps(p, x, trap_live(p), native);
    }
    switch (p.outcome) {
        case BifOutcome::trap_fun:
            return {Next::call_fun, Stop::exited, 0};
        case BifOutcome::trap:
            // The BIF may have left fragments that only the arguments refer to.
            if (p.needs_gc()) {
                collect_gc(p, 0, x, e->arity, false);
            }
            return {Next::call, Stop::exited, 0};
        case BifOutcome::hibernate_here:
            shrink_gc(p, x, e->arity);
            break;
        default:
            break;
    }
    return {Next::leave_for, p.outcome == BifOutcome::yield ? Stop::yielded : Stop::waiting, e->arity};
}

}  // namespace minivm
