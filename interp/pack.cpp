// Packs a lowered module into the interpreter's words (layout.hpp), choosing the handler for each
// instruction by the kinds of its operands.
#include <algorithm>
#include <cstring>

#include "interp/code.hpp"
#include "interp/fused.hpp"
#include "interp/handlers.hpp"
#include "vm/term/compare.hpp"

namespace minivm::interp {
namespace {

constexpr Handler kGenericHandlers[] = {
#define INSTR(name, operands, effects, facts, meaning) h_##name,
#include "vm/instr/instructions.def"
#undef INSTR
};

uint32_t handler_bits(Handler h) {
    const Word address = reinterpret_cast<Word>(h);
    MINIVM_CHECK(address <= 0xFFFFFFFF);  // the program is linked at a low address (no-pie)
    return static_cast<uint32_t>(address);
}

class Packer {
  public:
    explicit Packer(const LoweredModule& m) : m_(m), code_(std::make_unique<InterpCode>()) {}

    std::unique_ptr<InterpCode> run() {
        code_->starts.reserve(m_.code.size() + 1);
        words_.reserve(m_.code.size() * 3);
        find_loops();
        for (size_t n = 0; n < m_.code.size();) {
            if (entry_is_loop_[n]) {
                // A breakpoint replaces this h_nop, so it counts calls and not the rounds of the loop.
                code_->starts.push_back(size());
                locate(m_.code[n]);
                words_.push_back(handler_bits(h_nop));
                pack(m_.code[n]);
                ++n;
                continue;
            }
            const size_t fused = fuse(n);
            if (fused == 0) {
                code_->starts.push_back(size());
                locate(m_.code[n]);
                pack(m_.code[n]);
                ++n;
            } else {
                n += fused;
            }
        }
        code_->starts.push_back(size());
        words_.push_back(handler_bits(h_trap_end));
        for (const LabelFixup& f : labels_) {
            const uint32_t skip = !f.call && entry_is_loop_[f.label] ? 1 : 0;
            const int32_t distance = static_cast<int32_t>(code_->starts[f.label] + skip) -
                                     static_cast<int32_t>(f.origin);
            words_[f.word] = (words_[f.word] & ~Word{0xFFFFFFFF}) | static_cast<uint32_t>(distance);
        }
        for (uint32_t label : catch_labels_) {
            code_->catch_handlers.push_back(code_->starts[label]);
        }
        code_->word_count = size();
        code_->words = std::make_unique_for_overwrite<Word[]>(words_.size());
        std::memcpy(code_->words.get(), words_.data(), words_.size() * sizeof(Word));
        return std::move(code_);
    }

  private:
    struct LabelFixup {
        uint32_t word;    // its low half gets the distance
        uint32_t origin;  // of the instruction
        uint32_t label;   // instruction index
        bool call = false;
    };

    static bool is_call(Op op) {
        return op == Op::call || op == Op::call_only || op == Op::call_last;
    }
    // Functions whose first instruction is also the target of a jump, such as a receive.
    void find_loops() {
        entry_is_loop_.resize(m_.code.size() + 1);
        std::vector<bool> entry(m_.code.size() + 1);
        for (const LoweredFunction& f : m_.functions) {
            entry[f.entry] = true;
        }
        for (const Instr& i : m_.code) {
            if (is_call(i.op)) {
                continue;
            }
            const Operand* o = m_.operands_of(i);
            for (uint32_t n = 0; n < i.operand_count; ++n) {
                if (o[n].kind == Operand::Kind::label && o[n].index != kNoLabel &&
                    entry[o[n].index]) {
                    entry_is_loop_[o[n].index] = true;
                }
            }
        }
    }

    uint32_t size() const { return static_cast<uint32_t>(words_.size()); }

    void locate(const Instr& i) {
        auto& l = code_->locations;
        if (l.empty() || l.back().function != i.function || l.back().line != i.line) {
            l.push_back({size(), i.function, i.line});
        }
    }

