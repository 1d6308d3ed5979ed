// The default operation of each instruction: its operands are fetched, its meaning is called, the
// result is stored. Native code reaches them through the default_op fragment, with all x registers
// in memory; a fast path takes over where it pays.
#include "jit/default_ops.hpp"

#include "vm/code/code_index.hpp"
#include "vm/process/gc.hpp"
#include "vm/instr/bif_def.hpp"
#include "vm/process/engine_hooks.hpp"
#include "vm/process/exception.hpp"
#include "vm/process/mailbox.hpp"
#include "vm/process/outcome.hpp"
#include "vm/sched/scheduler.hpp"
#include "vm/semantics/arith.hpp"
#include "vm/semantics/binary.hpp"
#include "vm/semantics/map.hpp"
#include "vm/semantics/native_record.hpp"
#include "vm/term/compare.hpp"
#include "vm/util/scratch.hpp"

#include <cmath>

namespace minivm::jit {
namespace {

struct Args {
    Scheduler* s;
    Process& p;
    const OpRecord* r;

    ListRegisters registers() const { return {s->x, p.heap.end}; }
    Term* reg(Word w) const { return registers().at(w); }
    Term value_of(Word w) const { return is_header(w) ? *reg(w) : Term{w}; }
    Term operator()(int i) const { return value_of(r->operands[i]); }
    Word word(int i) const { return r->operands[i]; }
    uint32_t number(int i) const { return static_cast<uint32_t>(r->operands[i]); }
    // c operands that hold flags.
    uint32_t flags(int i) const { return static_cast<uint32_t>(small_value(Term{r->operands[i]})); }
    double& f(int i) const { return s->f[r->operands[i]]; }
    const Word* list() const { return r->operands + r->list_at; }
    Word list_count() const { return r->list_count; }
    bool has_label() const { return r->has_label != 0; }

