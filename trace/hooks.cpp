// What the VM calls when something happens that may be traced (vm/process/tracing.hpp).
#include "vm/bif/bif.hpp"
#include "vm/bif/local_atoms.hpp"
#include "vm/code/code_index.hpp"
#include "vm/heap/gc.hpp"
#include "vm/process/exception.hpp"
#include "vm/process/report.hpp"
#include "vm/process/signal.hpp"
#include "vm/sched/thread_progress.hpp"
#include "trace/action.hpp"
#include "trace/breakpoint.hpp"
#include "trace/pattern.hpp"
#include "trace/trace.hpp"
#include "trace/tracer.hpp"
#include "trace/tracer_recorder.hpp"

namespace minivm::trace {
namespace {

using namespace tracing;

LOCAL_ATOM(atom_clock_service, "clock_service")
LOCAL_ATOM(atom_exception_from, "exception_from")
LOCAL_ATOM(atom_exit, "exit")
LOCAL_ATOM(atom_gc_major_end, "gc_major_end")
LOCAL_ATOM(atom_gc_major_start, "gc_major_start")
LOCAL_ATOM(atom_gc_minor_end, "gc_minor_end")
LOCAL_ATOM(atom_gc_minor_start, "gc_minor_start")
LOCAL_ATOM(atom_in, "in")
LOCAL_ATOM(atom_out, "out")
LOCAL_ATOM(atom_receive, "receive")
LOCAL_ATOM(atom_return_from, "return_from")
LOCAL_ATOM(atom_return_to, "return_to")
LOCAL_ATOM(atom_send, "send")
LOCAL_ATOM(atom_send_to_non_existing_process, "send_to_non_existing_process")
LOCAL_ATOM(atom_spawn, "spawn")
LOCAL_ATOM(atom_spawned, "spawned")

// What is inherited: all but what says how it is inherited, unless it is passed on as well.
constexpr uint32_t kFirstOnly = kSetOnFirstSpawn | kSetOnFirstLink;

struct FrameView {
    const Term* words;  // behind the address
    Term module() const { return words[0]; }
    Term function() const { return words[1]; }
    Term arity() const { return make_small(arity_number()); }
    uint32_t arity_number() const { return static_cast<uint32_t>(small_value(words[2]) & 0xFF); }
    int64_t flags() const { return small_value(words[2]) >> 8; }
    Term tracer() const { return words[3]; }
    Term term(Heap& h) const { return make_tuple(h, module(), function(), arity()); }
};

// The State by which a frame's events go: the process's, or that of the meta tracer.
bool state_of_frame(const Process& p, const FrameView& f, State* s) {
    if (is_tracer(f.tracer())) {
        *s = {kTimestamp, f.tracer()};
        return true;
    }
    const State* own = state_of(p);
    if (own == nullptr) {
        return false;
    }
    *s = *own;
    return true;
}

// Whether what a frame waits for is to be told, and by which State.
bool tells(const Process& p, const FrameView& f, int64_t flag, State* s) {
    return (f.flags() & flag) != 0 && state_of_frame(p, f, s) && (s->flags & kSilent) == 0 &&
           (is_tracer(f.tracer()) || (s->flags & kCall) != 0);
}
void send_return(Process& p, const FrameView& f, Term value) {
    State s;
    if (!tells(p, f, kFrameReturn, &s)) {
        return;
    }
    if (is_recorder(s.tracer)) {
        to_recorder::return_from(f.module(), f.function(), f.arity_number(), value);
        return;
    }
    Heap h;
    send_event(p, s, atom_return_from(), {f.term(h), value});
    h.clear();
}
void send_exception(Process& p, const FrameView& f, Term cls, Term reason) {
    State s;
    if (!tells(p, f, kFrameReturn | kFrameException, &s)) {
        return;
    }
    if (is_recorder(s.tracer)) {
        if ((f.flags() & kFrameException) != 0) {
            to_recorder::exception_from(f.module(), f.function(), f.arity_number(), cls, reason);
        } else {
            to_recorder::unwound(f.module(), f.function(), f.arity_number());
        }
        return;
    }
    if ((f.flags() & kFrameException) == 0) {
        return;
    }
    Heap h;
    send_event(p, s, atom_exception_from(), {f.term(h), make_tuple(h, cls, reason)});
    h.clear();
}
void report_exception(Process& p, const FrameView& f, Term cls, Term reason, bool caught) {
    if (caught || cls != atoms::throw_) {
        send_exception(p, f, cls, reason);
        return;
    }
    Heap h;
    send_exception(p, f, atoms::error, make_tuple(h, atoms::nocatch, reason));
    h.clear();
}
void send_return_to(Process& p, const void* address, bool is_return_address) {
    const State* s = state_of(p);
    if (s == nullptr || (s->flags & kReturnTo) == 0 || (s->flags & kCall) == 0 ||
        (s->flags & kSilent) != 0) {
        return;
    }
    Heap h;
    const Term f = function_at(h, address, is_return_address);
    send_event(p, *s, atom_return_to(), {is_value(f) ? f : atoms::undefined});
    h.clear();
}

// False: there are too many.
bool push_frame(Process& p, const Breakpoint& b, Word address, int64_t flags, Term tracer) {
    bool once = false;
    if (!add_frame(p, &once)) {
        if (once) {
            const uint32_t frames = p.trace_local->frames;
            to_recorder::frames_full(p.id, b, frames);
            report_trace_frames(p, b.module, b.function, b.arity, frames);
        }
        return false;
    }
    Term* e = p.heap.end -= kFrameWords;
    e[0] = Term{address};
    e[1] = b.module;
    e[2] = b.function;
    e[3] = make_small(flags << 8 | b.arity);
    e[4] = tracer;
    return true;
}

// {garbage_collection info}, as gc_minor_start and the others have it.
Term gc_info(Heap& h, const Process& p) {
    const auto words = [](const Term* from, const Term* to) {
        return make_small(from == nullptr ? 0 : to - from);
    };
    const struct {
        const char* name;
        Term value;
    } items[] = {
        {"heap_size", words(p.heap_start, p.heap.top)},
        {"heap_block_size", words(p.heap_start, p.stack_base)},
        {"old_heap_size", words(p.old_start, p.old_top)},
        {"old_heap_block_size", words(p.old_start, p.old_end)},
        {"stack_size", words(p.heap.end, p.stack_base)},
        {"recent_size", words(p.high_water, p.heap.top)},
        {"mbuf_size", make_small(static_cast<int64_t>(p.heap.fragment_words))},
        {"bin_vheap_size", make_small(static_cast<int64_t>(p.heap.off_heap_bytes / sizeof(Word)))},
        {"bin_vheap_block_size",
         make_small(static_cast<int64_t>(
             p.virtual_heap_bytes == ~size_t{0} ? 0 : p.virtual_heap_bytes / sizeof(Word)))},
        {"bin_old_vheap_size",
         make_small(static_cast<int64_t>(p.old_off_heap_bytes / sizeof(Word)))},
        {"bin_old_vheap_block_size",
         make_small(static_cast<int64_t>(p.old_virtual_heap_bytes / sizeof(Word)))},
        {"wordsize", make_small(0)},  // OTP 25 has it, without a value
    };
    Term list = kNil;
    for (const auto& i : items) {
        list = cons(h, make_tuple(h, atom_table::intern(i.name), i.value), list);
    }
    return list;
}

struct TraceHooks final : Hooks {
    // ---- calls ----
    Word breakpoint(Process& p, const void* key, Term* x) override {
        // There is one: the table that has it was published, and everybody had passed, before the
        // function was armed, and it leaves the table only when everybody has passed since it was
        // disarmed.
        Breakpoint& b = *find(key);
        called(b, p, x, b.native ? g_return_words.native : g_return_words.bytecode);
        return b.at.saved;
    }
    Word saved(const void* key) override { return find(key)->at.saved; }

