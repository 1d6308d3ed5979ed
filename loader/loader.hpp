// From the bytes of a .beam file to a lowered module.
//
//   read -> lower -> verify.  Nothing a file contains can crash the loader: what is wrong is
//   named with its chunk and offset. Makes nothing visible to running code but atoms, unloaded export
//   entries and a literal range.
// Threads: any number in parallel, on any thread.
#pragma once

#include <cstdint>
#include <string>

#include "vm/instr/lowered.hpp"

namespace minivm::loader {

struct LoadError {
    enum class Code : uint8_t { not_beam, truncated, bad_chunk, bad_opcode, bad_operand, bad_code,
                                unsupported, too_new, no_memory };
    Code code;
    std::string chunk;    // "Code", "LitT", ...; empty for the file as a whole
    size_t offset = 0;    // byte offset in the chunk
    std::string what;     // a sentence to act on
    std::string text() const;  // "Code chunk at offset 0x1c4: ..."
};

// Lowers a whole file (gunzipped if it is compressed). False: *error says what is wrong.
bool load(const uint8_t* bytes, size_t size, LoweredModule* out, LoadError* error);

// The atom of the module in the file without lowering it, or the non-value.
Term module_name(const uint8_t* bytes, size_t size);

}  // namespace minivm::loader