    // ---- fusion -----------------------------------------------------------------------------------

    bool joins(size_t n, Op op) const {
        return n < m_.code.size() && m_.code[n].op == op && !m_.code[n].block_start;
    }
    const Operand* operands(size_t n) const { return m_.operands_of(m_.code[n]); }

    // All instructions [n, n + count) begin where the fused one does; only the first may be a jump target.
    // The location is that of the last one, because only that one can be a call.
    void begin_fused(size_t n, size_t count) {
        locate(m_.code[n + count - 1]);
        code_->starts.insert(code_->starts.end(), count, size());
    }

    // Packs a fused instruction for those from n on. Returns how many instructions it stands for, or 0.
    size_t fuse(size_t n) {
        const Instr& i = m_.code[n];
        if (i.op == Op::deallocate && joins(n + 1, Op::return_)) {
            begin_fused(n, 2);
            words_.push_back(handler_bits(h_deallocate_return) | operands(n)[0].value << 48);
            return 2;
        }
        if (i.op == Op::get_tuple_element) {
            return fuse_elements(n);
        }
        return i.op == Op::move ? fuse_moves(n) : 0;
    }

    size_t fuse_elements(size_t n) {
        if (!joins(n + 1, Op::get_tuple_element)) {
            return 0;
        }
        const Operand* a = operands(n);
        const Operand* b = operands(n + 1);
        const bool same = a[0].is_register() && a[0].kind == b[0].kind && a[0].index == b[0].index;
        const bool overwritten = a[2].kind == a[0].kind && a[2].index == a[0].index;
        if (!same || overwritten || a[1].value > 0xFFFF || b[1].value > 0xFFFF) {
            return 0;
        }
        const K kinds[] = {kind_of(a[0]), kind_of(a[2]), kind_of(b[2])};
        begin_fused(n, 2);
        words_.push_back(handler_bits(fused_get_elements2(kinds)) | slot(a[0], 32) | slot(a[2], 48));
        words_.push_back(slot(b[2], 0) | a[1].value << 16 | b[1].value << 32);
        return 2;
    }

    static Word slot(const Operand& o, int shift) {
        return static_cast<Word>(register_slot(o)) << shift;
    }

    size_t fuse_moves(size_t n) {
        const Operand* o = operands(n);
        const bool to_x0 = o[1].kind == Operand::Kind::x && o[1].index == 0;
        if (to_x0) {
            if (const size_t count = fuse_move_then(n, o[0])) {
                return count;
            }
        }
        size_t count = 0;
        K kinds[6];
        while (count < 3 && (count == 0 || joins(n + count, Op::move)) &&
               operands(n + count)[0].is_register()) {
            const Operand* m = operands(n + count);
            // A last move into x0 is better fused with the call or return after it.
            const bool x0 = m[1].kind == Operand::Kind::x && m[1].index == 0;
            if (count > 0 && x0 && move_then_follows(n + count)) {
                break;
            }
            kinds[2 * count] = kind_of(m[0]);
            kinds[2 * count + 1] = kind_of(m[1]);
            ++count;
        }
        if (count < 2) {
            return 0;
        }
        begin_fused(n, count);
        const Handler h = count == 2 ? fused_move2(kinds) : fused_move3(kinds);
        words_.push_back(handler_bits(h) | slot(o[0], 32) | slot(o[1], 48));
        const Operand* b = operands(n + 1);
        Word second = slot(b[0], 0) | slot(b[1], 16);
        if (count == 3) {
            const Operand* c = operands(n + 2);
            second |= slot(c[0], 32) | slot(c[1], 48);
        }
        words_.push_back(second);
        return count;
    }

    bool move_then_follows(size_t n) const {
        return joins(n + 1, Op::call) || joins(n + 1, Op::call_only) || joins(n + 1, Op::call_last) ||
               joins(n + 1, Op::return_) ||
               (joins(n + 1, Op::deallocate) && joins(n + 2, Op::return_));
    }

