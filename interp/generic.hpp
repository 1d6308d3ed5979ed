// Handlers that are an instruction's meaning (vm/semantics/meaning.hpp) over operands in the word stream.
#pragma once

#include "interp/handlers.hpp"
#include "vm/semantics/meaning.hpp"

#include <string_view>

namespace minivm::interp {

// Whether a meaning reads or writes the process's heap, stack pointer, reductions, pc or exception; its handler
// saves them first. An instruction whose only effect is to branch does not touch them, one that fails or
// collects does; the exceptions to this rule are listed here. Update the list when you change a meaning.
constexpr bool touches_process(Op op) {
    switch (op) {
        case Op::bs_get_utf8:
        case Op::bs_get_utf16:
        case Op::bs_get_utf32:
        case Op::bs_skip_utf8:
        case Op::bs_skip_utf16:
        case Op::bs_skip_utf32:
        case Op::bs_skip_bits:
        case Op::bs_get_position:
            return false;
        case Op::recv_marker_reserve:
        case Op::remove_message:
        case Op::timeout:
            return true;
        default:
            return (kEffects[static_cast<int>(op)] & ~BRANCHES) != NONE;
    }
}
// The compiler must not inline meanings with local arrays or aggregates into a handler: the handler's last call
// would not become a jump.
constexpr bool has_aggregates(Op op) {
    switch (op) {
        case Op::bif0:
        case Op::bif1:
        case Op::bif2:
        case Op::bif3:
            return true;
        default:
            return kLetters[static_cast<int>(op)][0] != 0 &&
                   std::string_view(kLetters[static_cast<int>(op)]).back() == 'L' && touches_process(op);
    }
}

template <Op kOp>
struct PackedOperands {
    const Word* pc;
    Term* E;  // valid if the meaning does not touch the process; else p.heap.end is
    Scheduler* s;
    Process& p;

    Term* stack() const {
        if constexpr (touches_process(kOp)) {
            return p.heap.end;
        } else {
            return E;
        }
    }
    ListRegisters registers() const { return {s->x, stack()}; }
    template <int I>
    Term source() const {
        return src_at<kOp, I>(pc, stack(), s);
    }
    template <int I>
    Term* destination() const {
        return dst_at<kOp, I>(pc, stack(), s);
    }
    template <int I>
    Word word() const {
        return word_at<kOp, I>(pc);
    }
    template <int I>
    double& freg() const {
        return *reinterpret_cast<double*>(reinterpret_cast<char*>(s->f) + slot_of<kOp, I>(pc));
    }
    const Word* list() const { return LIST(); }
    Word list_count() const { return LIST_COUNT(); }
    uint32_t live() const {
        if constexpr (has_live_slot(kOp)) {
            return LIVE();
        } else {
            return 0;
        }
    }
    bool may_collect() const { return has_live_slot(kOp); }
    bool has_label() const {
        if constexpr (kLetters[static_cast<int>(kOp)][0] == 'f') {
            return label_at(pc) != 0;
        } else {
            return false;
        }
    }
};

template <Op kOp>
MINIVM_NOINLINE semantics::Next run_apart(const Word* pc, Term* E, Scheduler* s) {
    return semantics::meaning(semantics::Is<kOp>(), PackedOperands<kOp>{pc, E, s, *s->process});
}

template <Op kOp>
MINIVM_ALWAYS_INLINE void run_generic(ARGS) {
    using semantics::Next;
    Process& p = *s->process;
    Next next;
    if constexpr (touches_process(kOp)) {
        ENTER_RUNTIME(p);
        p.x = s->x;
    }
    if constexpr (has_aggregates(kOp)) {
        next = run_apart<kOp>(pc, E, s);
    } else {
        next = semantics::meaning(semantics::Is<kOp>(), PackedOperands<kOp>{pc, E, s, p});
    }
    if constexpr (touches_process(kOp)) {
        LEAVE_RUNTIME(p);
    }
    if constexpr ((kEffects[static_cast<int>(kOp)] & ENDS) == 0) {
        if (MINIVM_LIKELY(next == Next::go_on)) {
            NEXT_OP();
        }
    }
    if constexpr (kLetters[static_cast<int>(kOp)][0] == 'f') {
        if (next == Next::branch) {
            JUMP();
        }
    }
    if constexpr (kOp == Op::loop_rec) {
        if (next == Next::exiting) {
            TAIL(slow_exiting);
        }
    }
    TAIL(slow_raise);
}

}  // namespace minivm::interp
