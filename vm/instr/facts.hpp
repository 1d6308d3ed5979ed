// What the verifier (loader/verifier.cpp) knows of an instruction beside its operands and effects: the column of facts
// in instructions.def, written with the words at the end of this file and joined by `|`.
#pragma once

#include "vm/instr/lowered.hpp"

namespace minivm {

struct InstrFacts {
    static constexpr uint8_t kNone = 0xFF;
    enum class Frame : uint8_t { any, needed, absent, dropped };
    enum class Reads : uint8_t { nothing, count, operand, arity };
    enum class Heap : uint8_t { keeps, reserves, voids, ends };

    // Kinds are TypeInfo::Bits.
    uint16_t result = 0;              // kinds of its d operands; 0: any
    uint16_t proves = 0;              // kinds of operand 1 where it goes on
    bool proves_exactly = false;      // and where it branches, operand 1 is of none of them
    uint16_t demands = 0;             // kinds that it takes operand `demanded` for
    uint8_t demanded = kNone;
    uint8_t context = kNone;          // the operand that may be a match context
    Frame frame = Frame::any;
    uint8_t frame_operand = kNone;    // dropped: the operand that has its size
    Reads reads = Reads::nothing;     // the lowest x registers: how many
    uint8_t read = 0;                 // count: so many; operand: the one that tells
    uint8_t read_more = 0;            // operand: these more
    bool passes_contexts = false;     // the x registers that it reads may be contexts
    bool leaves_x0 = false;           // no other x register, and nothing reserved
    bool shows_frame = false;         // others look at the y registers
    Heap heap = Heap::keeps;
    bool keeps_tuple = false;         // it builds nothing: what setelement/3 has made stays the youngest term
    bool builds = false;              // of the bit string that has been begun
    bool begins_bits = false;

    friend constexpr InstrFacts operator|(InstrFacts a, const InstrFacts& b) {
        const InstrFacts no;
        const auto take = [&](auto InstrFacts::*member) {
            if (b.*member != no.*member) {
                a.*member = b.*member;
            }
        };
        take(&InstrFacts::result);
        take(&InstrFacts::proves);
        take(&InstrFacts::proves_exactly);
        take(&InstrFacts::demands);
        take(&InstrFacts::demanded);
        take(&InstrFacts::context);
        take(&InstrFacts::frame);
        take(&InstrFacts::frame_operand);
        take(&InstrFacts::reads);
        take(&InstrFacts::read);
        take(&InstrFacts::read_more);
        take(&InstrFacts::passes_contexts);
        take(&InstrFacts::leaves_x0);
        take(&InstrFacts::shows_frame);
        take(&InstrFacts::heap);
        take(&InstrFacts::keeps_tuple);
        take(&InstrFacts::builds);
        take(&InstrFacts::begins_bits);
        return a;
    }
};

const InstrFacts& instr_facts(Op op);

// The words of the table.
namespace facts {
using enum TypeInfo::Bits;
constexpr unsigned number = integer | float_;
using Frame = InstrFacts::Frame;
using Reads = InstrFacts::Reads;
using Heap = InstrFacts::Heap;

constexpr InstrFacts none{};
constexpr InstrFacts makes(unsigned kind) { return {.result = static_cast<uint16_t>(kind)}; }
// A test of operand 1, which may be a context.
constexpr InstrFacts tests(unsigned kind) {
    return {.proves = static_cast<uint16_t>(kind), .proves_exactly = true, .context = 1};
}
// The same of only some terms of these kinds.
constexpr InstrFacts tests_some(unsigned kind) { return {.proves = static_cast<uint16_t>(kind), .context = 1}; }
// It goes on only with such a term, and raises otherwise.
constexpr InstrFacts shows(unsigned kind) { return {.proves = static_cast<uint16_t>(kind)}; }
// It does not test the operand, so the verifier does where nothing proves it.
constexpr InstrFacts trusts(unsigned kind, uint8_t operand) {
    return {.demands = static_cast<uint16_t>(kind), .demanded = operand, .context = operand};
}
constexpr InstrFacts context(uint8_t operand) { return {.context = operand}; }
constexpr InstrFacts frame{.frame = Frame::needed};
constexpr InstrFacts no_frame{.frame = Frame::absent};
constexpr InstrFacts drops(uint8_t operand) { return {.frame = Frame::dropped, .frame_operand = operand}; }
constexpr InstrFacts reads(uint8_t count) { return {.reads = Reads::count, .read = count}; }
constexpr InstrFacts reads_operand(uint8_t operand, uint8_t more = 0) {
    return {.reads = Reads::operand, .read = operand, .read_more = more};
}
constexpr InstrFacts reads_arity{.reads = Reads::arity};  // of the export, the BIF, or the function that it is in
constexpr InstrFacts passes_contexts{.passes_contexts = true};
constexpr InstrFacts leaves_x0{.leaves_x0 = true};
constexpr InstrFacts shows_frame{.shows_frame = true};
constexpr InstrFacts reserves{.heap = Heap::reserves};  // the words that its note tells
constexpr InstrFacts voids{.heap = Heap::voids};        // they are there, but it may have collected since
constexpr InstrFacts unreserves{.heap = Heap::ends};
constexpr InstrFacts keeps_tuple{.keeps_tuple = true};
constexpr InstrFacts begins_bits{.begins_bits = true};
constexpr InstrFacts builds{.builds = true};
}  // namespace facts

}  // namespace minivm
