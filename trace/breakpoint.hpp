// Generic breakpoints: which functions do something when they are called, and what.
//
// A breakpoint has two halves, one of which is active (g_active_half). A change writes the others,
// and one store makes all of them active. The whole sequence, by the holder of the code
// modification permission, with thread progress (->) between:
//   stage the halves, publish the table   -> arm what is new, stage export entries
//   -> commit these, switch the halves    -> disarm what is gone, stage its export entries
//   -> commit these, make both halves alike -> free what is gone, give the permission back
// docs/protocols/tracing.md has the reason of each wait.
#pragma once

#include "vm/code/code_change.hpp"
#include "vm/code/module_table.hpp"
#include "vm/engine.hpp"
#include "vm/match_spec/match_spec.hpp"

#include <memory>
#include <vector>

namespace minivm {
struct BifDef;
}

namespace minivm::trace {

// A match specification as it was given, and compiled. A null program matches everything.
struct Spec {
    std::unique_ptr<match_spec::Program> program;
    Heap heap;
    Term term = kNil;
    ~Spec() { heap.clear(); }
};
using SpecPtr = std::shared_ptr<const Spec>;

// How often a function was called: a cell for each scheduler, which only that one writes.
class CallCount {
public:
    CallCount();
    void add();            // any thread
    uint64_t sum() const;  // any thread; what is counted meanwhile may be missing

private:
    struct alignas(64) Cell {
        std::atomic<uint64_t> calls{0};
    };
    const uint32_t count_;
    std::unique_ptr<Cell[]> cells_;  // the first is everybody else's
};

// What a breakpoint does.
struct Action {
    bool call = false;
    bool global = false;  // of the call: only through the export entry
    SpecPtr call_spec;
    bool meta = false;
    SpecPtr meta_spec;
    Term meta_tracer = kNil;
    bool count = false;
    bool count_paused = false;
    std::shared_ptr<CallCount> counted;
    bool none() const { return !call && !meta && !count; }
    // Has something to do in processes that are not traced, too.
    bool everywhere() const { return meta || (count && !count_paused); }
};

struct Breakpoint {
    enum class Kind : uint8_t { code, entry, bif };
    Kind kind = Kind::code;
    Term module, function;
    uint32_t arity = 0;
    ModuleInstance* instance = nullptr;  // code
    uint32_t index = 0;                  // code: of the function
    Engine::Armed at{};                  // code; the key of the others is the entry or the BIF
    Export* entry = nullptr;
    BifDef* bif = nullptr;
    // The next four: holder of the permission.
    bool armed = false;
    bool touched = false;     // by the change under way
    bool published = false;   // in the table that hits look at
    bool everywhere = false;  // counted in g_everywhere
    uint64_t record_id = 0;   // how records name the function
    Action half[2];
    const void* key() const;
};

extern std::atomic<int> g_active_half;
inline const Action& active(const Breakpoint& b) {
    // relaxed: the halves were written before every scheduler passed a quiescent point.
    return b.half[g_active_half.load(std::memory_order_relaxed)];
}

// The breakpoint of a key that a hit has, or null. Any thread that makes progress, or in a delay
// section. A key that armed code came with is always found.
Breakpoint* find(const void* key);
// The same for the holder of the permission, on any thread: those of the change under way as well.
Breakpoint* find_own(const void* key);

// Holder of the permission. The change is to be applied with apply(); until then only halves that
// are not active are different.
class Change {
public:
    // The function's breakpoint, made if there is none; its action is to be changed.
    Action& of_code(ModuleInstance& m, uint32_t function);
    Action& of_entry(Export& e);
    Action& of_bif(BifDef& bif);
    // Takes over one reference of op.
    void apply(code_change::Operation* op);

private:
    struct Running;
    Action& touch(Breakpoint& b);
    std::vector<Breakpoint*> touched_;
};

// A version of a module that nobody runs yet: its breakpoints are armed at once. Then
// publish_staged() makes them visible to hits, before the commit. Holder of the permission.
void arm_staged(ModuleInstance& m, uint32_t function, const Action& action);
void arm_staged(Export& e, const Action& action);
void publish_staged();
// Nobody can run its code any more.
void forget_instance(const ModuleInstance& m);

}  // namespace minivm::trace
