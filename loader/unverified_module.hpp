// A module on its way from generic to lowered instructions, with what the verifier needs to know of
// the source and engines do not.
#pragma once

#include "loader/beam_file.hpp"
#include "loader/generic_ops.hpp"

namespace minivm::loader {

constexpr uint16_t kLiveUnknown = 0xFFFF;

// Parallel to LoweredModule::code.
struct InstrNote {
    uint32_t offset;               // of the generic instruction in the Code chunk
    GenericOp generic;             // what it was made of
    uint16_t live = kLiveUnknown;  // the Live operand, if it had one
    uint32_t heap_words = 0;       // words it leaves free for the instructions after it
};

struct UnverifiedModule {
    const BeamFile* file;
    LoweredModule* module;
    std::vector<InstrNote> notes;
    // Boxed constants: an operand of kind constant with index i > 0 stands for roots[i - 1].
    std::vector<Term> roots;
};

// Decodes the instructions. Afterwards labels are instruction indexes; boxed constants still stand for roots.
bool lower_code(UnverifiedModule& unverified, BeamFile& file, ErrorSink& error);

}  // namespace minivm::loader
