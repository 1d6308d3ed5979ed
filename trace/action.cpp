#include "trace/action.hpp"

#include "trace/saved_calls.hpp"
#include "trace/session.hpp"
#include "trace/tracer_recorder.hpp"
#include "vm/bif/processes/backtrace.hpp"
#include "vm/code/code_index.hpp"
#include "vm/instr/bif_def.hpp"
#include "vm/process/exception.hpp"
#include "vm/process/outcome.hpp"
#include "vm/process/process_record.hpp"
#include "vm/process/process_table.hpp"
#include "vm/process/registry.hpp"
#include "vm/process/seq_trace.hpp"
#include "vm/progress/thread_progress.hpp"
#include "vm/sched/scheduler.hpp"
#include "vm/semantics/binary.hpp"
#include "vm/term/format.hpp"
#include "vm/term/local_atoms.hpp"

#include <algorithm>
#include <cstdio>
#include <optional>

namespace minivm {

// What a match specification is run for, and what its actions have asked for.
struct match_spec::TraceContext {
    const trace::Breakpoint* called = nullptr;  // of the function that is called; null: it is run for no call
    trace::CallerOf caller_of = nullptr;
    const tracing::Tracer* tracer = nullptr;  // that the result goes to
    uint32_t session = 0;
    bool acts = true;         // false: a test, whose actions change nothing but trace flags
    bool no_message = false;  // {message, false}
    Term extra = kNonValue;   // {message, Term}
    int64_t frames = 0;
    bool return_trace = false;  // the action of that name ran

