// Staging and commit.
#include "vm/code/loading.hpp"

#include "vm/code/catches.hpp"
#include "vm/code/entries.hpp"
#include "vm/code/generations.hpp"
#include "vm/code/modules.hpp"
#include "vm/record/record.hpp"
#include "vm/term/atom_table.hpp"
#include "vm/util/atomics.hpp"

#include <algorithm>
#include <unordered_map>
#include <unordered_set>
#include <utility>

namespace minivm {

ModuleSource* g_module_source = nullptr;

namespace {

// The entries that a commit changes.
struct Changes {
    std::vector<Export*> exports;
    std::vector<FunEntry*> funs;
    std::vector<modules::ModuleEntry*> modules;
    void clear() {
        exports.clear();
        funs.clear();
        modules.clear();
    }
};
Generations<Atomics, Changes, kCodeIndexes> g_generations{code_index::g_active};

template <typename T>
void copy_index(const std::vector<T*>& entries, int from, int to) {
    for (T* e : entries) {
        e->bytecode[to] = e->bytecode[from];
        e->native[to] = e->native[from];
        if constexpr (std::is_same_v<T, FunEntry>) {
            e->body[to] = e->body[from];
        } else if (e->original != nullptr) {
            e->original->bytecode[to] = e->original->bytecode[from];
            e->original->native[to] = e->original->native[from];
        }
    }
}

// The indexes of a module's funs. Another module has the fun only if it was loaded from the same file.
using FunPlaces = std::unordered_map<const FunEntry*, uint32_t>;
FunPlaces places_of(const ModuleInstance& instance) {
    FunPlaces places;
    for (uint32_t i = 0; i < instance.fun_entries.size(); ++i) {
        places.emplace(instance.fun_entries[i], i);
    }
    return places;
}

}  // namespace

namespace code_index {
#ifdef MINIVM_DEBUG
std::atomic<uint32_t> g_left_out{0};
#endif
std::atomic<int> g_active{0};

void commit_staging() { g_generations.commit(); }
}  // namespace code_index

namespace staging {

void begin() {
    // relaxed: see module_table::lookup().
    modules::g_stagings.fetch_add(1, std::memory_order_relaxed);
    g_generations.begin([](const Changes& c, int from, int to) {
        copy_index(c.exports, from, to);
        copy_index(c.funs, from, to);
        for (modules::ModuleEntry* m : c.modules) {
            m->current[to] = m->current[from];
            m->old[to] = m->old[from];
            m->on_load[to] = m->on_load[from];
        }
    });
    modules::g_ranges[code_index::staging()] = modules::g_ranges[code_index::active()];
}

static void undefine_exports(const ModuleInstance& instance) {
    const int ix = code_index::staging();
    for (const LoweredExport& x : instance.lowered.exports) {
        Export* e = x.callable;
        if (e->bif == nullptr) {
            entries::clear_export(e, ix);
        }
        g_generations.changes().exports.push_back(e);
    }
}

static void define_exports(const ModuleInstance& instance) {
    const int ix = code_index::staging();
    for (const LoweredExport& x : instance.lowered.exports) {
        Export* e = x.callable;
        if (e->bif == nullptr) {
            entries::set_export(e, ix, instance, x.entry);
        }
        g_generations.changes().exports.push_back(e);
    }
}

void delete_module(Term module) {
    const int ix = code_index::staging();
    modules::ModuleEntry* entry = modules::get(module);
    MINIVM_ASSERT(entry->old[ix] == nullptr);
    if (entry->current[ix] != nullptr) {
        undefine_exports(*entry->current[ix]);
    }
    entry->old[ix] = entry->current[ix];
    entry->current[ix] = nullptr;
    g_generations.changes().modules.push_back(entry);
}

// Catches, funs and address range: what the code needs to run.
static void add_code(ModuleInstance* instance) {
    const int ix = code_index::staging();
    LoweredModule& m = instance->lowered;
    instance->first_catch = catch_table::allocate(m.catch_count);
    for (uint32_t n = 0; n < m.catch_count; ++n) {
        catch_table::entry(instance->first_catch + n) = {instance->code->catch_handler(n),
                                                  instance->code->is_native()};
    }
    instance->fun_entries.clear();
    for (const LoweredLambda& l : m.lambdas) {
        FunEntry* fe = fun_table::get(m.name, l.index, l.old_uniq, m.md5, l.arity - l.num_free,
                                      l.num_free);
        fe->set_function(l.function);
        entries::set_fun(fe, ix, *instance, static_cast<uint32_t>(&l - m.lambdas.data()));
        g_generations.changes().funs.push_back(fe);
        instance->fun_entries.push_back(fe);
    }
    instance->file_atoms.clear();
    for (const std::string& f : m.files) {
        const bool short_enough = f.size() <= kMaxAtomChars && atom_table::is_valid(f);
        instance->file_atoms.push_back(
            atom_table::intern(short_enough ? std::string_view(f)
                                            : std::string_view("long_file_name")));
    }
    // Export entries are never freed.
    for (LoweredExport& x : instance->lowered.exports) {
        x.callable = export_table::get(instance->name(), x.function, x.arity);
    }
    instance->engine->install(*instance);
    const modules::Range r{reinterpret_cast<Word>(instance->code->begin()),
                  reinterpret_cast<Word>(instance->code->end()), instance};
    auto& ranges = modules::g_ranges[ix];
    ranges.insert(std::upper_bound(ranges.begin(), ranges.end(), r,
                                   [](const modules::Range& a, const modules::Range& b) { return a.begin < b.begin; }),
                  r);
}

// `instance` becomes current and the current instance old. The old one's exports become undefined unless
// `instance` has them too; its funs still lead to its code.
static void make_current(modules::ModuleEntry* entry, ModuleInstance* instance) {
    const int ix = code_index::staging();
    if (const ModuleInstance* previous = entry->current[ix]) {
        MINIVM_ASSERT(entry->old[ix] == nullptr);
        if (previous->engine != instance->engine) {
            MINIVM_EVENT(code_engine, records::atom(entry->name), previous->code->is_native(),
                         instance->code->is_native());
        }
        undefine_exports(*previous);
        entry->old[ix] = entry->current[ix];
    }
    define_exports(*instance);
    entry->current[ix] = instance;
    g_generations.changes().modules.push_back(entry);
}

void add_module(ModuleInstance* instance) {
    add_code(instance);
    make_current(modules::get(instance->name()), instance);
}

void add_pending(ModuleInstance* instance) {
    add_code(instance);
    instance->on_load_entry = std::make_unique<Export>();
    Export& e = *instance->on_load_entry;
    e.module = instance->name();
    e.bif = nullptr;
    for (const LoweredFunction& f : instance->lowered.functions) {
        if (f.entry == instance->lowered.on_load) {
            e.function = f.name;
        }
    }
    entries::init_stubs(&e);
    for (int ix = 0; ix < kCodeIndexes; ++ix) {
        entries::set_export(&e, ix, *instance, instance->lowered.on_load);
    }
    modules::ModuleEntry* entry = modules::get(instance->name());
    MINIVM_ASSERT(entry->on_load[code_index::staging()] == nullptr);
    entry->on_load[code_index::staging()] = instance;
    g_generations.changes().modules.push_back(entry);
}

void accept_pending(Term module) {
    const int ix = code_index::staging();
    modules::ModuleEntry* entry = modules::get(module);
    ModuleInstance* instance = entry->on_load[ix];
    entry->on_load[ix] = nullptr;
    make_current(entry, instance);
}

bool close_funs(const ModuleInstance& instance, std::vector<const FunEntry*>* closed) {
    const int ix = code_index::staging();
    const modules::ModuleEntry* entry = modules::get(instance.name());
    // The instances that may take a fun over, the first one before the second.
    std::vector<std::pair<const ModuleInstance*, FunPlaces>> heirs;
    for (const ModuleInstance* other : {entry->current[ix], entry->old[ix]}) {
        if (other != nullptr && other != &instance) {
            heirs.emplace_back(other, places_of(*other));
        }
    }
    bool any = false;
    for (uint32_t i = 0; i < instance.fun_entries.size(); ++i) {
        FunEntry* fe = instance.fun_entries[i];
        if (!entries::fun_leads_to(fe, ix, instance, i)) {
            continue;
        }
        any = true;
        g_generations.changes().funs.push_back(fe);
        const auto heir = std::find_if(heirs.begin(), heirs.end(),
                                       [fe](const auto& other) { return other.second.contains(fe); });
        if (heir != heirs.end()) {
            entries::set_fun(fe, ix, *heir->first, heir->second.at(fe));
        } else {
            entries::clear_fun(fe, ix);
            closed->push_back(fe);
        }
    }
    return any;
}

void reopen_funs(const ModuleInstance& instance, const std::vector<const FunEntry*>& closed) {
    const int ix = code_index::staging();
    const std::unordered_set<const FunEntry*> was_closed(closed.begin(), closed.end());
    for (uint32_t i = 0; i < instance.fun_entries.size(); ++i) {
        FunEntry* fe = instance.fun_entries[i];
        // A load of the same file may have set the entry meanwhile.
        if (was_closed.contains(fe) && !fun_table::is_loaded(fe, ix)) {
            entries::set_fun(fe, ix, instance, i);
            g_generations.changes().funs.push_back(fe);
        }
    }
}

void remove_module(ModuleInstance* instance) {
    const int ix = code_index::staging();
    modules::ModuleEntry* entry = modules::get(instance->name());
    if (entry->old[ix] == instance) {
        entry->old[ix] = nullptr;
    }
    if (entry->on_load[ix] == instance) {
        entry->on_load[ix] = nullptr;
    }
    MINIVM_ASSERT(entry->current[ix] != instance);
    g_generations.changes().modules.push_back(entry);
    auto& ranges = modules::g_ranges[ix];
    ranges.erase(std::remove_if(ranges.begin(), ranges.end(),
                                [instance](const modules::Range& r) { return r.instance == instance; }),
                 ranges.end());
}

void trace_export(Export* e, bool on) {
    if (e->traced != on) {
        entries::set_traced(e, code_index::staging(), on);
        g_generations.changes().exports.push_back(e);
    }
}

void give_back_catches(const ModuleInstance& instance) {
    catch_table::give_back(instance.first_catch, instance.lowered.catch_count);
}

}  // namespace staging

}  // namespace minivm
