#include "trace/pattern.hpp"

#include "vm/bif/bif.hpp"
#include "vm/code/code_index.hpp"

#include <map>
#include <set>
#include <vector>

namespace minivm::trace {
namespace {

std::vector<Request> g_requests;  // in order
uint64_t g_last_request = 0;      // number of the last one
std::vector<Request> g_on_load;   // none or one
// The last request when a module came that was not there: those up to it were not for it.
std::map<uint32_t, uint64_t> g_came_after;  // by atom index

// True: what has been counted is no more.
bool change_counter(const Request& r, bool& on, bool& paused) {
    if (r.pause || (r.restart && !on)) {
        paused = on;
        return false;
    }
    on = r.on;
    paused = false;
    return true;
}

void change_action(Action& a, const Request& r) {
    if (r.global && r.on) {
        a = Action{};  // instead of all breakpoints
    }
    if (r.local || r.global) {
        a.call = r.on;
        a.global = r.global;
        a.call_spec = r.on ? r.spec : nullptr;
    }
    if (r.meta) {
        a.meta = r.on;
        a.meta_spec = r.on ? r.spec : nullptr;
        a.meta_tracer = r.on ? r.meta_tracer : kNil;
    }
    const bool starts = (r.on && !r.pause) || r.restart;
    if (r.count && change_counter(r, a.count, a.count_paused)) {
        a.counted = starts ? std::make_shared<CallCount>() : nullptr;
    }
    if (r.time && change_counter(r, a.time, a.time_paused)) {
        a.times = starts ? CallTable::make() : nullptr;
    }
    if (r.memory && change_counter(r, a.memory, a.memory_paused)) {
        a.words = starts ? CallTable::make() : nullptr;
    }
}

bool is_native_bif(const ModuleInstance& m, const LoweredFunction& f) {
    return bif_registry::find(m.name(), f.name, f.arity) != nullptr;
}

struct Applying {
    const Request& r;
    Change& change;
    int64_t count = 0;
    std::set<Word> with_bifs{};  // modules that have any, by atom
};

void note_bif(Export* e, void* context) {
    if (e->bif != nullptr) {
        static_cast<Applying*>(context)->with_bifs.insert(e->module.raw);
    }
}

void stop_calls(Action& a) {
    a.call = false;
    a.call_spec = nullptr;
}

// Which of a module's versions. Old code keeps what it has, and follows changes of it; a version
// whose on_load function still runs gets what it will have when it is current.
enum class Version : uint8_t { current, old, pending };

void apply_to_entries(Applying& a, const LoweredModule& m, Version version) {
    const Request& r = a.r;
    for (const LoweredExport& x : m.exports) {
        if (!r.which.matches(m.name, x.function, x.arity)) {
            continue;
        }
        Export* e = export_table::get(m.name, x.function, x.arity);
        if (e->bif != nullptr) {
            continue;
        }
        if (r.global && r.on) {
            change_action(a.change.of_entry(*e), r);
        } else if (find_own(e) != nullptr && (r.on || r.global)) {
            stop_calls(a.change.of_entry(*e));
        }
        a.count += r.global && version == Version::current ? 1 : 0;
    }
}

void apply_to_version(Applying& a, ModuleInstance* instance, Version version) {
    const Request& r = a.r;
    if (instance == nullptr || !r.which.matches_module(instance->name())) {
        return;
    }
    const LoweredModule& m = instance->lowered;
    // What is set one way is no longer set the other way.
    if ((r.global || (r.local && any_entries())) && version != Version::old) {
        apply_to_entries(a, m, version);
    }
    const bool has_bifs = a.with_bifs.count(m.name.raw) != 0;
    for (uint32_t i = 0; i < m.functions.size(); ++i) {
        const LoweredFunction& f = m.functions[i];
        if (!r.which.matches(m.name, f.name, f.arity) ||
            (has_bifs && is_native_bif(*instance, f))) {
            continue;
        }
        const bool makes_new = r.on && !r.global && version != Version::old;
        const Breakpoint* there =
            makes_new ? nullptr : find_own(instance->engine->place_of_breakpoint(*instance, i).key);
        if (r.global) {
            if (there != nullptr && r.on) {
                a.change.of_code(*instance, i) = Action{};  // instead of all breakpoints
            } else if (there != nullptr && active(*there).call) {
                stop_calls(a.change.of_code(*instance, i));
            }
            continue;
        }
        a.count += version == Version::current ? 1 : 0;
        if (there != nullptr || makes_new) {
            change_action(a.change.of_code(*instance, i), r);
        }
    }
}

void apply_to_module(ModuleInstance* current, ModuleInstance* old, void* context) {
    auto& a = *static_cast<Applying*>(context);
    apply_to_version(a, current, Version::current);
    apply_to_version(a, old, Version::old);
    const ModuleInstance* any = current != nullptr ? current : old;
    if (any != nullptr) {
        apply_to_version(a, module_table::on_load(any->name(), code_index::active()),
                         Version::pending);
    }
}

// Ways to call, and no functions of their own.
bool is_apply(const Export* e) {
    return e->module == atoms::erlang && e->function == atoms::apply;
}

void apply_to_bif(Export* e, void* context) {
    static const Term own = atom_table::intern("minivm");
    auto& a = *static_cast<Applying*>(context);
    if (e->bif == nullptr || (e->bif->flags & kBifHidden) != 0 || e->module == own || is_apply(e) ||
        !a.r.which.matches(e->module, e->function, e->arity)) {
        return;
    }
    a.count++;
    Breakpoint* there = find_own(e->bif);
    if (there != nullptr || a.r.on) {
        change_action(a.change.of_bif(*const_cast<BifDef*>(e->bif)), a.r);
    }
}

bool same_target(const Request& a, const Request& b) {
    return a.which.module == b.which.module && a.which.function == b.which.function &&
           a.which.arity == b.which.arity && (a.local || a.global) == (b.local || b.global) &&
           a.meta == b.meta && a.count == b.count && a.time == b.time && a.memory == b.memory;
}

// One that says the same about the same functions has no effect any more.
void keep(const Request& r) {
    std::vector<Request> kept;
    for (Request& old : g_requests) {
        const bool covered =
            same_target(old, r) ||
            (r.which.module == atoms::underscore && !r.on &&
             (old.local || old.global) == (r.local || r.global) && old.meta == r.meta &&
             old.count == r.count && old.time == r.time && old.memory == r.memory);
        if (!covered) {
            kept.push_back(std::move(old));
        }
    }
    ++g_last_request;
    if (r.on || !kept.empty()) {
        kept.push_back(r);
        kept.back().number = g_last_request;
    }
    g_requests = std::move(kept);
    if (g_requests.empty()) {
        g_came_after.clear();
    }
}

}  // namespace

bool Functions::matches(Term m, Term f, uint32_t a) const {
    return matches_module(m) && (function == atoms::underscore || function == f) &&
           (arity < 0 || arity == a);
}

int64_t apply_request(const Request& r, Change* change) {
    Applying a{r, *change};
    const bool one = r.which.module != atoms::underscore && r.which.function != atoms::underscore &&
                     r.which.arity >= 0;
    if (one) {
        a.with_bifs.insert(r.which.module.raw);
    } else {
        export_table::for_each(note_bif, &a);
    }
    const int ix = code_index::active();
    if (r.which.module == atoms::underscore) {
        module_table::for_each_loaded(ix, apply_to_module, &a);
    } else {
        apply_to_version(a, module_table::current(r.which.module, ix), Version::current);
        apply_to_version(a, module_table::old(r.which.module, ix), Version::old);
        apply_to_version(a, module_table::on_load(r.which.module, ix), Version::pending);
    }
    if (one) {
        if (Export* e = export_table::find(r.which.module, r.which.function,
                                           static_cast<uint32_t>(r.which.arity))) {
            apply_to_bif(e, &a);
        }
    } else if (r.which.module == atoms::underscore || a.with_bifs.count(r.which.module.raw) != 0) {
        export_table::for_each(apply_to_bif, &a);
    }
    Request lasting = r;
    if (r.pause || r.restart) {
        lasting.count = lasting.time = lasting.memory = lasting.pause = lasting.restart = false;
    }
    if (lasting.local || lasting.global || lasting.meta || lasting.counters()) {
        keep(lasting);
    }
    return a.count;
}

void set_on_load(const Request& r) {
    if (!r.on) {
        g_on_load.clear();
    } else {
        g_on_load.assign(1, r);
    }
}

// What a function of a version that is being staged begins with.
static Action action_for(Term module, const LoweredFunction& f, uint64_t came_after) {
    Action action;
    for (const Request& r : g_requests) {
        if (r.number > came_after && r.which.matches(module, f.name, f.arity)) {
            change_action(action, r);
        }
    }
    if (action.none()) {
        for (const Request& r : g_on_load) {
            change_action(action, r);
        }
    }
    return action;
}

void stage_instance(ModuleInstance& m) {
    if (g_requests.empty() && g_on_load.empty()) {
        return;
    }
    const int ix = code_index::active();
    if (module_table::current(m.name(), ix) == nullptr &&
        module_table::old(m.name(), ix) == nullptr) {
        g_came_after[atom_index(m.name())] = g_last_request;
    }
    const auto came = g_came_after.find(atom_index(m.name()));
    const uint64_t came_after = came != g_came_after.end() ? came->second : 0;
    bool any = false;
    for (uint32_t i = 0; i < m.lowered.functions.size(); ++i) {
        const LoweredFunction& f = m.lowered.functions[i];
        if (is_native_bif(m, f)) {
            continue;
        }
        Action action = action_for(m.name(), f, came_after);
        if (action.call && action.global) {
            bool exported = false;
            for (const LoweredExport& x : m.lowered.exports) {
                exported |= x.function == f.name && x.arity == f.arity;
            }
            if (exported) {
                Action entry;
                entry.call = entry.global = true;
                entry.call_spec = action.call_spec;
                arm_staged(*export_table::get(m.name(), f.name, f.arity), entry);
                any = true;
            }
            action.call = false;
            action.call_spec = nullptr;
        }
        if (!action.none()) {
            arm_staged(m, i, action);
            any = true;
        }
    }
    if (any) {
        publish_staged();
    }
}

}  // namespace minivm::trace
