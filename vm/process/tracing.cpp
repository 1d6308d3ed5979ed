#include "vm/process/tracing.hpp"

#include "vm/port/port.hpp"
#include "vm/process/process_table.hpp"
#include "vm/process/signal.hpp"
#include "vm/sched/thread_progress.hpp"

namespace minivm::tracing {

ReturnWords g_return_words;
Hooks* g_hooks = nullptr;
std::atomic<int32_t> g_everywhere{0};
std::atomic<const ArmedTable*> g_armed{nullptr};
std::atomic<int> g_active_half{0};
std::atomic<uint32_t> g_max_frames{10000};
std::atomic<bool> g_trace_new{false};
std::atomic<uint32_t> g_control_word{0};

bool tracer_exists(Term tracer) {
    thread_progress::DelaySection section;
    return is_local_port(tracer) ? port::exists(tracer)
                                 : is_local_pid(tracer) && process_table::lookup(tracer) != nullptr;
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
