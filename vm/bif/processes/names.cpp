// BIFs for registered names and the process dictionary.
#include "vm/bif/bif.hpp"
#include "vm/code/export.hpp"
#include "vm/port/port.hpp"
#include "vm/process/kernel_start.hpp"
#include "vm/process/probe.hpp"
#include "vm/process/process_table.hpp"
#include "vm/process/registry.hpp"
#include "vm/term/compare.hpp"
#include "vm/term/local_atoms.hpp"

namespace minivm {

namespace {

LOCAL_ATOM(atom_notalive, "notalive")

// ---- names ---------------------------------------------------------------------------------------------

// Traces that a process or port gets or loses its name.
static void trace_name(Term pid, Term tag, Term name) {
    if (is_local_port(pid)) {
        port::trace_name(pid, tag, name);
    }
    Process* named = is_local_pid(pid) ? process_table::lookup(pid) : nullptr;
    if (named != nullptr) {
        probe::procs(*named, tag, name);
    }
}

Term erlang_register_2(Process& p, const Term* a) {
    if (!is_atom(a[0]) || a[0] == atoms::undefined ||
        !(is_local_pid(a[1]) || is_local_port(a[1]))) {
        return badarg_cause(p, atoms::none);
    }
    switch (registry::register_name(a[0], a[1])) {
        case registry::Registered::yes:
            trace_name(a[1], atoms::register_, a[0]);
            return atoms::true_;
        case registry::Registered::has_name:
            return badarg_cause(p, atoms::registered_name);
        case registry::Registered::not_alive:
            return badarg_cause(p, atom_notalive());
        case registry::Registered::no:
            break;
    }
    return badarg_cause(p, atoms::none);
}

Term erlang_unregister_1(Process& p, const Term* a) {
    const Term pid = is_atom(a[0]) ? registry::whereis(a[0]) : kNonValue;
    if (!is_value(pid) || !registry::unregister_name(a[0])) {
        return badarg(p);
    }
    trace_name(pid, atoms::unregister, a[0]);
    return atoms::true_;
}

// minivm:kernel(available | starting | up). The process that starts the kernel calls it with `starting`.
Term minivm_kernel_1(Process& p, const Term* a) {
    if (a[0] == atom_table::intern("available")) {
        kernel_start::make_available();
    } else if (a[0] == atom_table::intern("starting")) {
        kernel_start::begin(p.id);
    } else if (a[0] == atom_table::intern("up")) {
        kernel_start::end();
    } else {
        return badarg(p);
    }
    return atoms::ok;
}

Term erlang_whereis_1(Process& p, const Term* a) {
    if (!is_atom(a[0])) {
        return badarg(p);
    }
    const Term pid = registry::whereis(a[0]);
    if (is_value(pid)) {
        return pid;
    }
    if (MINIVM_UNLIKELY(kernel_start::must_wait(p.id, a[0]))) {
        static const Export* on_demand = export_table::get(atom_table::intern("minivm_kernel"),
                                                           atom_table::intern("whereis"), 1);
        return trap(p, on_demand, {a[0]});
    }
    return atoms::undefined;
}

Term erlang_registered_0(Process& p, const Term*) {
    Term list = kNil;
    for (const Term name : registry::registered()) {
        list = cons(p.heap, name, list);
    }
    return list;
}

// ---- the dictionary ------------------------------------------------------------------------------------

Term or_undefined(Term t) { return is_value(t) ? t : atoms::undefined; }

Term erlang_get_1(Process& p, const Term* a) {
    return dictionary_value(p, a[0]);
}

Term erlang_put_2(Process& p, const Term* a) {
    return or_undefined(extra_of(p).dictionary.put(a[0], a[1]));
}

Term erlang_erase_1(Process& p, const Term* a) {
    return p.extra == nullptr ? atoms::undefined : or_undefined(p.extra->dictionary.erase(a[0]));
}

Term dictionary_list(Process& p) {
    Term list = kNil;
    if (p.extra != nullptr) {
        const auto& pairs = p.extra->dictionary.pairs();
        for (const Dictionary::Pair& pair : pairs) {
            list = cons(p.heap, make_tuple(p.heap, pair.key, pair.value), list);
        }
        consume(p, static_cast<int64_t>(pairs.size() / 10));
    }
    return list;
}

Term erlang_get_0(Process& p, const Term*) { return dictionary_list(p); }

Term erlang_erase_0(Process& p, const Term*) {
    const Term list = dictionary_list(p);
    if (p.extra != nullptr) {
        p.extra->dictionary.clear();
    }
    return list;
}

Term erlang_get_keys_0(Process& p, const Term*) {
    Term list = kNil;
    if (p.extra != nullptr) {
        for (const Dictionary::Pair& pair : p.extra->dictionary.pairs()) {
            list = cons(p.heap, pair.key, list);
        }
    }
    return list;
}

Term erlang_get_keys_1(Process& p, const Term* a) {
    Term list = kNil;
    if (p.extra != nullptr) {
        for (const Dictionary::Pair& pair : p.extra->dictionary.pairs()) {
            if (exact_equal(pair.value, a[0])) {
                list = cons(p.heap, pair.key, list);
            }
        }
    }
    return list;
}

}  // namespace

MINIVM_BIF_TABLE(names) = {
    {"erlang", "register", 2, erlang_register_2, kBifPlain, nullptr},
    {"erlang", "unregister", 1, erlang_unregister_1, kBifPlain, nullptr},
    {"erlang", "whereis", 1, erlang_whereis_1, kBifPlain, nullptr},
    {"minivm", "kernel", 1, minivm_kernel_1, kBifPlain, nullptr},
    {"erlang", "registered", 0, erlang_registered_0, kBifPlain, nullptr},
    {"erlang", "get", 0, erlang_get_0, kBifPlain, nullptr},
    {"erlang", "get", 1, erlang_get_1, kBifPlain, nullptr},
    {"erlang", "put", 2, erlang_put_2, kBifPlain, nullptr},
    {"erlang", "erase", 0, erlang_erase_0, kBifPlain, nullptr},
    {"erlang", "erase", 1, erlang_erase_1, kBifPlain, nullptr},
    {"erlang", "get_keys", 0, erlang_get_keys_0, kBifPlain, nullptr},
    {"erlang", "get_keys", 1, erlang_get_keys_1, kBifPlain, nullptr},
};

}  // namespace minivm
