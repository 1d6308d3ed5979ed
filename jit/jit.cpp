#include "jit/jit.hpp"

#include "jit/code_memory.hpp"
#include "jit/describe.hpp"
#include "jit/emitter.hpp"
#include "jit/gdb.hpp"
#include "jit/perf.hpp"
#include "jit/runtime.hpp"
#include "jit/selection.hpp"
#include "vm/code/module_table.hpp"
#include "vm/fault/fault.hpp"
#include "vm/process/tracing.hpp"
#include "vm/progress/thread_progress.hpp"
#include "vm/term/atom_table.hpp"

#include <linux/membarrier.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <optional>

namespace minivm::jit {
namespace {

// Null without --perf. Set before there is any code, and never freed: other threads may compile
// until the process is gone.
Perf* g_perf = nullptr;

bool g_show_to_gdb = false;
bool g_emit_checks = false;

// Set by configure(), and then only read.
CodeMemory::Options g_memory_options;
std::optional<Selection> g_selection;
std::string g_mistake_in;
bool g_use_membarrier = true;
FunctionList* g_list = nullptr;  // never freed, as g_perf

// Registers once. The kernel takes no time for it while the process has one thread, and milliseconds later.
bool register_membarrier() {
    static const bool registered =
        syscall(SYS_membarrier, MEMBARRIER_CMD_REGISTER_PRIVATE_EXPEDITED_SYNC_CORE, 0, 0) == 0;
    return registered;
}

struct Jit final : Engine {
    explicit Jit(bool fast_paths) : fast(fast_paths) {
        static_cast<void>(
            try_code_memory(g_memory_options));  // make_fragments() says what is wrong
        make_fragments();
        tracing::g_return_words.native = reinterpret_cast<Word>(g_fragments.return_trace);
        has_membarrier = g_use_membarrier && register_membarrier();
        g_transitions.to_bytecode = reinterpret_cast<Word>(g_fragments.return_to_bytecode);
        g_transitions.native_entry_skip = g_entry_skip;
        NativeStubs stubs;
        stubs.enter_bytecode = g_fragments.enter_bytecode;
        stubs.enter_traced = g_fragments.enter_traced;
        stubs.enter_traced_bytecode = g_fragments.enter_traced_bytecode;
        stubs.enter_fun_bytecode = g_fragments.enter_fun_bytecode;
        set_native_stubs(stubs);
        if (g_perf != nullptr) {
            g_perf->add(describe_fragments());
        }
        if (g_show_to_gdb) {
            fragments_for_gdb = new GdbEntry(describe_fragments());
        }
    }

    const char* name() const override { return "jit"; }
    CodeUsage code_usage() const override {
        const CodeMemory::Usage u = code_memory().usage();
        return {u.blocks, u.allocated_bytes, u.committed_bytes};
    }

    std::unique_ptr<EngineCode> compile(const LoweredModule& m) override {
        if (g_selection && !g_selection->has_module(m)) {
            return nullptr;
        }
        auto code = std::make_unique<NativeCode>();
        std::unique_ptr<MacroAssembler> a = new_assembler(kHostMachine);
        code->wants_frames = g_show_to_gdb;
        Emitter emitter(m, *a, g_fragments, *code, fast);
        if (g_selection) {
            emitter.select(*g_selection);
        }
        if (!g_mistake_in.empty()) {
            plant_mistake(m, emitter);
        }
        emitter.run();
        emitter.place();
        const CodeBlock block = code_memory().allocate(a->size(), 64);
        if (!block) {
            std::fprintf(
                stderr, "minivm: module %s runs as bytecode, for want of code memory: %s\n",
                std::string(atom_table::text(m.name)).c_str(), code_memory().refusal().c_str());
            return nullptr;
        }
        if (g_list != nullptr) {
            g_list->add(m);
        }
        code->base = reinterpret_cast<const uint8_t*>(block.address);
        code->bytes = static_cast<uint32_t>(a->size());
        code->block_bytes = static_cast<uint32_t>(block.bytes);
        {
            CodeMemory::Writer w = code_memory().open(block);
            a->copy_to(w.data(), reinterpret_cast<uint64_t>(block.address));
        }
        addresses_are_new();
        code->give_back_room();
        if (g_perf != nullptr) {
            g_perf->add(describe(m, *code));
        }
        if (g_show_to_gdb && !code->locations.empty()) {
            code->gdb = std::make_unique<GdbEntry>(describe(m, *code));
            std::vector<NativeFrame>().swap(code->frames);  // `= {}` would keep its memory
        }
        return code;
    }

