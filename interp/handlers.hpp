// What the handlers of the interpreter share: their signature, dispatch, operand access, and the way
// into the runtime and back.
//
// Each instruction is a function that ends by calling the next one's in tail position, so the machine
// state stays in argument registers and each handler has its own indirect jump. Builds whose compiler
// does not turn these calls into jumps (sanitizers, -O0) define MINIVM_INTERP_LOOP: then a handler
// leaves the state in InterpState and a loop calls the next.
//
//   pc      the instruction being executed
//   E       stack pointer: y0
//   htop    first free heap word
//   fcalls  reductions left
//   s       the scheduler: its x registers are at offset 0
#pragma once

#include "interp/layout.hpp"
#include "vm/code/code_index.hpp"
#include "vm/code/engine.hpp"
#include "vm/process/gc.hpp"
#include "vm/sched/scheduler.hpp"

#include <string>
#include <utility>

namespace minivm::interp {

struct InterpState {
    const Word* pc;
    Term* E;
    Term* htop;
    int64_t fcalls;
    Stop stop;
    bool running;
    uint32_t live;  // x registers that are live where a slow path begins
    uint64_t need;  // words a slow path must make free
    uint32_t stress_count;
};

#define ARGS                                                                                  \
    [[maybe_unused]] const Word *pc, [[maybe_unused]] Term *E, [[maybe_unused]] Term *htop,   \
        [[maybe_unused]] int64_t fcalls, [[maybe_unused]] Scheduler *s
#define PASS pc, E, htop, fcalls, s

using Handler = void (*)(const Word* pc, Term* E, Term* htop, int64_t fcalls, Scheduler* s);

inline InterpState& interp_state(Scheduler* s) {
    return *static_cast<InterpState*>(s->engine_state);
}
inline Handler handler_at(const Word* pc) {
#ifdef __SANITIZE_THREAD__
    // The same 32-bit load as below, atomic for ThreadSanitizer: another thread may arm a breakpoint here
    // meanwhile. relaxed: thread progress orders it.
    return reinterpret_cast<Handler>(static_cast<Word>(
        __atomic_load_n(reinterpret_cast<const uint32_t*>(pc), __ATOMIC_RELAXED)));
#else
    return reinterpret_cast<Handler>(static_cast<Word>(static_cast<uint32_t>(*pc)));
#endif
}

// The handler of the instruction at pc, also where a breakpoint has replaced it.
Handler instruction_at(const Word* pc);

#ifdef MINIVM_INTERP_LOOP
#define DISPATCH()                              \
    do {                                        \
        InterpState& st_ = interp_state(s);     \
        st_.pc = pc;                            \
        st_.E = E;                              \
        st_.htop = htop;                        \
        st_.fcalls = fcalls;                    \
        return;                                 \
    } while (0)
#else
#define DISPATCH() return handler_at(pc)(PASS)
#endif
#define NEXT(words)    \
    do {               \
        pc += (words); \
        DISPATCH();    \
    } while (0)

// ---- operands -----------------------------------------------------------------------------------

enum class K : uint8_t { X, Y, C, S };  // S: any, tested at run time

inline Term* reg_ptr(uint32_t slot, Term* E, Scheduler* s) {
    char* base = (slot & kSlotY) ? reinterpret_cast<char*>(E) : reinterpret_cast<char*>(s->x);
    return reinterpret_cast<Term*>(base + (slot & ~7u));
}
inline Term slot_value(uint32_t slot, const Word* pc, Term* E, Scheduler* s) {
    if (slot & kSlotConst) {
        return Term{pc[slot >> 3]};
    }
    return *reg_ptr(slot, E, s);
}
template <Op O, int I>
inline uint32_t slot_of(const Word* pc) {
    constexpr Place p = place_of(O, I);
#ifdef __SANITIZE_THREAD__
    // Loads these 16 bits only: arming a breakpoint writes the handler's bits of the same word.
    return reinterpret_cast<const uint16_t*>(pc + p.word)[p.shift / 16];
#else
    return static_cast<uint16_t>(pc[p.word] >> p.shift);
#endif
}
template <Op O, int I, K Kind = K::S>
inline Term src_at(const Word* pc, Term* E, Scheduler* s) {
    const uint32_t slot = slot_of<O, I>(pc);
    if constexpr (Kind == K::X) {
        return *reinterpret_cast<Term*>(reinterpret_cast<char*>(s->x) + slot);
    } else if constexpr (Kind == K::Y) {
        return *reinterpret_cast<Term*>(reinterpret_cast<char*>(E) + (slot - kSlotY));
    } else if constexpr (Kind == K::C) {
        return Term{pc[slot >> 3]};
    } else {
        return slot_value(slot, pc, E, s);
    }
}
// The same where all operand kinds are known: a constant is the Nth word after the fixed ones.
template <Op O, int I, K Kind, int Nth>
inline Term source(const Word* pc, Term* E, Scheduler* s) {
    if constexpr (Kind == K::C) {
        return Term{pc[fixed_words(O) + Nth]};
    } else {
        return src_at<O, I, Kind>(pc, E, s);
    }
}
template <Op O, int I, K Kind = K::S>
inline Term* dst_at(const Word* pc, Term* E, Scheduler* s) {
    const uint32_t slot = slot_of<O, I>(pc);
    if constexpr (Kind == K::X) {
        return reinterpret_cast<Term*>(reinterpret_cast<char*>(s->x) + slot);
    } else if constexpr (Kind == K::Y) {
        return reinterpret_cast<Term*>(reinterpret_cast<char*>(E) + (slot - kSlotY));
    } else {
        return reg_ptr(slot, E, s);
    }
}
template <Op O, int I>
inline Word word_at(const Word* pc) {
    return pc[place_of(O, I).word];
}
inline int32_t label_at(const Word* pc) { return static_cast<int32_t>(pc[1]); }

// An operand of an L list.
inline Term* list_reg(Word w, Term* E, Scheduler* s) {
    return reg_ptr(static_cast<uint32_t>(w >> 8), E, s);
}
inline Term list_value(Word w, Term* E, Scheduler* s) {
    return is_header(w) ? *list_reg(w, E, s) : Term{w};
}

#define SRC(i) (src_at<kOp, i>(pc, E, s))
#define DST(i) (*dst_at<kOp, i>(pc, E, s))
#define WORD(i) (word_at<kOp, i>(pc))
#define LIVE() (slot_of<kOp, kLiveOperand>(pc))
#define LIST_COUNT() (pc[fixed_words(kOp) - 1])
#define LIST() (pc + fixed_words(kOp))

// Words of the instruction at pc. An s operand that is a constant adds one word, a list its count.
// Ks: the operand kinds known at compile time, by position (K::S where the kind is not known).
template <Op O, int I, K Kind>
inline int extra_words(const Word* pc) {
    constexpr char c = kLetters[static_cast<int>(O)][I];
    if constexpr (c == 's' && Kind == K::C) {
        return 1;
    } else if constexpr (c == 's' && Kind == K::S) {
        return (slot_of<O, I>(pc) >> 1) & 1;
    } else if constexpr (c == 'L') {
        return static_cast<int>(pc[fixed_words(O) - 1]);
    } else {
        return 0;
    }
}
template <K... Ks>
constexpr K kind_at(int i) {
    constexpr K kinds[] = {Ks..., K::S};
    return i < static_cast<int>(sizeof...(Ks)) ? kinds[i] : K::S;
}
template <Op O, K... Ks, int... I>
inline int size_with([[maybe_unused]] const Word* pc, std::integer_sequence<int, I...>) {
    return (fixed_words(O) + ... + extra_words<O, I, kind_at<Ks...>(I)>(pc));
}
template <Op O, K... Ks>
inline int size_of(const Word* pc) {
    constexpr int n = std::char_traits<char>::length(kLetters[static_cast<int>(O)]);
    return size_with<O, Ks...>(pc, std::make_integer_sequence<int, n>());
}
#define NEXT_OP() NEXT((size_of<kOp>(pc)))
#define NEXT_OP_KINDS(...) NEXT((size_of<kOp, __VA_ARGS__>(pc)))
// Goes to the label of this instruction, which must have one.
#define JUMP() NEXT(label_at(pc))
#define HANDLER(name)                          \
    template <Op kOp>                          \
    static inline void body_##name(ARGS);      \
    void h_##name(ARGS) { TAIL(body_##name<Op::name>); } \
    template <Op kOp>                          \
    static inline __attribute__((always_inline)) void body_##name(ARGS)

// ---- into the runtime and back --------------------------------------------------------------------

#define ENTER_RUNTIME(p)      \
    do {                      \
        (p).heap.top = htop;  \
        (p).heap.end = E;     \
        (p).reductions = fcalls; \
        (p).pc = pc;          \
    } while (0)
#define LEAVE_RUNTIME(p)         \
    do {                         \
        htop = (p).heap.top;     \
        E = (p).heap.end;        \
        fcalls = (p).reductions; \
    } while (0)

// ---- shared slow paths (mostly interp/slow.cpp): handlers themselves ------------------------------------

void slow_raise(ARGS);          // Process::exception is set; pc is the faulting instruction
void slow_collect(ARGS);        // st.live, st.need: collect, then execute pc again
void slow_bif_failed(ARGS);     // a BIF called at pc returned the non-value; x registers hold trap args
void slow_yield(ARGS);          // out of reductions: st.live x registers, resume at pc
void slow_stop(ARGS);           // leaves with st.stop; resumes at pc with st.live x registers
void slow_cross(ARGS);          // leaves for native code; Process::pc and the stack are set
void slow_exiting(ARGS);        // leaves for good: the process ends
void slow_apply_fun(ARGS);      // x[p.trap_arity] is a fun, its arguments before it
void slow_dirty_done(ARGS);     // a dirty BIF called at pc has run

#define TAIL(handler) return handler(PASS)

#define COLLECT(live_x, words)                  \
    do {                                        \
        InterpState& st_ = interp_state(s);     \
        st_.live = static_cast<uint32_t>(live_x); \
        st_.need = (words);                     \
        TAIL(slow_collect);                     \
    } while (0)

// Goes to code at `target` as a call does: counts a reduction, yields when they are used up.
#define ENTER(target, arity)                          \
    do {                                              \
        pc = (target);                                \
        if (MINIVM_UNLIKELY(--fcalls <= 0)) {         \
            interp_state(s).live = static_cast<uint32_t>(arity); \
            TAIL(slow_yield);                         \
        }                                             \
        DISPATCH();                                   \
    } while (0)

// The same through an export entry. A process that is scheduled out here looks the function up again
// when it comes back, so it enters the code that is current then.
#define ENTER_EXPORT(e)                                                       \
    do {                                                                      \
        if (MINIVM_UNLIKELY(--fcalls <= 0)) {                                 \
            pc = &(e)->stub[kStubCall];                                       \
            interp_state(s).live = (e)->arity;                                \
            TAIL(slow_yield);                                                 \
        }                                                                     \
        pc = (e)->bytecode[s->code_ix];                                       \
        DISPATCH();                                                           \
    } while (0)

inline Term return_address(const Word* code) {
    return Term{reinterpret_cast<Word>(code) + kTagHeader};
}
inline const Word* return_target(Term cp) {
    return reinterpret_cast<const Word*>(cp.raw - kTagHeader);
}
// Arity of the function whose entry this is: the last word of its func_info.
inline uint32_t entry_arity(const Word* entry) { return static_cast<uint32_t>(entry[-1]); }

// ---- stubs: what entries without bytecode of their own point to --------------------------------------

void h_stub_undefined(ARGS);
void h_stub_bif(ARGS);
void h_stub_call(ARGS);
void h_stub_fun_unloaded(ARGS);
void h_stub_native(ARGS);
void h_stub_fun_native(ARGS);
void h_stub_trace(ARGS);
void h_nop(ARGS);
void h_breakpoint(ARGS);       // instead of a function's first instruction
void h_return_trace(ARGS);     // a function whose call left a trace frame returns here
void h_process_exit(ARGS);     // the first function of a process returns here
void h_return_to_native(ARGS); // a function that native code called returns here

// ---- handlers that are an instruction's meaning (interp/generic.hpp) --------------------------------------

// A handler with a fast path of its own goes on here where the fast path does not apply.
template <Op kOp>
void generic(ARGS);

// ---- the table --------------------------------------------------------------------------------------

// The handler for these operand kinds, one K an operand; null: op has none by operand kinds.
Handler select_control(Op op, const K* kinds);
Handler select_test(Op op, const K* kinds, bool constant_is_immediate);
Handler select_arith(Op op, const K* kinds);
Handler select_data(Op op, const K* kinds);
// For bs_get_integer with a constant size; null: it has no special handler.
Handler select_bs_get_integer(const K* kinds, Term size, Word unit, uint32_t flags);
void h_select_linear(ARGS);
void h_select_boxed(ARGS);
void h_select_jump(ARGS);
void h_allocate_stress(ARGS);
void h_allocate_heap_stress(ARGS);
void h_test_heap_stress(ARGS);

#define INSTR(name, operands, effects, facts, meaning) void h_##name(ARGS);
#include "vm/instr/instructions.def"
#undef INSTR

}  // namespace minivm::interp
