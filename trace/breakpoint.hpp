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
    bool none() const { return !call && !meta && !count; }
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
    bool armed = false;
    Action half[2];
    std::atomic<uint64_t> calls{0};
    const void* key() const;
};

extern std::atomic<int> g_active_half;
inline const Action& active(const Breakpoint& b) {
    // relaxed: the halves were written before every scheduler passed a quiescent point.
    return b.half[g_active_half.load(std::memory_order_relaxed)];
}

// The breakpoint of a key, or null. Any thread that makes progress.
Breakpoint* find(const void* key);

// Holder of the permission. The change is to be applied with apply(); until then only halves that
// are not active are different.
class Change {
public:
    // The function's breakpoint, made if there is none; its action is to be changed.
    Action& of_code(ModuleInstance& m, uint32_t function);
    Action& of_entry(Export& e);
    Action& of_bif(BifDef& bif);
    // The action that is active, or null.
    static const Action* current_code(const ModuleInstance& m, uint32_t function);
    static const Action* current(const void* key);
    // Takes over one reference of op.
    void apply(code_change::Operation* op);

private:
    struct Running;
    Breakpoint& touch(std::unique_ptr<Breakpoint> fresh, const void* key);
    std::vector<Breakpoint*> touched_;
};

// A version of a module that nobody runs yet: its breakpoints are armed at once.
void arm_staged(ModuleInstance& m, uint32_t function, const Action& action);
void arm_staged(Export& e, const Action& action);
// Makes what arm_staged() did visible to hits: before the commit.
void publish_staged();
// Nobody can run its code any more.
void forget_instance(const ModuleInstance& m);

}  // namespace minivm::trace
