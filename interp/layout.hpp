// How an instruction lies in the word stream, derived from its operand letters.
//
//   word 0:  [ handler address : 32 | slot 0 : 16 | slot 1 : 16 ]
//   then, if the instruction has a label:  [ label : 32 | slot 2 : 16 | slot 3 : 16 ]
//   then words of four slots each for the s, d, y and l operands that are left, one word for each
//   c, u, e, b, F and t operand, for L a count and one word an operand, and last the constants of
//   s operands.
//
// A slot is a register's byte offset, or a constant's place:
//   x(n): n * 8          from the scheduler's x array
//   y(n): n * 8 | 1      from the stack pointer
//   constant: w * 8 | 2  word w of this instruction
// The live slot holds a plain number.
// A label is the distance in words from this instruction's word 0; 0: no label.
// A register in an L list is a word tagged as a header, which no constant is: slot << 8 | 100.
#pragma once

#include <cstdint>

#include "vm/instr/lowered.hpp"

namespace minivm::interp {

constexpr uint16_t kSlotY = 1;
constexpr uint16_t kSlotConst = 2;

constexpr const char* kLetters[] = {
#define INSTR(name, operands, effects, facts, meaning) operands,
#include "vm/instr/instructions.def"
#undef INSTR
};

constexpr uint16_t kEffects[] = {
#define INSTR(name, operands, effects, facts, meaning) effects,
#include "vm/instr/instructions.def"
#undef INSTR
};

constexpr bool is_slot_letter(char c) { return c == 's' || c == 'd' || c == 'y' || c == 'l'; }
// An instruction that may collect has one more slot after its operands': the count of live x registers.
constexpr bool has_live_slot(Op op) { return (kEffects[static_cast<int>(op)] & COLLECTS) != 0; }
constexpr int kLiveOperand = -1;

struct Place {
    uint8_t word;
    uint8_t shift;
};

// Where operand `index` of op lies; kLiveOperand: its live slot.
constexpr Place place_of(Op op, int index) {
    const char* letters = kLetters[static_cast<int>(op)];
    bool has_label = false;
    int slots = 0;
    int slots_before = 0;
    int words_before = 0;
    char letter = 0;
    for (int i = 0; letters[i] != 0; ++i) {
        if (i == index) {
            letter = letters[i];
        }
        if (letters[i] == 'f') {
            has_label = true;
        } else if (is_slot_letter(letters[i])) {
            ++slots;
            slots_before += i < index;
        } else {
            words_before += i < index;
        }
    }
    if (index == kLiveOperand) {
        slots_before = slots;
        letter = 's';
    }
    slots += has_live_slot(op);
    const int head_slots = has_label ? 4 : 2;
    const int slot_words = slots > head_slots ? (slots - head_slots + 3) / 4 : 0;
    const int first_slot_word = has_label ? 2 : 1;
    if (letter == 'f') {
        return {1, 0};
    }
    if (is_slot_letter(letter)) {
        if (slots_before < 2) {
            return {0, static_cast<uint8_t>(32 + 16 * slots_before)};
        }
        if (has_label && slots_before < 4) {
            return {1, static_cast<uint8_t>(32 + 16 * (slots_before - 2))};
        }
        const int n = slots_before - head_slots;
        return {static_cast<uint8_t>(first_slot_word + n / 4), static_cast<uint8_t>(16 * (n % 4))};
    }
    return {static_cast<uint8_t>(first_slot_word + slot_words + words_before), 0};
}

// Words of the fixed part (with an L operand: up to and including its count). List and constants follow.
constexpr int fixed_words(Op op) {
    const char* letters = kLetters[static_cast<int>(op)];
    bool has_label = false;
    int slots = 0;
    int words = 0;
    for (int i = 0; letters[i] != 0; ++i) {
        if (letters[i] == 'f') {
            has_label = true;
        } else if (is_slot_letter(letters[i])) {
            ++slots;
        } else {
            ++words;
        }
    }
    slots += has_live_slot(op);
    const int head_slots = has_label ? 4 : 2;
    const int slot_words = slots > head_slots ? (slots - head_slots + 3) / 4 : 0;
    return (has_label ? 2 : 1) + slot_words + words;
}

}  // namespace minivm::interp
