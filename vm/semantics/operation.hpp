// What the meanings of instructions (meaning_*.hpp) are written in.
//
// A meaning is a function over the operands of one instruction, which are the engine's:
//   s, p                   the scheduler, and its process, whose heap, stack and pc are saved in it (unless the
//                          meaning does not touch the process, which the engine knows)
//   source<I>()            operand I of letter s      destination<I>()  of letter d or y
//   word<I>()              c, u, b or t               freg<I>()         l
//   list(), list_count()   the L operands, whose registers are those of registers()
//   live(), may_collect()  the number of live x registers, and whether the instruction has that number
//   has_label()            a failure goes to a label
// ARG, OUT, RAW, NUMBER, FLAGS and FR fetch an operand. To choose a meaning by its instruction, it takes
// Is<Op>: meaning(Is<Op::add>(), operands).
// Threads: the scheduler of the process.
#pragma once

#include <type_traits>

#include "vm/instr/lowered.hpp"
#include "vm/process/gc.hpp"
#include "vm/sched/scheduler.hpp"
#include "vm/semantics/next.hpp"
#include "vm/util/scratch.hpp"

namespace minivm::semantics {

template <Op kOp>
using Is = std::integral_constant<Op, kOp>;

#define MEANING(name)     \
    template <typename A> \
    MINIVM_ALWAYS_INLINE Next meaning(Is<Op::name>, [[maybe_unused]] const A& a)
#define ARG(i) (a.template source<i>())
#define OUT(i) (*a.template destination<i>())
#define RAW(i) (a.template word<i>())
#define NUMBER(i) (static_cast<uint32_t>(RAW(i)))
#define FLAGS(i) (static_cast<uint32_t>(small_value(Term{RAW(i)})))  // of letter c
#define FR(i) (a.template freg<i>())

template <int kDst, typename A>
MINIVM_ALWAYS_INLINE Next set(const A& a, Term value) {
    OUT(kDst) = value;
    return Next::go_on;
}
// The result of an instruction that may have left fragments.
template <int kDst, typename A>
MINIVM_ALWAYS_INLINE Next result(const A& a, Term value) {
    if (MINIVM_UNLIKELY(a.p.needs_gc()) && a.may_collect()) {
        Term* const x = a.s->x;
        x[a.live()] = value;
        collect_gc(a.p, 0, x, a.live() + 1, false);
        value = x[a.live()];
    }
    return set<kDst>(a, value);
}
// After a non-value: goes to the label, or raises the exception that is set.
template <typename A>
MINIVM_ALWAYS_INLINE Next fail(const A& a) {
    if (a.has_label()) {
        a.p.exception.cls = ExceptionClass::none;
        return Next::branch;
    }
    return Next::raise;
}
MINIVM_ALWAYS_INLINE Next test(bool yes) { return yes ? Next::go_on : Next::branch; }
template <typename A>
MINIVM_ALWAYS_INLINE Next collect(const A& a, uint32_t live, Word need_words) {
    collect_gc(a.p, need_words, a.s->x, live, false);
    return Next::go_on;
}

// The values of the L operands.
class ListValues {
  public:
    template <typename A>
    explicit ListValues(const A& a) : values_(a.list_count()) {
        for (Word i = 0; i < a.list_count(); ++i) {
            values_.data()[i] = a.registers().value(a.list()[i]);
        }
    }
    const Term* data() { return values_.data(); }

  private:
    Scratch<Term, 64> values_;
};

// The L operands are (key, destination): each gets what fetch(key) gives, until that is the non-value.
template <typename A, typename Fetch>
MINIVM_ALWAYS_INLINE Next fetch_all(const A& a, Fetch fetch) {
    for (Word i = 0; i < a.list_count(); i += 2) {
        const Term v = fetch(a.registers().value(a.list()[i]));
        if (!is_value(v)) {
            return Next::branch;
        }
        *a.registers().at(a.list()[i + 1]) = v;
    }
    return Next::go_on;
}

}  // namespace minivm::semantics
