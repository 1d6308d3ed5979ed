// Calls of functions that are not loaded: the error handler, or loading on demand.
#include "vm/code/code_index.hpp"
#include "vm/code/loading.hpp"
#include "vm/code/module_table.hpp"
#include "vm/process/exception.hpp"
#include "vm/process/extra.hpp"
#include "vm/process/outcome.hpp"
#include "vm/process/state.hpp"
#include "vm/term/atom_table.hpp"

namespace minivm {

static bool loads_on_demand() { return g_module_source == nullptr || g_module_source->preloaded().empty(); }

const Export* own_error_handler(const Process& p, const char* function) {
    const Term module =
        p.extra != nullptr && is_value(p.extra->error_handler) ? p.extra->error_handler : atoms::error_handler;
    if (module == atoms::error_handler && loads_on_demand()) {
        return nullptr;
    }
    const Export* e = export_table::find(module, atom_table::intern(function), 3);
    return e != nullptr && export_table::is_loaded(e, code_index::active()) ? e : nullptr;
}

// Whether the module is not loaded only because nothing has needed it yet. OTP's boot loads these modules, so no
// error handler is ever called for them there, and error handlers that call error_handler rely on that.
static bool should_be_loaded(Term module) {
    if (module_table::current(module, code_index::active()) != nullptr) {
        return false;
    }
    const std::string_view name = atom_table::text(module);
    for (const char* known :
         {"application", "application_controller", "application_master", "code", "code_server",
          "erl_eval", "erl_lint", "erl_parse", "error_handler", "error_logger", "ets", "file",
          "file_io_server", "file_server", "filename", "gen", "gen_event", "gen_server", "heart",
          "kernel", "lists", "logger", "logger_backend", "logger_config", "logger_filters",
          "logger_server", "logger_simple_h", "proc_lib", "supervisor",
          // preloaded
          "erl_prim_loader", "erl_tracer", "erlang", "erts_code_purger", "erts_internal", "init",
          "prim_buffer", "prim_eval", "prim_file", "prim_inet", "prim_zip", "zlib"}) {
        if (name == known) {
            return true;
        }
    }
    return name.starts_with("minivm_");
}

void call_undefined(Process& p, const Export* e) {
    // Was it loaded after the caller read its code index?
    if (export_table::is_loaded(e, code_index::active())) {
        p.trap_export = e;
        p.outcome = BifOutcome::trap;
        return;
    }
    if (const Export* handler = own_error_handler(p, "undefined_function");
        handler != nullptr && !(loads_on_demand() && should_be_loaded(e->module))) {
        trap(p, handler, {e->module, e->function, args_list(p, p.x, e->arity)});
        return;
    }
    if (!loads_on_demand()) {
        raise_undef(p, e->module, e->function, e->arity, p.x);
        return;
    }
    const Term args = args_list(p, p.x, e->arity);
    static const Export* loader = bif_export("minivm", "load_and_apply", 3);
    trap(p, loader, {e->module, e->function, args});
}

void call_debugger(Process& p, Term module, Term function, uint32_t arity) {
    static const Term breakpoint = atom_table::intern("breakpoint");
    const bool is_usual = p.extra == nullptr || !is_value(p.extra->error_handler) ||
                          p.extra->error_handler == atoms::error_handler;
    const Export* handler = is_usual ? export_table::get(atoms::error_handler, breakpoint, 3)
                                     : own_error_handler(p, "breakpoint");
    if (handler == nullptr) {
        error(p, atoms::undef);
        return;
    }
    trap(p, handler, {module, function, args_list(p, p.x, arity)});
}

void call_unloaded_fun(Process& p, const FunEntry* fe) {
    // The fun itself is not in the x registers any more, only its arguments and then its free variables: builds
    // it again from these.
    const uint32_t arity = fe->arity;
    const uint32_t n = fe->num_free;
    Term* t = p.heap.alloc(kFunFixedWords + n);
    t[0] = Term{make_header(Kind::fun, n + 2)};
    t[1] = Term{reinterpret_cast<Word>(fe)};
    t[2] = p.id;
    for (uint32_t i = 0; i < n; ++i) {
        t[kFunFixedWords + i] = p.x[arity + i];
    }
    const Term args = args_list(p, p.x, arity);
    static const Export* loader = bif_export("minivm", "apply_unloaded_fun", 3);
    trap(p, loader, {fe->module, make_boxed(t), args});
}

}  // namespace minivm
