// Calls, returns, jumps, frames, moves.
#include "interp/handlers.hpp"
#include "vm/code/module_table.hpp"
#include "vm/instr/bif_def.hpp"
#include "vm/nif/nif.hpp"
#include "vm/process/engine_calls.hpp"
#include "vm/process/exception.hpp"
#include "vm/process/process.hpp"
#include "vm/process/tracing.hpp"

namespace minivm::interp {

// ---- local calls ----------------------------------------------------------------------------------

HANDLER(call) {
    *--E = return_address(pc + fixed_words(kOp));
    const Word* target = pc + label_at(pc);
    ENTER(target, entry_arity(target));
}
HANDLER(call_only) {
    const Word* target = pc + label_at(pc);
    ENTER(target, entry_arity(target));
}
HANDLER(call_last) {
    const Word* target = pc + label_at(pc);
    E += WORD(2);
    ENTER(target, entry_arity(target));
}

// ---- calls through export entries --------------------------------------------------------------------

HANDLER(call_ext) {
    const Export* e = reinterpret_cast<const Export*>(WORD(0));
    *--E = return_address(pc + fixed_words(kOp));
    ENTER_EXPORT(e);
}
HANDLER(call_ext_only) {
    const Export* e = reinterpret_cast<const Export*>(WORD(0));
    ENTER_EXPORT(e);
}
HANDLER(call_ext_last) {
    const Export* e = reinterpret_cast<const Export*>(WORD(0));
    E += WORD(1);
    ENTER_EXPORT(e);
}

// The export entry whose stub pc points to.
static const Export* export_of_stub(const Word* pc, int stub_word) {
    return reinterpret_cast<const Export*>(reinterpret_cast<const char*>(pc) -
                                           offsetof(Export, stub) - stub_word * sizeof(Word));
}

void h_stub_undefined(ARGS) {
    Process& p = *s->process;
    const Export* e = export_of_stub(pc, kStubUndefined);
    ENTER_RUNTIME(p);
    p.x = s->x;
    call_undefined(p, e);  // traps, or raises undef
    LEAVE_RUNTIME(p);
    TAIL(slow_bif_failed);
}

// The whole body of a function that is the BIF `called`: calls it and returns its value to the function's caller.
#define BIF_AS_BODY(p, called)                                                \
    do {                                                                      \
        ENTER_RUNTIME(p);                                                     \
        Term result_ = call_bif_function(p, called, s->x);                    \
        LEAVE_RUNTIME(p);                                                     \
        if (MINIVM_UNLIKELY(!is_value(result_))) {                            \
            TAIL(slow_bif_failed);                                            \
        }                                                                     \
        s->x[0] = result_;                                                    \
        s->code_ix = code_index::reread(code_index::Reread::bif, s->code_ix); \
        pc = return_target(*E);                                               \
        ++E;                                                                  \
        if (MINIVM_UNLIKELY((p).needs_gc())) {                                \
            COLLECT(1, 0);                                                    \
        }                                                                     \
        DISPATCH();                                                           \
    } while (0)

void h_stub_bif(ARGS) {
    Process& p = *s->process;
    const Export* e = export_of_stub(pc, kStubBif);
    BIF_AS_BODY(p, *e->bif);
}
// A process that was scheduled out on its way into a function resumes here.
void h_stub_call(ARGS) {
    const Export* e = export_of_stub(pc, kStubCall);
    pc = e->bytecode[s->code_ix];
    DISPATCH();
}

HANDLER(call_bif) {
    Process& p = *s->process;
    const BifDef* bif = reinterpret_cast<const BifDef*>(WORD(1));
    ENTER_RUNTIME(p);
    --p.reductions;
    Term r = call_bif_function(p, *bif, s->x);
    LEAVE_RUNTIME(p);
    if (MINIVM_UNLIKELY(!is_value(r))) {
        TAIL(slow_bif_failed);
    }
    s->x[0] = r;
    s->code_ix = code_index::reread(code_index::Reread::bif, s->code_ix);
    pc += fixed_words(kOp);
    if (MINIVM_UNLIKELY(p.needs_gc())) {
        COLLECT(1, 0);
    }
    DISPATCH();
}
HANDLER(bif_body) {
    Process& p = *s->process;
    const BifDef* bif = reinterpret_cast<const BifDef*>(WORD(1));
    BIF_AS_BODY(p, *bif);
}

// ---- apply, funs ------------------------------------------------------------------------------------

HANDLER(apply) {
    Process& p = *s->process;
    uint32_t arity = static_cast<uint32_t>(WORD(0));
    const Export* e = applied(&arity, s->x);
    if (MINIVM_UNLIKELY(e == nullptr)) {
        ENTER_RUNTIME(p);
        raise_bad_apply(p, arity, s->x);
        LEAVE_RUNTIME(p);
        TAIL(slow_raise);
    }
    *--E = return_address(pc + fixed_words(kOp));
    ENTER_EXPORT(e);
}
HANDLER(apply_last) {
    Process& p = *s->process;
    uint32_t arity = static_cast<uint32_t>(WORD(0));
    const Export* e = applied(&arity, s->x);
    if (MINIVM_UNLIKELY(e == nullptr)) {
        ENTER_RUNTIME(p);
        raise_bad_apply(p, arity, s->x);
        LEAVE_RUNTIME(p);
        TAIL(slow_raise);
    }
    if (MINIVM_UNLIKELY(e->bif != nullptr) && keeps_caller(e)) {
        ENTER_RUNTIME(p);
        call_bif_function(p, *e->bif, s->x);
        LEAVE_RUNTIME(p);
        TAIL(slow_bif_failed);
    }
    E += WORD(1);
    ENTER_EXPORT(e);
}

// The code of `fun`; copies its free variables into the x registers after the `arity` arguments. Null if it
// is no fun of that arity.
static inline const Word* fun_code(Term fun, uint32_t arity, Scheduler* s, uint32_t* live) {
    if (MINIVM_UNLIKELY(!is_boxed(fun))) {
        return nullptr;
    }
    const Word header = header_of(fun);
    if (MINIVM_LIKELY(header_kind(header) == Kind::fun)) {
        const FunEntry* fe = fun_entry(fun);
        if (MINIVM_UNLIKELY(fe->arity != arity)) {
            return nullptr;
        }
        const uint32_t n = static_cast<uint32_t>(header_arity(header)) - 2;
        const Term* free_variables = fun_free_variables(fun);
        for (uint32_t i = 0; i < n; ++i) {
            s->x[arity + i] = free_variables[i];
        }
        *live = arity + n;
        return fe->bytecode[s->code_ix];
    }
    if (header_kind(header) == Kind::export_fun) {
        const Export* e = export_fun_entry(fun);
        *live = arity;
        return e->arity == arity ? e->bytecode[s->code_ix] : nullptr;
    }
    return nullptr;
}

template <Op kOp>
static MINIVM_NOINLINE void bad_fun(ARGS) {
    Process& p = *s->process;
    ENTER_RUNTIME(p);
    raise_bad_fun(p, SRC(1), static_cast<uint32_t>(WORD(0)), s->x);
    LEAVE_RUNTIME(p);
    TAIL(slow_raise);
}

HANDLER(call_fun) {
    const uint32_t arity = static_cast<uint32_t>(WORD(0));
    const Term fun = SRC(1);
    uint32_t live = 0;
    const Word* target = fun_code(fun, arity, s, &live);
    if (MINIVM_UNLIKELY(target == nullptr)) {
        TAIL(bad_fun<kOp>);
    }
    *--E = return_address(pc + size_of<kOp>(pc));
    ENTER(target, live);
}
HANDLER(i_apply_fun_last) {
    const uint32_t arity = static_cast<uint32_t>(WORD(0));
    const Term fun = SRC(1);
    uint32_t live = 0;
    const Word* target = fun_code(fun, arity, s, &live);
    if (MINIVM_UNLIKELY(target == nullptr)) {
        TAIL(bad_fun<kOp>);
    }
    E += WORD(2);
    ENTER(target, live);
}

// Calls the fun x[p.trap_arity], for erlang:apply/2; its arguments are in x0...
void slow_apply_fun(ARGS) {
    Process& p = *s->process;
    const uint32_t arity = p.trap_arity;
    const Term fun = s->x[arity];
    uint32_t live = 0;
    const Word* target = fun_code(fun, arity, s, &live);
    if (MINIVM_UNLIKELY(target == nullptr)) {
        ENTER_RUNTIME(p);
        raise_bad_fun(p, fun, arity, s->x);
        LEAVE_RUNTIME(p);
        TAIL(slow_raise);
    }
    // Not by slow_collect(), which goes on behind the breakpoint of an instruction that it runs again.
    if (p.needs_gc()) {
        ENTER_RUNTIME(p);
        collect_gc(p, 0, s->x, live, false);
        LEAVE_RUNTIME(p);
    }
    ENTER(target, live);
}

// The stub of a fun whose module is not loaded.
void h_stub_fun_unloaded(ARGS) {
    Process& p = *s->process;
    const FunEntry* fe = reinterpret_cast<const FunEntry*>(reinterpret_cast<const char*>(pc) -
                                                           offsetof(FunEntry, stub));
    ENTER_RUNTIME(p);
    p.x = s->x;
    call_unloaded_fun(p, fe);
    LEAVE_RUNTIME(p);
    TAIL(slow_bif_failed);
}

// Enters the native code of a function or of a fun's body from bytecode.
#define CROSS_TO_NATIVE(entry)                  \
    do {                                        \
        Process& p = *s->process;               \
        const void* target_ = (entry);          \
        ++fcalls; /* native code counts it */   \
        ENTER_RUNTIME(p);                       \
        cross_to_native(p, target_);            \
        TAIL(slow_cross);                       \
    } while (0)
// A process that was scheduled out at the stub holds no address of the function, so a purge does not see it:
// the native code may be gone or replaced by bytecode when the process is back. So look the target up again.
void h_stub_native(ARGS) {
    const Export* e = export_of_stub(pc, kStubNative);
    const Word* target = e->bytecode[s->code_ix];
    if (MINIVM_UNLIKELY(target != pc)) {
        pc = target;
        DISPATCH();
    }
    CROSS_TO_NATIVE(e->native[s->code_ix]);
}
void h_stub_fun_native(ARGS) {
    const FunEntry* fe = reinterpret_cast<const FunEntry*>(
        reinterpret_cast<const char*>(pc) - offsetof(FunEntry, stub) - kFunStubNative * sizeof(Word));
    const Word* target = fe->bytecode[s->code_ix];
    if (MINIVM_UNLIKELY(target != pc)) {
        pc = target;
        DISPATCH();
    }
    CROSS_TO_NATIVE(fe->body[s->code_ix]);
}
// The return address under the transition word is native.
void h_return_to_native(ARGS) {
    Process& p = *s->process;
    pc = reinterpret_cast<const Word*>(E->raw);
    ++E;
    ENTER_RUNTIME(p);
    p.pc_is_native = true;
    TAIL(slow_cross);
}

// ---- tracing -----------------------------------------------------------------------------------------

Handler instruction_at(const Word* pc) {
    const Handler h = handler_at(pc);
    return MINIVM_UNLIKELY(h == h_breakpoint)
               ? reinterpret_cast<Handler>(tracing::armed_place(pc).saved)
               : h;
}

void h_nop(ARGS) { NEXT(1); }

void h_breakpoint(ARGS) {
    Process& p = *s->process;
    const tracing::ArmedPlace& place = tracing::armed_place(pc);
    const auto saved = reinterpret_cast<Handler>(place.saved);
    // relaxed: a call at the same time as a change of it may or may not count.
    if (tracing::state_of(p) == nullptr &&
        tracing::g_everywhere.load(std::memory_order_relaxed) == 0) {
        return saved(PASS);
    }
    if (tracing::only_counts(place, s->number)) {
        return saved(PASS);
    }
    ENTER_RUNTIME(p);
    p.x = s->x;
    const bool goes_on = tracing::g_hooks->breakpoint(p, place, s->x);
    LEAVE_RUNTIME(p);
    if (MINIVM_UNLIKELY(!goes_on)) {
        TAIL(slow_bif_failed);
    }
    return saved(PASS);
}
void h_stub_trace(ARGS) {
    Process& p = *s->process;
    const Export* e = export_of_stub(pc, kStubTrace);
    if (tracing::state_of(p) != nullptr) {
        ENTER_RUNTIME(p);
        p.x = s->x;
        tracing::g_hooks->export_call(p, e, s->x, false);
        LEAVE_RUNTIME(p);
    }
    const Word* target = e->original->bytecode[s->code_ix];
    if (target == &e->stub[kStubNative]) {
        CROSS_TO_NATIVE(e->original->native[s->code_ix]);
    }
    pc = target;
    DISPATCH();
}
void h_return_trace(ARGS) {
    Process& p = *s->process;
    ENTER_RUNTIME(p);
    p.x = s->x;
    tracing::g_hooks->returned(p, s->x);
    LEAVE_RUNTIME(p);
    pc = return_target(*E);
    ++E;
    if (MINIVM_UNLIKELY(p.needs_gc())) {
        COLLECT(1, 0);
    }
    DISPATCH();
}

HANDLER(return_) {
    pc = return_target(*E);
    ++E;
    DISPATCH();
}
HANDLER(jump) { JUMP(); }
HANDLER(on_load) { NEXT(fixed_words(kOp)); }

// A NIF library has replaced the function.
template <Op kOp>
static MINIVM_NOINLINE void call_nif(ARGS) {
    Process& p = *s->process;
    const BifDef* bif = reinterpret_cast<const BifDef*>(WORD(0));
    BIF_AS_BODY(p, *bif);
}
HANDLER(nif_start) {
    const auto* function =
        static_cast<const nif::Function*>(reinterpret_cast<const BifDef*>(WORD(0)));
    // acquire: pairs with the store in nif::load(), which is its last one.
    if (MINIVM_LIKELY(function->code.load(std::memory_order_acquire) == nullptr)) {
        NEXT(fixed_words(kOp));
    }
    TAIL(call_nif<kOp>);
}
HANDLER(trap_end) {
    MINIVM_CHECK(!"code ran over the end of a module");
    NEXT(0);
}

// ---- frames --------------------------------------------------------------------------------------------

static inline bool has_room(const Term* E, const Term* htop, Word words) {
    return reinterpret_cast<const char*>(E) - reinterpret_cast<const char*>(htop) >=
           static_cast<ptrdiff_t>((words + kReserveWords) * sizeof(Term));
}

HANDLER(allocate) {
    const Word n = WORD(0);
    if (MINIVM_UNLIKELY(!has_room(E, htop, n))) {
        COLLECT(LIVE(), n);
    }
    E -= n;
    NEXT(fixed_words(kOp));
}
HANDLER(allocate_heap) {
    const Word n = WORD(0);
    const Word heap = WORD(1);
    if (MINIVM_UNLIKELY(!has_room(E, htop, n + heap))) {
        COLLECT(LIVE(), n + heap);
    }
    E -= n;
    NEXT(fixed_words(kOp));
}
HANDLER(test_heap) {
    const Word heap = WORD(0);
    if (MINIVM_UNLIKELY(!has_room(E, htop, heap))) {
        COLLECT(LIVE(), heap);
    }
    NEXT(fixed_words(kOp));
}

// With --stress-gc the process collects at every chance; one collection in 64 is a full one.
#define STRESS_COLLECT(need)                                           \
    do {                                                               \
        Process& p = *s->process;                                      \
        const bool major = (++interp_state(s).stress_count & 63) == 0; \
        ENTER_RUNTIME(p);                                              \
        collect_gc(p, need, s->x, LIVE(), major);                      \
        LEAVE_RUNTIME(p);                                              \
    } while (0)
void h_allocate_stress(ARGS) {
    constexpr Op kOp = Op::allocate;
    STRESS_COLLECT(WORD(0));
    E -= WORD(0);
    NEXT(fixed_words(kOp));
}
void h_allocate_heap_stress(ARGS) {
    constexpr Op kOp = Op::allocate_heap;
    STRESS_COLLECT(WORD(0) + WORD(1));
    E -= WORD(0);
    NEXT(fixed_words(kOp));
}
void h_test_heap_stress(ARGS) {
    constexpr Op kOp = Op::test_heap;
    STRESS_COLLECT(WORD(0));
    NEXT(fixed_words(kOp));
}
HANDLER(deallocate) {
    E += WORD(0);
    NEXT(fixed_words(kOp));
}
HANDLER(trim) {
    E += WORD(0);
    NEXT(fixed_words(kOp));
}
// ---- moves ---------------------------------------------------------------------------------------------

template <K S, K D>
void move_kinds(ARGS) {
    constexpr Op kOp = Op::move;
    *dst_at<kOp, 1, D>(pc, E, s) = source<kOp, 0, S, 0>(pc, E, s);
    NEXT_OP_KINDS(S);
}
HANDLER(move) {
    DST(1) = SRC(0);
    NEXT_OP();
}
Handler select_control(Op op, const K* k) {
    if (op != Op::move) {
        return nullptr;
    }
    static constexpr Handler table[3][2] = {{move_kinds<K::X, K::X>, move_kinds<K::X, K::Y>},
                                            {move_kinds<K::Y, K::X>, move_kinds<K::Y, K::Y>},
                                            {move_kinds<K::C, K::X>, move_kinds<K::C, K::Y>}};
    return table[static_cast<int>(k[0])][static_cast<int>(k[1])];
}

}  // namespace minivm::interp
