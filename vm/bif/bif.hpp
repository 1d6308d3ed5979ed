// How a built-in function is written and registered.
//
//   Term lists_reverse_2(Process& p, const Term* a) { ... return result; }
//
// `a` points to the arguments (usually x registers: read them before you write any). The result is a
// term, or kNonValue after error/exit/throw_/trap/yield below: `return badarg(p);`.
// Terms are built with p.heap (see heap/heap.hpp): allocation never collects and never fails, so raw
// terms stay valid throughout a BIF.
//
// A BIF charges what it works: consume(p, reductions), about one per 10 list elements or 1 KB copied.
// One that can run long checks `out_of_reductions(p)` every so often and then returns
// yield(p, kind, state...) to continue with its state in terms (or in a magic reference).
//
// Threads: a BIF runs on the scheduler of its process, or on a dirty scheduler if so marked.
#pragma once

#include <initializer_list>
#include <string_view>
#include <vector>

#include "vm/process/process.hpp"

namespace minivm {

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
    kBifTraced = 32    // calls of it go by tracing::Hooks; set and taken back while it is called
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

// Each area file ends with one table:  MINIVM_BIF_TABLE(lists) = { {"lists", "reverse", 2, fn}, ... };
// and has a line AREA(lists) in bif/areas.def.
#define MINIVM_BIF_TABLE(area)                 \
    extern std::vector<BifDef> area##_bif_defs; \
    std::vector<BifDef> area##_bif_defs

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
// [{Module, Function, Arity}] of all that Erlang code may call by name, the VM's own module apart.
// As erlang:is_builtin/3 says it of the release.
bool is_builtin(const BifDef& d);
Term all(Heap& h);
}  // namespace bif_registry

// ---- results that are no value; all return kNonValue ---------------------------------------------

Term error(Process& p, Term reason);             // class error; the BIF and its arguments top the trace
Term exit_(Process& p, Term reason);
Term throw_(Process& p, Term value);
Term badarg(Process& p);                         // with error_info as OTP gives it for the erlang module
Term badarith(Process& p);
Term system_limit(Process& p);
Term badmap(Process& p, Term map);               // {badmap, Map}
Term badkey(Process& p, Term key);               // {badkey, Key}
Term notsup(Process& p);
// badarg whose error_info carries `cause` (an atom or term), e.g. badarg with #{cause => id}.
Term badarg_cause(Process& p, Term cause);

// Tail-call another function: its result is this BIF's result.
Term trap(Process& p, const Export* to, std::initializer_list<Term> args);
// As trap, after the process has been scheduled out and in again.
Term yield(Process& p, const Export* to, std::initializer_list<Term> args);
// Tail-call a fun: p.x[0..arity) hold its arguments, p.x[arity] the fun (erlang:apply/2).
Term trap_fun(Process& p, uint32_t arity);
// As yield, but waits for a signal or wake_up() first.
Term trap_wait(Process& p, const Export* to, std::initializer_list<Term> args);
// The export entry of a BIF by its defined name, for trap and yield (hidden ones included).
const Export* bif_export(const char* module, const char* function, uint8_t arity);

inline void consume(Process& p, int64_t reductions) { p.reductions -= reductions; }
inline bool out_of_reductions(const Process& p) { return p.reductions <= 0; }

// ---- reading arguments -------------------------------------------------------------------------------

// Number of elements of a proper list, or -1.
int64_t list_length(Term list);
// Value of a small or big that fits; false otherwise.
bool get_int64(Term t, int64_t* out);
bool get_uint64(Term t, uint64_t* out);
// Value of a small from `low` to `high`; false otherwise.
bool small_in(Term t, int64_t low, int64_t high, uint32_t* out);

}  // namespace minivm
