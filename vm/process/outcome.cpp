#include "vm/process/outcome.hpp"

#include "vm/code/export.hpp"
#include "vm/process/exception.hpp"
#include "vm/term/atom_table.hpp"
#include "vm/term/map.hpp"

namespace minivm {

static Term raise(Process& p, ExceptionClass cls, Term reason) {
    p.exception = Exception{};
    p.exception.cls = cls;
    p.exception.reason = reason;
    p.outcome = BifOutcome::exception;
    return kNonValue;
}

// #{module => erl_erts_errors}: the error_info of the runtime's own functions.
static Term erts_error_info(Process& p) {
    Term keys[1] = {atoms::module};
    Term values[1] = {atoms::erl_erts_errors};
    return map::from_pairs(p.heap, keys, values, 1);
}

static Term raise_with_info(Process& p, Term reason) {
    raise(p, ExceptionClass::error, reason);
    p.exception.error_info = erts_error_info(p);
    return kNonValue;
}

Term error(Process& p, Term reason) {
    return raise(p, ExceptionClass::error, reason);
}
Term exit_(Process& p, Term reason) {
    return raise(p, ExceptionClass::exit, reason);
}
Term throw_(Process& p, Term value) {
    return raise(p, ExceptionClass::throw_, value);
}
Term badarg(Process& p) {
    return raise_with_info(p, atoms::badarg);
}
Term badarith(Process& p) {
    return raise_with_info(p, atoms::badarith);
}
Term system_limit(Process& p) {
    return raise_with_info(p, atoms::system_limit);
}
Term notsup(Process& p) {
    return raise_with_info(p, atom_table::intern("notsup"));
}
Term badmap(Process& p, Term m) {
    return error(p, make_tuple(p.heap, atoms::badmap, m));
}
Term badkey(Process& p, Term key) {
    return error(p, make_tuple(p.heap, atoms::badkey, key));
}
Term badarg_cause(Process& p, Term cause) {
    raise(p, ExceptionClass::error, atoms::badarg);
    Term keys[2] = {atoms::cause, atoms::module};
    Term values[2] = {cause, atoms::erl_erts_errors};
    p.exception.error_info = map::from_pairs(p.heap, keys, values, 2);
    return kNonValue;
}

static Term trap_as(Process& p, BifOutcome outcome, const Export* to,
                    std::initializer_list<Term> args) {
    MINIVM_ASSERT(args.size() == to->arity);
    int i = 0;
    for (Term t : args) {
        p.x[i++] = t;
    }
    p.trap_export = to;
    p.outcome = outcome;
    return kNonValue;
}
Term trap(Process& p, const Export* to, std::initializer_list<Term> args) {
    return trap_as(p, BifOutcome::trap, to, args);
}
Term yield(Process& p, const Export* to, std::initializer_list<Term> args) {
    return trap_as(p, BifOutcome::yield, to, args);
}
Term trap_wait(Process& p, const Export* to, std::initializer_list<Term> args) {
    return trap_as(p, BifOutcome::wait, to, args);
}
Term trap_fun(Process& p, uint32_t arity) {
    p.trap_arity = arity;
    p.outcome = BifOutcome::trap_fun;
    return kNonValue;
}

}  // namespace minivm
