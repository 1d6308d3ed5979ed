// Native code of one module.
#pragma once

#include "jit/code_info.hpp"
#include "jit/macro_assembler.hpp"
#include "vm/code/engine.hpp"
#include "vm/semantics/next.hpp"

#include <memory>
#include <string>
#include <vector>

namespace minivm {
class GdbEntry;
}

namespace minivm::jit {

// An instruction for a default operation: what it does, and its operands by value.
//
// An operand is a constant's term, a plain number, or a register: its byte offset << 8 | 100, an x
// register's from the scheduler, a y register's, with bit 8 set, from the stack pointer. No
// constant looks like that.
struct OpRecord;
// Instead of the number of live x registers: the instruction does not collect.
constexpr uint32_t kNoCollection = 0xFFFFFFFF;
using semantics::Next;
using DefaultOp = Next (*)(Scheduler* s, Process& p, const OpRecord* r);
struct OpRecord {
    DefaultOp fn;
    uint32_t live;        // x registers
    uint32_t list_count;  // operands of the L list, which follow the others
    uint32_t list_at;
    uint16_t has_label;
    uint16_t collects;    // the instruction may, and `live` holds; else fragments that a function left stay
    Word operands[];
};

// What a put_map_* changes: its pairs lie in x registers from `first_x` on.
struct MapUpdate {
    uint64_t pairs : 16;
    uint64_t first_x : 16;
    uint64_t live : 16;
    uint64_t exact : 1;
    uint64_t has_label : 1;
};
static_assert(sizeof(MapUpdate) == sizeof(Word));

struct NativeCode final : EngineCode {
    NativeCode();
    ~NativeCode() override;

    const uint8_t* base = nullptr;
    uint32_t bytes = 0;
    uint32_t block_bytes = 0;  // of code memory, of which `bytes` are code
    std::vector<uint32_t> entries;          // of each function: offset; by function index
    std::vector<uint32_t> function_starts;  // lowered instruction index of each function's entry
    std::vector<uint32_t> funs;             // offsets, by lambda
    std::vector<uint32_t> catch_handlers;   // offsets
    struct Location {
        uint32_t offset;
        uint32_t function;
        uint32_t line;
    };
    std::vector<Location> locations;  // ascending
    // For gdb, and else empty: where the caller's frame is, from each offset on.
    bool wants_frames = false;
    std::vector<NativeFrame> frames;  // ascending
    std::unique_ptr<GdbEntry> gdb;
    // Words of the code that depend on the instance.
    struct Fixup {
        enum class Kind : uint8_t { catch_mark, fun_entry };
        Kind kind;
        uint32_t index;   // n-th catch, or lambda
        uint32_t offset;  // of the word
    };
    std::vector<Fixup> fixups;
    // Memory for records that live as long as the code.
    Word* new_words(size_t count);
    // When the code is complete: shrinks the vectors to what they hold.
    void give_back_room();

    const Word* bytecode_at(uint32_t) const override { return nullptr; }
    const void* native_at(uint32_t instr) const override;
    const void* native_fun(uint32_t n) const override { return base + funs[n]; }
    bool is_native() const override { return true; }
    const void* begin() const override { return base; }
    const void* end() const override { return base + bytes; }
    CodeLocation locate(const void* address, bool is_return_address) const override;
    const void* catch_handler(uint32_t n) const override { return base + catch_handlers[n]; }
    size_t size_bytes() const override { return bytes; }

private:
    std::vector<std::unique_ptr<Word[]>> blocks_;  // of records
    Word* free_ = nullptr;                         // in the last block
    size_t free_words_ = 0;
};

// Code that all modules share: addresses into executable memory, or where the code would lie.
struct Fragments {
#define FRAGMENT(name) const void* name = nullptr;
#include "jit/fragments.def"
#undef FRAGMENT
    const void* end = nullptr;  // of all of them
};
struct PlacedFragment {
    const void* Fragments::*address;
    Label label;
};
// emit_fragments() emits the fragments; fragments_at() says where they are when the code lies at `base`.
std::vector<PlacedFragment> emit_fragments(MacroAssembler& a);
Fragments fragments_at(const MacroAssembler& a, const std::vector<PlacedFragment>& placed,
                       const void* base);

// What C++ leaves for run() when native code stops.
struct NativeState {
    Stop stop = Stop::exited;
    uint32_t stress_count = 0;
};

}  // namespace minivm::jit