    // Where the call returns to, or null.
    const void* caller(const Process& p) const { return called != nullptr ? caller_of(p, *called) : nullptr; }
};

namespace trace {
namespace {

using namespace tracing;
using match_spec::Program;
using match_spec::Runner;
using Context = match_spec::TraceContext;

LOCAL_ATOM(atom_return_trace, "return_trace")
LOCAL_ATOM(atom_exception_trace, "exception_trace")

// ---- the functions ------------------------------------------------------------------------------

Term act_message(Process&, const Term* a, Context* c) {
    c->no_message = a[0] == atoms::false_;
    c->extra = is_bool(a[0]) ? kNonValue : a[0];
    return atoms::true_;
}
Term act_return_trace(Process&, const Term*, Context* c) {
    c->frames |= kFrameReturn;
    c->return_trace = true;
    return atoms::true_;
}
Term act_exception_trace(Process&, const Term*, Context* c) {
    c->frames |= kFrameReturn | kFrameException;
    return atoms::true_;
}
Term act_caller(Process& p, const Term*, Context* c) {
    const Term f = function_at(p.heap, c->caller(p), true);
    return is_value(f) ? f : atoms::undefined;
}
Term act_caller_line(Process& p, const Term*, Context* c) {
    FunctionInfo where{};
    const void* caller = c->caller(p);
    if (caller == nullptr || !module_table::lookup(caller, code_index::active(), true, &where)) {
        return atoms::undefined;
    }
    Term place = atoms::undefined;
    if (where.line != 0 && is_atom(where.file)) {
        const std::string_view name = atom_table::text(where.file);
        place = make_tuple(p.heap, make_string_utf8(p.heap, name.data(), name.size()),
                           make_small(where.line));
    }
    return make_tuple(p.heap, where.module, where.function, make_small(where.arity), place);
}
Term act_current_stacktrace_0(Process& p, const Term*, Context*) {
    return current_stacktrace(p, p.heap, nullptr, code_index::active(),
                              static_cast<size_t>(g_backtrace_depth));
}
Term act_current_stacktrace_1(Process& p, const Term* a, Context*) {
    return current_stacktrace(p, p.heap, nullptr, code_index::active(),
                              static_cast<size_t>(std::min<int64_t>(small_value(a[0]), g_backtrace_depth)));
}
Term act_process_dump(Process& p, const Term*, Context*) {
    const std::string text = process_backtrace(p);
    return make_binary(p.heap, text.data(), text.size());
}
Term act_display(Process&, const Term* a, Context*) {
    const std::string text = display_term(a[0]) + "\n";
    std::fwrite(text.data(), 1, text.size(), stdout);
    std::fflush(stdout);
    return atoms::true_;
}
Term act_is_seq_trace(Process& p, const Term*, Context*) {
    return make_bool(seq_trace::token_of(p) != nullptr);
}
Term act_get_seq_token(Process& p, const Term*, Context*) {
    return seq_trace::token_term(p, p.heap);
}
Term act_set_seq_token(Process& p, const Term* a, Context* c) {
    if (c->acts) {
        const Term old = seq_trace::set(p, a[0], a[1], p.heap);
        return is_value(old) ? old : badarg(p);
    }
    const Term now = seq_trace::get(p, a[0], p.heap);
    return is_value(now) ? now : badarg(p);
}
Term act_silent(Process& p, const Term* a, Context* c) {
    const State* s = state_of(p, c->session);
    if (is_bool(a[0]) && c->acts && s != nullptr) {
        const uint32_t on = a[0] == atoms::true_ ? uint32_t{kSilent} : 0;
        change_flags(p, c->session, kSilent & ~on, on, nullptr);
    }
    return atoms::true_;
}

// The trace control word is a setting of the system.
Term system_bif(Process& p, const char* name, uint8_t arity, Term value) {
    static const Term word = atom_table::intern("trace_control_word");
    const Term args[2] = {word, value};
    const BifDef* bif = bif_registry::find(atoms::erlang, atom_table::intern(name), arity);
    return bif->fn(p, args);
}
Term act_get_tcw(Process& p, const Term*, Context*) {
    return system_bif(p, "system_info", 1, kNil);
}
Term act_set_tcw(Process& p, const Term* a, Context* c) {
    if (!c->acts) {
        const bool is_word =
            is_small(a[0]) && small_value(a[0]) >= 0 && small_value(a[0]) <= int64_t{UINT32_MAX};
        return is_word ? act_get_tcw(p, a, c) : badarg(p);
    }
    return system_bif(p, "system_flag", 2, a[0]);
}

// Parses flags and perhaps a tracer, as in erlang:trace/3. False: the list has something else in it.
bool parse_flags(Term list, uint32_t* flags, std::optional<Tracer>* tracer) {
    static const Term tag = atom_table::intern("tracer");
    *flags = 0;
    for (; is_cons(list); list = tail(list)) {
        const Term t = head(list);
        Tracer named;
        if (is_tuple(t) && parse_tracer(t, tag, &named)) {
            *tracer = std::move(named);
            continue;
        }
        if (!is_atom(t) || flag_of(t) == 0) {
            return false;
        }
        *flags |= flag_of(t);
    }
    return is_nil(list);
}
Process* process_of(Term pid) {
    if (is_atom(pid)) {
        pid = registry::whereis(pid);
    }
    return is_local_pid(pid) ? process_table::lookup(pid) : nullptr;
}
// The tracer where none is named: that of the process that runs the specification, or null.
const Tracer* default_tracer(const Process& p, const Context* c) {
    const Session* session = find_session(c->session);
    if (session == nullptr || session->has_tracer()) {
        return c->tracer;
    }
    const State* own = state_of(p, c->session);
    return own != nullptr ? &own->tracer : nullptr;
}
// Changes the target's flags; without a tracer, ends its trace. Returns whether that was a change.
Term change(Process& p, Process* target, uint32_t off, uint32_t on, const Tracer* tracer, const Context* c) {
    if (target == nullptr) {
        return badarg(p);
    }
    if (tracer == nullptr) {
        off = ~uint32_t{0};
        on = 0;
    }
    const State* s = state_of(*target, c->session);
    const uint32_t before = s != nullptr ? s->flags : 0;
    const uint32_t after = (before & ~off) | on;
    const bool is_other = after != 0 && (s == nullptr || s->tracer != *tracer);
    change_flags(*target, c->session, off, on, tracer);
    return make_bool(before != after || is_other);
}
Term enable_or_disable(Process& p, Process* target, Term name, bool on, const Context* c) {
    const uint32_t flag = is_atom(name) ? flag_of(name) : 0;
    if (flag == 0) {
        return badarg(p);
    }
    const Term changed = change(p, target, on ? 0 : flag, on ? flag : 0, default_tracer(p, c), c);
    return is_value(changed) ? atoms::true_ : kNonValue;
}
Term act_enable_1(Process& p, const Term* a, Context* c) {
    return enable_or_disable(p, &p, a[0], true, c);
}
Term act_enable_2(Process& p, const Term* a, Context* c) {
    return enable_or_disable(p, process_of(a[0]), a[1], true, c);
}
Term act_disable_1(Process& p, const Term* a, Context* c) {
    return enable_or_disable(p, &p, a[0], false, c);
}
Term act_disable_2(Process& p, const Term* a, Context* c) {
    return enable_or_disable(p, process_of(a[0]), a[1], false, c);
}
Term trace_of(Process& p, Process* target, Term off_list, Term on_list, const Context* c) {
    uint32_t off = 0;
    uint32_t on = 0;
    std::optional<Tracer> tracer;
    if (!parse_flags(off_list, &off, &tracer) || !parse_flags(on_list, &on, &tracer)) {
        return badarg(p);
    }
    const Tracer* who = tracer ? &*tracer : default_tracer(p, c);
    // A test asks no module.
    if (who != nullptr && target != nullptr && (c->acts || !who->is_module()) &&
        !can_trace(*who, target->id)) {
        return badarg(p);
    }
    return change(p, target, off, on, who, c);
}
Term act_trace_2(Process& p, const Term* a, Context* c) {
    return trace_of(p, &p, a[0], a[1], c);
}
Term act_trace_3(Process& p, const Term* a, Context* c) {
    return trace_of(p, process_of(a[0]), a[1], a[2], c);
}

// Where a function may be used: in all specifications for traces, in those of what a process does
// itself (calls and sends), in those of calls.
enum class Use : uint8_t { always, own, call };

struct Function {
    const char* name;
    uint8_t arity;
    match_spec::TraceFunction act;
    bool in_guard;
    Use use;
    bool means_something(match_spec::Dialect dialect) const {
        return dialect == match_spec::Dialect::call ||
               (use == Use::always && dialect != match_spec::Dialect::table) ||
               (use == Use::own && dialect == match_spec::Dialect::sent);
    }
    // False: a special form. Problems with those have texts of their own.
    bool is_plain() const { return act == act_get_tcw || act == act_set_tcw; }
};
const Function kFunctions[] = {
    {"message", 1, act_message, false, Use::always},
    {"return_trace", 0, act_return_trace, false, Use::always},
    {"exception_trace", 0, act_exception_trace, false, Use::always},
    {"caller", 0, act_caller, false, Use::call},
    {"caller_line", 0, act_caller_line, false, Use::call},
    {"current_stacktrace", 0, act_current_stacktrace_0, false, Use::call},
    {"current_stacktrace", 1, act_current_stacktrace_1, false, Use::call},
    {"process_dump", 0, act_process_dump, false, Use::own},
    {"display", 1, act_display, false, Use::always},
    {"is_seq_trace", 0, act_is_seq_trace, true, Use::own},
    {"get_seq_token", 0, act_get_seq_token, false, Use::own},
    {"set_seq_token", 2, act_set_seq_token, false, Use::own},
    {"silent", 1, act_silent, false, Use::own},
    {"get_tcw", 0, act_get_tcw, true, Use::always},
    {"set_tcw", 1, act_set_tcw, false, Use::always},
    {"enable_trace", 1, act_enable_1, false, Use::own},
    {"enable_trace", 2, act_enable_2, false, Use::own},
    {"disable_trace", 1, act_disable_1, false, Use::own},
    {"disable_trace", 2, act_disable_2, false, Use::own},
    {"trace", 2, act_trace_2, false, Use::own},
    {"trace", 3, act_trace_3, false, Use::own},
};

struct TraceFunctions final : match_spec::TraceFunctions {
    Found find(Term form, match_spec::Dialect dialect, bool in_guard) const override {
        const std::string_view name = atom_table::text(tuple_element(form, 0));
        const size_t arity = tuple_arity(form) - 1;
        const Function* known = nullptr;
        for (const Function& f : kFunctions) {
            if (name != f.name || (f.is_plain() && arity != f.arity)) {
                continue;
            }
            known = &f;
            if (arity == f.arity && (f.in_guard || !in_guard) && f.means_something(dialect)) {
                const std::string wrong = problem_of_argument(f, form);
                return {wrong.empty() ? f.act : nullptr, wrong};
            }
        }
        return {nullptr, known != nullptr ? problem(*known, form, dialect, in_guard) : ""};
    }

private:
    // The depth of current_stacktrace has to be a number, and not an expression.
    static std::string problem_of_argument(const Function& f, Term form) {
        if (f.act != act_current_stacktrace_1) {
            return "";
        }
        const Term depth = tuple_element(form, 1);
        const char* wrong = !is_small(depth)          ? "non small argument."
                            : small_value(depth) < 0 ? "negative integer argument."
                                                      : nullptr;
        return wrong != nullptr
                   ? std::string("Special form 'current_stacktrace' called with ") + wrong
                   : "";
    }
    static std::string problem(const Function& f, Term form, match_spec::Dialect dialect,
                               bool in_guard) {
        const std::string name = f.name;
        if (f.is_plain()) {
            return "Function " + name + "/" + std::to_string(f.arity) +
                   " cannot be called in this context.";
        }
        if (!f.means_something(dialect)) {
            return "Special form '" + name + "' not allow for this trace event.";
        }
        if (in_guard && !f.in_guard) {
            return "Special form '" + name + "' called in guard context.";
        }
        return "Special form '" + name + "' called with " +
               (f.arity == 0 ? "arguments" : "wrong number of arguments") + " in " +
               display_term(form) + ".";
    }
};

// ---- running ------------------------------------------------------------------------------------

// True: it matches.
bool run_spec(const Spec* spec, Process& p, const Term* terms, uint32_t count, Context& context) {
    if (spec == nullptr || spec->program == nullptr) {
        return true;
    }
    if (spec->frames_always >= 0) {
        context.frames = spec->frames_always;
        return true;
    }
    const Exception kept = p.exception;
    const BifOutcome outcome = p.outcome;
    // What it builds stays valid: hit()'s caller collects, if need be, only after the hit.
    const Term value = Runner(p, *spec->program, true, &context).run(terms, count);
    p.exception = kept;
    p.outcome = outcome;
    return is_value(value);
}

Term call_term(Heap& h, const Breakpoint& b, const Term* x, bool arity_only) {
    Term args = make_small(b.arity);
    if (!arity_only) {
        args = kNil;
        for (uint32_t i = b.arity; i > 0; i--) {
            args = cons(h, x[i - 1], args);
        }
    }
    return make_tuple(h, b.module, b.function, args);
}

bool send_call(const Breakpoint& b, Process& p, const State& s, const Term* x,
               const Context& context) {
    const bool arity_only = (s.flags & kArity) != 0;
    if (is_recorder(s.tracer)) {
        to_recorder::call(b, s.session, x, arity_only, context.extra,
                          (context.frames & kFrameReturn) != 0 && has_room_for_frame(p));
        return true;
    }
    Heap h;
    const Term call = call_term(h, b, x, arity_only);
    const bool sent = send_event(
        p, s, {.kind = EventKind::call, .tag = atoms::call, .what = call, .result = context.extra});
    return sent;
}

// Whether a meta tracer exists and wants to be told of a call. One that has ended is not asked again.
bool wants_meta_call(const Process& p, const Action::Others& meta) {
    const Tracer& tracer = meta.meta_tracer;
    // relaxed: a call at the same time may ask once more, and finds the same.
    if (meta.meta_tracer_gone->load(std::memory_order_relaxed)) {
        return false;
    }
    if (!can_trace(tracer, p.id)) {
        // relaxed: as above.
        meta.meta_tracer_gone->store(true, std::memory_order_relaxed);
        return false;
    }
    return !tracer.is_module() || nif::tracer::ask(tracer, EventKind::call, atoms::call, p.id) ==
                                      nif::tracer::Answer::trace;
}

// Does a meta trace, and returns FrameFlags. Does nothing, not even run the specification, if the tracer has ended.
int64_t hit_meta(const Breakpoint& b, const Action& action, uint32_t session, Process& p,
                 const Term* x, CallerOf caller) {
    const Tracer& whose = action.others().meta_tracer;
    if (!is_recorder(whose) && !wants_meta_call(p, action.others())) {
        return 0;
    }
    Context context;
    context.called = &b;
    context.caller_of = caller;
    context.tracer = &whose;
    context.session = session;
    if (!run_spec(action.others().meta_spec.get(), p, x, b.arity, context)) {
        return 0;
    }
    if (!context.no_message) {
        const Tracer tracer = Tracer::borrowed(whose.term());
        send_call(b, p, State{kTimestamp, tracer, session}, x, context);
    }
    return context.frames;
}

// Traces a call, and returns FrameFlags. The event goes to the tracer from before the specification's actions, by the
// flags that they leave.
int64_t hit_call(const Breakpoint& b, const Action& action, Process& p, const State* s,
                 const Term* x, CallerOf caller) {
    if (s->tracer.is(p.id)) {
        return 0;  // a process is not told of itself
    }
    if (MINIVM_UNLIKELY(is_saver(s->tracer))) {
        saved_calls::save(p, b.module, b.function, b.arity);
        return 0;
    }
    if (MINIVM_UNLIKELY(s->tracer.is_module())) {
        if (!wants_call(p, *s)) {
            return 0;
        }
    } else if (action.call_spec != nullptr && !can_trace(s->tracer, p.id)) {
        clear_flags(p, s->session);
        return 0;
    }
    Context context;
    context.called = &b;
    context.caller_of = caller;
    context.tracer = &s->tracer;
    context.session = s->session;
    State by{s->flags, Tracer::borrowed(s->tracer.term()), s->session};
    if (action.call_spec != nullptr) {
        if (!run_spec(action.call_spec.get(), p, x, b.arity, context)) {
            return 0;
        }
        s = state_of(p, by.session);
        by.flags = s != nullptr ? s->flags : 0;
    }
    if ((by.flags & kSilent) != 0) {
        return 0;
    }
    if (context.no_message) {
        return context.frames;
    }
    if (!send_call(b, p, by, x, context)) {
        clear_flags(p, by.session);
        return 0;
    }
    const bool returns_to = (by.flags & kReturnTo) != 0 && !action.global;
    return context.frames | (returns_to ? int64_t{kFrameReturnTo} : 0);
}

// Does what a session's action says for a call; does: the part of action.does that applies.
[[gnu::always_inline]] inline void perform(const Breakpoint& b, const Action& action, uint8_t does,
                                           uint32_t session, Process& p, const Term* x,
                                           CallerOf caller, CallNeeds* asked) {
    if ((does & Action::kCounts) != 0) {
        action.others().counted->add(p.scheduler != nullptr ? p.scheduler->number : 0);
    }
    if ((does & (Action::kCalls | Action::kClocks)) != 0) {
        const State* s = state_of(p, session);
        if (s != nullptr && (s->flags & kCall) != 0) {
            if ((does & Action::kClocks) != 0) {
                asked->time = action.time_paused ? nullptr : action.others().times.get();
                asked->memory = action.memory_paused ? nullptr : action.others().words.get();
            }
            if ((does & Action::kCalls) != 0 && !records::is_sensitive(p)) {
                asked->call = hit_call(b, action, p, s, x, caller);
            }
        }
    }
    // The meta tracer is told behind the process's own, as in OTP.
    if ((does & Action::kMeta) != 0 && !action.others().meta_tracer.is(p.id) &&
        !records::is_sensitive(p)) {
        asked->meta = hit_meta(b, action, session, p, x, caller);
    }
}

// The same for the sessions other than 0. Calls of a session's tracer are counted, but it is not told of them.
void hit_sessions(const Breakpoint& b, Process& p, const Term* x,
                  CallerOf caller, Frames* frames) {
    for (const SessionAction& of : active_sessions(b)) {
        SessionFrames f;
        f.session = of.session;
        const uint8_t mask = of.tracer.is(p.id) ? uint8_t{Action::kCounts} : uint8_t{0xff};
        perform(b, of.action, of.action.does & mask, of.session, p, x, caller, &f);
        if (f.meta != 0 && !is_tracer(of.tracer.term())) {
            f.meta_tracer = &of.action.others().meta_tracer;
        }
        if (!f.none()) {
            frames->of_sessions.push_back(f);
        }
    }
}

// The arguments as traces show them. A call within a match of a bit string passes the match context: the
// bits that are left stand for it.
const Term* shown_arguments(Process& p, const Term* x, uint32_t arity, Term* shown) {
    const auto is_context = [](Term t) { return is_match_context(t); };
    if (std::none_of(x, x + arity, is_context)) {
        return x;
    }
    for (uint32_t i = 0; i < arity; ++i) {
        shown[i] = is_context(x[i]) ? semantics::bs_get_tail(p, x[i]) : x[i];
    }
    return shown;
}

}  // namespace

Frames hit(const Breakpoint& b, Process& p, const Term* x, CallerOf caller) {
    const Action& action = active(b);
    Frames frames;
    Term shown[255];  // a function has no more
    if ((action.does & (Action::kMeta | Action::kCalls | Action::kSessions)) != 0) {
        x = shown_arguments(p, x, b.arity, shown);
    }
    perform(b, action, action.does, 0, p, x, caller, &frames);
    frames.meta_tracer = &action.others().meta_tracer;
    if (MINIVM_UNLIKELY((action.does & Action::kSessions) != 0)) {
        hit_sessions(b, p, x, caller, &frames);
    }
    return frames;
}

// FrameFlags that the body of a clause asks for. Negative: the body does something else.
static int8_t frames_of_body(Term body) {
    int64_t frames = 0;
    for (; is_cons(body); body = tail(body)) {
        const Term what = is_tuple_of(head(body), 1) ? tuple_element(head(body), 0) : kNonValue;
        if (what == atom_return_trace()) {
            frames |= kFrameReturn;
        } else if (what == atom_exception_trace()) {
            frames |= kFrameReturn | kFrameException;
        } else {
            return -1;
        }
    }
    return static_cast<int8_t>(frames);
}
// Fills in Spec::frames and frames_always, of a specification for calls.
static void note_frames(Spec* spec) {
    for (const match_spec::Clause& c : spec->program->clauses()) {
        spec->frames.push_back(frames_of_body(c.body));
    }
    const Term* first = tuple_elements(head(spec->term));
    if (first[0] == atoms::underscore && is_nil(first[1])) {
        spec->frames_always = spec->frames.front();
    }
    if (std::count(spec->frames.begin(), spec->frames.end(), -1) != 0) {
        spec->frames.clear();
    }
}

bool make_spec(Term t, SpecPtr* out, match_spec::Dialect dialect) {
    out->reset();
    if (t == atoms::true_ || is_nil(t)) {
        return true;
    }
    auto spec = std::make_shared<Spec>();
    spec->program = Program::compile(t, nullptr, dialect);
    if (spec->program == nullptr) {
        return false;
    }
    spec->term = copy_term(t, spec->heap, false);
    if (dialect == match_spec::Dialect::call) {
        note_frames(spec.get());
    }
    *out = std::move(spec);
    return true;
}

bool event_matches(Process& p, uint32_t session, const SpecPtr& spec, const Term* terms,
                   uint32_t count, Term* extra) {
    Context context;
    context.session = session;
    if (!run_spec(spec.get(), p, terms, count, context) || context.no_message) {
        return false;
    }
    *extra = context.extra;
    return true;
}

Term test_spec(Process& p, const Term* a) {
    if (!is_list(a[0])) {
        return badarg(p);
    }
    std::vector<std::string> problems;
    const std::unique_ptr<Program> program =
        Program::compile(a[1], &problems, match_spec::Dialect::call);
    if (program == nullptr) {
        return match_spec::problems_term(p.heap, problems);
    }
    std::vector<Term> args;  // the list may be improper
    for (Term l = a[0]; is_cons(l); l = tail(l)) {
        args.push_back(head(l));
    }
    Context context;
    context.acts = false;
    const Term value =
        Runner(p, *program, true, &context).run(args.data(), static_cast<uint32_t>(args.size()));
    Term flags = kNil;
    if ((context.frames & kFrameException) != 0) {
        flags = cons(p.heap, atom_exception_trace(), flags);
    }
    if (context.return_trace) {
        flags = cons(p.heap, atom_return_trace(), flags);
    }
    const Term result = !is_value(value) || context.no_message ? atoms::false_
                        : is_value(context.extra)              ? context.extra
                                                               : atoms::true_;
    return make_tuple(p.heap, atoms::ok, result, flags, kNil);
}

void init_actions() {
    static const TraceFunctions functions;
    match_spec::g_trace_functions = &functions;
}

}  // namespace trace
}  // namespace minivm