    size_t fuse_move_then(size_t n, const Operand& source) {
        if (!move_then_follows(n)) {
            return 0;
        }
        const Instr& then = m_.code[n + 1];
        const Operand* o = operands(n + 1);
        const bool deallocate = then.op == Op::deallocate;
        const size_t count = deallocate ? 3 : 2;
        const K kind = kind_of(source);
        begin_fused(n, count);
        const uint32_t start = size();
        Word first = handler_bits(fused_move_then(then.op, deallocate, kind));
        if (kind != K::C) {
            first |= slot(source, 32);
        }
        if (deallocate) {
            first |= o[0].value << 48;
        } else if (then.op == Op::call_last) {
            first |= o[2].value << 48;
        }
        words_.push_back(first);
        if (!deallocate && then.op != Op::return_) {
            labels_.push_back({size(), start, o[0].index, is_call(then.op)});
            words_.push_back(0);
        }
        if (kind == K::C) {
            words_.push_back(source.term.raw);
        }
        return count;
    }

    static uint16_t register_slot(const Operand& o) {
        switch (o.kind) {
            case Operand::Kind::y:
                return static_cast<uint16_t>(o.index * 8 | kSlotY);
            case Operand::Kind::x:
            case Operand::Kind::fr:
                return static_cast<uint16_t>(o.index * 8);
            default:
                MINIVM_CHECK(!"an operand is no register");
                return 0;
        }
    }

    static K kind_of(const Operand& o) {
        switch (o.kind) {
            case Operand::Kind::x:
            case Operand::Kind::fr:
                return K::X;
            case Operand::Kind::y:
                return K::Y;
            case Operand::Kind::constant:
                return K::C;
            default:
                return K::S;
        }
    }

    // The word for an operand of an L list. Labels become fixups relative to `start`.
    Word list_word(const Operand& o, uint32_t start, uint32_t word) {
        switch (o.kind) {
            case Operand::Kind::x:
            case Operand::Kind::y:
            case Operand::Kind::fr:
                return static_cast<Word>(register_slot(o)) << 8 | kTagHeader;
            case Operand::Kind::constant:
                return o.term.raw;
            case Operand::Kind::unsigned_:
                return o.value;
            case Operand::Kind::string:
                return reinterpret_cast<Word>(m_.strings.data() + o.index);
            case Operand::Kind::label:
                labels_.push_back({word, start, o.index});
                return 0;
            default:
                MINIVM_CHECK(!"operand kind in a list");
                return 0;
        }
    }

    Handler choose(const Instr& i, const Operand* o, const K* kinds) {
        if (vm::g_options.stress_gc) {
            if (i.op == Op::allocate) {
                return h_allocate_stress;
            }
            if (i.op == Op::allocate_heap) {
                return h_allocate_heap_stress;
            }
            if (i.op == Op::test_heap) {
                return h_test_heap_stress;
            }
        }
        Handler h = select_control(i.op, kinds);
        if (i.op == Op::bs_get_integer && o[2].kind == Operand::Kind::constant) {
            h = select_bs_get_integer(kinds, o[2].term, o[3].value,
                                      static_cast<uint32_t>(small_value(o[4].term)));
        }
        if (h == nullptr) {
            const bool immediate = i.operand_count > 2 &&
                                   o[2].kind == Operand::Kind::constant && is_equal_by_word(o[2].term);
            h = select_test(i.op, kinds, immediate);
        }
        if (h == nullptr) {
            h = select_arith(i.op, kinds);
        }
        if (h == nullptr) {
            h = select_data(i.op, kinds);
        }
        return h != nullptr ? h : kGenericHandlers[static_cast<int>(i.op)];
    }

    void put_slot(uint32_t start, Place p, uint16_t slot) {
        words_[start + p.word] |= static_cast<Word>(slot) << p.shift;
    }

