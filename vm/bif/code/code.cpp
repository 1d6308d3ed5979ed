// Loading, deleting and purging code.
//
// A BIF that stages code runs on a dirty scheduler and first takes the code modification permission. If
// another process has it, the process waits (await_code_permission) and makes the call again; the commit
// wakes the process (await_code_change). The operation belongs to the VM: it also completes if the process
// is killed on the way.
#include <cstring>

#include "recorder/recorder.hpp"
#include "vm/bif/bif.hpp"
#include "vm/bif/code/code_operation.hpp"
#include "vm/code_change/code_change.hpp"
#include "vm/code/permission.hpp"
#include "vm/process/posix.hpp"
#include "vm/process/continuation.hpp"
#include "vm/process/exception.hpp"
#include "vm/process/literal_release.hpp"
#include "vm/process/registry.hpp"
#include "vm/process/report.hpp"
#include "vm/progress/background.hpp"
#include "vm/progress/thread_progress.hpp"
#include "vm/record/record.hpp"
#include "vm/sched/scheduler.hpp"
#include "vm/term/format.hpp"
#include "vm/term/local_atoms.hpp"
#include "vm/term/map.hpp"

namespace minivm {

using code_change::ForProcess;

bool has_code_permission(Process& p, Term function, std::initializer_list<Term> args, Term* wait) {
    if (code_permission::seize_or_queue(p.id)) {
        return true;
    }
    Term list = kNil;
    for (size_t i = args.size(); i > 0; --i) {
        list = cons(p.heap, args.begin()[i - 1], list);
    }
    static const Export* await = bif_export("minivm", "await_code_permission", 2);
    *wait = trap(p, await, {function, list});
    return false;
}

Term function_name(Process& p, Term module, const char* function) {
    return make_tuple(p.heap, module, atom_table::intern(function));
}

Term await_code_change(Process& p, ForProcess* op, Term result) {
    const Term ref = make_magic_ref(p.heap, new_ref_id(p), op);
    static const Export* await_change = bif_export("minivm", "await_code_change", 2);
    return trap(p, await_change, {ref, result});
}

ForProcess* new_code_operation(Process& p) {
    auto* op = new ForProcess(p.id);
    op->retain();
    return op;
}

Term await_thread_progress(Process& p, Term result) {
    ForProcess* op = new_code_operation(p);
    thread_progress::later(
        [](void* made) {
            auto* const progress = static_cast<ForProcess*>(made);
            progress->done();
            progress->release();
        },
        op);
    return await_code_change(p, op, result);
}

namespace {

LOCAL_ATOM(atom_changed, "changed")
LOCAL_ATOM(atom_complete, "complete")
LOCAL_ATOM(atom_current, "current")
LOCAL_ATOM(atom_duplicated, "duplicated")
LOCAL_ATOM(atom_erts_code_purger, "erts_code_purger")
LOCAL_ATOM(atom_old, "old")
LOCAL_ATOM(atom_prepare, "prepare")
LOCAL_ATOM(atom_prepare_on_load, "prepare_on_load")

// ---- waiting ----------------------------------------------------------------------------------------

// On a normal scheduler, where no wake-up is lost between the check and the wait.
Term minivm_await_code_permission_2(Process& p, const Term* a) {
    static const Export* self = bif_export("minivm", "await_code_permission", 2);
    if (code_permission::is_queued(p.id)) {
        return trap_wait(p, self, {a[0], a[1]});
    }
    // a[0] is {Module, Function}.
    const Term module = tuple_element(a[0], 0);
    const Term function = tuple_element(a[0], 1);
    uint32_t n = 0;
    Term list = a[1];
    for (; is_cons(list); list = tail(list)) {
        p.x[n++] = head(list);
    }
    p.trap_export = export_table::get(module, function, n);
    p.outcome = BifOutcome::trap;
    return kNonValue;
}

Term minivm_await_code_change_2(Process& p, const Term* a) {
    static const Export* self = bif_export("minivm", "await_code_change", 2);
    if (held_state<ForProcess>(a[0])->is_done()) {
        return a[1];
    }
    return trap_wait(p, self, {a[0], a[1]});
}

// ---- preparing ----------------------------------------------------------------------------------------

// The result of prepare_loading/2: a module that is in no table.
struct PreparedCode final : MagicObject {
    explicit PreparedCode(std::unique_ptr<ModuleInstance> m)
        : name(m->name()), has_on_load(m->has_on_load()), instance(std::move(m)) {}
    // A collection may drop the object; a dirty scheduler frees the module.
    ~PreparedCode() override {
        if (instance != nullptr) {
            dirty::run([](void* m) { delete static_cast<ModuleInstance*>(m); }, instance.release());
        }
    }
    const Term name;
    const bool has_on_load;
    // Guarded by the code modification permission; null once it has been finished.
    std::unique_ptr<ModuleInstance> instance;
    std::atomic<bool> used{false};
};

// With this engine; null: the one that the module asks for.
Term prepare_by(Process& p, const Term* a, Engine* engine) {
    Bytes bytes;
    if (!is_atom(a[0]) || !is_binary(a[1]) || !get_bytes(a[1], &bytes) ||
        g_module_source == nullptr) {
        return badarg(p);
    }
    std::string why;
    std::unique_ptr<ModuleInstance> instance =
        g_module_source->prepare(bytes.data, bytes.size, engine, &why);
    if (instance != nullptr && instance->name() != a[0]) {
        why = "holds module " + std::string(atom_table::text(instance->name())) + ", not " +
              std::string(atom_table::text(a[0]));
        instance = nullptr;
    }
    if (instance == nullptr) {
        report_load_failure(p, a[0], why);
        return make_tuple(p.heap, atoms::error, atoms::badfile);
    }
    return make_magic_ref(p.heap, new_ref_id(p), new PreparedCode(std::move(instance)));
}

Term prepare_loading(Process& p, const Term* a) { return prepare_by(p, a, nullptr); }

// The engine of that name, or null: there is none.
Engine* engine_named(Term name) {
    for (Engine* engine : {g_engines.bytecode, g_engines.native}) {
        if (engine != nullptr && is_atom(name) && atom_table::text(name) == engine->name()) {
            return engine;
        }
    }
    return nullptr;
}

// minivm:set_engine(Module, Engine) -> {module, Module} | {error, Why}: the code server moves the
// module, with the code in the module's file or the third argument of set_engine/3.
Term set_engine(Process& p, Term module, Term engine, Term code) {
    if (!is_atom(module) || !is_atom(engine)) {
        return badarg(p);
    }
    if (engine_named(engine) == nullptr) {
        const std::string_view name = atom_table::text(engine);
        return name == "jit" || name == "interp" ? notsup(p) : badarg(p);
    }
    static const Export* move = export_table::get(atom_table::intern("code_server"),
                                                  atom_table::intern("set_engine"), 3);
    return trap(p, move, {module, engine, code});
}
Term minivm_set_engine_2(Process& p, const Term* a) {
    return set_engine(p, a[0], a[1], atoms::undefined);
}
Term minivm_set_engine_3(Process& p, const Term* a) {
    return is_binary(a[2]) ? set_engine(p, a[0], a[1], a[2]) : badarg(p);
}

// minivm:prepare_in_engine(Module, Bytes, Engine, Md5): as prepare_loading/2, by the engine of that
// name; {error, changed} if it is not the module of that MD5.
Term minivm_prepare_in_engine_4(Process& p, const Term* a) {
    Engine* engine = engine_named(a[2]);
    Bytes md5;
    if (engine == nullptr || !is_binary(a[3]) || !get_bytes(a[3], &md5)) {
        return badarg(p);
    }
    const Term prepared = prepare_by(p, a, engine);
    const PreparedCode* code = is_value(prepared) ? object_of<PreparedCode>(prepared) : nullptr;
    if (code != nullptr && (md5.size != sizeof code->instance->lowered.md5 ||
                            std::memcmp(md5.data, code->instance->lowered.md5, md5.size) != 0)) {
        return make_tuple(p.heap, atoms::error, atom_changed());
    }
    return prepared;
}

// minivm:prepare_file(Path) -> {Module, Prepared} | {error, Text}: whatever its module is called.
Term minivm_prepare_file_1(Process& p, const Term* a) {
    std::string path;
    if (!get_file_name(a[0], &path) || g_module_source == nullptr) {
        return badarg(p);
    }
    std::string why;
    std::unique_ptr<ModuleInstance> instance = g_module_source->prepare_file(path, &why);
    if (instance == nullptr) {
        return make_tuple(p.heap, atoms::error, make_string_utf8(p.heap, why.data(), why.size()));
    }
    const Term name = instance->name();
    return make_tuple(p.heap, name, make_magic_ref(p.heap, new_ref_id(p),
                                                   new PreparedCode(std::move(instance))));
}

// minivm:prepare_bytes(Bytes, Path): as prepare_file/1, of bytes that came from there.
Term minivm_prepare_bytes_2(Process& p, const Term* a) {
    std::string path;
    Bytes bytes;
    if (!is_binary(a[0]) || !get_bytes(a[0], &bytes) || !get_file_name(a[1], &path) ||
        g_module_source == nullptr) {
        return badarg(p);
    }
    std::string why;
    std::unique_ptr<ModuleInstance> instance =
        g_module_source->prepare(bytes.data, bytes.size, nullptr, &why);
    if (instance == nullptr) {
        return make_tuple(p.heap, atoms::error, make_string_utf8(p.heap, why.data(), why.size()));
    }
    instance->path = path;
    const Term name = instance->name();
    return make_tuple(p.heap, name, make_magic_ref(p.heap, new_ref_id(p),
                                                   new PreparedCode(std::move(instance))));
}

// erts_internal:beamfile_module_md5(Binary), on a dirty scheduler: undefined if it is no module.
Term erts_internal_beamfile_module_md5_1(Process& p, const Term* a) {
    Bytes bytes;
    if (!get_bytes(a[0], &bytes) || g_module_source == nullptr) {
        return badarg(p);
    }
    uint8_t digest[16];
    return g_module_source->module_md5(bytes.data, bytes.size, digest) ? make_binary(p.heap, digest, sizeof digest)
                                                                      : atoms::undefined;
}

Term erlang_has_prepared_code_on_load_1(Process& p, const Term* a) {
    const PreparedCode* code = object_of<PreparedCode>(a[0]);
    // relaxed: a finish_loading/1 at the same time may come before or after.
    return code == nullptr ? badarg(p)
                           : make_bool(code->has_on_load && !code->used.load(std::memory_order_relaxed));
}

// ---- finishing ----------------------------------------------------------------------------------------

// {Tag, Modules} in OTP's order.
Term exceptions(Process& p, Term tag, const std::vector<Term>& modules) {
    Term list = kNil;
    for (Term m : modules) {
        list = cons(p.heap, m, list);
    }
    return make_tuple(p.heap, tag, list);
}

bool is_blocked(Term module) {
    const int ix = code_index::active();
    return (module_table::current(module, ix) != nullptr && module_table::old(module, ix) != nullptr) ||
           module_table::on_load(module, ix) != nullptr;
}

// With the permission. False: *result is what the call returns, the non-value after an exception.
bool check_prepared(Process& p, const std::vector<PreparedCode*>& all, Term* result) {
    for (const PreparedCode* code : all) {
        if (code->instance == nullptr) {
            *result = badarg(p);
            return false;
        }
    }
    for (const PreparedCode* code : all) {
        if (all.size() > 1 && code->has_on_load) {
            *result = system_limit(p);
            return false;
        }
    }
    std::vector<Term> bad;
    for (size_t i = 0; i < all.size(); ++i) {
        for (size_t j = 0; j < i; ++j) {
            if (all[i]->name == all[j]->name) {
                bad.push_back(all[i]->name);
                break;
            }
        }
    }
    if (!bad.empty()) {
        *result = exceptions(p, atom_duplicated(), bad);
        return false;
    }
    for (const PreparedCode* code : all) {
        if (is_blocked(code->name)) {
            bad.push_back(code->name);
        }
    }
    if (!bad.empty()) {
        *result = exceptions(p, atoms::not_purged, bad);
        return false;
    }
    return true;
}

Term erlang_finish_loading_1(Process& p, const Term* a) {
    std::vector<PreparedCode*> all;
    Term list = a[0];
    for (; is_cons(list); list = tail(list)) {
        all.push_back(object_of<PreparedCode>(head(list)));
        if (all.back() == nullptr) {
            return badarg(p);
        }
    }
    if (!is_nil(list)) {
        return badarg(p);
    }
    Term result = kNonValue;
    if (!has_code_permission(p, function_name(p, atoms::erlang, "finish_loading"), {a[0]}, &result)) {
        return result;
    }
    if (!check_prepared(p, all, &result)) {
        code_permission::release();
        return result;
    }
    std::vector<std::unique_ptr<ModuleInstance>> modules;
    std::vector<Term> on_load;
    for (PreparedCode* code : all) {
        // relaxed: see has_prepared_code_on_load/1.
        code->used.store(true, std::memory_order_relaxed);
        if (code->has_on_load) {
            on_load.push_back(code->name);
        }
        modules.push_back(std::move(code->instance));
    }
    ForProcess* op = new_code_operation(p);
    code_change::finish(std::move(modules), op);
    return await_code_change(p, op, on_load.empty() ? atoms::ok : exceptions(p, atoms::on_load, on_load));
}

// ---- on_load ------------------------------------------------------------------------------------------

Term erlang_call_on_load_function_1(Process& p, const Term* a) {
    const ModuleInstance* instance =
        is_atom(a[0]) ? module_table::on_load(a[0], code_index::active()) : nullptr;
    if (instance == nullptr) {
        return badarg(p);
    }
    MINIVM_EVENT(code_on_load, records::atom(a[0]), imm_data(p.id));
    return trap(p, instance->on_load_entry.get(), {});
}

Term erlang_finish_after_on_load_2(Process& p, const Term* a) {
    if (!is_atom(a[0]) || (a[1] != atoms::true_ && a[1] != atoms::false_)) {
        return badarg(p);
    }
    Term wait = kNonValue;
    if (!has_code_permission(p, function_name(p, atoms::erlang, "finish_after_on_load"), {a[0], a[1]},
                        &wait)) {
        return wait;
    }
    const int ix = code_index::active();
    const bool both = module_table::current(a[0], ix) != nullptr &&
                      module_table::old(a[0], ix) != nullptr;
    if (module_table::on_load(a[0], ix) == nullptr || (both && a[1] == atoms::true_)) {
        code_permission::release();
        return badarg(p);
    }
    if (a[1] == atoms::false_) {
        // None of its exports has led to its code; purge_module(M, prepare_on_load) does the rest.
        code_permission::release();
        return atoms::true_;
    }
    ForProcess* op = new_code_operation(p);
    code_change::accept(a[0], op);
    return await_code_change(p, op, atoms::true_);
}

// ---- old code -----------------------------------------------------------------------------------------

Term erlang_check_old_code_1(Process& p, const Term* a) {
    if (!is_atom(a[0])) {
        return badarg(p);
    }
    return make_bool(module_table::old(a[0], code_index::active()) != nullptr);
}

// -> true, or undefined if there never was such a module; badarg while there is old code.
Term erlang_delete_module_1(Process& p, const Term* a) {
    if (!is_atom(a[0])) {
        return badarg(p);
    }
    Term wait = kNonValue;
    if (!has_code_permission(p, function_name(p, atoms::erlang, "delete_module"), {a[0]}, &wait)) {
        return wait;
    }
    if (!module_table::is_known(a[0])) {
        code_permission::release();
        return atoms::undefined;
    }
    if (module_table::old(a[0], code_index::active()) != nullptr) {
        code_permission::release();
        report_text(p, ReportLevel::error,
                    "Module " + format_term(a[0]) + " must be purged before deleting\n");
        return badarg(p);
    }
    ForProcess* op = new_code_operation(p);
    code_change::delete_module(a[0], op);
    return await_code_change(p, op, atoms::true_);
}

// The steps of a purge; erts_code_purger looks at the processes between them.
Term erts_internal_purge_module_2(Process& p, const Term* a) {
    if (registry::whereis(atom_erts_code_purger()) != p.id) {
        return notsup(p);
    }
    const bool prepare = a[1] == atom_prepare() || a[1] == atom_prepare_on_load();
    if (!is_atom(a[0]) || (!prepare && a[1] != atoms::abort && a[1] != atom_complete())) {
        return badarg(p);
    }
    // Only the purger begins and ends a purge, so this holds until we have the permission.
    const Term purged = code_change::purged_module();
    if (prepare ? is_value(purged) : purged != a[0]) {
        return badarg(p);
    }
    Term wait = kNonValue;
    if (!has_code_permission(p, function_name(p, atoms::erts_internal, "purge_module"), {a[0], a[1]},
                        &wait)) {
        return wait;
    }
    ForProcess* op = new_code_operation(p);
    if (a[1] == atoms::abort) {
        code_change::abort_purge(op);
        return await_code_change(p, op, atoms::false_);
    }
    if (a[1] == atom_complete()) {
        code_change::complete_purge(op);
        return await_code_change(p, op, atoms::true_);
    }
    const auto what = a[1] == atom_prepare() ? code_change::Purge::old : code_change::Purge::pending;
    switch (code_change::prepare_purge(a[0], what, op)) {
        case code_change::Prepared::started:
            return await_code_change(p, op, atoms::true_);
        case code_change::Prepared::nothing:
        case code_change::Prepared::busy:
            break;
    }
    op->release();
    op->release();
    return atoms::false_;
}

Term erts_internal_check_process_code_1(Process& p, const Term* a) {
    if (!is_atom(a[0])) {
        return badarg(p);
    }
    const ModuleInstance* instance = code_change::checked_instance(a[0]);
    return make_bool(instance != nullptr && code_change::runs_in(p, *instance));
}

// ---- funs of code that is not there -----------------------------------------------------------------------

// minivm:apply_unloaded_fun(Module, Fun, Args): waits for a purge to end, loads the module. It waits in the code
// purger's function, where OTP shows such a process too, and which then calls the fun once more.
Term minivm_apply_unloaded_fun_3(Process& p, const Term* a) {
    static const Export* self = bif_export("minivm", "apply_unloaded_fun", 3);
    const Export* const pending = code_change::pending_purge_lambda();
    static const Export* load = bif_export("minivm", "load_and_apply_fun", 3);
    const FunEntry* fe = fun_entry(a[1]);
    if (fun_table::is_loaded(fe, code_index::active())) {
        static const Export* apply = bif_export("erlang", "apply", 2);
        return trap(p, apply, {a[1], a[2]});
    }
    if (code_change::wait_for_purge(fe, p.id)) {
        return trap_wait(p, export_table::is_loaded(pending, code_index::active()) ? pending : self,
                         {a[0], a[1], a[2]});
    }
    // In this order: a version that is loaded meanwhile and has the fun is not missed.
    if (module_table::current(a[0], code_index::active()) != nullptr && !fun_table::is_loaded(fe, code_index::active())) {
        return raise_fun_is_gone(p, a[1]);  // its module is there and has no such fun: no handler can load it
    }
    if (const Export* handler = own_error_handler(p, "undefined_lambda"); handler != nullptr) {
        return trap(p, handler, {a[0], a[1], a[2]});
    }
    return trap(p, load, {a[0], a[1], a[2]});
}

// ---- what is loaded ---------------------------------------------------------------------------------------

Term erlang_loaded_0(Process& p, const Term*) {
    struct Context {
        Process& p;
        Term list;
    } c{p, kNil};
    module_table::for_each_loaded(
        code_index::active(),
        [](ModuleInstance* current, ModuleInstance* old, void* data) {
            auto& context = *static_cast<Context*>(data);
            const Term name = current != nullptr ? current->name() : old->name();
            context.list = cons(context.p.heap, name, context.list);
        },
        &c);
    return c.list;
}

// minivm:loaded_from(Module) -> Path | preloaded | false: the file in which the VM found the current code;
// [] if it was given the bytes.
Term minivm_loaded_from_1(Process& p, const Term* a) {
    const ModuleInstance* m =
        is_atom(a[0]) ? module_table::current(a[0], code_index::active()) : nullptr;
    if (m == nullptr) {
        return atoms::false_;
    }
    return m->path == "preloaded" ? atom_table::intern("preloaded") : file_name_term(p.heap, m->path);
}

// minivm:code_info(Module) -> #{current | old | pending => #{engine, size, loaded_ms, path}}
Term instance_info(Process& p, const ModuleInstance& m) {
    const std::string engine = m.engine->name();
    Term keys[4] = {atom_table::intern("engine"), atoms::size, atom_table::intern("loaded_ms"),
                    atom_table::intern("path")};
    Term values[4] = {atom_table::intern(engine), make_unsigned(p.heap, m.code->size_bytes()),
                      make_unsigned(p.heap, m.committed_ms), file_name_term(p.heap, m.path)};
    return map::from_pairs(p.heap, keys, values, 4);
}
Term minivm_code_info_1(Process& p, const Term* a) {
    if (!is_atom(a[0])) {
        return badarg(p);
    }
    const int ix = code_index::active();
    const struct {
        Term key;
        const ModuleInstance* instance;
    } all[] = {{atom_current(), module_table::current(a[0], ix)},
               {atom_old(), module_table::old(a[0], ix)},
               {atoms::pending, module_table::on_load(a[0], ix)}};
    Term keys[3];
    Term values[3];
    uint32_t n = 0;
    for (const auto& [key, instance] : all) {
        if (instance != nullptr) {
            keys[n] = key;
            values[n++] = instance_info(p, *instance);
        }
    }
    return map::from_pairs(p.heap, keys, values, n);
}

// minivm:engine_name(): the engine of modules that ask for none, or mixed.
Term minivm_engine_name_0(Process&, const Term*) {
    return atom_table::intern(g_engines.mixed ? "mixed" : g_engines.standard->name());
}

// minivm:literal_areas() -> {Taken, Freed}: literal areas given up so far, and how many of them are freed.
Term minivm_literal_areas_0(Process& p, const Term*) {
    const literal_release::Counts counts = literal_release::counts();
    return make_tuple(p.heap, make_unsigned(p.heap, counts.taken),
                      make_unsigned(p.heap, counts.freed));
}

// minivm:code_memory() -> {Blocks, Bytes, BytesOfPages} of native code; zeros where there is none.
Term minivm_code_memory_0(Process& p, const Term*) {
    const CodeUsage u = g_engines.native != nullptr ? g_engines.native->code_usage() : CodeUsage{};
    return make_tuple(p.heap, make_unsigned(p.heap, u.blocks), make_unsigned(p.heap, u.bytes),
                      make_unsigned(p.heap, u.pages));
}

// ---- files as bytes --------------------------------------------------------------------------------------

uint32_t big_endian(const uint8_t* bytes) {
    return uint32_t{bytes[0]} << 24 | uint32_t{bytes[1]} << 16 | uint32_t{bytes[2]} << 8 | bytes[3];
}

// erts_internal:beamfile_chunk(Binary, "Name") -> Binary | undefined, also if it is no .beam file.
Term erts_internal_beamfile_chunk_2(Process& p, const Term* a) {
    Bytes bytes;
    uint8_t name[4];
    int n = 0;
    Term l = a[1];
    for (; is_cons(l) && n < 4; l = tail(l)) {
        if (!is_small(head(l)) || small_value(head(l)) < 0 || small_value(head(l)) > 255) {
            return badarg(p);
        }
        name[n++] = static_cast<uint8_t>(small_value(head(l)));
    }
    if (!is_binary(a[0]) || !get_bytes(a[0], &bytes) || n != 4 || !is_nil(l)) {
        return badarg(p);
    }
    constexpr size_t kHeader = 12;  // FOR1, size, BEAM
    if (bytes.size < kHeader || std::memcmp(bytes.data, "FOR1", 4) != 0 ||
        std::memcmp(bytes.data + 8, "BEAM", 4) != 0) {
        return atoms::undefined;
    }
    for (size_t at = kHeader; at + 8 <= bytes.size;) {
        const size_t size = big_endian(bytes.data + at + 4);
        if (size > bytes.size - at - 8) {
            break;
        }
        if (std::memcmp(bytes.data + at, name, 4) == 0 && size > 0) {
            return make_binary(p.heap, bytes.data + at + 8, size);
        }
        at += 8 + (size + 3) / 4 * 4;
    }
    return atoms::undefined;
}

// ---- native coverage: there is none, as in a VM of OTP without a JIT ---------------------------------------

Term code_coverage_support_0(Process&, const Term*) { return atoms::false_; }
Term code_no_coverage(Process& p, const Term*) { return badarg(p); }
// Only erl +D reads what the compiler wrote for a debugger; minivm has no such option.
Term code_get_debug_info_1(Process& p, const Term* a) {
    return is_atom(a[0]) && module_table::current(a[0], code_index::active()) != nullptr ? atoms::none
                                                                                         : badarg(p);
}

}  // namespace

MINIVM_BIF_TABLE(code) = {
    {"erlang", "prepare_loading", 2, prepare_loading, kBifDirtyCpu, nullptr},
    {"erts_internal", "prepare_loading", 2, prepare_loading, kBifDirtyCpu, nullptr},
    {"minivm", "prepare_file", 1, minivm_prepare_file_1, kBifDirtyIo, nullptr},
    {"minivm", "prepare_bytes", 2, minivm_prepare_bytes_2, kBifDirtyCpu, nullptr},
    {"erts_internal", "beamfile_module_md5", 1, erts_internal_beamfile_module_md5_1, kBifDirtyCpu, nullptr},
    {"erlang", "has_prepared_code_on_load", 1, erlang_has_prepared_code_on_load_1, kBifPlain, nullptr},
    {"erlang", "finish_loading", 1, erlang_finish_loading_1, kBifDirtyCpu, nullptr},
    {"erlang", "call_on_load_function", 1, erlang_call_on_load_function_1, kBifPlain, nullptr},
    {"erlang", "finish_after_on_load", 2, erlang_finish_after_on_load_2, kBifDirtyCpu, nullptr},
    {"erlang", "check_old_code", 1, erlang_check_old_code_1, kBifPlain, nullptr},
    {"erlang", "delete_module", 1, erlang_delete_module_1, kBifDirtyCpu, nullptr},
    {"erts_internal", "purge_module", 2, erts_internal_purge_module_2, kBifDirtyCpu, nullptr},
    {"erts_internal", "check_process_code", 1, erts_internal_check_process_code_1, kBifPlain, nullptr},
    {"erts_internal", "beamfile_chunk", 2, erts_internal_beamfile_chunk_2, kBifPlain, nullptr},
    {"erlang", "loaded", 0, erlang_loaded_0, kBifPlain, nullptr},
    {"code", "coverage_support", 0, code_coverage_support_0, kBifPlain, nullptr},
    {"code", "get_coverage", 2, code_no_coverage, kBifPlain, nullptr},
    {"code", "get_coverage_mode", 0, code_no_coverage, kBifPlain, nullptr},
    {"code", "get_coverage_mode", 1, code_no_coverage, kBifPlain, nullptr},
    {"code", "reset_coverage", 1, code_no_coverage, kBifPlain, nullptr},
    {"code", "set_coverage_mode", 1, code_no_coverage, kBifPlain, nullptr},
    {"code", "get_debug_info", 1, code_get_debug_info_1, kBifPlain, nullptr},
    {"minivm", "await_code_permission", 2, minivm_await_code_permission_2, kBifHidden, nullptr},
    {"minivm", "await_code_change", 2, minivm_await_code_change_2, kBifHidden, nullptr},
    {"minivm", "apply_unloaded_fun", 3, minivm_apply_unloaded_fun_3, kBifHidden, nullptr},
    {"minivm", "set_engine", 2, minivm_set_engine_2, kBifPlain, nullptr},
    {"minivm", "set_engine", 3, minivm_set_engine_3, kBifPlain, nullptr},
    {"minivm", "prepare_in_engine", 4, minivm_prepare_in_engine_4, kBifDirtyCpu, nullptr},
    {"minivm", "loaded_from", 1, minivm_loaded_from_1, kBifPlain, nullptr},
    {"minivm", "code_info", 1, minivm_code_info_1, kBifPlain, nullptr},
    {"minivm", "engine_name", 0, minivm_engine_name_0, kBifPlain, nullptr},
    {"minivm", "literal_areas", 0, minivm_literal_areas_0, kBifPlain, nullptr},
    {"minivm", "code_memory", 0, minivm_code_memory_0, kBifPlain, nullptr},
};

}  // namespace minivm
