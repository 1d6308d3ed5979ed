// What uses the VM's memory: erlang:memory/0,1, and the items of system_info/1 that OTP has as text for crash
// dumps.
#include "vm/bif/system/system_areas.hpp"

#include <gnu/libc-version.h>
#include <unistd.h>

#include <algorithm>
#include <cstdio>
#include <string>
#include <vector>

#include "vm/bif/bif.hpp"
#include "vm/code/code_index.hpp"
#include "vm/code/engine.hpp"
#include "vm/code/module_table.hpp"
#include "vm/ets/table.hpp"
#include "vm/process/process_table.hpp"
#include "vm/term/atom_table.hpp"
#include "vm/term/binary.hpp"
#include "vm/util/memory_count.hpp"

namespace minivm {
namespace {

// ---- memory ---------------------------------------------------------------------------------------------

int64_t resident_bytes() {
    long pages = 0;
    long resident = 0;
    if (FILE* f = std::fopen("/proc/self/statm", "re")) {
        if (std::fscanf(f, "%ld %ld", &pages, &resident) != 2) {
            resident = 0;
        }
        std::fclose(f);
    }
    return int64_t{resident} * sysconf(_SC_PAGESIZE);
}
// What erlang:memory() tells, in bytes. Names in OTP's order; total = processes + system, the rest are parts of these.
struct Memory {
    explicit Memory(Process& p)
        : processes(memory_in_use(MemoryArea::processes)),
          atoms(memory_in_use(MemoryArea::atoms)),
          atoms_used(std::min(atoms, memory_in_use(MemoryArea::atoms_used))),
          binaries(memory_in_use(MemoryArea::binaries)),
          code(memory_in_use(MemoryArea::literals)),
          ets(ets::memory_words(p) * sizeof(Term)) {
        for (const Engine* engine : {g_engines.bytecode, g_engines.native}) {
            code += engine != nullptr ? engine->code_usage().bytes : 0;
        }
        // Resident memory includes what no area counts; heaps may have pages that nobody has touched.
        total = std::max(static_cast<uint64_t>(resident_bytes()),
                         processes + atoms + binaries + code + ets);
    }

    std::vector<std::pair<const char*, uint64_t>> areas() const {
        return {{"total", total},         {"processes", processes},
                {"processes_used", processes}, {"system", total - processes},
                {"atom", atoms},          {"atom_used", atoms_used},
                {"binary", binaries},     {"code", code},
                {"ets", ets}};
    }

    // The non-value: there is no such area.
    Term value(Process& p, Term name) const {
        for (const auto& [text, bytes] : areas()) {
            if (name == atom_table::intern(text)) {
                return make_unsigned(p.heap, bytes);
            }
        }
        return kNonValue;
    }