    void pack(const Instr& i) {
        if (i.op == Op::select_val || i.op == Op::select_tuple_arity) {
            pack_select(i);
            return;
        }
        const Operand* o = m_.operands_of(i);
        const char* letters = kLetters[static_cast<int>(i.op)];
        const uint32_t start = size();
        const int fixed = fixed_words(i.op);
        words_.resize(words_.size() + static_cast<size_t>(fixed), 0);
        K kinds[8] = {K::S, K::S, K::S, K::S, K::S, K::S, K::S, K::S};
        const int n_letters = static_cast<int>(std::strlen(letters));
        for (int n = 0; n < n_letters && letters[n] != 'L'; ++n) {
            kinds[n] = kind_of(o[n]);
        }
        words_[start] = handler_bits(choose(i, o, kinds));
        uint32_t list_at = 0;
        for (int n = 0; n < n_letters; ++n) {
            const Place p = place_of(i.op, n);
            switch (letters[n]) {
                case 'f':
                    if (o[n].index != kNoLabel) {
                        if (i.op == Op::catch_ || i.op == Op::try_) {
                            catch_labels_.push_back(o[n].index);
                        } else {
                            labels_.push_back({start + p.word, start, o[n].index, is_call(i.op)});
                        }
                    }
                    break;
                case 's':
                    if (o[n].kind == Operand::Kind::constant) {
                        break;  // after the list
                    }
                    [[fallthrough]];
                case 'd':
                case 'y':
                case 'l':
                    put_slot(start, p, register_slot(o[n]));
                    break;
                case 'L': {
                    const uint32_t count = i.operand_count - static_cast<uint32_t>(n);
                    words_[start + p.word] = count;
                    list_at = static_cast<uint32_t>(n);
                    for (uint32_t k = 0; k < count; ++k) {
                        const Word w = list_word(o[list_at + k], start, size());
                        words_.push_back(w);
                    }
                    break;
                }
                case 'u':
                    words_[start + p.word] = o[n].value;
                    break;
                case 'c':
                    words_[start + p.word] = o[n].term.raw;
                    break;
                case 'e':
                    words_[start + p.word] = reinterpret_cast<Word>(o[n].exp);
                    break;
                case 'b':
                    words_[start + p.word] = reinterpret_cast<Word>(o[n].bif);
                    break;
                case 't':
                    words_[start + p.word] = reinterpret_cast<Word>(m_.strings.data() + o[n].index);
                    break;
                case 'F':
                    code_->fixups.push_back({Fixup::Kind::fun_entry, start + p.word, o[n].index});
                    break;
                default:
                    MINIVM_CHECK(!"unknown operand letter");
            }
        }
        for (int n = 0; n < n_letters; ++n) {
            if (letters[n] == 's' && o[n].kind == Operand::Kind::constant) {
                const uint32_t word = size() - start;
                MINIVM_CHECK(word < 8192);
                put_slot(start, place_of(i.op, n), static_cast<uint16_t>(word * 8 | kSlotConst));
                words_.push_back(o[n].term.raw);
            }
        }
        if (has_live_slot(i.op)) {
            put_slot(start, place_of(i.op, kLiveOperand), i.live);
        }
        if (i.op == Op::catch_ || i.op == Op::try_) {
            code_->fixups.push_back({Fixup::Kind::catch_mark, size(),
                                     static_cast<uint32_t>(catch_labels_.size()) - 1});
            words_.push_back(0);
        }
    }

