#include "trace/pattern.hpp"

#include "trace/session.hpp"
#include "vm/code/code_index.hpp"
#include "vm/instr/bif_def.hpp"

#include <algorithm>
#include <vector>

namespace minivm::trace {
namespace {

// Changes a counter's flags. True: its numbers are to begin anew, or it ends. traced: the function has a
// breakpoint.
bool change_counter(const Request& r, bool traced, bool& on, bool& paused) {
    if (!on && (r.pause || r.restart)) {
        on = traced;  // as in OTP: begins a counter only where there is a breakpoint
        paused = false;
        return on;
    }
    if (r.pause) {
        paused = true;
        return false;
    }
    on = r.on;
    paused = false;
    return true;
}

void change_action(Action& a, const Request& r) {
    if (r.debug) {
        a.debug = r.on;
        return;
    }
    if (r.on && (r.global || (a.call && a.global))) {
        a = Action{};  // a global pattern and breakpoints replace each other
    }
    // Clearing a global pattern leaves a local one, and the other way round.
    if ((r.local || r.global) && (r.on || a.global == r.global)) {
        a.call = r.on;
        a.global = r.global;
        a.call_spec = r.on ? r.spec : nullptr;
    }
    if (!r.meta && !r.count && !r.time && !r.memory) {
        return;
    }
    a.change_others([&](Action::Others& o) {
        if (r.meta) {
            a.meta = r.on;
            o.meta_spec = r.on ? r.spec : nullptr;
            o.meta_tracer = r.on ? r.meta_tracer : tracing::Tracer();
            o.meta_tracer_gone = r.on ? std::make_shared<std::atomic<bool>>(false) : nullptr;
        }
        if (r.count && change_counter(r, !a.none(), a.count, a.count_paused)) {
            o.counted = a.count ? std::make_shared<CallCount>() : nullptr;
        }
        if (r.time && change_counter(r, !a.none(), a.time, a.time_paused)) {
            o.times = a.time ? CallTable::make() : nullptr;
        }
        if (r.memory && change_counter(r, !a.none(), a.memory, a.memory_paused)) {
            o.words = a.memory ? CallTable::make() : nullptr;
        }
    });
}

bool is_native_bif(const ModuleInstance& m, const LoweredFunction& f) {
    return bif_registry::find(m.name(), f.name, f.arity) != nullptr;
}

struct Applying {
    const uint32_t session;
    const Request& r;
    Change& change;
    int64_t count = 0;
};

// The breakpoint of a key if it acts for the session, else null.
Breakpoint* own_breakpoint(const Applying& a, const void* key) {
    Breakpoint* b = find_own(key);
    return b != nullptr && active_of(*b, a.session) != nullptr ? b : nullptr;
}

void stop_calls(Action& a) {
    a.call = false;
    a.call_spec = nullptr;
}

// Which of a module's versions. Old code keeps its breakpoints and follows changes of them; a version
// whose on_load function still runs gets the breakpoints that it will have when it is current.
enum class Version : uint8_t { current, old, pending };

void apply_to_entries(Applying& a, const LoweredModule& m, Version version, BatchLock& bulk) {
    const Request& r = a.r;
    for (const LoweredExport& x : m.exports) {
        bulk.step();
        if (!r.which.matches(m.name, x.function, x.arity)) {
            continue;
        }
        Export* e = x.callable;
        if (e->bif != nullptr) {
            continue;
        }
        if (r.global && r.on) {
            change_action(a.change.of_entry(*e), r);
        } else if (own_breakpoint(a, e) != nullptr && (r.on || r.global)) {
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
    BatchLock bulk(0);
    // Global patterns and breakpoints replace each other; counters and meta traces are breakpoints.
    if (!r.debug && (r.global || (r.on && any_entries())) && version != Version::old) {
        apply_to_entries(a, m, version, bulk);
    }
    if (r.global && !(r.on && any_code())) {
        return;
    }
    const bool has_bifs = bif_registry::has_any(m.name);
    const bool makes_new = r.on && !r.global && version != Version::old;
    for (uint32_t i = 0; i < m.functions.size(); ++i) {
        bulk.step();
        const LoweredFunction& f = m.functions[i];
        if (!r.which.matches(m.name, f.name, f.arity) ||
            (has_bifs && is_native_bif(*instance, f))) {
            continue;
        }
        Breakpoint* there =
            makes_new ? nullptr
                      : own_breakpoint(a, instance->engine->place_of_breakpoint(*instance, i).key);
        if (r.global) {
            if (there != nullptr && r.on) {
                a.change.of(*there) = Action{};  // instead of all breakpoints
            }
            continue;
        }
        a.count += version == Version::current ? 1 : 0;
        if (there != nullptr || makes_new) {
            change_action(there != nullptr ? a.change.of(*there) : a.change.of_code(*instance, i),
                          r);
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

void apply_to_bif(Export* e, void* context) {
    static const Term own = atom_table::intern("minivm");
    auto& a = *static_cast<Applying*>(context);
    if (e->bif == nullptr || e->module == own ||
        !a.r.which.matches(e->module, e->function, e->arity)) {
        return;
    }
    a.count++;
    if (a.r.on || own_breakpoint(a, e->bif) != nullptr) {
        change_action(a.change.of_bif(*const_cast<BifDef*>(e->bif)), a.r);
    }
}

// The part of a request that holds for new code: `pause` and `restart` of counters are for existing functions only.
Request lasting_part(const Request& r) {
    Request lasting = r;
    if (r.pause || r.restart) {
        lasting.count = lasting.time = lasting.memory = lasting.pause = lasting.restart = false;
    }
    return lasting;
}

bool same_target(const Request& a, const Request& b) {
    return a.which.module == b.which.module && a.which.function == b.which.function &&
           a.which.arity == b.which.arity && a.which.is_glob == b.which.is_glob &&
           (a.local || a.global) == (b.local || b.global) &&
           a.meta == b.meta && a.count == b.count && a.time == b.time && a.memory == b.memory;
}

// Keeps the request, and drops those it makes void: of the same functions and kinds, or of kinds cleared everywhere.
void keep(Patterns& all, const Request& r) {
    std::vector<Request> kept;
    for (Request& old : all.requests) {
        const bool covered =
            same_target(old, r) ||
            (r.which.module == atoms::underscore && !r.which.is_glob && !r.on &&
             (old.local || old.global) == (r.local || r.global) && old.meta == r.meta &&
             old.count == r.count && old.time == r.time && old.memory == r.memory);
        if (!covered) {
            kept.push_back(std::move(old));
        }
    }
    ++all.last_request;
    if (r.on || !kept.empty()) {
        kept.push_back(r);
        kept.back().number = all.last_request;
    }
    all.requests = std::move(kept);
    if (all.requests.empty()) {
        all.came_after.clear();
    }
}

}  // namespace

// Kinds of breakpoints add up, global calls and breakpoints replace each other, and clearing one of the
// two leaves the other.
void OnLoad::change(const Request& r) {
    if (r.local || r.global) {
        spec = r.spec;
    }
    if (r.meta) {
        meta_spec = r.spec;
        meta_tracer = r.meta_tracer;
    } else if (r.global) {
        meta_spec = nullptr;
        meta_tracer = tracing::Tracer();
    }
    if (is_global() && r.global) {
        on = r.on;
    } else if (is_global() != r.global && r.on) {
        local = r.local;
        meta = r.meta;
        const bool counted = !r.restart && !r.pause;
        count = r.count && counted;
        time = r.time && counted;
        memory = r.memory && counted;
        on = r.global || !is_global();
    } else if (!is_global() && !r.global) {
        const auto set = [&r](bool& what, bool named) { what = named ? r.on : what; };
        set(local, r.local);
        set(meta, r.meta);
        if (!r.restart && !r.pause) {
            set(count, r.count);
            set(time, r.time);
            set(memory, r.memory);
        }
        on = !is_global();
    }
}

void OnLoad::apply_to(Action& a) const {
    if (!on) {
        return;
    }
    Request calls;
    calls.global = is_global();
    calls.local = local;
    calls.count = count;
    calls.time = time;
    calls.memory = memory;
    calls.spec = spec;
    change_action(a, calls);
    if (meta) {
        Request traces;
        traces.meta = true;
        traces.meta_tracer = meta_tracer;
        traces.spec = meta_spec;
        change_action(a, traces);
    }
}

// Whether the text fits a pattern with * and ?. One `*` is remembered: an earlier one never has to take more.
static bool fits_glob(std::string_view pattern, std::string_view text) {
    size_t p = 0;
    size_t t = 0;
    size_t star = pattern.npos;
    size_t taken = 0;
    while (t < text.size()) {
        if (p < pattern.size() && pattern[p] == '*') {
            star = p++;
            taken = t;
        } else if (p < pattern.size() && (pattern[p] == '?' || pattern[p] == text[t])) {
            ++p;
            ++t;
        } else if (star != pattern.npos) {
            p = star + 1;
            t = ++taken;
        } else {
            return false;
        }
    }
    return pattern.find_first_not_of('*', p) == pattern.npos;
}

static bool fits(Term pattern, Term name, bool is_glob) {
    return pattern == atoms::underscore || pattern == name ||
           (is_glob && fits_glob(atom_table::text(pattern), atom_table::text(name)));
}

bool Functions::matches_module(Term m) const {
    return fits(module, m, is_glob);
}

bool Functions::matches(Term m, Term f, uint32_t a) const {
    return (arity < 0 || arity == a) && matches_module(m) && fits(function, f, is_glob);
}

// At most how many breakpoints a request makes in a module; 0 for few.
static size_t room_for(const Request& r, const ModuleInstance* m) {
    const bool all = m != nullptr && r.on && r.which.function == atoms::underscore &&
                     r.which.matches_module(m->name());
    return !all ? 0 : r.global ? m->lowered.exports.size() : m->lowered.functions.size();
}

static void add_room(ModuleInstance* current, ModuleInstance*, void* context) {
    auto& [request, room] = *static_cast<std::pair<const Request&, size_t>*>(context);
    room += room_for(request, current);
}

int64_t apply_request(Session& s, const Request& r, Change* change) {
    Applying a{s.number, r, *change};
    const bool in_many = r.which.module == atoms::underscore || r.which.is_glob;
    const bool one = !in_many && r.which.function != atoms::underscore && r.which.arity >= 0;
    const int ix = code_index::active();
    std::pair<const Request&, size_t> to_come{r, 0};
    if (in_many) {
        module_table::for_each_loaded(ix, add_room, &to_come);
    } else {
        add_room(module_table::current(r.which.module, ix), nullptr, &to_come);
    }
    // The room stays: only the permission holder adds breakpoints.
    if (to_come.second != 0) {
        const BatchLock room(to_come.second);
    }
    if (in_many) {
        module_table::for_each_loaded(ix, apply_to_module, &a);
    } else {
        apply_to_version(a, module_table::current(r.which.module, ix), Version::current);
        apply_to_version(a, module_table::old(r.which.module, ix), Version::old);
        apply_to_version(a, module_table::on_load(r.which.module, ix), Version::pending);
    }
    if (r.debug) {
        return a.count;  // only Erlang code, and no new code
    }
    if (one) {
        if (Export* e = export_table::find(r.which.module, r.which.function,
                                           static_cast<uint32_t>(r.which.arity))) {
            apply_to_bif(e, &a);
        }
    } else if (in_many || bif_registry::has_any(r.which.module)) {
        bif_registry::for_each(apply_to_bif, &a);
    }
    const Request lasting = lasting_part(r);
    if (lasting.local || lasting.global || lasting.meta || lasting.counters()) {
        keep(s.patterns, lasting);
    }
    return a.count;
}

// The action that a session's requests ask for in a function of a staged version.
static Action action_for(const Patterns& all, Term module, const LoweredFunction& f,
                         uint64_t came_after) {
    Action action;
    for (const Request& r : all.requests) {
        if ((r.number > came_after || r.which.is_glob) &&
            r.which.matches(module, f.name, f.arity)) {
            change_action(action, r);
        }
    }
    if (action.none()) {
        all.on_load.apply_to(action);
    }
    return action;
}

// Takes the trace of global calls, if there is one, out of the action, and returns it.
static Action take_global(Action& a) {
    Action entry;
    if (a.call && a.global) {
        entry.call = entry.global = true;
        entry.call_spec = a.call_spec;
        stop_calls(a);
    }
    return entry;
}

void stage_instance(ModuleInstance& m) {
    const int ix = code_index::active();
    const bool is_new = module_table::current(m.name(), ix) == nullptr &&
                        module_table::old(m.name(), ix) == nullptr;
    struct Asking {
        SessionPtr session;
        uint64_t came_after;
    };
    std::vector<Asking> asking;
    for (const SessionPtr& s : all_sessions()) {
        Patterns& all = s->patterns;
        if (all.requests.empty() && !all.on_load.on) {
            continue;
        }
        if (is_new) {
            all.came_after[atom_index(m.name())] = all.last_request;
        }
        const auto came = all.came_after.find(atom_index(m.name()));
        asking.push_back({s, came != all.came_after.end() ? came->second : 0});
    }
    bool any = false;
    for (uint32_t i = 0; !asking.empty() && i < m.lowered.functions.size(); ++i) {
        const LoweredFunction& f = m.lowered.functions[i];
        if (is_native_bif(m, f)) {
            continue;
        }
        Action code;
        Action entry;
        SessionActions codes;
        SessionActions entries;
        for (const Asking& a : asking) {
            Action action = action_for(a.session->patterns, m.name(), f, a.came_after);
            const Action global = take_global(action);
            if (a.session->number == 0) {
                code = action;
                entry = global;
                continue;
            }
            // The sessions come in order.
            if (!action.none()) {
                codes.push_back({a.session->number, a.session->tracer, action});
            }
            if (!global.none()) {
                entries.push_back({a.session->number, a.session->tracer, global});
            }
        }
        if ((!entry.none() || !entries.empty()) && exports(m, f.name, f.arity)) {
            arm_staged(*export_table::get(m.name(), f.name, f.arity), entry, entries);
            any = true;
        }
        if (!code.none() || !codes.empty()) {
            arm_staged(m, i, code, codes);
            any = true;
        }
    }
    if (any) {
        publish_staged();
    }
}

}  // namespace minivm::trace
