#include "vm/bif/bif.hpp"

#include "vm/code/export.hpp"
#include "vm/term/atom_table.hpp"
#include "vm/term/bignum.hpp"
#include "vm/term/map.hpp"
#include "vm/util/otp_release.hpp"

#include <algorithm>
#include <climits>
#include <cstring>
#include <iterator>
#include <mutex>
#include <string_view>

namespace minivm {

#define AREA(name) extern std::vector<BifDef> name##_bif_defs;
#include "vm/bif/areas.def"
#undef AREA

namespace bif_registry {

static std::vector<std::vector<BifDef>*> g_tables = {
#define AREA(name) &name##_bif_defs,
#include "vm/bif/areas.def"
#undef AREA
};

// The first release of OTP that has a function, for those that are younger than OTP 25, and the first that has it no
// more; with the libraries of another one there is no such function.
struct OfSome {
    std::string_view module, function;
    int arity;
    int since;
    int until = INT_MAX;
};
constexpr OfSome kOfSome[] = {
    {"erl_debugger", "supported", 0, 28},
    {"erlang", "display_nl", 0, 0, 26},
    {"erlang", "display_string", 2, 26},
    {"erlang", "exit", 3, 28},
    {"erlang", "exit_signal", 3, 29},
    {"erlang", "hibernate", 0, 28},
    {"erlang", "is_integer", 3, 29},
    {"erlang", "is_record", 1, 29},
    {"erlang", "link", 2, 28},
    {"erts_debug", "unaligned_bitstring", 2, 26},
    {"erts_internal", "binary_to_integer", 2, 26},
    {"erts_internal", "list_to_integer", 2, 26},
    {"erts_internal", "processes_next", 1, 28},
    {"erts_internal", "term_to_string", 2, 26},
    {"ets", "first_lookup", 1, 27},
    {"ets", "last_lookup", 1, 27},
    {"ets", "lookup_element", 4, 26},
    {"ets", "next_lookup", 2, 27},
    {"ets", "prev_lookup", 2, 27},
    {"ets", "update_element", 4, 27},
    {"math", "tau", 0, 26},
    {"persistent_term", "put_new", 2, 26},
    {"re", "import", 1, 28},
    {"records", "create", 4, 29},
    {"records", "get", 2, 29},
    {"records", "get_definition", 2, 29},
    {"records", "get_field_names", 1, 29},
    {"records", "get_module", 1, 29},
    {"records", "get_name", 1, 29},
    {"records", "is_exported", 1, 29},
    {"records", "update", 4, 29},
};
static bool is_of_another_release(const BifDef& d) {
    return std::any_of(std::begin(kOfSome), std::end(kOfSome), [&](const OfSome& f) {
        return (!by_release::at_least(f.since) || by_release::at_least(f.until)) && f.module == d.module &&
               f.function == d.function && f.arity == d.arity;
    });
}

static std::vector<Word> g_modules;  // atoms, ascending
// Never destroyed: like all entries these stay until the program has ended.
static std::vector<const Export*>& g_hidden = *new std::vector<const Export*>;

bool has_any(Term module) {
    return std::binary_search(g_modules.begin(), g_modules.end(), module.raw);
}

static void register_all() {
    for (std::vector<BifDef>* t : g_tables) {
        for (BifDef& d : *t) {
            const bool is_hidden = d.has_any(kBifHidden) || is_of_another_release(d);
            d.flags |= is_hidden ? kBifHidden : 0;
            const auto entry_of = is_hidden ? export_table::make_hidden : export_table::get;
            Export* e = entry_of(atom_table::intern(d.module), atom_table::intern(d.function), d.arity);
            MINIVM_CHECK(e->bif == nullptr);  // two tables define one function
            if (is_hidden) {
                g_hidden.push_back(e);
            }
            e->bif = &d;
            for (auto& b : e->bytecode) {
                b = &e->stub[kStubBif];
            }
            d.exp = e;
            g_modules.push_back(e->module.raw);
        }
    }
    std::sort(g_modules.begin(), g_modules.end());
    g_modules.erase(std::unique(g_modules.begin(), g_modules.end()), g_modules.end());
}

void add(std::vector<BifDef>* table) { g_tables.push_back(table); }

// The program, each of its commands and each test may call it.
void init() {
    static std::once_flag once;
    std::call_once(once, register_all);
}

const BifDef* find(Term module, Term function, uint32_t arity) {
    const Export* e = export_table::find(module, function, arity);
    return e != nullptr ? e->bif : nullptr;
}

const BifDef* find_guard(Term module, Term function, uint32_t arity) {
    if (const BifDef* d = find(module, function, arity)) {
        return d;
    }
    for (const Export* e : g_hidden) {
        if (e->module == module && e->function == function && e->arity == arity && is_of_another_release(*e->bif)) {
            return e->bif;
        }
    }
    return nullptr;
}

void for_each(void (*f)(Export*, void*), void* context) {
    for (const std::vector<BifDef>* t : g_tables) {
        for (const BifDef& d : *t) {
            if (!d.has_any(kBifHidden)) {
                f(d.exp, context);
            }
        }
    }
}

// Functions that are no BIFs in OTP: of modules that OTP does not have, native functions that its VM links, or
// written in Erlang.
static bool is_own(const BifDef& d) {
    constexpr std::string_view kModules[] = {"minivm",      "recorder", "flight_recorder",
                                             "prim_buffer", "erl_tracer"};
    constexpr std::string_view kInErlang[] = {
        "apply",  "is_alive", "localtime_to_universaltime", "max", "memory", "min",
        "prepare_loading", "yield"};
    const std::string_view module = d.module;
    const std::string_view function = d.function;
    const auto is_one_of = [](std::string_view name, const auto& names) {
        return std::find(std::begin(names), std::end(names), name) != std::end(names);
    };
    const bool is_of_later = (module == "code" && function.find("cover") != function.npos) ||
                             (module == "erts_internal" && function.starts_with("trace"));
    return is_one_of(module, kModules) ||
           (module != "erlang" && function.ends_with("_nif")) ||
           (module == "erlang" && is_one_of(function, kInErlang)) ||
           (module == "math" && function == "pi") ||
           (module == "code" && function == "get_debug_info" && !by_release::at_least(28)) ||
           (is_of_later && !by_release::at_least(27)) ||
           (module == "os" && (function.ends_with("_env_var") || function == "list_env_vars" ||
                               (function == "getenv" && d.arity == 0)));
}

bool is_builtin(const BifDef& d) {
    const std::string_view module = d.module;
    const std::string_view function = d.function;
    // A function that OTP's compiler turns into an instruction counts, though it is no BIF.
    return !is_own(d) || module == "minivm" || (module == "erlang" && (function == "apply" || function == "yield"));
}

Term all(Heap& h) {
    Term list = kNil;
    for (const std::vector<BifDef>* t : g_tables) {
        for (const BifDef& d : *t) {
            if (!d.has_any(kBifHidden) && !is_own(d)) {
                list = cons(h,
                            make_tuple(h, atom_table::intern(d.module),
                                       atom_table::intern(d.function), make_small(d.arity)),
                            list);
            }
        }
    }
    return list;
}

}  // namespace bif_registry

const Export* bif_export(const char* module, const char* function, uint8_t arity) {
    const Term m = atom_table::intern(module);
    const Term f = atom_table::intern(function);
    for (const Export* e : bif_registry::g_hidden) {
        if (e->function == f && e->module == m && e->arity == arity) {
            return e;
        }
    }
    return export_table::get(m, f, arity);
}

}  // namespace minivm
