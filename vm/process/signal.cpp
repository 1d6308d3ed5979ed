#include "vm/process/signal.hpp"

#include <algorithm>
#include <cstdlib>
#include <map>
#include <new>
#include <utility>
#include <vector>

#include "recorder/recorder.hpp"
#include "vm/instr/bif_def.hpp"
#include "vm/process/dirty_hold.hpp"
#include "vm/process/engine_calls.hpp"
#include "vm/process/outcome.hpp"
#include "vm/process/nodes.hpp"
#include "vm/process/ports.hpp"
#include "vm/process/probe.hpp"
#include "vm/process/process_life.hpp"
#include "vm/process/process_record.hpp"
#include "vm/process/process_table.hpp"
#include "vm/process/registry.hpp"
#include "vm/process/scheduling.hpp"
#include "vm/process/seq_trace.hpp"
#include "vm/process/state.hpp"
#include "vm/progress/thread_progress.hpp"
#include "vm/term/this_node.hpp"

namespace minivm {

Signal g_closed_mark;

namespace {

// RefId::high of an alias: the flag, 20 bits of the process's place in the table, 11 bits of scheduler number.
constexpr uint32_t kAliasFlag = uint32_t{1} << 31;
constexpr uint32_t kAliasPlaceShift = 11;

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
    s.fragments = std::exchange(h.fragments, nullptr);
    s.off_heap = std::exchange(h.off_heap, nullptr);
    s.off_heap_bytes = h.off_heap_bytes;
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
    attach_fragments(old, std::exchange(s.fragments, nullptr), std::exchange(s.off_heap, nullptr),
                     std::exchange(s.off_heap_bytes, 0));
    set_term(s, s.term);
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
        // seq_cst: releases the signal to handle_signals(), and comes before our look at the state
        // (state.hpp).
    } while (!to.mailbox.outer.compare_exchange_weak(newest, s, std::memory_order_seq_cst,
                                                     std::memory_order_relaxed));
    // The sender that finds the queue empty wakes the receiver. Later senders need not: the first one will,
    // and the receiver has not taken the queue since.
    if (newest == nullptr) {
        wake_process(to, 0);
    }
    return true;
}

// A new process looks, because the caller may hold locks or be half-way through something. One is enough for all signals
// that are pushed before it looks.
void end_if_dirty(Process& p) {
    using namespace process_state;
    // seq_cst: after the push; see go_dirty() in slice.cpp.
    if ((p.state.load(std::memory_order_seq_cst) & kDirty) == 0) {
        return;
    }
    // seq_cst: after the push. If we find the bit, the process that looks clears it after this step, and then looks: it
    // finds our signal. If it has cleared the bit before this step, we find no bit and spawn another one.
    if ((p.state.fetch_or(kEndIsChecked, std::memory_order_seq_cst) & kEndIsChecked) != 0) {
        return;
    }
    static const Export* const end_dirty = bif_export("minivm", "end_dirty", 1);
    Heap h;
    SpawnOptions options;
    options.priority = Priority::max;
    if (!is_value(spawn(nullptr, end_dirty, cons(h, p.id, kNil), options))) {
        // There are too many processes: a later signal tries again.
        p.state.fetch_and(~kEndIsChecked, std::memory_order_relaxed);  // relaxed: nobody looks
    }
}

bool push_message(Process& to, Signal* s) {
    probe::sent(to, *s);
    return push_signal(to, s);
}

// So that a sender of higher priority does not wait for the receiver's turn, which may never come.
static void raise_receiver(Process& to) {
    const Scheduler* scheduler = this_scheduler();
    if (scheduler == nullptr || scheduler->process == nullptr) {
        return;
    }
    const Priority own = scheduler->process->priority;
    // relaxed: if the priority changes meanwhile, the old or the new one will do.
    if (own < std::atomic_ref<Priority>(to.priority).load(std::memory_order_relaxed)) {
        raise_process(to, own);
    }
}

