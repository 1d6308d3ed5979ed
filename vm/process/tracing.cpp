#include "vm/process/tracing.hpp"

#include "vm/process/ports.hpp"
#include "vm/process/process_table.hpp"
#include "vm/process/signal.hpp"
#include "vm/progress/thread_progress.hpp"
#include "vm/term/compare.hpp"

namespace minivm::tracing {

ReturnWords g_return_words;
Hooks* g_hooks = nullptr;
std::atomic<int32_t> g_everywhere{0};
std::atomic<const ArmedTable*> g_armed{nullptr};
std::atomic<int> g_active_half{0};
std::atomic<uint32_t> g_max_frames{100000};
std::atomic<uint32_t> g_control_word{0};

// ---- tracers ------------------------------------------------------------------------------------

Tracer::Tracer(Term t) : term_(t) {
    if (!is_immediate(t)) {
        kept_ = std::make_shared<Heap>();
        term_ = copy_term(t, *kept_, false);
    }
}

Tracer Tracer::of_module(Term module, Term state) {
    Tracer tracer;
    tracer.kept_ = std::make_shared<Heap>();
    Heap& h = *tracer.kept_;
    tracer.term_ = make_tuple(h, module, copy_term(state, h, false));
    return tracer;
}

bool Tracer::operator==(const Tracer& other) const {
    return exact_equal(term_, other.term_);
}

bool tracer_exists(Term tracer) {
    if (is_local_port(tracer)) {
        return port::exists(tracer);
    }
    const thread_progress::DelaySection section;
    const Process* p = is_local_pid(tracer) ? process_table::lookup(tracer) : nullptr;
    // acquire: a process that has got its 'DOWN' sees kExiting, though the process may still be in the table.
    return p != nullptr && (p->state.load(std::memory_order_acquire) & process_state::kExiting) == 0;
}

bool tell_tracer(Term tracer, Term message) {
    if (is_local_port(tracer)) {
        return port::trace(tracer, message);
    }
    thread_progress::DelaySection section;
    Process* to = process_table::lookup(tracer);
    if (to == nullptr) {
        return false;
    }
    Signal* s = new_message(message);
    if (!push_signal(*to, s)) {
        free_signal(s);
        return false;
    }
    return true;
}

}  // namespace minivm::tracing
