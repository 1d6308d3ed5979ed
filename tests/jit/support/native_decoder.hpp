// Reads back what the JIT writes for perf and debuggers: ELF, DWARF lines and frames, perf's map
// and its dump. Written from the formats' descriptions and not from the writer, so that a mistake
// has to be made twice to go unseen. Every read is checked; what is wrong is thrown as a
// DecodeError.
#pragma once

#include "jit/code_info.hpp"

#include <cstdint>
#include <map>
#include <stdexcept>
#include <string>
#include <vector>

namespace minivm::test {

struct DecodeError : std::runtime_error {
    using std::runtime_error::runtime_error;
};

struct DecodedSymbol {
    std::string name;
    uint64_t begin;
    uint64_t bytes;
    bool operator==(const DecodedSymbol&) const = default;
};

// One row of the line table: holds from its address on up to the next row.
struct DecodedRow {
    uint64_t address;
    uint64_t line;
    std::string file;
    bool ends_sequence;
    bool operator==(const DecodedRow&) const = default;
};

struct DecodedSubprogram {
    std::string name;
    uint64_t begin;
    uint64_t bytes;
    bool operator==(const DecodedSubprogram&) const = default;
};

// The rules that hold from `address` on.
struct DecodedFrame {
    uint64_t address;
    uint64_t end;  // of the entry that this belongs to
    uint64_t cfa_offset;
    uint64_t cfa_register;
    bool saved;  // the CFA is [cfa_register + saved_offset] + cfa_offset
    int64_t saved_offset;
    enum class Return { below_cfa, in_register, undefined, other } where;
    bool restores_stack_register;  // by a rule of its own
};

struct DecodedElf {
    uint16_t machine = 0;
    uint16_t type = 0;
    uint64_t text_begin = 0;
    uint64_t text_bytes = 0;
    std::vector<DecodedSymbol> symbols;
    std::string unit_name;
    std::string unit_directory;
    uint64_t unit_begin = 0;
    uint64_t unit_bytes = 0;
    std::vector<DecodedSubprogram> subprograms;
    std::vector<DecodedRow> rows;
    std::vector<DecodedFrame> frames;
    uint64_t return_column = 0;
};
DecodedElf decode_elf(const std::string& file);

std::vector<DecodedSymbol> decode_perf_map(const std::string& text);

struct DecodedLoad {
    uint64_t time_ns;
    uint32_t pid;
    uint32_t tid;
    uint64_t address;
    uint64_t code_index;
    std::string name;
    std::string code;
    std::vector<DecodedRow> rows;  // of the debug record before
};

struct DecodedDump {
    uint32_t machine = 0;
    uint32_t pid = 0;
    uint64_t time_ns = 0;
    std::vector<DecodedLoad> loads;
    bool closed = false;
};
DecodedDump decode_jitdump(const std::string& file);

}  // namespace minivm::test
