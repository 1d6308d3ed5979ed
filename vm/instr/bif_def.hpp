// What a built-in function is to those who load, call and trace it. How one is written: vm/bif/bif.hpp.
#pragma once

#include <cstdint>
#include <vector>

#include "vm/term/term.hpp"

namespace minivm {

struct Export;
struct Heap;
struct Process;

using BifFn = Term (*)(Process& p, const Term* args);

enum BifFlag : uint8_t {
    kBifPlain = 0,
    kBifGuard = 1,     // allowed in guards: no side effects, never traps
    kBifDirtyCpu = 2,  // runs on a dirty CPU scheduler
    kBifDirtyIo = 4,   // runs on a dirty I/O scheduler
    kBifHidden = 8,    // for the VM alone, such as the continuation of a yielding BIF: its entry is in no table
    kBifNative = 16,   // no BIF but a library's function: nif::Function (vm/nif/nif.hpp)
    // A dirty one that may go on when its process has ended: of the process it uses the registers that were saved,
    // and its heap.
    kBifLeavable = 64,
    kBifTraced = 32,   // calls of it go by tracing::Hooks; set and taken back while it is called
    kBifHiddenDirty = kBifDirtyCpu | kBifHidden | kBifLeavable  // what one goes on with that has much to do
};

struct BifDef {
    const char* module;
    const char* function;
    uint8_t arity;
    BifFn fn;
    uint8_t flags;
    Export* exp;       // filled in at start-up by bif_registry

    // relaxed: kBifTraced comes and goes (trace/breakpoint.cpp), and a call beside that may or may not be
    // traced; the others stay.
    bool has_any(unsigned of) const { return (__atomic_load_n(&flags, __ATOMIC_RELAXED) & of) != 0; }
};

// Defined in bif/bif.cpp, where the tables are.
namespace bif_registry {
// One more table, of a folder above. Before init().
void add(std::vector<BifDef>* table);
// Interns the names and makes the export entries; once, before any module is loaded.
void init();
// The VM's implementation of module:function/arity, or null.
const BifDef* find(Term module, Term function, uint32_t arity);
// The same for an instruction of a guard: also one that only later releases have, so that their files load.
const BifDef* find_guard(Term module, Term function, uint32_t arity);
// Whether a module has any of these.
bool has_any(Term module);
// Calls f(entry) for each that is not hidden.
void for_each(void (*f)(Export*, void*), void* context);
// As erlang:is_builtin/3 says it of the release.
bool is_builtin(const BifDef& d);
// [{Module, Function, Arity}] of all that Erlang code may call by name, the VM's own module apart.
Term all(Heap& h);
}  // namespace bif_registry

// The export entry of a BIF by its defined name, for trap and yield (hidden ones included).
const Export* bif_export(const char* module, const char* function, uint8_t arity);

}  // namespace minivm
