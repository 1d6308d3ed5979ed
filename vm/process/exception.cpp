#include "vm/process/exception.hpp"

#include <algorithm>
#include <iterator>

#include "vm/code/export.hpp"
#include "vm/code/loading.hpp"
#include "vm/code/module_table.hpp"
#include "vm/process/engine_calls.hpp"
#include "vm/process/extra.hpp"
#include "vm/process/gc.hpp"
#include "vm/process/outcome.hpp"
#include "vm/process/scheduling.hpp"
#include "vm/process/tracing.hpp"
#include "vm/term/arguments.hpp"
#include "vm/term/atom_table.hpp"
#include "vm/term/map.hpp"

namespace minivm {

std::atomic<int> g_backtrace_depth{8};

namespace {

constexpr int kMaxBacktraceDepth = 64;

void raise_from_code(Process& p, ExceptionClass cls, Term reason) {
    p.exception = Exception{};
    p.exception.cls = cls;
    p.exception.reason = reason;
    p.outcome = BifOutcome::exception;
}

Term class_atom(ExceptionClass c) {
    switch (c) {
        case ExceptionClass::exit:
            return atoms::exit;
        case ExceptionClass::throw_:
            return atoms::throw_;
        default:
            return atoms::error;
    }
}

bool class_of(Term atom, ExceptionClass* out) {
    if (atom == atoms::error) {
        *out = ExceptionClass::error;
    } else if (atom == atoms::exit) {
        *out = ExceptionClass::exit;
    } else if (atom == atoms::throw_) {
        *out = ExceptionClass::throw_;
    } else {
        return false;
    }
    return true;
}

struct Frames {
    FunctionInfo info[kMaxBacktraceDepth + 1];
    int count = 0;
};

// The functions on the stack from `from` up: at most `limit`. A repeated return address (plain recursion)
// counts once, as in OTP.
void collect_frames(const Term* from, const Term* base, const void* previous, int code_ix,
                    int limit, Frames* out) {
    for (const Term* w = from; w < base && out->count < limit; ++w) {
        if (!is_header(w->raw) || tracing::is_return_word(*w)) {
            continue;
        }
        const void* address = reinterpret_cast<const void*>(w->raw - kTagHeader);
        if (address == previous) {
            continue;
        }
        // Transition words between the engines are in no module and belong to no frame.
        if (module_table::lookup(address, code_ix, true, &out->info[out->count])) {
            previous = address;
            ++out->count;
        }
    }
}

// Keeps {file, File} of the last file: most frames of a trace are from few files.
struct FileTuple {
    Term file = kNonValue;
    Term tuple = kNonValue;
    Term of(Heap& h, Term wanted) {
        if (wanted != file) {
            const std::string_view name = atom_table::text(wanted);
            file = wanted;
            tuple = make_tuple(h, atoms::file, make_string_utf8(h, name.data(), name.size()));
        }
        return tuple;
    }
};

// [{file, File}, {line, Line}, {error_info, Info}], without unknown ones.
Term location_list(Heap& h, Term file, uint32_t line, Term error_info, FileTuple* files) {
    Term last = kNil;
    if (is_value(error_info)) {
        last = cons(h, make_tuple(h, atoms::error_info, error_info), kNil);
    }
    if (line == 0 || file == kNil) {
        return last;
    }
    const Term line_tuple = make_tuple(h, atoms::line, make_small(line));
    return cons(h, files->of(h, file), cons(h, line_tuple, last));
}

constexpr size_t kWordsPerFrame = 4;

// Writes a frame's four terms (see exception.hpp).
void put_frame(Term* at, const FunctionInfo& f) {
    at[0] = f.module;
    at[1] = f.function;
    at[2] = make_small(static_cast<int64_t>(f.line) << 8 | f.arity);
    at[3] = f.file;
}

// Whether a process that began with erlang:apply/2 failed in that call: the fun does not take the arguments, or apply
// itself raised. In OTP apply/2 is an Erlang function, so it has an entry in the trace.
bool failed_to_begin(const Process& p) {
    static const Export* const apply = export_table::get(atoms::erlang, atoms::apply, 2);
    const Exception& e = p.exception;
    if (p.initial_call != apply) {
        return false;
    }
    if (e.bif != nullptr || is_value(e.top_module)) {
        return e.bif != nullptr && e.bif->exp == apply;
    }
    return e.cls == ExceptionClass::error && is_tuple_of(e.reason, 2) &&
           (tuple_element(e.reason, 0) == atoms::badfun || tuple_element(e.reason, 0) == atoms::badarity);
}

Term build_raw_trace(Process& p, const void* fault, int code_ix) {
    Exception& e = p.exception;
    Frames frames;
    int limit = g_backtrace_depth;
    if (limit > kMaxBacktraceDepth) {
        limit = kMaxBacktraceDepth;
    }
    Term top = kNil;
    FileTuple files;
    const bool has_own_top = e.bif != nullptr || is_value(e.top_module);
    FunctionInfo faulting{};
    if (fault != nullptr && module_table::lookup(fault, code_ix, false, &faulting)) {
        // A library's function has one entry, with its arguments, and none for the Erlang body that it replaces.
        const bool is_nif = e.bif != nullptr && e.bif->has_any(kBifNative) &&
                            e.bif->exp->module == faulting.module &&
                            e.bif->exp->function == faulting.function &&
                            e.bif->exp->arity == faulting.arity;
        if (!is_nif) {
            frames.info[frames.count++] = faulting;
        }
    }
    // The depth counts all entries, including that of the BIF or the undefined function.
    collect_frames(p.heap.end, p.stack_base, nullptr, code_ix, limit - (has_own_top ? 1 : 0),
                   &frames);
    if (frames.count == 0 && failed_to_begin(p)) {
        frames.info[frames.count++] = FunctionInfo{atoms::erlang, atoms::apply, 2, nullptr, 0, kNil};
    }
    int first = 0;
    if (has_own_top) {
        Term m = e.top_module;
        Term f = e.top_function;
        if (!is_value(m)) {
            m = e.bif->exp->module;
            f = e.bif->exp->function;
        }
        Term info = kNil;
        if (is_value(e.error_info)) {
            info = cons(p.heap, make_tuple(p.heap, atoms::error_info, e.error_info), kNil);
        }
        const Term args =
            is_value(e.args) ? e.args : make_small(e.bif != nullptr ? e.bif->arity : 0);
        top = make_tuple(p.heap, m, f, args, info);
    } else if (is_value(e.args) && frames.count > 0 && e.reason == atoms::function_clause &&
               !e.caller_raised) {
        const FunctionInfo& f = frames.info[0];
        top = make_tuple(p.heap, f.module, f.function, e.args);
    } else if (is_value(e.args) && frames.count > 0) {
        const FunctionInfo& f = frames.info[0];
        const Term info = location_list(p.heap, f.file, f.line, e.error_info, &files);
        top = make_tuple(p.heap, f.module, f.function, e.args, info);
        first = 1;
    } else if (is_value(e.error_info) && frames.count > 0) {
        const FunctionInfo& f = frames.info[0];
        const Term info = location_list(p.heap, f.file, f.line, e.error_info, &files);
        top = make_tuple(p.heap, f.module, f.function, make_small(f.arity), info);
        first = 1;
    }
    const size_t n = static_cast<size_t>(frames.count - first);
    Term* t = p.heap.alloc(3 + kWordsPerFrame * n);
    t[0] = Term{make_header(Kind::tuple, 2 + kWordsPerFrame * n)};
    t[1] = class_atom(e.cls);
    t[2] = top;
    for (size_t i = 0; i < n; ++i) {
        put_frame(t + 3 + kWordsPerFrame * i, frames.info[static_cast<size_t>(first) + i]);
    }
    return make_boxed(t);
}

// Of a raw trace, which code that no compiler wrote may have made of any terms.
Term frame_entry(Heap& h, const Term* frame, FileTuple* files, Term args = kNonValue) {
    const int64_t packed = is_small(frame[2]) ? small_value(frame[2]) : 0;
    const Term file = is_atom(frame[3]) ? frame[3] : kNil;
    const Term where = location_list(h, file, static_cast<uint32_t>(packed >> 8), kNonValue, files);
    return make_tuple(h, frame[0], frame[1], is_value(args) ? args : make_small(packed & 0xFF),
                      where);
}

// Whether the raw trace is one of a function_clause: no clause of the first frame's function matched.
bool begins_with_function_clause(Term raw_trace) {
    const Term top = tuple_element(raw_trace, 1);
    return is_tuple(top) && tuple_arity(top) == 3 && tuple_arity(raw_trace) >= 2 + kWordsPerFrame;
}

const char* operator_name(Op op) {
    switch (op) {
        case Op::add:
            return "+";
        case Op::sub:
        case Op::neg:
            return "-";
        case Op::mul:
            return "*";
        case Op::int_div:
            return "div";
        case Op::send:
            return "send";
        default:
            return instr_info(op).name;
    }
}

}  // namespace

Term args_list(Process& p, const Term* x, uint32_t n) {
    return list_of(p.heap, {x, n});
}

// ---- raising ------------------------------------------------------------------------------------

void raise_code_error(Process& p, Term reason) {
    raise_from_code(p, ExceptionClass::error, reason);
}

void raise_tagged(Process& p, Term tag, Term value) {
    raise_from_code(p, ExceptionClass::error, make_tuple(p.heap, tag, value));
}

void raise_function_clause(Process& p, uint32_t arity, const Term* x) {
    raise_from_code(p, ExceptionClass::error, atoms::function_clause);
    p.exception.args = args_list(p, x, arity);
}

static bool is_apply_of_apply(uint32_t arity, const Term* x) {
    return x[arity + 1] == atoms::apply && x[arity] == atoms::erlang && arity == 3;
}

void raise_bad_apply(Process& p, uint32_t arity, const Term* x) {
    badarg(p);
    p.exception.top_module = atoms::erlang;
    p.exception.top_function = atoms::apply;
    if (is_apply_of_apply(arity, x)) {
        p.exception.args = args_list(p, x, arity);
        return;
    }
    const Term args = args_list(p, x, arity);
    p.exception.args = cons(p.heap, x[arity], cons(p.heap, x[arity + 1], cons(p.heap, args, kNil)));
}

void raise_bad_fun(Process& p, Term fun, uint32_t arity, const Term* x) {
    if (!is_fun(fun)) {
        raise_tagged(p, atoms::badfun, fun);
        return;
    }
    const Term args = args_list(p, x, arity);
    raise_tagged(p, atoms::badarity, make_tuple(p.heap, fun, args));
}

Term raise_fun_is_gone(Process& p, Term fun) {
    raise_tagged(p, atoms::badfun, fun);
    p.exception.caller_raised = true;
    return kNonValue;
}

void raise_undef(Process& p, Term module, Term function, uint32_t arity, const Term* x) {
    raise_from_code(p, ExceptionClass::error, atoms::undef);
    p.exception.top_module = module;
    p.exception.top_function = function;
    p.exception.args = args_list(p, x, arity);
}

void raise_again(Process& p, Term raw_trace, Term reason) {
    ExceptionClass cls = ExceptionClass::error;
    if (is_tuple(raw_trace) && tuple_arity(raw_trace) >= 2) {
        class_of(tuple_element(raw_trace, 0), &cls);
    }
    raise_from_code(p, cls, reason);
    p.exception.save_trace = false;
    p.exception.trace = raw_trace;
}

bool raise_raw(Process& p, Term cls, Term reason, Term trace) {
    ExceptionClass c;
    if (!class_of(cls, &c)) {
        return false;
    }
    raise_from_code(p, c, reason);
    p.exception.save_trace = false;
    // The class may differ from the one in the trace. And a function_clause loses its file and line here,
    // as in OTP, which looks for them only if the saved reason is function_clause.
    if (is_tuple(trace) && tuple_arity(trace) >= 2 &&
        (tuple_element(trace, 0) != cls || begins_with_function_clause(trace))) {
        const size_t n = tuple_arity(trace);
        Term* copy = p.heap.alloc(n + 1);
        std::memcpy(copy, boxed_ptr(trace), (n + 1) * sizeof(Term));
        copy[1] = cls;
        if (begins_with_function_clause(trace)) {
            copy[2 + kWordsPerFrame] = kNil;
        }
        trace = make_boxed(copy);
    } else if (is_list(trace)) {
        trace = make_tuple(p.heap, cls, trace);
    }
    p.exception.trace = trace;
    return true;
}

void set_operator_args(Process& p, Op op, Term a, Term b) {
    const uint8_t arity = is_value(b) ? 2 : 1;
    const Term f = atom_table::intern(operator_name(op));
    if (const BifDef* bif = bif_registry::find(atoms::erlang, f, arity)) {
        const Term args[2] = {a, b};
        set_bif_args(p, *bif, args);
    }
}

namespace {

// The module that explains errors of BIFs of `module`; the non-value: none.
Term explaining_module(std::string_view module) {
    for (const char* m : {"erlang", "erts_internal", "atomics", "counters", "persistent_term"}) {
        if (module == m) {
            return atoms::erl_erts_errors;
        }
    }
    for (const char* m : {"binary", "ets", "lists", "maps", "math", "re", "unicode"}) {
        if (module == m) {
            return atoms::erl_stdlib_errors;
        }
    }
    return module == "os" || module == "code" ? atom_table::intern("erl_kernel_errors") : kNonValue;
}

// The BIF may have set erl_erts_errors as the explaining module, or none: sets the right one.
void correct_error_info(Process& p, const BifDef& bif) {
    Exception& e = p.exception;
    const Term module = explaining_module(bif.module);
    if (!is_value(e.error_info)) {
        if (is_value(module)) {
            e.error_info = map::put(p.heap, map::empty(p.heap), atoms::module, module);
        }
    } else if (map::get(e.error_info, atoms::module) == atoms::erl_erts_errors &&
               module != atoms::erl_erts_errors) {
        e.error_info = is_value(module) ? map::put(p.heap, e.error_info, atoms::module, module)
                                        : kNonValue;
    }
}

}  // namespace

void set_bif_args(Process& p, const BifDef& bif, const Term* args) {
    Exception& e = p.exception;
    // error/1, exit/1 and the like raise in the name of their caller.
    if (e.caller_raised || e.bif != nullptr || is_value(e.top_module)) {
        return;
    }
    e.bif = &bif;
    e.args = args_list(p, args, bif.arity);
    if (e.cls == ExceptionClass::error) {
        correct_error_info(p, bif);
    }
}

Term caught_value(Process& p, Term cls, Term reason, Term raw_trace) {
    if (cls == atoms::throw_) {
        return reason;
    }
    if (cls == atoms::error) {
        reason = make_tuple(p.heap, reason, stacktrace_list(p, raw_trace));
    }
    return make_tuple(p.heap, atoms::EXIT, reason);
}

Term stacktrace_list(Process& p, Term raw_trace) {
    if (!is_tuple(raw_trace) || tuple_arity(raw_trace) < 2) {
        return is_list(raw_trace) ? raw_trace : kNil;
    }
    const size_t n = tuple_arity(raw_trace);
    const Term* t = tuple_elements(raw_trace);
    if (n == 2 && is_cons(t[1])) {
        return t[1];
    }
    Term list = kNil;
    FileTuple files;
    const size_t first = begins_with_function_clause(raw_trace) ? 2 + kWordsPerFrame : 2;
    for (size_t i = 2 + kWordsPerFrame * ((n - 2) / kWordsPerFrame); i > first;
         i -= kWordsPerFrame) {
        list = cons(p.heap, frame_entry(p.heap, t + i - kWordsPerFrame, &files), list);
    }
    if (begins_with_function_clause(raw_trace)) {
        return cons(p.heap, frame_entry(p.heap, t + 2, &files, tuple_element(t[1], 2)), list);
    }
    return is_tuple(t[1]) ? cons(p.heap, t[1], list) : list;
}

Term current_stacktrace(Process& p, Heap& h, const void* pc, int code_ix, size_t limit) {
    Frames frames;
    FunctionInfo top{};
    int n = static_cast<int>(limit < kMaxBacktraceDepth ? limit : kMaxBacktraceDepth);
    if (pc != nullptr && module_table::lookup(pc, code_ix, false, &top)) {
        frames.info[frames.count++] = top;
    }
    collect_frames(p.heap.end, p.stack_base, nullptr, code_ix, n, &frames);
    Term list = kNil;
    FileTuple files;
    for (int i = frames.count; i > 0; --i) {
        Term frame[kWordsPerFrame];
        put_frame(frame, frames.info[i - 1]);
        list = cons(h, frame_entry(h, frame, &files), list);
    }
    return list;
}

// ---- BIF calls ----------------------------------------------------------------------------------

Term call_bif_slow(Process& p, const BifDef& bif, Term* x) {
    p.x = x;
    if (bif.has_any(kBifTraced)) {
        return tracing::g_hooks->bif_call(p, bif, x);
    }
    return call_bif_untraced(p, bif, x);
}

Term call_bif_untraced(Process& p, const BifDef& bif, Term* x) {
    if (bif.has_any(kBifNative)) {
        see_native(bif);
    }
    if (!bif.has_any(kBifDirtyCpu | kBifDirtyIo)) {
        const Term r = bif.has_any(kBifNative)
                           ? call_native(p, bif, x)
                           : bif.fn(p, x);
        if (!is_value(r) && p.outcome == BifOutcome::exception) {
            set_bif_args(p, bif, x);
        }
        return r;
    }
    p.dirty_bif = &bif;
    p.outcome = BifOutcome::dirty;
    return kNonValue;
}

// ---- unwinding ----------------------------------------------------------------------------------

bool unwind(Process& p, Term* x, int code_ix) {
    Exception& e = p.exception;
    const Term trace = e.save_trace ? build_raw_trace(p, p.pc, code_ix) : e.trace;
    if (MINIVM_UNLIKELY(p.in_receive_examine)) {  // the reason may be a part of the message, which stays in the queue
        attach_examined_message(p);
        p.in_receive_examine = false;
    }
    Term* frame = p.heap.end;
    bool traced = tracing::has_unfinished_bif(p);  // a traced BIF has raised the exception
    for (Term* w = p.heap.end; w < p.stack_base; ++w) {
        if (is_header(w->raw)) {
            frame = w + 1;
            traced |= tracing::is_return_word(*w);
        } else if (is_catch(*w)) {
            const catch_table::Handler handler = catch_table::get(catch_index(*w));
            if (MINIVM_UNLIKELY(traced)) {
                tracing::g_hooks->unwound(p, p.heap.end, frame, handler.address, class_atom(e.cls), e.reason);
            }
            p.pc = static_cast<const Word*>(handler.address);
            p.pc_is_native = handler.is_native;
            p.heap.end = frame;
            p.drop_frame_pointers();
            x[0] = kNonValue;
            x[1] = class_atom(e.cls);
            x[2] = e.reason;
            x[3] = trace;
            e = Exception{};
            return true;
        }
    }
    if (MINIVM_UNLIKELY(traced)) {
        tracing::g_hooks->unwound(p, p.heap.end, p.stack_base, nullptr, class_atom(e.cls), e.reason);
    }
    e.trace = trace;
    return false;
}

bool trap_keeps_caller(const Process& p) {
    return (p.outcome == BifOutcome::trap && keeps_caller(p.trap_export)) ||
           tracing::has_unfinished_bif(p);
}

uint32_t trap_live(const Process& p) {
    return p.outcome == BifOutcome::trap_fun ? p.trap_arity + 1 : p.trap_export->arity;
}

bool keeps_caller(const Export* e) {
    static const Export* const all[] = {
        bif_export("erlang", "error", 1), bif_export("erlang", "error", 2),
        bif_export("erlang", "error", 3), bif_export("erlang", "exit", 1),
        bif_export("erlang", "throw", 1)};
    return std::find(std::begin(all), std::end(all), e) != std::end(all);
}

const Export* applied(uint32_t* arity, Term* x) {
    constexpr int64_t kMaxArguments = 255;
    while (MINIVM_UNLIKELY(is_apply_of_apply(*arity, x))) {
        const Term module = x[0];
        const Term function = x[1];
        const int64_t n = list_length(x[2]);
        if (!is_atom(module) || !is_atom(function) || n < 0) {
            return nullptr;
        }
        if (n > kMaxArguments) {
            break;  // no function has so many
        }
        Term* to = x;
        for (Term l = x[2]; is_cons(l); l = tail(l)) {
            *to++ = head(l);
        }
        *to++ = module;
        *to = function;
        *arity = static_cast<uint32_t>(n);
    }
    const Term module = x[*arity];
    const Term function = x[*arity + 1];
    return is_atom(module) && is_atom(function) ? export_table::get(module, function, *arity)
                                                : nullptr;
}

}  // namespace minivm
