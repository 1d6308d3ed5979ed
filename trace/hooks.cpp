// What the VM calls when something happens that may be traced (vm/process/tracing.hpp).
#include "trace/action.hpp"
#include "trace/breakpoint.hpp"
#include "trace/frame.hpp"
#include "trace/pattern.hpp"
#include "trace/plain_call.hpp"
#include "trace/saved_calls.hpp"
#include "trace/session.hpp"
#include "trace/trace.hpp"
#include "trace/tracer.hpp"
#include "trace/tracer_recorder.hpp"
#include "vm/code/code_index.hpp"
#include "vm/code/engine.hpp"
#include "vm/code/module_table.hpp"
#include "vm/process/gc.hpp"
#include "vm/instr/bif_def.hpp"
#include "vm/process/exception.hpp"
#include "vm/process/process_life.hpp"
#include "vm/process/process_record.hpp"
#include "vm/process/process_table.hpp"
#include "vm/process/report.hpp"
#include "vm/process/signal.hpp"
#include "vm/progress/thread_progress.hpp"
#include "vm/term/local_atoms.hpp"
#include "vm/util/otp_release.hpp"

#include <algorithm>
#include <optional>
#include <vector>

namespace minivm::trace {
namespace {

using namespace tracing;

LOCAL_ATOM(atom_gc_major_end, "gc_major_end")
LOCAL_ATOM(atom_gc_major_start, "gc_major_start")
LOCAL_ATOM(atom_gc_minor_end, "gc_minor_end")
LOCAL_ATOM(atom_gc_minor_start, "gc_minor_start")
LOCAL_ATOM(atom_open, "open")
LOCAL_ATOM(atom_out_exited, "out_exited")
LOCAL_ATOM(atom_send_to_non_existing_process, "send_to_non_existing_process")
LOCAL_ATOM(atom_spawn_init, "spawn_init")
LOCAL_ATOM(atom_spawned, "spawned")

// The State of a meta tracer; none where a frame is no meta trace's.
using MetaState = std::optional<State>;

// The State that a frame's events use: the process's, or the meta tracer's, made in *meta. Null: the
// process is not traced any more, or the session has ended.
const State* state_of_frame(const Process& p, const FrameView& f, MetaState* meta) {
    if (is_nil(f.words[3])) {
        return state_of(p, 0);
    }
    if (f.has_tracer()) {
        return &meta->emplace(State{kTimestamp, Tracer::borrowed(f.tracer())});
    }
    if (f.is_meta()) {
        const Session* session = find_session(f.session());
        if (session == nullptr) {
            return nullptr;
        }
        return &meta->emplace(
            State{kTimestamp, Tracer::borrowed(session->tracer.term()), session->number});
    }
    return state_of(p, f.session());
}

// The State by which to tell what a frame waits for; null: do not tell it. The flag `silent` does not
// matter: it may have been set since the call.
const State* tells(const Process& p, const FrameView& f, int64_t flag, MetaState* meta) {
    if ((f.flags() & flag) == 0 || records::is_sensitive(p)) {
        return nullptr;
    }
    const State* s = state_of_frame(p, f, meta);
    return s == nullptr || (!meta->has_value() && (s->flags & kCall) == 0) ? nullptr : s;
}
void send_return(Process& p, const FrameView& f, Term value) {
    MetaState meta;
    const State* s = tells(p, f, kFrameReturn, &meta);
    if (s == nullptr) {
        return;
    }
    if (is_recorder(s->tracer)) {
        to_recorder::return_from(s->session, f.module(), f.function(), f.arity_number(), value);
        return;
    }
    Heap h;
    send_event(
        p, *s,
        {.kind = EventKind::call, .tag = atoms::return_from, .what = f.term(h), .extra = value});
}
void send_exception(Process& p, const FrameView& f, Term cls, Term reason) {
    MetaState meta;
    const State* s = tells(p, f, kFrameReturn | kFrameException, &meta);
    if (s == nullptr) {
        return;
    }
    if (is_recorder(s->tracer)) {
        if ((f.flags() & kFrameException) != 0) {
            to_recorder::exception_from(s->session, f.module(), f.function(), f.arity_number(), cls,
                                        reason);
        } else {
            to_recorder::unwound(s->session, f.module(), f.function(), f.arity_number());
        }
        return;
    }
    if ((f.flags() & kFrameException) == 0) {
        return;
    }
    Heap h;
    send_event(p, *s,
               {.kind = EventKind::call,
                .tag = atoms::exception_from,
                .what = f.term(h),
                .extra = make_tuple(h, cls, reason)});
}
void report_exception(Process& p, const FrameView& f, Term cls, Term reason, bool caught) {
    if (caught || cls != atoms::throw_) {
        send_exception(p, f, cls, reason);
        return;
    }
    Heap h;
    send_exception(p, f, atoms::error, make_tuple(h, atoms::nocatch, reason));
}
void send_return_to(Process& p, uint32_t session, const void* address, bool is_return_address) {
    const State* s = state_of(p, session);
    if (s == nullptr || (s->flags & kReturnTo) == 0 || records::is_sensitive(p)) {
        return;
    }
    Heap h;
    const Term f = function_at(h, address, is_return_address);
    send_event(p, *s,
               {.kind = EventKind::call,
                .tag = atoms::return_to,
                .what = is_value(f) ? f : atoms::undefined});
}

// False: the stack has as many frames as it may.
bool push_frame(Process& p, Word address, const FrameWords& words, uint64_t record_id) {
    bool once = false;
    if (!add_frame(p, &once)) {
        if (once) {
            const uint32_t frames = p.trace_local->frames;
            const FrameView f{words.data()};
            to_recorder::frames_full(p.id, record_id, frames);
            report_trace_frames(p, f.module(), f.function(), f.arity_number(), frames);
        }
        return false;
    }
    // Copies a tracer that is a tuple into the process: the breakpoint that it belongs to may go before
    // the frame.
    const Term whose = is_boxed(words[3]) ? copy_term(words[3], p.heap, false) : words[3];
    Term* e = p.heap.end -= kFrameWords;
    e[0] = Term{address};
    std::copy(words.begin(), words.end(), e + 1);
    e[kFrameWords - 1] = whose;
    return true;
}

// The info term of gc_minor_start and its like.
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
        {"mbuf_size",
         make_small(static_cast<int64_t>(p.heap.fragment_words + p.heap.received_words))},
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
    // `place` is in the table: thread progress has passed between the publication of the table and the
    // arming of the function, and passes between disarming it and the removal from the table.
    bool breakpoint(Process& p, const ArmedPlace& place, Term* x) override {
        const auto& b = static_cast<const Breakpoint&>(place);
        called(b, p, x, b.native ? g_return_words.native : g_return_words.bytecode);
        if (MINIVM_LIKELY((active(b).does & Action::kDebug) == 0)) {
            return true;
        }
        call_debugger(p, b.module, b.function, b.arity);
        return false;
    }

