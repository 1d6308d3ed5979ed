// What both machines' assemblers take from asmjit: labels, embedded addresses, listings.
// Only they include this.
#pragma once

#include "vm/util/assert.hpp"
#include "jit/listing_logger.hpp"
#include "jit/macro_assembler.hpp"

#include <asmjit/core.h>

#include <cstring>
#include <memory>
#include <vector>

namespace minivm::jit {

inline asmjit::Label label(Label l) {
    return asmjit::Label(l.id);
}

// An encoding that asmjit refuses is a mistake of the emitter.
struct Refuse final : asmjit::ErrorHandler {
    void handleError(asmjit::Error, const char* message, asmjit::BaseEmitter*) override {
        assertion_failed("emission", message, __FILE__, __LINE__, __func__);
    }
};

template <class Assembler>
class AsmjitAssembler : public MacroAssembler {
public:
    explicit AsmjitAssembler(asmjit::Arch machine) {
        code_.init(asmjit::Environment(machine));
        code_.setErrorHandler(&refuse_);
        code_.attach(&assembler_);
    }

    void reserve(size_t bytes) final { code_.reserveBuffer(&code_.textSection()->buffer(), bytes); }
    Label new_label() final { return {assembler_.newLabel().id()}; }
    void bind(Label l) final { assembler_.bind(label(l)); }
    uint32_t offset() const final { return static_cast<uint32_t>(assembler_.offset()); }
    uint32_t offset_of(Label l) const final {
        return static_cast<uint32_t>(code_.labelOffset(label(l)));
    }
    void embed_word(uint64_t w) final { assembler_.embed(&w, 8); }
    void embed_address(Label l) final {
        addresses_.push_back({offset(), l.id});
        embed_word(0);
    }
    size_t size() const final { return code_.codeSize(); }
    void list_to(Listing& listing) final {
        logger_ = std::make_unique<ListingLogger>(listing, assembler_);
        code_.setLogger(logger_.get());
    }

protected:
    // The code as it was emitted, with the addresses that are embedded in it.
    uint8_t* copy_text(void* to, uint64_t base) {
        const asmjit::CodeBuffer& buffer = code_.textSection()->buffer();
        auto* out = static_cast<uint8_t*>(to);
        std::memcpy(out, buffer.data(), buffer.size());
        for (const Address& l : addresses_) {
            const uint64_t address = base + label_offset(l.label);
            std::memcpy(out + l.at, &address, 8);
        }
        return out;
    }
    uint64_t label_offset(uint32_t id) const { return code_.labelOffset(asmjit::Label(id)); }

    Refuse refuse_;
    asmjit::CodeHolder code_;
    Assembler assembler_;
    std::unique_ptr<ListingLogger> logger_;

private:
    struct Address {
        uint32_t at;
        uint32_t label;
    };
    std::vector<Address> addresses_;
};

}  // namespace minivm::jit
