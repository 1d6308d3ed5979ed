// Feeds a Listing from an asmjit assembler. Only the machines' assemblers include this.
//
//     ListingLogger logger(listing, assembler);     // both outlive it
//     code_holder.setLogger(&logger);
#pragma once

#include "jit/listing.hpp"

#include <asmjit/core.h>

#include <string>
#include <string_view>

namespace minivm::jit {

class ListingLogger final : public asmjit::Logger {
public:
    ListingLogger(Listing& listing, const asmjit::BaseAssembler& assembler)
        : listing_(listing), assembler_(assembler) {
        // The machine code that asmjit adds to a line tells how long an instruction is.
        setFlags(asmjit::FormatFlags::kMachineCode | asmjit::FormatFlags::kHexImms);
        setPadding(asmjit::FormatPaddingGroup::kRegularLine, 1);
    }

    // An instruction that was just emitted as data, so that asmjit did not list it: "call $global::collect".
    void instruction(uint32_t bytes, const char* name, uint64_t target) {
        listing_.instruction(bytes, std::string(name) + ' ' + listing_.address_text(target));
    }

    // Instructions that do nothing, emitted as data.
    void padding(uint32_t bytes) { listing_.data(bytes, "nop"); }

    asmjit::Error _log(const char* data, size_t size) noexcept override;

private:
    void line(std::string_view text);

    Listing& listing_;
    const asmjit::BaseAssembler& assembler_;
};

}  // namespace minivm::jit