    // Only for a traced process: the breakpoint of an entry does nothing in others.
    void export_call(Process& p, const Export* e, Term* x, bool native) override {
        if (const Breakpoint* b = find(e)) {
            called(*b, p, x, native ? g_return_words.native : g_return_words.bytecode);
        }
    }

    Term bif_call(Process& p, const BifDef& bif, Term* x) override {
        Breakpoint* b = find(&bif);
        if (b == nullptr || (is_apply(bif) && !called_as_function(p, *b))) {
            return call_bif_untraced(p, bif, x);
        }
        UnfinishedCall call;
        if (!take_repeated(p, b->serial, &call)) {
            call = bif_called(p, *b, x);
        }
        const Term r = call_bif_untraced(p, bif, x);
        if (!is_value(r) && traps(p) && p.outcome != BifOutcome::trap_fun &&
            p.trap_export == bif.exp) {
            set_repeated(p, b->serial, std::move(call));
            return r;
        }
        for (auto session = call.clocks.rbegin(); session != call.clocks.rend(); ++session) {
            clock_left(p, *session);
        }
        if (call.frames.empty()) {
            return r;
        }
        if (is_value(r)) {
            after_bif(p, call, r);
        } else if (traps(p) || p.outcome == BifOutcome::dirty ||
                   p.outcome == BifOutcome::exception) {
            set_unfinished(p, std::move(call));
        }
        return r;
    }

