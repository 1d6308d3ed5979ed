#include "vm/process/probe.hpp"

#include "recorder/clock.hpp"
#include "recorder/coarse_words.hpp"
#include "vm/code/code_index.hpp"
#include "vm/code/export.hpp"
#include "vm/code/module_table.hpp"
#include "vm/process/gc.hpp"
#include "vm/process/nodes.hpp"
#include "vm/process/process_life.hpp"
#include "vm/process/process_table.hpp"
#include "vm/process/scheduling.hpp"
#include "vm/process/signal.hpp"
#include "vm/process/system_monitor.hpp"
#include "vm/process/tracing.hpp"
#include "vm/progress/thread_progress.hpp"

namespace minivm::probe {

using tracing::g_hooks;
using tracing::is_traced;

// ---- what is sent -----------------------------------------------------------------------------------------------

seq_trace::Token* sends_watched(Process& p, Term to, Term receiver, Term message) {
    if (is_traced(p, tracing::kSend)) {
        thread_progress::DelaySection section;
        const bool exists = !is_local_pid(to) || process_table::lookup(to) != nullptr;
        g_hooks->sent(p, to, message, exists);
    }
    if (!is_value(receiver) || !seq_trace::has_token(p)) {
        return nullptr;
    }
    thread_progress::DelaySection section;
    const Process* q = is_local_pid(receiver) ? process_table::lookup(receiver) : process_of_alias(ref_id(receiver));
    return q != nullptr ? seq_trace::sending(p, receiver, message) : nullptr;
}

void sent(const Process& to, Signal& s) {
    const bool recorded = recorder::enabled(recorder::Category::message);
    if (!recorded && !watchers::any(to, watchers::kTraced)) {
        return;
    }
    const Scheduler* scheduler = this_scheduler();
    const Process* from = scheduler != nullptr ? scheduler->process : nullptr;
    if (from != nullptr) {
        s.from = from->id;  // for the events of the receive
    }
    if (!recorded) {
        return;
    }
    s.flow = recorder::new_flow();
    const uint64_t words = s.fragments != nullptr ? s.fragments->used_words : 0;
    const uint32_t pid = records::subject(to.id);
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
        // With the time of the slice's last record: reading the clock is most of a record's cost.
        recorder::detail::write_coarse_words(kEvent, 0, record, kFixed + message.count());
    } else {
        // Other threads have no slices: their last record may be old.
        recorder::detail::write_words(kEvent, 0, record, kFixed + message.count());
    }
}

void signalled(Term to, records::Word kind, Signal& s) {
    if (recorder::enabled(recorder::Category::message)) {
        s.flow = recorder::new_flow();
        MINIVM_EVENT(signal_to, records::subject(to), static_cast<uint64_t>(kind),
                     records::flow(s));
    }
}

// ---- what is received -------------------------------------------------------------------------------------------

constexpr uint32_t kLongQueue = 4096;  // messages; recorded there and at each doubling

void arrived(Process& p, const Signal& s) {
    const uint32_t length = p.mailbox.length;
    if (MINIVM_UNLIKELY(length >= kLongQueue) && (length & (length - 1)) == 0) {
        MINIVM_EVENT(queue_long, records::subject(p.id), length);
    }
    if (!watchers::any(p, watchers::kTraced | system_monitor::kLongMessageQueue << watchers::kMonitorShift)) {
        return;
    }
    if (system_monitor::wants(system_monitor::kLongMessageQueue)) {
        system_monitor::queue_changed(p);
    }
    if (is_traced(p, tracing::kReceive)) {
        g_hooks->received(p, is_value(s.from) ? s.from : atoms::undefined, s.term);
    }
}

void took(Process& p, const Signal& s) {
    MINIVM_EVENT_COARSE(receive, records::subject_or_none(s.from), records::flow(s), p.mailbox.length);
    if (MINIVM_LIKELY(!s.has_token) && !watchers::any(p, watchers::kTraced | watchers::kToken)) {
        return;
    }
    if (s.has_token || seq_trace::has_token(p)) {
        seq_trace::received(p, s);
    }
    if (is_traced(p, tracing::kReceive)) {
        g_hooks->took_message(p);
    }
}

