#include "vm/bif/processes/requests.hpp"

#include "vm/bif/bif.hpp"
#include "vm/process/process_table.hpp"
#include "vm/process/signal.hpp"
#include "vm/term/this_node.hpp"

namespace minivm {

Term make_ref_term(Heap& h, RefId id) { return put_ref(h.alloc(kRefWords), id); }

Term await(Process& p, RefId ref) {
    static const Export* await_result = bif_export("erts_internal", "await_result", 1);
    return trap(p, await_result, {make_ref_term(p.heap, ref)});
}

bool handle_now(Process& p, Term* result) {
    if (has_signals(p)) {
        handle_signals(p);
    }
    if (p.exit_signal == nullptr) {
        return false;
    }
    p.outcome = BifOutcome::exited;
    *result = kNonValue;
    return true;
}

bool is_former_pid(Term t) { return is_kind(t, Kind::ext_pid) && boxed_ptr(t)[1] == this_node_name(); }

bool has_ended(Term pid) {
    const Process* const q = process_table::lookup(pid);
    return q == nullptr || q->is_exiting();
}

bool changes_links_meanwhile(const Process& held) {
    static const Export* const open_port = bif_export("minivm", "open_port_dirty", 2);
    return held.dirty_bif->exp == open_port;
}

ControlSignal* new_request(Process& p, RefId ref, void (*run)(Process&, ControlSignal&),
                           void (*gone)(ControlSignal&)) {
    ControlSignal* s = new_signal(SignalKind::rpc, p.id);
    s->ref = ref;
    s->run = run;
    s->gone = gone;
    return s;
}

}  // namespace minivm
