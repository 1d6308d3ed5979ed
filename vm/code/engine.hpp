// What the VM asks of an engine, and what it gives it.
//
// An engine turns lowered modules into code, runs processes in it, and tells where addresses belong.
// The interpreter and the JIT implement it; vm/ and loader/ know only this interface.
#pragma once

#include <cstdint>
#include <memory>
#include <vector>

#include "vm/term/term.hpp"

namespace minivm {

namespace fault {
struct Registers;
struct ErlangState;
}  // namespace fault
struct LoweredModule;
struct Process;
struct Scheduler;
struct ModuleInstance;

// Why Engine::run came back. The process's registers, pc, stack and heap top are saved in it.
enum class Stop : uint8_t {
    yielded,  // reductions are used up, or a BIF asked for it: put it back on a run queue
    waiting,  // nothing to do until a signal, a wake-up or its timer
    dirty,    // Process::dirty_bif is to be run on a dirty scheduler, its arguments in saved_x
    crossed,  // the process goes on at once in the other engine, at Process::pc; x registers stay
    exited    // no handler for its exception, or its first function has returned: Process::exception
};

struct CodeLocation {
    uint32_t function;  // index into LoweredModule::functions
    uint32_t line;      // 1-based index into LoweredModule::lines; 0: none
};

// Code of one module as an engine made it. Freed after purge.
struct EngineCode {
    virtual ~EngineCode() = default;
    // Where instruction `index` of the lowered module, a function's entry, begins; null in code of the
    // other kind.
    virtual const Word* bytecode_at(uint32_t instr_index) const = 0;
    virtual const void* native_at(uint32_t instr_index) const = 0;
    // What a call of the n-th fun of the module enters, given the fun itself; null in bytecode.
    virtual const void* native_fun(uint32_t n) const = 0;
    // [begin, end) addresses of the code, for the ranges table.
    virtual const void* begin() const = 0;
    virtual const void* end() const = 0;
    // Function and line of the code at `address`; of the call before it for a return address.
    virtual CodeLocation locate(const void* address, bool is_return_address) const = 0;
    // Handler of the n-th catch_ or try_ of the module.
    virtual const void* catch_handler(uint32_t n) const = 0;
    virtual bool is_native() const = 0;
    virtual size_t size_bytes() const = 0;
};

// What an engine's memory for code holds now, of all modules and its own.
struct CodeUsage {
    size_t blocks = 0;
    size_t bytes = 0;  // of the blocks
    size_t pages = 0;  // bytes of the pages in which they lie
};

struct Engine {
    virtual ~Engine() = default;
    virtual const char* name() const = 0;
    // Any thread. Zeros where code lies in ordinary memory.
    virtual CodeUsage code_usage() const { return {}; }
    // In prepare: any thread, no effect outside the result. Null: this engine makes no code for the
    // module, which is to be run as bytecode; it has said why if that is no wish of the user.
    virtual std::unique_ptr<EngineCode> compile(const LoweredModule& m) = 0;
    // In finish, before the commit: the engine patches what depends on the instance (fun entries,
    // catch indexes).
    virtual void install(ModuleInstance& instance) = 0;
    // Where a function's breakpoint goes: what tracing::Hooks::breakpoint() is asked with, and what the
    // engine needs to put it there and take it away.
    struct Armed {
        const void* key;
        Word saved;
    };
    virtual Armed place_of_breakpoint(const ModuleInstance& m, uint32_t function) = 0;
    // Makes every call of these functions go by their breakpoints: one aligned write each, harmless
    // alone. They come best in the order of their addresses. By the holder of the code modification permission, who has what the hook
    // needs ready before.
    virtual void arm(const Armed* places, size_t count) = 0;
    virtual void disarm(const Armed* places, size_t count) = 0;
    // After any number of these: what has been written is what other threads run, at the latest from
    // their next progress on.
    virtual void publish() {}
    // Runs p from Process::pc until it stops or crosses to the other engine. On p.scheduler's
    // thread, with the x registers in s.x; they are there again when it returns, live_x of them
    // (Process::live_x) if it is neither crossed nor exited.
    virtual Stop run(Scheduler& s, Process& p) = 0;
    // The same for a process whose dirty BIF, called from this engine's code, has run.
    virtual Stop dirty_done(Scheduler& s, Process& p) = 0;
    // Where p's code was, if the registers of a signal show that it came in this engine's own code: p
    // itself has what was saved when C++ was last called. In a signal handler: no lock, no allocation,
    // and nothing in r is to be trusted. False: not in this engine's code.
    virtual bool state_at_fault(const Process& p, const fault::Registers& r,
                                fault::ErlangState* state) const;
};

// The engines there are. Set before vm::start() and before anything is loaded; native may be null.
struct Engines {
    Engine* bytecode = nullptr;
    Engine* native = nullptr;
    Engine* standard = nullptr;  // for modules that do not ask for one
    bool mixed = false;          // instead: one of the two by the module's name and mix_seed
    uint64_t mix_seed = 0;
};
extern Engines g_engines;

// The engine that a module is to be compiled by: the one its attribute -engine(jit | interp) names if
// there is that one, else as g_engines says. Any thread.
Engine& engine_for(const LoweredModule& m);

// Runs p, in whichever engine its code is made for, until it stops.
Stop run_in_engines(Scheduler& s, Process& p);

// ---- crossings ----------------------------------------------------------------------------------
// A stack may hold frames of both engines; the return address on top always belongs to the one that
// runs. A call that crosses finds the other engine's return address there and pushes a transition
// word over it; returning to that word crosses back. A tail call that crosses back before pops it
// instead, so that alternating tail calls run in constant stack.

// The transition words, tagged as return addresses: where native code returns to bytecode, and where
// bytecode returns to native code. Set by the engines at start-up.
struct TransitionWords {
    Word to_bytecode = 0;  // native address
    Word to_native = 0;    // bytecode address + tag
    // From a function's native entry to where it is entered with the return address on the stack.
    Word native_entry_skip = 0;
};
extern TransitionWords g_transitions;

// p leaves native code for the bytecode at pc, or bytecode for the native function at `entry`: puts
// the stack right and sets Process::pc. The caller then stops with Stop::crossed (or another reason).
void cross_to_bytecode(Process& p, const Word* pc);
void cross_to_native(Process& p, const void* entry);

}  // namespace minivm
