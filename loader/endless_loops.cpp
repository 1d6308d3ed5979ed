#include "loader/endless_loops.hpp"

namespace minivm::loader {

namespace {

// True if a process counts a reduction or waits here. A call counts one where the called function begins, so before
// the code behind the call. A wait_timeout whose time has run out goes on without counting, and a BIF that is called
// directly, or a send, takes reductions and leaves it to the next call to look at them.
bool counts(const Instr& i) {
    return (instr_info(i.op).effects & YIELDS) != 0 && i.op != Op::wait_timeout && i.op != Op::call_bif &&
           i.op != Op::send;
}

}  // namespace

// The n-th edge from an instruction: to its labels, then to the next instruction. *to is kNoLabel where it leads out of
// the function. False: there are no more.
bool EndlessLoops::edge(const LoweredFunction& f, uint32_t at, uint32_t n, uint32_t* to) const {
    const Instr& i = m_.code[at];
    if (counts(i) || n > i.operand_count) {
        return false;
    }
    *to = kNoLabel;
    if (n == i.operand_count) {
        *to = (instr_info(i.op).effects & ENDS) != 0 ? kNoLabel : at + 1;
    } else if (const Operand& o = m_.operands_of(i)[n]; o.kind == Operand::Kind::label && i.op != Op::wait_timeout) {
        *to = o.index;
    }
    if (*to != kNoLabel && (*to < f.entry || *to >= f.end)) {
        *to = kNoLabel;
    }
    return true;
}

// Without an edge back there is no loop: for nearly all functions this settles it.
bool EndlessLoops::goes_back(const LoweredFunction& f) const {
    for (uint32_t at = f.entry; at < f.end; ++at) {
        const Instr& i = m_.code[at];
        const Operand* const o = m_.operands_of(i);
        for (uint32_t n = 0; n < i.operand_count; ++n) {
            if (o[n].kind == Operand::Kind::label && o[n].index <= at && o[n].index >= f.entry && !counts(i) &&
                i.op != Op::wait_timeout) {
                return true;
            }
        }
    }
    return false;
}

// Depth first: an edge to an instruction that is on the path closes a loop.
uint32_t EndlessLoops::find(const LoweredFunction& f) {
    if (!goes_back(f)) {
        return kNoLabel;
    }
    colors_.assign(f.end - f.entry, Color::white);
    for (uint32_t first = f.entry; first < f.end; ++first) {
        if (colors_[first - f.entry] != Color::white) {
            continue;
        }
        colors_[first - f.entry] = Color::grey;
        path_.assign(1, {first, 0});
        while (!path_.empty()) {
            Step& step = path_.back();
            uint32_t to = kNoLabel;
            if (!edge(f, step.at, step.next++, &to)) {
                colors_[step.at - f.entry] = Color::black;
                path_.pop_back();
            } else if (to != kNoLabel && colors_[to - f.entry] == Color::grey) {
                return to;
            } else if (to != kNoLabel && colors_[to - f.entry] == Color::white) {
                colors_[to - f.entry] = Color::grey;
                path_.push_back({to, 0});
            }
        }
    }
    return kNoLabel;
}

}  // namespace minivm::loader
