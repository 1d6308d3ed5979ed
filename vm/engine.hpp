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

struct LoweredModule;
struct Process;
struct Scheduler;
struct ModuleInstance;

// Why Engine::run came back. The process's registers, pc, stack and heap top are saved in it.
enum class Stop : uint8_t {
    yielded,  // reductions are used up, or a BIF asked for it: put it back on a run queue
    waiting,  // nothing to do until a signal, a wake-up or its timer
    dirty,    // Process::dirty_bif is to be run on a dirty scheduler, its arguments in saved_x
    exited    // no handler for its exception, or its first function has returned: Process::exception
};

struct CodeLocation {
    uint32_t function;  // index into LoweredModule::functions
    uint32_t line;      // 1-based index into LoweredModule::lines; 0: none
};

// Code of one module as an engine made it. Freed after purge.
struct EngineCode {
    virtual ~EngineCode() = default;
    // Where instruction `index` of the lowered module begins: function entries and catch handlers.
    virtual const Word* bytecode_at(uint32_t instr_index) const = 0;
    virtual const void* native_at(uint32_t instr_index) const = 0;
    // [begin, end) addresses of the code, for the ranges table.
    virtual const void* begin() const = 0;
    virtual const void* end() const = 0;
    // Function and line of the code at `address`; of the call before it for a return address.
    virtual CodeLocation locate(const void* address, bool is_return_address) const = 0;
    // Handler of the n-th catch_ or try_ of the module.
    virtual const Word* catch_handler(uint32_t n) const = 0;
    virtual size_t size_bytes() const = 0;
};

struct Engine {
    virtual ~Engine() = default;
    virtual const char* name() const = 0;
    // In prepare: any thread, no effect outside the result.
    virtual std::unique_ptr<EngineCode> compile(const LoweredModule& m) = 0;
    // In finish, before the commit: the engine patches what depends on the instance (fun entries,
    // catch indexes).
    virtual void install(ModuleInstance& instance) = 0;
    // Runs p until it stops. On p.scheduler's thread.
    virtual Stop run(Scheduler& s, Process& p) = 0;
};

}  // namespace minivm