    // Stores the result of an instruction that may have left fragments.
    Next result(int dst, Term value) const {
        if (MINIVM_UNLIKELY(p.needs_gc()) && r->collects != 0) {
            s->x[r->live] = value;
            collect_gc(p, 0, s->x, r->live + 1, false);
            value = s->x[r->live];
        }
        *reg(r->operands[dst]) = value;
        return Next::go_on;
    }
    Next set(int dst, Term value) const {
        *reg(r->operands[dst]) = value;
        return Next::go_on;
    }
    // The non-value was the answer: to the label, or the exception.
    Next fail() const {
        if (has_label()) {
            p.exception.cls = ExceptionClass::none;
            return Next::branch;
        }
        return Next::raise;
    }
    Next test(bool yes) const { return yes ? Next::go_on : Next::branch; }
    Next collect(uint32_t live, Word need) const {
        collect_gc(p, need, s->x, live, false);
        return Next::go_on;
    }
};

template <Op kOp>
Next run_op(const Args& a);

#define OPERATION(name) \
    template <>         \
    Next run_op<Op::name>([[maybe_unused]] const Args& a)

// ---- functions, frames, moves -------------------------------------------------------------------

OPERATION(func_info) {
    raise_function_clause(a.p, Term{a.word(0)}, Term{a.word(1)}, a.number(2), a.s->x);
    return Next::raise;
}
OPERATION(init_yregs) {
    for (Word i = 0; i < a.list_count(); ++i) {
        *a.reg(a.list()[i]) = kNil;
    }
    return Next::go_on;
}
OPERATION(move) {
    return a.set(1, a(0));
}
OPERATION(swap) {
    std::swap(*a.reg(a.word(0)), *a.reg(a.word(1)));
    return Next::go_on;
}
// x[Arity]:x[Arity+1]: its export entry goes to the scratch word.
Next resolve_apply(const Args& a) {
    uint32_t arity = a.number(0);
    const Export* e = applied(&arity, a.s->x);
    if (MINIVM_UNLIKELY(e == nullptr)) {
        raise_bad_apply(a.p, arity, a.s->x);
        return Next::raise;
    }
    a.s->x[kMaxXRegisters] = Term{reinterpret_cast<Word>(e)};
    return Next::go_on;
}
OPERATION(apply) {
    return resolve_apply(a);
}
OPERATION(apply_last) {
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

// ---- arithmetic ---------------------------------------------------------------------------------

Next operator_result(const Args& a, Op op, int dst, Term r, Term x, Term y) {
    if (MINIVM_LIKELY(is_value(r))) {
        return a.result(dst, r);
    }
    if (!a.has_label()) {
        set_operator_args(a.p, op, x, y);
    }
    return a.fail();
}
#define ARITH2(name)                                                              \
    OPERATION(name) {                                                             \
        const Term x = a(1);                                                      \
        const Term y = a(2);                                                      \
        return operator_result(a, Op::name, 3, semantics::name(a.p, x, y), x, y); \
    }
ARITH2(add)
ARITH2(sub)
ARITH2(mul)
ARITH2(int_div)
ARITH2(rem)
ARITH2(band)
ARITH2(bor)
ARITH2(bxor)
ARITH2(bsl)
ARITH2(bsr)
#define ARITH1(name)                                                                   \
    OPERATION(name) {                                                                  \
        const Term x = a(1);                                                           \
        return operator_result(a, Op::name, 2, semantics::name(a.p, x), x, kNonValue); \
    }
ARITH1(bnot)
ARITH1(neg)

Next guard_bif(const Args& a, int first, int n) {
    Term args[3];
    for (int i = 0; i < n; ++i) {
        args[i] = a(first + i);
    }
    const auto& bif = *reinterpret_cast<const BifDef*>(a.word(1));
    const Term r = bif.fn(a.p, args);
    a.s->code_ix = code_index::reread(code_index::Reread::guard_bif, a.s->code_ix);
    if (MINIVM_UNLIKELY(!is_value(r))) {
        if (!a.has_label()) {
            set_bif_args(a.p, bif, args);
        }
        return a.fail();
    }
    return a.result(first + n, r);
}
OPERATION(bif0) {
    return guard_bif(a, 2, 0);
}
OPERATION(bif1) {
    return guard_bif(a, 2, 1);
}
OPERATION(bif2) {
    return guard_bif(a, 2, 2);
}
OPERATION(bif3) {
    return guard_bif(a, 2, 3);
}
OPERATION(self) {
    return a.set(0, a.p.id);
}

Next guard_badarg(const Args& a, Op op, Term x, Term y) {
    if (a.has_label()) {
        return Next::branch;
    }
    badarg(a.p);
    set_operator_args(a.p, op, x, y);
    return Next::raise;
}
OPERATION(hd) {
    const Term t = a(1);
    return is_cons(t) ? a.set(2, head(t)) : guard_badarg(a, Op::hd, t, kNonValue);
}
OPERATION(tl) {
    const Term t = a(1);
    return is_cons(t) ? a.set(2, tail(t)) : guard_badarg(a, Op::tl, t, kNonValue);
}
OPERATION(element) {
    const Term index = a(1);
    const Term t = a(2);
    if (is_small(index) && is_tuple(t)) {
        const Word n = static_cast<Word>(small_value(index)) - 1;
        if (n < tuple_arity(t)) {
            return a.set(3, tuple_element(t, n));
        }
    }
    return guard_badarg(a, Op::element, index, t);
}
OPERATION(tuple_size) {
    const Term t = a(1);
    if (is_tuple(t)) {
        return a.set(2, make_small(static_cast<int64_t>(tuple_arity(t))));
    }
    return guard_badarg(a, Op::tuple_size, t, kNonValue);
}

// ---- tests --------------------------------------------------------------------------------------

#define TEST2(name, condition)    \
    OPERATION(name) {             \
        const Term x = a(1);      \
        const Term y = a(2);      \
        return a.test(condition); \
    }
TEST2(is_lt, semantics::is_lt(x, y))
TEST2(is_ge, !semantics::is_lt(x, y))
TEST2(is_eq, loose_equal(x, y))
TEST2(is_ne, !loose_equal(x, y))
TEST2(is_eq_exact, exact_equal(x, y))
TEST2(is_ne_exact, !exact_equal(x, y))
#define TEST1(name, condition)    \
    OPERATION(name) {             \
        const Term t = a(1);      \
        return a.test(condition); \
    }
TEST1(is_integer, is_integer(t))
TEST1(is_float, is_float(t))
TEST1(is_number, is_number(t))
TEST1(is_atom, is_atom(t))
TEST1(is_boolean, is_bool(t))
TEST1(is_pid, is_pid(t))
TEST1(is_port, is_port(t))
TEST1(is_reference, is_reference(t))
TEST1(is_nil, is_nil(t))
TEST1(is_list, is_list(t))
TEST1(is_nonempty_list, is_cons(t))
TEST1(is_binary, is_binary(t))
TEST1(is_bitstr, is_bitstring_or_context(t))
TEST1(is_tuple, is_tuple(t))
TEST1(is_map, is_map(t))
TEST1(is_function, is_fun(t))
TEST1(test_arity, header_of(t) == make_header(Kind::tuple, a.word(2)))
TEST1(is_tagged_tuple, is_tuple_of(t, a.word(2)) && tuple_element(t, 0).raw == a.word(3))
OPERATION(is_function2) {
    const Term t = a(1);
    const Term n = a(2);
    if (!is_fun(t) || !is_small(n)) {
        return Next::branch;
    }
    const uint32_t arity = is_local_fun(t) ? fun_entry(t)->arity : export_fun_entry(t)->arity;
    return a.test(small_value(n) == static_cast<int64_t>(arity));
}

// ---- tuples, lists, funs ------------------------------------------------------------------------

#define EXPECT(name, condition)                     \
    OPERATION(name) {                               \
        const Term t = a(0);                        \
        if (condition) {                            \
            return Next::go_on;                     \
        }                                           \
        raise_tagged(a.p, atoms::badmatch, t);      \
        return Next::raise;                         \
    }
EXPECT(expect_cons, is_cons(t))
EXPECT(expect_tuple, is_tuple(t) && tuple_arity(t) >= a.word(1))
EXPECT(expect_float, is_float(t))
OPERATION(get_list) {
    const Term t = a(0);
    const Term tl = tail(t);
    a.set(1, head(t));
    return a.set(2, tl);
}
OPERATION(get_hd) {
    return a.set(1, head(a(0)));
}
OPERATION(get_tl) {
    return a.set(1, tail(a(0)));
}
OPERATION(put_list) {
    const Term cell = put_cons(a.p.heap.top, a(0), a(1));
    a.p.heap.top += kConsWords;
    return a.set(2, cell);
}
OPERATION(get_tuple_element) {
    return a.set(2, tuple_element(a(0), a.word(1)));
}
OPERATION(set_tuple_element) {
    tuple_elements(a(1))[a.word(2)] = a(0);
    return Next::go_on;
}
OPERATION(put_tuple2) {
    const Word n = a.list_count();
    Term* t = a.p.heap.top;
    t[0] = Term{make_header(Kind::tuple, n)};
    for (Word i = 0; i < n; ++i) {
        t[i + 1] = a.value_of(a.list()[i]);
    }
    a.p.heap.top += n + 1;
    return a.set(0, make_boxed(t));
}
OPERATION(update_record) {
    const Word arity = a.word(1);
    if (static_cast<Word>(a.p.heap.end - a.p.heap.top) < arity + 1 + kReserveWords) {
        a.collect(a.r->live, arity + 1);
    }
    const Term* from = boxed_ptr(a(2));
    Term* t = a.p.heap.top;
    t[0] = Term{make_header(Kind::tuple, arity)};  // Src may have more
    for (Word i = 1; i <= arity; ++i) {
        t[i] = from[i];
    }
    for (Word i = 0; i < a.list_count(); i += 2) {
        t[a.list()[i]] = a.value_of(a.list()[i + 1]);
    }
    a.p.heap.top += arity + 1;
    return a.set(3, make_boxed(t));
}

// ---- maps ---------------------------------------------------------------------------------------

OPERATION(new_flat_map) {
    const Word n = a.list_count();
    if (static_cast<Word>(a.p.heap.end - a.p.heap.top) < n + 2 + kReserveWords) {
        a.collect(a.r->live, n + 2);
    }
    Term* t = a.p.heap.top;
    t[0] = Term{make_header(Kind::flat_map, n + 1)};
    t[1] = Term{a.word(0)};
    for (Word i = 0; i < n; ++i) {
        t[i + 2] = a.value_of(a.list()[i]);
    }
    a.p.heap.top += n + 2;
    return a.set(1, make_boxed(t));
}
Next put_map(const Args& a, bool exact) {
    const Word n = a.list_count();
    Scratch<Term, 64> scratch(n);
    Term* const pairs = scratch.data();
    for (Word i = 0; i < n; ++i) {
        pairs[i] = a.value_of(a.list()[i]);
    }
    const Term r = exact ? semantics::put_map_exact(a.p, a(1), pairs, n / 2)
                         : semantics::put_map_assoc(a.p, a(1), pairs, n / 2);
    return is_value(r) ? a.result(2, r) : a.fail();
}
OPERATION(put_map_assoc) {
    return put_map(a, false);
}
OPERATION(put_map_exact) {
    return put_map(a, true);
}
OPERATION(has_map_fields) {
    const Term m = a(1);
    for (Word i = 0; i < a.list_count(); ++i) {
        if (!is_value(semantics::map_element(m, a.value_of(a.list()[i])))) {
            return Next::branch;
        }
    }
    return Next::go_on;
}
OPERATION(get_map_elements) {
    const Term m = a(1);
    for (Word i = 0; i < a.list_count(); i += 2) {
        const Term v = semantics::map_element(m, a.value_of(a.list()[i]));
        if (!is_value(v)) {
            return Next::branch;
        }
        *a.reg(a.list()[i + 1]) = v;
    }
    return Next::go_on;
}

// ---- native records -----------------------------------------------------------------------------

OPERATION(is_native_record) {
    return a.test(is_native_record(a(1)));
}
OPERATION(is_native_record_of) {
    return a.test(semantics::is_native_record_of(a(1), Term{a.word(2)}, Term{a.word(3)}));
}
OPERATION(is_record_accessible) {
    return a.test(semantics::is_record_accessible(a(1), Term{a.word(2)}));
}
OPERATION(get_record_elements) {
    const Term record = a(1);
    for (Word i = 0; i < a.list_count(); i += 2) {
        const Term v = semantics::record_element(record, a.value_of(a.list()[i]));
        if (!is_value(v)) {
            return Next::branch;
        }
        *a.reg(a.list()[i + 1]) = v;
    }
    return Next::go_on;
}
OPERATION(get_record_field) {
    const Term r = semantics::get_record_field(a.p, a(1), Term{a.word(2)}, Term{a.word(3)});
    return is_value(r) ? a.set(4, r) : a.fail();
}
Next put_record(const Args& a, bool is_new) {
    const Word n = a.list_count();
    Scratch<Term, 64> scratch(n);
    Term* const pairs = scratch.data();
    for (Word i = 0; i < n; ++i) {
        pairs[i] = a.value_of(a.list()[i]);
    }
    const Term r =
        is_new ? semantics::new_native_record(a.p, Term{a.word(1)}, pairs, n / 2, a.s->code_ix)
               : semantics::update_native_record(a.p, a(1), pairs, n / 2);
    return is_value(r) ? a.result(2, r) : a.fail();
}
OPERATION(new_native_record) {
    return put_record(a, true);
}
OPERATION(update_native_record) {
    return put_record(a, false);
}

// ---- floats -------------------------------------------------------------------------------------

OPERATION(fmove_to) {
    a.f(1) = float_value(a(0));
    return Next::go_on;
}
OPERATION(fmove_from) {
    // The heap words are reserved by the test_heap before it.
    return a.set(1, make_float(a.p.heap, a.f(0)));
}
OPERATION(fconv) {
    return semantics::fconv(a.p, a(0), &a.f(1)) ? Next::go_on : Next::raise;
}
#define FARITH(name, expression)               \
    OPERATION(name) {                          \
        const double x = a.f(0);               \
        const double y = a.f(1);               \
        const double r = (expression);         \
        a.f(2) = r;                            \
        if (MINIVM_LIKELY(std::isfinite(r))) { \
            return Next::go_on;                \
        }                                      \
        error(a.p, atoms::badarith);           \
        return Next::raise;                    \
    }
FARITH(fadd, x + y)
FARITH(fsub, x - y)
FARITH(fmul, x* y)
FARITH(fdiv, x / y)
OPERATION(fnegate) {
    a.f(1) = -a.f(0);
    return Next::go_on;
}

// ---- exceptions ---------------------------------------------------------------------------------

OPERATION(try_end) {
    return a.set(0, kNil);
}
OPERATION(try_case) {
    Term* x = a.s->x;
    x[0] = x[1];
    x[1] = x[2];
    x[2] = x[3];
    return a.set(0, kNil);
}
OPERATION(catch_end) {
    a.set(0, kNil);
    Term* x = a.s->x;
    if (!is_value(x[0])) {
        x[0] = caught_value(a.p, x[1], x[2], x[3]);
        if (a.p.needs_gc()) {
            return a.collect(1, 0);
        }
    }
    return Next::go_on;
}
OPERATION(try_case_end) {
    raise_tagged(a.p, atoms::try_clause, a(0));
    return Next::raise;
}
OPERATION(badmatch) {
    raise_tagged(a.p, atoms::badmatch, a(0));
    return Next::raise;
}
OPERATION(case_end) {
    raise_tagged(a.p, atoms::case_clause, a(0));
    return Next::raise;
}
OPERATION(badrecord) {
    raise_tagged(a.p, atoms::badrecord, a(0));
    return Next::raise;
}
OPERATION(if_end) {
    raise_code_error(a.p, atoms::if_clause);
    return Next::raise;
}
OPERATION(raise) {
    raise_again(a.p, a(0), a(1));
    return Next::raise;
}
OPERATION(raw_raise) {
    Term* x = a.s->x;
    if (raise_raw(a.p, x[0], x[1], x[2])) {
        return Next::raise;
    }
    x[0] = atoms::badarg;
    return Next::go_on;
}
OPERATION(build_stacktrace) {
    a.s->x[0] = stacktrace_list(a.p, a.s->x[0]);
    return a.p.needs_gc() ? a.collect(1, 0) : Next::go_on;
}

// ---- messages -----------------------------------------------------------------------------------

OPERATION(loop_rec) {
    const Term m = mailbox_peek(a.p);
    a.s->code_ix = code_index::reread(code_index::Reread::receive, a.s->code_ix);
    if (MINIVM_UNLIKELY(a.p.is_exiting())) {
        return Next::exiting;
    }
    return is_value(m) ? a.set(1, m) : Next::branch;
}
OPERATION(loop_rec_end) {
    mailbox_next(a.p);
    return --a.p.reductions <= 0 ? Next::yield : Next::go_on;
}
OPERATION(remove_message) {
    mailbox_remove(a.p);
    cancel_receive_timeout(a.p);
    return Next::go_on;
}
// Branch: wait, resuming at the label or, when the time is up, behind this. Go on: no wait at all.
// The address to resume at when the time is up is operand 2, filled in by the emitter's code.
OPERATION(wait_timeout) {
    const Term t = a(1);
    if (!has_receive_timeout(a.p)) {
        if (t == make_small(0)) {
            return Next::go_on;
        }
        if (t != atoms::infinity) {
            if (!is_small(t) || small_value(t) < 0 || small_value(t) > 0xFFFFFFFF) {
                mailbox_timeout(a.p);  // the next receive begins at the front
                raise_code_error(a.p, atoms::timeout_value);
                return Next::raise;
            }
            set_receive_timeout(a.p, static_cast<uint64_t>(small_value(t)));
        }
    }
    a.p.timeout_pc = reinterpret_cast<const Word*>(a.s->x[kMaxXRegisters].raw);
    return Next::branch;
}
OPERATION(timeout) {
    mailbox_timeout(a.p);
    return Next::go_on;
}
OPERATION(recv_marker_reserve) {
    return a.set(0, recv_marker_reserve(a.p));
}
OPERATION(recv_marker_bind) {
    recv_marker_bind(a.p, a(0), a(1));
    return Next::go_on;
}
OPERATION(recv_marker_clear) {
    recv_marker_clear(a.p, a(0));
    return Next::go_on;
}
OPERATION(recv_marker_use) {
    recv_marker_use(a.p, a(0));
    return Next::go_on;
}

// ---- bit strings --------------------------------------------------------------------------------

Next matched(const Args& a, int dst, Term r) {
    return is_value(r) ? a.result(dst, r) : Next::branch;
}
const uint8_t* string_at(Word w) {
    return reinterpret_cast<const uint8_t*>(w);
}

OPERATION(bs_start_match) {
    const Term r = semantics::bs_start_match(a.p, a(1));
    if (MINIVM_UNLIKELY(!is_value(r) && !a.has_label())) {
        raise_tagged(a.p, atoms::badmatch, a(1));
        return Next::raise;
    }
    return matched(a, 2, r);
}
OPERATION(bs_get_integer) {
    return matched(a, 5, semantics::bs_get_integer(a.p, a(1), a(2), a.number(3), a.flags(4)));
}
OPERATION(bs_get_float) {
    return matched(a, 5, semantics::bs_get_float(a.p, a(1), a(2), a.number(3), a.flags(4)));
}
OPERATION(bs_get_binary) {
    return matched(a, 5, semantics::bs_get_binary(a.p, a(1), a(2), a.number(3)));
}
OPERATION(bs_skip_bits) {
    return a.test(semantics::bs_skip_bits(a(1), a(2), a.number(3)));
}
OPERATION(bs_test_tail) {
    return a.test(semantics::bs_test_tail(a(1), a.word(2)));
}
OPERATION(bs_test_unit) {
    return a.test(semantics::bs_test_unit(a(1), a.number(2)));
}
OPERATION(bs_match_string) {
    return a.test(semantics::bs_match_string(a(1), a.word(2), string_at(a.word(3))));
}
OPERATION(bs_get_tail) {
    return a.result(1, semantics::bs_get_tail(a.p, a(0)));
}
OPERATION(bs_get_position) {
    return a.set(1, semantics::bs_get_position(a(0)));
}
OPERATION(bs_set_position) {
    semantics::bs_set_position(a(0), a(1));
    return Next::go_on;
}
#define MATCH_CHAR(name, dst, ...)                         \
    OPERATION(name) {                                      \
        const Term r = semantics::name(__VA_ARGS__);       \
        return is_value(r) ? a.set(dst, r) : Next::branch; \
    }
MATCH_CHAR(bs_get_utf8, 2, a(1))
MATCH_CHAR(bs_get_utf16, 3, a(1), a.flags(2))
MATCH_CHAR(bs_get_utf32, 3, a(1), a.flags(2))
OPERATION(bs_skip_utf8) {
    return a.test(semantics::bs_skip_utf8(a(1)));
}
OPERATION(bs_skip_utf16) {
    return a.test(semantics::bs_skip_utf16(a(1), a.flags(2)));
}
OPERATION(bs_skip_utf32) {
    return a.test(semantics::bs_skip_utf32(a(1), a.flags(2)));
}
OPERATION(bs_context_to_binary) {
    return a.result(0, semantics::bs_context_to_binary(a.p, a(0)));
}
OPERATION(bs_match) {
    if (!semantics::bs_match(a.p, a(1), a.list(), a.list_count(), a.registers())) {
        return Next::branch;
    }
    return a.p.needs_gc() ? a.collect(a.r->live, 0) : Next::go_on;
}
OPERATION(bs_create_bin) {
    Term r = semantics::bs_create_bin(a.p, a.list(), a.list_count(), a.registers());
    if (MINIVM_UNLIKELY(!is_value(r))) {
        return a.fail();
    }
    // The instruction also reserves heap for what follows it.
    const Word extra = a.word(1);
    if (MINIVM_UNLIKELY(a.p.needs_gc() ||
                        static_cast<Word>(a.p.heap.end - a.p.heap.top) < extra + kReserveWords)) {
        a.s->x[a.r->live] = r;
        collect_gc(a.p, extra, a.s->x, a.r->live + 1, false);
        r = a.s->x[a.r->live];
    }
    return a.set(3, r);
}
OPERATION(bs_init_writable) {
    const Term r = semantics::bs_init_writable(a.p, a.s->x[0]);
    if (!is_value(r)) {
        return Next::raise;
    }
    a.s->x[0] = r;
    return a.p.needs_gc() ? a.collect(1, 0) : Next::go_on;
}
// The legacy family: nothing may collect between the beginning and the last bs_put, so fragments
// stay until the next chance.
#define BUILD(name, dst, ...)                          \
    OPERATION(name) {                                  \
        const Term r = semantics::name(__VA_ARGS__);   \
        return is_value(r) ? a.set(dst, r) : a.fail(); \
    }
BUILD(bs_init, 4, a.p, a(1), a.number(2))
BUILD(bs_append, 5, a.p, a(1), 1, a(2), a.number(3))
OPERATION(bs_private_append) {
    const Term r = semantics::bs_append(a.p, a(1), a.number(3), a(2), 1);
    return is_value(r) ? a.set(5, r) : a.fail();
}
BUILD(bs_utf8_size, 2, a(1))
BUILD(bs_utf16_size, 2, a(1))
BUILD(bs_add, 4, a.p, a(1), a(2), a.number(3))
BUILD(bs_bits_to_bytes, 2, a.p, a(1))
#define PUT(name, ...)                                                     \
    OPERATION(name) {                                                      \
        return semantics::name(a.p, __VA_ARGS__) ? Next::go_on : a.fail(); \
    }
PUT(bs_put_integer, a(1), a.number(2), a.flags(3), a(4))
PUT(bs_put_float, a(1), a.number(2), a.flags(3), a(4))
PUT(bs_put_binary, a(1), a.number(2), a(4))
PUT(bs_put_utf8, a(2))
PUT(bs_put_utf16, a.flags(1), a(2))
PUT(bs_put_utf32, a.flags(1), a(2))
OPERATION(bs_put_string) {
    semantics::bs_put_string(string_at(a.word(1)), a.word(0));
    return Next::go_on;
}

template <Op kOp>
Next entry(Scheduler* s, Process& p, const OpRecord* r) {
    return run_op<kOp>(Args{s, p, r});
}

// Control transfer and what depends on the code around it is the emitter's own.
#define WRITTEN_BY_HAND(name)            \
    template <>                          \
    Next run_op<Op::name>(const Args&) { \
        return Next::go_on;              \
    }
WRITTEN_BY_HAND(call)
WRITTEN_BY_HAND(call_only)
WRITTEN_BY_HAND(call_last)
WRITTEN_BY_HAND(call_ext)
WRITTEN_BY_HAND(call_ext_only)
WRITTEN_BY_HAND(call_ext_last)
WRITTEN_BY_HAND(call_bif)
WRITTEN_BY_HAND(bif_body)
WRITTEN_BY_HAND(call_fun)
WRITTEN_BY_HAND(i_apply_fun_last)
WRITTEN_BY_HAND(return_)
WRITTEN_BY_HAND(jump)
WRITTEN_BY_HAND(on_load)
WRITTEN_BY_HAND(nif_start)
WRITTEN_BY_HAND(trap_end)
WRITTEN_BY_HAND(allocate)
WRITTEN_BY_HAND(allocate_heap)
WRITTEN_BY_HAND(test_heap)
WRITTEN_BY_HAND(deallocate)
WRITTEN_BY_HAND(trim)
WRITTEN_BY_HAND(select_val)
WRITTEN_BY_HAND(select_tuple_arity)
WRITTEN_BY_HAND(make_fun)
WRITTEN_BY_HAND(catch_)
WRITTEN_BY_HAND(try_)
WRITTEN_BY_HAND(send)
WRITTEN_BY_HAND(wait)

}  // namespace

DefaultOp default_op(Op op) {
    static constexpr DefaultOp table[] = {
#define INSTR(name, operands, effects, meaning) entry<Op::name>,
#include "vm/instr/instructions.def"
#undef INSTR
    };
    return table[static_cast<int>(op)];
}

}  // namespace minivm::jit
