// Loops that a process could not be scheduled out of: cycles of instructions none of which counts reductions or waits.
// Compilers write none; one in a file would hold its scheduler for ever, and all that waits for thread progress.
#pragma once

#include "vm/instr/lowered.hpp"

#include <vector>

namespace minivm::loader {

class EndlessLoops {
public:
    explicit EndlessLoops(const LoweredModule& m) : m_(m) {}
    // An instruction of a loop of the function; kNoLabel: it has none. Labels lead to instructions of the module.
    uint32_t find(const LoweredFunction& f);

private:
    enum class Color : uint8_t { white, grey, black };
    struct Step {
        uint32_t at;
        uint32_t next;  // edge
    };
    bool edge(const LoweredFunction& f, uint32_t at, uint32_t n, uint32_t* to) const;
    bool goes_back(const LoweredFunction& f) const;

    const LoweredModule& m_;
    std::vector<Color> colors_;
    std::vector<Step> path_;
};

}  // namespace minivm::loader