void send_signal(Term to_pid, Signal* s) {
    if (is_local_port(to_pid)) {
        dist::is_foreign(to_pid) ? dist::signal(to_pid, s) : port::signal(to_pid, s);
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
    if (!push_message(*to, s)) {
        free_signal(s);
    }
}

void send_message_to_pid(Term pid, Term message) {
    send_message_to(pid, message, false, nullptr);
}
void send_message_to_pid(Term pid, Term message, seq_trace::Token* token) {
    send_message_to(pid, message, false, token);
}

Process* process_of_alias(RefId id) {
    return is_alias_id(id) ? process_table::at_place((id.high & ~kAliasFlag) >> kAliasPlaceShift) : nullptr;
}

// sender: null if no process sends the message. The token goes with it.
static void send_to_alias(const Process* sender, Term ref, Term message, seq_trace::Token* token,
                          bool priority = false) {
    thread_progress::DelaySection section;
    Process* to = process_of_alias(ref_id(ref));
    if (to == nullptr) {
        if (token != nullptr) {
            seq_trace::release(token);
        }
        return;
    }
    ControlSignal* s =
        new_signal(SignalKind::alias_message, sender != nullptr ? sender->id : kNonValue);
    s->ref = ref_id(ref);
    s->priority = priority;
    s->from_process = sender != nullptr;
    set_term(*s, message);
    seq_trace::attach(*s, token);
    if (!push_message(*to, s)) {
        free_signal(s);
    }
}

void send_priority_message(Process* p, Term alias, Term message) {
    send_to_alias(p, alias, message, p != nullptr ? probe::sends(*p, alias, alias, message) : nullptr, true);
}

static Term send_to_other_node(Process& p, Term to, Term message) {
    if (dist::send(p, to, message, {}) == dist::Sent::waits) {
        static const Export* again = bif_export("erlang", "send", 2);
        return trap_wait(p, again, {to, message});
    }
    return message;
}

Term send_message(Process& p, Term to, Term message) {
    const Term named = to;
    if (is_atom(to)) {
        to = registry::whereis(to);
        if (!is_value(to)) {
            probe::sends(p, named, kNonValue, message);
            return badarg(p);
        }
    } else if (is_tuple_of(to, 2)) {
        const Term name = tuple_element(to, 0);
        const Term node = tuple_element(to, 1);
        if (!is_atom(name) || !is_atom(node)) {
            return badarg(p);
        }
        if (node != this_node_name()) {
            return send_to_other_node(p, to, message);
        }
        to = registry::whereis(name);
        if (!is_local_pid(to)) {
            probe::sends(p, named, kNonValue, message);
        }
        if (!is_value(to)) {
            return message;
        }
    } else if (is_boxed(to)) {
        if (is_local_ref(to)) {
            send_to_alias(&p, to, message, probe::sends(p, to, to, message));
        } else if (is_value(dist::node_of(to)) && !is_tuple(to)) {
            return send_to_other_node(p, to, message);
        } else {
            if (!is_tuple(to)) {
                probe::sends(p, to, kNonValue, message);
            }
            return badarg(p);
        }
        return message;
    }
    if (is_local_pid(to)) {
        // A message of a process to itself goes through the outer queue too, in order with the others.
        send_message_to(to, message, true, probe::sends(p, named, to, message));
        return message;
    }
    if (is_local_port(to)) {
        if (port::exists(to)) {
            probe::sends(p, to, kNonValue, message);
        }
        port::waited(p);
        if (port::message(&p, to, message) == port::Sent::busy) {
            static const Export* again = bif_export("erlang", "send", 2);
            return port::wait(p, to, again, {to, message});
        }
        return message;
    }
    probe::sends(p, to, kNonValue, message);
    return badarg(p);
}

void deliver_message(Term to, Term message) {
    if (is_atom(to)) {
        to = registry::whereis(to);
    } else if (is_tuple_of(to, 2)) {
        if (tuple_element(to, 1) != this_node_name()) {
            dist::send_anyway(to, message);
            return;
        }
        to = registry::whereis(tuple_element(to, 0));
    } else if (is_boxed(to)) {
        if (is_local_ref(to)) {
            send_to_alias(nullptr, to, message, nullptr);
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
}

void reply(const ControlSignal& request, Term result) {
    if (request.ref != RefId{}) {
        reply(request.from, request.ref, result);
    }
}

void send_exit(Term from, Term pid, Term reason, bool linked, seq_trace::Token* token) {
    // Between copying and sending there must be no thread progress: see literal_release.hpp.
    thread_progress::DelaySection section;
    ControlSignal* s = new_signal(SignalKind::exit, from);
    s->linked = linked;
    Heap h;
    // The message for a process that traps exits; others use only the reason.
    s->term = make_tuple(h, atoms::EXIT, from, copy_term(reason, h, true));
    take_fragments(*s, h);
    s->from_process = true;
    seq_trace::attach(*s, token);
    probe::signalled(pid, records::Word::exit_signal, *s);
    send_signal(pid, s);
}

void send_exit_by_hand(Process& sender, Term to, Term reason, ExitOptions options) {
    thread_progress::DelaySection section;  // as in send_exit()
    Term pid = to;
    RefId alias{};
    if (is_local_ref(to)) {
        alias = ref_id(to);
        const Process* q = process_of_alias(alias);
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
    probe::signalled(pid, records::Word::exit_signal, *s);
    send_signal(pid, s);
}

void send_down(Term from, Term watcher, RefId ref, Term name, Term reason, bool type_port) {
    thread_progress::DelaySection section;  // as in send_exit()
    ControlSignal* s = new_signal(SignalKind::monitor_down, from);
    s->ref = ref;
    Heap h;
    const Term copy = copy_term(reason, h, true);
    const Term object = is_value(name) ? make_tuple(h, name, this_node_name()) : from;
    const Term type = is_local_port(from) || type_port ? atoms::port : atoms::process;
    s->term = make_tuple(h, atoms::DOWN, put_ref(h.alloc(kRefWords), ref), type, object, copy);
    take_fragments(*s, h);
    probe::signalled(watcher, records::Word::down_signal, *s);
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

// ---- suspending -----------------------------------------------------------------------------------

static void resume_here(Process& p, ControlSignal& request) {
    p.suspended -= static_cast<uint32_t>(request.number);
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
               static_cast<uint32_t>(imm_data(p.id) & (process_table::limit() - 1))
                   << kAliasPlaceShift;
    return id;
}

}  // namespace minivm