    void bif_traps(Process& p, Term* x, uint32_t live, bool native) override {
        const UnfinishedCall call = take_unfinished(p);
        size_t need = call.frames.size() * kFrameWords;
        for (const Tracer& t : call.meta_tracers) {
            need += words_of(t);
        }
        make_room(p, x, live, need);
        const Word address = native ? g_return_words.native : g_return_words.bytecode;
        for (auto words = call.frames.rbegin(); words != call.frames.rend(); ++words) {
            push_frame(p, address, *words, call.record_id);
        }
    }

    void bif_returned(Process& p, Term r) override { after_bif(p, take_unfinished(p), r); }

    void returned(Process& p, Term* x) override {
        if (plain_return(p, x[0])) {
            return;
        }
        const FrameView f{p.heap.end};
        const int64_t flags = f.flags();
        const uint32_t session = f.session();
        send_return(p, f, x[0]);
        if ((flags & kFrameClock) != 0) {
            clock_left(p, session);
        }
        remove_frames(p, 1);
        p.heap.end += kFrameWords - 1;
        if ((flags & kFrameReturnTo) != 0) {
            send_return_to(p, session, return_address_of(p, p.heap.end), true);
        }
    }

    void unwound(Process& p, const Term* from, const Term* to, const void* caught_by, Term cls,
                 Term reason) override {
        // Up to OTP 26, the exception that ends a process is told only while somebody traces the process.
        const bool told = caught_by != nullptr || state_of(p) != nullptr || by_release::traces_by_session();
        // Sessions: `above`, of the frames since the last return address of a call; `return_to`, of those right above
        // that address. A return is told if the function that catches has called the traced one itself; from OTP 27
        // on, of a BIF whichever function has called it.
        std::vector<uint32_t> above;
        std::vector<uint32_t> return_to;
        std::vector<uint32_t> of_bif;
        const auto passes = [&](const FrameView& f) {
            if (told) {
                report_exception(p, f, cls, reason, caught_by != nullptr);
            }
            const uint32_t session = f.session();
            if ((f.flags() & kFrameReturnTo) != 0 &&
                std::find(above.begin(), above.end(), session) == above.end()) {
                above.push_back(session);
            }
            return session;
        };
        // A BIF that has raised the exception is the innermost call, and has no frame.
        if (has_unfinished_bif(p)) {
            for (const FrameWords& words : take_unfinished(p).frames) {
                passes(FrameView{words.data()});
            }
            return_to = std::move(above);
            above.clear();
            if (by_release::traces_by_session()) {
                of_bif = return_to;
            }
        }
        uint32_t count = 0;
        for (const Term* w = from; w < to; ++w) {
            if (is_return_word(*w)) {
                const FrameView f{w + 1};
                const uint32_t session = passes(f);
                if ((f.flags() & kFrameClock) != 0) {
                    clock_left(p, session);
                }
                ++count;
                w += kFrameWords - 1;
            } else if (is_return_of_call(*w)) {
                return_to = std::move(above);
                above.clear();
            }
        }
        remove_frames(p, count);
        for (const uint32_t session : return_to) {
            if (std::find(of_bif.begin(), of_bif.end(), session) == of_bif.end()) {
                of_bif.push_back(session);
            }
        }
        return_to = std::move(of_bif);
        for (size_t i = 0; i < return_to.size() && caught_by != nullptr; ++i) {
            send_return_to(p, return_to[i], caught_by, false);
        }
    }

    bool begin_saving(Process& p, Term function, std::initializer_list<Term> args,
                      Term* answer) override {
        return saved_calls::begin(p, function, args, answer);
    }
    void set_saving(Process& p, uint32_t n) override { saved_calls::set(p, n); }
    void end_saving() override { saved_calls::end(); }

    Term test_spec(Process& p, const Term* a) override { return trace::test_spec(p, a); }

    void staged(ModuleInstance& instance) override { stage_instance(instance); }
    bool withdrawn(const ModuleInstance& instance) override { return disarm_withdrawn(instance); }
    void forget_entries() override { forget_disarmed(); }
    void released(ModuleInstance& instance) override { forget_instance(instance); }

