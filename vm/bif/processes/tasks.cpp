// BIFs that suspend processes, have them collected or their code checked, and yield.
#include "recorder/recorder.hpp"
#include "vm/bif/bif.hpp"
#include "vm/bif/processes/options.hpp"
#include "vm/bif/processes/requests.hpp"
#include "vm/code_change/code_change.hpp"
#include "vm/code/export.hpp"
#include "vm/process/gc.hpp"
#include "vm/process/dirty_hold.hpp"
#include "vm/process/process_record.hpp"
#include "vm/process/process_table.hpp"
#include "vm/process/signal.hpp"
#include "vm/process/state.hpp"
#include "vm/process/tracing.hpp"
#include "vm/sched/scheduler_thread.hpp"
#include "vm/term/local_atoms.hpp"

#include <algorithm>

namespace minivm {

namespace {

LOCAL_ATOM(atom_unless_suspending, "unless_suspending")
LOCAL_ATOM(atom_asynchronous, "asynchronous")
LOCAL_ATOM(atom_major, "major")
LOCAL_ATOM(atom_minor, "minor")
LOCAL_ATOM(atom_inherit, "inherit")
LOCAL_ATOM(atom_copy_literals, "copy_literals")
LOCAL_ATOM(atom_system_task_test, "system_task_test")
LOCAL_ATOM(atom_check_process_code, "check_process_code")

// ---- suspending ----------------------------------------------------------------------------------------

// Answers `true`, or with the message that the suspender gave; a process that is gone answers badarg.
void suspend_here(Process& target, ControlSignal& request) {
    target.suspended++;
    target.reductions = 0;  // it gives up its slice soon
    MINIVM_EVENT_COARSE(sched_suspend, records::subject(target.id),
                        records::subject_or_none(request.from));
    if (is_value(request.term)) {
        send_message_to_pid(request.from, request.term);
    } else {
        reply(request, atoms::true_);
    }
}

Term erts_internal_suspend_process_2(Process& p, const Term* a) {
    if (!is_local_pid(a[0]) || a[0] == p.id) {
        return atoms::badarg;
    }
    bool unless_suspending = false;
    bool asynchronous = false;
    Term answer = kNonValue;
    Term list = a[1];
    for (; is_cons(list); list = tail(list)) {
        const Term o = head(list);
        if (o == atom_unless_suspending()) {
            unless_suspending = true;
        } else if (o == atom_asynchronous()) {
            asynchronous = true;
        } else if (is_tuple_of(o, 2) && tuple_element(o, 0) == atom_asynchronous()) {
            asynchronous = true;
            answer = tuple_element(o, 1);
        } else {
            return atoms::badopt;
        }
    }
    if (!is_nil(list)) {
        return atoms::badopt;
    }
    if (process_table::lookup(a[0]) == nullptr && !asynchronous) {
        return atoms::badarg;
    }
    uint32_t& times = extra_of(p).suspending[a[0].raw];
    if (unless_suspending && times > 0) {
        return atoms::false_;
    }
    times++;
    const RefId ref = asynchronous ? RefId{} : new_ref_id(p);
    ControlSignal* s = new_request(p, ref, suspend_here, [](ControlSignal& request) {
        reply(request, atoms::badarg);
    });
    if (is_value(answer)) {
        Heap h;
        s->term = make_tuple(h, copy_term(answer, h, true), atoms::suspended);
        take_fragments(*s, h);
    }
    send_signal(a[0], s);
    return asynchronous ? atoms::true_ : make_ref_term(p.heap, ref);
}

Term erlang_resume_process_1(Process& p, const Term* a) {
    if (!is_local_pid(a[0]) || p.extra == nullptr) {
        return badarg(p);
    }
    const auto it = p.extra->suspending.find(a[0].raw);
    if (it == p.extra->suspending.end()) {
        return badarg(p);
    }
    if (has_ended(a[0])) {
        p.extra->suspending.erase(it);
        return badarg(p);
    }
    if (--it->second == 0) {
        p.extra->suspending.erase(it);
    }
    send_resume(p.id, a[0], 1);
    return atoms::true_;
}

// ---- collecting, code, yielding ------------------------------------------------------------------------

void force_collection(Process& p, bool major) {
    p.force_gc = true;
    if (major) {
        // The next collection is a full one; it sets the count back.
        p.gc_minor_since_full = p.fullsweep_after;
    }
}

Term erts_internal_garbage_collect_1(Process& p, const Term* a) {
    if (a[0] != atom_major() && a[0] != atom_minor()) {
        return badarg(p);
    }
    force_collection(p, a[0] == atom_major());
    return atoms::true_;
}

Term check_code(const Process& target, Term module) {
    const ModuleInstance* instance = code_change::checked_instance(module);
    return make_bool(instance != nullptr && code_change::runs_in(target, *instance));
}

void answer_system_task(Term requester, Term request, Term result) {
    Heap h;
    send_message_to_pid(requester, make_tuple(h, tuple_element(request, 0), tuple_element(request, 1),
                                              result));
}

// Run by a process that is about to run, or in a receive: what request_system_task asked for.
void system_task_here(Process& target, ControlSignal& request) {
    const Term what = tuple_element(request.term, 0);
    Term result = atoms::true_;
    if (what == atoms::garbage_collect) {
        const bool major = tuple_arity(request.term) < 3 ||
                           tuple_element(request.term, 2) != atom_minor();
        force_collection(target, major);
        if (!target.in_engine) {
            // Its registers are saved.
            collect_gc(target, 0, target.saved_x, target.live_x, major);
        }
    } else if (what == atom_check_process_code()) {
        result = check_code(target, tuple_element(request.term, 2));
    }
    answer_system_task(request.from, request.term, result);
}

// Looks at a process in a dirty function, or about to enter one, which may take long. No process enters code
// that is being purged, so what is not on its stack now will not be when it comes back. asked: null, or the
// request that was sent. The non-value: the process must be asked, or has taken the request and answers it.
Term check_code_from_outside(Term requester, Term target, Term module, const RefId* asked) {
    Process* const q = process_table::lookup(target);
    if (q == nullptr) {
        return kNonValue;
    }
    const dirty::Hold hold(*q);
    return hold && (asked == nullptr || hold.withdraw(requester, *asked)) ? check_code(*q, module)
                                                                          : kNonValue;
}

Term request_system_task(Process& p, Term requester, Term target, Term priority, Term request) {
    Priority unused;
    if (!is_local_pid(requester) || !is_local_pid(target) ||
        (priority != atom_inherit() && !parse_priority(priority, &unused)) || !is_tuple(request) ||
        tuple_arity(request) < 2 || tuple_arity(request) > 3) {
        return badarg(p);
    }
    const Term what = tuple_element(request, 0);
    if (what != atoms::garbage_collect && what != atom_check_process_code() &&
        what != atom_copy_literals() && what != atom_system_task_test()) {
        return badarg(p);
    }
    if (what == atom_check_process_code() &&
        (tuple_arity(request) != 3 || !is_atom(tuple_element(request, 2)))) {
        return badarg(p);
    }
    const bool checks = what == atom_check_process_code();
    if (checks) {
        const Term result = check_code_from_outside(requester, target, tuple_element(request, 2), nullptr);
        if (is_value(result)) {
            answer_system_task(requester, request, result);
            return atoms::ok;
        }
    }
    const RefId ref = new_ref_id(p);
    ControlSignal* s = new_request(p, ref, system_task_here, [](ControlSignal& r) {
        answer_system_task(r.from, r.term, atoms::false_);
    });
    s->from = requester;
    Heap h;
    s->term = copy_term(request, h, true);
    take_fragments(*s, h);
    send_signal(target, s);
    if (checks) {
        const Term result = check_code_from_outside(requester, target, tuple_element(request, 2), &ref);
        if (is_value(result)) {
            answer_system_task(requester, request, result);
        }
    }
    return atoms::ok;
}

Term erts_internal_request_system_task_3(Process& p, const Term* a) {
    return request_system_task(p, p.id, a[0], a[1], a[2]);
}

Term erts_internal_request_system_task_4(Process& p, const Term* a) {
    return request_system_task(p, a[0], a[1], a[2], a[3]);
}

Term erlang_bump_reductions_1(Process& p, const Term* a) {
    constexpr int64_t kOtpSmallEnd = int64_t{1} << 59;  // our small integers have one bit more
    if (!is_small(a[0]) || small_value(a[0]) < 0 || small_value(a[0]) >= kOtpSmallEnd) {
        return badarg(p);
    }
    consume(p, std::min<int64_t>(small_value(a[0]), kSliceReductions));
    return atoms::true_;
}

Term minivm_return_1(Process&, const Term* a) { return a[0]; }

Term erlang_yield_0(Process& p, const Term*) {
    static const Export* back = bif_export("minivm", "return", 1);
    return yield(p, back, {atoms::true_});
}

Term erlang_hibernate_3(Process& p, const Term* a) {
    if (!check_mfa(a)) {
        return badarg(p);
    }
    const int64_t arity = list_length(a[2]);
    if (arity > kMaxArguments) {
        return system_limit(p);
    }
    const Export* e = export_table::get(a[0], a[1], static_cast<uint32_t>(arity));
    Term* x = p.x;
    Term rest = a[2];
    for (int64_t i = 0; i < arity; ++i) {
        x[i] = head(rest);
        rest = tail(rest);
    }
    p.trap_export = e;
    if (p.trace_local != nullptr) {
        tracing::g_hooks->dropped_stack(p);
    }
    p.outcome = BifOutcome::hibernate;
    return kNonValue;
}

// The process waits for a message, and keeps its stack.
Term erlang_hibernate_0(Process& p, const Term*) {
    static const Export* back = bif_export("minivm", "return", 1);
    if (has_signals(p)) {
        handle_signals(p);
        if (p.exit_signal != nullptr) {
            p.outcome = BifOutcome::exited;
            return kNonValue;
        }
    }
    if (p.mailbox.first != nullptr) {
        return atoms::ok;
    }
    trap_wait(p, back, {atoms::ok});
    p.outcome = BifOutcome::hibernate_here;
    return kNonValue;
}

}  // namespace

MINIVM_BIF_TABLE(tasks) = {
    {"erts_internal", "suspend_process", 2, erts_internal_suspend_process_2, kBifPlain, nullptr},
    {"erlang", "resume_process", 1, erlang_resume_process_1, kBifPlain, nullptr},
    {"erts_internal", "garbage_collect", 1, erts_internal_garbage_collect_1, kBifPlain, nullptr},
    {"erts_internal", "request_system_task", 3, erts_internal_request_system_task_3, kBifPlain, nullptr},
    {"erts_internal", "request_system_task", 4, erts_internal_request_system_task_4, kBifPlain, nullptr},
    {"erlang", "bump_reductions", 1, erlang_bump_reductions_1, kBifPlain, nullptr},
    {"minivm", "return", 1, minivm_return_1, kBifHidden, nullptr},
    {"erlang", "yield", 0, erlang_yield_0, kBifPlain, nullptr},
    {"erlang", "hibernate", 0, erlang_hibernate_0, kBifPlain, nullptr},
    {"erlang", "hibernate", 3, erlang_hibernate_3, kBifPlain, nullptr},
};

}  // namespace minivm
