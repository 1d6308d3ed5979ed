// erts_debug:set_internal_state/2 and get_internal_state/1: switches for tests of the VM itself.
// Both are undefined functions until set_internal_state(available_internal_state, true).
#include "vm/bif/bif.hpp"
#include "vm/bif/continuation.hpp"
#include "vm/sched/scheduler.hpp"
#include "vm/term/atom_table.hpp"

namespace minivm {

std::atomic<int64_t> g_slice_limit{kNoSliceLimit};

namespace {

std::atomic<bool> g_available{false};

bool is(Term t, const char* name) {
    return t == atom_table::intern(name);
}

bool available() {
    // relaxed: a switch alone; nothing else is read because of it.
    return g_available.load(std::memory_order_relaxed);
}

// The limit before: an integer, or `default`.
Term set_loop_limit(Process& p, Term value) {
    int64_t limit = kNoSliceLimit;
    if (!is(value, "default") && (!get_int64(value, &limit) || limit <= 0)) {
        return badarg(p);
    }
    // relaxed: tests set it before they start what it applies to.
    const int64_t old = g_slice_limit.exchange(limit, std::memory_order_relaxed);
    return old == kNoSliceLimit ? atom_table::intern("default") : make_integer(p.heap, old);
}

Term erts_debug_set_internal_state_2(Process& p, const Term* a) {
    if (is(a[0], "available_internal_state") && (a[1] == atoms::true_ || a[1] == atoms::false_)) {
        // relaxed: see available().
        return make_bool(g_available.exchange(a[1] == atoms::true_, std::memory_order_relaxed));
    }
    if (!available()) {
        return error(p, atoms::undef);
    }
    if (is(a[0], "reds_left")) {
        int64_t n = 0;
        if (get_int64(a[1], &n) && n >= 0 && n <= kSliceReductions) {
            p.reductions = n;
            return atoms::true_;
        }
    } else if (is(a[0], "binary_loop_limit") || is(a[0], "unicode_loop_limit") ||
               is(a[0], "re_loop_limit")) {
        return set_loop_limit(p, a[1]);
    } else if ((is(a[0], "ets_force_split") || is(a[0], "ets_debug_random_split_join")) &&
               is_tuple(a[1]) && tuple_arity(a[1]) == 2 && is_bool(tuple_element(a[1], 1))) {
        return atoms::ok;  // tables have one part here, whatever the load
    } else if (is(a[0], "ets_force_trap")) {
        return atom_table::intern("notsup");  // as in every release build of erl
    }
    return badarg(p);
}

Term erts_debug_get_internal_state_1(Process& p, const Term* a) {
    if (is(a[0], "available_internal_state")) {
        return make_bool(available());
    }
    if (!available()) {
        return error(p, atoms::undef);
    }
    if (is(a[0], "reds_left")) {
        return make_integer(p.heap, p.reductions);
    }
    return badarg(p);
}

}  // namespace

MINIVM_BIF_TABLE(internal_state) = {
    {"erts_debug", "set_internal_state", 2, erts_debug_set_internal_state_2, kBifPlain, nullptr},
    {"erts_debug", "get_internal_state", 1, erts_debug_get_internal_state_1, kBifPlain, nullptr},
};

}  // namespace minivm