    void export_call(Process& p, const Export* e, Term* x) override {
        Breakpoint* b = find(e);
        if (b == nullptr) {
            return;
        }
        called(*b, p, x, g_return_words.bytecode);  // only bytecode comes by an entry's stub
    }

    Term bif_call(Process& p, const BifDef& bif, Term* x) override {
        Breakpoint* b = find(&bif);
        if (b == nullptr) {
            return call_bif_untraced(p, bif, x);
        }
        const Frames frames = hit(*b, p, x, caller_of_bif);
        const void* caller = (frames.call & kFrameReturnTo) != 0 ? caller_of_bif(p) : nullptr;
        const bool clocked = frames.time != nullptr || frames.memory != nullptr;
        if (clocked) {
            clock_called(p, frames.time, frames.memory, true);
        }
        const Term r = call_bif_untraced(p, bif, x);
        if (clocked) {
            clock_left(p);
        }
        after_bif(p, *b, frames.meta, frames.meta_tracer, r);
        after_bif(p, *b, frames.call, kNil, r);
        if (caller != nullptr && is_value(r)) {
            send_return_to(p, caller, true);
        }
        return r;
    }

    void returned(Process& p, Term* x) override {
        const FrameView f{p.heap.end};
        const int64_t flags = f.flags();
        send_return(p, f, x[0]);
        if ((flags & kFrameClock) != 0) {
            clock_left(p);
        }
        remove_frames(p, 1);
        p.heap.end += kFrameWords - 1;
        if ((flags & kFrameReturnTo) != 0) {
            send_return_to(p, return_address_of(p, p.heap.end), true);
        }
    }

