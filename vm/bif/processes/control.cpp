// Calls, exceptions, funs and code: the BIFs of erlang that steer execution.
#include "vm/bif/bif.hpp"
#include "vm/bif/code/fun_references.hpp"
#include "vm/code/loading.hpp"
#include "vm/nif/nif.hpp"
#include "vm/process/exception.hpp"
#include "vm/process/report.hpp"
#include "vm/progress/thread_progress.hpp"
#include "vm/record/record.hpp"
#include "vm/sched/scheduler.hpp"
#include "vm/util/otp_release.hpp"
#include "vm/term/atom_table.hpp"
#include "vm/term/format.hpp"

#include <algorithm>
#include <vector>

namespace minivm {
namespace {

constexpr int64_t kMaxArgs = 255;

// ---- apply --------------------------------------------------------------------------------------------

Term erlang_apply_2(Process& p, const Term* a) {
    const Term fun = a[0];
    const Term args = a[1];
    const int64_t n = list_length(args);
    if (n < 0) {
        return badarg(p);
    }
    if (n > kMaxArgs) {
        return system_limit(p);
    }
    uint32_t i = 0;
    for (Term l = args; is_cons(l); l = tail(l)) {
        p.x[i++] = head(l);
    }
    p.x[i] = fun;
    return trap_fun(p, i);
}

Term erlang_apply_3(Process& p, const Term* a) {
    const Term m = a[0];
    const Term f = a[1];
    const int64_t n = list_length(a[2]);
    if (!is_atom(m) || !is_atom(f) || n < 0) {
        return badarg(p);
    }
    if (n > kMaxArgs) {
        // No function has so many arguments: it is undefined, like any other that does not exist.
        constexpr int64_t kMaxApplied = 1023;
        static const Export* const undefined = export_table::get(
            atoms::error_handler, atom_table::intern("undefined_function"), 3);
        return n > kMaxApplied ? system_limit(p) : trap(p, undefined, {m, f, a[2]});
    }
    uint32_t i = 0;
    for (Term l = a[2]; is_cons(l); l = tail(l)) {
        p.x[i++] = head(l);
    }
    p.trap_export = export_table::get(m, f, static_cast<uint32_t>(n));
    p.outcome = BifOutcome::trap;
    return kNonValue;
}

// The code server loads modules with an on_load function, because it waits for that function.
Term via_code_server(Process& p, const char* function, Term a, Term b, Term c) {
    const Export* e = export_table::get(atom_table::intern("code_server"), atom_table::intern(function),
                                        is_value(c) ? 3 : 2);
    return is_value(c) ? trap(p, e, {a, b, c}) : trap(p, e, {a, b});
}

ModuleSource::Loaded load_module(Term module, std::string* why) {
    return g_module_source != nullptr ? g_module_source->load(module, why)
                                      : ModuleSource::Loaded::not_found;
}

// A function of the library tree's kernel application.
const Export* raiser_of_undef() {
    static const Export* const e = export_table::get(
        atoms::error_handler, atom_table::intern("raise_undef_exception"), 3);
    return e;
}

bool is_function_loaded(Term m, Term f, Term args) {
    const thread_progress::DelaySection section;
    const Export* e = export_table::find(m, f, static_cast<uint32_t>(list_length(args)));
    return e != nullptr && export_table::is_loaded(e, code_index::active());
}

// minivm:apply_loaded(M, F, Args): as apply, but loads nothing: a function that is not loaded is undef.
Term minivm_apply_loaded_3(Process& p, const Term* a) {
    const Term m = a[0];
    const Term f = a[1];
    const Term args = a[2];
    const int64_t length = list_length(args);
    if (!is_atom(m) || !is_atom(f) || length < 0 || length > kMaxArgs) {
        return badarg(p);
    }
    const uint32_t n = static_cast<uint32_t>(length);
    Export* e = export_table::get(m, f, n);
    // After a load this runs on a dirty scheduler, which is no managed thread: the section keeps the code index.
    const thread_progress::DelaySection section;
    Term x[kMaxArgs + 1];
    uint32_t i = 0;
    for (Term l = args; is_cons(l); l = tail(l)) {
        x[i++] = head(l);
    }
    if (export_table::is_loaded(e, code_index::active())) {
        std::copy(x, x + n, p.x);
        p.trap_export = e;
        p.outcome = BifOutcome::trap;
        return kNonValue;
    }
    const Export* handler = export_table::find(m, atoms::handle_undefined_function, 2);
    if (handler != nullptr && export_table::is_loaded(handler, code_index::active())) {
        return trap(p, handler, {f, args});
    }
    // It raises the same exception, by calls that can be traced.
    if (export_table::is_loaded(raiser_of_undef(), code_index::active())) {
        return trap(p, raiser_of_undef(), {m, f, args});
    }
    raise_undef(p, m, f, n, x);
    return kNonValue;
}

// On a dirty scheduler: the module of a call is not loaded.
Term minivm_load_and_apply_3(Process& p, const Term* a) {
    std::string why;
    const ModuleSource::Loaded loaded = load_module(a[0], &why);
    if (loaded == ModuleSource::Loaded::yes) {
        MINIVM_EVENT(code_load_demand, records::atom(a[0]),
                     records::function(a[0], a[1], static_cast<uint32_t>(list_length(a[2]))));
    } else if (loaded != ModuleSource::Loaded::wants_on_load) {
        MINIVM_EVENT(code_load_failed, records::atom(a[0]),
                     why.empty() ? std::string_view("not found") : std::string_view(why));
    }
    if (loaded == ModuleSource::Loaded::wants_on_load) {
        return via_code_server(p, "load_and_apply", a[0], a[1], a[2]);
    }
    if (loaded == ModuleSource::Loaded::failed) {
        report_load_failure(p, a[0], why);
    }
    if (!is_function_loaded(a[0], a[1], a[2])) {
        load_module(atoms::error_handler, &why);  // see minivm_apply_loaded_3()
    }
    return minivm_apply_loaded_3(p, a);
}

// On a dirty scheduler: the module of a fun is not loaded, or has no such fun any more.
Term minivm_load_and_apply_fun_3(Process& p, const Term* a) {
    std::string why;
    switch (load_module(a[0], &why)) {
        case ModuleSource::Loaded::wants_on_load:
            return via_code_server(p, "load_and_apply_fun", a[0], a[1], a[2]);
        case ModuleSource::Loaded::failed:
            report_load_failure(p, a[0], why);
            return via_code_server(p, "undefined_fun", a[1], a[2], kNonValue);
        case ModuleSource::Loaded::not_found:
            return via_code_server(p, "undefined_fun", a[1], a[2], kNonValue);
        case ModuleSource::Loaded::yes:
            break;
    }
    const thread_progress::DelaySection section;  // as in minivm_apply_loaded_3()
    if (!fun_table::is_loaded(fun_entry(a[1]), code_index::active())) {
        return raise_fun_is_gone(p, a[1]);
    }
    const Term args[2] = {a[1], a[2]};
    return erlang_apply_2(p, args);
}

// minivm:fun_is_loaded(Fun): whether its code is loaded.
Term minivm_fun_is_loaded_1(Process&, const Term* a) {
    return make_bool(is_local_fun(a[0]) &&
                     fun_table::is_loaded(fun_entry(a[0]), code_index::active()));
}

// minivm:ensure_loaded(Module) -> true | false | on_load | {error, Text}
Term minivm_ensure_loaded_1(Process& p, const Term* a) {
    if (!is_atom(a[0])) {
        return badarg(p);
    }
    std::string why;
    switch (load_module(a[0], &why)) {
        case ModuleSource::Loaded::yes:
            return atoms::true_;
        case ModuleSource::Loaded::not_found:
            return atoms::false_;
        case ModuleSource::Loaded::wants_on_load:
            return atoms::on_load;
        case ModuleSource::Loaded::failed:
            break;
    }
    return make_tuple(p.heap, atoms::error, make_string_utf8(p.heap, why.data(), why.size()));
}

// ---- exceptions -----------------------------------------------------------------------------------------

Term raised_by_caller(Process& p) {
    p.exception.caller_raised = true;
    return kNonValue;
}
Term erlang_error_1(Process& p, const Term* a) {
    error(p, a[0]);
    return raised_by_caller(p);
}
Term erlang_error_2(Process& p, const Term* a) {
    error(p, a[0]);
    if (is_list(a[1])) {  // improper ones too: it is only shown
        p.exception.args = a[1];
    }
    return raised_by_caller(p);
}
Term erlang_error_3(Process& p, const Term* a) {
    // Options: [{error_info, Map}]; wrong ones count as none.
    Term info = kNonValue;
    Term l = a[2];
    for (; is_cons(l); l = tail(l)) {
        const Term option = head(l);
        if (!is_tuple_of(option, 2) || tuple_element(option, 0) != atoms::error_info ||
            !is_map(tuple_element(option, 1))) {
            break;
        }
        info = tuple_element(option, 1);
    }
    if (!is_nil(l)) {
        info = kNonValue;
    }
    error(p, a[0]);
    if (is_list(a[1])) {  // as in error/2
        p.exception.args = a[1];
    }
    p.exception.error_info = info;
    return raised_by_caller(p);
}
Term erlang_exit_1(Process& p, const Term* a) {
    exit_(p, a[0]);
    return raised_by_caller(p);
}
Term erlang_throw_1(Process& p, const Term* a) {
    throw_(p, a[0]);
    return raised_by_caller(p);
}
// Unlike error/1,2 these have an entry of their own in the stack trace.
Term erlang_nif_error(Process& p, const Term* a) { return error(p, a[0]); }

// Whether raise/3 takes it for a stack trace.
bool is_stacktrace(Term list) {
    for (; is_cons(list); list = tail(list)) {
        const Term e = head(list);
        if (!is_tuple(e)) {
            return false;
        }
        const size_t n = tuple_arity(e);
        const Term* t = tuple_elements(e);
        const bool mfa = (n == 3 || n == 4) && is_atom(t[0]) && is_atom(t[1]);
        const bool with_fun = (n == 2 || n == 3) && is_fun(t[0]);
        const bool has_location = n == (mfa ? 4 : 3);
        if ((!mfa && !with_fun) || (has_location && !is_list(t[n - 1]))) {
            return false;
        }
    }
    return is_nil(list);
}
Term erlang_raise_3(Process& p, const Term* a) {
    if ((a[0] != atoms::error && a[0] != atoms::exit && a[0] != atoms::throw_) ||
        !is_stacktrace(a[2])) {
        return atoms::badarg;
    }
    // As deep as any other stack trace, which has one entry at least.
    const auto depth = static_cast<size_t>(std::max(g_backtrace_depth.load(), 1));
    // Entries {M, F, A} get an empty location, as everybody expects four elements.
    std::vector<Term> entries;
    for (Term l = a[2]; is_cons(l) && entries.size() < depth; l = tail(l)) {
        Term e = head(l);
        if (is_tuple_of(e, 3) && is_atom(tuple_element(e, 0))) {
            e = make_tuple(p.heap, tuple_element(e, 0), tuple_element(e, 1), tuple_element(e, 2),
                           kNil);
        } else if (is_tuple_of(e, 2)) {
            e = make_tuple(p.heap, tuple_element(e, 0), tuple_element(e, 1), kNil);
        }
        entries.push_back(e);
    }
    Term list = kNil;
    for (; !entries.empty(); entries.pop_back()) {
        list = cons(p.heap, entries.back(), list);
    }
    raise_raw(p, a[0], a[1], list);
    return raised_by_caller(p);
}

// ---- funs and functions ------------------------------------------------------------------------------------

Term erlang_make_fun_3(Process& p, const Term* a) {
    if (!is_atom(a[0]) || !is_atom(a[1]) || !is_small(a[2]) || small_value(a[2]) < 0 ||
        small_value(a[2]) > kMaxArgs) {
        return badarg(p);
    }
    Export* e = export_table::get(a[0], a[1], static_cast<uint32_t>(small_value(a[2])));
    Term* t = p.heap.alloc(2);
    t[0] = Term{make_header(Kind::export_fun, 1)};
    t[1] = Term{reinterpret_cast<Word>(e)};
    return make_boxed(t);
}

Term fun_info_item(Process& p, Term fun, Term item) {
    if (is_export_fun(fun)) {
        const Export* e = export_fun_entry(fun);
        if (item == atoms::type) {
            return atoms::external;
        }
        if (item == atoms::module) {
            return e->module;
        }
        if (item == atoms::name) {
            return e->function;
        }
        if (item == atoms::arity) {
            return make_small(e->arity);
        }
        if (item == atoms::env) {
            return kNil;
        }
        return item == atoms::pid || item == atoms::index || item == atoms::new_index ||
                       item == atoms::uniq || item == atoms::new_uniq ||
                       atom_table::text(item) == "refc"
                   ? atoms::undefined
                   : kNonValue;
    }
    const FunEntry* fe = fun_entry(fun);
    if (item == atoms::type) {
        return atoms::local;
    }
    if (item == atoms::module) {
        return fe->module;
    }
    if (item == atoms::pid) {
        return by_release::funs_have_creators() ? fun_creator(fun) : make_local_pid(0);
    }
    if (item == atoms::name) {
        // Code that is gone, or that a purge has closed, has no names.
        return is_value(fe->function()) && fun_table::is_loaded(fe, p.scheduler->code_ix) ? fe->function()
                                                                                          : kNil;
    }
    if (item == atoms::arity) {
        return make_small(fe->arity);
    }
    if (item == atoms::index || item == atoms::new_index) {
        return make_small(fe->index);
    }
    if (item == atoms::uniq) {
        return make_small(fe->old_uniq);
    }
    if (item == atoms::new_uniq) {
        return make_binary(p.heap, fe->uniq, 16);
    }
    if (item == atoms::env) {
        Term list = kNil;
        for (size_t i = fun_free_count(fun); i > 0; --i) {
            list = cons(p.heap, fun_free_variables(fun)[i - 1], list);
        }
        return list;
    }
    return kNonValue;
}
Term erlang_fun_info_2(Process& p, const Term* a) {
    if (!is_fun(a[0]) || !is_atom(a[1])) {
        return badarg(p);
    }
    if (!is_export_fun(a[0]) && atom_table::text(a[1]) == "refc") {
        return fun_reference_count(p, a[0]);
    }
    const Term value = fun_info_item(p, a[0], a[1]);
    return is_value(value) ? make_tuple(p.heap, a[1], value) : badarg(p);
}
Term erlang_fun_to_list_1(Process& p, const Term* a) {
    if (!is_fun(a[0])) {
        return badarg(p);
    }
    const std::string text = format_term(a[0]);
    return make_string_utf8(p.heap, text.data(), text.size());
}
Term erlang_function_exported_3(Process& p, const Term* a) {
    if (!is_atom(a[0]) || !is_atom(a[1]) || !is_small(a[2])) {
        return badarg(p);
    }
    if (small_value(a[2]) < 0 || small_value(a[2]) > kMaxArgs) {
        return atoms::false_;
    }
    const Export* e =
        export_table::find(a[0], a[1], static_cast<uint32_t>(small_value(a[2])));
    return make_bool(e != nullptr && export_table::is_loaded(e, code_index::active()));
}
Term erlang_is_builtin_3(Process& p, const Term* a) {
    if (!is_atom(a[0]) || !is_atom(a[1]) || !is_small(a[2])) {
        return badarg(p);
    }
    const BifDef* bif = bif_registry::find(a[0], a[1], static_cast<uint32_t>(small_value(a[2])));
    return make_bool(bif != nullptr && bif_registry::is_builtin(*bif));
}
// minivm:has_function(Module, Function, Arity): whether the VM implements it, be it a BIF of OTP or not.
Term minivm_has_function_3(Process& p, const Term* a) {
    if (!is_atom(a[0]) || !is_atom(a[1]) || !is_small(a[2])) {
        return badarg(p);
    }
    return make_bool(bif_registry::find(a[0], a[1], static_cast<uint32_t>(small_value(a[2]))) !=
                     nullptr);
}
Term erlang_module_loaded_1(Process& p, const Term* a) {
    if (!is_atom(a[0])) {
        return badarg(p);
    }
    return make_bool(module_table::current(a[0], code_index::active()) != nullptr);
}
// ---- module_info ------------------------------------------------------------------------------------------

// Whether the VM implements a function that is a NIF in OTP. All that it implements of other modules are BIFs there
// too.
bool is_native_in_otp(Term module, const LoweredFunction& f) {
    const std::string_view name = atom_table::text(module);
    if (f.native == nullptr) {
        return false;
    }
    return name == "erl_tracer" || name == "prim_buffer" ||
           ((name == "prim_file" || name == "zlib") && atom_table::text(f.name).ends_with("_nif"));
}

// The functions that a NIF library has replaced, in OTP or here.
Term native_list(Process& p, const ModuleInstance& m) {
    Term list = kNil;
    for (size_t i = m.lowered.functions.size(); i > 0; --i) {
        const LoweredFunction& f = m.lowered.functions[i - 1];
        if (is_native_in_otp(m.name(), f)) {
            list = cons(p.heap, make_tuple(p.heap, f.name, make_small(f.arity)), list);
        }
    }
    for (size_t i = m.lowered.nifs.size(); i > 0; --i) {
        const nif::Function* f = m.lowered.nifs[i - 1].get();
        // relaxed: only whether it is there.
        if (f->code.load(std::memory_order_relaxed) != nullptr) {
            const Term name = atom_table::intern(f->function_text);
            list = cons(p.heap, make_tuple(p.heap, name, make_small(f->arity)), list);
        }
    }
    return list;
}

Term function_list(Process& p, const ModuleInstance& m, bool exported_only) {
    Term list = kNil;
    const auto& functions = m.lowered.functions;
    for (size_t i = functions.size(); i > 0; --i) {
        const LoweredFunction& f = functions[i - 1];
        if (!exported_only || f.exported) {
            list = cons(p.heap, make_tuple(p.heap, f.name, make_small(f.arity)), list);
        }
    }
    return list;
}
Term module_info_item(Process& p, const ModuleInstance& m, Term item) {
    if (item == atoms::module) {
        return m.name();
    }
    if (item == atoms::md5) {
        return make_binary(p.heap, m.lowered.md5, 16);
    }
    if (item == atoms::exports) {
        return function_list(p, m, true);
    }
    if (item == atoms::functions) {
        return function_list(p, m, false);
    }
    if (item == atoms::attributes) {
        return m.lowered.attributes;
    }
    if (item == atoms::compile) {
        return m.lowered.compile_info;
    }
    if (item == atoms::nifs) {
        return native_list(p, m);
    }
    // This and the next one are of HiPE, the native compiler that OTP had once.
    if (item == atoms::native) {
        return atoms::false_;
    }
    if (atom_table::text(item) == "native_addresses") {
        return kNil;
    }
    return kNonValue;
}
Term erlang_get_module_info_2(Process& p, const Term* a) {
    if (!is_atom(a[0]) || !is_atom(a[1])) {
        return badarg(p);
    }
    const ModuleInstance* m = module_table::current(a[0], code_index::active());
    const Term value = m != nullptr ? module_info_item(p, *m, a[1]) : kNonValue;
    return is_value(value) ? value : badarg(p);
}
Term erlang_get_module_info_1(Process& p, const Term* a) {
    const ModuleInstance* m =
        is_atom(a[0]) ? module_table::current(a[0], code_index::active()) : nullptr;
    if (m == nullptr) {
        return badarg(p);
    }
    Term list = kNil;
    for (Term item : {atoms::md5, atoms::compile, atoms::attributes, atoms::exports, atoms::module}) {
        list = cons(p.heap, make_tuple(p.heap, item, module_info_item(p, *m, item)), list);
    }
    return list;
}

}  // namespace

MINIVM_BIF_TABLE(control) = {
    {"erlang", "apply", 2, erlang_apply_2, kBifPlain, nullptr},
    {"erlang", "apply", 3, erlang_apply_3, kBifPlain, nullptr},
    // For direct calls, which are not traced.
    {"erlang", "apply", 2, erlang_apply_2, kBifHidden, nullptr},
    {"erlang", "apply", 3, erlang_apply_3, kBifHidden, nullptr},
    {"minivm", "load_and_apply", 3, minivm_load_and_apply_3, kBifDirtyIo | kBifHidden, nullptr},
    {"minivm", "load_and_apply_fun", 3, minivm_load_and_apply_fun_3, kBifDirtyIo | kBifHidden, nullptr},
    {"minivm", "apply_loaded", 3, minivm_apply_loaded_3, kBifPlain, nullptr},
    {"minivm", "fun_is_loaded", 1, minivm_fun_is_loaded_1, kBifPlain, nullptr},
    {"minivm", "ensure_loaded", 1, minivm_ensure_loaded_1, kBifDirtyIo, nullptr},
    {"erlang", "error", 1, erlang_error_1, kBifPlain, nullptr},
    {"erlang", "error", 2, erlang_error_2, kBifPlain, nullptr},
    {"erlang", "error", 3, erlang_error_3, kBifPlain, nullptr},
    {"erlang", "exit", 1, erlang_exit_1, kBifPlain, nullptr},
    {"erlang", "throw", 1, erlang_throw_1, kBifPlain, nullptr},
    {"erlang", "nif_error", 1, erlang_nif_error, kBifPlain, nullptr},
    {"erlang", "nif_error", 2, erlang_nif_error, kBifPlain, nullptr},
    {"erlang", "raise", 3, erlang_raise_3, kBifPlain, nullptr},
    {"erlang", "make_fun", 3, erlang_make_fun_3, kBifPlain, nullptr},
    {"erlang", "fun_info", 2, erlang_fun_info_2, kBifPlain, nullptr},
    {"erlang", "fun_to_list", 1, erlang_fun_to_list_1, kBifPlain, nullptr},
    {"erlang", "function_exported", 3, erlang_function_exported_3, kBifPlain, nullptr},
    {"erlang", "is_builtin", 3, erlang_is_builtin_3, kBifPlain, nullptr},
    {"minivm", "has_function", 3, minivm_has_function_3, kBifPlain, nullptr},
    {"erlang", "module_loaded", 1, erlang_module_loaded_1, kBifPlain, nullptr},
    {"erlang", "get_module_info", 1, erlang_get_module_info_1, kBifPlain, nullptr},
    {"erlang", "get_module_info", 2, erlang_get_module_info_2, kBifPlain, nullptr},
};

}  // namespace minivm