    // ---- processes ----
    void sent(Process& p, Term to, Term message, bool to_existing) override {
        const Term tag = to_existing ? atoms::send : atom_send_to_non_existing_process();
        const Term terms[] = {to, message};
        tell_message(p, kSend, terms, 2,
                     {.kind = EventKind::send, .tag = tag, .what = message, .extra = to});
    }
    void received(Process& p, Term from, Term message) override {
        const Term terms[] = {is_value(from) ? atoms::nonode_at_nohost : atoms::clock_service,
                              is_local_pid(from) ? from : atoms::undefined, message};
        tell_message(p, kReceive, terms, 3,
                     {.kind = EventKind::receive, .tag = atoms::receive, .what = message});
    }
    void took_message(Process& p) override {
        for (const State* s = state_of(p); s != nullptr; s = s->next) {
            if (is_saver(s->tracer)) {
                saved_calls::save(p, atoms::receive);
            }
        }
    }
    void spawning(Process& parent, Process& child, const Export* e, Term args,
                  const SpawnOptions& options) override {
        const bool linked = options.link;
        Heap h;
        Term call = make_tuple(h, e->module, e->function, args);
        if (options.replies) {  // as OTP's spawn_request() calls it
            call = make_tuple(h, atoms::erts_internal, atom_spawn_init(), cons(h, call, kNil));
        }
        tell_procs(parent, atoms::spawn, child.id, call);
        if (linked) {
            tell_procs(parent, atoms::link, child.id);
        }
        std::vector<State> given = all_new_flags(New::processes);
        if (!records::is_sensitive(parent) || !by_release::traces_by_session()) {
            for (const State* s = state_of(parent); s != nullptr; s = s->next) {
                inherit(parent, *s, linked, given);
            }
        }
        for (const State& s : given) {
            change_flags(child, s.session, 0, s.flags, &s.tracer);
        }
        tell_procs(child, atom_spawned(), parent.id, call);
        if (linked) {
            tell_procs(child, atoms::getting_linked, parent.id);
        }
    }
    void exited(Process& p, Term reason) override { tell_procs(p, atoms::exit, reason); }
    void forget(Process& p) override {
        saved_calls::set(p, 0);
        clear_all_flags(p);
        forget_local(p);
    }
    void port_opened(TracedPort& port, Term owner, Term name) override {
        for (const State& s : all_new_flags(New::ports)) {
            set_flags(port, s.session, true, s.flags, &s.tracer);
        }
        port_event(port, kPorts, atom_open(), owner, name);
        port_event(port, kPorts, atoms::getting_linked, owner, kNonValue);
    }
    void port_event(TracedPort& port, Flag flag, Term tag, Term what, Term extra) override {
        const EventKind kind = flag == kSend           ? EventKind::send
                               : flag == kReceive      ? EventKind::receive
                               : flag == kRunningPorts ? EventKind::running_ports
                                                       : EventKind::ports;
        send_own_event(port, flag, {.kind = kind, .tag = tag, .what = what, .extra = extra});
    }
    void forget(TracedPort& port) override { clear_all_flags(port); }
    void dropped_stack(Process& p) override { clock_dropped(p); }
    void procs(Process& p, Term tag, Term what) override {
        tell_procs(p, tag, what);
        if (tag == atoms::link && by_release::traces_by_session()) {
            give_to_linked(p, what);
        }
    }
    void scheduled(Process& p, bool in) override {
        if (is_clocked(p)) {
            clock_scheduled(p, in);
        }
        if (in && !records::is_sensitive(p)) {
            clear_inactive(p);
        }
        if (!is_traced(p, kRunning | kRunningProcs)) {
            return;
        }
        Heap h;
        send_own_event(p, kRunning | kRunningProcs,
                       {.kind = EventKind::running_procs,
                        .tag = in ? atoms::in : atoms::out,
                        .what = current_function(h, p)});
    }
    void ended(Process& p) override {
        send_own_event(
            p, kExiting,
            {.kind = EventKind::running_procs, .tag = atom_out_exited(), .what = make_small(0)});
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
        send_own_event(p, kGarbageCollection,
                       {.kind = EventKind::garbage_collection, .tag = tag, .what = gc_info(h, p)});
    }

private:
    static void tell_procs(Process& p, Term tag, Term what, Term extra = kNonValue) {
        send_own_event(p, kProcs,
                       {.kind = EventKind::procs, .tag = tag, .what = what, .extra = extra});
    }

