// Loading native libraries and their resource types, and unloading both.
#include "vm/nif/library.hpp"

#include "vm/code/export.hpp"
#include "vm/code/module_table.hpp"
#include "vm/instr/bif_def.hpp"
#include "vm/nif/api.hpp"
#include "vm/nif/prim_tty.hpp"
#include "vm/nif/sockets/library.hpp"
#include "vm/nif/zstd.hpp"
#include "vm/process/state.hpp"
#include "vm/progress/thread_progress.hpp"
#include "vm/util/otp_release.hpp"

#include <dlfcn.h>

#include <cstdarg>
#include <cstdio>
#include <algorithm>
#include <cstring>
#include <utility>

namespace minivm::nif {

namespace {

// The types that the running load or upgrade callback has asked for.
struct OpenedType {
    ResourceType* type;
    ResourceFlags how;
    Callbacks callbacks;
};
std::vector<OpenedType> g_opened;
std::mutex g_types_lock;
std::vector<ResourceType*> g_types;  // written under both locks

std::string text_of(const char* format, ...) __attribute__((format(printf, 1, 2)));
std::string text_of(const char* format, ...) {
    va_list arguments;
    va_start(arguments, format);
    char buffer[4096];
    std::vsnprintf(buffer, sizeof buffer, format, arguments);
    va_end(arguments);
    return buffer;
}

Term failure(Process& p, const char* reason, const std::string& text) {
    const Term what = make_string_utf8(p.heap, text.data(), text.size());
    return make_tuple(p.heap, atoms::error, make_tuple(p.heap, atom_table::intern(reason), what));
}

bool at_least(const Entry& e, int major, int minor) {
    return e.major > major || (e.major == major && e.minor >= minor);
}

// The entry in the newest form, whatever version the library was compiled for.
void take_entry(Library& l, const Entry& e) {
    l.entry.major = e.major;
    l.entry.minor = e.minor;
    l.entry.name = e.name;
    l.entry.function_count = e.function_count;
    l.entry.load = e.load;
    l.entry.upgrade = e.upgrade;
    l.entry.unload = e.unload;
    const auto n = static_cast<size_t>(e.function_count > 0 ? e.function_count : 0);
    if (at_least(e, 2, 7)) {
        l.functions.assign(e.functions, e.functions + n);
    } else {
        const auto* old = reinterpret_cast<const OldLibraryFunction*>(e.functions);
        for (size_t i = 0; i < n; ++i) {
            l.functions.push_back({old[i].name, old[i].arity, old[i].code, 0});
        }
    }
    for (const LibraryFunction& f : l.functions) {
        l.tracer.take(f);
    }
}

// The text of the error in the library itself; empty: none.
std::string check_entry(const Entry& e, Term module) {
    const std::string name = text_of_term(module);
    const int minor = by_release::nif_minor_version();
    if (e.major > kMajorVersion || (e.major == kMajorVersion && e.minor > minor)) {
        return text_of(
            "That '%s' NIF library needs %s or newer. Either try to recompile the NIF lib or use a "
            "newer erts runtime.",
            name.c_str(), at_least(e, 2, 14) ? e.min_erts : "erts-?");
    }
    if (e.major < kMajorVersion || (e.major == 2 && e.minor == 5)) {  // 2.5: experimental maps
        return text_of(
            "That old NIF library (%d.%d) is not compatible with this erts runtime (%d.%d). Try "
            "recompile the NIF lib.",
            e.major, e.minor, kMajorVersion, minor);
    }
    if (at_least(e, 2, 1) && std::strcmp(e.vm_variant, kVmVariant) != 0) {
        return text_of("Library (%s) not compiled for this vm variant (%s).", e.vm_variant,
                       kVmVariant);
    }
    if (atom_table::find(e.name) != module) {
        return text_of("Library module name '%s' does not match calling module '%s'", e.name,
                       name.c_str());
    }
    return {};
}

Function* find_function(const ModuleInstance& instance, const LibraryFunction& f) {
    const Term name = atom_table::find(f.name);
    for (const LoweredFunction& l : instance.lowered.functions) {
        if (l.name == name && l.arity == f.arity) {
            return l.nif;
        }
    }
    return nullptr;
}

// *out: the module's function that each of the library's functions replaces. The text of the error; empty: none.
std::string match_functions(const ModuleInstance& instance, const Library& l,
                            std::vector<Function*>* out) {
    const std::string module = text_of_term(l.module);
    for (const LibraryFunction& f : l.functions) {
        const std::string mfa = module + ":" + f.name + "/" + std::to_string(f.arity);
        Function* const function = find_function(instance, f);
        if (function == nullptr) {
            return "Function not found " + mfa;
        }
        if (instance.lowered.declares_nifs && !function->declared) {
            return "Function not declared as nif " + mfa;
        }
        if (f.flags != 0 && f.flags != kDirtyCpu && f.flags != kDirtyIo) {
            return "Illegal flags field value " + std::to_string(f.flags) + " for NIF " + mfa;
        }
        for (const Function* other : *out) {
            if (other == function) {
                return "Duplicate NIF entry for " + mfa;
            }
        }
        out->push_back(function);
    }
    return {};
}

// The BIF of a native function for dirty schedulers: it calls Process::dirty_bif. The process may be ended
// meanwhile (end_dirty_process()) and its module purged, so it calls a copy that keeps the library.
Term run_dirty(Process& p, const Term* args) {
    const auto& f = *static_cast<const Function*>(p.dirty_bif);
    // acquire: pairs with replace_functions().
    const Function own(f, f.code.load(std::memory_order_acquire));
    own.library->retain();
    // release: after the copy and the reference; end_dirty_process() waits for the bit.
    p.state.fetch_or(process_state::kKept, std::memory_order_release);
    const Term result = call(p, own, args);
    own.library->release();
    return result;
}

void replace_functions(Library& l, const std::vector<Function*>& functions) {
    for (size_t i = 0; i < functions.size(); ++i) {
        Function& f = *functions[i];
        f.library = &l;
        f.fn = run_dirty;
        f.flags =
            static_cast<uint8_t>(kBifNative | kBifLeavable | (l.functions[i].flags == kDirtyCpu  ? kBifDirtyCpu
                                               : l.functions[i].flags == kDirtyIo ? kBifDirtyIo
                                                                                  : 0));
        // release: a thread that reads the code sees the rest.
        f.code.store(l.functions[i].code, std::memory_order_release);
    }
}

// The instance whose library hands its data on to this one's, or null.
ModuleInstance* previous_of(const ModuleInstance& instance, int ix) {
    ModuleInstance* const current = module_table::current(instance.name(), ix);
    if (current != nullptr && current != &instance) {
        return current;
    }
    return module_table::old(instance.name(), ix);
}

// Calls load or upgrade. The text of the error; empty: the library agreed.
std::string introduce(Process& p, Library& l, ModuleInstance* previous, Term info,
                      const char** reason) {
    l.loading = true;
    int refused = 0;
    std::string why;
    Env env(p, &l);
    // relaxed: the pointer changes only under load_lock().
    Library* const former =
        previous != nullptr ? previous->library.load(std::memory_order_relaxed) : nullptr;
    if (former != nullptr) {
        Library& old = *former;
        *reason = "upgrade";
        if (l.entry.upgrade == nullptr) {
            why = "Upgrade not supported by this NIF library.";
        } else {
            void* const old_data = old.priv_data;
            refused = l.entry.upgrade(&env, &l.priv_data, &old.priv_data, word_of(info));
            if (refused != 0) {
                old.priv_data = old_data;
                why = text_of("Library upgrade-call unsuccessful (%d).", refused);
            }
        }
    } else if (l.entry.load != nullptr) {
        *reason = "load";
        refused = l.entry.load(&env, &l.priv_data, word_of(info));
        if (refused != 0) {
            why = text_of("Library load-call unsuccessful (%d).", refused);
        }
    }
    l.loading = false;
    return why;
}

// The modules for which a library has been opened, in the order of their first ones. Under load_lock().
std::vector<Term>& taints() {
    static std::vector<Term> modules;
    return modules;
}
void add_taint(Term module) {
    for (const Term t : taints()) {
        if (t == module) {
            return;
        }
    }
    taints().push_back(module);
}

// The library of a module whose natives are part of the VM; null for other modules.
const Entry* built_in(Term module) {
    static const Term prim_tty = atom_table::intern("prim_tty");
    static const Term prim_socket = atom_table::intern("prim_socket");
    static const Term prim_net = atom_table::intern("prim_net");
    static const Term zstd = atom_table::intern("zstd");
    return module == prim_tty      ? &prim_tty_entry()
           : module == prim_socket ? &sockets::prim_socket_entry()
           : module == prim_net    ? &sockets::prim_net_entry()
           : module == zstd        ? &zstd_entry()
                                   : nullptr;
}

// A library of the VM serves the modules of several releases: removes the functions that this module does not declare.
void keep_declared(const ModuleInstance& instance, Library& l) {
    std::erase_if(l.functions, [&](const LibraryFunction& f) {
        const Function* const function = find_function(instance, f);
        return function == nullptr || (instance.lowered.declares_nifs && !function->declared);
    });
}

void close_file(void* handle) {
    if (handle != nullptr) {
        dlclose(handle);
    }
}

// Opens a file and returns what its nif_init does. *why is not empty: there is no such file, or no such function.
const Entry* open_library(const std::string& name, void** handle, const char** reason, std::string* why) {
    api_is_linked();
    *handle = dlopen((name + ".so").c_str(), RTLD_NOW);
    if (*handle == nullptr) {
        const std::string error = dlerror();
        *reason = "load_failed";
        *why = error.find(name) != std::string::npos ? "Failed to load NIF library: '" + error + "'"
                                                     : "Failed to load NIF library " + name + ": '" + error + "'";
        return nullptr;
    }
    using Init = const Entry* (*)();
    auto init = reinterpret_cast<Init>(dlsym(*handle, "nif_init"));
    if (init == nullptr) {
        init = reinterpret_cast<Init>(dlsym(*handle, "_nif_init"));
    }
    if (init == nullptr) {
        *why = std::string("Failed to find library init function: '") + dlerror() + "'";
        close_file(std::exchange(*handle, nullptr));
        return nullptr;
    }
    return init();
}

bool is_served_by_vm(const ModuleInstance& instance) {
    for (const LoweredFunction& f : instance.lowered.functions) {
        if (f.native != nullptr) {
            return true;
        }
    }
    return false;
}

}  // namespace

void Delete::operator()(Function* f) const { delete f; }

std::mutex& load_lock() {
    static std::mutex lock;
    return lock;
}

Function::Function(Term m, Term f, uint32_t n)
    : BifDef{}, module_text(atom_table::text(m)), function_text(atom_table::text(f)) {
    module = module_text.c_str();
    function = function_text.c_str();
    arity = static_cast<uint8_t>(n);
    fn = run_dirty;
    flags = kBifNative;
    exp = export_table::get(m, f, n);
}

Function::Function(const Function& called, Callable c) : BifDef{}, library(called.library) {
    module = function = "";
    arity = called.arity;
    exp = called.exp;
    flags = kBifNative;
    // relaxed: only this thread has the copy.
    code.store(c, std::memory_order_relaxed);
}

// ---- libraries ----------------------------------------------------------------------------------

void TracerFunctions::take(const LibraryFunction& f) {
    // By tracer::Kind.
    static constexpr std::array<const char*, kKinds> kSuffixes = {
        "",       "_call",    "_garbage_collection", "_ports", "_procs",
        "_receive", "_running_ports", "_running_procs",      "_send"};
    constexpr uint32_t kEnabledArity = 3;
    constexpr uint32_t kTraceArity = 5;
    for (size_t kind = 0; kind < kKinds; ++kind) {
        if (f.arity == kEnabledArity && f.name == std::string("enabled") + kSuffixes[kind]) {
            enabled_by_kind[kind] = f.code;
        } else if (f.arity == kTraceArity && f.name == std::string("trace") + kSuffixes[kind]) {
            trace_by_kind[kind] = f.code;
        }
    }
}

bool Library::has_function(const char* name, unsigned arity) const {
    return std::any_of(functions.begin(), functions.end(), [&](const LibraryFunction& f) {
        return f.arity == arity && std::strcmp(f.name, name) == 0;
    });
}
void Library::retain() {
    // relaxed: the caller holds a reference already.
    refs.fetch_add(1, std::memory_order_relaxed);
}

bool Library::give_up() {
    // acq_rel: all uses of the library come before its end.
    return refs.fetch_sub(1, std::memory_order_acq_rel) == 1;
}

void Library::close(Library* l) {
    if (l->entry.unload != nullptr) {
        Env env(l);
        l->entry.unload(&env, l->priv_data);
    }
    close_file(l->handle);
    delete l;
}

void Library::release() {
    if (give_up()) {
        // Deferred, since the library's own code may be calling.
        thread_progress::later([](void* l) { close(static_cast<Library*>(l)); }, this);
    }
}

Term load_called_by_apply(Process& p) {
    return failure(p, "bad_lib",
                   "load_nif/2 must be explicitly called from the NIF module. It cannot be called "
                   "through apply/3.");
}

Term load(Process& p, ModuleInstance& instance, const std::string& library_name, Term info) {
    const std::lock_guard lock(load_lock());
    const int ix = code_index::active();
    const Term module = instance.name();
    const std::string module_name = text_of_term(module);
    if (module_table::old(module, ix) == &instance) {
        return failure(p, "old_code",
                       "Calling load_nif from old module '" + module_name + "' not allowed");
    }
    if (is_served_by_vm(instance)) {
        return atoms::ok;
    }
    // relaxed: the pointer changes only under load_lock().
    if (instance.library.load(std::memory_order_relaxed) != nullptr) {
        return failure(p, "reload", "NIF library already loaded (reload disallowed since OTP 20).");
    }
    const char* reason = "bad_lib";
    std::string why;
    void* handle = nullptr;
    const Entry* const own = built_in(module);
    const Entry* const entry = own != nullptr ? own : open_library(library_name, &handle, &reason, &why);
    if (handle != nullptr) {
        add_taint(module);
    }
    if (why.empty()) {
        why = entry == nullptr ? "Library init-call unsuccessful" : check_entry(*entry, module);
    }
    auto library = std::make_unique<Library>();
    std::vector<Function*> functions;
    if (why.empty()) {
        library->handle = handle;
        library->module = module;
        take_entry(*library, *entry);
        if (own != nullptr) {
            keep_declared(instance, *library);
        }
        why = match_functions(instance, *library, &functions);
    }
    if (why.empty()) {
        why = introduce(p, *library, previous_of(instance, ix), info, &reason);
    }
    if (!why.empty()) {
        forget_opened_types();
        close_file(handle);
        return failure(p, reason, why);
    }
    commit_opened_types(*library);
    replace_functions(*library, functions);
    // release: a thread that finds the library finds it complete (tracer.cpp).
    instance.library.store(library.release(), std::memory_order_release);
    return atoms::ok;
}

Term tainted_modules(Heap& h) {
    const std::lock_guard lock(load_lock());
    Term list = kNil;
    for (auto m = taints().rbegin(); m != taints().rend(); ++m) {
        list = cons(h, *m, list);
    }
    return list;
}

void unload(ModuleInstance& instance) {
    Library* library = nullptr;
    {
        const std::lock_guard lock(load_lock());
        // relaxed: the pointer changes only under the lock, and no other thread finds the instance any more.
        library = instance.library.exchange(nullptr, std::memory_order_relaxed);
        if (library != nullptr) {
            close_types_of(*library);
        }
    }
    if (library != nullptr && library->give_up()) {
        Library::close(library);
    }
}

// ---- resource types -----------------------------------------------------------------------------

void ResourceType::release() {
    // acq_rel: all uses of the type come before its end.
    if (refs.fetch_sub(1, std::memory_order_acq_rel) != 1) {
        return;
    }
    // relaxed: no other thread refers to the type any more.
    Library* const library = owner.load(std::memory_order_relaxed);
    if (has_callbacks) {
        library->release();
    }
    delete this;
}

ResourceType* find_type(Term module, Term name) {
    for (ResourceType* t : g_types) {
        if (t->module == module && t->name == name) {
            return t;
        }
    }
    return nullptr;
}

ResourceType* open_type(Env* env, const char* name, const Callbacks& callbacks, ResourceFlags flags,
                        ResourceFlags* tried) {
    ResourceType* type = nullptr;
    ResourceFlags how = flags;
    if (env->library != nullptr && env->library->loading) {
        const Term type_name = atom_table::intern_latin1(name);
        type = find_type(env->library->module, type_name);
        if (type != nullptr) {
            if ((flags & kTakeover) != 0) {
                how = kTakeover;
            } else {
                type = nullptr;
            }
        } else if ((flags & kCreate) != 0) {
            how = kCreate;
            type = new ResourceType;
            type->module = env->library->module;
            type->name = type_name;
        }
        if (type != nullptr) {
            g_opened.push_back({type, how, callbacks});
        }
    }
    if (tried != nullptr) {
        *tried = how;
    }
    return type;
}

ResourceType* find_type_any_thread(Term module, Term name) {
    const std::lock_guard lock(g_types_lock);
    ResourceType* const type = find_type(module, name);
    if (type != nullptr) {
        // relaxed: the table holds a reference.
        type->refs.fetch_add(1, std::memory_order_relaxed);
    }
    return type;
}

void commit_opened_types(Library& library) {
    const std::lock_guard lock(g_types_lock);
    std::vector<Library*> former;
    for (const OpenedType& o : g_opened) {
        ResourceType& t = *o.type;
        if (o.how == kCreate) {
            g_types.push_back(&t);
        } else if (t.has_callbacks) {
            // relaxed: the owner changes only here, under the lock.
            former.push_back(t.owner.load(std::memory_order_relaxed));
        }
        if (o.callbacks.any()) {
            library.retain();
        }
        t.has_callbacks = o.callbacks.any();
        // release: a thread that reads a callback finds the library in place.
        t.destructor.store(o.callbacks.destructor, std::memory_order_release);
        t.stop.store(o.callbacks.stop, std::memory_order_release);
        t.down.store(o.callbacks.down, std::memory_order_release);
        // release: as above.
        t.dynamic_call.store(o.callbacks.dynamic_call, std::memory_order_release);
        t.owner.store(&library, std::memory_order_release);
    }
    g_opened.clear();
    for (Library* l : former) {
        l->release();
    }
}

void forget_opened_types() {
    for (const OpenedType& o : g_opened) {
        if (o.how == kCreate) {
            delete o.type;
        }
    }
    g_opened.clear();
}

void close_types_of(Library& library) {
    std::vector<ResourceType*> closed;
    std::unique_lock lock(g_types_lock);
    std::erase_if(g_types, [&](ResourceType* t) {
        // relaxed: the owner changes only under the lock.
        if (t->owner.load(std::memory_order_relaxed) != &library) {
            return false;
        }
        closed.push_back(t);
        return true;
    });
    lock.unlock();
    for (ResourceType* t : closed) {
        t->release();
    }
}

}  // namespace minivm::nif
