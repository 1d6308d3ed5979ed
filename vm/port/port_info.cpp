// What programs learn of ports, and the term that a program gives to a port.
#include "vm/port/port_state.hpp"

namespace minivm::port {

bool set_data(Term id, Term data) {
    const PortPtr port = find(id);
    if (port == nullptr) {
        return false;
    }
    std::lock_guard lock(port->mutex);
    port->data.clear();
    port->data_term = copy_term(data, port->data, false);
    return true;
}

Term get_data(Term id, Heap& h) {
    const PortPtr port = find(id);
    if (port == nullptr) {
        return kNonValue;
    }
    std::lock_guard lock(port->mutex);
    return is_value(port->data_term) ? copy_term(port->data_term, h, false) : atoms::undefined;
}

bool info(Term id, Info* out) {
    const PortPtr port = find(id);
    if (port == nullptr) {
        return false;
    }
    std::lock_guard lock(port->mutex);
    if (port->state != Port::State::open) {
        return false;
    }
    out->name = port->options.name;
    for (const uint64_t pid : port->links) {
        out->links.push_back(Term{pid});
    }
    for (const auto& [ref, m] : port->monitored_by) {
        out->monitored_by.push_back(m.watcher);
    }
    out->connected = port->owner;
    out->input = port->input;
    out->output = port->output;
    out->queued = port->queued + (port->options.driver != nullptr ? port->options.driver->unsent() : 0);
    out->pid = port->options.pid;
    out->parallelism = port->options.parallelism;
    return true;
}

// relaxed, both: statistics, which order nothing.
uint64_t total_input() { return g_input.load(std::memory_order_relaxed); }
uint64_t total_output() { return g_output.load(std::memory_order_relaxed); }

}  // namespace minivm::port
