#include "trace/pattern.hpp"

#include "vm/bif/bif.hpp"
#include "vm/code/code_index.hpp"

#include <vector>

namespace minivm::trace {
namespace {

std::vector<Request> g_requests;  // in order
std::vector<Request> g_on_load;   // none or one

void change_action(Action& a, const Request& r, Breakpoint* counted) {
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
    if (r.count) {
        if (r.pause) {
            a.count_paused = a.count;
            return;
        }
        if (r.restart && !a.count) {
            return;
        }
        if (counted != nullptr && (r.on || r.restart)) {
            // relaxed: a number to show.
            counted->calls.store(0, std::memory_order_relaxed);
        }
        a.count = r.on || r.restart;
        a.count_paused = false;
    }
}

bool is_native_bif(const ModuleInstance& m, const LoweredFunction& f) {
    return bif_registry::find(m.name(), f.name, f.arity) != nullptr;
}

struct Applying {
    const Request& r;
    Change& change;
    int64_t count = 0;
};

void apply_to_module(ModuleInstance* current, ModuleInstance*, void* context) {
    auto& a = *static_cast<Applying*>(context);
    const Request& r = a.r;
    if (current == nullptr ||
        (r.which.module != atoms::underscore && r.which.module != current->name())) {
        return;
    }
    const LoweredModule& m = current->lowered;
    // What is set one way is no longer set the other way.
    if (r.global || r.local) {
        for (const LoweredExport& x : m.exports) {
            if (!r.which.matches(m.name, x.function, x.arity)) {
                continue;
            }
            Export* e = export_table::get(m.name, x.function, x.arity);
            if (e->bif != nullptr) {
                continue;
            }
            if (r.global && r.on) {
                change_action(a.change.of_entry(*e), r, nullptr);
            } else if (find(e) != nullptr && (r.on || r.global)) {
                Action& old = a.change.of_entry(*e);
                old.call = false;
                old.call_spec = nullptr;
            }
            a.count += r.global;
        }
    }
    for (uint32_t i = 0; i < m.functions.size(); ++i) {
        const LoweredFunction& f = m.functions[i];
        if (!r.which.matches(m.name, f.name, f.arity) || is_native_bif(*current, f)) {
            continue;
        }
        const void* key = current->engine->place_of_breakpoint(*current, i).key;
        Breakpoint* there = find(key);
        if (r.global) {
            if (there != nullptr && active(*there).call) {
                Action& old = a.change.of_code(*current, i);
                old.call = false;
                old.call_spec = nullptr;
            }
            continue;
        }
        a.count++;
        if (there == nullptr && !r.on) {
            continue;
        }
        Action& action = a.change.of_code(*current, i);
        change_action(action, r, find(key));
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
    Breakpoint* there = find(e->bif);
    if (there != nullptr || a.r.on) {
        change_action(a.change.of_bif(*const_cast<BifDef*>(e->bif)), a.r, there);
    }
}

bool same_target(const Request& a, const Request& b) {
    return a.which.module == b.which.module && a.which.function == b.which.function &&
           a.which.arity == b.which.arity && (a.local || a.global) == (b.local || b.global) &&
           a.meta == b.meta && a.count == b.count;
}

// One that says the same about the same functions has no effect any more.
void keep(const Request& r) {
    std::vector<Request> kept;
    for (Request& old : g_requests) {
        const bool covered =
            same_target(old, r) || (r.which.module == atoms::underscore && !r.on &&
                                    (old.local || old.global) == (r.local || r.global) &&
                                    old.meta == r.meta && old.count == r.count);
        if (!covered) {
            kept.push_back(std::move(old));
        }
    }
    if (r.on || !kept.empty()) {
        kept.push_back(r);
    }
    g_requests = std::move(kept);
}

}  // namespace

bool Functions::matches(Term m, Term f, uint32_t a) const {
    return (module == atoms::underscore || module == m) &&
           (function == atoms::underscore || function == f) && (arity < 0 || arity == a);
}

int64_t apply_request(const Request& r, Change* change) {
    Applying a{r, *change};
    const int ix = code_index::active();
    if (r.which.module == atoms::underscore) {
        module_table::for_each_loaded(ix, apply_to_module, &a);
    } else {
        apply_to_module(module_table::current(r.which.module, ix), nullptr, &a);
    }
    if (r.which.module != atoms::underscore && r.which.function != atoms::underscore &&
        r.which.arity >= 0) {
        if (Export* e = export_table::find(r.which.module, r.which.function,
                                           static_cast<uint32_t>(r.which.arity))) {
            apply_to_bif(e, &a);
        }
    } else {
        export_table::for_each(apply_to_bif, &a);
    }
    if (!r.pause && !r.restart) {
        keep(r);
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

void stage_instance(ModuleInstance& m) {
    if (g_requests.empty() && g_on_load.empty()) {
        return;
    }
    bool any = false;
    const bool is_new = module_table::current(m.name(), code_index::active()) == nullptr;
    for (uint32_t i = 0; i < m.lowered.functions.size(); ++i) {
        const LoweredFunction& f = m.lowered.functions[i];
        if (is_native_bif(m, f)) {
            continue;
        }
        Action action;
        if (is_new) {
            for (const Request& r : g_on_load) {
                change_action(action, r, nullptr);
            }
        }
        for (const Request& r : g_requests) {
            if (r.which.matches(m.name(), f.name, f.arity)) {
                change_action(action, r, nullptr);
            }
        }
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
