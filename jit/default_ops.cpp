// The default operation of an instruction: its meaning (vm/semantics/meaning.hpp) over operands in a record.
// Native code reaches them through the default_op fragment, with all x registers in memory; a fast path
// takes over where it pays.
#include "jit/default_ops.hpp"

#include "vm/instr/bif_def.hpp"
#include "vm/process/engine_calls.hpp"
#include "vm/semantics/meaning.hpp"

namespace minivm::jit {
namespace {

using semantics::Is;

struct RecordedOperands {
    Scheduler* s;
    Process& p;
    const OpRecord* r;

    ListRegisters registers() const { return {s->x, p.heap.end}; }
    template <int I>
    Term source() const {
        return registers().value(r->operands[I]);
    }
    template <int I>
    Term* destination() const {
        return registers().at(r->operands[I]);
    }
    template <int I>
    Word word() const {
        return r->operands[I];
    }
    template <int I>
    double& freg() const {
        return s->f[r->operands[I]];
    }
    const Word* list() const { return r->operands + r->list_at; }
    Word list_count() const { return r->list_count; }
    uint32_t live() const { return r->live; }
    bool may_collect() const { return r->collects != 0; }
    bool has_label() const { return r->has_label != 0; }
};

template <Op kOp>
Next run_op(const RecordedOperands& a) {
    return semantics::meaning(Is<kOp>(), a);
}

// Puts the export entry of x[Arity]:x[Arity+1] into the scratch word.
Next resolve_apply(const RecordedOperands& a) {
    uint32_t arity = static_cast<uint32_t>(a.word<0>());
    const Export* e = applied(&arity, a.s->x);
    if (MINIVM_UNLIKELY(e == nullptr)) {
        raise_bad_apply(a.p, arity, a.s->x);
        return Next::raise;
    }
    a.s->x[kMaxXRegisters] = Term{reinterpret_cast<Word>(e)};
    return Next::go_on;
}
template <>
Next run_op<Op::apply>(const RecordedOperands& a) {
    return resolve_apply(a);
}
template <>
Next run_op<Op::apply_last>(const RecordedOperands& a) {
    const Next next = resolve_apply(a);
    if (next == Next::go_on) {
        const auto* e = reinterpret_cast<const Export*>(a.s->x[kMaxXRegisters].raw);
        if (MINIVM_UNLIKELY(e->bif != nullptr) && keeps_caller(e)) {
            call_bif_function(a.p, *e->bif, a.s->x);
            return Next::failed;
        }
    }
    return next;
}
// The emitter's code has left in the scratch word where to resume when the time is up.
template <>
Next run_op<Op::wait_timeout>(const RecordedOperands& a) {
    const Next next = semantics::meaning(Is<Op::wait_timeout>(), a);
    if (next == Next::branch) {
        a.p.timeout_pc = reinterpret_cast<const Word*>(a.s->x[kMaxXRegisters].raw);
    }
    return next;
}

template <Op kOp>
Next entry(Scheduler* s, Process& p, const OpRecord* r) {
    return run_op<kOp>(RecordedOperands{s, p, r});
}

// `flow` instructions have no entry: the emitter has code for all their operands. An instruction that is neither
// `flow` in emitted.def nor has a meaning does not compile.
template <Op kOp>
constexpr DefaultOp kEntry = entry<kOp>;
#define WHEN_flow(name) \
    template <>         \
    constexpr DefaultOp kEntry<Op::name> = nullptr;
#define WHEN_around(name)
#define WHEN_fast(name)
#define EMIT(name, emitter, when, floats) WHEN_##when(name)
#include "jit/emitted.def"
#undef EMIT
#undef WHEN_flow
#undef WHEN_around
#undef WHEN_fast

}  // namespace

DefaultOp default_op(Op op) {
    static constexpr DefaultOp table[] = {
#define INSTR(name, operands, effects, facts, meaning) kEntry<Op::name>,
#include "vm/instr/instructions.def"
#undef INSTR
    };
    return table[static_cast<int>(op)];
}

}  // namespace minivm::jit
