// BIFs about group leaders, and about which processes are alive.
#include "vm/bif/bif.hpp"
#include "vm/bif/processes/requests.hpp"
#include "vm/code/export.hpp"
#include "vm/port/port.hpp"
#include "vm/process/dirty_hold.hpp"
#include "vm/process/nodes.hpp"
#include "vm/process/process_life.hpp"
#include "vm/process/process_table.hpp"
#include "vm/process/signal.hpp"
#include "vm/process/state.hpp"
#include "vm/process/tracing.hpp"
#include "vm/sched/scheduler_thread.hpp"
#include "vm/term/local_atoms.hpp"

#include <algorithm>
#include <vector>

namespace minivm {

namespace {

// ---- group leader, being alive -------------------------------------------------------------------------

Term erlang_self_0(Process& p, const Term*) { return p.id; }

Term erlang_group_leader_0(Process& p, const Term*) { return p.group_leader; }

void set_group_leader(Process& p, Term leader) {
    p.group_leader = is_pointer(leader) ? copy_term(leader, p.heap, true) : leader;
}

// Sets the leader of a process in a dirty function, which may take long. asked: null, or the reference of the request
// that was sent. False: the process must be asked, or has taken the request and answers it.
bool lead_from_outside(const Process& p, Term leader, Term pid, const RefId* asked) {
    Process* const q = process_table::lookup(pid);
    if (q == nullptr || is_pointer(leader)) {
        return false;
    }
    const dirty::Hold hold(*q);
    if (!hold || changes_links_meanwhile(*q) || q->is_exiting() || will_exit(*q) ||
        (asked != nullptr && !hold.withdraw(p.id, *asked))) {
        return false;
    }
    q->group_leader = leader;
    return true;
}

// minivm:end_dirty(Pid), which a process spawned for it runs: see end_dirty_process().
Term minivm_end_dirty_1(Process&, const Term* a) {
    if (Process* const q = process_table::lookup(a[0])) {
        end_dirty_process(*q);
    }
    return atoms::ok;
}

// erts_internal:group_leader(Leader, Pid): false asks the caller to call group_leader/3.
Term erts_internal_group_leader_2(Process& p, const Term* a) {
    if (!is_pid(a[0]) || !is_pid(a[1])) {
        return atoms::badarg;
    }
    if (a[1] == p.id) {
        set_group_leader(p, a[0]);
        return atoms::true_;
    }
    if (!is_local_pid(a[1])) {
        dist::group_leader(a[0], a[1]);
        return atoms::true_;
    }
    return make_bool(lead_from_outside(p, a[0], a[1], nullptr));
}

Term erts_internal_group_leader_3(Process& p, const Term* a) {
    if (!is_pid(a[0]) || !is_local_pid(a[1]) || !is_local_ref(a[2])) {
        return badarg(p);
    }
    ControlSignal* s = new_request(
        p, ref_id(a[2]),
        [](Process& target, ControlSignal& request) {
            set_group_leader(target, request.term);
            reply(request, atoms::true_);
        },
        [](ControlSignal& request) { reply(request, atoms::badarg); });
    Heap h;
    s->term = copy_term(a[0], h, true);
    take_fragments(*s, h);
    send_signal(a[1], s);
    const RefId asked = ref_id(a[2]);
    if (lead_from_outside(p, a[0], a[1], &asked)) {
        send_message_to_pid(p.id, make_tuple(p.heap, a[2], atoms::true_));
    }
    return atoms::ok;
}

void ask_alive(Process& p, Term pid, RefId ref) {
    send_signal(pid, new_request(
                         p, ref, [](Process&, ControlSignal& r) { reply(r, atoms::true_); },
                         [](ControlSignal& r) { reply(r, atoms::false_); }));
}

// Looks at a process in a dirty function, which may take long. asked: null, or the request that was sent.
// The non-value: the process must be asked, or has taken the request and answers it.
Term alive_from_outside(Process& p, Term pid, const RefId* asked) {
    Process* const q = process_table::lookup(pid);
    if (q == nullptr) {
        return kNonValue;
    }
    const dirty::Hold hold(*q);
    if (!hold || changes_links_meanwhile(*q) || (asked != nullptr && !hold.withdraw(p.id, *asked))) {
        return kNonValue;
    }
    return make_bool(!q->is_exiting() && !will_exit(*q));
}

Term erlang_is_process_alive_1(Process& p, const Term* a) {
    if (is_former_pid(a[0])) {
        return atoms::false_;
    }
    if (!is_local_pid(a[0])) {
        return badarg(p);
    }
    if (a[0] == p.id) {
        return atoms::true_;
    }
    // No signal, not even from us, can be on its way to a process that is not there.
    if (process_table::lookup(a[0]) == nullptr) {
        return atoms::false_;
    }
    if (const Term alive = alive_from_outside(p, a[0], nullptr); is_value(alive)) {
        return alive;
    }
    // Signals that we sent it before (an exit signal, say) must take effect first, so we ask the process.
    const RefId ref = new_ref_id(p);
    ask_alive(p, a[0], ref);
    if (const Term alive = alive_from_outside(p, a[0], &ref); is_value(alive)) {
        return alive;
    }
    return await(p, ref);
}

Term erts_internal_is_process_alive_2(Process& p, const Term* a) {
    if (!is_local_pid(a[0]) || !is_local_ref(a[1])) {
        return badarg(p);
    }
    const RefId ref = ref_id(a[1]);
    Term alive = alive_from_outside(p, a[0], nullptr);
    if (!is_value(alive)) {
        ask_alive(p, a[0], ref);
        alive = alive_from_outside(p, a[0], &ref);
    }
    if (is_value(alive)) {
        reply(p.id, ref, alive);
    }
    return atoms::ok;
}

Term erlang_processes_0(Process& p, const Term*) {
    std::vector<Term> pids;
    pids.reserve(process_table::count() + 16);
    process_table::for_each(
        [](Process& q, void* context) {
            static_cast<std::vector<Term>*>(context)->push_back(q.id);
        },
        &pids);
    std::sort(pids.begin(), pids.end(), [](Term x, Term y) { return x.raw > y.raw; });
    Term list = kNil;
    for (const Term pid : pids) {
        list = cons(p.heap, pid, list);
    }
    consume(p, static_cast<int64_t>(pids.size() / 10));
    return list;
}

// {Position, Pids} of processes that exist now, then `none`. The next call takes the position.
// Here the first call returns all pids, so the next one finds none.
Term erts_internal_processes_next_1(Process& p, const Term* a) {
    if (a[0] == make_small(0)) {
        return make_tuple(p.heap, make_small(1), erlang_processes_0(p, nullptr));
    }
    return is_small(a[0]) && small_value(a[0]) > 0 && small_value(a[0]) <= process_table::limit()
               ? atoms::none
               : badarg(p);
}

Term erlang_make_ref_0(Process& p, const Term*) { return make_ref_term(p.heap, new_ref_id(p)); }

Term erts_internal_no_aux_work_threads_0(Process&, const Term*) {
    return make_small(vm::scheduler_count() + 1);
}

Term erts_internal_is_process_executing_dirty_1(Process& p, const Term* a) {
    if (!is_local_pid(a[0])) {
        return badarg(p);
    }
    Process* q = process_table::lookup(a[0]);
    // relaxed: it may change at any time.
    return make_bool(q != nullptr && (q->state.load(std::memory_order_relaxed) &
                                      (process_state::kDirty | process_state::kRunning)) ==
                                         (process_state::kDirty | process_state::kRunning));
}

}  // namespace

MINIVM_BIF_TABLE(alive) = {
    {"erlang", "self", 0, erlang_self_0, kBifGuard, nullptr},
    {"erts_internal", "processes_next", 1, erts_internal_processes_next_1, kBifPlain, nullptr},
    {"erlang", "group_leader", 0, erlang_group_leader_0, kBifPlain, nullptr},
    {"erts_internal", "group_leader", 2, erts_internal_group_leader_2, kBifPlain, nullptr},
    {"erts_internal", "group_leader", 3, erts_internal_group_leader_3, kBifPlain, nullptr},
    {"erlang", "is_process_alive", 1, erlang_is_process_alive_1, kBifPlain, nullptr},
    {"erts_internal", "is_process_alive", 2, erts_internal_is_process_alive_2, kBifPlain, nullptr},
    {"erlang", "processes", 0, erlang_processes_0, kBifPlain, nullptr},
    {"minivm", "end_dirty", 1, minivm_end_dirty_1, kBifHidden, nullptr},
    {"erlang", "make_ref", 0, erlang_make_ref_0, kBifPlain, nullptr},
    {"erts_internal", "no_aux_work_threads", 0, erts_internal_no_aux_work_threads_0, kBifPlain, nullptr},
    {"erts_internal", "is_process_executing_dirty", 1, erts_internal_is_process_executing_dirty_1, kBifPlain, nullptr},
};

}  // namespace minivm
