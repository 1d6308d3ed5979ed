// A BIF as the code that loads, calls and traces it sees it. How to write one: vm/bif/bif.hpp.
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
    // A dirty one that may go on after its process has ended: of the process it uses only the saved registers and
    // the heap.
    kBifLeavable = 64,
    kBifTraced = 32,   // calls go through tracing::Hooks; set and cleared while processes call it
    kBifHiddenDirty = kBifDirtyCpu | kBifHidden | kBifLeavable  // the continuation of a BIF that has much to do
};

struct BifDef {
    const char* module;
    const char* function;
    uint8_t arity;
    BifFn fn;
    uint8_t flags;
    Export* exp;       // filled in at start-up by bif_registry

    // relaxed: trace/breakpoint.cpp sets and clears kBifTraced, and a call meanwhile may or may not be traced; the
    // other flags stay.
    bool has_any(unsigned of) const { return (__atomic_load_n(&flags, __ATOMIC_RELAXED) & of) != 0; }
};

// Defined in bif/bif.cpp, where the tables are.
namespace bif_registry {
// Adds the table of a folder above. Call it before init().
void add(std::vector<BifDef>* table);
// Interns the names and makes the export entries. Call it once, before any module is loaded.
void init();
// The VM's implementation of module:function/arity, or null.
const BifDef* find(Term module, Term function, uint32_t arity);
// The same for an instruction of a guard: finds BIFs of later releases as well, so that their files load.
const BifDef* find_guard(Term module, Term function, uint32_t arity);
// Whether a module has any BIFs.
bool has_any(Term module);
// Calls f(entry) for each BIF that is not hidden.
void for_each(void (*f)(Export*, void*), void* context);
// What erlang:is_builtin/3 answers in the release in use.
bool is_builtin(const BifDef& d);
// [{Module, Function, Arity}] of all that Erlang code may call by name, without those of module minivm.
Term all(Heap& h);
}  // namespace bif_registry

// The export entry of a BIF by its defined name, for trap and yield (hidden ones included).
const Export* bif_export(const char* module, const char* function, uint8_t arity);

}  // namespace minivm