    void unwound(Process& p, const Term* from, const Term* to, const void* caught_by, Term cls,
                 Term reason) override {
        bool return_to = false;
        uint32_t count = 0;
        for (const Term* w = from; w < to; ++w) {
            if (is_return_word(*w)) {
                const FrameView f{w + 1};
                report_exception(p, f, cls, reason, caught_by != nullptr);
                return_to |= (f.flags() & kFrameReturnTo) != 0;
                if ((f.flags() & kFrameClock) != 0) {
                    clock_left(p);
                }
                ++count;
            }
        }
        remove_frames(p, count);
        if (return_to && caught_by != nullptr) {
            send_return_to(p, caught_by, false);
        }
    }

    Term test_spec(Process& p, const Term* a) override { return trace::test_spec(p, a); }

    void staged(ModuleInstance& instance) override { stage_instance(instance); }
    void released(ModuleInstance& instance) override { forget_instance(instance); }

    // ---- processes ----
    void sent(Process& p, Term to, Term message, bool to_existing) override {
        Term extra = kNonValue;
        if (!to_send(p, to, message, &extra)) {
            return;
        }
        const Term tag = to_existing ? atom_send() : atom_send_to_non_existing_process();
        if (is_value(extra)) {
            send_own_event(p, tag, {message, to, extra});
        } else {
            send_own_event(p, tag, {message, to});
        }
    }
    void received(Process& p, Term from, Term message) override {
        Term extra = kNonValue;
        if (!to_receive(p, from, message, &extra)) {
            return;
        }
        if (is_value(extra)) {
            send_own_event(p, atom_receive(), {message, extra});
        } else {
            send_own_event(p, atom_receive(), {message});
        }
    }
    void spawning(Process& parent, Process& child, const Export* e, Term args,
                  bool linked) override {
        Heap h;
        const Term call = make_tuple(h, e->module, e->function, args);
        const State* s = state_of(parent);
        if (s != nullptr && (s->flags & kProcs) != 0) {
            send_own_event(parent, atom_spawn(), {child.id, call});
            s = state_of(parent);
        }
        uint32_t flags = 0;
        Term tracer = kNil;
        if (s != nullptr) {
            const bool first = (s->flags & kSetOnFirstSpawn) != 0;
            const bool by_link = linked && (s->flags & (kSetOnLink | kSetOnFirstLink)) != 0;
            if ((s->flags & kSetOnSpawn) != 0 || first || by_link) {
                flags = s->flags;
                tracer = s->tracer;
                uint32_t gone = 0;
                if (first) {
                    gone |= kSetOnFirstSpawn;
                }
                if (linked && (s->flags & kSetOnFirstLink) != 0) {
                    gone |= kSetOnFirstLink;
                }
                if (gone != 0) {
                    change_flags(parent, gone, 0, kNonValue);
                    flags &= ~gone;
                }
            }
        }
        if (flags == 0) {
            const State fresh = new_flags();
            flags = fresh.flags;
            tracer = fresh.tracer;
        }
        if (flags != 0 && tracer != child.id) {
            change_flags(child, 0, flags, tracer);
            if ((flags & kProcs) != 0) {
                send_own_event(child, atom_spawned(), {parent.id, call});
            }
        }
        if (linked) {
            if (is_traced(parent, kProcs)) {
                send_own_event(parent, atoms::link, {child.id});
            }
            if (is_traced(child, kProcs)) {
                send_own_event(child, atoms::getting_linked, {parent.id});
            }
        }
        h.clear();
    }
    void exited(Process& p, Term reason) override {
        if (is_traced(p, kProcs)) {
            send_own_event(p, atom_exit(), {reason});
        }
    }
    void forget(Process& p) override {
        clear_flags(p);
        forget_local(p);
    }
    void dropped_stack(Process& p) override { clock_dropped(p); }
    void event(Process& p, uint32_t, Term tag, Term what) override {
        send_own_event(p, tag, {what});
    }
    void scheduled(Process& p, bool in) override {
        if (is_clocked(p)) {
            clock_scheduled(p, in);
        }
        if (!is_traced(p, kRunning | kRunningProcs)) {
            return;
        }
        Heap h;
        send_own_event(p, in ? atom_in() : atom_out(), {current_function(h, p)});
        h.clear();
    }
    void collecting(Process& p, bool major, bool start) override {
        if (is_clocked(p)) {
            clock_collecting(p, start);
        }
        if (!is_traced(p, kGarbageCollection)) {
            return;
        }
        Heap h;
        const Term tag = major ? (start ? atom_gc_major_start() : atom_gc_major_end())
                               : (start ? atom_gc_minor_start() : atom_gc_minor_end());
        send_own_event(p, tag, {gc_info(h, p)});
        h.clear();
    }

private:
    // A function of Erlang code is called; `address`: of its engine's return_trace.
    static void called(const Breakpoint& b, Process& p, Term* x, Word address) {
        const uint8_t does = active(b).does;
        if ((does & Action::kForAll) == 0) {
            const State* s = state_of(p);
            if ((does & Action::kForTraced) == 0 || s == nullptr || (s->flags & kCall) == 0) {
                return;
            }
        }
        const Frames frames = hit(b, p, x, caller_of);
        if (frames.none()) {
            if (MINIVM_UNLIKELY(p.needs_gc())) {
                collect_gc(p, 0, x, b.arity, false);
            }
            return;
        }
        make_room(p, x, b.arity);
        if (frames.meta != 0) {
            push_frame(p, b, address, frames.meta, frames.meta_tracer);
        }
        int64_t flags = frames.call;
        if ((flags & kFrameReturnTo) != 0 && returns_to_frame(p)) {
            flags &= ~kFrameReturnTo;  // what is under it says so already
        }
        const bool clocked = frames.time != nullptr || frames.memory != nullptr;
        // A tail call of a counted function by another: the frame of that one stands for both.
        const bool own_clock = clocked && !is_clock_frame(p);
        flags |= own_clock ? int64_t{kFrameClock} : 0;
        const bool pushed = flags != 0 && push_frame(p, b, address, flags, kNil);
        if (clocked) {
            clock_called(p, frames.time, frames.memory, own_clock && pushed);
        }
    }
    static bool is_clock_frame(const Process& p) {
        return is_return_word(p.heap.end[0]) &&
               (FrameView{p.heap.end + 1}.flags() & kFrameClock) != 0;
    }