    void install(ModuleInstance& instance) override {
        auto& code = static_cast<NativeCode&>(*instance.code);
        if (code.fixups.empty()) {
            return;
        }
        CodeMemory::Writer w =
            code_memory().open(reinterpret_cast<const std::byte*>(code.base), code.bytes);
        for (const NativeCode::Fixup& f : code.fixups) {
            const Word value = f.kind == NativeCode::Fixup::Kind::catch_mark
                                   ? make_catch(instance.first_catch + f.index).raw
                                   : reinterpret_cast<Word>(instance.fun_entries[f.index]);
            std::memcpy(w.at(code.base + f.offset), &value, sizeof value);
        }
    }
    // Other code may have been at these addresses before. The commit waits for thread progress, so each thread has
    // executed a barrier before it runs the new code. x86-64 needs none: all threads have left the old code by then.
    static void addresses_are_new() {
        if constexpr (kHostMachine == Machine::aarch64) {
            thread_progress::want_instruction_barrier();
        }
    }

    static Word entry_of(const ModuleInstance& m, uint32_t function) {
        const auto& code = static_cast<const NativeCode&>(*m.code);
        return reinterpret_cast<Word>(code.base + code.entries[function]);
    }
    MacroAssembler::BreakpointPatch patch_of(Word entry) const {
        return patcher_->breakpoint_patch(entry, reinterpret_cast<uint64_t>(g_fragments.breakpoint));
    }
    // `saved` is the function's entry.
    Armed place_of_breakpoint(const ModuleInstance& m, uint32_t function) override {
        const Word entry = entry_of(m, function);
        return {reinterpret_cast<const void*>(entry + patch_of(entry).return_offset), entry};
    }
    void arm(const Armed* places, size_t count) override {
        write_patches(places, count, true);
    }
    void disarm(const Armed* places, size_t count) override {
        write_patches(places, count, false);
    }
    void write_patches(const Armed* places, size_t count, bool arm) const {
        for (size_t i = 0; i < count;) {
            i += write_some_patches(places + i, count - i, arm);
        }
    }
    // Patches the first place and those behind it that lie close together. Returns how many.
    size_t write_some_patches(const Armed* places, size_t count, bool arm) const {
        // In the same page or the next, so that each page from the first place to the last holds one: the pages
        // of a purged module, which are no longer there, may lie between those of others.
        constexpr Word kClose = 4096;
        Word first = places[0].saved;
        Word last = first;
        size_t n = 1;
        for (; n < count; ++n) {
            const Word at = places[n].saved;
            if (at + kClose < first || at > last + kClose) {
                break;
            }
            first = std::min(first, at);
            last = std::max(last, at);
        }
        CodeMemory::Writer writer =
            code_memory().open(reinterpret_cast<const std::byte*>(first),
                               last - first + MacroAssembler::kBreakpointBytes);
        for (size_t i = 0; i < n; ++i) {
            const MacroAssembler::BreakpointPatch patch = patch_of(places[i].saved);
            const auto* at = reinterpret_cast<const std::byte*>(places[i].saved) + patch.offset;
            const uint32_t value = arm ? patch.armed : patch.plain;
            if (patch.bytes == 1) {
                writer.patch_byte(at, static_cast<uint8_t>(value));
            } else {
                writer.patch_half(at, value);
            }
        }
        return n;
    }
    void publish() override {
        // Every core executes an instruction barrier before it goes on. Where the kernel refuses, each thread
        // executes one at its next progress, which callers wait for before they rely on it.
        if (!has_membarrier ||
            syscall(SYS_membarrier, MEMBARRIER_CMD_PRIVATE_EXPEDITED_SYNC_CORE, 0, 0) != 0) {
            thread_progress::want_instruction_barrier();
        }
    }

    Stop dirty_done(Scheduler& s, Process& p) override {
        NativeState state;
        s.engine_state = &state;
        return enter(s, p, dirty_result(&s), state);
    }

    Stop run(Scheduler& s, Process& p) override {
        NativeState state;
        s.engine_state = &state;
        return enter(s, p, p.pc, state);
    }

    // While C++ runs for native code the Erlang stack pointer is saved in the process: its register then
    // holds no address in the process's block (x86-64), or the saved one (aarch64). In a shared
    // fragment the return address on top is the place that called it.
    bool state_at_fault(const Process& p, const fault::Registers& r,
                        fault::ErlangState* state) const override {
        const auto* pc = reinterpret_cast<const void*>(r.pc);
        const auto* stack = reinterpret_cast<const Term*>(r.erlang_stack);
        if (!code_memory().contains(pc) || r.erlang_stack % sizeof(Term) != 0 ||
            stack < p.heap_start || stack > p.stack_base) {
            return false;
        }
        *state = {pc, stack};
        return true;
    }