    // A function of Erlang code is called; `address`: its engine's return_trace code.
    static void called(const Breakpoint& b, Process& p, Term* x, Word address) {
        if (plain_call(b, p, x, address)) {
            return;
        }
        const uint8_t does = active(b).does;
        if ((does & Action::kForAll) == 0) {
            const State* s = state_of(p);
            if ((does & Action::kForTraced) == 0 || s == nullptr || (s->all & kCall) == 0) {
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
        size_t need = 2 * (1 + frames.of_sessions.size()) * kFrameWords;
        need += frames.meta != 0 ? words_of(*frames.meta_tracer) : 0;
        for (const SessionFrames& f : frames.of_sessions) {
            need += f.meta_tracer != nullptr ? words_of(*f.meta_tracer) : 0;
        }
        make_room(p, x, b.arity, need);
        // The frame of the session that was told last is on top.
        leave_frame(b, p, address, 0, frames.call, frames.time, frames.memory);
        if (frames.meta != 0) {
            push_frame(p, address, frame_words(b, frames.meta, frames.meta_tracer->term()),
                       b.record_id);
        }
        for (const SessionFrames& f : frames.of_sessions) {
            leave_frame(b, p, address, f.session, f.call, f.time, f.memory);
            if (f.meta != 0) {
                push_frame(p, address, frame_words(b, f.meta, meta_mark(f)), b.record_id);
            }
        }
    }
    // Pushes the frame of a session's own trace, if the call needs one, and starts its clock.
    static void leave_frame(const Breakpoint& b, Process& p, Word address, uint32_t session,
                            int64_t flags, CallTable* time, CallTable* memory) {
        int64_t below = 0;
        if ((flags & kFrameReturnTo) != 0 &&
            has_frame_on_top(p, session, kFrameReturnTo | kFrameReturnToBelow)) {
            flags &= ~kFrameReturnTo;  // a frame under this one tells of the same return
            below |= kFrameReturnToBelow;
        }
        const bool clocked = time != nullptr || memory != nullptr;
        // If a counted function calls another in tail position, the frame of the first stands for both.
        const bool own_clock =
            clocked && !has_frame_on_top(p, session, kFrameClock | kFrameClockBelow);
        if (clocked) {
            (own_clock ? flags : below) |= own_clock ? kFrameClock : kFrameClockBelow;
        }
        const bool pushed =
            flags != 0 &&
            push_frame(p, address, frame_words(b, flags | below, mark_of(session)), b.record_id);
        if (clocked) {
            clock_called(p, session, time, memory, own_clock && pushed);
        }
    }
    // Drops the flag return_to if a frame on the stack tells of the same return.
    static void drop_return_to(const Process& p, FrameWords* words) {
        const FrameView f{words->data()};
        if ((f.flags() & kFrameReturnTo) != 0 &&
            has_frame_on_top(p, f.session(), kFrameReturnTo | kFrameReturnToBelow)) {
            const int64_t flags = f.flags() & ~int64_t{kFrameReturnTo};
            (*words)[2] = make_small(flags << 8 | f.arity_number());
        }
    }
    // Whether the session has a frame with one of these flags among the frames that the next return passes,
    // in either engine.
    static bool has_frame_on_top(const Process& p, uint32_t session, int64_t flags) {
        const auto behind_transition = [](const Term* w) {
            return w->raw == g_transitions.to_native || w->raw == g_transitions.to_bytecode ? w + 1
                                                                                            : w;
        };
        for (const Term* w = behind_transition(p.heap.end); is_return_word(*w);
             w = behind_transition(w + kFrameWords)) {
            const FrameView f{w + 1};
            if ((f.flags() & flags) != 0 && f.session() == session) {
                return true;
            }
        }
        return false;
    }

    static const void* caller_of(const Process& p, const Breakpoint&) {
        return return_address_of(p, p.heap.end);
    }

    // Whether the BIF was called through its entry, or as the body of a function of its name, and not by an
    // instruction of another function: then its return address is on the stack.
    static bool called_as_function(const Process& p, const Breakpoint& b) {
        FunctionInfo where{};
        return p.pc == nullptr ||
               !module_table::lookup(p.pc, code_index::active(), false, &where) ||
               (where.module == b.module && where.function == b.function && where.arity == b.arity);
    }
    // erlang:apply/2,3. OTP has instructions for them: only a process that begins with one, or a fun of one, calls
    // the function.
    static bool is_apply(const BifDef& bif) {
        return bif.exp->module == atoms::erlang && bif.exp->function == atoms::apply;
    }
    // CallerOf a BIF: the address behind the call, as it would be on the stack.
    static const void* caller_of_bif(const Process& p, const Breakpoint& b) {
        if (called_as_function(p, b)) {
            return caller_of(p, b);
        }
        const auto* at = reinterpret_cast<const char*>(p.pc);
        return p.pc_is_native ? at + 1 - kTagHeader : at + sizeof(Word);
    }
    // Whether w is a return address of a module's code, and not of a trace frame or a transition word.
    static bool is_return_of_call(Term w) {
        FunctionInfo where{};
        return is_header(w.raw) &&
               module_table::lookup(reinterpret_cast<const void*>(w.raw - kTagHeader),
                                    code_index::active(), true, &where);
    }
    static Term meta_mark(const SessionFrames& f) {
        return f.meta_tracer != nullptr ? f.meta_tracer->term() : meta_mark_of(f.session);
    }
    // Heap words that push_frame() takes for a tracer.
    static size_t words_of(const Tracer& t) {
        return t.is_module() ? size_of_term(t.term(), false) : 0;
    }
    // Makes room for so many words and the reserve.
    static void make_room(Process& p, Term* x, uint32_t live, size_t need) {
        if (p.needs_gc() || static_cast<size_t>(p.heap.end - p.heap.top) < need + kReserveWords) {
            collect_gc(p, need, x, live, false);
        }
    }
    // Traces the call of a function of the VM. Returns what its return needs.
    static UnfinishedCall bif_called(Process& p, const Breakpoint& b, const Term* x) {
        const Frames frames = hit(b, p, x, caller_of_bif);
        UnfinishedCall call;
        call.record_id = b.record_id;
        const auto tells = [&](int64_t flags, Term tracer) {
            if (flags != 0) {
                call.frames.push_back(frame_words(b, flags, tracer));
            }
        };
        const auto counts = [&](uint32_t session, CallTable* time, CallTable* memory) {
            if (time != nullptr || memory != nullptr) {
                clock_called(p, session, time, memory, true);
                call.clocks.push_back(session);
            }
        };
        for (auto f = frames.of_sessions.rbegin(); f != frames.of_sessions.rend(); ++f) {
            counts(f->session, f->time, f->memory);
            tells(f->meta, meta_mark(*f));
            if (f->meta_tracer != nullptr) {
                call.meta_tracers.push_back(*f->meta_tracer);
            }
            tells(f->call, mark_of(f->session));
        }
        counts(0, frames.time, frames.memory);
        if (frames.meta != 0) {
            call.meta_tracers.push_back(*frames.meta_tracer);
        }
        tells(frames.meta, frames.meta_tracer->term());
        tells(frames.call, mark_of(0));
        if (call.frames.empty()) {
            return call;
        }
        call.caller = caller_of_bif(p, b);
        if (called_as_function(p, b)) {
            for (FrameWords& words : call.frames) {
                drop_return_to(p, &words);
            }
        }
        return call;
    }
    // A function of the VM, which has no frame on the stack, has returned r.
    static void after_bif(Process& p, const UnfinishedCall& call, Term r) {
        for (const FrameWords& words : call.frames) {
            const FrameView f{words.data()};
            send_return(p, f, r);
            if ((f.flags() & kFrameReturnTo) != 0) {
                send_return_to(p, f.session(), call.caller, true);
            }
        }
    }
    static bool traps(const Process& p) {
        return p.outcome == BifOutcome::trap || p.outcome == BifOutcome::yield ||
               p.outcome == BifOutcome::wait || p.outcome == BifOutcome::trap_fun ||
               p.outcome == BifOutcome::hibernate_here;
    }

    // Adds to `given` what the child inherits of its parent's State s; `given` has what new processes get.
    static void inherit(Process& parent, const State& s, bool linked, std::vector<State>& given) {
        constexpr uint32_t kSpawn = kSetOnSpawn | kSetOnFirstSpawn;
        constexpr uint32_t kLink = kSetOnLink | kSetOnFirstLink;
        uint32_t flags = 0;
        uint32_t gone = 0;  // flags that parent and child lose
        if ((s.flags & kSpawn) != 0) {
            flags = s.flags;
            gone = (s.flags & kSetOnFirstSpawn) != 0 ? kSpawn : 0;
        }
        if (linked && (s.flags & kLink) != 0) {
            flags = s.flags;
            gone |= (s.flags & kSetOnFirstLink) != 0 ? kLink : 0;
        }
        if (flags == 0) {
            return;
        }
        const auto same = [&s](const State& g) { return g.session == s.session; };
        auto place = std::find_if(given.begin(), given.end(), same);
        if (place == given.end()) {
            place = given.insert(given.end(), State{0, Tracer(), s.session});
        }
        place->tracer = s.tracer;
        place->flags = ((by_release::traces_by_session() ? 0 : place->flags) | flags) & ~gone;
        if (gone != 0) {
            change_flags(parent, s.session, gone, 0, nullptr);
        }
    }

    // Gives flags to the process that p links to, before the link arrives there.
    static void give_to_linked(Process& p, Term pid) {
        constexpr uint32_t kLink = kSetOnLink | kSetOnFirstLink;
        if (!is_traced(p, kLink) || !is_local_pid(pid)) {
            return;
        }
        std::vector<State> given;
        for (const State* s = state_of(p); s != nullptr; s = s->next) {
            if ((s->flags & kLink) != 0) {
                given.push_back(*s);
            }
        }
        Process* const linked = process_table::lookup(pid);
        for (const State& s : given) {
            const uint32_t gone = (s.flags & kSetOnFirstLink) != 0 ? kLink : 0;
            if (linked != nullptr) {
                change_flags(*linked, s.session, gone, s.flags & ~gone, &s.tracer);
            }
            if (gone != 0) {
                change_flags(p, s.session, gone, 0, nullptr);
            }
        }
    }

    // Tells the tracers that the flag asks for, if their sessions' patterns for messages match the
    // terms.
    static void tell_message(Process& p, Flag flag, const Term* terms, uint32_t count,
                             Event event) {
        for (const State* of = state_of(p); of != nullptr; of = of->next) {
            if (MINIVM_UNLIKELY(is_saver(of->tracer))) {
                if (flag == kSend) {
                    saved_calls::save(p, atoms::send);
                } else if (terms[0] == atoms::clock_service) {
                    saved_calls::save(p, atoms::timeout);
                }
                continue;
            }
            event.result = kNonValue;
            const State* s = (of->flags & flag) != 0 && !of->tracer.is(p.id)
                                 ? for_message(p, of, flag == kSend, terms, count, &event.result)
                                 : nullptr;
            if (s != nullptr) {
                send_or_clear(p, *s, event);
            }
        }
    }
    // The State by which to tell a message, by the session's pattern for messages; null: do not tell it.
    // A specification may change the State, and its action `silent` takes effect at once.
    static const State* for_message(Process& p, const State* s, bool send, const Term* terms,
                                    uint32_t count, Term* extra) {
        const Session* session = find_session(s->session);
        // acquire: pairs with change_event_patterns().
        const EventPatterns* e =
            session != nullptr ? session->events.load(std::memory_order_acquire) : nullptr;
        if (e == nullptr) {
            return s;
        }
        const SpecPtr& spec = send ? e->send : e->receive;
        if ((send ? e->no_send : e->no_receive) ||
            !event_matches(p, s->session, spec, terms, count, extra)) {
            return nullptr;
        }
        if (spec == nullptr) {
            return s;
        }
        s = state_of(p, s->session);
        return s == nullptr || (s->flags & kSilent) != 0 ? nullptr : s;
    }
};

TraceHooks g_the_hooks;

}  // namespace

void start() {
    tracing::g_hooks = &g_the_hooks;
    init_actions();
}

}  // namespace minivm::trace
