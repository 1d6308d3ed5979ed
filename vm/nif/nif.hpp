// Native functions (NIFs): functions of a module that a shared library brings.
//
// A module that calls erlang:load_nif/2 begins each of its functions with nif_start, which names
// the function's nif::Function. Once a library has been loaded for it, Function::code is set, and
// both engines call that instead of going on with the body. So one store replaces a function,
// however it is called. docs/nifs.md describes the way of a call.
//
// Threads: loading holds one lock; the rest as stated.
#pragma once

#include "vm/instr/bif_def.hpp"
#include "vm/nif/abi.hpp"

#include <atomic>
#include <memory>
#include <string>
#include <vector>

namespace minivm {

struct LoweredModule;
struct ModuleInstance;

namespace nif {

struct Library;

// To the engines a loaded function is a BIF: it is on top of stack traces, and its flags say where it runs.
struct Function : BifDef {
    Function(Term module, Term function, uint32_t arity);
    // What a call needs of a function, for a call that may outlive the module (kBifLeavable): no texts.
    Function(const Function& called, Callable c);

    // Null: the engines go on with the body. Set once, after all other members.
    std::atomic<Callable> code{nullptr};
    Library* library = nullptr;
    bool declared = false;  // the module's attribute nifs names it
    std::string module_text;
    std::string function_text;
};

// Calls f with f.arity arguments. The caller is on a scheduler that f may run on. Returns the result, or
// the non-value as a BIF does.
Term call(Process& p, const Function& f, const Term* args);

// erlang:load_nif/2, called by code of `instance`: ok or {error, {Reason, Text}}. library_name has
// no suffix.
Term load(Process& p, ModuleInstance& instance, const std::string& library_name, Term info);
// {error, {bad_lib, Text}} for a call that does not come from a module.
Term load_called_by_apply(Process& p);
// Call it when the instance's code is gone: lets go of its library, which closes once no resource needs it.
void unload(ModuleInstance& instance);

// [Resource | tail] of the resources that monitor the process, once for each monitor. Any thread.
Term monitoring_resources(Heap& h, Term pid, Term tail);
// The modules for which a library has been opened so far, also if its loading failed. Any thread.
Term tainted_modules(Heap& h);


}  // namespace nif
}  // namespace minivm