void timed_out(Process& p) {
    if (watchers::any(p, watchers::kTraced) && is_traced(p, tracing::kReceive)) {
        g_hooks->received(p, kNonValue, atoms::timeout);
    }
}

// ---- its life ---------------------------------------------------------------------------------------------------

// The first function of a process: for a fun the fun's function, not the apply/2 that calls it.
static uint64_t begins_with(const Export& entry, Term args) {
    const Term first = is_cons(args) ? head(args) : kNonValue;
    if (entry.module != atoms::erlang || entry.arity != 2 || !is_value(first) || !is_local_fun(first)) {
        return records::function(entry);
    }
    const FunEntry* fun = fun_entry(first);
    const Term function = fun->function();
    return records::function(fun->module, is_value(function) ? function : atoms::fun, fun->arity);
}

void spawned(Process* parent, Process& p, const Export& entry, Term args, const SpawnOptions& options) {
    if (recorder::enabled(recorder::Category::process)) {
        MINIVM_EVENT(spawn, records::subject(p.id),
                     parent != nullptr ? uint64_t{records::subject(parent->id)} : uint64_t{0},
                     begins_with(entry, args));
    }
    if (parent == nullptr || !watchers::any(*parent, watchers::kTraced | watchers::kToken | watchers::kNewTraced)) {
        return;
    }
    if (seq_trace::has_token(*parent)) {
        seq_trace::spawning(*parent, p, entry, args, options);
    }
    if (watchers::any(*parent, watchers::kTraced | watchers::kNewTraced)) {
        g_hooks->spawning(*parent, p, &entry, args, options);
    }
}

// Reasons that supervisors do not count as failures.
static bool is_planned_end(Term reason) {
    static const Term shutdown = atom_table::intern("shutdown");
    return reason == atoms::normal || reason == shutdown ||
           (is_tuple_of(reason, 2) && tuple_element(reason, 0) == shutdown);
}

static void record_exit(const Process& p, Term reason) {
    if (!recorder::enabled(recorder::Category::process)) {
        return;
    }
    static const Term signal = atom_table::intern("signal");  // an exit signal ends it
    const Term cls = p.exit_signal != nullptr                        ? signal
                     : p.exception.cls == ExceptionClass::error      ? atoms::error
                     : p.exception.cls == ExceptionClass::throw_     ? atoms::throw_
                                                                     : atoms::exit;
    const records::TermCopy<20> copy(reason, records::is_sensitive(p));
    // An uncaught exception is among the rare records already.
    if (cls == atoms::error || cls == atoms::throw_ || is_planned_end(reason)) {
        MINIVM_EVENT(exit_reason, records::subject(p.id), records::atom(cls), copy.get());
    } else {
        MINIVM_EVENT(exit_failed, records::subject(p.id), records::atom(cls), copy.get());
    }
}

void exited(Process& p, Term reason) {
    record_exit(p, reason);
    if (watchers::any(p, watchers::kTraced)) {
        g_hooks->exited(p, reason);
    }
}
void ended(Process& p) {
    if (watchers::any(p, watchers::kTraced) && is_traced(p, tracing::kExiting)) {
        g_hooks->ended(p);
    }
}
void gone(Process& p) {
    // Not by the bit: another thread may just have given p a State and not yet have set the bit.
    if (MINIVM_UNLIKELY(tracing::state_of(p) != nullptr || p.trace_local != nullptr)) {
        g_hooks->forget(p);
    }
}
void procs_watched(Process& p, Term tag, Term what) {
    if (is_traced(p, tracing::kProcs)) {
        Heap h;
        const Term told = dist::term_of(h, what);
        g_hooks->procs(p, tag, is_value(told) ? told : atoms::undefined);
    }
}

// ---- its time and memory ----------------------------------------------------------------------------------------

static uint64_t ns_of(uint64_t ticks) {
    return static_cast<uint64_t>(static_cast<double>(ticks) * (1e9 / recorder::ticks_per_second()));
}

constexpr uint32_t kMemoryMonitored = system_monitor::kLongGc | system_monitor::kLargeHeap;
constexpr uint64_t kLongGcNs = 20'000'000;