    static const void* caller_of(const Process& p) { return return_address_of(p, p.heap.end); }

    // The address behind the call, as it would be on the stack.
    static const void* caller_of_bif(const Process& p) {
        if (p.pc == nullptr) {
            return nullptr;
        }
        FunctionInfo where{};
        if (!module_table::lookup(p.pc, code_index::active(), false, &where)) {
            return caller_of(p);  // by an entry's stub
        }
        const auto* at = reinterpret_cast<const char*>(p.pc);
        return p.pc_is_native ? at + 1 - kTagHeader : at + sizeof(Word);
    }
    // A throw that nobody catches is an error.
    static bool is_caught(const Process& p) {
        for (const Term* w = p.heap.end; w < p.stack_base; ++w) {
            if (is_catch(*w)) {
                return true;
            }
        }
        return false;
    }
    // For two frames, and what C++ asks of a stack.
    static void make_room(Process& p, Term* x, uint32_t live) {
        constexpr size_t kNeed = 2 * kFrameWords;
        if (p.needs_gc() || static_cast<size_t>(p.heap.end - p.heap.top) < kNeed + kReserveWords) {
            collect_gc(p, kNeed, x, live, false);
        }
    }

    static bool returns_to_frame(const Process& p) {
        for (const Term* w = p.heap.end; is_return_word(*w); w += kFrameWords) {
            if ((FrameView{w + 1}.flags() & kFrameReturnTo) != 0) {
                return true;
            }
        }
        return false;
    }