    // See instr_test.cpp for the layouts.
    void pack_select(const Instr& i) {
        const Operand* o = m_.operands_of(i);
        const uint32_t start = size();
        words_.resize(words_.size() + static_cast<size_t>(fixed_words(i.op)), 0);
        std::vector<std::pair<Word, uint32_t>> pairs;
        bool all_immediate = true;
        bool all_small = true;
        for (uint32_t n = 2; n + 1 < i.operand_count; n += 2) {
            Word key;
            if (o[n].kind == Operand::Kind::constant) {
                key = o[n].term.raw;
                all_immediate = all_immediate && is_equal_by_word(o[n].term);
                all_small = all_small && is_small(o[n].term);
            } else {
                key = o[n].value;
            }
            pairs.emplace_back(key, o[n + 1].index);
        }
        Handler h = h_select_tuple_arity;
        bool table = false;
        int64_t lowest = 0;
        int64_t highest = -1;
        if (i.op == Op::select_val) {
            if (!all_immediate) {
                h = h_select_boxed;
            } else {
                h = pairs.size() <= 6 ? h_select_linear : h_select_val;
                if (h == h_select_val) {
                    std::sort(pairs.begin(), pairs.end());
                }
                if (all_small && pairs.size() > 3) {
                    lowest = highest = small_value(Term{pairs[0].first});
                    for (const auto& p : pairs) {
                        lowest = std::min(lowest, small_value(Term{p.first}));
                        highest = std::max(highest, small_value(Term{p.first}));
                    }
                    const uint64_t span = static_cast<uint64_t>(highest) -
                                          static_cast<uint64_t>(lowest);
                    table = span < 4 * pairs.size() + 8;
                }
            }
        }
        put_source(i, o[0], start);
        labels_.push_back({start + 1, start, o[1].index});
        const uint32_t count_word = start + static_cast<uint32_t>(fixed_words(i.op)) - 1;
        if (table) {
            h = h_select_jump;
            const size_t span = static_cast<size_t>(highest - lowest) + 1;
            words_[count_word] = span + 1;
            words_.push_back(static_cast<Word>(lowest));
            const uint32_t base = size();
            words_.resize(words_.size() + span, 0);
            for (const auto& p : pairs) {
                const auto at = static_cast<uint32_t>(small_value(Term{p.first}) - lowest);
                labels_.push_back({base + at, start, p.second});
            }
        } else {
            words_[count_word] = 2 * pairs.size();
            for (const auto& p : pairs) {
                words_.push_back(p.first);
            }
            for (const auto& p : pairs) {
                labels_.push_back({size(), start, p.second});
                words_.push_back(0);
            }
        }
        if (o[0].kind == Operand::Kind::constant) {
            const uint32_t word = size() - start;
            // A select on a constant with thousands of pairs does not come from a compiler.
            MINIVM_CHECK(word < 8192);
            put_slot(start, place_of(i.op, 0), static_cast<uint16_t>(word * 8 | kSlotConst));
            words_.push_back(o[0].term.raw);
        }
        words_[start] |= handler_bits(h);
    }

    void put_source(const Instr& i, const Operand& o, uint32_t start) {
        if (o.kind != Operand::Kind::constant) {
            put_slot(start, place_of(i.op, 0), register_slot(o));
        }
    }

    const LoweredModule& m_;
    std::unique_ptr<InterpCode> code_;
    std::vector<Word> words_;
    std::vector<LabelFixup> labels_;
    std::vector<uint32_t> catch_labels_;
    std::vector<bool> entry_is_loop_;  // by instruction
};

}  // namespace

std::unique_ptr<InterpCode> pack(const LoweredModule& m) { return Packer(m).run(); }

CodeLocation InterpCode::locate(const void* address, bool is_return_address) const {
    const Word byte = reinterpret_cast<Word>(address) - reinterpret_cast<Word>(words.get());
    uint32_t word = static_cast<uint32_t>(byte / sizeof(Word));
    if (is_return_address && word > 0) {
        --word;  // the call's last word
    }
    auto it = std::upper_bound(locations.begin(), locations.end(), word,
                               [](uint32_t w, const Location& l) { return w < l.word; });
    if (it == locations.begin()) {
        return {0, 0};
    }
    --it;
    return {it->function, it->line};
}

}  // namespace minivm::interp