// A function of its own, because the record contains the name of the C++ function that makes it.
static void record_collection(const Process& p, bool major, size_t need_words) {
    const uint32_t pid = records::subject(p.id);
    if (major) {
        MINIVM_EVENT(gc_major_start, pid, p.block_words(), need_words);
    } else {
        MINIVM_EVENT(gc_minor_start, pid, p.block_words(), need_words);
    }
}

Collection::Collection(Process& p, bool major, size_t need_words)
    : p_(p), major_(major),
      traced_(watchers::any(p, watchers::kTraced | watchers::kClocked)),
      monitored_(system_monitor::wants(kMemoryMonitored)) {
    if (recorder::enabled(recorder::Category::gc)) {
        // Ticks, because asking the operating system for the time costs as much as a small collection.
        began_ticks_ = recorder::read_ticks();
    }
    if (monitored_) {
        began_ns_ = system_monitor::now_ns();
    }
    if (traced_) {
        g_hooks->collecting(p, major, true);
    }
    record_collection(p, major, need_words);
}

void Collection::ended(const GcResult& result) const {
    if (traced_) {
        g_hooks->collecting(p_, major_, false);
    }
    if (monitored_) {
        system_monitor::collected(p_, began_ns_);
    }
    const uint64_t time_ns = began_ticks_ != 0 ? ns_of(recorder::read_ticks() - began_ticks_) : 0;
    const uint32_t pid = records::subject(p_.id);
    const size_t freed = result.before_words - result.after_words;
    if (major_) {
        MINIVM_EVENT(gc_major_end, pid, result.after_words, freed, p_.block_words(), time_ns);
    } else {
        MINIVM_EVENT(gc_minor_end, pid, result.after_words, freed, p_.block_words(), time_ns);
    }
    if (time_ns > kLongGcNs) {
        MINIVM_EVENT(gc_long, pid, time_ns);
    }
}

void scheduled_in(Process& p) {
    if (watchers::any(p, watchers::kTraced | watchers::kClocked)) {
        g_hooks->scheduled(p, true);
    }
}

static void record_slice(uint32_t subject, int64_t reductions, bool at_once) {
    if (at_once) {
        MINIVM_EVENT_COARSE(sched_in, subject, reductions);
    } else {
        MINIVM_EVENT(sched_in, subject, reductions);
    }
}

Slice::Slice(Process& p, int64_t reductions, bool at_once)
    : p_(p), in_(p.pc), subject_(records::subject(p.id)),
      monitored_(system_monitor::wants(system_monitor::kLongSchedule)) {
    recorder::set_subject(subject_);
    record_slice(subject_, reductions, at_once);
    began_ticks_ = recorder::last_stamp();
    scheduled_in(p);
    if (monitored_) {
        began_ns_ = system_monitor::now_ns();
    }
}

// With the function in which the process gave up the thread, which probably took the time.
MINIVM_NOINLINE static void record_long_slice(const Process& p, uint64_t ticks) {
    FunctionInfo where{};
    uint64_t function = 0;
    if (p.pc != nullptr && module_table::lookup(p.pc, code_index::active(), false, &where)) {
        function = records::function(where.module, where.function, where.arity);
    }
    MINIVM_EVENT(long_schedule, records::subject(p.id), ns_of(ticks), function);
}

void Slice::ended(int64_t used, records::Word how, bool process_ended, uint64_t long_ticks) const {
    if (MINIVM_UNLIKELY(monitored_)) {
        system_monitor::scheduled_out(p_, began_ns_, in_);
    }
    // If the process has ended, ended() reports its last event, but its clocks stop here.
    if (watchers::any(p_, process_ended ? watchers::kClocked : watchers::kTraced | watchers::kClocked)) {
        g_hooks->scheduled(p_, false);
    }
    MINIVM_EVENT(sched_stop, subject_, used, static_cast<uint64_t>(how));
    const uint64_t ticks = recorder::last_stamp() - began_ticks_;
    if (MINIVM_UNLIKELY(ticks > long_ticks)) {
        record_long_slice(p_, ticks);
    }
}

}  // namespace minivm::probe
