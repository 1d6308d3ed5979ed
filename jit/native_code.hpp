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
    const void* enter = nullptr;           // void enter(Scheduler*, Process*, const void* target)
    const void* leave = nullptr;           // everything is saved: back to C++
    const void* default_op = nullptr;      // t0: OpRecord; then t0: 0, or 1 to branch
    const void* collect = nullptr;         // t0: words, t1: live
    const void* yield = nullptr;           // t0: live; resumes behind the call
    const void* wait = nullptr;            // jumped to; t0: where to resume
    const void* call_bif = nullptr;        // t0: BifDef, t1: 0, or 1 + frame words in tail position
    const void* bif_body = nullptr;        // jumped to; t0: BifDef, t1: here; returns to the caller
    const void* send = nullptr;            // t0: as call_bif's t1
    // t0: BifDef, arguments behind the scratch word, t1: live, and bit 32 if there is a label; then
    // t0: 0, and the result in the scratch word, or 1 to branch.
    const void* guard_bif = nullptr;
    // t0: map, t1: MapUpdate; then as guard_bif.
    const void* put_map = nullptr;
    // Leaf fragments. t1: a map, t3: key; t0: its value, or the non-value. t0 to t3 are lost.
    const void* map_get = nullptr;
    // The same for a constant key, an immediate or another term, with its hash in t2.
    const void* map_get_immediate = nullptr;
    const void* map_get_constant = nullptr;
    const void* remove_message = nullptr;  // a leaf fragment, too; no arguments
    const void* return_ = nullptr;            // returns from the function that runs
    const void* call_fun = nullptr;        // t0: fun, t1: arity; called as the function itself
    const void* check_fun = nullptr;       // the same, but comes back: t3: what to call, t0 for it
    const void* enter_bytecode = nullptr;  // t0: Export; called as the function itself
    const void* enter_fun_bytecode = nullptr;  // t0: fun; likewise
    const void* enter_traced = nullptr;           // t0: Export that is traced; likewise
    const void* enter_traced_bytecode = nullptr;  // the same for a function without native code
    const void* return_to_bytecode = nullptr;
    // Bit strings (jit/binary_leaves.hpp): their answer is in t0, the non-value if there is none.
    // All x registers are kept.
    const void* bs_start_match = nullptr;   // t0: term
    const void* bs_get_integer = nullptr;   // t0: context, t1: size, t2: unit, flags << 32
    const void* bs_get_float = nullptr;     // likewise
    const void* bs_get_binary = nullptr;    // t0: context, t1: size, t2: unit
    const void* bs_get_tail = nullptr;      // t0: context
    const void* bs_get_utf8 = nullptr;      // t0: context
    const void* bs_match_string = nullptr;  // t0: context, t1: bits, t2: address of the string
    const void* bs_create_bin = nullptr;    // t0: OpRecord
    // t0: bit string, t1: the bits, uppermost first, t2: AppendShape
    const void* bs_append_bits = nullptr;
    const void* bs_append_bytes = nullptr;  // the same of whole bytes behind whole bytes
    const void* bs_append_utf8 = nullptr;   // t1: character; behind whole bytes
    // t0: how many, t1: the bits, uppermost first, t2: bytes that must be free
    const void* bs_new_bits = nullptr;
    // t0: live x registers, and bit 32 at a function's entry; t1: words of the frame. Only where
    // emit_checks() was called.
    const void* check_state = nullptr;
    const void* breakpoint = nullptr;    // called by the prologue of an armed function
    const void* return_trace = nullptr;  // returned to
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
