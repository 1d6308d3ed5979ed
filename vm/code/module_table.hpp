// Module instances, the module table, the ranges table and the catch table.
//
// A module has at most one current, one old and one pending instance. Which one is current depends on the
// code index, so the table has three generations, like the export entries.
//
// Threads: lookups on any managed thread, with an index that it read once; only the holder of the code
// modification permission changes the tables, in the staging generation.
#pragma once

#include <atomic>
#include <memory>
#include <string>

#include "vm/code/code_index.hpp"
#include "vm/code/engine.hpp"
#include "vm/instr/lowered.hpp"

namespace minivm {

namespace nif {
struct Library;
}

// One loaded version of a module. Immutable once committed.
struct ModuleInstance {
    LoweredModule lowered;
    std::unique_ptr<EngineCode> code;
    Engine* engine = nullptr;
    std::vector<FunEntry*> fun_entries;   // by lambda index
    std::vector<Term> file_atoms;         // of lowered.files
    uint32_t first_catch = 0;             // its catch table entries: first_catch + n
    std::string path;                     // of its file, or empty
    // Leads to the on_load function, if there is one; in no table.
    std::unique_ptr<Export> on_load_entry;
    uint64_t committed_ms = 0;            // when it was staged, Unix time
    std::atomic<nif::Library*> library{nullptr};  // of native functions; changes under nif::load_lock()
    bool is_removed = false;              // out of all tables, soon freed; under the code permission
    Term name() const { return lowered.name; }
    bool has_on_load() const { return lowered.on_load != kNoLabel; }
};

struct FunctionInfo {
    Term module, function;
    uint32_t arity;
    const ModuleInstance* instance;
    uint32_t line;            // 0: unknown
    Term file;                // its name as an atom; [] if unknown
};

namespace module_table {
ModuleInstance* current(Term module, int code_ix);
ModuleInstance* old(Term module, int code_ix);
// The instance whose on_load function has not returned yet.
ModuleInstance* on_load(Term module, int code_ix);
// True if a module of this name was ever loaded.
bool is_known(Term module);
// The function and line of an address in code (any engine, current, old and pending instances).
// `is_return_address`: it is the address after a call; *out describes the call itself.
bool lookup(const void* address, int code_ix, bool is_return_address, FunctionInfo* out);
// Calls f(current, old, context) for each module that has one of them; either may be null.
void for_each_loaded(int code_ix, void (*f)(ModuleInstance*, ModuleInstance*, void*), void* context);
}  // namespace module_table

namespace catch_table {
// The address of a catch's handler, in native code or in bytecode.
struct Handler {
    const void* address;
    bool is_native;
};
Handler get(uint32_t index);
}  // namespace catch_table

}  // namespace minivm
