// The lowered form of a module: what the loader makes of a .beam file, and all that engines, verifier
// and disassembler see of it.
//
// Operands are typed and resolved: a label is the index of an instruction, an import an export entry,
// a literal a term in the module's literal area. A module is immutable once the loader has returned it.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "vm/term/term.hpp"

namespace minivm {

struct Export;
struct FunEntry;
struct BifDef;
struct LiteralArea;
namespace nif {
struct Function;
struct Delete {
    void operator()(Function* f) const;  // vm/nif/library.cpp
};
}

enum class Op : uint16_t {
#define INSTR(name, operands, effects, facts, meaning) name,
#include "vm/instr/instructions.def"
#undef INSTR
    kCount
};

enum InstrEffect : uint16_t {
    NONE = 0, CALLS = 1, COLLECTS = 2, FAILS = 4, ENDS = 8, BRANCHES = 16, SHARED = 32, YIELDS = 64
};

struct InstrInfo {
    const char* name;
    const char* operands;  // letters, see instructions.def
    uint16_t effects;
    const char* meaning;
};
extern const InstrInfo kInstrInfo[static_cast<size_t>(Op::kCount)];
inline const InstrInfo& instr_info(Op op) { return kInstrInfo[static_cast<size_t>(op)]; }

struct Operand {
    enum class Kind : uint8_t {
        none,
        x,         // index: register number
        y,         // index: register number
        fr,        // index: float register number
        constant,  // term: an immediate or a literal
        label,     // index: instruction index; kNoLabel = "no label: raise"
        unsigned_, // value
        export_,   // exp
        bif,       // bif
        fun,       // index into LoweredModule::lambdas
        string     // index: offset into LoweredModule::strings
    };
    Kind kind = Kind::none;
    uint8_t type_hint = 0;   // TypeBits the compiler proved (x and y only); 0: nothing known
    uint16_t type_index = 0; // 1 + index into LoweredModule::types; 0: none
    uint32_t index = 0;
    union {
        Term term;
        uint64_t value;
        Export* exp;
        const BifDef* bif;
    };
    Operand() : value(0) {}
    static Operand of(Kind k, uint32_t index) { Operand o; o.kind = k; o.index = index; return o; }
    static Operand constant_of(Term t) { Operand o; o.kind = Kind::constant; o.term = t; return o; }
    static Operand unsigned_of(uint64_t v) {
        Operand o; o.kind = Kind::unsigned_; o.value = v; return o;
    }
    bool is_register() const { return kind == Kind::x || kind == Kind::y; }
};
static_assert(sizeof(Operand) == 16);
inline bool same_register(const Operand& a, const Operand& b) {
    return a.kind == b.kind && a.index == b.index;
}

constexpr uint32_t kNoLabel = 0xFFFFFFFF;
constexpr uint32_t kNoLine = 0;

// A type from the Type chunk: which kinds the value can be of, and an integer range where known.
struct TypeInfo {
    enum Bits : uint16_t {  // the compiler's beam_types bits, as in the Type chunk
        atom = 1, bitstring = 2, bs_matchable = 4, cons = 8, float_ = 16, fun = 32, integer = 64,
        map = 128, nil = 256, pid = 512, port = 1024, reference = 2048, tuple = 4096, any = 8191
    };
    uint16_t bits = any;
    bool has_lower = false, has_upper = false;
    int64_t lower = 0, upper = 0;
    uint8_t unit = 0;  // of a bit string; 0: unknown
};

struct Instr {
    Op op;
    uint16_t live;            // x registers that are live when it collects (x0..x[live-1])
    uint32_t operand_count;
    uint32_t first_operand;   // into LoweredModule::operands
    uint32_t function;        // index into LoweredModule::functions
    uint32_t line;            // 1-based index into LoweredModule::lines; kNoLine
    int16_t frame;            // y registers of the frame when it begins; -1: no frame
    bool block_start;         // a label of the source is here, or a block begins
};

struct LoweredFunction {
    Term name;
    uint32_t arity;
    uint32_t info;        // instruction index of its func_info
    uint32_t entry;       // instruction index of its first instruction (the entry label)
    uint32_t end;         // one past its last instruction
    bool exported;
    const BifDef* native; // the VM's own implementation that replaces the body, or null
    nif::Function* nif;   // where a library may put a replacement for the body, or null
};

struct LoweredLambda {
    Term function;
    uint32_t arity;       // of the function itself, free variables included
    uint32_t entry;       // instruction index
    uint32_t index;
    uint32_t num_free;
    uint32_t old_uniq;
};

struct LoweredExport {
    Term function;
    uint32_t arity;
    uint32_t entry;       // instruction index
    Export* callable = nullptr;  // the entry that calls from other modules go through; known once the code is staged
};

struct LineEntry {
    uint32_t file;        // index into LoweredModule::files
    uint32_t line;
};

struct LoweredModule {
    Term name;
    std::vector<LoweredFunction> functions;
    std::vector<Instr> code;
    std::vector<Operand> operands;
    std::vector<LoweredExport> exports;
    std::vector<LoweredLambda> lambdas;
    std::vector<LineEntry> lines;           // lines[i-1] for Instr::line == i
    std::vector<std::string> files;         // files[0] is the module's own source, "mod.erl"
    std::vector<TypeInfo> types;
    std::vector<uint8_t> strings;
    std::vector<Export*> imports;           // as in the import table, for disassembly
    std::vector<std::unique_ptr<nif::Function, nif::Delete>> nifs;  // of the functions that begin with nif_start
    bool declares_nifs = false;             // only declared functions may be replaced
    std::unique_ptr<LiteralArea> literals;  // owns the constants that are not immediate
    Term attributes = kNil;                 // in the literal area
    Term compile_info = kNil;               // in the literal area
    Term records = kNil;                    // native records: BeamFile::records, in the literal area
    uint8_t md5[16] = {};
    uint32_t on_load = kNoLabel;            // instruction index of the on_load function's entry
    uint32_t catch_count = 0;               // catch_ and try_ instructions
    size_t file_bytes = 0;

    LoweredModule();
    ~LoweredModule();
    LoweredModule(LoweredModule&&) noexcept;
    LoweredModule& operator=(LoweredModule&&) noexcept;

    const Operand* operands_of(const Instr& i) const { return operands.data() + i.first_operand; }
};

// One instruction as text, in the form `minivm disasm` prints.
std::string format_instr(const LoweredModule& m, const Instr& i);

}  // namespace minivm
