// How a built-in function is written and registered.
//
//   Term lists_reverse_2(Process& p, const Term* a) { ... return result; }
//
// `a` points to the arguments (usually x registers: read them before you write any). The result is a
// term, or kNonValue after error/exit/throw_/trap/yield (process/outcome.hpp): `return badarg(p);`.
// Terms are built with p.heap (see term/heap.hpp): allocation never collects and never fails, so raw
// terms stay valid throughout a BIF.
//
// A BIF charges what it works: consume(p, reductions), about one per 10 list elements or 1 KB copied.
// One that can run long checks `out_of_reductions(p)` every so often and then returns
// yield(p, to, {state...}) to continue with its state in terms (or in a magic reference).
//
// Threads: a BIF runs on the scheduler of its process, or on a dirty scheduler if so marked.
#pragma once

#include <vector>

#include "vm/instr/bif_def.hpp"
#include "vm/process/outcome.hpp"
#include "vm/process/process.hpp"
#include "vm/term/arguments.hpp"

// Each area file ends with one table:  MINIVM_BIF_TABLE(lists) = { {"lists", "reverse", 2, fn}, ... };
// and has a line AREA(lists) in bif/areas.def.
#define MINIVM_BIF_TABLE(area)                 \
    extern std::vector<BifDef> area##_bif_defs; \
    std::vector<BifDef> area##_bif_defs