    static Stop enter(Scheduler& s, Process& p, const void* target, NativeState& state) {
        using Enter = void (*)(Scheduler*, Process*, const void*);
        reinterpret_cast<Enter>(reinterpret_cast<Word>(g_fragments.enter))(&s, &p, target);
        s.engine_state = nullptr;
        return state.stop;
    }

    static void plant_mistake(const LoweredModule& m, Emitter& emitter) {
        for (uint32_t f = 0; f < m.functions.size(); ++f) {
            if (selection_name(m, f) == g_mistake_in) {
                emitter.plant_mistake(f);
            }
        }
    }

    bool fast;
    bool has_membarrier = false;
    std::unique_ptr<MacroAssembler> patcher_ = new_assembler(kHostMachine);  // knows the prologue
    GdbEntry* fragments_for_gdb = nullptr;  // never freed, as the fragments
};

}  // namespace

NativeCode::NativeCode() = default;

NativeCode::~NativeCode() {
    gdb.reset();  // while the code is there
    if (base != nullptr) {
        code_memory().release({reinterpret_cast<const std::byte*>(base), block_bytes});
    }
}

void NativeCode::give_back_room() {
    entries.shrink_to_fit();
    function_starts.shrink_to_fit();
    funs.shrink_to_fit();
    catch_handlers.shrink_to_fit();
    locations.shrink_to_fit();
    fixups.shrink_to_fit();
}

Word* NativeCode::new_words(size_t count) {
    if (free_words_ < count) {
        // Each block is larger than the one before, up to 32 KiB: most modules are small.
        constexpr size_t kFirst = 32;
        constexpr size_t kLargest = 4096;
        const size_t size = std::max(count, std::min(kFirst << std::min<size_t>(blocks_.size(), 8),
                                                     kLargest));
        blocks_.push_back(std::make_unique_for_overwrite<Word[]>(size));
        free_ = blocks_.back().get();
        free_words_ = size;
    }
    Word* const words = free_;
    free_ += count;
    free_words_ -= count;
    return words;
}

const void* NativeCode::native_at(uint32_t instr) const {
    const auto it = std::lower_bound(function_starts.begin(), function_starts.end(), instr);
    MINIVM_CHECK(it != function_starts.end() && *it == instr);
    return base + entries[static_cast<size_t>(it - function_starts.begin())];
}

CodeLocation NativeCode::locate(const void* address, bool is_return_address) const {
    auto offset = static_cast<uint32_t>(static_cast<const uint8_t*>(address) - base);
    if (is_return_address) {
        offset += kTagHeader - 1;  // inside the call: see return addresses in vm/code/engine.hpp
    }
    const auto it = std::upper_bound(locations.begin(), locations.end(), offset,
                                     [](uint32_t at, const Location& l) { return at < l.offset; });
    if (it == locations.begin()) {
        return {0, 0};
    }
    return {it[-1].function, it[-1].line};
}

Result<void, std::string> configure(const Options& options) {
    g_memory_options.range_bytes = options.code_memory_bytes;
    g_mistake_in = options.mistake_in;
    g_use_membarrier = options.use_membarrier;
    if (!options.only.empty()) {
        MINIVM_TRY(g_selection, Selection::read(options.only));
    }
    if (!options.list.empty()) {
        auto list = std::make_unique<FunctionList>();
        MINIVM_TRY_VOID(list->open(options.list));
        g_list = list.release();
    }
    if (g_use_membarrier) {
        register_membarrier();
    }
    return {};
}

void emit_checks() {
    g_emit_checks = true;
}
bool checks_emitted() {
    return g_emit_checks;
}

void show_code_to_gdb() {
    g_show_to_gdb = true;
}

Result<void, std::string> write_perf_files(const PerfOptions& options) {
    g_memory_options.nameless = true;
    MINIVM_TRY_VOID(try_code_memory(g_memory_options));
    MINIVM_TRY(auto perf, Perf::open(options));
    g_perf = perf.release();
    std::atexit([] { g_perf->finish(); });
    return {};
}

bool available() {
    return kRunsNativeCode;
}

Engine& engine(bool fast_paths) {
    static Jit jit(fast_paths);
    return jit;
}

}  // namespace minivm::jit
