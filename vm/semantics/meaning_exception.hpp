// What ends a catch or a try, and what raises.
#pragma once

#include "vm/process/exception.hpp"
#include "vm/semantics/operation.hpp"

namespace minivm::semantics {

MEANING(try_end) { return set<0>(a, kNil); }
MEANING(try_case) {
    Term* x = a.s->x;
    x[0] = x[1];
    x[1] = x[2];
    x[2] = x[3];
    return set<0>(a, kNil);
}
MEANING(catch_end) {
    set<0>(a, kNil);
    Term* x = a.s->x;
    if (!is_value(x[0])) {
        x[0] = caught_value(a.p, x[1], x[2], x[3]);
        if (a.p.needs_gc()) {
            return collect(a, 1, 0);
        }
    }
    return Next::go_on;
}
MEANING(try_case_end) {
    raise_tagged(a.p, atoms::try_clause, ARG(0));
    return Next::raise;
}
MEANING(badmatch) {
    raise_tagged(a.p, atoms::badmatch, ARG(0));
    return Next::raise;
}
MEANING(case_end) {
    raise_tagged(a.p, atoms::case_clause, ARG(0));
    return Next::raise;
}
MEANING(badrecord) {
    raise_tagged(a.p, atoms::badrecord, ARG(0));
    return Next::raise;
}
MEANING(if_end) {
    raise_code_error(a.p, atoms::if_clause);
    return Next::raise;
}
MEANING(raise) {
    raise_again(a.p, ARG(0), ARG(1));
    return Next::raise;
}
MEANING(raw_raise) {
    Term* x = a.s->x;
    if (raise_raw(a.p, x[0], x[1], x[2])) {
        return Next::raise;
    }
    x[0] = atoms::badarg;
    return Next::go_on;
}
MEANING(build_stacktrace) {
    a.s->x[0] = stacktrace_list(a.p, a.s->x[0]);
    return a.p.needs_gc() ? collect(a, 1, 0) : Next::go_on;
}

}  // namespace minivm::semantics
