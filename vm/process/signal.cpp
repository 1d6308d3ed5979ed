#include "vm/process/signal.hpp"

#include <algorithm>
#include <cstdlib>
#include <map>
#include <new>
#include <vector>

#include "recorder/coarse_words.hpp"
#include "recorder/recorder.hpp"
#include "vm/code/code_index.hpp"
#include "vm/instr/bif_def.hpp"
#include "vm/process/dirty_hold.hpp"
#include "vm/process/engine_hooks.hpp"
#include "vm/process/outcome.hpp"
#include "vm/process/ports.hpp"
#include "vm/process/process_life.hpp"
#include "vm/process/process_record.hpp"
#include "vm/process/process_table.hpp"
#include "vm/process/registry.hpp"
#include "vm/process/scheduling.hpp"
#include "vm/process/seq_trace.hpp"
#include "vm/process/state.hpp"
#include "vm/process/system_monitor.hpp"
#include "vm/process/tracing.hpp"
#include "vm/progress/thread_progress.hpp"

namespace minivm {

namespace {

// What Mailbox::outer holds once its process has ended.
Signal g_closed;
Signal* closed_mark() { return &g_closed; }

// Where the process of an alias lies: 20 bits of place in the table, 11 of the scheduler's number.
constexpr uint32_t kAliasFlag = uint32_t{1} << 31;
constexpr uint32_t kAliasPlaceShift = 11;

constexpr uint32_t kLongQueue = 4096;  // recorded, and at each doubling

void trace_procs(Process& p, Term tag, Term what) {
    if (tracing::is_traced(p, tracing::kProcs)) {
        tracing::g_hooks->procs(p, tag, what);
    }
}

// Behind the priority messages that are there. A receive that is past these goes back to it: what it has
// seen on the way does not match the second time either.
void insert_priority_message(Process& p, Signal* s) {
    Mailbox& box = p.mailbox;
    // Code that no compiler has written may come here while it examines a message: that one stays under
    // examination, for a collection looks at it (attach_examined_message()).
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
    const uint32_t length = p.mailbox.length;
    if (MINIVM_UNLIKELY(length >= kLongQueue) && (length & (length - 1)) == 0) {
        MINIVM_EVENT(queue_long, records::subject(p.id), length);
    }
    if (system_monitor::wants(system_monitor::kLongMessageQueue)) {
        system_monitor::queue_changed(p);
    }
    if (tracing::is_traced(p, tracing::kReceive)) {
        tracing::g_hooks->received(p, is_value(s->from) ? s->from : atoms::undefined, s->term);
    }
}

void record_send(const Process& to, Signal& s) {
    if (!recorder::enabled(recorder::Category::message)) {
        return;
    }
    const uint64_t words = s.fragments != nullptr ? s.fragments->used_words : 0;
    const uint32_t pid = records::subject(to.id);
    const Scheduler* scheduler = this_scheduler();
    const Process* from = scheduler != nullptr ? scheduler->process : nullptr;
    if (from != nullptr) {
        s.from = from->id;  // for the record of the receive
    }
    s.flow = recorder::new_flow();
    const uint64_t flow = records::flow(s);
    if (!records::terms_are_on()) {
        MINIVM_EVENT(send, pid, flow, words);
        return;
    }
    const bool hidden =
        records::is_sensitive(to) || (from != nullptr && records::is_sensitive(*from));
    // Written in place: this is the most frequent record with a term.
    constexpr unsigned kFixed = 4;
    constexpr unsigned kMessage = 16;
    uint64_t record[kFixed + kMessage];
    recorder::ValueWriter message(record + kFixed, kMessage);
    if (hidden) {
        records::hide_term(message);
    } else {
        records::copy_term_words(message, s.term, 0);
    }
    record[0] = pid;
    record[1] = flow;
    record[2] = words;
    record[3] = recorder::pack_text(kFixed * 8, message.count() * 8);
    MINIVM_EVENT_PLACE(here, send_message);
    constexpr uint64_t kEvent = recorder::detail::event_word(here);
    if (MINIVM_LIKELY(scheduler != nullptr && scheduler->number != 0)) {
        // The time is that of the slice, nearly: the clock is most of what a record costs.
        recorder::detail::write_coarse_words(kEvent, 0, record, kFixed + message.count());
    } else {
        // Other threads have no slices: their last record may be of long ago.
        recorder::detail::write_words(kEvent, 0, record, kFixed + message.count());
    }
}

// One that may become a message, so that its receive has something to come from.
void record_signal(Term to, records::Word kind, Signal& s) {
    if (recorder::enabled(recorder::Category::message)) {
        s.flow = recorder::new_flow();
        MINIVM_EVENT(signal_to, records::subject(to), static_cast<uint64_t>(kind),
                     records::flow(s));
    }
}

}  // namespace

// ---- signals as objects -------------------------------------------------------------------------------

ControlSignal* new_signal(SignalKind kind, Term from) {
    void* memory = std::malloc(sizeof(ControlSignal));
    MINIVM_CHECK(memory != nullptr);
    auto* s = new (memory) ControlSignal;
    s->kind = kind;
    s->from = from;
    return s;
}

void take_fragments(Signal& s, Heap& h) {
    attach_fragments(h, s.fragments, s.off_heap, s.off_heap_bytes);
    s.fragments = h.fragments;
    s.off_heap = h.off_heap;
    s.off_heap_bytes = h.off_heap_bytes;
    h.fragments = nullptr;
    h.off_heap = nullptr;
}

static void set_term(Signal& s, Term t) {
    if (!is_pointer(t)) {
        s.term = t;
        return;
    }
    Heap h;
    s.term = copy_term(t, h, true);
    if (s.term != t) {  // not a literal
        take_fragments(s, h);
    }
}

void replace_message_term(Signal& s) {
    Heap old;
    attach_fragments(old, s.fragments, s.off_heap, s.off_heap_bytes);
    s.fragments = nullptr;
    s.off_heap = nullptr;
    s.off_heap_bytes = 0;
    set_term(s, s.term);
    old.clear();
}

Signal* new_message(Term message) {
    void* memory = std::malloc(sizeof(Signal));
    MINIVM_CHECK(memory != nullptr);
    auto* s = new (memory) Signal;
    set_term(*s, message);
    return s;
}

void free_signal(Signal* s) {
    if (s->fragments != nullptr || s->off_heap != nullptr) {
        Heap h;
        h.fragments = s->fragments;
        h.off_heap = s->off_heap;
        h.clear();
    }
    if (MINIVM_UNLIKELY(s->has_token)) {
        seq_trace::release(static_cast<ControlSignal*>(s)->token);
    }
    std::free(s);
}

// ---- sending --------------------------------------------------------------------------------------------

bool push_signal(Process& to, Signal* s) {
    // relaxed: the compare-exchange decides.
    Signal* newest = to.mailbox.outer.load(std::memory_order_relaxed);
    do {
        if (newest == closed_mark()) {
            return false;
        }
        s->next = newest;
        // seq_cst: publishes the signal (release, pairs with handle_signals()), and comes before our
        // look at the state (state.hpp).
    } while (!to.mailbox.outer.compare_exchange_weak(newest, s, std::memory_order_seq_cst,
                                                     std::memory_order_relaxed));
    // Who finds the queue empty wakes. Others need not: whoever was first will, and the receiver has not
    // taken the queue since.
    if (newest == nullptr) {
        wake_process(to, 0);
    }
    return true;
}

// p may be in a dirty function for as long as that takes: whom it is to end is not to wait for it. A process
// looks, as the sender may be in the midst of anything.
static void end_if_dirty(const Process& p) {
    // seq_cst: behind the push; see go_dirty() in scheduler.cpp.
    if ((p.state.load(std::memory_order_seq_cst) & process_state::kDirty) == 0) {
        return;
    }
    static const Export* const end_dirty = bif_export("minivm", "end_dirty", 1);
    Heap h;
    SpawnOptions options;
    options.priority = Priority::max;
    spawn(nullptr, end_dirty, cons(h, p.id, kNil), options);
    h.clear();
}

bool push_message(Process& to, Signal* s) {
    record_send(to, *s);
    return push_signal(to, s);
}

// Who waits for an answer does not wait for the receiver's turn, which may never come.
static void raise_receiver(Process& to) {
    const Scheduler* scheduler = this_scheduler();
    if (scheduler == nullptr || scheduler->process == nullptr) {
        return;
    }
    const Priority own = scheduler->process->priority;
    // relaxed: a priority that changes meanwhile may be either.
    if (own < std::atomic_ref<Priority>(to.priority).load(std::memory_order_relaxed)) {
        raise_process(to, own);
    }
}

void send_signal(Term to_pid, Signal* s) {
    if (is_local_port(to_pid)) {
        port::signal(to_pid, s);
        return;
    }
    thread_progress::DelaySection section;
    Process* to = process_table::lookup(to_pid);
    const bool request = s->kind == SignalKind::rpc;
    const bool is_exit = s->kind == SignalKind::exit;
    if (to == nullptr || !push_signal(*to, s)) {
        refuse_signal(to_pid, s);
    } else if (is_exit) {
        end_if_dirty(*to);
    } else if (request) {
        raise_receiver(*to);
    }
}

static Signal* message_with_token(Term message, seq_trace::Token* token) {
    if (token == nullptr) {
        return new_message(message);
    }
    ControlSignal* s = new_signal(SignalKind::message, kNonValue);
    set_term(*s, message);
    seq_trace::attach(*s, token);
    return s;
}

static void send_message_to(Term pid, Term message, bool from_process, seq_trace::Token* token) {
    thread_progress::DelaySection section;
    Process* to = process_table::lookup(pid);
    if (to == nullptr) {
        if (token != nullptr) {
            seq_trace::release(token);
        }
        return;
    }
    Signal* s = message_with_token(message, token);
    s->from_process = from_process;
    record_send(*to, *s);
    if (MINIVM_UNLIKELY(tracing::state_of(*to) != nullptr)) {
        const Scheduler* scheduler = this_scheduler();
        if (scheduler != nullptr && scheduler->process != nullptr) {
            s->from = scheduler->process->id;
        }
    }
    if (!push_signal(*to, s)) {
        free_signal(s);
    }
}

void send_message_to_pid(Term pid, Term message) {
    send_message_to(pid, message, false, nullptr);
}
void send_message_to_pid(Term pid, Term message, seq_trace::Token* token) {
    send_message_to(pid, message, false, token);
}

// sender: its token goes with the message.
static void send_to_alias(Process* sender, Term ref, Term message, bool priority = false) {
    const RefId id = ref_id(ref);
    if (!is_alias_id(id)) {
        return;
    }
    thread_progress::DelaySection section;
    Process* to = process_table::at_place((id.high & ~kAliasFlag) >> kAliasPlaceShift);
    if (to == nullptr) {
        return;
    }
    ControlSignal* s =
        new_signal(SignalKind::alias_message, sender != nullptr ? sender->id : kNonValue);
    s->ref = id;
    s->priority = priority;
    set_term(*s, message);
    if (sender != nullptr) {
        s->from_process = true;
        if (MINIVM_UNLIKELY(sender->seq_traced)) {
            seq_trace::attach(*s, seq_trace::sending(*sender, ref, message));
        }
    }
    record_send(*to, *s);
    if (!push_signal(*to, s)) {
        free_signal(s);
    }
}

// After the receiver has been looked for, before it can have got the message. Also of what is no
// receiver, as in OTP.
void trace_send(Process& p, Term to, Term message) {
    if (tracing::is_traced(p, tracing::kSend)) {
        thread_progress::DelaySection section;
        const bool exists = !is_local_pid(to) || process_table::lookup(to) != nullptr;
        tracing::g_hooks->sent(p, to, message, exists);
    }
}

void send_priority_message(Process& p, Term alias, Term message) {
    trace_send(p, alias, message);
    send_to_alias(&p, alias, message, true);
}

Term send_message(Process& p, Term to, Term message) {
    bool traced = false;
    if (is_atom(to)) {
        const Term found = registry::whereis(to);
        if (!is_value(found) || is_local_pid(found)) {
            trace_send(p, to, message);
            traced = true;
        }
        if (!is_value(found)) {
            return badarg(p);
        }
        to = found;
    } else if (is_tuple_of(to, 2)) {
        const Term name = tuple_element(to, 0);
        const Term node = tuple_element(to, 1);
        if (!is_atom(name) || !is_atom(node)) {
            return badarg(p);
        }
        if (node != atoms::nonode_at_nohost) {
            return message;  // not alive: there are no other nodes
        }
        trace_send(p, to, message);
        traced = true;
        to = registry::whereis(name);
        if (!is_value(to)) {
            return message;
        }
    } else if (is_boxed(to)) {
        if (is_local_ref(to)) {
            trace_send(p, to, message);
            send_to_alias(&p, to, message);
        } else if (!is_kind(to, Kind::ext_pid) && !is_kind(to, Kind::ext_ref) &&
                   !is_kind(to, Kind::ext_port)) {
            if (!is_tuple(to)) {
                trace_send(p, to, message);
            }
            return badarg(p);
        }
        return message;
    }
    if (is_local_pid(to)) {
        // A process may change its own queue without asking; what others have sent is not before or
        // after.
        if (!traced) {
            trace_send(p, to, message);
        }
        seq_trace::Token* token = nullptr;
        if (MINIVM_UNLIKELY(p.seq_traced) && process_table::lookup(to) != nullptr) {
            token = seq_trace::sending(p, to, message);
        }
        send_message_to(to, message, true, token);
        return message;
    }
    if (is_local_port(to)) {
        if (port::exists(to)) {
            trace_send(p, to, message);
        }
        port::waited(p);
        if (port::message(&p, to, message) == port::Sent::busy) {
            static const Export* again = bif_export("erlang", "send", 2);
            return port::wait(p, to, again, {to, message});
        }
        return message;
    }
    trace_send(p, to, message);
    return badarg(p);
}

void deliver_message(Term to, Term message) {
    if (is_atom(to)) {
        to = registry::whereis(to);
    } else if (is_tuple_of(to, 2)) {
        to = tuple_element(to, 1) == atoms::nonode_at_nohost
                 ? registry::whereis(tuple_element(to, 0))
                 : kNonValue;
    } else if (is_boxed(to)) {
        if (is_local_ref(to)) {
            send_to_alias(nullptr, to, message);
        }
        return;
    }
    if (is_local_pid(to)) {
        send_message_to_pid(to, message);
    } else if (is_local_port(to)) {
        port::message(nullptr, to, message);
    }
}

void reply(Term pid, RefId ref, Term result) {
    Heap h;
    Term* words = h.alloc(kRefWords);
    const Term t = make_tuple(h, put_ref(words, ref), result);
    send_message_to_pid(pid, t);
    h.clear();
}

void reply(const ControlSignal& request, Term result) {
    if (request.ref != RefId{}) {
        reply(request.from, request.ref, result);
    }
}

void send_exit(Term from, Term pid, Term reason, bool linked, seq_trace::Token* token) {
    // From copying to sending there is no thread progress: see literal_release.hpp.
    thread_progress::DelaySection section;
    ControlSignal* s = new_signal(SignalKind::exit, from);
    s->linked = linked;
    Heap h;
    // The message that a process which traps exits gets; others look at the reason only.
    s->term = make_tuple(h, atoms::EXIT, from, copy_term(reason, h, true));
    take_fragments(*s, h);
    s->from_process = true;
    seq_trace::attach(*s, token);
    record_signal(pid, records::Word::exit_signal, *s);
    send_signal(pid, s);
}

void send_exit_by_hand(Process& sender, Term to, Term reason, ExitOptions options) {
    thread_progress::DelaySection section;  // as in send_exit()
    Term pid = to;
    RefId alias{};
    if (is_local_ref(to)) {
        alias = ref_id(to);
        const Process* q = is_alias_id(alias)
                               ? process_table::at_place((alias.high & ~kAliasFlag) >> kAliasPlaceShift)
                               : nullptr;
        if (q == nullptr) {
            return;
        }
        pid = q->id;
    }
    ControlSignal* s = new_signal(SignalKind::exit, sender.id);
    s->ref = alias;
    s->priority = options.priority;
    s->no_quirk = options.no_quirk;
    Heap h;
    s->term = make_tuple(h, atoms::EXIT, sender.id, copy_term(reason, h, true));
    take_fragments(*s, h);
    s->from_process = true;
    record_signal(pid, records::Word::exit_signal, *s);
    send_signal(pid, s);
}

void send_down(Term from, Term watcher, RefId ref, Term name, Term reason, bool type_port) {
    thread_progress::DelaySection section;  // as in send_exit()
    ControlSignal* s = new_signal(SignalKind::monitor_down, from);
    s->ref = ref;
    Heap h;
    const Term copy = copy_term(reason, h, true);
    const Term object = is_value(name) ? make_tuple(h, name, atoms::nonode_at_nohost) : from;
    const Term type = is_local_port(from) || type_port ? atoms::port : atoms::process;
    s->term = make_tuple(h, atoms::DOWN, put_ref(h.alloc(kRefWords), ref), type, object, copy);
    take_fragments(*s, h);
    record_signal(watcher, records::Word::down_signal, *s);
    send_signal(watcher, s);
}

void refuse_signal(Term to_pid, Signal* s) {
    auto* c = static_cast<ControlSignal*>(s);
    switch (s->kind) {
        case SignalKind::link:
            send_exit(to_pid, s->from, atoms::noproc, true);
            break;
        case SignalKind::unlink: {
            ControlSignal* ack = new_signal(SignalKind::unlink_ack, to_pid);
            ack->number = c->number;
            send_signal(s->from, ack);
            break;
        }
        case SignalKind::monitor:
            send_down(to_pid, s->from, c->ref, c->name, atoms::noproc);
            break;
        case SignalKind::rpc:
            if (c->gone != nullptr) {
                c->gone(*c);
            }
            break;
        default:
            break;
    }
    free_signal(s);
}

// ---- handling ---------------------------------------------------------------------------------------------

namespace {

// Whether it is active; one for a reply has had it then. *priority: whether it takes priority messages.
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
            trace_procs(p, atoms::getting_unlinked, s->from);
        }
        s->kind = SignalKind::message;
        append_message(p, s, priority);
        return true;
    }
    if (reason == atoms::normal && !untrappable &&
        (s->linked || s->from != p.id || s->no_quirk)) {
        if (s->linked) {
            trace_procs(p, atoms::getting_unlinked, s->from);
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
            // Sent before the other side has heard of an unlink that is under way: that one counts, as there.
            if (extra_of(p).links.try_emplace(s->from.raw).second) {
                trace_procs(p, atoms::getting_linked, s->from);
            }
            break;
        case SignalKind::unlink: {
            if (p.extra != nullptr) {
                // One that is being unlinked from here as well waits for its own acknowledgement.
                const auto link = p.extra->links.find(s->from.raw);
                if (link != p.extra->links.end() && link->second.unlinking == 0) {
                    p.extra->links.erase(link);
                    trace_procs(p, atoms::getting_unlinked, s->from);
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
                p.reductions = 0;  // the engine is to come back soon
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

// What has arrived and is not handled, the oldest first. By the owner, or who holds the process.
std::vector<Signal*> in_order(Signal* newest) {
    std::vector<Signal*> signals;
    for (Signal* s = newest; s != nullptr; s = s->next) {
        signals.push_back(s);
    }
    std::reverse(signals.begin(), signals.end());
    return signals;
}

// Changes links and monitors, and nothing else.
bool is_relation(SignalKind kind) {
    return kind == SignalKind::link || kind == SignalKind::unlink || kind == SignalKind::unlink_ack ||
           kind == SignalKind::monitor || kind == SignalKind::demonitor;
}

// Whether a signal ends p; linked: whether its sender is linked to p then.
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
    std::map<uint64_t, bool> changed;  // links, by what comes before the signal
    const auto is_linked = [&](Term from) {
        const auto now = changed.find(from.raw);
        if (now != changed.end()) {
            return now->second;
        }
        const auto* links = p.extra != nullptr ? &p.extra->links : nullptr;
        return links != nullptr && links->contains(from.raw) && links->at(from.raw).unlinking == 0;
    };
    // acquire: pairs with push_signal(). Only the owner takes signals out, or who holds the process.
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
                if (is_fatal(p, exit, exit.linked && is_linked(s->from))) {
                    return true;
                }
                if (exit.linked) {
                    changed[s->from.raw] = false;
                }
                break;
            }
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
    // Behind what has been pushed meanwhile. Nobody else takes signals out or goes along them while p is held.
    Signal* first = nullptr;
    // seq_cst: as in push_signal(): who finds the queue empty from here on wakes.
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
    // An exit signal that is trapped would be a message; nobody will read those.
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
    Signal* oldest = nullptr;
    while (newest != nullptr) {
        Signal* next = newest->next;
        newest->next = oldest;
        oldest = newest;
        newest = next;
    }
    int64_t handled = 0;
    while (oldest != nullptr) {
        Signal* s = oldest;
        oldest = s->next;
        ++handled;
        if (!handle_signal(p, s)) {
            p.unhandled = oldest;
            p.reductions = 0;  // the engine is to come back soon
            break;
        }
    }
    consume(p, handled / 8);
    // Who learns of new code by a signal sees it.
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
    // seq_cst: nobody pushes from here on; takes what was pushed (acquire).
    Signal* newest = p.mailbox.outer.exchange(closed_mark(), std::memory_order_seq_cst);
    Signal* oldest = nullptr;
    while (newest != nullptr) {
        Signal* next = newest->next;
        newest->next = oldest;
        oldest = newest;
        newest = next;
    }
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
    // A fresh entry and one that is being unlinked look alike to the other side: a link signal is due.
    // An active one needs none, but one more does no harm, and tells noproc if it has gone.
    link.unlinking = 0;
    link.priority = priority;
    MINIVM_EVENT(link, records::subject(p.id), records::subject(pid));
    trace_procs(p, atoms::link, pid);
    send_signal(pid, new_signal(SignalKind::link, p.id));
}

void unlink_process(Process& p, Term pid) {
    static std::atomic<uint64_t> next_number{1};
    trace_procs(p, atoms::unlink, pid);
    if (p.extra == nullptr) {
        return;
    }
    const auto link = p.extra->links.find(pid.raw);
    if (link == p.extra->links.end() || link->second.unlinking != 0) {
        return;
    }
    MINIVM_EVENT(unlink, records::subject(p.id), records::subject(pid));
    ControlSignal* s = new_signal(SignalKind::unlink, p.id);
    // relaxed: only uniqueness is asked of it.
    s->number = next_number.fetch_add(1, std::memory_order_relaxed);
    link->second.unlinking = s->number;
    send_signal(pid, s);
}

void monitor_process(Process& p, RefId ref, Term pid, Term name, Term tag, bool port,
                     bool priority) {
    if (pid == p.id) {
        return;  // oneself is never monitored
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
        send_down(p.id, p.id, ref, name, atoms::noproc, port);  // nobody has the name: we answer ourselves
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

// ---- suspending -----------------------------------------------------------------------------------

static void resume_here(Process& p, ControlSignal& request) {
    p.suspended -= static_cast<uint32_t>(request.number);
    if (p.suspended == 0) {
        // relaxed: for information only.
        p.state.fetch_and(~process_state::kSuspended, std::memory_order_relaxed);
    }
    MINIVM_EVENT_COARSE(sched_resume, records::subject(p.id),
                        records::subject_or_none(request.from));
}

void send_resume(Term from, Term pid, uint64_t times) {
    ControlSignal* s = new_signal(SignalKind::rpc, from);
    s->number = times;
    s->run = resume_here;
    send_signal(pid, s);
}

bool remove_alias(Process& p, RefId ref) {
    return p.extra != nullptr && p.extra->aliases.erase(ref) != 0;
}

RefId new_alias_id(Process& p) {
    RefId id = new_ref_id(p);
    id.high |= kAliasFlag |
               static_cast<uint32_t>(imm_data(p.id) & (process_table::kMaxProcesses - 1))
                   << kAliasPlaceShift;
    return id;
}

}  // namespace minivm
