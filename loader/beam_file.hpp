// The chunks of a .beam file, read and checked one by one; the instructions are left as bytes.
//
// A .beam file is an IFF form "BEAM" of chunks (four letters, a size, contents padded to four
// bytes); it may be gzipped as a whole. Read here: AtU8, Code (its header), StrT, ImpT, ExpT, FunT,
// LitT, Line, Type, Attr, CInf, Recs; Meta counts for the checksum; LocT and all others are for tools.
// Threads: plain data, one owner.
#pragma once

#include "loader/error.hpp"
#include "vm/term/heap.hpp"

#include <vector>

namespace minivm::loader {

// The last opcode of OTP 29.
constexpr uint32_t kMaxOpcode = 191;
constexpr uint32_t kMaxArity = 255;

struct Span {
    const uint8_t* data = nullptr;
    size_t size = 0;
    bool present = false;
};

// A heap for terms on their way into a literal area.
struct ScratchHeap : Heap {
    ~ScratchHeap() { clear(); }
};

struct BeamFile {
    struct Import {
        Term module, function;
        uint32_t arity;
    };
    struct ExportEntry {
        Term function;
        uint32_t arity, label;
    };
    struct Lambda {
        Term function;
        uint32_t arity, label, index, num_free, old_uniq;
    };

    std::vector<uint8_t> inflated;  // the file, if it was gzipped
    Span code;                      // the instructions
    size_t code_offset = 0;         // of the instructions in the Code chunk
    uint32_t label_count = 0;       // labels are below it
    uint32_t function_count = 0;
    std::vector<Term> atoms;  // [0] is nil: atom 0 means the empty list
    std::vector<Import> imports;
    std::vector<ExportEntry> exports;
    std::vector<Lambda> lambdas;
    std::vector<uint8_t> strings;
    std::vector<Term> literals;    // in `heap`
    std::vector<LineEntry> lines;  // line number n is lines[n - 1]
    std::vector<std::string> files;
    bool has_lines = false;
    std::vector<TypeInfo> types;
    bool has_types = false;
    Term attributes = kNil;  // in `heap`
    Term compile_info = kNil;
    // The native records that it defines, in `heap`: a list of [Definition | Defaults], see
    // vm/term/native_record.hpp; Defaults is a tuple with [] or [Value] for each field.
    Term records = kNil;
    uint8_t md5[16] = {};
    ScratchHeap heap;

    Term module() const { return atoms[1]; }
};

// `bytes` must outlive *out.
bool read_beam_file(const uint8_t* bytes, size_t size, BeamFile* out, ErrorSink& error);
// Reads no more than the name of the module; the non-value if there is none.
Term read_module_name(const uint8_t* bytes, size_t size);

}  // namespace minivm::loader
