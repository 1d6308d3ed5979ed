// The interface between the VM and its engines.
//
// An engine compiles lowered modules, runs processes in the code, and maps addresses to functions and lines.
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

// Why Engine::run returned. The process's registers, pc, stack and heap top are saved in it.
enum class Stop : uint8_t {
    yielded,  // its reductions are used up, or a BIF asked to yield: it goes back on a run queue
    waiting,  // it waits for a signal, a wake-up or its timer
    dirty,    // a dirty scheduler is to run Process::dirty_bif, its arguments are in saved_x
    crossed,  // the process continues at once in the other engine, at Process::pc; x registers stay
    exited    // no handler for its exception, or its first function has returned: Process::exception
};

struct CodeLocation {
    uint32_t function;  // index into LoweredModule::functions
    uint32_t line;      // 1-based index into LoweredModule::lines; 0: none
};

// Code of one module as an engine made it. Freed after purge.
struct EngineCode {
    virtual ~EngineCode() = default;
    // The address of instruction `instr_index` of the lowered module, a function's entry; null in code of
    // the other kind.
    virtual const Word* bytecode_at(uint32_t instr_index) const = 0;
    virtual const void* native_at(uint32_t instr_index) const = 0;
    // The address that a call of the n-th fun of the module enters, with the fun itself; null in bytecode.
    virtual const void* native_fun(uint32_t n) const = 0;
    // [begin, end) addresses of the code, for the ranges table.
    virtual const void* begin() const = 0;
    virtual const void* end() const = 0;
    // Function and line of the code at `address`; for a return address, of the call before it.
    virtual CodeLocation locate(const void* address, bool is_return_address) const = 0;
    // Handler of the n-th catch_ or try_ of the module.
    virtual const void* catch_handler(uint32_t n) const = 0;
    virtual bool is_native() const = 0;
    virtual size_t size_bytes() const = 0;
};

// What an engine's code memory holds now: code of all modules and of the engine itself.
struct CodeUsage {
    size_t blocks = 0;
    size_t bytes = 0;  // in the blocks
    size_t pages = 0;  // bytes of the pages with these blocks
};

struct Engine {
    virtual ~Engine() = default;
    virtual const char* name() const = 0;
    // Any thread. Zeros where code lies in ordinary memory.
    virtual CodeUsage code_usage() const { return {}; }
    // In prepare: any thread, no effect outside the result. Null: this engine makes no code for the
    // module, and bytecode is to be used; unless the user asked for that, the engine has reported why.
    virtual std::unique_ptr<EngineCode> compile(const LoweredModule& m) = 0;
    // In finish, before the commit: the engine patches what depends on the instance (fun entries,
    // catch indexes).
    virtual void install(ModuleInstance& instance) = 0;
    // The place of a function's breakpoint: `key` is the argument of tracing::Hooks::breakpoint(), `saved`
    // is what the engine needs to set the breakpoint and to take it away.
    struct Armed {
        const void* key;
        Word saved;
    };
    virtual Armed place_of_breakpoint(const ModuleInstance& m, uint32_t function) = 0;
    // Every call of these functions then goes through their breakpoints: one aligned write each, harmless
    // by itself. Ascending addresses are fastest. Only the holder of the code modification permission, after it
    // has prepared what the hook needs.
    virtual void arm(const Armed* places, size_t count) = 0;
    virtual void disarm(const Armed* places, size_t count) = 0;
    // After any number of arm() and disarm(): other threads run what these have written, at the latest
    // from their next progress on.
    virtual void publish() {}
    // Runs p from Process::pc until it stops or crosses to the other engine. On p.scheduler's
    // thread, with the x registers in s.x; they are there again when it returns, live_x of them
    // (Process::live_x) unless it returns crossed or exited.
    virtual Stop run(Scheduler& s, Process& p) = 0;
    // The same for a process whose dirty BIF, called from this engine's code, has run.
    virtual Stop dirty_done(Scheduler& s, Process& p) = 0;
    // Where p's code was, if the registers r show that a signal interrupted this engine's own code: p
    // itself holds what was saved at the last call of C++. In a signal handler: no lock, no allocation,
    // and do not trust anything in r. False: not in this engine's code.
    virtual bool state_at_fault(const Process& p, const fault::Registers& r,
                                fault::ErlangState* state) const;
};

// All engines. Set before vm::start() and before anything is loaded; native may be null.
struct Engines {
    Engine* bytecode = nullptr;
    Engine* native = nullptr;
    Engine* standard = nullptr;  // for modules that do not name one
    bool mixed = false;          // instead of standard: the module's name and mix_seed select an engine
    uint64_t mix_seed = 0;
};
extern Engines g_engines;

// The engine that is to compile the module: the one that its attribute -engine(jit | interp) names, if it
// exists, else as g_engines says. Any thread.
Engine& engine_for(const LoweredModule& m);

// Runs p, in the engine that its code was made for, until it stops.
Stop run_in_engines(Scheduler& s, Process& p);

// ---- crossings ----------------------------------------------------------------------------------
// A stack may hold frames of both engines; the return address on top always belongs to the running
// one. A call that crosses finds the other engine's return address there and pushes a transition
// word over it; returning to that word crosses back. A tail call that crosses back earlier pops it
// instead, so that alternating tail calls run in constant stack.

// The transition words, tagged as return addresses: where native code returns to bytecode, and where
// bytecode returns to native code. The engines set them at start-up.
struct TransitionWords {
    Word to_bytecode = 0;  // native address
    Word to_native = 0;    // bytecode address + tag
    // Offset from a function's native entry to the entry for a return address that is on the stack already.
    Word native_entry_skip = 0;
};
extern TransitionWords g_transitions;

// p leaves native code for the bytecode at pc, or bytecode for the native function at `entry`: adjusts
// the stack and sets Process::pc. The caller then stops with Stop::crossed (or another reason).
void cross_to_bytecode(Process& p, const Word* pc);
void cross_to_native(Process& p, const void* entry);

}  // namespace minivm
