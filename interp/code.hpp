// Bytecode of one module.
#pragma once

#include <memory>
#include <vector>

#include "vm/code/engine.hpp"

namespace minivm::interp {

// A word of the bytecode whose value depends on the module instance.
struct Fixup {
    enum class Kind : uint8_t { catch_mark, fun_entry };
    Kind kind;
    uint32_t word;   // offset of the word to fill in
    uint32_t index;  // catch: n-th of the module; fun: lambda index
};

struct InterpCode final : EngineCode {
    std::unique_ptr<Word[]> words;
    uint32_t word_count = 0;
    std::vector<uint32_t> starts;           // word offset of each lowered instruction
    std::vector<Fixup> fixups;
    std::vector<uint32_t> catch_handlers;   // word offset of each catch's handler
    struct Location {
        uint32_t word;      // the first word at this location
        uint32_t function;  // index into LoweredModule::functions
        uint32_t line;      // index into LoweredModule::lines, 1-based; 0: none
    };
    std::vector<Location> locations;        // ascending

    const Word* bytecode_at(uint32_t instr) const override { return words.get() + starts[instr]; }
    const void* native_at(uint32_t) const override { return nullptr; }
    const void* begin() const override { return words.get(); }
    const void* end() const override { return words.get() + word_count; }
    CodeLocation locate(const void* address, bool is_return_address) const override;
    size_t size_bytes() const override { return word_count * sizeof(Word); }
    const void* native_fun(uint32_t) const override { return nullptr; }
    bool is_native() const override { return false; }
    const void* catch_handler(uint32_t n) const override {
        return words.get() + catch_handlers[n];
    }
};

std::unique_ptr<InterpCode> pack(const LoweredModule& m);

}  // namespace minivm::interp
