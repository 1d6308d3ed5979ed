#include "jit/runtime.hpp"

#include "jit/code_memory.hpp"
#include "jit/jit.hpp"
#include "vm/code/code_index.hpp"
#include "vm/code/module_table.hpp"
#include "vm/instr/bif_def.hpp"
#include "vm/process/bif_answer.hpp"
#include "vm/process/exception.hpp"
#include "vm/process/extra.hpp"
#include "vm/process/tracing.hpp"
#include "vm/semantics/map.hpp"
#include "vm/term/compare.hpp"

#include <algorithm>
#include <bit>

namespace minivm::jit {

uint32_t g_entry_skip = 0;

NativeState& native_state(Scheduler* s) {
    return *static_cast<NativeState*>(s->engine_state);
}

namespace {

Word address(const void* p) {
    return reinterpret_cast<Word>(p);
}

// Pops the return address on top of the stack, and sets the process's pc to the call before it.
Word pop_return_address(Process& p) {
    const Word ra = p.heap.end->raw;
    ++p.heap.end;
    p.pc = reinterpret_cast<const Word*>(ra - 1);
    return ra;
}
void push_return_address(Process& p, Word ra) {
    *--p.heap.end = Term{ra};
}

Word stop(Scheduler* s, Stop why, uint32_t live) {
    Process& p = *s->process;
    if (why == Stop::exited) {
        p.live_x = 0;
    } else if (why != Stop::crossed) {
        save_x_registers(p, s->x, live);
    }
    native_state(s).stop = why;
    return address(g_fragments.leave);
}

// Raises Process::exception; Process::pc is where.
Word raise(Scheduler* s) {
    Process& p = *s->process;
    if (!unwind(p, s->x, s->code_ix)) {
        return stop(s, Stop::exited, 0);
    }
    if (!p.pc_is_native) {
        return stop(s, Stop::crossed, 0);
    }
    if (p.needs_gc()) {
        collect_gc(p, 0, s->x, 4, false);
    }
    return address(p.pc);
}

// Enters a function whose return address is on top of the stack; its reduction is not counted yet.
Word enter_export(Scheduler* s, const Export* e) {
    Process& p = *s->process;
    const int ix = s->code_ix;
    const Word* bytecode = e->bytecode[ix];
    const void* native = e->native[ix];
    const bool traced = bytecode == &e->stub[kStubTrace];
    if (traced) {
        bytecode = e->original->bytecode[ix];
        native = e->original->native[ix];
    }
    const bool is_native = bytecode == &e->stub[kStubNative];
    // Native code counts its own call. A process that is scheduled out here is traced when it is back.
    if (!is_native && --p.reductions <= 0) {
        cross_to_bytecode(p, &e->stub[kStubCall]);
        return stop(s, Stop::yielded, e->arity);
    }
    if (traced && tracing::state_of(p) != nullptr) {
        p.pc = &e->stub[kStubTrace];
        p.x = s->x;
        tracing::g_hooks->export_call(p, e, s->x, true);
    }
    if (is_native) {
        return address(native) + g_entry_skip;
    }
    cross_to_bytecode(p, bytecode);
    return stop(s, Stop::crossed, 0);
}

// Calls a fun, as erlang:apply/2 does: its arguments are in x0..., the return address is on top.
Word enter_fun(Scheduler* s, Term fun, uint32_t arity) {
    Process& p = *s->process;
    if (is_local_fun(fun) && fun_entry(fun)->arity == arity) {
        const FunEntry* fe = fun_entry(fun);
        const uint32_t n = static_cast<uint32_t>(fun_free_count(fun));
        for (uint32_t i = 0; i < n; ++i) {
            s->x[arity + i] = fun_free_variables(fun)[i];
        }
        const int ix = s->code_ix;
        if (p.needs_gc()) {
            collect_gc(p, 0, s->x, arity + n, false);
        }
        if (fe->bytecode[ix] == &fe->stub[kFunStubNative]) {
            return address(fe->body[ix]) + g_entry_skip;
        }
        cross_to_bytecode(p, fe->bytecode[ix]);
        if (--p.reductions <= 0) {
            return stop(s, Stop::yielded, arity + n);
        }
        return stop(s, Stop::crossed, 0);
    }
    if (is_export_fun(fun) && export_fun_entry(fun)->arity == arity) {
        const Export* e = export_fun_entry(fun);  // the collection moves or frees the fun
        if (p.needs_gc()) {
            collect_gc(p, 0, s->x, arity, false);
        }
        return enter_export(s, e);
    }
    raise_bad_fun(p, fun, arity, s->x);
    return raise(s);
}

// A BIF returned the non-value. `ra`: the return address of its call; tail: 0, or 1 + the words of the
// frame that the code there drops before it returns.
Word bif_failed(Scheduler* s, Word ra, Word tail) {
    Process& p = *s->process;
    const BifAnswer answer = bif_answer(p, s->x, true, [&p, ra, tail] {
        // In tail position the trap's target returns to our caller, so that loops through apply/3 and
        // the like run in constant stack.
        if (tail == 0 || (ra != 0 && trap_keeps_caller(p))) {
            push_return_address(p, ra);
        } else {
            p.heap.end += tail - 1;
            p.drop_frame_pointers();
        }
    });
    switch (answer.next) {
        case BifAnswer::Next::raise:
            return raise(s);
        case BifAnswer::Next::call:
            return enter_export(s, p.trap_export);
        case BifAnswer::Next::call_fun:
            return enter_fun(s, s->x[p.trap_arity], p.trap_arity);
        case BifAnswer::Next::leave_for:
            cross_to_bytecode(p, &p.trap_export->stub[kStubCall]);
            break;
        case BifAnswer::Next::leave:
            if (answer.stop == Stop::dirty) {
                p.pc = reinterpret_cast<const Word*>(ra);
            }
            break;
    }
    return stop(s, answer.stop, answer.live);
}

}  // namespace

Word runtime_default_op(Scheduler* s, Word record, Word, Word) {
    Process& p = *s->process;
    const auto* r = reinterpret_cast<const OpRecord*>(record);
    const Word ra = pop_return_address(p);
    switch (r->fn(s, p, r)) {
        case Next::go_on:
            push_return_address(p, ra);
            return 0;
        case Next::branch:
            push_return_address(p, ra);
            return 1;
        case Next::raise:
            return raise(s);
        case Next::failed:
            return bif_failed(s, ra, 0);
        case Next::exiting:
            return stop(s, Stop::exited, 0);
        case Next::yield:
            p.pc = reinterpret_cast<const Word*>(ra);
            return stop(s, Stop::yielded, r->live);
    }
    return 0;
}

Word runtime_collect(Scheduler* s, Word need_words, Word live, Word) {
    Process& p = *s->process;
    bool major = false;
    if (vm::g_options.stress_gc) {
        major = (++native_state(s).stress_count & 63) == 0;
    }
    collect_gc(p, need_words, s->x, live, major);
    return 0;
}

Word runtime_yield(Scheduler* s, Word live, Word, Word) {
    Process& p = *s->process;
    const Word ra = pop_return_address(p);
    p.pc = reinterpret_cast<const Word*>(ra);
    return stop(s, Stop::yielded, static_cast<uint32_t>(live));
}

Word runtime_wait(Scheduler* s, Word resume, Word, Word) {
    s->process->pc = reinterpret_cast<const Word*>(resume);
    return stop(s, Stop::waiting, 0);
}

Word runtime_call_bif(Scheduler* s, Word bif_word, Word tail, Word) {
    Process& p = *s->process;
    const auto& bif = *reinterpret_cast<const BifDef*>(bif_word);
    const Word ra = pop_return_address(p);
    --p.reductions;
    const Term r = call_bif_function(p, bif, s->x);
    s->code_ix = code_index::reread(code_index::Reread::bif, s->code_ix);
    if (MINIVM_UNLIKELY(!is_value(r))) {
        return bif_failed(s, ra, tail);
    }
    s->x[0] = r;
    if (MINIVM_UNLIKELY(p.needs_gc())) {
        collect_gc(p, 0, s->x, 1, false);
    }
    push_return_address(p, ra);
    return 0;
}

// The caller's own return address is on top and stays there.
Word runtime_bif_body(Scheduler* s, Word bif_word, Word here, Word) {
    Process& p = *s->process;
    const auto& bif = *reinterpret_cast<const BifDef*>(bif_word);
    p.pc = reinterpret_cast<const Word*>(here);
    const Term r = call_bif_function(p, bif, s->x);
    s->code_ix = code_index::reread(code_index::Reread::bif, s->code_ix);
    if (MINIVM_UNLIKELY(!is_value(r))) {
        if (p.outcome == BifOutcome::dirty) {
            return bif_failed(s, pop_return_address(p), 0);
        }
        return bif_failed(s, 0, 1);
    }
    s->x[0] = r;
    if (MINIVM_UNLIKELY(p.needs_gc())) {
        collect_gc(p, 0, s->x, 1, false);
    }
    return 0;
}

// Whether the function is a BIF that has no code.
static bool is_bif_stub(const Scheduler* s, const Export* e) {
    return e->bytecode[s->code_ix] == &e->stub[kStubBif];
}
// Calls such a BIF as a function: the caller's return address is on top.
static Word call_stub_bif(Scheduler* s, const Export* e) {
    Process& p = *s->process;
    if (--p.reductions <= 0) {
        cross_to_bytecode(p, &e->stub[kStubCall]);
        return stop(s, Stop::yielded, e->arity);
    }
    // No place in code: a failure's trace begins with the function itself.
    const Word elsewhere = runtime_bif_body(s, reinterpret_cast<Word>(e->bif),
                                            reinterpret_cast<Word>(&e->stub[kStubBif]), 0);
    return elsewhere != 0 ? elsewhere : address(g_fragments.return_);
}

// Puts the result of an instruction into the scratch word, and collects if the instruction left fragments.
static Word scratch_result(Scheduler* s, Term value, uint32_t live) {
    Process& p = *s->process;
    if (MINIVM_UNLIKELY(p.needs_gc()) && live != kNoCollection) {
        const Word ra = pop_return_address(p);
        s->x[live] = value;
        collect_gc(p, 0, s->x, live + 1, false);
        value = s->x[live];
        push_return_address(p, ra);
    }
    s->x[kMaxXRegisters] = value;
    return 0;
}

Word runtime_guard_bif(Scheduler* s, Word bif_word, Word live_and_label, Word) {
    Process& p = *s->process;
    const auto& bif = *reinterpret_cast<const BifDef*>(bif_word);
    const Term* args = s->x + kMaxXRegisters + 1;
    const Term r = bif.fn(p, args);
    s->code_ix = code_index::reread(code_index::Reread::guard_bif, s->code_ix);
    if (MINIVM_UNLIKELY(!is_value(r))) {
        if (live_and_label >> 32 != 0) {
            p.exception.cls = ExceptionClass::none;
            return 1;
        }
        set_bif_args(p, bif, args);
        pop_return_address(p);
        return raise(s);
    }
    return scratch_result(s, r, static_cast<uint32_t>(live_and_label));
}

Word runtime_put_map(Scheduler* s, Word map, Word update, Word) {
    Process& p = *s->process;
    const auto u = std::bit_cast<MapUpdate>(update);
    const Term* pairs = s->x + u.first_x;
    const Term r = u.exact ? semantics::put_map_exact(p, Term{map}, pairs, u.pairs)
                           : semantics::put_map_assoc(p, Term{map}, pairs, u.pairs);
    if (MINIVM_UNLIKELY(!is_value(r))) {
        if (u.has_label) {
            p.exception.cls = ExceptionClass::none;
            return 1;
        }
        pop_return_address(p);
        return raise(s);
    }
    return scratch_result(s, r, u.live);
}

Word leaf_map_get(Word map, Word key) {
    return map::get(Term{map}, Term{key}).raw;
}
Word leaf_map_get_hashed(Word map, Word key, Word hash) {
    return map::get_hashed(Term{map}, Term{key}, static_cast<uint32_t>(hash)).raw;
}
Word leaf_remove_message(Word process, Word) {
    mailbox_remove(*reinterpret_cast<Process*>(process));
    return 0;
}
Word leaf_dictionary_value(Word process, Word key) {
    return dictionary_value(*reinterpret_cast<const Process*>(process), Term{key}).raw;
}
Word leaf_exact_equal(Word a, Word b) {
    return exact_equal(Term{a}, Term{b}) ? 1 : 0;
}

Word runtime_send(Scheduler* s, Word tail, Word, Word) {
    Process& p = *s->process;
    const Word ra = pop_return_address(p);
    const Term r = send_message(p, s->x[0], s->x[1]);
    s->code_ix = code_index::reread(code_index::Reread::send, s->code_ix);
    if (MINIVM_UNLIKELY(!is_value(r))) {
        if (p.outcome == BifOutcome::exception) {
            set_operator_args(p, Op::send, s->x[0], s->x[1]);
        }
        return bif_failed(s, ra, tail);
    }
    s->x[0] = r;
    if ((p.reductions -= 3) <= 0) {
        p.pc = reinterpret_cast<const Word*>(ra);
        return stop(s, Stop::yielded, 1);
    }
    push_return_address(p, ra);
    return 0;
}

// Called as the function itself would be: the return address of the call site is on top.
Word runtime_call_fun(Scheduler* s, Word fun, Word arity, Word) {
    Process& p = *s->process;
    const Term f{fun};
    const auto n = static_cast<uint32_t>(arity);
    const bool callable = (is_local_fun(f) && fun_entry(f)->arity == n) ||
                          (is_export_fun(f) && export_fun_entry(f)->arity == n);
    if (!callable) {
        pop_return_address(p);
        raise_bad_fun(p, f, n, s->x);
        return raise(s);
    }
    if (is_export_fun(f) && is_bif_stub(s, export_fun_entry(f))) {
        return call_stub_bif(s, export_fun_entry(f));
    }
    return enter_fun(s, f, n);
}

// The term is no local fun of this arity. Puts the export entry of an export fun into the scratch word.
Word runtime_check_fun(Scheduler* s, Word fun, Word arity, Word) {
    Process& p = *s->process;
    const Term f{fun};
    if (is_export_fun(f) && export_fun_entry(f)->arity == arity) {
        s->x[kMaxXRegisters] = Term{reinterpret_cast<Word>(export_fun_entry(f))};
        return 0;
    }
    pop_return_address(p);
    raise_bad_fun(p, f, static_cast<uint32_t>(arity), s->x);
    return raise(s);
}

Word runtime_enter_bytecode(Scheduler* s, Word entry, Word, Word) {
    const auto* e = reinterpret_cast<const Export*>(entry);
    return is_bif_stub(s, e) ? call_stub_bif(s, e) : enter_export(s, e);
}

Word runtime_enter_traced(Scheduler* s, Word entry, Word, Word) {
    return enter_export(s, reinterpret_cast<const Export*>(entry));
}

Word runtime_enter_fun_bytecode(Scheduler* s, Word fun, Word, Word) {
    return enter_fun(s, Term{fun}, fun_entry(Term{fun})->arity);
}

// A function that bytecode called has returned: bytecode's return address is on top now.
Word runtime_return_to_bytecode(Scheduler* s, Word, Word, Word) {
    Process& p = *s->process;
    p.pc = reinterpret_cast<const Word*>(p.heap.end->raw - kTagHeader);
    ++p.heap.end;
    p.pc_is_native = false;
    return stop(s, Stop::crossed, 0);
}

namespace {

bool is_native_return(Word w) {
    return (w & kTagMask) == kTagHeader && code_memory().contains(reinterpret_cast<const void*>(w));
}

// Whether t may be in a live register.
bool looks_like_term(Term t) {
    return !is_header(t.raw) && is_value(t) && (!is_boxed(t) || is_header(header_of(t)));
}

// Checks that the innermost frame pointers lead to the frames that return addresses show: each lies below a
// native one, and the next native one belongs to the next frame pointer, unless bytecode or a traced call's
// words lie between. Looks at the innermost words only: between two native frames there may be
// all of a recursion in bytecode, and this runs at each call.
void check_frame_pointers(const Process& p) {
    constexpr std::ptrdiff_t kWords = 256;
    const Term* at = p.frame_pointer;
    const Term* const last = at + std::min(kWords, p.stack_base - at);
    while (at < last) {
        MINIVM_CHECK(at < p.stack_base - 1 && is_native_return(at[1].raw));
        const auto* const next = reinterpret_cast<const Term*>(at->raw);
        Word above = at[1].raw;
        const Term* const end = next == nullptr ? last : std::min(next, last);
        for (const Term* w = at + 2; w < end; ++w) {
            if (is_header(w->raw)) {
                MINIVM_CHECK(!is_native_return(w->raw) || above == g_transitions.to_native ||
                             tracing::is_return_word(Term{above}));
                above = w->raw;
            }
        }
        if (next == nullptr) {
            return;
        }
        MINIVM_CHECK(next > at);
        at = next;
    }
}

}  // namespace

// The fragment has saved the registers for C++: checks that they held what their roles say.
Word runtime_check_state(Scheduler* s, Word live, Word frame_words, Word) {
    const Process& p = *s->process;
    const Heap& h = p.heap;
    MINIVM_CHECK(s == this_scheduler() && p.scheduler == s && p.x == s->x);
    MINIVM_CHECK(s->code_ix < kCodeIndexes);
    MINIVM_CHECK(reinterpret_cast<Word>(h.top) % sizeof(Term) == 0 && h.top >= p.heap_start);
    MINIVM_CHECK(reinterpret_cast<Word>(h.end) % sizeof(Term) == 0 && h.end < p.stack_base);
    // Since the last check of the reserve, a call, a transition word, a frame pointer and this call may
    // have been pushed.
    MINIVM_CHECK(h.end - h.top >= static_cast<std::ptrdiff_t>(kReserveWords) - 5);
    MINIVM_CHECK(is_native_return(h.end[0].raw));
    const Term* frame_end = h.end + 1 + frame_words;
    MINIVM_CHECK(frame_end < p.stack_base && is_native_return(frame_end->raw));
    if (frame_pointers()) {
        MINIVM_CHECK(p.frame_pointer == frame_end - 1);
        check_frame_pointers(p);
    }
    if ((live & kCheckEntry) != 0) {
        // A collection at the beginning of the slice has taken them from a process that is over its limit.
        MINIVM_CHECK(p.reductions > 0 || (p.extra != nullptr && p.extra->max_heap_reached));
    }
    for (Word i = 0; i < (live & ~kCheckEntry); ++i) {
        MINIVM_CHECK(looks_like_term(s->x[i]));
    }
    return 0;
}

// The breakpoint `place` has been hit. 0: the function goes on.
Word runtime_breakpoint(Scheduler* s, Word place, Word, Word) {
    Process& p = *s->process;
    const Word ra = pop_return_address(p);
    p.x = s->x;
    if (!tracing::g_hooks->breakpoint(p, *reinterpret_cast<const tracing::ArmedPlace*>(place), s->x)) {
        return bif_failed(s, 0, 1);
    }
    push_return_address(p, ra);
    return 0;
}

// The frame's words are on top, and under them the return address that the call had.
Word runtime_return_trace(Scheduler* s, Word, Word, Word) {
    Process& p = *s->process;
    p.pc = nullptr;
    p.x = s->x;
    tracing::g_hooks->returned(p, s->x);
    const Word ra = pop_return_address(p);
    if (p.needs_gc()) {
        push_return_address(p, ra);
        collect_gc(p, 0, s->x, 1, false);
        p.heap.end += 1;
    }
    return ra;
}

const void* dirty_result(Scheduler* s) {
    Process& p = *s->process;
    const BifDef* bif = p.dirty_bif;
    const Word ra = reinterpret_cast<Word>(p.pc);
    p.dirty_bif = nullptr;
    p.pc = reinterpret_cast<const Word*>(ra - 1);
    if (!p.dirty_ok) {
        if (p.outcome == BifOutcome::exception) {
            set_bif_args(p, *bif, s->x);
        }
        return reinterpret_cast<const void*>(bif_failed(s, ra, 0));
    }
    if (tracing::has_unfinished_bif(p)) {
        tracing::g_hooks->bif_returned(p, s->x[0]);
    }
    if (p.needs_gc()) {
        collect_gc(p, 0, s->x, 1, false);
    }
    return reinterpret_cast<const void*>(ra);
}

}  // namespace minivm::jit