    // A BIF comes back at once: nothing is left on the stack.
    static void after_bif(Process& p, const Breakpoint& b, int64_t flags, Term tracer, Term r) {
        if (flags == 0) {
            return;
        }
        const Term words[] = {b.module, b.function, make_small(flags << 8 | b.arity), tracer};
        const FrameView f{words};
        if (is_value(r)) {
            send_return(p, f, r);
        } else if (p.outcome == BifOutcome::exception) {
            Term cls = atoms::error;
            if (p.exception.cls == ExceptionClass::exit) {
                cls = atoms::exit;
            } else if (p.exception.cls == ExceptionClass::throw_) {
                cls = atoms::throw_;
            }
            report_exception(p, f, cls, p.exception.reason, is_caught(p));
        }
    }

    static bool to_send(Process& p, Term to, Term message, Term* extra);
    static bool to_receive(Process& p, Term from, Term message, Term* extra);
};

TraceHooks g_the_hooks;

// Patterns for messages; replaced as a whole.
std::atomic<const EventPatterns*> g_events{nullptr};

bool TraceHooks::to_send(Process& p, Term to, Term message, Term* extra) {
    // acquire: pairs with set_event_patterns().
    const EventPatterns* e = g_events.load(std::memory_order_acquire);
    if (e == nullptr) {
        return true;
    }
    const Term terms[] = {to, message};
    return !e->no_send && event_matches(p, e->send, terms, 2, extra);
}
bool TraceHooks::to_receive(Process& p, Term from, Term message, Term* extra) {
    // acquire: as above.
    const EventPatterns* e = g_events.load(std::memory_order_acquire);
    if (e == nullptr) {
        return true;
    }
    const bool timeout = !is_value(from);
    const Term terms[] = {timeout ? atom_clock_service() : atoms::nonode_at_nohost,
                          is_local_pid(from) ? from : atoms::undefined, message};
    return !e->no_receive && event_matches(p, e->receive, terms, 3, extra);
}

}  // namespace

EventPatterns event_patterns() {
    const thread_progress::DelaySection section;
    // acquire: pairs with set_event_patterns().
    const EventPatterns* e = g_events.load(std::memory_order_acquire);
    return e != nullptr ? *e : EventPatterns{};
}

void set_event_patterns(const EventPatterns& e) {
    // release: what it holds is complete. Readers may go by the former until they have passed.
    const EventPatterns* old = g_events.exchange(new EventPatterns(e), std::memory_order_acq_rel);
    if (old != nullptr) {
        thread_progress::later([](void* d) { delete static_cast<EventPatterns*>(d); },
                               const_cast<EventPatterns*>(old));
    }
}

void start() {
    tracing::g_hooks = &g_the_hooks;
    init_actions();
}

}  // namespace minivm::trace
