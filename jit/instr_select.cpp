// select_val, select_tuple_arity: jump tables, binary search, or one comparison after the other.
#include "jit/emitter.hpp"
#include "jit/runtime.hpp"
#include "vm/term/compare.hpp"

#include <algorithm>

namespace minivm::jit {

void Emitter::select_range(const std::vector<std::pair<Word, uint32_t>>& sorted, size_t from,
                           size_t to, Reg key, Label otherwise) {
    if (to - from <= 4) {
        for (size_t k = from; k < to; ++k) {
            a_.compare_imm(key, static_cast<int64_t>(sorted[k].first));
            a_.branch(Cond::equal, label_of(sorted[k].second));
        }
        a_.jump(otherwise);
        return;
    }
    const size_t middle = (from + to) / 2;
    const Label upper = a_.new_label();
    a_.compare_imm(key, static_cast<int64_t>(sorted[middle].first));
    a_.branch(Cond::equal, label_of(sorted[middle].second));
    a_.branch(Cond::above, upper);
    select_range(sorted, from, middle, key, otherwise);
    a_.bind(upper);
    select_range(sorted, middle + 1, to, key, otherwise);
}

// Small integers that lie densely: a table of addresses.
bool Emitter::jump_table(const std::vector<std::pair<Word, uint32_t>>& sorted, Reg key,
                         Label otherwise) {
    if (sorted.size() < 5) {
        return false;
    }
    int64_t lowest = INT64_MAX;
    int64_t highest = INT64_MIN;
    for (const auto& [word, _] : sorted) {
        if (!is_small(Term{word})) {
            return false;
        }
        lowest = std::min(lowest, static_cast<int64_t>(word));
        highest = std::max(highest, static_cast<int64_t>(word));
    }
    const uint64_t span = (static_cast<uint64_t>(highest) - static_cast<uint64_t>(lowest)) / 8 + 1;
    if (span > 3 * sorted.size()) {
        return false;
    }
    Table table{a_.new_label(), std::vector<Label>(span, otherwise)};
    for (const auto& [word, target] : sorted) {
        table.targets[(word - static_cast<Word>(lowest)) / 8] = label_of(target);
    }
    // A small integer's word counts in eights, as the table does; a word with another tag is no multiple.
    a_.move(Reg::t1, key);
    a_.sub_imm(Reg::t1, lowest);
    a_.compare_imm(Reg::t1, static_cast<int64_t>(8 * span));
    a_.branch(Cond::above_equal, otherwise);
    a_.test_imm(Reg::t1, kTagMask);
    a_.branch(Cond::not_equal, otherwise);
    a_.load_label(Reg::t2, table.label);
    a_.load_indexed(Reg::t2, Reg::t2, Reg::t1, 0);
    a_.jump_reg(Reg::t2);
    tables_.push_back(std::move(table));
    return true;
}

bool Emitter::emit_select() {
    const Operand* o = operands();
    const Label otherwise = label_of(o[1].index);
    std::vector<std::pair<Word, uint32_t>> pairs;
    bool immediate = true;
    for (uint32_t k = 2; k + 1 < i_->operand_count; k += 2) {
        Word key;
        if (i_->op == Op::select_tuple_arity) {
            key = make_header(Kind::tuple, o[k].kind == Operand::Kind::constant
                                               ? static_cast<size_t>(small_value(o[k].term))
                                               : o[k].value);
        } else {
            key = o[k].term.raw;
            immediate = immediate && is_equal_by_word(o[k].term);
        }
        pairs.emplace_back(key, o[k + 1].index);
    }
    if (!immediate) {
        for (const auto& [word, target] : pairs) {
            value_to(Reg::t0, o[0]);
            a_.move_imm(Reg::t1, word);
            a_.call_leaf(reinterpret_cast<const void*>(leaf_exact_equal));
            a_.compare_imm(Reg::t0, 0);
            a_.branch(Cond::not_equal, label_of(target));
        }
        a_.jump(otherwise);
        return true;
    }
    // The first of equal keys counts.
    std::stable_sort(pairs.begin(), pairs.end(),
                     [](const auto& a, const auto& b) { return a.first < b.first; });
    pairs.erase(std::unique(pairs.begin(), pairs.end(),
                            [](const auto& a, const auto& b) { return a.first == b.first; }),
                pairs.end());
    Reg key = value(o[0], Reg::t0);
    if (i_->op == Op::select_tuple_arity) {
        unbox(key, otherwise);
        a_.load(Reg::t0, {Reg::t1, 0});
        key = Reg::t0;
    } else if (jump_table(pairs, key, otherwise)) {
        return true;
    }
    select_range(pairs, 0, pairs.size(), key, otherwise);
    return true;
}

}  // namespace minivm::jit
