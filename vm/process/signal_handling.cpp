// Handling of signals by the process that receives them.
#include "vm/process/signal.hpp"

#include <algorithm>
#include <cstdlib>
#include <map>
#include <new>
#include <set>
#include <vector>

#include "recorder/coarse_words.hpp"
#include "recorder/recorder.hpp"
#include "vm/code/code_index.hpp"
#include "vm/instr/bif_def.hpp"
#include "vm/process/dirty_hold.hpp"
#include "vm/process/engine_calls.hpp"
#include "vm/process/outcome.hpp"
#include "vm/process/ports.hpp"
#include "vm/process/probe.hpp"
#include "vm/process/process_life.hpp"
#include "vm/process/process_record.hpp"
#include "vm/process/process_table.hpp"
#include "vm/process/registry.hpp"
#include "vm/process/scheduling.hpp"
#include "vm/process/state.hpp"
#include "vm/progress/thread_progress.hpp"

namespace minivm {

namespace {

// Puts the message after the priority messages in the queue. A receive that is past these goes back to it: the
// messages in between do not match the second time either.
void insert_priority_message(Process& p, Signal* s) {
    Mailbox& box = p.mailbox;
    // Code that no compiler has written may come here while it examines a message. That message stays under
    // examination, because a collection looks at it (attach_examined_message()).
    const bool examines = p.in_receive_examine;
    Signal** const kept = box.save == box.priority_end ? &s->next : box.save;
    bool is_before = box.save == box.priority_end;
    for (Signal** link = &box.first; link != box.priority_end && !is_before; link = &(*link)->next) {
        is_before = link == box.save;
    }
    if (!is_before) {
        box.save = box.priority_end;
    }
    s->next = *box.priority_end;
    *box.priority_end = s;
    if (box.last == box.priority_end) {
        box.last = &s->next;
    }
    box.priority_end = &s->next;
    if (examines) {
        box.save = kept;
    }
}

void append_message(Process& p, Signal* s, bool priority = false) {
    if (MINIVM_UNLIKELY(priority)) {
        insert_priority_message(p, s);
    } else {
        s->next = nullptr;
        *p.mailbox.last = s;
        p.mailbox.last = &s->next;
    }
    p.mailbox.length++;
    if (s->on_heap) {
        p.mailbox.on_heap_count++;
    }
    probe::arrived(p, *s);
}

}  // namespace

namespace {

// Whether the alias is active; an alias for one reply ends with this. *priority: whether it takes priority messages.
bool use_alias(Process& p, RefId ref, bool* priority) {
    if (p.extra == nullptr) {
        return false;
    }
    const auto found = p.extra->aliases.find(ref);
    if (found == p.extra->aliases.end()) {
        return false;
    }
    const Alias alias = found->second;
    *priority = alias.priority;
    if (alias.kind == AliasKind::reply || alias.kind == AliasKind::reply_demonitor) {
        p.extra->aliases.erase(found);
        if (alias.kind == AliasKind::reply_demonitor) {
            demonitor_process(p, ref);
        }
    }
    return true;
}

// True: the signal is used up (freed, or has become a message). False: it ends the process.
bool handle_exit(Process& p, ControlSignal* s) {
    const Term reason = tuple_element(s->term, 2);
    bool untrappable = false;
    bool priority = false;
    if (s->ref != RefId{}) {
        if (!use_alias(p, s->ref, &priority)) {
            free_signal(s);
            return true;
        }
        priority = priority && s->priority;
    }
    if (s->linked) {
        if (p.extra == nullptr) {
            free_signal(s);
            return true;
        }
        const auto link = p.extra->links.find(s->from.raw);
        if (link == p.extra->links.end() || link->second.unlinking != 0) {
            free_signal(s);
            return true;
        }
        priority = link->second.priority;
        p.extra->links.erase(link);
    } else {
        untrappable = reason == atoms::kill;
    }
    if (p.trap_exit && !untrappable) {
        if (s->linked) {
            probe::procs(p, atoms::getting_unlinked, tuple_element(s->term, 1));
        }
        s->kind = SignalKind::message;
        append_message(p, s, priority);
        return true;
    }
    if (reason == atoms::normal && !untrappable &&
        (s->linked || s->from != p.id || s->no_quirk)) {
        if (s->linked) {
            probe::procs(p, atoms::getting_unlinked, tuple_element(s->term, 1));
        }
        free_signal(s);
        return true;
    }
    s->term = untrappable ? atoms::killed : reason;
    p.exit_signal = s;
    return false;
}

void handle_down(Process& p, ControlSignal* s) {
    if (p.extra == nullptr) {
        free_signal(s);
        return;
    }
    ProcessExtra& extra = *p.extra;
    const auto monitor = extra.monitors.find(s->ref);
    if (monitor == extra.monitors.end()) {
        free_signal(s);  // demonitored meanwhile
        return;
    }
    const Term tag = monitor->second.tag;
    const bool priority = monitor->second.priority;
    extra.monitors.erase(monitor);
    const auto alias = extra.aliases.find(s->ref);
    if (alias != extra.aliases.end() && (alias->second.kind == AliasKind::demonitor ||
                                         alias->second.kind == AliasKind::reply_demonitor)) {
        extra.aliases.erase(alias);
    }
    if (is_value(tag)) {
        Heap h;
        tuple_elements(s->term)[0] = copy_term(tag, h, true);
        take_fragments(*s, h);
    }
    s->kind = SignalKind::message;
    append_message(p, s, priority);
}

void handle_alias_message(Process& p, ControlSignal* s) {
    bool priority = false;
    if (!use_alias(p, s->ref, &priority)) {
        free_signal(s);
        return;
    }
    s->kind = SignalKind::message;
    append_message(p, s, priority && s->priority);
}

Signal** last_deferred(Process& p) {
    Signal** link = &p.deferred;
    while (*link != nullptr) {
        link = &(*link)->next;
    }
    return link;
}

bool handle_signal(Process& p, Signal* signal) {
    auto* s = static_cast<ControlSignal*>(signal);
    switch (signal->kind) {
        case SignalKind::message:
            append_message(p, signal);
            return true;
        case SignalKind::alias_message:
            handle_alias_message(p, s);
            return true;
        case SignalKind::exit:
            return handle_exit(p, s);
        case SignalKind::monitor_down:
            handle_down(p, s);
            return true;
        case SignalKind::link:
            // If the other side sent it before it received our unlink, the unlink wins, here and there.
            if (extra_of(p).links.try_emplace(s->from.raw).second) {
                probe::procs(p, atoms::getting_linked, s->from);
            }
            break;
        case SignalKind::unlink: {
            if (p.extra != nullptr) {
                // A link that this side is unlinking as well waits for its own acknowledgement.
                const auto link = p.extra->links.find(s->from.raw);
                if (link != p.extra->links.end() && link->second.unlinking == 0) {
                    p.extra->links.erase(link);
                    probe::procs(p, atoms::getting_unlinked, s->from);
                }
            }
            ControlSignal* ack = new_signal(SignalKind::unlink_ack, p.id);
            ack->number = s->number;
            send_signal(s->from, ack);
            break;
        }
        case SignalKind::unlink_ack:
            if (p.extra != nullptr) {
                const auto link = p.extra->links.find(s->from.raw);
                if (link != p.extra->links.end() && link->second.unlinking == s->number) {
                    p.extra->links.erase(link);
                }
            }
            break;
        case SignalKind::monitor: {
            ProcessExtra& extra = extra_of(p);
            extra.monitored_by[s->ref] = MonitoredBy{s->from, s->name, ++extra.monitors_seen};
            break;
        }
        case SignalKind::demonitor:
            if (p.extra != nullptr) {
                p.extra->monitored_by.erase(s->ref);
            }
            break;
        case SignalKind::rpc:
            if (s->between_slices && p.in_engine) {
                s->next = nullptr;
                *last_deferred(p) = s;
                p.reductions = 0;  // so that the engine returns soon
                return true;
            }
            if (s->run != nullptr) {
                s->run(p, *s);
            }
            break;
        default:
            MINIVM_CHECK(!"a signal of a kind that is never sent");
    }
    free_signal(s);
    return true;
}

}  // namespace

bool has_signals(const Process& p) {
    // acquire: pairs with push_signal().
    return p.mailbox.outer.load(std::memory_order_acquire) != nullptr;
}

namespace {

// The signals in the outer queue, the oldest first. Only for the thread that owns or holds the process.
std::vector<Signal*> in_order(Signal* newest) {
    std::vector<Signal*> signals;
    for (Signal* s = newest; s != nullptr; s = s->next) {
        signals.push_back(s);
    }
    std::reverse(signals.begin(), signals.end());
    return signals;
}

// Turns the list round that was taken out of the outer queue: the oldest signal is the first then.
Signal* oldest_first(Signal* newest) {
    Signal* oldest = nullptr;
    while (newest != nullptr) {
        Signal* const next = newest->next;
        newest->next = oldest;
        oldest = newest;
        newest = next;
    }
    return oldest;
}

// Whether the signal changes links and monitors, and nothing else.
bool is_relation(SignalKind kind) {
    return kind == SignalKind::link || kind == SignalKind::unlink || kind == SignalKind::unlink_ack ||
           kind == SignalKind::monitor || kind == SignalKind::demonitor;
}

// Whether the exit signal ends p. linked: whether its sender is linked to p when p handles it.
bool is_fatal(const Process& p, const ControlSignal& exit, bool linked) {
    const Term reason = tuple_element(exit.term, 2);
    if (exit.ref != RefId{} && (p.extra == nullptr || !p.extra->aliases.contains(exit.ref))) {
        return false;  // the alias is no more
    }
    if (exit.linked) {
        return linked && !p.trap_exit && reason != atoms::normal;
    }
    return reason == atoms::kill ||
           (!p.trap_exit && (reason != atoms::normal || (exit.from == p.id && !exit.no_quirk)));
}

}  // namespace

bool will_exit(const Process& p) {
    std::map<uint64_t, bool> changed;  // links that earlier signals in the queue make or remove
    std::set<RefId, RefLess> used;     // aliases that earlier signals came by: one for a single reply has ended with the first
    const auto is_linked = [&](Term from) {
        const auto now = changed.find(from.raw);
        if (now != changed.end()) {
            return now->second;
        }
        const auto* links = p.extra != nullptr ? &p.extra->links : nullptr;
        return links != nullptr && links->contains(from.raw) && links->at(from.raw).unlinking == 0;
    };
    // acquire: pairs with push_signal(). Only the thread that owns or holds the process takes signals out.
    for (const Signal* s : in_order(p.mailbox.outer.load(std::memory_order_acquire))) {
        switch (s->kind) {
            case SignalKind::link:
                if (p.extra == nullptr || !p.extra->links.contains(s->from.raw)) {
                    changed[s->from.raw] = true;
                }
                break;
            case SignalKind::unlink:
                changed[s->from.raw] = false;
                break;
            case SignalKind::exit: {
                const auto& exit = *static_cast<const ControlSignal*>(s);
                const bool may_be_stale = exit.ref != RefId{} && !used.insert(exit.ref).second;
                if (!may_be_stale && is_fatal(p, exit, exit.linked && is_linked(s->from))) {
                    return true;
                }
                if (exit.linked) {
                    changed[s->from.raw] = false;
                }
                break;
            }
            case SignalKind::alias_message:
            case SignalKind::monitor_down:
                used.insert(static_cast<const ControlSignal*>(s)->ref);
                break;
            default:
                break;
        }
    }
    return false;
}

void dirty::Hold::handle_relations() const {
    Process& p = *process_;
    // acquire: as above.
    const std::vector<Signal*> signals =
        in_order(p.mailbox.outer.exchange(nullptr, std::memory_order_acquire));
    Signal* newest = nullptr;  // of those that stay
    Signal* oldest = nullptr;
    bool may_handle = true;
    for (Signal* s : signals) {
        may_handle = may_handle && s->kind != SignalKind::exit;
        if (may_handle && is_relation(s->kind)) {
            handle_signal(p, s);
            continue;
        }
        s->next = newest;
        newest = s;
        oldest = oldest != nullptr ? oldest : s;
    }
    if (newest == nullptr) {
        return;
    }
    // They are older than what has been pushed meanwhile, so they go to the chain's end. No other thread takes signals
    // out or follows the chain while p is held.
    Signal* first = nullptr;
    // seq_cst: as in push_signal(): a sender that finds the queue empty from here on wakes p.
    if (p.mailbox.outer.compare_exchange_strong(first, newest, std::memory_order_seq_cst)) {
        return;
    }
    while (first->next != nullptr) {
        first = first->next;
    }
    first->next = newest;
}

void handle_signals_of_held(Process& p) {
    // acquire: as above.
    const std::vector<Signal*> signals =
        in_order(p.mailbox.outer.exchange(nullptr, std::memory_order_acquire));
    // A trapped exit signal would become a message, and p reads no more messages.
    const auto is_handled = [&p](const Signal& s) {
        if (s.kind == SignalKind::exit) {
            const auto& exit = static_cast<const ControlSignal&>(s);
            return !p.trap_exit || (!exit.linked && tuple_element(exit.term, 2) == atoms::kill);
        }
        return is_relation(s.kind);
    };
    Signal** last = &p.unhandled;
    for (Signal* s : signals) {
        s->next = nullptr;
        if (p.exit_signal == nullptr && is_handled(*s)) {
            handle_signal(p, s);
        } else {
            *last = s;
            last = &s->next;
        }
    }
}

void handle_deferred(Process& p) {
    Signal* s = p.deferred;
    p.deferred = nullptr;
    while (s != nullptr) {
        Signal* next = s->next;
        auto* request = static_cast<ControlSignal*>(s);
        request->run(p, *request);
        free_signal(s);
        s = next;
    }
}

void handle_signals(Process& p) {
    if (p.exit_signal != nullptr) {
        return;
    }
    // acquire: pairs with push_signal(): the signals' contents, and what their senders did before.
    Signal* newest = p.mailbox.outer.exchange(nullptr, std::memory_order_acquire);
    if (newest != nullptr && recorder::enabled(recorder::Category::message)) {
        recorder::renew_stamp();  // no receive is to stand before its send
    }
    Signal* oldest = oldest_first(newest);
    int64_t handled = 0;
    while (oldest != nullptr) {
        Signal* s = oldest;
        oldest = s->next;
        ++handled;
        if (!handle_signal(p, s)) {
            p.unhandled = oldest;
            p.reductions = 0;  // so that the engine returns soon
            break;
        }
    }
    consume(p, handled / 8);
    // So that a process that learns of new code by a signal runs it.
    if (p.scheduler != nullptr) {
        p.scheduler->code_ix = code_index::reread(code_index::Reread::signals, p.scheduler->code_ix);
    }
}

static void free_messages(Process& p) {
    Signal* message = p.mailbox.first;
    while (message != nullptr) {
        Signal* next = message->next;
        free_signal(message);
        message = next;
    }
    p.mailbox.first = nullptr;
    p.mailbox.last = &p.mailbox.first;
    p.mailbox.save = &p.mailbox.first;
    p.mailbox.priority_end = &p.mailbox.first;
    p.mailbox.length = 0;
    p.mailbox.on_heap_count = 0;
}

void close_mailbox(Process& p) {
    // seq_cst: no sender pushes from here on; acquires what was pushed.
    Signal* oldest = oldest_first(p.mailbox.outer.exchange(closed_mark(), std::memory_order_seq_cst));
    for (Signal* list : {p.deferred, p.unhandled, oldest}) {
        while (list != nullptr) {
            Signal* next = list->next;
            refuse_signal(p.id, list);
            list = next;
        }
    }
    p.unhandled = nullptr;
    p.deferred = nullptr;
    free_messages(p);
}

void drop_mailbox(Process& p) {
    // relaxed: no other thread any more.
    Signal* s = p.mailbox.outer.exchange(closed_mark(), std::memory_order_relaxed);
    while (s != nullptr && s != closed_mark()) {
        Signal* next = s->next;
        free_signal(s);
        s = next;
    }
    free_messages(p);
}

// ---- links, monitors, aliases -------------------------------------------------------------------------------

void link_process(Process& p, Term pid, bool priority) {
    if (pid == p.id) {
        return;
    }
    Link& link = extra_of(p).links[pid.raw];
    // The other side cannot tell a new link from one that is being unlinked: both need a link signal. An active
    // link needs none, but one more does no harm, and returns noproc if the other process has gone.
    link.unlinking = 0;
    link.priority = priority;
    MINIVM_EVENT(link, records::subject(p.id), records::subject(pid));
    probe::procs(p, atoms::link, pid);
    send_signal(pid, new_signal(SignalKind::link, p.id));
}

void unlink_process(Process& p, Term pid) {
    static std::atomic<uint64_t> next_number{1};
    probe::procs(p, atoms::unlink, pid);
    if (p.extra == nullptr) {
        return;
    }
    const auto link = p.extra->links.find(pid.raw);
    if (link == p.extra->links.end() || link->second.unlinking != 0) {
        return;
    }
    MINIVM_EVENT(unlink, records::subject(p.id), records::subject(pid));
    ControlSignal* s = new_signal(SignalKind::unlink, p.id);
    // relaxed: only uniqueness is required.
    s->number = next_number.fetch_add(1, std::memory_order_relaxed);
    link->second.unlinking = s->number;
    send_signal(pid, s);
}

void monitor_process(Process& p, RefId ref, Term pid, Term name, Term tag, bool port,
                     bool priority) {
    if (pid == p.id) {
        return;  // a process does not monitor itself
    }
    Monitor m;
    m.target = pid;
    m.name = name;
    m.tag = tag;
    m.port = port;
    m.priority = priority;
    extra_of(p).monitors.emplace(ref, m);
    MINIVM_EVENT(monitor, records::subject(p.id), records::subject_or_none(pid));
    if (!is_value(pid)) {
        send_down(p.id, p.id, ref, name, atoms::noproc, port);  // the name is not registered: we answer ourselves
        return;
    }
    ControlSignal* s = new_signal(SignalKind::monitor, p.id);
    s->ref = ref;
    s->name = name;
    send_signal(pid, s);
}

bool demonitor_process(Process& p, RefId ref) {
    if (p.extra == nullptr) {
        return false;
    }
    const auto m = p.extra->monitors.find(ref);
    if (m == p.extra->monitors.end()) {
        return false;
    }
    const Term target = m->second.target;
    p.extra->monitors.erase(m);
    MINIVM_EVENT(demonitor, records::subject(p.id), records::subject_or_none(target));
    if (is_value(target)) {
        ControlSignal* s = new_signal(SignalKind::demonitor, p.id);
        s->ref = ref;
        send_signal(target, s);
    }
    return true;
}

}  // namespace minivm