    uint64_t processes, atoms, atoms_used, binaries, code, ets;
    uint64_t total;
};

Term erlang_memory_1(Process& p, const Term* a) {
    const Memory memory(p);
    if (is_atom(a[0])) {
        const Term value = memory.value(p, a[0]);
        return is_value(value) ? value : badarg(p);
    }
    if (list_length(a[0]) < 0) {
        return badarg(p);
    }
    std::vector<Term> pairs;
    for (Term l = a[0]; is_cons(l); l = tail(l)) {
        const Term value = memory.value(p, head(l));
        if (!is_value(value)) {
            return badarg(p);
        }
        pairs.push_back(make_tuple(p.heap, head(l), value));
    }
    return list_of(p.heap, pairs);
}
Term erlang_memory_0(Process& p, const Term*) {
    Term names = kNil;
    for (const char* n : {"ets", "code", "binary", "atom_used", "atom", "system", "processes_used",
                          "processes", "total"}) {
        names = cons(p.heap, atom_table::intern(n), names);
    }
    return erlang_memory_1(p, &names);
}

// ---- as in crash dumps -----------------------------------------------------------------------------------

// Names and bytes; atom_space also has the bytes in use.
struct AllocatedAreas {
    explicit AllocatedAreas(const Memory& m)
        : atom_space(m.atoms), atoms_used(m.atoms_used), others{{"loaded_code", m.code},
              {"binaries", m.binaries},
              {"processes", m.processes},
              {"process_table", static_cast<int64_t>(process_table::bytes())},
              {"ets_tables", m.ets}} {}
    uint64_t atom_space, atoms_used;
    std::vector<std::pair<const char*, uint64_t>> others;
};

Term allocated_areas(Process& p) {
    Heap& h = p.heap;
    const AllocatedAreas areas{Memory(p)};
    Term list = kNil;
    for (size_t i = areas.others.size(); i > 0; --i) {
        const auto& [name, bytes] = areas.others[i - 1];
        list = cons(h, make_tuple(h, atom_table::intern(name), make_unsigned(h, bytes)), list);
    }
    const Term atoms =
        make_tuple(h, atom_table::intern("atom_space"), make_unsigned(h, areas.atom_space),
                   make_unsigned(h, areas.atoms_used));
    return cons(h, atoms, list);
}

Term as_binary(Process& p, const std::string& text) {
    return make_binary(p.heap, text.data(), text.size());
}

Term info(Process& p) {
    const Memory memory(p);
    std::string text = "=memory\n";
    const auto line = [&text](const char* name, uint64_t value) {
        text += std::string(name) + ": " + std::to_string(value) + "\n";
    };
    for (const auto& [name, bytes] : memory.areas()) {
        line(name, bytes);
    }
    text += "=index_table:atom_tab\n";
    line("limit", static_cast<uint64_t>(atom_table::limit()));
    line("entries", static_cast<uint64_t>(atom_table::count()));
    const AllocatedAreas areas(memory);
    text += "=allocated_areas\natom_space: " + std::to_string(areas.atom_space) + " " +
            std::to_string(areas.atoms_used) + "\n";
    for (const auto& [name, bytes] : areas.others) {
        line(name, bytes);
    }
    return as_binary(p, text);
}

// The bytes of code, current and old, of all modules and of each.
Term loaded(Process& p) {
    struct Sums {
        uint64_t current = 0;
        uint64_t old = 0;
        std::string modules;
    } sums;
    module_table::for_each_loaded(
        code_index::active(),
        [](ModuleInstance* current, ModuleInstance* old, void* context) {
            auto& all = *static_cast<Sums*>(context);
            if (current != nullptr) {
                all.current += current->code->size_bytes();
                all.modules += std::string(atom_table::text(current->name())) + " " +
                               std::to_string(current->code->size_bytes());
            }
            if (old != nullptr) {
                all.old += old->code->size_bytes();
                all.modules += current == nullptr ? std::string(atom_table::text(old->name())) : "";
                all.modules += " (" + std::to_string(old->code->size_bytes()) + " old)";
            }
            all.modules += "\n";
        },
        &sums);
    return as_binary(p, "Current code: " + std::to_string(sums.current) +
                            "\nOld code: " + std::to_string(sums.old) + "\n" + sums.modules);
}

Term malloc_settings(Heap& h) {
    return cons(h, make_tuple(h, atom_table::intern("e"), atoms::true_),
                cons(h, make_tuple(h, atom_table::intern("m"), atom_table::intern("libc")), kNil));
}

// {Name, Version, Features, Settings}: malloc() allocates everything.
Term allocator(Heap& h) {
    int major = 0;
    int minor = 0;
    std::sscanf(gnu_get_libc_version(), "%d.%d", &major, &minor);
    const Term version = cons(h, make_small(major), cons(h, make_small(minor), kNil));
    const Term sys_alloc = atom_table::intern("sys_alloc");
    const Term settings = cons(h, make_tuple(h, sys_alloc, malloc_settings(h)), kNil);
    return make_tuple(h, atom_table::intern("glibc"), version, cons(h, sys_alloc, kNil), settings);
}

// allocator_info() for one name.
Term allocator_info_of(Heap& h, Term which, bool sizes) {
    if (which == atom_table::intern("sys_alloc")) {
        const Term settings = make_tuple(h, atom_table::intern("options"), malloc_settings(h));
        const Term told = sizes ? kNil : cons(h, settings, kNil);
        return cons(h, make_tuple(h, atom_table::intern("instance"), make_small(0), told), kNil);
    }
    for (const char* name : {"temp_alloc", "sl_alloc", "std_alloc", "ll_alloc", "eheap_alloc", "ets_alloc", "fix_alloc",
                             "literal_alloc", "binary_alloc", "driver_alloc", "test_alloc", "mseg_alloc", "erts_mmap",
                             "alloc_util"}) {
        if (which == atom_table::intern(name)) {
            return atoms::false_;
        }
    }
    return kNonValue;
}
}  // namespace

Term allocator_info(Heap& h, Term which, bool sizes) {
    if (is_atom(which)) {
        return allocator_info_of(h, which, sizes);
    }
    std::vector<Term> all;
    for (; is_cons(which); which = tail(which)) {
        const Term info = allocator_info_of(h, head(which), sizes);
        if (!is_value(info)) {
            return kNonValue;
        }
        all.push_back(make_tuple(h, head(which), info));
    }
    if (!is_nil(which)) {
        return kNonValue;
    }
    return list_of(h, all);
}

std::vector<std::pair<const char*, uint64_t>> memory_areas(Process& p) {
    return Memory(p).areas();
}

Term system_areas(Process& p, std::string_view item) {
    if (item == "allocated_areas") {
        return allocated_areas(p);
    }
    if (item == "allocator") {
        return allocator(p.heap);
    }
    if (item == "alloc_util_allocators") {
        return kNil;
    }
    if (item == "info") {
        return info(p);
    }
    if (item == "loaded") {
        return loaded(p);
    }
    return kNonValue;
}

MINIVM_BIF_TABLE(system_areas) = {
    {"erlang", "memory", 0, erlang_memory_0, kBifPlain, nullptr},
    {"erlang", "memory", 1, erlang_memory_1, kBifPlain, nullptr},
};

}  // namespace minivm
