#include "vm/bif/processes/requests.hpp"

#include "vm/bif/bif.hpp"
#include "vm/process/signal.hpp"

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

ControlSignal* new_request(Process& p, RefId ref, void (*run)(Process&, ControlSignal&),
                           void (*gone)(ControlSignal&)) {
    ControlSignal* s = new_signal(SignalKind::rpc, p.id);
    s->ref = ref;
    s->run = run;
    s->gone = gone;
    return s;
}

}  // namespace minivm
