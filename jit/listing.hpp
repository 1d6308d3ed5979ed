// What was emitted, line by line, for `minivm disasm --native`: machine instructions as asmjit
// shows them while they are emitted (nothing disassembles), and between them the emitter's remarks,
// such as the lowered instruction that they are for.
//
// Works for any machine on any host, since nothing runs.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <vector>

namespace minivm::jit {

struct ListedLine {
    enum class Kind : uint8_t {
        remark,       // of the emitter; stands before what it is about
        label,        // "L12:"
        instruction,  // machine code
        data          // padding, tables and constants
    };
    Kind kind;
    uint32_t offset;  // of the first byte
    uint32_t bytes;   // 0 for remarks and labels
    uint32_t group;   // what it belongs to
    std::string text;
};

class Listing {
public:
    // What is listed from now on belongs to this group: a function's number, or kNoGroup. The code
    // of a function is not in one piece.
    void group(uint32_t group) { group_ = group; }

    // At the end of what has been emitted so far.
    void remark(std::string text);
    void label(std::string_view name);
    void instruction(uint32_t bytes, std::string text);
    void data(uint32_t bytes, std::string text);

    // Gives a name to an address in the code, such as a shared fragment's.
    void name_address(uint64_t address, std::string name);
    // The name, or the number.
    std::string address_text(uint64_t address) const;

    const std::vector<ListedLine>& lines() const { return lines_; }
    // Bytes listed; the offset of what comes next.
    uint32_t end() const { return end_; }

    // A line each, offset and bytes of machine code in front. `code`: what was emitted, as it is
    // when all labels are known, with at least end() bytes. Of one group, or of all.
    std::string text(const uint8_t* code, uint32_t group) const;

    static constexpr uint32_t kNoGroup = ~0u;
    static constexpr uint32_t kAllGroups = ~0u - 1;

private:
    std::vector<ListedLine> lines_;
    std::map<uint64_t, std::string> names_;
    uint32_t end_ = 0;
    uint32_t group_ = kNoGroup;
};

}  // namespace minivm::jit
