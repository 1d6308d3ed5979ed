// Export and fun entries: what calls go through.
//
// An entry holds, per code index, the address of the function: in native code and in bytecode. A caller
// takes the one of the active index, which it has cached; so switching the index switches all functions
// at once. An entry is made when something first refers to it and is never freed.
//
// Threads: only the holder of the code modification permission writes bytecode[i] and native[i], for
// the staging index; readers use the active one.
#pragma once

#include <atomic>
#include <cstdint>

#include "vm/term/term.hpp"

namespace minivm {

struct BifDef;

constexpr int kCodeIndexes = 3;


enum StubIndex : int {
    kStubUndefined = 0,  // not loaded: error handler
    kStubBif = 1,        // a BIF
    kStubCall = 2,       // goes on to bytecode[active]: a process resumes here on its way into the function
    kStubNative = 3,     // enters native[active] from bytecode
    kStubTrace = 4,      // calls through the entry are traced; original[active] is the function
    kStubCount = 5
};

enum FunStubIndex : int {
    kFunStubUnloaded = 0,  // the fun's module is not loaded
    kFunStubNative = 1     // enters body[active] from bytecode
};

// Where a traced entry would lead without its trace.
struct ExportTarget {
    const Word* bytecode[kCodeIndexes];
    const void* native[kCodeIndexes];
};

// Both kinds of entry begin with the addresses of the function, per code index.
struct Export {
    const void* native[kCodeIndexes];
    const Word* bytecode[kCodeIndexes];
    Term module;
    Term function;
    uint32_t arity;
    const BifDef* bif;   // if the function is a BIF, else null
    // By StubIndex: bytecode[] points here where the function has no bytecode of its own; the interpreter
    // computes the entry from the address.
    Word stub[kStubCount];
    Export* next_in_bucket;
    ExportTarget* original;  // null if it has never been traced
    bool traced;             // in the staging generation; only the permission's holder reads and writes it
};

struct FunEntry {
    const void* native[kCodeIndexes];
    const Word* bytecode[kCodeIndexes];
    Term module;
    uint32_t index;
    uint32_t old_uniq;
    uint8_t uniq[16];    // MD5 of the module that made it
    uint32_t arity;      // of a call: without the free variables
    uint32_t num_free;
    // Name of the lifted function, kNonValue until its module is loaded. Loading sets it while others read it;
    // loading the module again sets the same name.
    std::atomic<Term> function_name;
    // relaxed: the atom is the only data, it publishes nothing else.
    Term function() const { return function_name.load(std::memory_order_relaxed); }
    void set_function(Term name) { function_name.store(name, std::memory_order_relaxed); }
    Word stub[2];        // FunStubIndex
    const void* body[kCodeIndexes];  // native: the function itself, free variables in x registers
    FunEntry* next_in_bucket;
    bool from_outside;  // made for a decoded fun, and no module has asked for it since; under g_fun_lock
};

// The interpreter's words for the stubs; set once at start-up, before any entry is made.
struct StubWords {
    Word words[kStubCount];
    Word fun[2];
    const Word* process_exit;  // the return address of a process's first function
};
void set_bytecode_stubs(const StubWords& stubs);
const StubWords& bytecode_stubs();

// native[] points to one of these where the function has no native code: native code that goes on to
// bytecode[]. Set once at start-up, before any entry is made; null without a JIT.
struct NativeStubs {
    const void* enter_bytecode = nullptr;
    // In native[] of a traced entry, and in native[] of its original if that is bytecode.
    const void* enter_traced = nullptr;
    const void* enter_traced_bytecode = nullptr;
    const void* enter_fun_bytecode = nullptr;
};
void set_native_stubs(const NativeStubs& stubs);

namespace export_table {
// The entry of module:function/arity; makes it, not loaded, if there is none. Any thread.
Export* get(Term module, Term function, uint32_t arity);
// The entry if there is one, else null. Any thread.
Export* find(Term module, Term function, uint32_t arity);
// An entry that is in no table: nothing that names a function (a call, a fun, an import, a trace pattern,
// the external format) leads to it, only the returned pointer does. Any thread; the caller owns it.
Export* make_hidden(Term module, Term function, uint32_t arity);
// True if it can be called under code index ix without loading anything (a BIF counts).
bool is_loaded(const Export* e, int ix);
// Calls f(entry, context) for every entry of the table. Any thread.
void for_each(void (*f)(Export*, void*), void* context);
}  // namespace export_table

namespace fun_table {
// The entry with these values; makes it if there is none. All six values are the key, so a fun from outside that
// claims another number of free variables than its function takes has an entry that no module fills in.
FunEntry* get(Term module, uint32_t index, uint32_t old_uniq, const uint8_t uniq[16], uint32_t arity,
              uint32_t num_free);
// The same for a fun from outside. Entries live as long as the VM, and any sender can make such funs up: null
// once there are kMostFromOutside entries that no module has asked for.
constexpr uint32_t kMostFromOutside = 1 << 18;
FunEntry* get_from_outside(Term module, uint32_t index, uint32_t old_uniq, const uint8_t uniq[16],
                           uint32_t arity, uint32_t num_free);
// True if it leads to code under code index ix.
bool is_loaded(const FunEntry* e, int ix);
}  // namespace fun_table

}  // namespace minivm
