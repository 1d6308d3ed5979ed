// How Erlang code ends the VM.
#include <climits>
#include <utility>

#include "vm/bif/bif.hpp"
#include "vm/sched/halt.hpp"
#include "vm/term/atom_table.hpp"
#include "vm/term/bignum.hpp"
#include "vm/util/otp_release.hpp"
#include "vm/util/utf8.hpp"

namespace minivm {

namespace {

constexpr size_t kMaxSloganChars = 1023;  // as OTP; less than a pipe's PIPE_BUF in UTF-8 and with the line's end
static_assert(4 * kMaxSloganChars + 2 <= PIPE_BUF);

// False: no list of characters.
bool get_slogan(Term list, std::string* out) {
    size_t chars = 0;
    for (; is_cons(list); list = tail(list)) {
        const int64_t c = is_small(head(list)) ? small_value(head(list)) : -1;
        if (c < 0 || c > 0x10FFFF || (c >= 0xD800 && c < 0xE000)) {
            return false;
        }
        if (chars++ < kMaxSloganChars) {
            append_utf8(static_cast<uint32_t>(c), out);
        }
    }
    return is_nil(list);
}

// A status, of which as many bits are kept as OTP keeps, or a slogan. False: neither.
bool get_end(Term t, vm::HaltPlan* plan) {
    if (is_list(t)) {
        plan->status = 1;
        plan->flush = false;
        plan->slogan.emplace();
        return get_slogan(t, &*plan->slogan);
    }
    if (!is_integer(t) || (is_big(t) ? big_is_negative(t) : small_value(t) < 0)) {
        return false;
    }
    const Word low = is_big(t) ? big_digits(t)[0] : static_cast<Word>(small_value(t));
    plan->status = static_cast<int>(low & 0x7FFFFFFF);
    return true;
}

// Waits until the VM has stopped.
Term minivm_halted_0(Process& p, const Term*) {
    static const Export* again = bif_export("minivm", "halted", 0);
    return trap_wait(p, again, {});
}

// {flush, Bool}, and from OTP 27 on {flush_timeout, Milliseconds | infinity}. False: no such option.
bool get_option(Term o, bool* flush, int* flush_ms) {
    static const Term flush_timeout = atom_table::intern("flush_timeout");
    if (!is_tuple_of(o, 2)) {
        return false;
    }
    const Term value = tuple_element(o, 1);
    if (tuple_element(o, 0) == atoms::flush && is_bool(value)) {
        *flush = value == atoms::true_;
        return true;
    }
    if (tuple_element(o, 0) != flush_timeout || !by_release::at_least(27)) {
        return false;
    }
    if (is_small(value) && small_value(value) >= 0 && small_value(value) <= INT_MAX) {
        *flush_ms = static_cast<int>(small_value(value));
        return true;
    }
    *flush_ms = -1;
    return value == atoms::infinity;
}

Term erlang_halt_2(Process& p, const Term* a) {
    bool flush = true;
    vm::HaltPlan plan;
    plan.flush_ms = vm::g_options.halt_flush_ms;
    Term list = a[1];
    while (is_cons(list) && get_option(head(list), &flush, &plan.flush_ms)) {
        list = tail(list);
    }
    if (!is_nil(list)) {
        return badarg_cause(p, atoms::badopt);
    }
    if (a[0] == atoms::abort) {
        vm::abort_as_asked(p.id);
    }
    if (!get_end(a[0], &plan)) {
        return badarg(p);
    }
    plan.flush = plan.flush && flush;
    plan.is_patient = plan.flush;
    const bool at_once = !flush && !plan.slogan;
    vm::plan_halt(std::move(plan), atoms::halt, p.id);
    if (at_once) {
        vm::halt(0, false);  // as planned
    }
    return minivm_halted_0(p, a);
}

// minivm:plan_halt(Status | Slogan, How) -> whether this is the first request for the end. As halt/1, but
// returns. How, an atom: for the recorder.
Term minivm_plan_halt_2(Process& p, const Term* a) {
    vm::HaltPlan plan;
    if (!is_atom(a[1]) || !get_end(a[0], &plan)) {
        return badarg(p);
    }
    plan.is_patient = plan.flush;
    return make_bool(vm::plan_halt(std::move(plan), a[1], p.id) == vm::Planned::first);
}

Term minivm_is_halt_planned_0(Process&, const Term*) { return make_bool(vm::is_halt_planned()); }

// minivm:halt(): called when the last words are written.
Term minivm_halt_0(Process& p, const Term* a) {
    vm::halt(0, false);
    return minivm_halted_0(p, a);
}

Term minivm_main_process_1(Process& p, const Term* a) {
    if (!is_local_pid(a[0])) {
        return badarg(p);
    }
    vm::set_main_process(a[0]);
    return atoms::true_;
}

}  // namespace

MINIVM_BIF_TABLE(halt) = {
    {"erlang", "halt", 2, erlang_halt_2, kBifPlain, nullptr},
    {"minivm", "halted", 0, minivm_halted_0, kBifHidden, nullptr},
    {"minivm", "plan_halt", 2, minivm_plan_halt_2, kBifPlain, nullptr},
    {"minivm", "is_halt_planned", 0, minivm_is_halt_planned_0, kBifPlain, nullptr},
    {"minivm", "halt", 0, minivm_halt_0, kBifPlain, nullptr},
    {"minivm", "main_process", 1, minivm_main_process_1, kBifPlain, nullptr},
};

}  // namespace minivm
