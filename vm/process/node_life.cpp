#include "vm/process/node_life.hpp"

#include "vm/process/extra.hpp"
#include "vm/process/process.hpp"
#include "vm/process/process_table.hpp"
#include "vm/process/registry.hpp"
#include "vm/process/signal.hpp"
#include "vm/process/state.hpp"
#include "vm/term/heap.hpp"
#include "vm/term/local_atoms.hpp"
#include "vm/term/map.hpp"

#include <algorithm>
#include <mutex>
#include <vector>

namespace minivm::node_life {

namespace {

LOCAL_ATOM(atom_net_kernel, "net_kernel")
LOCAL_ATOM(atom_net_kernel_terminated, "net_kernel_terminated")
LOCAL_ATOM(atom_no_network, "no_network")

struct Watcher {
    Term pid;
    uint32_t options;
    uint32_t times;
};

std::mutex g_mutex;  // guards changes of the name, and g_watchers
std::vector<Watcher> g_watchers;

struct Change {
    Term what;
    Term node;
    Term reason;  // the non-value: nodeup
    bool visible = true;
    uint32_t connection = 0;  // 0: none, for this node itself
};

// The properties of the change that the watcher's options ask for, as a map or a list.
Term info(Heap& h, const Change& change, uint32_t options) {
    const bool wants_type = (options & (watch::kVisible | watch::kHidden)) != 0;
    const bool wants_reason = (options & watch::kDownReason) != 0 && is_value(change.reason);
    const bool wants_id = (options & watch::kConnectionId) != 0;
    const bool as_map = (options & watch::kInfoMap) != 0;
    Term result = as_map ? map::empty(h) : kNil;
    const auto add = [&](bool wanted, Term key, Term value) {
        if (wanted) {
            result = as_map ? map::put(h, result, key, value) : cons(h, make_tuple(h, key, value), result);
        }
    };
    add(wants_type, atoms::node_type, change.visible ? atoms::visible : atoms::hidden);
    add(wants_reason, atoms::nodedown_reason, change.reason);
    add(wants_id, atoms::connection_id,
        change.connection == 0 ? atoms::undefined : make_small(change.connection));
    return result;
}

void tell(const Watcher& w, const Change& change) {
    const uint32_t types = w.options & (watch::kVisible | watch::kHidden);
    const uint32_t wanted = types == 0 ? watch::kVisible : types;
    if ((wanted & (change.visible ? watch::kVisible : watch::kHidden)) == 0) {
        return;
    }
    for (uint32_t i = 0; i < w.times; i++) {
        Heap h;
        const Term message = w.options == 0 ? make_tuple(h, change.what, change.node)
                                            : make_tuple(h, change.what, change.node, info(h, change, w.options));
        send_message_to_pid(w.pid, message);
    }
}

void tell_watchers(const Change& change) {
    for (const Watcher& w : g_watchers) {
        tell(w, change);
    }
}

}  // namespace

bool is_node_name(Term atom) {
    if (!is_atom(atom)) {
        return false;
    }
    const std::string_view name = atom_table::text(atom);
    const size_t at = name.find('@');
    return at != 0 && at != std::string_view::npos && at + 1 != name.size() &&
           name.find('@', at + 1) == std::string_view::npos;
}

bool begin(Term name, uint32_t creation) {
    const std::lock_guard lock(g_mutex);
    const Term pid = registry::whereis(atom_net_kernel());
    if (is_alive() || !is_value(pid) || !is_local_pid(pid)) {
        return false;
    }
    Process* const owner = process_table::lookup(pid);
    // acq_rel: the owner's end changes the same word (end_process()), so one of the two sees the other's
    // bit: either we see that it is ending, or its end sees kOwnsNode and waits for the lock.
    if (owner == nullptr || (owner->state.fetch_or(process_state::kOwnsNode, std::memory_order_acq_rel) &
                             process_state::kExiting) != 0) {
        return false;
    }
    // release: pairs with nothing but the lock; see this_node().
    g_this_node.store(node_word({name, creation}), std::memory_order_release);
    tell_watchers({atoms::nodeup, name, kNonValue});
    return true;
}

void owner_ended(Term reason) {
    const std::lock_guard lock(g_mutex);
    if (!is_alive()) {
        return;  // begin() has found it ending
    }
    const Term name = this_node_name();
    // release: as in begin().
    g_this_node.store(node_word(kNotAlive), std::memory_order_release);
    tell_watchers(
        {atoms::nodedown, name, reason == atom_no_network() ? reason : atom_net_kernel_terminated()});
}

void tell_of_node(Term node, uint32_t connection, bool visible, Term down_reason) {
    const std::lock_guard lock(g_mutex);
    tell_watchers({is_value(down_reason) ? atoms::nodedown : atoms::nodeup, node, down_reason, visible, connection});
}

uint32_t watch_nodes(Process& p, uint32_t options) {
    const std::lock_guard lock(g_mutex);
    extra_of(p).watches_nodes = true;
    for (Watcher& w : g_watchers) {
        if (w.pid == p.id && w.options == options) {
            return w.times++;
        }
    }
    g_watchers.push_back({p.id, options, 1});
    return 0;
}

uint32_t unwatch_nodes(Process& p, uint32_t options) {
    const std::lock_guard lock(g_mutex);
    const auto it = std::find_if(g_watchers.begin(), g_watchers.end(), [&](const Watcher& w) {
        return w.pid == p.id && w.options == options;
    });
    if (it == g_watchers.end()) {
        return 0;
    }
    const uint32_t times = it->times;
    g_watchers.erase(it);
    return times;
}

void forget_watcher(Process& p) {
    const std::lock_guard lock(g_mutex);
    std::erase_if(g_watchers, [&](const Watcher& w) { return w.pid == p.id; });
}

}  // namespace minivm::node_life
